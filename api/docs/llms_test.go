package docs

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
)

// maxGuideBytes is what the guide may cost a model that reads it.
const maxGuideBytes = 20 << 10

// TestGuide expects the guide of the whole contract to name every operation that is not deprecated.
func TestGuide(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	app := fiber.New()
	if err := MountGuide(app, document, "/api/v1/openapi.json"); err != nil {
		t.Fatal(err)
	}
	var guide string
	for _, path := range guidePaths {
		response, err := app.Test(httptest.NewRequest(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", path, response.Status, err)
		}
		if kind, keep := response.Header.Get("Content-Type"), response.Header.Get("Cache-Control"); !strings.HasPrefix(kind,
			"text/plain") || !strings.Contains(keep, "max-age") {
			t.Errorf("%s: Content-Type %q, Cache-Control %q", path, kind, keep)
		}
		guide = string(text)
	}
	var d described
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	for path, methods := range d.Paths {
		for method, operation := range methods {
			line := "\n- " + strings.ToUpper(method) + " /api" + path + ": " + operation.Summary + "\n"
			if named := strings.Contains(guide, line); named == operation.Deprecated || operation.Summary == "" {
				t.Errorf("named %v, deprecated %v: %q", named, operation.Deprecated, line)
			}
		}
	}
	for _, want := range []string{"# molfabric\n", "](/docs)", "](/api/v1/openapi.json)", "](/mcp)", "Authorization: Bearer"} {
		if !strings.Contains(guide, want) {
			t.Errorf("the guide lacks %q", want)
		}
	}
	if t.Logf("the guide has %d bytes", len(guide)); len(guide) > maxGuideBytes || strings.Contains(guide, "{{") {
		t.Errorf("the guide has %d bytes, more than %d, or a gap:\n%s", len(guide), maxGuideBytes, guide)
	}
}

func TestGuideLeavesDeprecatedOut(t *testing.T) {
	t.Parallel()
	d := described{Paths: nil}
	text :=
		`{"servers":[{"url":"/api"}],"paths":{"/v1/b":{"get":{"tags":["T"],"summary":"New"},"post":{"summary":"Old","deprecated":true}},"/v1/a":{"put":{"tags":["T"],"summary":"First"}}}}`
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if got, want := d.list(), "## Operations\n\n### T\n\n- PUT /api/v1/a: First\n- GET /api/v1/b: New\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
