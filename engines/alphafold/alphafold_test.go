package alphafold

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/engines/fold/foldtest"
	"github.com/molfabric/molfabric/internal/fasta"
)

// Proteins of one length: what was compiled for one serves for the other.
const (
	short = "MKVLLAGGSTPREQ"
	other = "GSTPREQMKVLLAG"
)

// compiled is where the tests share what JAX compiles: most of a small model's time.
const compiled = "JAX_COMPILATION_CACHE_DIR"

func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "compiled-")
	if err == nil {
		err = os.Setenv(compiled, folder)
	}
	if err != nil {
		panic(err) // nothing can be written here
	}
	status := m.Run()
	_ = os.RemoveAll(folder) // below the temporary directory
	os.Exit(status)
}

// files are the names of the files of weights.
func files() []string {
	names := []string{"config.json"}
	for number := 1; number <= 5; number++ {
		names = append(names, fmt.Sprintf("params_model_%d_ptm.npz", number))
	}
	return names
}

// trueWeights are described as AlphaFold's would be.
func trueWeights() engines.Weights {
	w := engines.Weights{Model: ID, Digest: strings.Repeat("b", 64), Licence: "CC-BY-4.0", CommercialUse: true, Trained: true,
		Bytes: 1_860_000_000, Files: map[string]engines.Object{}}
	for _, name := range files() {
		w.Files[name] = engines.Object{StorageKey: "weights/b/" + name, SHA256: strings.Repeat("c", 64), ByteSize: 372_000_000}
	}
	return w
}

// tinyWeights are those that set-up makes of random numbers, and the files behind their storage keys.
func tinyWeights(t *testing.T) (engines.Weights, map[string]string) {
	t.Helper()
	return foldtest.TinyWeights(t, ID, "alphafold", files()...)
}

func TestEngine(t *testing.T) {
	t.Parallel()
	tiny, objects := tinyWeights(t)
	many := foldtest.RequestOf(t, ">one\n"+short+"\n>trimer\nMKVLA:GGST:MKVLA\n>bad\nMKX\n", tiny)
	many.Params = json.RawMessage(`{"foldModels":2,"foldRecycles":0,"foldMsa":"single_sequence"}`)
	device := foldtest.RequestOf(t, ">long\n"+strings.Repeat("A", fasta.MaxGPUTokens), trueWeights())
	device.Parameters = map[string]string{"foldDevice": "cuda"}
	tasks := foldtest.RequestOf(t, ">a\n"+short+"\n>b\n"+other+"\n>c\nMKVAA\n", trueWeights())
	tasks.TaskCount = 2
	estimate := foldtest.RequestOf(t, ">a\nMKV", trueWeights())
	estimate.Found.Contents = nil
	enginestest.Run(t, New(), enginestest.Cases{
		Plans: []enginestest.PlanCase{
			{Name: "one", Golden: true, Request: foldtest.RequestOf(t, ">a\n"+short, trueWeights())},
			{Name: "device", Request: device}, {Name: "tasks", Request: tasks}, {Name: "estimate", Request: estimate},
			{Name: "many", Request: many},
		},
		Refused: refusedCases(t),
		Progress: []enginestest.ProgressCase{
			{Line: `{"progress": 0.5, "message": "one (1 of 2), 14 residues: pass 2 of 4"}`, Fraction: 0.5, OK: true},
			{Line: "INFO:colabfold.batch:Query 1/1: protein (length 14)"},
		},
		Live: []enginestest.LiveCase{{Name: "many", Request: many, Objects: objects, Check: foldedMany}},
	})
}

func refusedCases(t *testing.T) []enginestest.RefusedCase {
	t.Helper()
	changed := func(name, field string, change func(*engines.Request)) enginestest.RefusedCase {
		r := foldtest.RequestOf(t, ">a\nMKV", trueWeights())
		change(&r)
		return enginestest.RefusedCase{Name: name, Field: field, Request: r}
	}
	params := func(name, field, text string) enginestest.RefusedCase {
		return changed(name, field, func(r *engines.Request) { r.Params = json.RawMessage(text) })
	}
	return []enginestest.RefusedCase{
		{Name: "letter", Field: fold.SceneFile, Request: foldtest.RequestOf(t, ">a\nMKX", trueWeights())},
		{Name: "too long", Field: fold.SceneFile,
			Request: foldtest.RequestOf(t, ">a\n"+strings.Repeat("A", fasta.MaxCPUTokens+1), trueWeights())},
		changed("no file", fold.SceneFile, func(r *engines.Request) { r.SceneFile.StorageKey = "" }),
		changed("no weights", "foldModel", func(r *engines.Request) { r.Found.Weights = nil }),
		params("other model", "foldModel", `{"foldModel":"esmfold"}`),
		params("no database", "foldMsa", `{"foldMsa":"database"}`),
	}
}

// foldedMany wants what can be folded folded, the models ranked, the rest named, and everything marked as untrained.
func foldedMany(t *testing.T, o *enginestest.Outcome) {
	if len(o.Failures) > 0 {
		t.Fatalf("failures %v, logs %v", o.Failures, o.Logs)
	}
	var results struct {
		Untrained bool
		Sequences []struct {
			File, Model, ModelType string
			Residues, Chains       int
			AlignedSequences       int
			MeanPLDDT              float64
			IPTM                   *float64
			Ranking                []struct{ MeanPLDDT float64 }
		}
		Failures []engines.ItemFailure
	}
	folder := o.Dirs["report"]
	content, err := os.ReadFile(folder.Out("results.json"))
	if err != nil || json.Unmarshal(content, &results) != nil {
		t.Fatal(err, string(content))
	}
	if len(results.Sequences) != 2 || !results.Untrained || results.Sequences[1].Chains != 3 || results.Sequences[1].IPTM == nil ||
		results.Sequences[1].Residues != 14 || results.Sequences[0].AlignedSequences != 1 {
		t.Errorf("got %+v", results)
	}
	if len(results.Failures) != 1 || results.Failures[0].Item != "bad" {
		t.Errorf("got failures %+v, want the letter X", results.Failures)
	}
	for _, one := range results.Sequences {
		if len(one.Ranking) != 2 || one.Chains == 1 && one.Ranking[0].MeanPLDDT < one.Ranking[1].MeanPLDDT {
			t.Errorf("%s has the models %+v, want two, the surer first", one.File, one.Ranking)
		}
		if one.MeanPLDDT < 1 || one.MeanPLDDT > 100 {
			t.Errorf("%s has a mean pLDDT of %v, want it of 0 to 100", one.File, one.MeanPLDDT)
		}
	}
	foldtest.Marked(t, folder, "structures.csv", "report.html", "provenance.json", "0001-one.plddt.svg", "0001-one.coverage.svg")
	foldtest.Marked(t, o.Dirs["fold-001"],
		"0001-one.pdb", "0001-one.cif", "0001-one.scores.json", "0001-one.rank2.pdb", "0002-trimer.pdb")
	checkOrder(t, o.Dirs["fold-001"].Out("0002-trimer.scores.json"), o.Dirs["fold-001"].Out("0002-trimer.pdb"))
}

// checkOrder wants the chains of a trimer as the request has them, although ColabFold puts equal ones beside each other.
func checkOrder(t *testing.T, scores, structure string) {
	t.Helper()
	content, err := os.ReadFile(structure)
	if err != nil {
		t.Fatal(err)
	}
	var letters []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "ATOM") && line[12:16] == " CA " || strings.HasPrefix(line, "ATOM") && line[13:15] == "CA" {
			letters = append(letters, line[21:22]+line[17:20])
		}
	}
	want := "AMET ALYS AVAL ALEU AALA BGLY BGLY BSER BTHR CMET CLYS CVAL CLEU CALA"
	if got := strings.Join(letters, " "); got != want {
		t.Errorf("the trimer has the residues %s, want %s", got, want)
	}
	if _, err := os.Stat(scores); err != nil {
		t.Error(err)
	}
}
