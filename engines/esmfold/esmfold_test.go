package esmfold

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/engines/fold/foldtest"
	"github.com/molfabric/molfabric/internal/fasta"
)

const (
	trpCage = "NLYIQWLKDGGPSSGRPPPS"
	short   = "MKVLLAGGSTPREQ"
)

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
	return foldtest.TinyWeights(t, ID, "fold", "config.json", "model.safetensors")
}

func TestEngine(t *testing.T) {
	t.Parallel()
	tiny, objects := tinyWeights(t)
	many := foldtest.RequestOf(t,
		">cage\n"+trpCage+"\n>dimer\n"+short+":"+short+"\n>bad\nMKX\n>cage\nMKV\n>short\n"+short+"\n", tiny)
	device := foldtest.RequestOf(t, ">long\n"+strings.Repeat("A", fasta.MaxGPUTokens), trueWeights())
	device.Parameters = map[string]string{"foldDevice": "cuda"}
	tasks := foldtest.RequestOf(t, ">a\n"+trpCage+"\n>b\n"+short+"\n>c\nMKVAA\n", trueWeights())
	tasks.TaskCount = 2
	estimate := foldtest.RequestOf(t, ">a\nMKV", trueWeights())
	estimate.Found.Contents = nil
	enginestest.Run(t, New(), enginestest.Cases{
		Plans: []enginestest.PlanCase{
			{Name: "one", Golden: true, Request: foldtest.RequestOf(t, ">a\n"+trpCage, trueWeights())},
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
		return enginestest.RefusedCase{Name: name, Field: fold.SceneFile, Request: foldtest.RequestOf(t, text, trueWeights())}
	}
	changed := func(name, field string, change func(*engines.Request)) enginestest.RefusedCase {
		r := foldtest.RequestOf(t, ">a\nMKV", trueWeights())
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
	foldtest.Marked(t, folder, "structures.csv", "report.html", "provenance.json", "0001-cage.plddt.svg")
	foldtest.Marked(t, o.Dirs["fold-001"], "0001-cage.pdb", "0001-cage.cif", "0001-cage.scores.json")
}
