package vina

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/internal/abl1"
	"github.com/molfabric/molfabric/internal/mol"
)

const peptide = "testdata/peptide.pdb"

var testObjects = map[string]string{
	"scene.pdb":  peptide,
	"lactic.sdf": "testdata/lactic-acid.sdf",
	"amide.mol2": "testdata/acetamide.mol2",
	"para.pdbqt": "testdata/paracetamol.pdbqt",
	"torn.pdbqt": peptide,
}

// layPrograms writes the engine's programs into a task's directory, as its command does.
func layPrograms(t *testing.T, dir string) {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{programReceptor, programPicture} { // together they need what all the others do
		command, err := New().Command(engines.Shard{Params: json.RawMessage(`{"program":"` + name + `"}`)}, engines.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(files, command.Files)
	}
	delete(files, python.RequestFile)
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o444)); err != nil {
			t.Fatal(err)
		}
	}
}

// mixedLibrary has a ligand of every kind of source and of every early failure.
func mixedLibrary(p *Params) {
	library(
		smiles("aspirin", "CC(=O)Oc1ccccc1C(=O)O"),
		smiles("torn", "C1CC"),
		smiles("caffeine", "Cn1cnc2c1c(=O)n(C)c(=O)n2C"),
		smiles("empty", " "),
		artifact("lactic", "lactic.sdf", "sdf"),
		artifact("amide", "amide.mol2", "mol2"),
		artifact("paracetamol", "para.pdbqt", "pdbqt"),
		artifact("no-ligand", "torn.pdbqt", "pdbqt"),
		smiles("boron", "OB(O)c1ccccc1"),
		smiles("salt", "[Na+].CC(=O)[O-]"),
	)(p)
}

type resultsDocument struct {
	Counts  countsRecord `json:"counts"`
	Ligands []struct {
		LigandID             string
		Status, FailureStage string
		Error                string
		Rank                 int
		BestScoreKcalMol     float64
		LigandEfficiency     float64
		HeavyAtoms           int
		InChIKey             string
		Files                map[string]string
	} `json:"ligands"`
}

func readResults(t *testing.T, outcome *enginestest.Outcome) resultsDocument {
	t.Helper()
	var document resultsDocument
	text := readOutput(t, outcome, shardRank, "results.json")
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func readOutput(t *testing.T, outcome *enginestest.Outcome, shard, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(outcome.Dirs[shard].Out(name))
	if err != nil {
		t.Fatalf("%v\nfailures: %v\nlog of %s:\n%s", err, outcome.Failures, shard, outcome.Logs[shard])
	}
	return content
}

// readPoses reads a file of poses from the shard that wrote it.
func readPoses(t *testing.T, outcome *enginestest.Outcome, name string) []byte {
	t.Helper()
	for shard, result := range outcome.Results {
		if slices.ContainsFunc(result.Artifacts, func(a engines.Artifact) bool { return a.Name == name }) {
			return readOutput(t, outcome, shard, name)
		}
	}
	t.Fatalf("no shard has written %s; failures: %v", name, outcome.Failures)
	return nil
}

func liveCases() []enginestest.LiveCase {
	return []enginestest.LiveCase{
		{Name: "mixed library", Objects: testObjects, Check: checkMixedLibrary, Request: requestFor(params(func(p *Params) {
			mixedLibrary(p)
			p.DockingExecution = &DockingExecution{ShardSize: ptr(3)}
		}))},
		{Name: "box away", Objects: testObjects,
			Request: requestFor(params(func(p *Params) { p.BoxCenterAngstrom = &mol.BoxCenter{500, 0, 0} })),
			Check:   wantFailure(shardReceptor, engines.UserInput, "BOX_OUTSIDE_RECEPTOR", "boxCenterAngstrom")},
		{Name: "receptor of another format", Objects: testObjects,
			Request: requestFor(params(func(p *Params) { p.ReceptorArtifact = ptr(reference("scene.pdb", "pdbqt")) })),
			Check:   wantFailure(shardReceptor, engines.UserInput, "RECEPTOR_FORMAT_MISMATCH", "receptorArtifact.format")},
		{Name: "receptor that is no structure", Objects: map[string]string{"scene.pdb": "testdata/acetamide.mol2"},
			Request: requestFor(params(nil)), Check: wantFailure(shardReceptor, engines.UserInput, "RECEPTOR_UNREADABLE", "ATOM")},
		{Name: "receptor that is a ligand", Objects: map[string]string{"scene.pdb": "testdata/paracetamol.pdbqt"},
			Request: requestFor(params(nil)), Check: wantFailure(shardReceptor, engines.UserInput, "RECEPTOR_UNREADABLE",
				"ligand")},
		{Name: "fixed state of a missing residue", Objects: testObjects, Request: requestFor(params(func(p *Params) {
			p.ReceptorPreparation = &mol.ReceptorPreparation{FixedProtonationStates: []mol.FixedProtonationState{
				{Chain: "B", Residue: 3, ResidueName: "ASP", State: "neutral"}}}
		})), Check: wantFailure(shardReceptor, engines.UserInput, "RECEPTOR_RESIDUE_MISSING", "fixedProtonationStates[0]")},
		{Name: "only a broken ligand", Objects: testObjects,
			Request: requestFor(params(func(p *Params) { p.LigandIdentity = ptr(smiles("torn", "C(C)(C)(C)(C)C")) })),
			Check:   checkOnlyBroken},
	}
}

func checkMixedLibrary(t *testing.T, outcome *enginestest.Outcome) {
	results := readResults(t, outcome)
	if results.Counts != (countsRecord{Total: 10, Completed: 6, Failed: 4}) {
		t.Fatalf("got counts %+v, want 6 of 10", results.Counts)
	}
	wantStage := map[string]string{"torn": "parse", "empty": "parse", "no-ligand": "parse", "boron": "embed"}
	for i, ligand := range results.Ligands {
		if stage, broken := wantStage[ligand.LigandID]; broken {
			if ligand.Status != statusFailed || ligand.FailureStage != stage || ligand.Error == "" || ligand.Rank != 0 {
				t.Errorf("%s: got %s at %q (%s), want FAILED at %s", ligand.LigandID, ligand.Status, ligand.FailureStage,
					ligand.Error, stage)
			}
			continue
		}
		if ligand.Status != statusCompleted || ligand.Rank != i+1 || ligand.BestScoreKcalMol >= 0 || ligand.InChIKey == "" {
			t.Errorf("%s: got %+v, want rank %d, a negative score and an InChIKey", ligand.LigandID, ligand, i+1)
		}
		if i > 0 && results.Ligands[i-1].BestScoreKcalMol > ligand.BestScoreKcalMol {
			t.Errorf("%s is ranked after a worse score", ligand.LigandID)
		}
		sdf := string(readPoses(t, outcome, ligand.Files["sdf"]))
		if !strings.Contains(sdf, "M  END") || !strings.HasSuffix(sdf, "$$$$\n") ||
			strings.Count(sdf, "<scoreKcalMol>") != strings.Count(sdf, "$$$$") {
			t.Errorf("%s: its SDF is malformed:\n%s", ligand.LigandID, sdf)
		}
	}
	if sdf := string(readPoses(t, outcome, "poses/00001.sdf")); !strings.Contains(sdf, "M  CHG") {
		t.Errorf("aspirin's poses lost the charge of its carboxylate:\n%s", sdf)
	}
	if failures := outcome.Results[shardRank].Failures; len(failures) != 4 {
		t.Errorf("the ranking names %d failed ligands, want 4: %v", len(failures), failures)
	}
	if seed := outcome.Results[shardRank].Seed; seed == nil || *seed != 42 {
		t.Errorf("got seed %v, want 42", seed)
	}
}

func checkOnlyBroken(t *testing.T, outcome *enginestest.Outcome) {
	wantFailure("dock-00000", engines.UserInput, "NO_LIGAND_DOCKED", "torn")(t, outcome)
	wantFailure(shardRank, engines.UserInput, "NO_LIGAND_DOCKED", "parse")(t, outcome)
	if items := outcome.Failures["dock-00000"].Items; len(items) != 1 || items[0].Item != "torn" || items[0].Step != "parse" {
		t.Errorf("got items %+v, want the broken ligand at parse", items)
	}
	if !outcome.Failures["dock-00000"].Unbegun {
		t.Error("a docking without a ligand to dock says that it has begun")
	}
}

func wantFailure(shard string, class engines.FailureClass, code, text string) func(*testing.T, *enginestest.Outcome) {
	return func(t *testing.T, outcome *enginestest.Outcome) {
		t.Helper()
		got := outcome.Failures[shard]
		if got == nil {
			t.Fatalf("shard %s did not fail; log:\n%s", shard, outcome.Logs[shard])
		}
		if got.Class != class || got.Code != code || !strings.Contains(got.Message+items(got), text) {
			t.Errorf("shard %s failed with %s %s %q, want %s %s naming %q", shard, got.Class, got.Code, got.Message, class, code,
				text)
		}
	}
}

func items(failure *engines.Failure) string {
	text, _ := json.Marshal(failure.Items)
	return string(text)
}

// TestSameSeedSameBytes runs one request twice, the second time with another shard size and more threads, and each ligand's
// poses must be the same to the byte.
func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	enginestest.Python(t)
	run := func(shardSize, threads int) *enginestest.Outcome {
		return enginestest.Drive(t, New(), requestFor(params(func(p *Params) {
			library(smiles("a", "CC(=O)Oc1ccccc1C(=O)O"), smiles("b", "CCO"), smiles("c", "NCCc1ccc(O)c(O)c1"))(p)
			p.DockingExecution = &DockingExecution{ShardSize: ptr(shardSize)}
			p.CPUThreads, p.Exhaustiveness = ptr(threads), ptr(mol.Exhaustiveness(2))
		})), testObjects)
	}
	first, alone := run(3, 1), run(1, 2)
	const differs = "%s differs between a batch on one thread and single ligands on two"
	for _, name := range []string{"results.csv", "best.sdf"} {
		if !bytes.Equal(readOutput(t, first, shardRank, name), readOutput(t, alone, shardRank, name)) {
			t.Errorf(differs, name)
		}
	}
	for _, name := range []string{"poses/00001.pdbqt", "poses/00002.pdbqt", "poses/00003.pdbqt", "poses/00003.sdf"} {
		if !bytes.Equal(readPoses(t, first, name), readPoses(t, alone, name)) {
			t.Errorf(differs, name)
		}
	}
}

// TestReceptorWithoutChains docks into a PDBQT whose residues name no chain, as published sets of targets are.
func TestReceptorWithoutChains(t *testing.T) {
	t.Parallel()
	enginestest.Python(t)
	receptor := filepath.Join(t.TempDir(), "receptor.pdbqt")
	chainless := regexp.MustCompile(`(?m)^(.{21})A`).ReplaceAll(abl1.Prepared(), []byte("$1 "))
	if err := os.WriteFile(receptor, chainless, 0o600); err != nil {
		t.Fatal(err)
	}
	center := mol.BoxCenter(abl1.SiteCenterAngstrom)
	outcome := enginestest.Drive(t, New(), requestFor(params(func(p *Params) {
		p.BoxCenterAngstrom, p.BoxSizeAngstrom = &center, &mol.BoxSize{22, 22, 22}
	})), map[string]string{"scene.pdb": receptor})
	if got := readResults(t, outcome).Ligands[0].BestScoreKcalMol; got > -4.5 {
		t.Errorf("aspirin binds with %.2f kcal/mol, want at most -4.5", got)
	}
}

// TestMacrocycleIsDocked docks a ring of twelve atoms, which is opened for the search and must be closed in every pose.
func TestMacrocycleIsDocked(t *testing.T) {
	t.Parallel()
	enginestest.Python(t)
	outcome := enginestest.Drive(t, New(), requestFor(params(func(p *Params) {
		p.LigandIdentity = ptr(smiles("ring", "O=C1CCCCCCCCCCC1"))
	})), testObjects)
	if got := readResults(t, outcome).Ligands[0].BestScoreKcalMol; got > -1 {
		t.Errorf("got %.2f kcal/mol, want at most -1", got)
	}
	for number, text := range strings.SplitAfter(strings.TrimSpace(string(readPoses(t, outcome, "poses/00001.sdf"))), "$$$$\n") {
		bonds := lengthsOfBonds(t, text)
		if longest := slices.Max(bonds); len(bonds) < 13 || longest > 1.8 {
			t.Errorf("pose %d has %d bonds of up to %.2f Å, want the ring closed", number+1, len(bonds), longest)
		}
	}
}

// lengthsOfBonds measures the bonds of a molfile (V2000), in Å.
func lengthsOfBonds(t *testing.T, molfile string) []float64 {
	t.Helper()
	lines := strings.Split(molfile, "\n")
	var atoms, bonds int
	if len(lines) < 5 {
		t.Fatalf("no molfile: %s", molfile)
	}
	if _, err := fmt.Sscanf(lines[3], "%3d%3d", &atoms, &bonds); err != nil || len(lines) < 4+atoms+bonds {
		t.Fatalf("no molfile (%v): %s", err, molfile)
	}
	at := make([][3]float64, atoms)
	for i := range at {
		if _, err := fmt.Sscan(lines[4+i], &at[i][0], &at[i][1], &at[i][2]); err != nil {
			t.Fatal(err)
		}
	}
	lengths := make([]float64, bonds)
	for i := range lengths {
		var from, to int
		if _, err := fmt.Sscanf(lines[4+atoms+i], "%3d%3d", &from, &to); err != nil {
			t.Fatal(err)
		}
		a, b := at[from-1], at[to-1]
		lengths[i] = math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
	}
	return lengths
}
