package esmfold

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/internal/fasta"
)

const (
	trpCage = "NLYIQWLKDGGPSSGRPPPS"
	short   = "MKVLLAGGSTPREQ"
)

// requestOf asks for the records of a FASTA with the tiny weights.
func requestOf(t *testing.T, text string, weights engines.Weights) engines.Request {
	t.Helper()
	records, err := fasta.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return engines.Request{
		JobID: "job_test", JobName: "two <proteins>", Params: json.RawMessage(`{}`),
		SceneFile: engines.Object{StorageKey: "seqs.fasta", SHA256: strings.Repeat("a", 64), ByteSize: int64(len(text))},
		Found:     engines.Found{Weights: &weights, Contents: map[string]engines.Contents{fold.SceneFile: {Sequences: records}}},
	}
}

// trueWeights are described as esmfold_v1's would be.
func trueWeights() engines.Weights {
	return engines.Weights{Model: ID, Digest: strings.Repeat("b", 64), Licence: "MIT", CommercialUse: true, Trained: true,
		Bytes: 8_440_000_000, Files: map[string]engines.Object{
			"config.json":       {StorageKey: "weights/b/config.json", SHA256: strings.Repeat("c", 64), ByteSize: 2000},
			"model.safetensors": {StorageKey: "weights/b/model.safetensors", SHA256: strings.Repeat("d", 64), ByteSize: 8_439_998_000},
		}}
}

// tinyWeights are those that set-up makes of random numbers, and the files behind their storage keys.
func tinyWeights(t *testing.T) (engines.Weights, map[string]string) {
	t.Helper()
	folder := filepath.Join(filepath.Dir(enginestest.Python(t)), "..", "..", "fold", "tiny-model")
	weights := engines.Weights{Model: ID, Digest: strings.Repeat("e", 64), Licence: "none", Files: map[string]engines.Object{}}
	objects := map[string]string{}
	for _, name := range []string{"config.json", "model.safetensors"} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			enginestest.Skip(t, "there is no model of random weights; deploy/setup.sh --tests makes it")
		}
		sum := sha256.Sum256(content)
		key := "weights/" + name
		weights.Files[name] = engines.Object{StorageKey: key, SHA256: hex.EncodeToString(sum[:]), ByteSize: int64(len(content))}
		weights.Bytes += int64(len(content))
		objects[key] = filepath.Join(folder, name)
	}
	return weights, objects
}

func TestEngine(t *testing.T) {
	t.Parallel()
	tiny, objects := tinyWeights(t)
	many := requestOf(t, ">cage\n"+trpCage+"\n>dimer\n"+short+":"+short+"\n>bad\nMKX\n>cage\nMKV\n>short\n"+short+"\n", tiny)
	device := requestOf(t, ">long\n"+strings.Repeat("A", fasta.MaxGPUTokens), trueWeights())
	device.Parameters = map[string]string{"foldDevice": "cuda"}
	tasks := requestOf(t, ">a\n"+trpCage+"\n>b\n"+short+"\n>c\nMKVAA\n", trueWeights())
	tasks.TaskCount = 2
	estimate := requestOf(t, ">a\nMKV", trueWeights())
	estimate.Found.Contents = nil
	enginestest.Run(t, New(), enginestest.Cases{
		Plans: []enginestest.PlanCase{
			{Name: "one", Golden: true, Request: requestOf(t, ">a\n"+trpCage, trueWeights())},
			{Name: "device", Request: device},
			{Name: "tasks", Golden: true, Request: tasks},
			{Name: "estimate", Request: estimate},
			{Name: "many", Request: many},
		},
		Refused: refusedCases(t),
		Progress: []enginestest.ProgressCase{
			{Line: `{"progress": 0.5, "message": "cage (1 of 3), 20 tokens: pass 2 of 4"}`, Fraction: 0.5, OK: true},
			{Line: "Some weights of the model checkpoint were not used"},
		},
		Live: []enginestest.LiveCase{{Name: "many", Request: many, Objects: objects, Check: foldedMany}},
	})
}

func refusedCases(t *testing.T) []enginestest.RefusedCase {
	t.Helper()
	text := func(name, text string) enginestest.RefusedCase {
		return enginestest.RefusedCase{Name: name, Field: fold.SceneFile, Request: requestOf(t, text, trueWeights())}
	}
	changed := func(name, field string, change func(*engines.Request)) enginestest.RefusedCase {
		r := requestOf(t, ">a\nMKV", trueWeights())
		change(&r)
		return enginestest.RefusedCase{Name: name, Field: field, Request: r}
	}
	return []enginestest.RefusedCase{
		text("letter", ">a\nMKX"), text("empty", ">a\n>b\n"), text("empty chain", ">a\nMKV::MKV"), text("gap", ">a\nMK-V"),
		text("too long", ">a\n"+strings.Repeat("A", fasta.MaxCPUTokens+1)),
		text("too many", strings.Repeat(">a\nMKV\n", fold.MaxSequences+1)),
		text("too many chains", ">a\nMK"+strings.Repeat(":MK", fasta.MaxChains)),
		changed("no file", fold.SceneFile, func(r *engines.Request) { r.SceneFile.StorageKey = "" }),
		changed("compressed", fold.SceneFile, func(r *engines.Request) { r.SceneFile.StorageKey = "a.fasta.gz" }),
		changed("large", fold.SceneFile, func(r *engines.Request) { r.SceneFile.ByteSize = fold.MaxFileBytes + 1 }),
		changed("no weights", "foldModel", func(r *engines.Request) { r.Found.Weights = nil }),
		changed("other model", "foldModel", func(r *engines.Request) { r.Params = json.RawMessage(`{"foldModel":"alphafold"}`) }),
		changed("other's parameter", "foldModels", func(r *engines.Request) { r.Params = json.RawMessage(`{"foldModels":2}`) }),
		changed("other device", "parameters.foldDevice", func(r *engines.Request) {
			r.Parameters = map[string]string{"foldDevice": "tpu"}
		}),
	}
}

// foldedMany wants what can be folded folded, the rest named, and everything marked as untrained.
func foldedMany(t *testing.T, o *enginestest.Outcome) {
	if len(o.Failures) > 0 {
		t.Fatalf("failures %v, logs %v", o.Failures, o.Logs)
	}
	var results struct {
		Untrained bool
		Sequences []struct {
			File, Name       string
			Residues, Chains int
			MeanPLDDT        float64
			IPTM             *float64
		}
		Failures []engines.ItemFailure
	}
	folder := o.Dirs["report"]
	content, err := os.ReadFile(folder.Out("results.json"))
	if err != nil || json.Unmarshal(content, &results) != nil {
		t.Fatal(err, string(content))
	}
	if len(results.Sequences) != 3 || !results.Untrained || results.Sequences[1].Chains != 2 || results.Sequences[1].IPTM == nil ||
		results.Sequences[1].Residues != 2*len(short) {
		t.Errorf("got %+v", results)
	}
	if len(results.Failures) != 2 || results.Failures[0].Item != "bad" ||
		!strings.Contains(results.Failures[1].Message, "record 1") {
		t.Errorf("got failures %+v, want the letter X and the double name", results.Failures)
	}
	for _, one := range results.Sequences {
		if one.MeanPLDDT < 1 || one.MeanPLDDT > 100 {
			t.Errorf("%s has a mean pLDDT of %v, want it of 0 to 100", one.Name, one.MeanPLDDT)
		}
	}
	for _, name := range []string{"structures.csv", "report.html", "provenance.json", "0001-cage.plddt.svg"} {
		content, err := os.ReadFile(folder.Out(name))
		if err != nil || !strings.Contains(string(content), "untrained") {
			t.Errorf("%s does not say that the weights are untrained: %v", name, err)
		}
	}
	for _, name := range []string{"0001-cage.pdb", "0001-cage.cif", "0001-cage.scores.json"} {
		content, err := os.ReadFile(o.Dirs["fold-001"].Out(name))
		if err != nil || !strings.Contains(strings.ToLower(string(content)), "untrained") {
			t.Errorf("%s does not say that the weights are untrained: %v", name, err)
		}
	}
}
