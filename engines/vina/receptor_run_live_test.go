package vina

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

// fields is a JSON object.
type fields = map[string]any

// task is one run of prepare_receptor.py in a directory of its own.
type task struct {
	t   *testing.T
	dir string
	log string
}

type receptorSummary struct {
	Summary struct {
		Notes  []string
		Hashes map[string]string
		Box    struct{ CenterAngstrom, SizeAngstrom [3]float64 }
		Native *struct{ SMILES string }
		Reused bool
	}
}

type residueRecord struct {
	Chain, InsertionCode, ResidueName string
	Residue                           int
	Status, Why, ConvertedTo, Kept    string
	Option                            string
	State                             string
	Atoms                             []string
}

type receptorReport struct {
	AtomsInBox, AtomCount                                                  int
	Notes                                                                  []string
	AlternateLocations, InsertionCodes, MissingResidues, Titration         []residueRecord
	Site, RebuiltResidues, TrimmedResidues, RigidResidues, LeftOutResidues []residueRecord
	Waters                                                                 struct{ Kept, Removed int }
	ChainBreaks                                                            []any
	Selection                                                              struct{ Copies []struct{ Chain, Of string } }
	RemovedComponents                                                      []struct{ Component, Why string }
	Hashes                                                                 map[string]string
}

// prepareReceptor runs the program on a receptor. The request is completed with the defaults of the API.
func prepareReceptor(t *testing.T, receptor []byte, request fields, earlier *task) *task {
	t.Helper()
	return prepareReceptorWith(t, receptor, request, earlier, nil)
}

// prepareReceptorWith adds lines to the end of programs, by their names, where something of theirs is to fail.
func prepareReceptorWith(t *testing.T, receptor []byte, request fields, earlier *task, added map[string]string) *task {
	t.Helper()
	python := enginestest.Python(t)
	run := &task{t: t, dir: t.TempDir()}
	layPrograms(t, run.dir)
	for name, lines := range added {
		path := filepath.Join("program", name)
		before, err := os.ReadFile(filepath.Join(run.dir, path))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		run.write(path, append(before, lines...))
	}
	run.write("in/receptor", receptor)
	if earlier != nil {
		for from, to := range map[string]string{"receptor.pdbqt": "prepared.pdbqt", "receptor.pdb": "prepared.pdb",
			"serials.json": "prepared-serials.json", "receptor.json": "prepared.json"} {
			run.write("in/"+to, earlier.output(from))
		}
	}
	run.write("request.json", completedRequest(t, request))
	command := exec.CommandContext(t.Context(), python, "-B", "program/prepare_receptor.py")
	command.Dir = run.dir
	command.Env = append(os.Environ(), "PYTHONHASHSEED=0", "OPENBLAS_NUM_THREADS=1")
	log, _ := command.CombinedOutput() // its outputs say how it ended
	run.log = string(log)
	if strings.Contains(run.log, "Traceback") {
		t.Fatalf("the program ended with a stack trace:\n%s", run.log)
	}
	return run
}

func completedRequest(t *testing.T, request fields) []byte {
	t.Helper()
	complete := fields{"program": programReceptor, "box": fields{"source": "explicit", "centerAngstrom": []float64{0, 0, 0},
		"sizeAngstrom": []float64{30, 30, 30}}}
	preparation := fields{"protonationPh": 7.4, "addHydrogens": true, "protonationMethod": "pdb2pqr-propka", "forceField": "AMBER"}
	for key, value := range request {
		if key != "preparation" {
			complete[key] = value
			continue
		}
		for name, setting := range value.(fields) {
			preparation[name] = setting
		}
	}
	complete["preparation"] = preparation
	text, err := json.Marshal(complete)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (r *task) write(name string, content []byte) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *task) output(name string) []byte {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, "out", name))
	if err != nil {
		r.t.Fatalf("%v\nlog:\n%s", err, r.log)
	}
	return content
}

func (r *task) read(name string, document any) {
	r.t.Helper()
	if err := json.Unmarshal(r.output(name), document); err != nil {
		r.t.Fatal(err)
	}
}

func (r *task) report() receptorReport {
	r.t.Helper()
	var report receptorReport
	r.read("receptor.json", &report)
	return report
}

func (r *task) summary() receptorSummary {
	r.t.Helper()
	var summary receptorSummary
	r.read("result.json", &summary)
	return summary
}

// wantNote checks that the report's notes hold one.
func (r *task) wantNote(note string) {
	r.t.Helper()
	if notes := r.report().Notes; !slices.Contains(notes, note) {
		r.t.Errorf("got notes %q, want %q", notes, note)
	}
}

// wantRefused checks that the run ended with a USER_INPUT failure that says all of texts.
func (r *task) wantRefused(code string, texts ...string) {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.dir, "out", "failure.json"))
	if err != nil {
		r.t.Fatalf("the receptor was not refused; log:\n%s", r.log)
	}
	var failure struct {
		Class         engines.FailureClass
		Code, Message string
	}
	if err := json.Unmarshal(content, &failure); err != nil {
		r.t.Fatal(err)
	}
	if failure.Class != engines.UserInput || failure.Code != code {
		r.t.Errorf("got %s %s %q, want USER_INPUT %s", failure.Class, failure.Code, failure.Message, code)
	}
	for _, text := range texts {
		if !strings.Contains(failure.Message, text) {
			r.t.Errorf("got %q, want it to say %q", failure.Message, text)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// atomsOf counts the lines of a residue's atoms in a PDB or PDBQT text.
func atomsOf(text []byte, chain string, number int, code string) []string {
	var names []string
	for line := range strings.Lines(string(text)) {
		if (strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM")) && strings.TrimSpace(line[21:22]) == chain &&
			strings.TrimSpace(line[22:27]) == fmt.Sprint(number)+code {
			names = append(names, strings.TrimSpace(line[12:16]))
		}
	}
	return names
}

func residues(records []residueRecord) []string {
	var names []string
	for _, r := range records {
		names = append(names, fmt.Sprintf("%s:%s%d%s", r.Chain, r.ResidueName, r.Residue, r.InsertionCode))
	}
	return names
}

// sited tells what became of each component, in order, and the option that changes it where it is one that the request did not
// give.
func sited(report receptorReport) []string {
	var told []string
	for _, r := range report.Site {
		entry := fmt.Sprintf("%s %s", residues([]residueRecord{r})[0], r.Status)
		if strings.HasPrefix(r.Option, "--") {
			entry += ": " + r.Option
		}
		told = append(told, entry)
	}
	slices.Sort(told)
	return told
}

func wantEqual[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}
