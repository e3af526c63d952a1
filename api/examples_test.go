package api_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api"
)

// TestExamplesKeepTheirSchemas holds every example against what the document says of its body.
func TestExamplesKeepTheirSchemas(t *testing.T) {
	t.Parallel()
	var document *huma.OpenAPI
	open(t, func(deps *api.Deps) {
		deps.Groups = append(productGroups(deps), func(a huma.API) { document = a.OpenAPI() })
	})
	checked := 0
	for _, item := range document.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil || op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
				continue
			}
			checked++
			text, err := os.ReadFile("examples/" + op.OperationID + ".json")
			var example any
			if err != nil || json.Unmarshal(text, &example) != nil {
				t.Errorf("%s: the example cannot be read (%v)", op.OperationID, err)
				continue
			}
			var found huma.ValidateResult
			schema := op.RequestBody.Content["application/json"].Schema
			schema.PrecomputeMessages() // of a schema that huma has not made
			huma.Validate(document.Components.Schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, example, &found)
			for _, err := range found.Errors {
				t.Errorf("%s: %v", op.OperationID, err)
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d operations take a body", checked)
	}
}

// TestEveryRequestHasAnExample sends the example of every operation that takes a body. What it is about does not exist, but
// nothing of its form may be refused.
func TestEveryRequestHasAnExample(t *testing.T) {
	t.Parallel()
	p := openProduct(t)
	doc := read(t, string(p.Server.Document()))
	used := map[string]bool{}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			if len(op.RequestBody) == 0 {
				continue
			}
			name := op.OperationID + ".json"
			used[name] = true
			example, err := os.ReadFile("examples/" + name)
			if err != nil {
				t.Errorf("%s has no example: %v", op.OperationID, err)
				continue
			}
			var body struct {
				Content map[string]struct{ Example json.RawMessage }
			}
			if err := json.Unmarshal(op.RequestBody, &body); err != nil || len(body.Content["application/json"].Example) == 0 {
				t.Errorf("%s shows no example (%v)", op.OperationID, err)
			}
			if op.OperationID == "receive-payment-event" {
				continue // is taken with the payment provider's signature alone
			}
			if op.OperationID == "close-account" {
				continue // would end the account that the others are sent for; TestCloseAccount sends it
			}
			from := p.key
			if len(op.Security) > 0 && op.Security[0]["apiKey"] == nil {
				from = p.browser
			}
			address := "/api" + strings.NewReplacer("{version}", "1", "{", "", "}", "").Replace(path)
			var header []string
			if !strings.Contains(string(example), "idempotencyKey") {
				header = []string{"Idempotency-Key", "example-" + op.OperationID}
			}
			if got := from.Send(strings.ToUpper(method), address, string(example), header...); got.StatusCode == 400 {
				t.Errorf("%s refuses its example: %s", op.OperationID, got.Text)
			}
		}
	}
	files, err := os.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !used[file.Name()] {
			t.Errorf("examples/%s belongs to no operation", file.Name())
		}
	}
}
