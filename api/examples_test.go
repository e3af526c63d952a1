package api_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

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
