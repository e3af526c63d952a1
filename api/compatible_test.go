package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// acceptBreaks lets -update record a document that breaks a promise of doc/contract.md §9: before a release, never after.
var acceptBreaks = flag.Bool("accept-breaks", false, "with -update: record a document that breaks compatibility")

const goldenDocument = "testdata/openapi.json"

// breaks lists what a client of the old document could trip over in the new one, one line each (doc/contract.md §9, rule 7).
func breaks(t *testing.T, oldPath, newPath string) []string {
	t.Helper()
	program := os.Getenv("MOLFABRIC_OASDIFF")
	if program == "" {
		program = filepath.Join("..", "bin", "tools", "oasdiff")
	}
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("MOLFABRIC_TEST_REQUIRE") == "1" {
			t.Fatalf("oasdiff is missing: make bin/tools/oasdiff")
		}
		t.Skip("SKIPPED: oasdiff is missing: make bin/tools/oasdiff")
	}
	output, err := exec.CommandContext(t.Context(), program, "breaking", "--format", "singleline", oldPath,
		newPath).CombinedOutput()
	if err != nil {
		t.Fatalf("oasdiff: %v\n%s", err, output)
	}
	var found []string
	for line := range strings.Lines(string(output)) {
		if strings.Contains(line, "[response-property-enum-value-added]") {
			continue // doc/contract.md §9, rule 8, allows it
		}
		if strings.HasPrefix(line, "error at") || strings.HasPrefix(line, "warning at") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// written is a document in a file of the test's own.
func written(t *testing.T, document any) string {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "openapi.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// indented is a document as people compare it line by line.
func indented(t *testing.T, document []byte) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := json.Indent(&text, document, "", "  "); err != nil {
		t.Fatal(err)
	}
	text.WriteByte('\n')
	return text.Bytes()
}

// TestGoldenDocument compares the document with the one that was released: it changes on purpose or not at all, and never so
// that a client of the released one breaks.
func TestGoldenDocument(t *testing.T) {
	t.Parallel()
	got := indented(t, productDocument(t))
	want, err := os.ReadFile(goldenDocument)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) == string(want) {
		return
	}
	broken := breaks(t, goldenDocument, written(t, json.RawMessage(got)))
	for _, one := range broken {
		t.Log(one)
	}
	switch {
	case len(broken) > 0 && !(*update && *acceptBreaks):
		t.Errorf("%d changes would break clients of v1 (above); find a compatible way", len(broken))
	case *update:
		if err := os.WriteFile(goldenDocument, got, 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the OpenAPI document differs from %s, compatibly; if that is meant, run: go test ./api -run TestGoldenDocument "+
			"-update", goldenDocument)
	}
}

// TestBreaksAreFound makes each kind of change that v1 forbids, and some that it allows, and expects the comparison to tell
// them apart.
func TestBreaksAreFound(t *testing.T) {
	t.Parallel()
	type node = map[string]any
	text, err := os.ReadFile(goldenDocument)
	if err != nil {
		t.Fatal(err)
	}
	schema := func(root node, name string) node {
		return root["components"].(node)["schemas"].(node)[name].(node)
	}
	member := func(root node, name, property string) node {
		return schema(root, name)["properties"].(node)[property].(node)
	}
	for _, c := range []struct {
		name   string
		broken bool
		change func(node)
	}{
		{"an operation is removed", true, func(d node) { delete(d["paths"].(node), "/v1/jobs/{id}/cancel") }},
		{"a member of a request is removed", true, func(d node) {
			delete(schema(d, "SubmitRequest")["properties"].(node), "jobName")
		}},
		{"a member of a response is removed", true, func(d node) {
			delete(schema(d, "SubmitResponse")["properties"].(node), "provider")
		}},
		{"an enum value is removed", true, func(d node) {
			member(d, "SubmitRequest", "outputFormat")["enum"] = []any{"EXR", "JPEG"}
		}},
		{"a member becomes required", true, func(d node) { schema(d, "SubmitRequest")["required"] = []any{"sceneFile"} }},
		{"a new parameter is required", true, func(d node) {
			op := d["paths"].(node)["/v1/jobs"].(node)["get"].(node)
			op["parameters"] = append(op["parameters"].([]any), node{"name": "new", "in": "query", "required": true,
				"schema": node{"type": "string"}})
		}},
		{"a maximum falls", true, func(d node) { member(d, "SimulationParams", "numModes")["maximum"] = 64 }},
		{"a minimum comes", true, func(d node) { member(d, "SubmitRequest", "frameEnd")["minimum"] = 1 }},
		{"a length falls", true, func(d node) { member(d, "SubmitRequest", "idempotencyKey")["maxLength"] = 100 }},
		{"a pattern comes", true, func(d node) { member(d, "LigandEntry", "label")["pattern"] = "^a" }},
		{"a constant changes", true, func(d node) { member(d, "ArtifactReference", "schema")["const"] = "other/v2" }},
		{"a type changes", true, func(d node) { member(d, "SubmitRequest", "jobName")["type"] = "integer" }},
		{"a kind of a union is removed", true, func(d node) {
			source := member(d, "LigandEntry", "source")
			source["oneOf"] = source["oneOf"].([]any)[1:]
		}},
		{"an operation asks for another scope", true, func(d node) {
			op := d["paths"].(node)["/v1/jobs/submit"].(node)["post"].(node)
			op["security"].([]any)[0].(node)["apiKey"] = []any{"projects:write"}
		}},
		{"a request may say more", false, func(d node) {
			schema(d, "SubmitRequest")["properties"].(node)["new"] = node{
				"type": "string"}
		}},
		{"a response says more", false, func(d node) {
			schema(d, "SubmitResponse")["properties"].(node)["new"] = node{
				"type": "string"}
		}},
		{"a rule loosens", false, func(d node) { member(d, "SimulationParams", "numModes")["maximum"] = 256 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var changed node
			if err := json.Unmarshal(text, &changed); err != nil {
				t.Fatal(err)
			}
			c.change(changed)
			if found := breaks(t, goldenDocument, written(t, changed)); (len(found) > 0) != c.broken {
				t.Errorf("found %v, want breaks: %v", found, c.broken)
			}
		})
	}
}
