package vina

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// screen is the plan of docking these SMILES, which are called as in no other screen.
func screen(t *testing.T, seed int64, first rune, texts ...string) []engines.Shard {
	t.Helper()
	ligands := make([]mol.LigandEntry, len(texts))
	for i, text := range texts {
		ligands[i] = smiles(string(first+rune(i)), text)
	}
	return screenOf(t, seed, ligands)
}

func screenOf(t *testing.T, seed int64, ligands []mol.LigandEntry) []engines.Shard {
	t.Helper()
	request := requestFor(params(func(p *Params) { library(ligands...)(p); p.Seed = &seed }))
	request.SceneFile.SHA256 = testDigest
	plan, err := New().Plan(request)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// dockings are the identities of a plan's docking shards.
func dockings(plan []engines.Shard) (found []engines.Identity) {
	for i, identity := range engines.Identities(New(), plan) {
		if plan[i].Stage == stageDock {
			found = append(found, identity)
		}
	}
	return found
}

func TestALigandIsKnownWhereverItStands(t *testing.T) {
	t.Parallel()
	before := dockings(screen(t, 7, 'a', "CCO", "CCCO"))
	larger := dockings(screen(t, 7, 'p', "c1ccccc1", "CCCO", "CCO"))
	if len(before) != 2 || len(larger) != 3 || !before[0].Known() {
		t.Fatalf("got %x and %x", before, larger)
	}
	for _, identity := range before {
		if !slices.Contains(larger, identity) {
			t.Errorf("%x was docked and is not known in the larger library %x", identity, larger)
		}
	}
	for _, identity := range dockings(screen(t, 8, 'a', "CCO", "CCCO")) {
		if slices.Contains(before, identity) {
			t.Error("another seed is taken for the same")
		}
	}
}

// TestALibraryThatGrowsKeepsWhatItHad adds ligands to whole chunks, some larger than all before and some smaller. Fewer ligands
// would be analysed with their internal energies.
func TestALibraryThatGrowsKeepsWhatItHad(t *testing.T) {
	t.Parallel()
	const chunks = 3
	ligands := make([]mol.LigandEntry, chunks*maxChunkLigands+20)
	for i := range ligands {
		ligands[i] = smiles(fmt.Sprintf("L%03d", i), strings.Repeat("C", 1+i*37%len(ligands))+"O")
	}
	known := map[engines.Identity]bool{}
	grown := screenOf(t, 7, ligands)
	for _, identity := range engines.Identities(New(), grown) {
		known[identity] = true
	}
	before := screenOf(t, 7, ligands[:chunks*maxChunkLigands])
	stages := map[string]int{}
	for i, identity := range engines.Identities(New(), before) {
		shard := before[i]
		if shard.Stage != stageRank && !known[identity] {
			t.Errorf("%s of the smaller library is none of the larger", shard.Name)
		}
		stages[shard.Stage]++
	}
	if stages[stageDock] != chunks*maxChunkLigands || stages[stageAnalyse] < 2 {
		t.Errorf("the smaller library has %v", stages)
	}
	var works []float64
	for _, shard := range grown {
		if shard.Stage == stageDock {
			works = append(works, -shard.ExpectedCPUSeconds)
		}
	}
	if !slices.IsSorted(works) {
		t.Error("what is expected to dock longest is not docked first")
	}
}

func TestADockedLigandGetsItsPlaceHere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("in/ligands.json", `{"ligands":[{"index":0,"ligandId":"x","label":"X"},{"index":1,"ligandId":"y","label":"Y"}]}`)
	write("out/dock.json", `{"schema":"molfabric.docking.poses/v1","programs":{"vina":"1.2.7"},"ligands":[
		{"index":1,"ligandId":"b","label":"B","pdbqt":"second","cpuSeconds":2.50},
		{"index":0,"ligandId":"a","label":"A","pdbqt":"first"}]}`)
	write("out/poses/00002.pdbqt", "second")
	write("out/poses/00001.pdbqt", "first")
	params, err := json.Marshal(dockParams{Program: programDock, Indices: []int{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := New().Adopt(engines.Shard{Stage: stageDock, Name: "dock-00000", Params: params}, engines.Dir(dir), engines.Result{
		Summary: json.RawMessage(`{"docked":2,"ligands":[{"index":1,"pdbqt":"poses/00002.pdbqt","scoreKcalMol":-9.10},` +
			`{"index":0,"pdbqt":null}]}`),
		Artifacts: []engines.Artifact{{Name: "dock.json"}, {Name: "poses/00002.pdbqt"}, {Name: "poses/00001.pdbqt"}},
		Failures:  []engines.ItemFailure{{Item: "b", Label: "B", Step: "dock"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"docked":2,"ligands":[{"index":0,"pdbqt":"poses/00001.pdbqt","scoreKcalMol":-9.10},` +
		`{"index":1,"pdbqt":null}]}`
	if string(got.Summary) != want {
		t.Errorf("summary %s, want %s", got.Summary, want)
	}
	for i, want := range []string{"dock.json", "poses/00001.pdbqt", "poses/00002.pdbqt"} {
		if got.Artifacts[i].Name != want {
			t.Errorf("file %d is called %s, want %s", i, got.Artifacts[i].Name, want)
		}
	}
	if f := got.Failures[0]; f.Item != "x" || f.Label != "X" {
		t.Errorf("the failed item is %+v, want x", f)
	}
	for name, want := range map[string]string{"out/poses/00001.pdbqt": "second", "out/poses/00002.pdbqt": "first"} {
		if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != want {
			t.Errorf("%s holds %q (%v), want %q", name, content, err, want)
		}
	}
	var document ligandsDocument
	content, err := os.ReadFile(filepath.Join(dir, "out/dock.json"))
	if err != nil || json.Unmarshal(content, &document) != nil {
		t.Fatalf("dock.json cannot be read: %v", err)
	}
	for i, want := range []ligandRecord{{LigandID: "x", Label: "X", PDBQT: "second"}, {Index: 1, LigandID: "y", Label: "Y",
		PDBQT: "first"}} {
		if l := document.Ligands[i]; l.Index != want.Index || l.LigandID != want.LigandID || l.Label != want.Label ||
			l.PDBQT != want.PDBQT {
			t.Errorf("ligand %d is %+v, want %+v", i, l, want)
		}
	}
}

func TestANotFittingDockingIsNotAdopted(t *testing.T) {
	t.Parallel()
	params, err := json.Marshal(dockParams{Program: programDock, Indices: []int{0}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New().Adopt(engines.Shard{Params: params}, engines.Dir(t.TempDir()), engines.Result{}); err == nil {
		t.Error("an empty directory was adopted")
	}
}

// TestPosesAloneAreTheSameToTheByte leaves out what may hold programs, times or several ligands.
func TestPosesAloneAreTheSameToTheByte(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{posesArtifact(0, "pdbqt").Name: true, posesArtifact(0, "sdf").Name: false,
		outputReceptor: false, outputAnalysis: false} {
		if got := engines.SameBytes(New(), engines.Artifact{Name: name, Role: engines.RoleResult}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if engines.SameBytes(New(), engines.Artifact{Name: posesArtifact(0, "pdbqt").Name, Role: engines.RoleIntermediate}) {
		t.Error("a file that is no result")
	}
}
