package vina

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/abl1"
)

const peptideBox = `{"schema":"molfabric.docking.box/v1","source":"explicit","centerAngstrom":[-9,-3,3],"sizeAngstrom":[18,18,18],"notes":[],"detail":{}}`

// taskFailure is what a program writes when it understands why it failed.
type taskFailure struct{ Class, Code, Message string }

// runTask runs one of the programs on request, in a task directory that holds inputs (content by name below
// in/). It returns the directory and what was printed, or the failure that the program wrote.
func runTask(t *testing.T, name string, request any, inputs map[string]string) (string, string, *taskFailure) {
	t.Helper()
	return runTaskOn(t, 0, name, request, inputs)
}

// runTaskOn is runTask as a worker runs it that grants so many cores; 0 leaves the environment as it is.
func runTaskOn(t *testing.T, cores int, name string, request any, inputs map[string]string) (string, string, *taskFailure) {
	t.Helper()
	python, dir := enginestest.Python(t), t.TempDir()
	layPrograms(t, dir)
	for input, content := range inputs {
		writeTaskFile(t, dir, "in/"+input, content)
	}
	writeTaskJSON(t, dir, "request.json", request)
	command := exec.CommandContext(t.Context(), python, "-B", "program/"+name)
	command.Dir = dir
	if cores > 0 {
		command.Env = append(os.Environ(), fmt.Sprintf("OMP_NUM_THREADS=%d", cores))
	}
	var printed, log bytes.Buffer
	command.Stdout, command.Stderr = &printed, &log
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 65 {
		var failure taskFailure
		if err := json.Unmarshal([]byte(readText(t, filepath.Join(dir, "out/failure.json"))), &failure); err != nil {
			t.Fatal(err)
		}
		return dir, printed.String(), &failure
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, printed.String(), log.String())
	}
	return dir, printed.String(), nil
}

func readTaskJSON(t *testing.T, dir, name string, document any) {
	t.Helper()
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(dir, name))), document); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func searchRequest(threads int) map[string]any {
	return map[string]any{"exhaustiveness": 1, "numModes": 3, "energyRangeKcalMol": 3, "seed": 42, "engineSeed": 42,
		"cpuThreads": threads}
}

// dockPeptide docks ligands of testdata/rank-ligands.json into the peptide; resume holds files for in/resume.
func dockPeptide(t *testing.T, threads int, indices []int, resume map[string]string) (string, string, *taskFailure) {
	t.Helper()
	inputs := map[string]string{
		"receptor.pdbqt": readText(t, "testdata/rank-receptor.pdbqt"), "ligands.json": readText(t, "testdata/rank-ligands.json"),
		"box.json": peptideBox,
	}
	for name, content := range resume {
		inputs["resume/"+name] = content
	}
	return runTask(t, "dock.py", map[string]any{"program": "dock.py", "indices": indices, "search": searchRequest(threads)}, inputs)
}

type dockedDocument struct {
	Ligands []struct {
		Index        int
		Status       string
		FailureStage string
		PDBQT        string
		CPUSeconds   float64
		Notes        []string
		Poses        []struct{ ScoreKcalMol float64 }
	}
}

// vinaResult is a score in Vina's output.
var vinaResult = regexp.MustCompile(`(REMARK VINA RESULT: +)\S+`)

// TestDockAndResume docks a shard, repeats it with one of its checkpoints among files that are none, and docks a ligand alone
// on two threads: the poses are the same to the byte.
func TestDockAndResume(t *testing.T) {
	t.Parallel()
	dir, printed, failure := dockPeptide(t, 1, []int{4, 5, 6, 7}, nil)
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	if got := strings.Count(printed, `{"checkpoint": ["checkpoint/0000`); got != 3 {
		t.Errorf("got %d lines that tell a checkpoint, want one for each docked ligand:\n%s", got, printed)
	}
	var first dockedDocument
	readTaskJSON(t, dir, "out/dock.json", &first)
	checkDocked(t, first)

	taken := readText(t, filepath.Join(dir, "out/checkpoint/00005.json"))
	resume := map[string]string{
		"0.json": "",
		"1.json": taken[:len(taken)/2],
		"2.json": strings.Repeat("[", 100_000),
		"3.json": strings.Replace(readText(t, filepath.Join(dir, "out/checkpoint/00007.json")), `"inputsSha256": "`,
			`"inputsSha256": "0`, 1),
		"4.json": strings.Replace(readText(t, filepath.Join(dir, "out/checkpoint/00008.json")), "REMARK VINA RESULT", "REMARK VINA",
			1),
		"5.json": strings.ReplaceAll(taken, `"index": 4`, `"index": 6`),
		"6.json": strings.Replace(taken, `"cpuSeconds": `, `"cpuSeconds": 90`, 1),
		"7.json": `{"index": [], "cpuSeconds": null}`,
		"8.json": `"poses"`,
		"9.json": vinaResult.ReplaceAllString(readText(t, filepath.Join(dir, "out/checkpoint/00007.json")), "${1}nan"),
	}
	again, _, failure := dockPeptide(t, 1, []int{4, 5, 6, 7}, resume)
	if failure != nil {
		t.Fatalf("resumed: got the failure %+v", failure)
	}
	var second dockedDocument
	readTaskJSON(t, again, "out/dock.json", &second)
	for i, ligand := range second.Ligands {
		if ligand.PDBQT != first.Ligands[i].PDBQT {
			t.Errorf("resumed: the poses of ligand %d differ", ligand.Index)
		}
		if wasTaken := ligand.CPUSeconds >= 90; wasTaken != (ligand.Index == 4) {
			t.Errorf("resumed: ligand %d says %g CPU seconds, want only ligand 4 taken over", ligand.Index, ligand.CPUSeconds)
		}
	}
	alone, printed, failure := dockPeptide(t, 2, []int{6}, nil)
	if failure != nil || strings.Contains(printed, "checkpoint") {
		t.Fatalf("alone: got the failure %+v, printed %s; want neither failure nor checkpoint", failure, printed)
	}
	if readText(t, filepath.Join(alone, "out/poses/00007.pdbqt")) != readText(t, filepath.Join(dir, "out/poses/00007.pdbqt")) {
		t.Error("a ligand alone on two threads has other poses than in a shard")
	}
}

func checkDocked(t *testing.T, document dockedDocument) {
	t.Helper()
	for _, ligand := range document.Ligands {
		if ligand.Index == 5 {
			if ligand.Status != statusFailed || ligand.FailureStage != "parse" {
				t.Errorf("the ligand that was not prepared: got %s at %q, want FAILED at parse", ligand.Status, ligand.FailureStage)
			}
			continue
		}
		if ligand.Status != statusCompleted || len(ligand.Poses) == 0 || ligand.Poses[0].ScoreKcalMol >= 0 {
			t.Errorf("ligand %d: got %+v, want poses of negative score", ligand.Index, ligand)
		}
		long := slices.ContainsFunc(ligand.Notes, func(note string) bool {
			return strings.Contains(note, "30.2 Å") &&
				strings.Contains(note, "18.0 Å")
		})
		if long != (ligand.Index == 7) {
			t.Errorf("ligand %d: got the notes %q, want one on its length only for ligand 7", ligand.Index, ligand.Notes)
		}
	}
}

func TestDockFailures(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, box string
		indices   []int
		code      string
	}{
		{"no such ligand", peptideBox, []int{4, 9}, "LIGANDS_INCOMPLETE"},
		{"only a broken ligand", peptideBox, []int{5}, "NO_LIGAND_DOCKED"},
		{"box of two edges", `{"centerAngstrom":[0,0,0],"sizeAngstrom":[18,18]}`, []int{4}, "BOX_UNREADABLE"},
		{"box without size", `{"centerAngstrom":[0,0,0],"sizeAngstrom":[18,18,0]}`, []int{4}, "BOX_UNREADABLE"},
		{"no box", `[]`, []int{4}, "BOX_UNREADABLE"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, failure := runTask(t, "dock.py", map[string]any{"program": "dock.py", "indices": c.indices,
				"search": searchRequest(1)}, map[string]string{
				"receptor.pdbqt": readText(t, "testdata/rank-receptor.pdbqt"),
				"ligands.json":   readText(t, "testdata/rank-ligands.json"), "box.json": c.box,
			})
			if failure == nil || failure.Code != c.code {
				t.Errorf("got %+v, want %s", failure, c.code)
			}
		})
	}
}

type redockDocument struct {
	ComponentID         string
	RMSDAngstrom        float64
	ClosestRMSDAngstrom float64
	ClosestRank         int
	ScoreKcalMol        float64
	Passed              bool
	DockedSMILES        string
	Poses               []struct{ RMSDAngstrom float64 }
}

func redockRequest() map[string]any {
	return map[string]any{"program": "redock.py", "search": searchRequest(1), "thresholdAngstrom": 2, "seed": 42,
		"protonationPh": 7.4, "ligandCpuSeconds": prepareLigandCPUSeconds, "rankBy": rankByVina}
}

// nativeOf is native.json of a ligand by its SMILES and its crystal pose.
func nativeOf(smiles, molblock string) string {
	text, _ := json.Marshal(map[string]any{
		"componentId": "STI", "chain": "A", "residue": 201, "insertionCode": "", "smiles": smiles, "molblock": molblock,
	})
	return string(text)
}

// TestRedockImatinib finds imatinib's crystal pose in c-Abl again, from its bonds alone. One search keeps the test short; a box
// that is not much larger than the ligand, and a seed with which it finds the pose, make up for the seven that are missing. The
// bound is the usual one of a successful docking.
func TestRedockImatinib(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("docks a drug-sized ligand")
	}
	request, search := redockRequest(), searchRequest(2)
	search["exhaustiveness"], search["engineSeed"], search["numModes"] = 1, 6, 9
	request["search"] = search
	dir, _, failure := runTask(t, "redock.py", request, map[string]string{
		"receptor.pdbqt": string(abl1.Prepared()), "native.json": nativeOf(imatinibSMILES, readText(t, imatinibMolecule)),
		"box.json": `{"centerAngstrom":[15.6,53.4,16.0],"sizeAngstrom":[14,22,14]}`,
	})
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	var document redockDocument
	readTaskJSON(t, dir, "out/redock.json", &document)
	if document.RMSDAngstrom <= 0 || document.RMSDAngstrom > 2 || !document.Passed || document.ScoreKcalMol > -11 {
		t.Errorf("got %.2f Å at %.2f kcal/mol, passed %v; want at most 2 Å and -11 kcal/mol", document.RMSDAngstrom,
			document.ScoreKcalMol, document.Passed)
	}
	if !strings.Contains(document.DockedSMILES, "[NH+]") {
		t.Errorf("docked as %s, want a protonated piperazine", document.DockedSMILES)
	}
	checkRedocked(t, dir, document)
}

// checkRedocked wants the figures of a redocking to agree with each other and with its structures.
func checkRedocked(t *testing.T, dir string, document redockDocument) {
	t.Helper()
	if len(document.Poses) == 0 || document.Poses[0].RMSDAngstrom != document.RMSDAngstrom {
		t.Fatalf("got %+v, want the first pose's deviation as the deviation", document)
	}
	for i, pose := range document.Poses {
		if pose.RMSDAngstrom < document.ClosestRMSDAngstrom ||
			(i+1 == document.ClosestRank) != (pose.RMSDAngstrom == document.ClosestRMSDAngstrom) {
			t.Errorf("pose %d lies %g Å away, the closest is said to be pose %d with %g Å", i+1, pose.RMSDAngstrom,
				document.ClosestRank, document.ClosestRMSDAngstrom)
		}
	}
	redocked := readText(t, filepath.Join(dir, "out/native/redocked.sdf"))
	if got := strings.Count(redocked, "<rmsdAngstrom>"); got != len(document.Poses) || strings.Count(redocked, "$$$$\n") != got {
		t.Errorf("redocked.sdf has %d deviations for %d poses", got, len(document.Poses))
	}
	if crystal := readText(t, filepath.Join(dir, "out/native/crystal.sdf")); !strings.HasSuffix(crystal, "M  END\n$$$$\n") {
		t.Errorf("crystal.sdf is malformed:\n%s", crystal)
	}
	var result struct {
		Summary  map[string]any
		Failures []any
		Programs map[string]string
	}
	readTaskJSON(t, dir, "out/result.json", &result)
	if result.Summary["poses"] != nil || result.Summary["rmsdAngstrom"] != document.RMSDAngstrom || result.Programs["vina"] == "" {
		t.Errorf("got the summary %v of %v, want the figures without poses, and Vina's version",
			slices.Sorted(maps.Keys(result.Summary)), result.Programs)
	}
}

// TestRedockAway docks a ligand again whose crystal pose lies outside the box: far, but measured and not a failure.
func TestRedockAway(t *testing.T) {
	t.Parallel()
	inputs := map[string]string{
		"receptor.pdbqt": readText(t, "testdata/rank-receptor.pdbqt"),
		"native.json":    nativeOf("C[C@H](O)C(=O)O", readText(t, "testdata/lactic-acid.sdf")), "box.json": peptideBox,
	}
	dir, _, failure := runTask(t, "redock.py", redockRequest(), inputs)
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	var document redockDocument
	readTaskJSON(t, dir, "out/redock.json", &document)
	if document.Passed || document.RMSDAngstrom <= 2 {
		t.Errorf("got %g Å, passed %v; want a pose far away", document.RMSDAngstrom, document.Passed)
	}
	checkRedocked(t, dir, document)

	inputs["native.json"] = nativeOf("CCO", "no structure")
	if _, _, failure := runTask(t, "redock.py", redockRequest(), inputs); failure == nil ||
		failure.Code != "NATIVE_LIGAND_UNREADABLE" {
		t.Errorf("a torn native ligand: got %+v, want NATIVE_LIGAND_UNREADABLE", failure)
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name               string
		rmsd, closest      float64
		refused            bool
		closestRank        int
		wanted, unexpected string
	}{
		{name: "at the gate", rmsd: 2, closest: 2, closestRank: 1},
		{name: "found but not best", rmsd: 7.5, closest: 0.8, closestRank: 3, refused: true, wanted: "Pose 3",
			unexpected: "No pose"},
		{name: "not found", rmsd: 7.5, closest: 4.25, closestRank: 2, refused: true, wanted: "Raise exhaustiveness",
			unexpected: "Pose 2"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			document := fmt.Sprintf(`{"componentId":"STI","rmsdAngstrom":%g,"closestRmsdAngstrom":%g,"closestRank":%d}`, c.rmsd,
				c.closest, c.closestRank)
			_, _, failure := runTask(t, "gate.py", map[string]any{"program": "gate.py", "gateRmsdAngstrom": 2},
				map[string]string{"redock.json": document})
			if !c.refused {
				if failure != nil {
					t.Errorf("got the failure %+v", failure)
				}
				return
			}
			if failure == nil || failure.Class != "USER_INPUT" || failure.Code != "REDOCKING_GATE" {
				t.Fatalf("got %+v, want USER_INPUT REDOCKING_GATE", failure)
			}
			for _, figure := range []string{"7.50 Å", "of 2 Å", fmt.Sprintf("%.2f Å", c.closest), "STI", c.wanted} {
				if !strings.Contains(failure.Message, figure) || strings.Contains(failure.Message, c.unexpected) {
					t.Errorf("got %q, want it to name %q and not %q", failure.Message, figure, c.unexpected)
				}
			}
		})
	}
}
