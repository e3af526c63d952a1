package vina

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
)

// busyLoops is how many processes compete for each processor: what is bound by the clock has a fifth of its time.
const busyLoops = 4

// TestABusyMachineChangesNoAnalysis analyses a ligand undisturbed, and again beside processes that compete for the processors,
// with three times the processor time that it took: nothing is missing, and the files are the same to the byte.
func TestABusyMachineChangesNoAnalysis(t *testing.T) {
	t.Parallel()
	whole := readText(t, "testdata/paracetamol.pdbqt")
	ligand := poseLigand{"whole", paracetamolSMILES, []string{whole, whole}}
	quiet, found := analysePoses(t, aroundParacetamol, "", ligand)
	if len(found[0].Missing) > 0 || found[0].AnalyseCPUSeconds <= 0 {
		t.Fatalf("undisturbed: %+v is missing, in %g CPU seconds", found[0].Missing, found[0].AnalyseCPUSeconds)
	}
	for range busyLoops * runtime.NumCPU() {
		loop := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = loop.Wait() }) // after the context, which ends it
	}
	busy, found := analyseAs(t, map[string]any{"ligandCpuSeconds": int(3*found[0].AnalyseCPUSeconds) + 1}, aroundParacetamol, "",
		ligand)
	if len(found[0].Missing) > 0 {
		t.Errorf("on a busy machine %+v is missing", found[0].Missing)
	}
	sameAnalysis(t, quiet, busy, "analysis.json", "result.json", "poses/00001.sdf")
}

// TestAnAnalysisWithoutTimeSaysSo gives a drug-sized ligand too little processor time: it keeps what was found before, and says
// what is missing and why, in a field and in a note.
func TestAnAnalysisWithoutTimeSaysSo(t *testing.T) {
	t.Parallel()
	prepared := prepareLigands(t, []givenLigand{{kind: "imatinib", smiles: imatinibSMILES}})
	_, found := analyseAs(t, map[string]any{"ligandCpuSeconds": 1}, aroundParacetamol, "", poseLigand{"imatinib", imatinibSMILES,
		slices.Repeat([]string{prepared[0].PDBQT}, 2)})
	ligand := found[0]
	if ligand.Status != statusCompleted || ligand.BestSDF == "" || len(ligand.Poses) != 2 {
		t.Fatalf("got %+v, want the poses", ligand)
	}
	last := len(ligand.Missing) - 1
	if last < 0 || ligand.Missing[last].Step != "energy" || !strings.Contains(ligand.Missing[last].Why,
		"1 seconds of processor time") {
		t.Fatalf("got %+v, want the internal energy for want of time", ligand.Missing)
	}
	if !slices.ContainsFunc(ligand.Notes, func(note string) bool {
		return strings.HasPrefix(note,
			"no test of the internal energy: ")
	}) {
		t.Errorf("got the notes %q, want one on what is missing", ligand.Notes)
	}
}

// boundedWork has children that end in every way.
const boundedWork = `
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from bounded import in_child

def endless(tell):
    tell({"before": 1})
    while True:
        pass

def big(tell):
    tell({"text": "x" * 5000})
    tell({"text": "y"})

answer = in_child(endless, 1, 1000, "counting")
assert answer.documents == [{"before": 1}] and answer.expired and "1 seconds of processor time" in answer.ended, answer
answer = in_child(lambda tell: (tell({"a": 1}), os.kill(os.getpid(), signal.SIGSEGV)), 5, 1000, "counting")
assert answer.documents == [{"a": 1}] and not answer.expired and "crashed" in answer.ended, answer
answer = in_child(lambda tell: tell({"a": 1 / 0}), 5, 1000, "counting")
assert answer.documents == [] and "crashed" in answer.ended, answer
answer = in_child(big, 5, 1000, "counting")
assert answer.documents == [], answer
answer = in_child(lambda tell: tell({"a": 1}), 5, 1000, "counting")
assert answer == ([{"a": 1}], "", False), answer
`

func TestBoundedWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layPrograms(t, dir)
	output, err := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", boundedWork, filepath.Join(dir,
		python.Folder)).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestAPreparationWithoutTimeFails prepares a small ligand, and one that takes more than a second of processor time to shape,
// with one second for each: the second fails by name, and takes the first with it no more than a crash would.
func TestAPreparationWithoutTimeFails(t *testing.T) {
	t.Parallel()
	ligands := prepareLigandsWithin(t, 1, []givenLigand{{kind: "small", smiles: "CCO"}, {kind: "long",
		smiles: strings.Repeat("C(C)(C)", 33)}})
	if ligands[0].Status != statusPrepared {
		t.Errorf("the small ligand: got %+v", ligands[0])
	}
	if got := ligands[1]; got.Status != statusFailed || got.FailureStage != "embed" || !strings.Contains(got.Error,
		"1 seconds of processor time") {
		t.Errorf("the long ligand: got %s at %q (%s), want FAILED at embed for want of time", got.Status, got.FailureStage,
			got.Error)
	}
}
