package vina

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// wantsOf are what a request of these parameters wants.
func wantsOf(t *testing.T, change func(*Params), found engines.Found) engines.Wants {
	t.Helper()
	p := Params{LigandIdentity: ptr(smiles("a", "CCO"))}
	change(&p)
	r := requestFor(p)
	r.Found, r.SceneFile.SHA256 = found, testDigest
	wants, err := Vina{}.Wants(r)
	if err != nil {
		t.Fatal(err)
	}
	return wants
}

func TestWantsOfTheReceptor(t *testing.T) {
	t.Parallel()
	entry := engines.Object{StorageKey: "public/1iep.cif", SHA256: strings.Repeat("1", 64), ByteSize: 10}
	file := reference("r.pdb", "pdb")
	for _, c := range []struct {
		name        string
		change      func(*Params)
		found       engines.Found
		entries     int
		contents    string // the file that is read as the receptor, by its path
		preparation bool
	}{
		{"the scene", func(*Params) {}, engines.Found{}, 0, "sceneFile", true},
		{"a file", func(p *Params) { p.ReceptorArtifact = &file }, engines.Found{}, 0, "receptorArtifact", true},
		{"an entry", func(p *Params) { p.ReceptorPDBID = ptr("1iep") }, engines.Found{}, 1, "", false},
		{"an entry that was found", func(p *Params) { p.ReceptorPDBID = ptr("1iep") },
			engines.Found{Structures: map[string]engines.Object{"1IEP": entry}}, 1, "receptorPdbId", true},
		{"both", func(p *Params) { p.ReceptorPDBID, p.ReceptorArtifact = ptr("1iep"), &file }, engines.Found{}, 0, "", false},
		{"nothing to dock yet", func(p *Params) { *p = Params{Exhaustiveness: ptr(mol.Exhaustiveness(8))} }, engines.Found{}, 0,
			"sceneFile", true},
	} {
		wants := wantsOf(t, c.change, c.found)
		read := ""
		for _, content := range wants.Contents {
			read += content.Path
		}
		if len(wants.Entries) != c.entries || read != c.contents || (wants.Preparation != nil) != c.preparation {
			t.Errorf("%s: got %+v", c.name, wants)
		}
	}
	bare := requestFor(Params{Exhaustiveness: ptr(mol.Exhaustiveness(8))})
	bare.SceneFile = engines.Object{StorageKey: "estimate"}
	if wants, err := (Vina{}).Wants(bare); err != nil || len(wants.Contents) > 0 || wants.Preparation != nil {
		t.Errorf("an estimate of nothing: got %+v, %v", wants, err)
	}
}

func TestWantsOfLigands(t *testing.T) {
	t.Parallel()
	file := mol.LigandEntry{LigandID: "f",
		Source: mol.LigandSource{Artifact: &mol.ArtifactSource{Artifact: reference("l.sdf", "sdf")}}}
	sti := mol.LigandEntry{LigandID: "sti", Source: mol.LigandSource{CCD: &mol.CCDSource{ComponentID: "sti"}},
		Confirmation: &mol.LigandConfirmation{Token: "t", Query: "imatinib", SourceID: "ccd:STI"}}
	wants := wantsOf(t, func(p *Params) {
		p.LigandIdentity, p.LigandLibrary, p.PocketLigand = nil, []mol.LigandEntry{file, sti}, ptr("atp")
	}, engines.Found{})
	want := []engines.WantedComponent{
		{Path: "pocketLigand", ID: "atp"}, {Path: "ligandLibrary[1].source.componentId", ID: "sti", Needed: ligandAdvice},
	}
	if !reflect.DeepEqual(wants.Components, want) || len(wants.Contents) != 1 {
		t.Errorf("of a library: got %+v and %+v", wants.Components, wants.Contents)
	}
	confirmed := engines.WantedConfirmation{
		Path: "ligandLibrary[1]", Token: "t", Query: "imatinib", SourceID: "ccd:STI", ComponentID: "sti",
	}
	if len(wants.Confirmations) != 1 || wants.Confirmations[0] != confirmed {
		t.Errorf("confirmations: got %+v", wants.Confirmations)
	}
	only := wantsOf(t, func(p *Params) { p.LigandIdentity = &file }, engines.Found{})
	if len(only.Contents) != 2 || only.Contents[1].Path != "ligandIdentity.source.artifact" ||
		only.Contents[1].As != engines.ReadNothing {
		t.Errorf("of one ligand: got %+v", only.Contents)
	}
}

// TestWantsGrowWithWhatIsFound: which ligand is bound is known once the receptor was read.
func TestWantsGrowWithWhatIsFound(t *testing.T) {
	t.Parallel()
	r := complexOf(t, func(p *Params) {
		p.LigandIdentity, p.DockingValidation = nil, &DockingValidation{RedockBound: ptr(true)}
	}, protein("A", 0), het("ABC", "A", 301, 20, 0))
	read, err := Vina{}.Wants(r)
	if err != nil || len(read.Components) != 1 || read.Components[0].ID != "ABC" || read.Components[0].Needed != nil {
		t.Errorf("got %+v, %v", read.Components, err)
	}
	receptorRead(&r, nil)
	if unread, err := (Vina{}).Wants(r); err != nil || len(unread.Components) != 0 {
		t.Errorf("of a receptor that nobody has read: got %+v, %v", unread.Components, err)
	}
}

func TestNamedFiles(t *testing.T) {
	t.Parallel()
	a := reference("a.pdb", "pdb")
	p := Params{ReceptorArtifact: &a, BoxLigandArtifact: &a, DockingExecution: &DockingExecution{
		PreparedReceptor: &PreparedReceptor{Artifact: &a}}}
	var got []string
	for _, file := range p.NamedFiles() {
		got = append(got, file.Path)
	}
	if want := []string{"receptorArtifact", "boxLigandArtifact", "dockingExecution.preparedReceptor.artifact"}; !reflect.DeepEqual(
		got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLargeMembersAreTaken wants the library apart from the rest, and neither where there is none.
func TestLargeMembersAreTaken(t *testing.T) {
	t.Parallel()
	p := Params{LigandLibrary: []mol.LigandEntry{smiles("a", "C<C>")}}
	name, text, err := p.TakeLarge()
	var library []mol.LigandEntry
	if err != nil || name != "ligandLibrary" || p.LigandLibrary != nil || json.Unmarshal(text, &library) != nil ||
		len(library) != 1 {
		t.Errorf("got %s %s, %v", name, text, err)
	}
	if _, text, err := p.TakeLarge(); text != nil || err != nil {
		t.Errorf("of none: got %s, %v", text, err)
	}
}
