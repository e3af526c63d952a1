package scene

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestOperationsKeepTheirForm: the file has every operation, with all of its arguments somewhere.
func TestOperationsKeepTheirForm(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/operations.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]map[string]bool{}
	for line := range strings.Lines(string(text)) {
		operations, err := Parse([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		again, err := json.Marshal(operations)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []map[string]any
		if err := errors.Join(json.Unmarshal(again, &got), json.Unmarshal([]byte(line), &want)); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %s, want %s", again, line)
		}
		for _, one := range want {
			name := one["op"].(string)
			if given[name] == nil {
				given[name] = map[string]bool{}
			}
			for argument := range one["args"].(map[string]any) {
				given[name][argument] = true
			}
		}
	}
	known, err := vocabulary()
	if err != nil {
		t.Fatal(err)
	}
	if len(known) != len(kinds) {
		t.Errorf("the schema has %d operations, the types are %d", len(known), len(kinds))
	}
	for name, entry := range known {
		for argument := range entry.arguments {
			if !given[name][argument] {
				t.Errorf("%s: argument %s is in no line of the file", name, argument)
			}
		}
	}
}

func TestParseSaysWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, op, argument, want string }{
		{`{}`, "", "", "expected a list"},
		{`[1]`, "", "", "expected an object"},
		{`[{"op":"paint","args":{}}]`, "", "", `there is no operation "paint"`},
		{`[{"op":"show"}]`, "show", "", `expected "args"`},
		{`[{"op":"show","args":{"sel":"all"},"why":1}]`, "show", "", `got "why"`},
		{`[{"op":"show","args":{}}]`, "show", "sel", "is missing"},
		{`[{"op":"show","args":{"sel":"all","as":"tube"}}]`, "show", "as", "one of cartoon, backbone, putty"},
		{`[{"op":"show","args":{"sel":"all","color":"red"}}]`, "show", "color", "allowed are add, as, sel"},
		{`[{"op":"show","args":{"sel":""}}]`, "show", "sel", "at most 400 characters"},
		{`[{"op":"opacity","args":{"sel":"all","value":1.5}}]`, "opacity", "value", "a number from 0 to 1, got 1.5"},
		{`[{"op":"color","args":{"sel":"all"}}]`, "color", "", "exactly one of color, by"},
		{`[{"op":"color","args":{"sel":"all","color":"red","by":"chain"}}]`, "color", "", "exactly one of color, by"},
		{`[{"op":"color","args":{"sel":"all","color":"Red"}}]`, "color", "color", "#rrggbb"},
		{`[{"op":"orient","args":{"axis":"y"}}]`, "orient", "", "exactly one of view, axis with degrees"},
		{`[{"op":"effects","args":{}}]`, "effects", "", "at least one of axes"},
		{`[{"op":"structure","args":{"model":1,"assembly":"1"}}]`, "structure", "", "exactly one of all_models, assembly, model"},
		{`[{"op":"structure","args":{"model":1.5}}]`, "structure", "model", "a whole number from 1 to 10000"},
		{`[{"op":"measure","args":{"kind":"distance","between":["all"]}}]`, "measure", "between", "at least 2"},
		{`[{"op":"interactions","args":{"of":"ligand","types":["magic"]}}]`, "interactions", "types", "hydrogen_bond"},
		{`[{"op":"load","args":{"source":"https://example.org/x.cif"}}]`, "load", "source", "pdb:"},
	} {
		_, err := Parse([]byte(c.text))
		var invalid *InvalidError
		if !errors.As(err, &invalid) || invalid.Op != c.op || invalid.Argument != c.argument ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to name %q, %q and say %q", c.text, err, c.op, c.argument, c.want)
		}
	}
	many := "[" + strings.Repeat(`{"op":"undo","args":{}},`, MaxOperations) + `{"op":"undo","args":{}}]`
	if _, err := Parse([]byte(many)); err == nil || !strings.Contains(err.Error(), "at most 20") {
		t.Errorf("21 operations: got %v", err)
	}
}

func TestSources(t *testing.T) {
	t.Parallel()
	for source, good := range map[string]bool{
		"pdb:1CBS": true, "pdb:1cbs": false, "pdb:ABCD": false, "alphafold:P04637": true, "alphafold:P04637!": false, "pose:pose_01ab": true,
		"run:run_01ab": true, "artifact:art_01ab": true, "artifact:": false, "project:01890a5d-ac96-774b-bcce-b302099a8057@12": true,
		"project:p1": true, "project:p1@0": false, "frame:job_01/frame_0001.pdb": true, "frame:job_01/out/frame#12": true, "frame:job_01": false,
		"frame:job_01/../secret": false, "file:1cbs.cif": true, "file:assets/1cbs.cif": true, "file:../1cbs.cif": false, "file:/etc/passwd": false,
		"file:a b": false, "upload:accounts/a/uploads/u/receptor é.pdb": true, "upload:a\nb": false, "upload:": false,
		"upload:" + strings.Repeat("a", 1024): true, "upload:" + strings.Repeat("a", 1100): false, "https://example.org/x.cif": false, "other:1": false,
	} {
		for _, list := range []string{`[{"op":"load","args":{"source":"` + source + `"}}]`, `[{"op":"volume","args":{"source":"` + source + `"}}]`} {
			if _, err := Parse([]byte(list)); (err == nil) != good {
				t.Errorf("%.120s: got %v", list, err)
			}
		}
	}
}

func TestValidateWhatGoMade(t *testing.T) {
	t.Parallel()
	if err := Validate([]Operation{Do(Show{Sel: "protein", As: "cartoon"}), Do(Undo{})}); err != nil {
		t.Error(err)
	}
	err := Validate([]Operation{Do(Undo{}), Do(Zoom{Factor: 99})})
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Index != 1 || invalid.Argument != "factor" {
		t.Errorf("got %v, want it to blame the factor of the second", err)
	}
}
