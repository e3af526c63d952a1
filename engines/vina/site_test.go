package vina

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// molecule is a residue of a crafted receptor: atoms in a row from x on, 1.5 Å from each other.
type molecule struct {
	record, component, chain string
	number, atoms            int
	x                        float64
	element                  string
}

func (m molecule) String() string {
	var text strings.Builder
	for i := range m.atoms {
		fmt.Fprintf(&text, "%-6s%5d %-4s %3s %1s%4d    %8.3f%8.3f%8.3f%6.2f%6.2f          %2s\n",
			m.record, i+1, fmt.Sprintf("%s%d", m.element, i+1), m.component, m.chain, m.number, m.x+1.5*float64(i), 0.0, 0.0, 1.0,
			0.0, m.element)
	}
	return text.String()
}

func het(component, chain string, number, atoms int, x float64) molecule {
	return molecule{"HETATM", component, chain, number, atoms, x, "C"}
}

// protein is two residues of a chain at x.
func protein(chain string, x float64) string {
	text := ""
	for i, atom := range []string{"N", "CA", "C", "O", "N", "CA", "C", "O"} {
		text += fmt.Sprintf("ATOM  %5d  %-3s GLY %1s%4d    %8.3f%8.3f%8.3f  1.00  0.00           %1s\n", i+1, atom, chain, 1+i/4,
			x+1.3*float64(i), 5.0, 0.0, atom[:1])
	}
	return text
}

func surveyOf(t *testing.T, text ...any) *coordinates.Structure {
	t.Helper()
	structure, err := coordinates.Read([]byte(fmt.Sprint(text...)), 0)
	if err != nil {
		t.Fatal(err)
	}
	return structure
}

func TestTableOfComponents(t *testing.T) {
	t.Parallel()
	for component, class := range map[string]string{"HEM": classCofactor, "ZN": classMetal, "GOL": classAdditive, "NAG": classSugar,
		"SEP": classModified} {
		if got := listedComponents()[component]; got.Class != class || got.Name == "" {
			t.Errorf("%s: got %+v, want the class %s and a name", component, got, class)
		}
	}
}

func TestBoundLigand(t *testing.T) {
	t.Parallel()
	abc, small := het("ABC", "A", 301, 20, 0), het("XYZ", "A", 401, 9, 40)
	for _, c := range []struct {
		name      string
		text      string
		selection selection
		retain    []string
		want      string
		others    int
	}{
		{"one", protein("A", 0) + abc.String(), selection{}, nil, "ABC A:301", 0},
		{"what is no ligand", protein("A", 0) + het("GOL", "A", 1, 6, 0).String() + het("HEM", "A", 2, 43, 0).String() + het("NAG",
			"A", 3, 14, 0).String() +
			het("ZN", "A", 4, 1, 0).String() + het("UNL", "A", 5, 5, 0).String() + het("BIG", "A", 6, 101, 0).String(), selection{},
			nil, "", 0},
		{"two, the larger one", protein("A", 0) + small.String() + abc.String(), selection{}, nil, "ABC A:301", 1},
		{"two copies, the first chain's", protein("A", 0) + protein("B", 90) + het("ABC", "B", 1, 20, 90).String() + abc.String(),
			selection{}, nil, "ABC A:301", 0},
		{"a copy that is whole", protein("A", 0) + het("ABC", "A", 1, 12, 0).String() + het("ABC", "B", 2, 20, 30).String(),
			selection{}, nil, "ABC B:2", 0},
		{"only the chosen chains'", protein("A", 0) + protein("B", 90) + abc.String() + het("XYZ", "B", 9, 9, 90).String(),
			selection{Chains: []string{"B"}}, nil, "XYZ B:9", 0},
		{"not what stays", protein("A", 0) + small.String() + abc.String(), selection{}, []string{"abc"}, "XYZ A:401", 0},
		{"only the assembly's", "REMARK 350 BIOMOLECULE: 2\nREMARK 350 APPLY THE FOLLOWING TO CHAINS: B\n" +
			protein("A", 0) + protein("B", 90) + abc.String() +
			het("XYZ", "B", 9, 9, 90).String(), selection{AssemblyID: "2"}, nil, "XYZ B:9", 0},
	} {
		s := siteOf(surveyOf(t, c.text), c.selection, mol.ReceptorPreparation{RetainComponents: c.retain})
		found, others, ok := s.bound()
		if ok != (c.want != "") || ok && found.String() != c.want || len(others) != c.others {
			t.Errorf("%s: got %v %v %t, want %q and %d others", c.name, found, others, ok, c.want, c.others)
		}
	}
}

func TestFates(t *testing.T) {
	t.Parallel()
	text := protein("A", 0) + het("ABC", "A", 301, 20, 0).String() + het("ABC", "B", 302, 20, 0).String() + het("HEM", "A", 2, 43,
		0).String() +
		het("GOL", "A", 3, 6, 0).String() + het("CL", "A", 4, 1, 0).String() + het("NAG", "A", 5, 14, 0).String() + het("HOH", "A",
		6, 1, 60).String() +
		het("HOH", "A", 7, 1, 70).String() + molecule{"HETATM", "MG", "A", 8, 1, 0, "MG"}.String() + molecule{"HETATM", "QQ", "A",
		9, 1, 0, "ZN"}.String()
	describe := func(fates []contract.ComponentFate) string {
		var words []string
		for _, f := range fates {
			words = append(words, fmt.Sprintf("%s*%d %s %s %s", f.Component, f.Count, f.Class, f.Status, f.Option))
		}
		return strings.Join(words, ", ")
	}
	s := siteOf(surveyOf(t, text), selection{}, mol.ReceptorPreparation{})
	chosen, _, _ := s.bound()
	const want = "HEM*1 cofactor kept removeComponents, MG*1 metal kept removeComponents, QQ*1 metal kept removeComponents, " +
		"ABC*1 ligand removed retainComponents, ABC*1 ligand removed retainComponents, GOL*1 additive removed retainComponents, " +
		"CL*1 additive removed retainComponents, " +
		"NAG*1 sugar removed retainComponents, HOH*2 water removed waters"
	if got := describe(s.fates(&chosen)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s = siteOf(surveyOf(t, text), selection{}, mol.ReceptorPreparation{Waters: ptr(mol.WatersStructural)})
	if fates := s.fates(&chosen); !strings.Contains(fates[len(fates)-1].Why, "at least three polar atoms") {
		t.Errorf("with structural waters: got %+v", fates[len(fates)-1])
	}
	s = siteOf(surveyOf(t, text), selection{Chains: []string{"A"}},
		mol.ReceptorPreparation{RetainComponents: []string{"gol", "HOH"}, RemoveComponents: []string{"HEM"}})
	got := describe(s.fates(&chosen))
	for _, part := range []string{"GOL*1 additive kept ", "HOH*2 water kept ", "HEM*1 cofactor removed ", "ABC*1 ligand removed "} {
		if !strings.Contains(got, part) {
			t.Errorf("with a choice of components: got %s, want it to say %q", got, part)
		}
	}
}

// complexOf is a receptor with these molecules, as a request that has been looked into.
func complexOf(t *testing.T, change func(*Params), text ...any) engines.Request {
	t.Helper()
	r := requestFor(params(func(p *Params) {
		p.BoxCenterAngstrom, p.BoxSizeAngstrom = nil, nil
		if change != nil {
			change(p)
		}
	}))
	receptorRead(&r, surveyOf(t, text...))
	return r
}

// receptorRead lets a request's receptor have been read; nil for one that nobody has read.
func receptorRead(r *engines.Request, receptor *coordinates.Structure) {
	p, err := paramsOfRequest(*r)
	if err != nil {
		panic(err)
	}
	r.Found.Contents = map[string]engines.Contents{p.receptorField(): {Structure: receptor}}
}

func TestDefaultBox(t *testing.T) {
	t.Parallel()
	abc, xyz := het("ABC", "A", 301, 20, 0), het("XYZ", "A", 401, 9, 40)
	native := func(component string, number int) func(*Params) {
		return func(p *Params) {
			p.DockingValidation = &DockingValidation{NativeReference: &NativeReference{ComponentID: component, Chain: "A",
				Residue: number}}
		}
	}
	for _, c := range []struct {
		name         string
		change       func(*Params)
		text         string
		source, near string
		notes        string
	}{
		{"the bound ligand", nil, protein("A", 0) + abc.String(), boxPocketLigand, "ABC, chain A, residue 301",
			"the ligand that is bound"},
		{"the largest of two", nil, protein("A", 0) + xyz.String() + abc.String(), boxPocketLigand, "ABC, chain A, residue 301",
			"other ligands are bound: XYZ A:401"},
		{"nothing is bound", nil, protein("A", 0) + het("GOL", "A", 1, 6, 0).String(), boxFpocket, "", ""},
		{"the native ligand", native("xyz", 401), protein("A", 0) + abc.String() + xyz.String(), boxPocketLigand,
			"XYZ, chain A, residue 401", "docked again"},
		{"the best pocket, as asked", func(p *Params) { p.BoxSource = ptr(sourceFpocket) }, protein("A", 0) + abc.String(),
			boxFpocket, "", ""},
		{"the bound ligand, as asked", func(p *Params) { p.BoxSource = ptr(sourceBoundLigand) }, protein("A", 0) + abc.String(),
			boxPocketLigand, "ABC, chain A, residue 301", ""},
		{"a given box", func(p *Params) {
			p.BoxCenterAngstrom, p.BoxSizeAngstrom = &mol.BoxCenter{0, 0, 0}, &mol.BoxSize{20, 20, 20}
		}, protein("A", 0) + abc.String(), boxExplicit, "", ""},
		{"a named ligand", func(p *Params) { p.PocketLigand = ptr("XYZ") }, protein("A", 0) + abc.String() + xyz.String(),
			boxPocketLigand, "XYZ", ""},
	} {
		q, err := resolve(complexOf(t, c.change, c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		near := ""
		if q.box.Source == boxPocketLigand {
			near = q.box.named()
		}
		if q.box.Source != c.source || near != c.near || !strings.Contains(strings.Join(q.box.Notes, "; "), c.notes) {
			t.Errorf("%s: got %+v, want %s %q with a note %q", c.name, q.box, c.source, c.near, c.notes)
		}
	}
	unread := complexOf(t, nil, protein("A", 0), abc)
	receptorRead(&unread, nil)
	if q, err := resolve(unread); err != nil || q.box.Source != boxFpocket {
		t.Errorf("a receptor that nobody has read: got %+v, %v", q.box, err)
	}
}

func TestBoxAroundAFile(t *testing.T) {
	t.Parallel()
	with := func(low, high coordinates.Point, change func(*Params)) engines.Request {
		r := complexOf(t, func(p *Params) {
			p.BoxLigandArtifact = ptr(reference("ligand.sdf", "sdf"))
			if change != nil {
				change(p)
			}
		}, protein("A", 0))
		r.Found.Contents[fieldBoxLigand] = engines.Contents{Molecule: &coordinates.Molecule{Format: "sdf", Molecules: 1,
			HeavyAtoms: 9, Low: low, High: high}}
		return r
	}
	q, err := resolve(with(coordinates.Point{0, 1, 2}, coordinates.Point{12, 3, 48}, nil))
	if err != nil || *q.box.CenterAngstrom != (mol.BoxCenter{6, 2, 25}) || *q.box.SizeAngstrom != (mol.BoxSize{22, 15, 40}) ||
		!strings.Contains(q.box.Notes[0], "cut to 40") {
		t.Errorf("got %+v, %v", q.box, err)
	}
	if q, err = resolve(with(coordinates.Point{}, coordinates.Point{8, 8, 8},
		func(p *Params) { p.BoxSizeAngstrom = &mol.BoxSize{30, 30, 30} })); err != nil ||
		*q.box.SizeAngstrom != (mol.BoxSize{30, 30, 30}) || q.box.Source != boxLigandFile {
		t.Errorf("with a size: got %+v, %v", q.box, err)
	}
	var text string
	if text = planText(t, with(coordinates.Point{}, coordinates.Point{8, 8, 8}, nil)); !strings.Contains(text,
		`"source":"ligandFile","centerAngstrom":[4,4,4],"sizeAngstrom":[18,18,18]`) {
		t.Errorf("the plan says %s", text)
	}
	var refused *engines.InvalidError
	if _, err = resolve(with(coordinates.Point{300, 0, 0}, coordinates.Point{308, 8, 8}, nil)); !errors.As(err, &refused) ||
		refused.Field != "boxLigandArtifact" {
		t.Errorf("a ligand away from the receptor: got %v", err)
	}
}

// planText is what a plan's receptor shard is asked to do.
func planText(t *testing.T, r engines.Request) string {
	t.Helper()
	plan, err := New().Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(plan[0].Params)
}

// TestFoundBeforeSubmission wants each mistake that a look into the receptor can find, by its member and with what is there
// instead.
func TestFoundBeforeSubmission(t *testing.T) {
	t.Parallel()
	file := "REMARK 350 BIOMOLECULE: 1\nREMARK 350 APPLY THE FOLLOWING TO CHAINS: A\n" +
		protein("A", 0) + het("ABC", "A", 301, 20, 0).String() + het("HEM", "A", 2, 43, 0).String()
	artifactOf := func(format string) func(*Params) {
		return func(p *Params) { p.ReceptorArtifact = ptr(reference("r", format)) }
	}
	validation := func(v DockingValidation) func(*Params) {
		return func(p *Params) { p.DockingValidation = &v }
	}
	for _, c := range []struct {
		name, text   string
		change       func(*Params)
		field, there string
	}{
		{"another format", file, artifactOf("mmcif"), "receptorArtifact.format", "the file is PDB"},
		{"an absent chain", file, func(p *Params) { p.ReceptorChains = []string{"A", "Q"} }, "receptorChains[1]", "its chains: A"},
		{"an absent assembly", file, func(p *Params) { p.ReceptorAssemblyID = ptr("2") }, "receptorAssemblyId",
			"its assemblies: 1"},
		{"an absent ligand", file, func(p *Params) { p.PocketLigand = ptr("STI") }, "pocketLigand", "ABC A:301, HEM A:2"},
		{"a ligand in another chain", file, func(p *Params) { p.PocketLigand, p.PocketLigandChain = ptr("ABC"), ptr("B") },
			"pocketLigand", "chain B"},
		{"an absent residue", file, func(p *Params) {
			p.PocketResidues = []PocketResidue{{Chain: "A", Residue: 1}, {Chain: "A", Residue: 99}}
		}, "pocketResidues[1]", "A:99"},
		{"an absent native ligand", file,
			validation(DockingValidation{NativeReference: &NativeReference{ComponentID: "ABC", Chain: "A", Residue: 7}}),
			"dockingValidation.nativeReference", "ABC A:301"},
		{"no bound ligand to dock again", protein("A", 0) + het("HEM", "A", 2, 43, 0).String(),
			validation(DockingValidation{RedockBound: ptr(true)}), "dockingValidation.redockBound", "HEM A:2"},
		{"two native ligands", file, validation(DockingValidation{RedockBound: ptr(true),
			NativeReference: &NativeReference{ComponentID: "ABC", Chain: "A", Residue: 301}}),
			"dockingValidation.redockBound", "nativeReference"},
		{"no bound ligand to dock around", protein("A", 0), func(p *Params) { p.BoxSource = ptr(sourceBoundLigand) }, "boxSource",
			"none"},
		{"two places", file, func(p *Params) { p.BoxSource, p.PocketLigand = ptr(sourceFpocket), ptr("ABC") }, "boxSource",
			"pocketLigand"},
		{"two places, one a file", file, func(p *Params) {
			p.BoxLigandArtifact, p.PocketLigand = ptr(reference("l", "sdf")),
				ptr("ABC")
		}, "boxLigandArtifact", "pocketLigand"},
		{"an absent component that is to stay", file, func(p *Params) {
			p.ReceptorPreparation = &mol.ReceptorPreparation{RetainComponents: []string{"HEM", "ZN"}}
		}, "receptorPreparation.retainComponents[1]", "ABC A:301"},
		{"a box away", file, func(p *Params) {
			p.BoxCenterAngstrom, p.BoxSizeAngstrom = &mol.BoxCenter{500, 0, 0}, &mol.BoxSize{20, 20, 20}
		},
			"boxCenterAngstrom", "Å from the nearest atom of the receptor"},
		{"a box at a ligand that goes", protein("A", 0) + het("ABC", "A", 301, 20, 100).String(), func(p *Params) {
			p.BoxCenterAngstrom, p.BoxSizeAngstrom = &mol.BoxCenter{115, 0, 0}, &mol.BoxSize{10, 10, 10}
		}, "boxCenterAngstrom", "spans x 0.0 to 9.1"},
		{"no receptor", het("ABC", "A", 301, 20, 0).String(), nil, "sceneFile", "no protein"},
	} {
		_, err := resolve(complexOf(t, c.change, c.text))
		var refused *engines.InvalidError
		if !errors.As(err, &refused) || refused.Field != c.field || !strings.Contains(refused.Message, c.there) {
			t.Errorf("%s: got %v, want %s to be refused with %q", c.name, err, c.field, c.there)
		}
	}
	near := func(p *Params) {
		p.BoxCenterAngstrom, p.BoxSizeAngstrom = &mol.BoxCenter{0, 19, 0}, &mol.BoxSize{20, 20, 20}
	}
	if _, err := resolve(complexOf(t, near, file)); err != nil {
		t.Errorf("a box 4 Å from the receptor: %v", err)
	}
	built := func(p *Params) {
		p.ReceptorAssemblyID, p.BoxCenterAngstrom, p.BoxSizeAngstrom = ptr("1"), &mol.BoxCenter{500, 0, 0}, &mol.BoxSize{20, 20, 20}
	}
	if _, err := resolve(complexOf(t, built, file)); err != nil {
		t.Errorf("a box away from an assembly's first chain: %v", err)
	}
}

// TestNativeAlone plans a job whose only ligand is the receptor's own: it is docked once, and measured.
func TestNativeAlone(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]DockingValidation{
		"bound": {RedockBound: ptr(true)}, "named": {NativeReference: &NativeReference{ComponentID: "ABC", Chain: "A",
			Residue: 301}},
	} {
		r := complexOf(t, func(p *Params) { p.LigandIdentity, p.DockingValidation = nil, &v }, protein("A", 0),
			het("ABC", "A", 301, 20, 0))
		plan, err := New().Plan(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var stages []string
		for _, shard := range plan {
			stages = append(stages, fmt.Sprintf("%d %s %s", shard.StageIndex, shard.Stage, shard.Name))
		}
		want := []string{"0 prepare receptor", "1 native ligands-0000", "2 dock dock-00000", "3 analyse redock",
			"3 analyse analyse-0000", "4 rank rank"}
		if !slices.Equal(stages, want) {
			t.Errorf("%s: got %q, want %q", name, stages, want)
		}
		run, err := ReadPlan(plan)
		if err != nil || run.Library || len(run.Ligands) != 1 || run.NativeComponentID != "ABC" ||
			run.Ligands[0] != (PlannedLigand{LigandID: "ABC", Label: "ABC", Source: "ccd", PrepareShard: "ligands-0000",
				DockShard: "dock-00000"}) {
			t.Errorf("%s: got %+v, %v", name, run, err)
		}
		var prepared struct {
			Box             boxRequest
			NativeReference NativeReference
		}
		if err := json.Unmarshal(plan[0].Params, &prepared); err != nil || prepared.Box.Source != boxPocketLigand ||
			prepared.NativeReference.Residue != 301 {
			t.Errorf("%s: got %+v, %v", name, prepared, err)
		}
	}
	unread := complexOf(t, func(p *Params) {
		p.LigandIdentity, p.DockingValidation = nil, &DockingValidation{RedockBound: ptr(true)}
	}, protein("A", 0))
	receptorRead(&unread, nil)
	if plan, err := New().Plan(unread); err != nil || len(plan) != 6 {
		t.Errorf("an estimate: got %d shards, %v", len(plan), err)
	}
}

// TestNativeInALibrary plans libraries that hold the native ligand: it is docked once where nothing asks for more.
func TestNativeInALibrary(t *testing.T) {
	t.Parallel()
	const once, twice = "analyse redock", "redock redock"
	tests := []struct {
		name string
		edit func(*Params)
		want string
	}{
		{"as it is", func(*Params) {}, once},
		{"by its id in other letters", func(p *Params) { p.LigandLibrary[1].Source.CCD.ComponentID = "abc" }, once},
		{"at another pH", func(p *Params) { p.LigandLibrary[1].Preparation = &mol.LigandPreparation{ProtonationPh: ptr(5.0)} },
			twice},
		{"with a gate", func(p *Params) { p.DockingValidation.GateRMSDAngstrom = ptr(2.0) }, twice},
		{"without it", func(p *Params) { p.LigandLibrary = p.LigandLibrary[:1] }, twice},
	}
	for _, test := range tests {
		r := complexOf(t, func(p *Params) {
			native := mol.LigandEntry{LigandID: "native", Label: "native"}
			native.Source.CCD = &mol.CCDSource{Kind: mol.SourceCCD, ComponentID: "ABC"}
			library(smiles("a", "C"), native)(p)
			p.DockingValidation = &DockingValidation{NativeReference: &NativeReference{ComponentID: "ABC", Chain: "A",
				Residue: 301}}
			test.edit(p)
		}, protein("A", 0), het("ABC", "A", 301, 20, 0))
		plan, err := New().Plan(r)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		var measured []string
		for _, shard := range plan {
			if shard.Name != shardRedock {
				continue
			}
			measured = append(measured, shard.Stage+" "+shard.Name)
			var params redockParams
			if err := json.Unmarshal(shard.Params, &params); err != nil {
				t.Fatal(err)
			}
			index := params.LigandIndex
			if (index != nil && *index == 1) != (test.want == once) || shard.Essential != (test.want == twice) {
				t.Errorf("%s: the ligand's index is %v, essential %v", test.name, index, shard.Essential)
			}
		}
		if !slices.Equal(measured, []string{test.want}) {
			t.Errorf("%s: got %q, want %q", test.name, measured, test.want)
		}
	}
}
