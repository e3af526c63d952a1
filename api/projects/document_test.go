package projects_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/projects"
)

// TestDocument checks what generated clients rely on: where the version and the key stand, that they are required, and which
// routes are on their way out.
func TestDocument(t *testing.T) {
	t.Parallel()
	type parameter struct {
		Name, In string
		Required bool
		Schema   struct {
			Type             string
			Minimum, Maximum float64
		}
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Deprecated  bool
			Parameters  []parameter
			Responses   map[string]any
		}
		Components struct {
			Schemas map[string]struct {
				Required   []string
				Properties map[string]struct {
					Type    any
					Minimum float64
				}
			}
		}
	}
	if err := json.Unmarshal(open(t, projects.Quota{}).Server.Document(), &document); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ProjectSaveRequest", "ProjectRestoreRequest", "ProjectShareRequest"} {
		schema := document.Components.Schemas[name]
		if version := schema.Properties["expectedVersion"]; version.Type != "integer" || version.Minimum != 1 ||
			!slices.Contains(schema.Required, "expectedVersion") {
			t.Errorf("%s: %+v", name, schema)
		}
	}
	v1, older := 0, 0
	for path, operations := range document.Paths {
		if !strings.Contains(path, "/molecular/projects") {
			continue
		}
		for method, op := range operations {
			has := func(name, in string) bool {
				return slices.ContainsFunc(op.Parameters, func(p parameter) bool {
					return p.Name == name && p.In == in && p.Required
				})
			}
			if keyed := method == "post" || method == "put"; has("Idempotency-Key", "header") != keyed {
				t.Errorf("%s %s: key %+v", method, path, op.Parameters)
			}
			if has("expectedVersion", "query") != (method == "delete") {
				t.Errorf("%s %s: version %+v", method, path, op.Parameters)
			}
			if (op.Responses["409"] != nil) != (method != "get") || (op.Responses["422"] != nil) != (method == "post" ||
				method == "put") {
				t.Errorf("%s %s: answers %v", method, path, op.Responses)
			}
			if strings.HasPrefix(path, "/v1/") {
				v1++
			} else if older++; !op.Deprecated || !strings.HasPrefix(op.OperationID, "older-") {
				t.Errorf("%s %s: %s is not marked", method, path, op.OperationID)
			}
		}
	}
	if v1 != 10 || older != 10 || document.Paths["/v1/public/shares/{token}"]["get"].Responses["410"] == nil {
		t.Errorf("%d operations, %d older ones", v1, older)
	}
}
