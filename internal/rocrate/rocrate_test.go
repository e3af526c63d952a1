package rocrate

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"
)

func crate() Crate {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.FixedZone("", 7200))
	return Crate{
		Name: "A docking", Description: "of two ligands", Published: at, License: "all rights reserved", Identifier: "run_1",
		Files: []File{
			{Path: "results.csv", MediaType: "text/csv", SHA256: "aa", ByteSize: 3},
			{Path: "accounts/a/receptor.pdb", Elsewhere: true, SHA256: "bb", Name: "the receptor"},
		},
		Programs: []Program{{Name: "vina", Version: "1.2.7", URL: "https://vina.scripps.edu"}},
		Actions: []Action{{ID: "dock", Name: "Docking", Description: "python dock.py", Program: "vina",
			Inputs: []string{"accounts/a/receptor.pdb", "unknown"}, Outputs: []string{"results.csv"}, StartedAt: &at,
			EndedAt: &at}},
		Properties: []Property{{Name: "seed", Value: 42}, {Name: "cost", Value: json.Number("0.35"), Unit: "GBP"}},
		Citations:  []Citation{{Text: "A paper", DOI: "10.1/x"}, {Text: "A program without a paper"}},
	}
}

type document struct {
	Context string           `json:"@context"`
	Graph   []map[string]any `json:"@graph"`
}

func read(t *testing.T, c Crate) (document, map[string]map[string]any) {
	t.Helper()
	text, err := c.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Metadata()
	if err != nil || !bytes.Equal(text, again) {
		t.Fatalf("the document differs between two writings: %v", err)
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	byID := map[string]map[string]any{}
	for _, e := range d.Graph {
		id, _ := e["@id"].(string)
		if id == "" || e["@type"] == nil || byID[id] != nil {
			t.Errorf("entity %v has no type or no id of its own", e)
		}
		byID[id] = e
	}
	return d, byID
}

func TestEveryReferenceHasItsEntity(t *testing.T) {
	t.Parallel()
	d, byID := read(t, crate())
	if d.Context != "https://w3id.org/ro/crate/1.1/context" {
		t.Errorf("got context %s", d.Context)
	}
	outside := map[string]bool{conformsTo: true}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			if id, ok := v["@id"].(string); ok && len(v) == 1 && byID[id] == nil && !outside[id] {
				t.Errorf("nothing has the id %s", id)
			}
		}
	}
	for _, e := range d.Graph {
		for _, value := range e {
			walk(value)
		}
	}
}

func TestTheRootSaysWhatItHolds(t *testing.T) {
	t.Parallel()
	_, byID := read(t, crate())
	root := byID["./"]
	if part := root["hasPart"].(map[string]any); part["@id"] != "results.csv" {
		t.Errorf("got part %v, want the one file of the folder", part)
	}
	if root["datePublished"] != "2026-05-01T10:00:00Z" || root["identifier"] != "run_1" {
		t.Errorf("got root %v", root)
	}
	action := byID["#action-dock"]
	if input := action["object"].(map[string]any); input["@id"] != "urn:sha256:bb:accounts/a/receptor.pdb" {
		t.Errorf("got input %v, want the receptor alone", input)
	}
	if action["startTime"] != "2026-05-01T10:00:00+00:00" || action["actionStatus"] != "http://schema.org/CompletedActionStatus" {
		t.Errorf("got action %v", action)
	}
	if byID["https://doi.org/10.1/x"] == nil || byID["#citation-2"] == nil {
		t.Error("a citation is missing")
	}
}
