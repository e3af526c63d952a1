package openmm

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// trialanine is OpenMM's peptide of three alanines with CHARMM's names: 1,262 atoms in water.
const trialanine = "testdata/trialanine.pdb"

// amberObjects are the files of amberInput.
func amberObjects(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"system.prmtop": enginestest.Sample(t, "alanine-dipeptide.prmtop"),
		"system.inpcrd": enginestest.Sample(t, "alanine-dipeptide.inpcrd"),
	}
}

func liveCases(t *testing.T) []enginestest.LiveCase {
	t.Helper()
	amber := amberObjects(t)
	short := smallRun(func(r *DynamicsRequest) {
		amberInput(r)
		r.Protocol.ProductionSteps, r.Outputs.AnalysisIntervalSteps = 40, 10
	})
	cases := []enginestest.LiveCase{
		{Name: "trialanine", Request: smallRun(unchanged), Objects: map[string]string{"protein.pdb": trialanine},
			Check: checkTrialanine},
		{Name: "alanine dipeptide", Request: short, Objects: amber, Check: checkAlanineDipeptide},
	}
	return slices.Concat(cases, brokenStructures(t), []enginestest.LiveCase{farApart(t)}, brokenAmber(t, amber), bombs(t, amber))
}

// liveResults is what the tests read of results.json.
type liveResults struct {
	Atoms, Frames, StateRows int
	SimulatedNs, NsPerDay    float64
	PotentialEnergyKjMol     struct{ Mean float64 }
	DensityGMl, TemperatureK struct{ Mean float64 }
	Platform                 struct{ Name, Precision, OpenMMVersion string }
	Restart                  *struct{ EarlierSteps int }
	Resumes                  []struct {
		Phase, From string
		Step        int
	}
	Notes []string
}

func readOut(t *testing.T, dir engines.Dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(dir.Out(name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func readJSON(t *testing.T, dir engines.Dir, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(readOut(t, dir, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func wantCompleted(t *testing.T, outcome *enginestest.Outcome) {
	t.Helper()
	for name, failure := range outcome.Failures {
		t.Fatalf("shard %s failed: %v\n%s", name, failure, outcome.Logs[name])
	}
}

func checkTrialanine(t *testing.T, outcome *enginestest.Outcome) {
	wantCompleted(t, outcome)
	var results liveResults
	readJSON(t, outcome.Dirs[shardTrajectory], resultsFile, &results)
	if results.Frames != 10 || results.StateRows != 20 || results.NsPerDay <= 0 || results.Platform.Name != "CPU" ||
		len(results.Resumes) != 0 {
		t.Errorf("got %+v, want 10 frames, 20 rows and a speed", results)
	}
	if results.DensityGMl.Mean < 0.8 || results.DensityGMl.Mean > 1.1 || results.PotentialEnergyKjMol.Mean > -10_000 {
		t.Errorf("got %.3f g/ml and %.0f kJ/mol, want water", results.DensityGMl.Mean, results.PotentialEnergyKjMol.Mean)
	}
	names := []string{}
	for _, shard := range outcome.Shards {
		for _, artifact := range outcome.Results[shard.Name].Artifacts {
			names = append(names, artifact.Name)
		}
	}
	for _, want := range []string{systemFile, topologyPDB, "minimised.pdb", "equilibrated.pdb", finalCheckpoint, provenanceFile,
		analysisDocument, "plots/rmsd.svg", "plots/rmsd.png", "report.html"} {
		if !slices.Contains(names, want) {
			t.Errorf("the job has no output %s: %v", want, names)
		}
	}
	if strings.Contains(outcome.Logs[shardTrajectory], `{"checkpoint"`) {
		t.Error("a run in standard mode tells of checkpoints")
	}
	checkProvenance(t, outcome.Dirs)
}

// checkProvenance wants the digests that a restart is compared with to be those of the files.
func checkProvenance(t *testing.T, dirs map[string]engines.Dir) {
	t.Helper()
	var provenance struct {
		RestartProvenance RestartProvenance
		Methods           string
	}
	readJSON(t, dirs[shardTrajectory], provenanceFile, &provenance)
	var preparation struct{ SystemSHA256 string }
	readJSON(t, dirs[shardSystem], preparationFile, &preparation)
	got := provenance.RestartProvenance
	if got.SystemSHA256 != preparation.SystemSHA256 || got.PlatformName != PlatformCPU || len(got.IntegratorSHA256) != 64 ||
		!strings.HasPrefix(got.WorkerImageDigest, "sha256:") {
		t.Errorf("got %+v for the system %s", got, preparation.SystemSHA256)
	}
	if !strings.Contains(provenance.Methods, "ps at constant pressure") {
		t.Errorf("the methods are %q", provenance.Methods)
	}
}

func checkAlanineDipeptide(t *testing.T, outcome *enginestest.Outcome) {
	wantCompleted(t, outcome)
	var results liveResults
	readJSON(t, outcome.Dirs[shardTrajectory], resultsFile, &results)
	if results.Atoms != 2269 || results.Frames != 4 || results.PotentialEnergyKjMol.Mean > -24_000 {
		t.Errorf("got %+v, want 2,269 atoms, 4 frames and less than -24,000 kJ/mol", results)
	}
}

// wantRefused wants preparing to fail for the user's sake, with words that name what is wrong.
func wantRefused(code string, words ...string) func(*testing.T, *enginestest.Outcome) {
	return func(t *testing.T, outcome *enginestest.Outcome) {
		t.Helper()
		got := outcome.Failures[shardSystem]
		if got == nil || got.Class != engines.UserInput || got.Code != code {
			t.Fatalf("got %v, want USER_INPUT %s; log:\n%s", got, code, outcome.Logs[shardSystem])
		}
		for _, word := range words {
			if !strings.Contains(got.Message, word) {
				t.Errorf("got %q, want it to name %q", got.Message, word)
			}
		}
	}
}

func writeFile(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func brokenStructures(t *testing.T) []enginestest.LiveCase {
	t.Helper()
	whole, err := os.ReadFile(trialanine)
	if err != nil {
		t.Fatal(err)
	}
	text, folder := string(whole), t.TempDir()
	ligand := "HETATM   34  C1  PU8 B 501      15.000  15.000  15.000  1.00  0.00           C\nHETATM   35  C2  PU8 B 501      " +
		"16.500  15.000  15.000  1.00  0.00           C\nEND\n"
	nonsense := "HETATM   34 ZZ   UNK C   7      15.000  15.000  15.000  1.00  0.00           C\nEND\n"
	var cases []enginestest.LiveCase
	for _, bad := range []struct {
		name, content, format, code string
		words                       []string
	}{
		{"empty file", "", FormatPDB, "STRUCTURE_UNREADABLE", []string{"empty"}},
		{"sequence", ">protein\nMKTAYIAKQR\n", FormatPDB, "STRUCTURE_UNREADABLE", []string{"ATOM"}},
		{"compressed", "\x1f\x8b\x08\xffATOM", FormatPDB, "STRUCTURE_UNREADABLE", []string{"compressed"}},
		{"broken coordinates", strings.Replace(text, "   0.024", "   0,024", 1), FormatPDB, "STRUCTURE_UNREADABLE",
			[]string{"pdb"}},
		{"no number", strings.Replace(text, "   0.024", "     nan", 1), FormatPDB, "STRUCTURE_UNREADABLE", []string{"numbers"}},
		{"PDB as mmCIF", text, FormatMMCIF, "STRUCTURE_UNREADABLE", []string{"mmcif"}},
		{"ligand without parameters", strings.Replace(text, "END", ligand, 1), FormatPDB, "RESIDUE_WITHOUT_PARAMETERS",
			[]string{"PU8 501 of chain B", "amber"}},
		{"unknown atom", strings.Replace(text, "END", nonsense, 1), FormatPDB, "RESIDUE_WITHOUT_PARAMETERS",
			[]string{"UNK 7 of chain C"}},
		{"very long structure", strings.Replace(text, "   0.024", " 900.000", 1), FormatPDB, "SYSTEM_TOO_LARGE",
			[]string{"1,000,000"}},
	} {
		path := writeFile(t, filepath.Join(folder, strings.ReplaceAll(bad.name, " ", "-")), []byte(bad.content))
		request := smallRun(func(r *DynamicsRequest) { r.Input.Protein.Coordinates.Format = bad.format })
		cases = append(cases, enginestest.LiveCase{Name: bad.name, Request: request,
			Objects: map[string]string{"protein.pdb": path}, Check: wantRefused(bad.code, bad.words...)})
	}
	return cases
}

func brokenAmber(t *testing.T, objects map[string]string) []enginestest.LiveCase {
	t.Helper()
	prmtop, err := os.ReadFile(objects["system.prmtop"])
	if err != nil {
		t.Fatal(err)
	}
	inpcrd, err := os.ReadFile(objects["system.inpcrd"])
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimRight(inpcrd, "\n"), []byte("\n"))
	unboxed := bytes.Join(lines[:len(lines)-1], []byte("\n"))
	fewer := slices.Clone(lines)
	fewer[1] = []byte("  2267")
	fewer = slices.Delete(fewer, 2, 3)
	small := slices.Clone(lines)
	small[len(small)-1] = []byte("  12.8528630  12.8616480  11.8550980  90.0000000  90.0000000  90.0000000")
	skewed := slices.Clone(lines)
	skewed[len(skewed)-1] = []byte("  32.8528630  32.8616480  31.8550980  70.5288000 109.4712000  70.5288000")
	folder := t.TempDir()
	var cases []enginestest.LiveCase
	for _, bad := range []struct {
		name           string
		prmtop, inpcrd []byte
		code           string
		words          []string
	}{
		{"structure as prmtop", []byte("ATOM      1  N   ALA     1\n"), inpcrd, "PRMTOP_UNREADABLE", []string{"prmtop"}},
		{"empty prmtop", nil, inpcrd, "PRMTOP_UNREADABLE", []string{"empty"}},
		{"torn prmtop", prmtop[:len(prmtop)/2], inpcrd, "PRMTOP_UNREADABLE", nil},
		{"coordinates of another system", prmtop, bytes.Join(fewer, []byte("\n")), "AMBER_FILES_DIFFER",
			[]string{"2,269", "2,267"}},
		{"torn coordinates", prmtop, inpcrd[:len(inpcrd)/2], "INPCRD_UNREADABLE", nil},
		{"NetCDF coordinates", prmtop, []byte("CDF\x02\x00\x00"), "INPCRD_UNREADABLE", []string{"NetCDF"}},
		{"no box", prmtop, unboxed, "NO_PERIODIC_BOX", []string{"PME"}},
		{"box too small", prmtop, bytes.Join(small, []byte("\n")), "BOX_TOO_SMALL", []string{"1.1", "0.9"}},
		{"box of another shape", prmtop, bytes.Join(skewed, []byte("\n")), "AMBER_FILES_DIFFER", []string{"109.47"}},
	} {
		place := filepath.Join(folder, strings.ReplaceAll(bad.name, " ", "-"))
		cases = append(cases, enginestest.LiveCase{Name: bad.name, Request: smallRun(amberInput),
			Check: wantRefused(bad.code, bad.words...), Objects: map[string]string{
				"system.prmtop": writeFile(t, filepath.Join(place, "p"), bad.prmtop),
				"system.inpcrd": writeFile(t, filepath.Join(place, "c"), bad.inpcrd),
			}})
	}
	return cases
}
