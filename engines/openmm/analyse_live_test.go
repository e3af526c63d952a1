package openmm

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
)

// toleranceNm is what positions of single precision leave of a length, and five written decimals.
const toleranceNm = 2e-5

// analysisFile is what the tests read of analysis.json.
type analysisFile struct {
	Schema string
	System struct{ Atoms, Waters, Ions int }
	Solute *struct{ Kind string }
	Run    struct {
		StartNs                           float64
		Frames, FramesAnalysed, StateRows int
	}
	Quantities []struct {
		ID, Verdict   string
		Mean          float64
		StandardError *float64
		SecondHalf    *struct{ Change, ChangeUncertainty float64 }
		Count         int
	}
	RMSF []struct {
		Chain, Residue, ResidueName string
		RMSFNm                      float64
	}
	Judgement struct {
		Verdict, Headline string
		Sentences         []string
	}
	Notes []string
}

// knownMotion is what testdata/two_peptides.py knows of the motion that it has made up, in nm.
type knownMotion struct{ RMSD, Gyration, RMSF []float64 }

// layAnalysis makes a task of analyse.py: the two peptides over so many frames, the programs and the request.
func layAnalysis(t *testing.T, frames, analysisInterval int, more ...string) (dir string, known knownMotion) {
	t.Helper()
	dir = t.TempDir()
	arguments := append([]string{"testdata/two_peptides.py", dir, "testdata/two-peptides.pdb", strconv.Itoa(frames)}, more...)
	text, err := exec.CommandContext(t.Context(), enginestest.Python(t), arguments...).Output()
	if err != nil {
		t.Fatalf("making the trajectory: %v", explainExit(err))
	}
	if err := json.Unmarshal(text, &known); err != nil {
		t.Fatal(err)
	}
	files, err := python.Lay(dynamics.Sources...)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		writeAnalysisInput(t, dir, name, content)
	}
	request, _ := json.Marshal(map[string]any{
		"timestepFs": 2, "trajectoryIntervalSteps": 50, "analysisIntervalSteps": analysisInterval, "productionSteps": frames * 50,
		"temperatureK": 300, "title": `Two </title><script>alert(1)</script>`,
		"citations": []map[string]string{{"text": "Eastman, P. et al. OpenMM 8.", "doi": "10.1021/acs.jpcb.3c06662"}},
	})
	writeAnalysisInput(t, dir, "request.json", request)
	return dir, known
}

func writeAnalysisInput(t *testing.T, dir, name string, content []byte) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func explainExit(err error) string {
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		return err.Error() + "\n" + string(ended.Stderr)
	}
	return err.Error()
}

// analyse runs the program in its task and returns the failure that it has written, nil after a success.
func analyse(t *testing.T, dir string) *struct{ Class, Code, Message string } {
	t.Helper()
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "program/analyse.py", "--request", "request.json")
	command.Dir, command.Env = dir, append(os.Environ(), "PYTHONHASHSEED=0", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1")
	_, err := command.Output()
	if err == nil {
		return nil
	}
	var failure struct{ Class, Code, Message string }
	text, readErr := os.ReadFile(filepath.Join(dir, "out", "failure.json"))
	if readErr != nil || json.Unmarshal(text, &failure) != nil {
		t.Fatalf("analyse.py ended without a failure that it understands: %s", explainExit(err))
	}
	return &failure
}

func readAnalysis(t *testing.T, dir string) (document analysisFile, rows []map[string]string) {
	t.Helper()
	if err := json.Unmarshal([]byte(analysisText(t, dir, "analysis.json")), &document); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(analysisText(t, dir, "analysis.csv"))).ReadAll()
	if err != nil || len(lines) < 2 {
		t.Fatalf("analysis.csv has %d lines (%v)", len(lines), err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	return document, rows
}

func analysisText(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "out", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var analysisPlots = []string{"rmsd", "radius-of-gyration", "rmsf", "energy", "temperature", "density"}

func TestAnalyse(t *testing.T) {
	t.Parallel()
	dir, known := layAnalysis(t, 60, 50)
	if failure := analyse(t, dir); failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	document, rows := readAnalysis(t, dir)
	if document.Solute == nil || document.Solute.Kind != "backbone" || document.System.Atoms != 79 || document.System.Waters != 4 ||
		document.System.Ions != 1 {
		t.Errorf("got system %+v and solute %+v, want two peptides with 4 waters and an ion", document.System, document.Solute)
	}
	for i, row := range rows {
		wantNear(t, "rmsd_nm of frame "+row["step"], row["rmsd_nm"], known.RMSD[i])
		wantNear(t, "radius_of_gyration_nm of frame "+row["step"], row["radius_of_gyration_nm"], known.Gyration[i])
	}
	for i, residue := range document.RMSF {
		wantNear(t, "RMSF of "+residue.Chain+residue.Residue, strconv.FormatFloat(residue.RMSFNm, 'f', 6, 64), known.RMSF[i])
	}
	if len(rows) != 60 || len(document.RMSF) != 6 || document.RMSF[5].Chain != "B" || document.RMSF[5].Residue != "103" {
		t.Errorf("got %d rows and the RMSF %+v, want 60 and author numbering", len(rows), document.RMSF)
	}
	if document.Judgement.Verdict != "drifting" || !strings.Contains(strings.Join(document.Judgement.Sentences, " "),
		"Density has not settled: it rises by 0.32 %") {
		t.Errorf("got the judgement %+v, want a drifting density", document.Judgement)
	}
	checkSimulationReport(t, analysisText(t, dir, "report.html"))
	t.Run("again", func(t *testing.T) { checkSameBytes(t, dir) })
	t.Run("chunks", func(t *testing.T) { checkChunks(t, dir) })
}

// TestAnalyseOfARestart analyses a run that goes on after 4,000,000 steps and 8 ns, and wants figures over the whole time.
func TestAnalyseOfARestart(t *testing.T) {
	t.Parallel()
	dir, known := layAnalysis(t, 20, 50)
	lines := strings.Split(strings.TrimSpace(string(readIn(t, dir, "state.csv"))), "\n")
	for i, line := range lines[1:] {
		_, rest, _ := strings.Cut(line, ",")
		_, rest, _ = strings.Cut(rest, ",")
		lines[1+i] = fmt.Sprintf("%d,%.3f,%s", 4_000_000+50*(i+1), 8000+0.1*float64(i+1), rest)
	}
	writeAnalysisInput(t, dir, "in/state.csv", []byte(strings.Join(lines, "\n")+"\n"))
	writeAnalysisInput(t, dir, "in/simulation.json", []byte(`{"restart":{"earlierSteps":4000000,"earlierTimePs":8000.0}}`))
	if failure := analyse(t, dir); failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	document, rows := readAnalysis(t, dir)
	first := rows[0]
	counted := first["step"] == "4000050" && first["time_ps"] == "8000.1"
	if document.Run.StartNs != 8 || !counted || first["potential_kj_mol"] != "-1000" {
		t.Errorf("got a run from %g ns on and the first row %v", document.Run.StartNs, first)
	}
	wantNear(t, "the first frame's RMSD", first["rmsd_nm"], known.RMSD[0])
	if report := analysisText(t, dir, "report.html"); !strings.Contains(report, "2 ps (from 8 ns to 8.002 ns)") {
		t.Error("the report does not say from where to where the run is")
	}
	figure := analysisText(t, dir, "plots/temperature.svg")
	if !strings.Contains(figure, "<!-- 8.0005 -->") || strings.Contains(figure, "<!-- 0.0 -->") {
		t.Error("the time axis does not begin at 8 ns")
	}
	for _, odd := range []string{
		`{"restart":{"earlierSteps":-5,"earlierTimePs":1}}`, `{"restart":7}`, `{"restart":{"earlierSteps":"x"}}`, `{}`,
	} {
		other, _ := layAnalysis(t, 4, 50)
		writeAnalysisInput(t, other, "in/simulation.json", []byte(odd))
		if failure := analyse(t, other); failure != nil {
			t.Fatalf("%s: got the failure %+v", odd, failure)
		}
		if document, rows := readAnalysis(t, other); document.Run.StartNs != 0 || rows[0]["step"] != "50" {
			t.Errorf("%s: got a run from %g ns on", odd, document.Run.StartNs)
		}
	}
}

func readIn(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "in", name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func wantNear(t *testing.T, what, got string, want float64) {
	t.Helper()
	value, err := strconv.ParseFloat(got, 64)
	if err != nil || math.Abs(value-want) > toleranceNm {
		t.Errorf("%s: got %q, want %.5f", what, got, want)
	}
}

// checkSameBytes runs the task again and wants every output to the byte.
func checkSameBytes(t *testing.T, dir string) {
	again := t.TempDir()
	for _, name := range []string{"in", "program"} {
		if err := os.CopyFS(filepath.Join(again, name), os.DirFS(filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	request, err := os.ReadFile(filepath.Join(dir, "request.json"))
	if err != nil {
		t.Fatal(err)
	}
	writeAnalysisInput(t, again, "request.json", request)
	if failure := analyse(t, again); failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	names := []string{"analysis.json", "analysis.csv", "report.html", "result.json"}
	for _, name := range analysisPlots {
		names = append(names, "plots/"+name+".svg", "plots/"+name+".png")
	}
	for _, name := range names {
		if analysisText(t, dir, name) != analysisText(t, again, name) {
			t.Errorf("%s differs between two runs", name)
		}
	}
}

// checkChunks follows the peptides in chunks of every size and wants the same figures to the last bit.
func checkChunks(t *testing.T, dir string) {
	const script = `
import sys; sys.path.insert(0, "program")
from pathlib import Path
import analysis_trajectory as a
system = a.survey(a.read_topology(Path("in")))
for interval in (50, 100, 150, 170, 30):
    plan, found = a.plan_frames(60, 50, interval), set()
    for frames in (1, 2, 3, 7, 59, 60, 1000):
        a.MAX_CHUNK_FRAMES = frames
        motion = a.follow(Path("in/trajectory.dcd"), system, plan, lambda part: None)
        found.add((motion.rmsd.tobytes(), motion.gyration.tobytes(), motion.rmsf.tobytes()))
    assert len(found) == 1, f"{len(found)} answers at an interval of {interval} steps"
    assert len(motion.rmsd) == len(plan.frames)
`
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", script)
	command.Dir = dir
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// checkSimulationReport wants a page that stands alone, whatever its title.
func checkSimulationReport(t *testing.T, page string) {
	for _, forbidden := range []string{"<script", "@import", "url(", "<link", "<iframe", "javascript:"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the report holds %q", forbidden)
		}
	}
	for _, match := range regexp.MustCompile(`\s(?:src|srcset|background)="([^"]{0,40})`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(match[1], "data:image/svg+xml;base64,") {
			t.Errorf("the report loads %s", match[1])
		}
	}
	for _, link := range regexp.MustCompile(`https?://[^"<\s]*`).FindAllString(page, -1) {
		if !strings.HasPrefix(link, "https://doi.org/10.") {
			t.Errorf("the report names %s", link)
		}
	}
	for _, wanted := range []string{"Two &lt;/title&gt;&lt;script&gt;", "default-src 'none'; img-src data:", "Not equilibrated",
		"doi:10.1021/acs.jpcb.3c06662"} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the report lacks %q", wanted)
		}
	}
	if got := strings.Count(page, "<figure>"); got != len(analysisPlots) {
		t.Errorf("the report has %d figures, want %d", got, len(analysisPlots))
	}
}

// TestAnalysedFrames holds an analysis interval that is no multiple of the trajectory's to the frames at or after each of its
// multiples.
func TestAnalysedFrames(t *testing.T) {
	t.Parallel()
	dir, known := layAnalysis(t, 12, 120)
	if failure := analyse(t, dir); failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	document, rows := readAnalysis(t, dir)
	var steps []string
	for i, frame := range []int{2, 4, 7, 9, 11} { // at or after steps 120, 240, 360, 480 and 600
		if i < len(rows) {
			steps = append(steps, rows[i]["step"])
			wantNear(t, "rmsd_nm of step "+rows[i]["step"], rows[i]["rmsd_nm"], known.RMSD[frame])
		}
	}
	if got := strings.Join(steps, " "); got != "150 250 400 500 600" || len(rows) != 5 {
		t.Errorf("got %d rows at steps %s, want 150 250 400 500 600", len(rows), got)
	}
	if len(document.Notes) != 1 || !strings.Contains(document.Notes[0], "no multiple") {
		t.Errorf("got the notes %q, want one on the interval", document.Notes)
	}
}

// TestForeignNames draws chains and residues whose names would be formulas, markup or endless.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	const script = `
import sys
import numpy as np
import analysis_trajectory, plots
from task import one_line
for name in ("$", "$\\foo$", "$\\sum_{$", "<script>", "--><x>", "\x1b[31m", "\0", "a" * 5000, "", "名" * 20):
    short = one_line(name, analysis_trajectory.MAX_NAME_CHARS)
    assert len(short) <= 8
    places = [plots.Place(short, short, short), plots.Place("B", "2", short)] * 3
    figure = plots.per_residue(places, np.arange(6.0) + 0.1, "RMSF", "RMSF")
    assert b"<script>" not in figure.svg and b"\x1b" not in figure.svg and len(figure.svg) < 1_000_000, name
`
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", script)
	command.Env = enginestest.ProgramPath(t, "programs")
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	dir, _ := layAnalysis(t, 12, 50) // and the whole way, with a chain of that name
	topology, err := os.ReadFile(filepath.Join(dir, "in", "topology.pdb"))
	if err != nil {
		t.Fatal(err)
	}
	named := bytes.ReplaceAll(topology, []byte("ALA A"), []byte("ALA $"))
	if bytes.Equal(named, topology) {
		t.Fatal("the topology has no chain A")
	}
	writeAnalysisInput(t, dir, "in/topology.pdb", named)
	if failure := analyse(t, dir); failure != nil {
		t.Errorf("got the failure %+v", failure)
	}
}

func TestAnalyseWaters(t *testing.T) {
	t.Parallel()
	dir, _ := layAnalysis(t, 20, 50, "waters")
	if failure := analyse(t, dir); failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	document, rows := readAnalysis(t, dir)
	if document.Solute != nil || len(document.RMSF) != 0 || len(rows) != 20 || rows[0]["density_g_ml"] == "" {
		t.Errorf("got solute %+v and the rows %v, want energies alone", document.Solute, rows[:1])
	}
	if _, ok := rows[0]["rmsd_nm"]; ok {
		t.Error("the table has an RMSD of water")
	}
	if _, err := os.Stat(filepath.Join(dir, "out", "plots", "rmsd.svg")); err == nil {
		t.Error("there is a figure of the RMSD of water")
	}
}

// TestAnalyseRefuses damages what a simulation has left, one thing at a time.
func TestAnalyseRefuses(t *testing.T) {
	t.Parallel()
	dir, _ := layAnalysis(t, 3, 50)
	whole := map[string][]byte{}
	for _, name := range []string{"in/trajectory.dcd", "in/state.csv", "in/topology.pdb"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		whole[name] = content
	}
	const headerBytes, cellBytes = 276, 56
	frames := func(n byte) []byte { // the header alone, for n frames
		header := bytes.Clone(whole["in/trajectory.dcd"][:headerBytes])
		header[8] = n
		return header
	}
	noNumber := bytes.Clone(whole["in/trajectory.dcd"]) // the first coordinate
	binary.LittleEndian.PutUint32(noNumber[headerBytes+cellBytes+4:], math.Float32bits(float32(math.NaN())))
	topology := regexp.MustCompile(`(?m)^HETATM.* NA .*\n`).ReplaceAll(whole["in/topology.pdb"], nil)
	trajectory, state := whole["in/trajectory.dcd"], string(whole["in/state.csv"])
	for _, c := range []struct {
		name, file string
		content    []byte
		code       string
	}{
		{"no bytes", "in/trajectory.dcd", nil, "TRAJECTORY_EMPTY"},
		{"no frames", "in/trajectory.dcd", frames(0), "TRAJECTORY_EMPTY"},
		{"frames announced", "in/trajectory.dcd", frames(3), "TRAJECTORY_TRUNCATED"},
		{"torn frame", "in/trajectory.dcd", trajectory[:len(trajectory)-1], "TRAJECTORY_TRUNCATED"},
		{"torn header", "in/trajectory.dcd", trajectory[:90], "TRAJECTORY_UNREADABLE"},
		{"text", "in/trajectory.dcd", []byte("frames\n"), "TRAJECTORY_UNREADABLE"},
		{"no number", "in/trajectory.dcd", noNumber, "SIMULATION_UNSTABLE"},
		{"an atom less", "in/topology.pdb", topology, "TRAJECTORY_ATOMS_MISMATCH"},
		{"topology of noise", "in/topology.pdb", []byte("ATOM      1  N   ALA A   1       x\n"), "TOPOLOGY_UNREADABLE"},
		{"another table", "in/state.csv", []byte("a,b\n1,2\n"), "STATE_UNREADABLE"},
		{"steps that fall", "in/state.csv", []byte(strings.Replace(state, "\n100,", "\n10,", 1)), "STATE_UNREADABLE"},
		{"an energy that is none", "in/state.csv", []byte(strings.Replace(state, "-1000,", "nan,", 1)), "SIMULATION_UNSTABLE"},
	} {
		writeAnalysisInput(t, dir, c.file, c.content)
		if failure := analyse(t, dir); failure == nil || failure.Code != c.code || failure.Message == "" ||
			failure.Class != "EXECUTOR" && failure.Class != "USER_INPUT" {
			t.Errorf("%s: got %+v, want %s", c.name, failure, c.code)
		}
		writeAnalysisInput(t, dir, c.file, whole[c.file])
		if err := os.RemoveAll(filepath.Join(dir, "out")); err != nil {
			t.Fatal(err)
		}
	}
}
