package e2e

import (
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/contract"
)

// hsp90Pocket is the pocket of HSP90 around its ligand, residue PU8 1224 of chain A (PDB entry 1UYD).
const hsp90Pocket = "../../engines/fpocket/testdata/pocket-of-1uyd.pdb"

// mirror is a mirror of the Protein Data Bank that holds this pocket as entry 1UYD.
func mirror(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	convert := exec.CommandContext(t.Context(), enginestest.Python(t), "-c",
		`import gemmi, sys; s = gemmi.read_structure(sys.argv[1]); s.setup_entities(); s.name = "1UYD"; s.make_mmcif_document().write_file(sys.argv[2])`,
		hsp90Pocket, filepath.Join(dir, "1uyd.cif"))
	if output, err := convert.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return dir
}

// withPublicData starts a system that knows one entry of the Protein Data Bank, and some components.
func withPublicData(t *testing.T) *shell {
	t.Helper()
	components, err := filepath.Abs("../../engines/vina/testdata/components.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return start(t, "MOLFABRIC_STRUCTURES="+mirror(t), "MOLFABRIC_COMPONENTS="+components).signIn()
}

// library writes an .sdf file with a ligand, and a record that is none.
func (sh *shell) library(name string) string {
	sh.t.Helper()
	record, err := os.ReadFile("../../engines/vina/testdata/lactic-acid.sdf")
	if err != nil {
		sh.t.Fatal(err)
	}
	path := filepath.Join(sh.dir, name)
	broken := "broken record\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n$$$$\n"
	if err := os.WriteFile(path, append(record, broken...), 0o600); err != nil {
		sh.t.Fatal(err)
	}
	return path
}

// reads decodes what a command prints with --json.
func reads[T any](sh *shell, args ...string) T {
	sh.t.Helper()
	var value T
	out, _ := sh.want(0, "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &value); err != nil {
		sh.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return value
}

// TestDockAnEntryWithTheCommandLine is the path of a chemist who has an entry's id, a component's name and a library: look-up,
// docking around the entry's own ligand with redocking, report, results in every form, a repetition and a bundle.
func TestDockAnEntryWithTheCommandLine(t *testing.T) {
	t.Parallel()
	sh := withPublicData(t)
	found, _ := sh.want(0, "", "ligands", "aspirin")
	sh.contains(found, "AIN", "C9 H8 O4")

	table, _ := sh.want(8, "", "dock", "1uyd", "--chains", "A", "--pocket-ligand", "PU8:A:1224", "--size", "18", "--redock",
		"PU8:A:1224", "--ligand", "aspirin=ccd:AIN", "--ligands", sh.library("library.sdf"), "--exhaustiveness", "1", "--seed", "7",
		"--shard-size", "2", "--out", "results")
	sh.contains(table, "checks", "key contacts", "aspirin", "PU8", "Å from the crystal pose", "1UYD, mmCIF",
		"prepared for this job", "around a ligand of the structure", "broken record", "at parse: 1",
		filepath.Join("results", "report.html")+" first")
	for _, name := range []string{"report.html", "results.csv", "results.json", "best.sdf", "receptor.pdb", "receptor.pdbqt",
		"poses", "complexes", "native", "provenance.json",
		"best.png", "box.png", "best.mvsx"} {
		if _, err := os.Stat(filepath.Join(sh.dir, "results", name)); err != nil {
			t.Errorf("the results hold no %s", name)
		}
	}
	if page, err := os.ReadFile(filepath.Join(sh.dir, "results", "report.html")); err != nil ||
		strings.Count(string(page), "<img ") < 2 || len(page) > 600_000 {
		t.Errorf("the report has %d bytes and %d pictures (%v), want the best pose and the box in few bytes", len(page),
			strings.Count(string(page), "<img "), err)
	}
	if intermediate, _ := filepath.Glob(filepath.Join(sh.dir, "results", "*", "analysis.json")); len(intermediate) > 0 {
		t.Errorf("the results hold %s, which is the tasks' own", intermediate)
	}

	runs := reads[contract.DockingRunList](sh, "runs")
	if len(runs.Runs) == 1 && (runs.Runs[0].JobName != "3 ligands into 1UYD" || runs.Runs[0].Receptor.Name != "1UYD") {
		t.Errorf("the run is called %q, its receptor %q", runs.Runs[0].JobName, runs.Runs[0].Receptor.Name)
	}
	if len(runs.Runs) != 1 || runs.Runs[0].Counts != (contract.DockingCounts{Total: 3, Completed: 2, Failed: 1}) {
		t.Fatalf("the runs are %+v", runs.Runs)
	}
	sh.resultsOf(runs.Runs[0])
	sh.reproduce(runs.Runs[0])
	sh.bundle(runs.Runs[0].RunID)
	sh.figure(runs.Runs[0])
}

// resultsOf lists a run's results in every form, down to the contacts of a pose.
func (sh *shell) resultsOf(run contract.DockingRun) {
	sh.t.Helper()
	shown, _ := sh.want(0, "", "runs", run.JobID)
	sh.contains(shown, run.RunID, run.JobName, "1UYD", "PU8", "around a ligand of the structure", "2 docked, 1 failed")
	table, _ := sh.want(0, "", "results", run.JobID)
	sh.contains(table, "aspirin", "lactic", "failed at parse")
	few, _ := sh.want(0, "", "results", run.RunID, "--max-score", "-100")
	sh.contains(few, "No ligands fit")
	sh.want(0, "", "results", run.RunID, "--csv", "-o", "table.csv")
	if text, err := os.ReadFile(filepath.Join(sh.dir, "table.csv")); err != nil || strings.Count(string(text), "\n") != 4 {
		sh.t.Errorf("the table is %s (%v), want a header and three rows", text, err)
	}
	if sdf, _ := sh.want(0, "", "results", run.RunID, "--status", "completed", "--sdf"); strings.Count(sdf, "$$$$") != 2 {
		sh.t.Errorf("the structures are %s", sdf)
	}
	best := reads[contract.DockingResultList](sh, "results", run.RunID, "--limit", "1").Results[0]
	listed, _ := sh.want(0, "", "poses", best.ResultID)
	pose := reads[contract.DockingPoseList](sh, "poses", best.ResultID).Poses[0]
	sh.contains(listed, pose.PoseID)
	contacts := reads[contract.DockingInteractions](sh, "interactions", pose.PoseID)
	if !contacts.Analysed || len(contacts.Interactions) == 0 {
		sh.t.Errorf("the best pose has the contacts %+v", contacts)
	}
	sh.namedPoses(run, best, listed)
	if len(best.Interactions) > 0 {
		chosen, _ := sh.want(0, "", "results", run.RunID, "--interaction", best.Interactions[0])
		sh.contains(chosen, best.Label)
	}
	_, gone := sh.want(4, "", "results", "run_gone")
	sh.contains(gone, "molfabric runs")
}

// namedPoses finds the poses of a ligand by names, shortened ids and the last docking, as listed by its result's id.
func (sh *shell) namedPoses(run contract.DockingRun, best contract.DockingResult, listed string) {
	sh.t.Helper()
	name := strings.ToUpper(best.Label[:5])
	digits := strings.TrimPrefix(run.JobID, "job_")
	for _, docking := range []string{"last", run.JobID, run.RunID, run.RunID[:20], digits[:16], digits[24:]} {
		if same, _ := sh.want(0, "", "poses", docking, name); same != listed {
			sh.t.Errorf("poses %s %s: got %s, want %s", docking, name, same, listed)
		}
	}
	poses := reads[contract.DockingPoseList](sh, "poses", "last", best.LigandID).Poses
	for _, pose := range poses {
		contacts := reads[contract.DockingInteractions](sh, "interactions", "last", name, "--rank", strconv.Itoa(pose.Rank))
		if contacts.PoseID != pose.PoseID {
			sh.t.Errorf("pose %d of %s is %s, want %s", pose.Rank, name, contacts.PoseID, pose.PoseID)
		}
	}
	_, several := sh.want(2, "", "poses", "last")
	sh.contains(several, "has several ligands", "aspirin", "broken record")
	_, gone := sh.want(4, "", "poses", "last", "ibuprofen")
	sh.contains(gone, `no ligand called "ibuprofen"`)
	_, within := sh.want(2, "", "poses", "last", "spirin")
	sh.contains(within, "within their names", "aspirin")
	_, failed := sh.want(4, "", "interactions", "last", "broken")
	sh.contains(failed, "no poses")
	_, beyond := sh.want(2, "", "interactions", "last", name, "--rank", "99")
	sh.contains(beyond, "the ligand has")
	listing, _ := sh.want(0, "", "runs")
	sh.contains(listing, run.JobName, "1UYD")
	state, _ := sh.want(0, "", "status", "last")
	sh.contains(state, run.JobID)
	_, unknown := sh.want(4, "", "status", "0000dead")
	sh.contains(unknown, "0000dead", "molfabric jobs")
}

// reproduce runs a docking again and expects the same poses, from the receptor that is prepared already.
func (sh *shell) reproduce(run contract.DockingRun) {
	sh.t.Helper()
	said, _ := sh.want(0, "", "reproduce", run.RunID, "--watch")
	sh.contains(said, "repeats "+run.RunID, "Identical: all 3 ligands")
	runs := reads[contract.DockingRunList](sh, "runs").Runs
	again, _ := sh.want(0, "", "runs", runs[0].RunID)
	sh.contains(again, "repeats      "+run.RunID, "Identical")
}

func (sh *shell) bundle(runID string) {
	sh.t.Helper()
	sh.want(0, "", "bundle", runID, "-o", "crate.zip")
	crate, err := zip.OpenReader(filepath.Join(sh.dir, "crate.zip"))
	if err != nil {
		sh.t.Fatal(err)
	}
	defer crate.Close()
	if !slices.ContainsFunc(crate.File, func(f *zip.File) bool { return filepath.Base(f.Name) == "ro-crate-metadata.json" }) {
		sh.t.Error("the bundle is no RO-Crate")
	}
}

// TestGateStopsTheLibrary expects that a redocking that is never good enough ends the job before the library, and says so.
func TestGateStopsTheLibrary(t *testing.T) {
	t.Parallel()
	sh := withPublicData(t)
	_, said := sh.want(7, "", "dock", "--receptor", "1UYD", "--pocket-ligand", "PU8", "--redock", "PU8:A:1224", "--gate", "0.1",
		"--ligand", "aspirin="+smiles["aspirin"], "--exhaustiveness", "1", "--num-modes", "1", "--seed", "7")
	sh.contains(said, "REDOCKING_GATE", "Å")
}

// packed writes a file's content as gzip has it, beside the other files of the shell.
func (sh *shell) packed(path string) string {
	sh.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		sh.t.Fatal(err)
	}
	name := filepath.Base(path) + ".gz"
	file, err := os.Create(filepath.Join(sh.dir, name))
	if err != nil {
		sh.t.Fatal(err)
	}
	w := gzip.NewWriter(file)
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close(), file.Close()); err != nil {
		sh.t.Fatal(err)
	}
	return name
}

// TestPocketsWithTheCommandLine finds the pocket of HSP90's ligand in a compressed file and takes the box that is suggested.
func TestPocketsWithTheCommandLine(t *testing.T) {
	t.Parallel()
	sh := start(t).signIn()
	pocket := sh.packed(hsp90Pocket)
	table, _ := sh.want(0, "", "pockets", pocket, "--max", "2")
	sh.contains(table, "druggability", "--box ")
	_, box, _ := strings.Cut(table, "--box ")
	price, _ := sh.want(0, "", "dock", pocket, "--box", strings.Fields(box)[0], "--ligand", "aspirin="+smiles["aspirin"],
		"--estimate")
	sh.contains(price, "for 1 ligands")
	found := reads[struct {
		JobID   string
		Pockets []struct{ DockingBox map[string]json.RawMessage }
	}](sh, "pockets", pocket, "--max", "2")
	if !strings.HasPrefix(found.JobID, "job_") || len(found.Pockets) == 0 || len(found.Pockets[0].DockingBox) == 0 {
		t.Errorf("--json prints %+v", found)
	}
}
