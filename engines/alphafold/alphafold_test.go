package alphafold

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/engines/fold/foldtest"
	"github.com/molfabric/molfabric/internal/alignments"
	"github.com/molfabric/molfabric/internal/fasta"
)

// Proteins of one length: what was compiled for one serves for the other.
const (
	short = "MKVLLAGGSTPREQ"
	other = "GSTPREQMKVLLAG"
)

// compiled is where the tests share what JAX compiles: most of a small model's time.
const compiled = "JAX_COMPILATION_CACHE_DIR"

// quickly is an environment in which a small model is compiled once, and with little care: that it then computes slowly does not
// matter.
func quickly() []string {
	return []string{compiled + "=" + os.Getenv(compiled), "JAX_DISABLE_MOST_OPTIMIZATIONS=true"}
}

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

// Proteins that the database of the tests has variants of: of the cytochrome b6f complex and of photosystem II.
const (
	petN = "MDIVSLAWAALMVVFTFSLSLVVWGRSGL"
	psbI = "MLTLKLFVYTVVIFFVSLFIFGFLSNDPGRNPGREE"
)

// alignmentDatabase is the folder of the database that set-up makes for tests, and what is said of it.
func alignmentDatabase(t *testing.T) (string, *alignments.Database) {
	t.Helper()
	folder := filepath.Join(filepath.Dir(enginestest.Python(t)), "..", "..", "alphafold-database")
	found, err := alignments.Open(folder)
	if err != nil {
		enginestest.Skip(t, "there is no database to align to; deploy/setup.sh --tests makes it")
	}
	return folder, &found.Database
}

// described is a database that is nowhere.
func described() *alignments.Database {
	return &alignments.Database{Name: "uniref30", Version: "2302", Digest: strings.Repeat("d", 64), Prefix: "uniref30_2302_db",
		Sequences: 355_000_000, Residues: 9_000_000_000}
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
	aligned := foldtest.RequestOf(t, ">pair\n"+petN+":"+psbI+"\n", tiny)
	aligned.Params = json.RawMessage(`{"foldModels":1,"foldRecycles":0,"foldMsa":"database"}`)
	folder, database := alignmentDatabase(t)
	aligned.Found.Alignment = database
	planned := foldtest.RequestOf(t, ">a\n"+short+"\n>b\n"+short+":"+other, trueWeights())
	planned.Found.Alignment = described()
	alone := foldtest.RequestOf(t, ">a\n"+short, trueWeights())
	alone.Found.Alignment, alone.Params = described(), json.RawMessage(`{"foldMsa":"single_sequence"}`)
	estimate := foldtest.RequestOf(t, ">a\nMKV", trueWeights())
	estimate.Found.Contents = nil
	enginestest.Run(t, New(), enginestest.Cases{
		Plans: []enginestest.PlanCase{
			{Name: "one", Golden: true, Request: foldtest.RequestOf(t, ">a\n"+short, trueWeights())},
			{Name: "device", Request: device}, {Name: "tasks", Request: tasks}, {Name: "estimate", Request: estimate},
			{Name: "many", Request: many}, {Name: "aligned", Golden: true, Request: planned}, {Name: "alone", Request: alone},
		},
		Refused: refusedCases(t),
		Progress: []enginestest.ProgressCase{
			{Line: `{"progress": 0.5, "message": "one (1 of 2), 14 residues: pass 2 of 4"}`, Fraction: 0.5, OK: true},
			{Line: "INFO:colabfold.batch:Query 1/1: protein (length 14)"},
		},
		Live: []enginestest.LiveCase{{Name: "many", Request: many, Objects: objects, Check: foldedMany,
			Env: quickly()},
			{Name: "aligned", Request: aligned, Objects: objects, Check: foldedAligned,
				Env: append(quickly(), DatabaseVariable+"="+folder)}},
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
		params("lengths", "foldLengths", `{"foldLengths":[3]}`),
		params("template twice", "foldTemplates[1]", `{"foldTemplates":["1cbs","1CBS"]}`),
		params("no database", "foldMsa", `{"foldMsa":"database"}`),
		{Name: "chains", Field: fold.SceneFile, Request: manyChains(t)},
	}
}

// manyChains has one chain more than a job may align.
func manyChains(t *testing.T) engines.Request {
	t.Helper()
	const letters = "ACDEFGHIKLMNPQRSTVWY"
	var text strings.Builder
	for i := range maxChains / 2 {
		pair := string([]byte{letters[i%20], letters[i/20%20], letters[i/400%20]})
		fmt.Fprintf(&text, ">p%d\n%s:%s\n", i, pair+"A", pair+"C")
	}
	r := foldtest.RequestOf(t, text.String()+">last\nMKV\n", trueWeights())
	r.Found.Alignment = described()
	return r
}

// TestChainsAreAlignedOnce wants one task for each chain that differs, which says nothing of the job that it is of.
func TestChainsAreAlignedOnce(t *testing.T) {
	t.Parallel()
	plan := func(text string, params string) []engines.Shard {
		r := foldtest.RequestOf(t, text, trueWeights())
		r.Found.Alignment, r.Params, r.JobID = described(), json.RawMessage(params), "job_"+params
		shards, err := New().Plan(r)
		if err != nil {
			t.Fatal(err)
		}
		return shards
	}
	first := plan(">a\n"+short+"\n>b\n"+short+":"+other+":"+short+"\n", `{"foldModels":1}`)
	second := plan(">z\n"+other+"\n", `{"foldRecycles":0,"seed":3}`)
	if first[0].Stage != stageMSA || first[1].Stage != stageMSA || first[2].Stage == stageMSA || first[0].Engine != AlignerID {
		t.Fatalf("got the stages %s, %s and %s, want a task for each of two chains", first[0].Stage, first[1].Stage, first[2].Stage)
	}
	if string(first[1].Params) != string(second[0].Params) {
		t.Errorf("one chain has other parameters in another job:\n%s\n%s", first[1].Params, second[0].Params)
	}
	if second[1].StageIndex != 1 || second[2].StageIndex != 2 {
		t.Errorf("got the stages %d and %d behind the alignment, want 1 and 2", second[1].StageIndex, second[2].StageIndex)
	}
}

// TestTemplatesAreLookedUp wants each entry that a request names, at its place.
func TestTemplatesAreLookedUp(t *testing.T) {
	t.Parallel()
	r := foldtest.RequestOf(t, ">a\n"+short, trueWeights())
	r.Params = json.RawMessage(`{"foldTemplates":["1cbs","2CBS"]}`)
	wants, err := New().Wants(r)
	if err != nil || len(wants.Entries) != 2 || wants.Entries[1].Path != "foldTemplates[1]" || wants.Entries[1].ID != "2CBS" {
		t.Errorf("got %+v, %v; want two entries", wants.Entries, err)
	}
}

// TestAligner wants the helper to run no job of its own, and its probe to refuse other programs and a worker without a database.
func TestAligner(t *testing.T) {
	t.Parallel()
	if _, err := NewAligner().Plan(engines.Request{}); err == nil {
		t.Error("the helper plans a job")
	}
	spec := NewAligner().Spec()
	for printed, want := range map[string]string{
		`{"mmseqs2":"` + mmseqs + `","colabfold":"1.6.3","database":"uniref30 2302 dddd"}`: "",
		`{"mmseqs2":"` + mmseqs + `","colabfold":"1.6.3"}`:                                 "sees no database",
		`{"mmseqs2":"` + mmseqs + `","colabfold":"1.6.3","database":""}`:                   "not those that were described",
		`{"mmseqs2":"14-7e284","colabfold":"1.6.3","database":"uniref30 2302 dddd"}`:       "mmseqs2 is",
		`{"mmseqs2":"` + mmseqs + `","colabfold":"1.5.5","database":"uniref30 2302 dddd"}`: "colabfold is",
	} {
		_, err := spec.Probe.Check([]byte(printed))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", printed, err, want)
		}
	}
}

// foldedAligned wants real alignments that the models saw, and that the report tells of.
func foldedAligned(t *testing.T, o *enginestest.Outcome) {
	if len(o.Failures) > 0 {
		t.Fatalf("failures %v, logs %v", o.Failures, o.Logs)
	}
	content, err := os.ReadFile(o.Dirs["report"].Out("results.json"))
	var results struct {
		Sequences []struct{ AlignedSequences int }
	}
	if err != nil || json.Unmarshal(content, &results) != nil || len(results.Sequences) != 1 {
		t.Fatal(err, string(content))
	}
	for i, one := range results.Sequences {
		if one.AlignedSequences < 2 {
			t.Errorf("protein %d was folded with %d aligned sequences, want more than its own row", i, one.AlignedSequences)
		}
	}
	for folder, names := range map[string][]string{
		"msa-0001": {alignmentOf(petN)}, "msa-0002": {alignmentOf(psbI)}, "fold-001": {"0001-pair.a3m"},
	} {
		for _, name := range names {
			text, err := os.ReadFile(o.Dirs[folder].Out(name))
			if err != nil || strings.Count(string(text), ">") < 2 {
				t.Errorf("%s/%s is no alignment of more than one sequence: %v\n%s", folder, name, err, text)
			}
		}
	}
	for name, want := range map[string]string{"report.html": "aligned to chloroplast 1", "provenance.json": `"name": "chloroplast"`,
		"structures.csv": "alignedSequences", "0001-pair.coverage.svg": "sequences"} {
		text, err := os.ReadFile(o.Dirs["report"].Out(name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q: %v", name, want, err)
		}
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
