package fpocket

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// carved holds the residues of PDB entry 1UYD around its ligand PU8, the ligand and three waters: one pocket.
const carved = "testdata/pocket-of-1uyd.pdb"

func requestFor(params string) engines.Request {
	return engines.Request{JobID: "job_test", SceneFile: engines.Object{StorageKey: "scene.pdb", ByteSize: 200_000},
		Params: json.RawMessage(params)}
}

func planCases() []enginestest.PlanCase {
	large := requestFor(`{"maxPockets":20,"blastEvalue":1e-300}`)
	large.SceneFile = engines.Object{StorageKey: "x/receptor.CIF", SHA256: strings.Repeat("b", 64), ByteSize: maxStructureBytes}
	unknownSize := requestFor(`{"maxPockets":1}`)
	unknownSize.SceneFile = engines.Object{StorageKey: "receptor"}
	return []enginestest.PlanCase{
		{Name: "defaults", Golden: true, Request: requestFor(`{}`)},
		{Name: "largest", Golden: true, Request: large},
		{Name: "unknown-size", Request: unknownSize},
	}
}

func refusedCases() []enginestest.RefusedCase {
	scene := func(name, key string, size int64) enginestest.RefusedCase {
		r := requestFor(`{}`)
		r.SceneFile = engines.Object{StorageKey: key, ByteSize: size}
		return enginestest.RefusedCase{Name: name, Field: "sceneFile", Request: r}
	}
	return []enginestest.RefusedCase{
		{Name: "no pockets", Field: "maxPockets", Request: requestFor(`{"maxPockets":0}`)},
		{Name: "too many pockets", Field: "maxPockets", Request: requestFor(`{"maxPockets":21}`)},
		{Name: "a fraction of a pocket", Field: "maxPockets", Request: requestFor(`{"maxPockets":1.5}`)},
		scene("no scene", "", 100),
		scene("compressed scene", "1uyd.pdb.GZ", 100),
		scene("binary scene", "1uyd.bcif", 100),
		scene("large scene", "1uyd.pdb", maxStructureBytes+1),
	}
}

func progressCases() []enginestest.ProgressCase {
	return []enginestest.ProgressCase{
		{Line: `{"progress": 0.1, "message": "finding pockets among 1672 atoms"}`, Fraction: 0.1, OK: true},
		{Line: `{"progress": 1.0, "message": "done"}`, Fraction: 1, OK: true},
		{Line: `{"progress": 7, "message": "x"}`, Fraction: 1, OK: true},
		{Line: `{"progress": null}`},
		{Line: `{"progress": "half"}`},
		{Line: `{"progress": 0.4`},
		{Line: "***** POCKET HUNTING BEGINS ***** "},
		{Line: ""},
		{Line: `{"progress": 0.5, "message": "` + strings.Repeat("x", 8<<10) + `"}`},
	}
}

func TestEngine(t *testing.T) {
	t.Parallel()
	enginestest.Run(t, New(), enginestest.Cases{Plans: planCases(), Refused: refusedCases(), Progress: progressCases(),
		Live: liveCases(t)})
}

func TestProbeWantsOneOfTheTwo(t *testing.T) {
	t.Parallel()
	check := New().Spec().Probe.Check
	for text, want := range map[string]bool{
		"noise\n{\"fpocket-rs\":\"0.1.0\",\"numpy\":\"2.4.6\"}\n": true,
		`{"fpocket":"4.0","numpy":"2.4.6"}`:                       true,
		`{"fpocket":"3.1.4"}`:                                     false,
		`{"fpocket":""}`:                                          false,
		`{"numpy":"2.4.6"}`:                                       false,
		`fpocket 4.0`:                                             false,
	} {
		got, err := check([]byte(text))
		if (err == nil) != want || (want && len(got) == 0) {
			t.Errorf("%s: got %v, %v; want accepted: %v", text, got, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), "requirements.lock") {
			t.Errorf("%s: the error %q does not name the way out", text, err)
		}
	}
}

func TestExpectedTimeFollowsMeasurements(t *testing.T) {
	t.Parallel()
	for atoms, measured := range map[int]float64{1672: 1.0, 6580: 3.1, 19_740: 19.1, 39_480: 98} {
		got := expectedCPUSeconds(int64(float64(atoms) * bytesPerAtom))
		if got < measured/1.6 || got > measured*1.6 {
			t.Errorf("%d atoms: the model says %.1f CPU-seconds, measured %.1f", atoms, got, measured)
		}
	}
	if got := expectedCPUSeconds(1 << 50); got*2 > timeLimit.Seconds() {
		t.Errorf("the largest structure is expected to take %.0f s, which leaves no room below %v", got, timeLimit)
	}
}

const readRecorded = `import json, sys
from pathlib import Path
from task import Failure
from detect import read_native, with_reimplementation
from structure import read_structure
folder, structure = Path(sys.argv[1]), read_structure(Path(sys.argv[2]))
try:
    native, total = read_native(folder, len(structure.atoms), 10)
except Failure as failure:
    print(json.dumps({"failure": failure.code}))
    sys.exit()
ours = with_reimplementation(structure, 10)
print(json.dumps({"total": total, "native": [p._asdict() for p in native], "ours": [p._asdict() for p in ours.pockets]}))`

type readPocket struct {
	Score        float64            `json:"score"`
	Druggability float64            `json:"druggability_score"`
	Volume       float64            `json:"volume"`
	Descriptors  map[string]float64 `json:"descriptors"`
	Spheres      [][4]float64       `json:"spheres"`
	Atoms        []int              `json:"atoms"`
}

type readOutcome struct {
	Failure      string
	Total        int
	Native, Ours []readPocket
}

// readRecordedOutput lets the Python programs read a folder that fpocket wrote for the carved structure, and find the pockets
// with fpocket-rs beside it.
func readRecordedOutput(t *testing.T, folder string) readOutcome {
	t.Helper()
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", readRecorded, folder, carved)
	command.Env = enginestest.ProgramPath(t, "../pockets")
	output, err := command.Output()
	var outcome readOutcome
	if err == nil {
		err = json.Unmarshal(output, &outcome)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return outcome
}

// TestRecordedFpocketOutput reads what fpocket 4.0 wrote for the carved structure, and holds the reimplementation against it.
func TestRecordedFpocketOutput(t *testing.T) {
	t.Parallel()
	got := readRecordedOutput(t, "testdata/fpocket-4.0")
	if got.Total != 1 || len(got.Native) != 1 || len(got.Ours) != 1 {
		t.Fatalf("got %d, %d and %d pockets, want one each", got.Total, len(got.Native), len(got.Ours))
	}
	native, ours := got.Native[0], got.Ours[0]
	if float64(len(native.Spheres)) != native.Descriptors["alphaSphereCount"] || len(native.Atoms) == 0 || native.Volume <= 0 {
		t.Errorf("the recorded pocket is incomplete: %+v", native)
	}
	for name, pair := range map[string][3]float64{ // fpocket, fpocket-rs, tolerance
		"score":              {native.Score, ours.Score, 0.05},
		"druggability score": {native.Druggability, ours.Druggability, 0.05},
		"volume in Å³":       {native.Volume, ours.Volume, 0.1 * native.Volume},
		"surface in Å²":      {native.Descriptors["surfaceSquareAngstrom"], ours.Descriptors["surfaceSquareAngstrom"], 15},
	} {
		if difference := pair[0] - pair[1]; difference > pair[2] || difference < -pair[2] {
			t.Errorf("%s: fpocket says %.3f, fpocket-rs %.3f", name, pair[0], pair[1])
		}
	}
	common := 0
	for _, atom := range native.Atoms {
		if slices.Contains(ours.Atoms, atom) {
			common++
		}
	}
	if common < len(native.Atoms)*95/100 {
		t.Errorf("fpocket-rs finds %d of the %d atoms that fpocket finds", common, len(native.Atoms))
	}
}

// TestDamagedFpocketOutput cuts each recorded file in turn; the reader must say so.
func TestDamagedFpocketOutput(t *testing.T) {
	t.Parallel()
	enginestest.Python(t)
	names := []string{"protein_info.txt", "pockets/pocket1_vert.pqr", "pockets/pocket1_atm.pdb"}
	for _, name := range names[1:] {
		for _, damage := range []string{"missing", "empty", "halved", "foreign"} {
			t.Run(fmt.Sprintf("%s %s", filepath.Base(name), damage), func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				for _, other := range names {
					content, err := os.ReadFile(filepath.Join("testdata/fpocket-4.0", other))
					if err != nil {
						t.Fatal(err)
					}
					if other == name {
						switch damage {
						case "missing":
							continue
						case "empty":
							content = nil
						case "halved":
							content = content[:len(content)/2]
						case "foreign":
							content = []byte("ATOM  9999999 CB ILE A 110      nan     5.101  26.110\n")
						}
					}
					writeFile(t, filepath.Join(folder, other), content)
				}
				got := readRecordedOutput(t, folder)
				// Half of the contact atoms are a smaller pocket, which nothing else contradicts.
				if got.Failure != "PROGRAM_OUTPUT" && (damage != "halved" || !strings.HasSuffix(name, "atm.pdb")) {
					t.Errorf("got %q and %d pockets, want PROGRAM_OUTPUT", got.Failure, got.Total)
				}
			})
		}
	}
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// FuzzProgress feeds foreign lines to the progress parser: whatever comes, the fraction stays within [0, 1].
func FuzzProgress(f *testing.F) {
	for _, c := range progressCases() {
		f.Add(c.Line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if fraction, _, ok := New().Progress(line); ok && (fraction < 0 || fraction > 1 || fraction != fraction) {
			t.Errorf("Progress(%q) is %v", line, fraction)
		}
	})
}

// FuzzPockets feeds foreign documents to the reader of pockets.json: what it accepts keeps the promises that artifacts and docking
// requests rest on.
func FuzzPockets(f *testing.F) {
	recorded, err := os.ReadFile("testdata/pockets.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(recorded, 10)
	f.Add([]byte(`{"schema":"molfabric.pockets/v1","pocketsFound":0,"pockets":[]}`), 1)
	f.Add([]byte(`{"schema":"molfabric.pockets/v1","pocketsFound":-1,"pockets":null}`), 1)
	f.Add(
		[]byte(
			`{"schema":"molfabric.pockets/v1","pocketsFound":1,"pockets":[{"rank":1,"files":{"atoms":"../x","alphaSpheres":""}}]}`),
		20)
	f.Fuzz(func(t *testing.T, content []byte, most int) {
		pockets, err := readPockets(content, most)
		if err != nil {
			return
		}
		if len(pockets) > max(most, 0) {
			t.Errorf("%d pockets where at most %d were asked for", len(pockets), most)
		}
		for _, artifact := range artifactsOf(pockets) {
			if !filepath.IsLocal(artifact.Name) {
				t.Errorf("artifact %q leaves the output folder", artifact.Name)
			}
		}
		for _, pocket := range pockets {
			if !pocket.DockingBox.usable() {
				t.Errorf("pocket %d has the box %+v", pocket.Rank, pocket.DockingBox)
			}
		}
	})
}
