package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// ofOthers are the kinds that Kubernetes itself does not have.
var ofOthers = []string{"ScaledJob", "ServiceMonitor"}

// TestChartFitsKubernetes holds the manifests against the schemas of the oldest Kubernetes that the chart names and of a new one,
// where unknown fields are refused.
func TestChartFitsKubernetes(t *testing.T) {
	t.Parallel()
	program := filepath.Join(os.Getenv("MOLFABRIC_HOME"), "kubernetes", "bin", "kubernetes-validate")
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("MOLFABRIC_TEST_REQUIRE") != "" {
			t.Fatal("kubernetes-validate is missing: deploy/setup.sh --tests")
		}
		t.Skip("SKIPPED: kubernetes-validate is missing: deploy/setup.sh --tests")
	}
	var documents []string
	for _, m := range rendered(t) {
		if slices.Contains(ofOthers, m.kind()) {
			continue
		}
		text, err := yaml.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	whole := strings.Join(documents, "---\n")
	for _, c := range []struct {
		version, text string
		fits          bool
	}{
		{"1.30", whole, true},
		{"1.37", whole, true},
		{"1.37", strings.ReplaceAll(whole, "readOnlyRootFilesystem", "readonlyRootFilesystem"), false}, // the check can fail
	} {
		file := filepath.Join(t.TempDir(), "manifests.yaml")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), program, "--strict", "--kubernetes-version", c.version, file)
		output, err := command.CombinedOutput()
		if (err == nil) != c.fits {
			t.Errorf("Kubernetes %s: got %v, want it to fit: %v: %s", c.version, err, c.fits, output)
		}
	}
}

// TestChartFitsKEDA holds what is KEDA's against KEDA's own schema; the jobs in it are Kubernetes', and held against that.
func TestChartFitsKEDA(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../bin/tools/keda-scaledjobs.yaml")
	if err != nil {
		if os.Getenv("MOLFABRIC_TEST_REQUIRE") != "" {
			t.Fatal("KEDA's schema is missing: make bin/tools/keda-scaledjobs.yaml")
		}
		t.Skip("SKIPPED: KEDA's schema is missing: make bin/tools/keda-scaledjobs.yaml")
	}
	var definition map[string]any
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	schema := at(list(at(definition, "spec", "versions"))[0], "schema", "openAPIV3Schema")
	found := 0
	for _, m := range rendered(t) {
		if m.kind() != "ScaledJob" {
			continue
		}
		found++
		for _, misfit := range misfits(schema, map[string]any(m), "") {
			t.Errorf("%s%s", m.name(), misfit)
		}
		spoiled, _ := at(m, "spec").(map[string]any)
		spoiled["maxReplicaCont"], spoiled["pollingInterval"] = 3, "often"
		delete(spoiled, "triggers")
		if got := misfits(schema, map[string]any(m), ""); len(got) != 3 {
			t.Errorf("of a spoiled job: got %q, want three misfits", got)
		}
	}
	if found != 2 {
		t.Errorf("looked at %d jobs", found)
	}
}

// misfits says where a value does not fit a schema of a custom resource: unknown and missing members, and wrong types.
func misfits(schema, value any, place string) (found []string) {
	if at(schema, "x-kubernetes-int-or-string") == true || at(schema, "x-kubernetes-preserve-unknown-fields") == true {
		return nil
	}
	switch of := value.(type) {
	case map[string]any:
		return misfitsOfObject(schema, of, place)
	case []any:
		if at(schema, "type") != "array" {
			return []string{place + ": is a list"}
		}
		for i, one := range of {
			found = append(found, misfits(at(schema, "items"), one, fmt.Sprintf("%s[%d]", place, i))...)
		}
		return found
	}
	types := map[string]string{"string": "string", "bool": "boolean", "uint64": "integer", "int64": "integer", "int": "integer",
		"float64": "number"}
	if got, want := types[fmt.Sprintf("%T", value)], at(schema, "type"); got != want {
		return []string{fmt.Sprintf("%s: is %v, a %s, and should be a %v", place, value, got, want)}
	}
	return nil
}

func misfitsOfObject(schema any, value map[string]any, place string) (found []string) {
	if at(schema, "type") != "object" {
		return []string{place + ": is an object"}
	}
	for _, name := range list(at(schema, "required")) {
		if _, there := value[fmt.Sprint(name)]; !there {
			found = append(found, fmt.Sprintf("%s: lacks %v", place, name))
		}
	}
	members, further := at(schema, "properties"), at(schema, "additionalProperties")
	for name, member := range value {
		inner := at(members, name)
		if inner == nil {
			inner = further
		}
		switch {
		case inner == nil && members == nil: // any object, such as the object's metadata
		case inner == nil:
			found = append(found, fmt.Sprintf("%s: has %s, which is not known", place, name))
		default:
			found = append(found, misfits(inner, member, place+"."+name)...)
		}
	}
	return found
}
