package mcp

import (
	"strings"
	"testing"
)

const resultsText = `{"box":{"source":"explicit"},"counts":{"completed":2,"failed":2,"total":4},"engine":{"name":"AutoDock Vina"},
 "ligands":[
  {"rank":1,"ligandId":"a","label":"Aspirin","status":"COMPLETED","failureStage":null,"error":null,"bestScoreKcalMol":-6.5,"ligandEfficiency":0.5,"poseCount":9,
   "poses":[{"rank":1}],"files":{"pdbqt":"poses/00001.pdbqt","sdf":null}},
  {"rank":2,"ligandId":"b","label":"Benzene","status":"COMPLETED","bestScoreKcalMol":-4,"ligandEfficiency":null,"poseCount":1,"poses":[],"files":{}},
  {"rank":null,"ligandId":"c","label":"Broken","status":"FAILED","failureStage":"parse","error":"no molecule","bestScoreKcalMol":null,"poseCount":0,"poses":[],"files":{"pdbqt":null}},
  {"rank":null,"ligandId":"d","label":"Worse","status":"FAILED","failureStage":"dock","error":"no pose","bestScoreKcalMol":null,"poseCount":0,"poses":[]}],
 "parameters":{"seed":{"ligands":[1]}},"receptor":{},"schema":"molfabric.docking.results/v1","seed":42}` + "\n"

func TestDecodeResults(t *testing.T) {
	t.Parallel()
	table := ranking{JobID: "job_1", Status: "COMPLETED_WITH_FAILURES"}
	content := strings.NewReader(resultsText)
	if err := decodeResults(content, 1, &table); err != nil || content.Len() > 0 {
		t.Fatalf("got %v with %d bytes unread", err, content.Len())
	}
	if len(table.Ligands) != 1 || len(table.Failures) != 1 || *table.Counts != (counts{4, 2, 2}) || string(table.Seed) != "42" {
		t.Fatalf("got %+v", table)
	}
	if best := table.Ligands[0]; best.LigandID != "a" || best.BestScoreKcalMol != -6.5 || best.PoseCount != 9 || len(best.Files) != 1 || *best.LigandEfficiency != 0.5 {
		t.Errorf("got %+v", best)
	}
	if got := table.Failures[0]; got != (failed{"c", "Broken", "parse", "no molecule"}) {
		t.Errorf("got %+v", got)
	}
	for _, want := range []string{"2 of 4 ligands", "1 | Aspirin (a) | -6.50 | 9", "… and 1 more\n", "Broken (c) at parse: no molecule", "… and 1 more failed"} {
		if !strings.Contains(table.text(), want) {
			t.Errorf("the text lacks %q:\n%s", want, table.text())
		}
	}
}

func TestDecodeResultsRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing": "", "an array": "[]", "a broken end": resultsText[:len(resultsText)-4], "ligands in an object": `{"ligands":{}}`,
		"another schema": strings.Replace(resultsText, "results/v1", "results/v2", 1), "no counts": strings.Replace(resultsText, `"counts"`, `"sums"`, 1),
		"a score in words": strings.Replace(resultsText, "-6.5", `"low"`, 1),
	} {
		if err := decodeResults(strings.NewReader(text), 10, &ranking{}); err == nil {
			t.Errorf("%s is taken for results", name)
		}
	}
}

// FuzzDecodeResults expects an error or a ranking within the limit, and no panic.
func FuzzDecodeResults(f *testing.F) {
	f.Add(resultsText)
	f.Fuzz(func(t *testing.T, text string) {
		var table ranking
		if err := decodeResults(strings.NewReader(text), 3, &table); err == nil && (len(table.Ligands) > 3 || len(table.Failures) > 3 || table.text() == "") {
			t.Errorf("%q: %+v", text, table)
		}
	})
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	if got, want := quoted("a'b $(c)"), `'a'\''b $(c)'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
