package page_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/page"
	"github.com/molfabric/molfabric/internal/fault"
)

// TestSendOr: a subject is shown escaped and under the policy, a refusal in its place says no more than it may, and what is no
// refusal is left to the server.
func TestSendOr(t *testing.T) {
	t.Parallel()
	kind := page.New(page.Source{HTML: `{{define "body"}}<p>{{.}}</p>{{end}}`, Home: page.Link{Name: "runs", URL: "/runs"}})
	view := page.View{Title: "A run", Up: []page.Link{{Name: "batch", URL: "/batch"}}, Body: "<script>x</script>"}
	unknown := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		err    error
		status int
		want   []string
	}{
		"shown": {nil, 200, []string{"<h1>A run</h1>", `<a href="/runs">runs</a>`, `<a href="/batch">batch</a>`,
			"<p>&lt;script&gt;x&lt;/script&gt;</p>"}},
		"absent":     {fault.New(fault.NotFound, "run_1 of another"), 404, []string{"nothing of that name", `<a href="/runs">`}},
		"deleted":    {fault.New(fault.FilesDeleted, "run_1"), 410, []string{"were deleted by its owner"}},
		"unreadable": {fault.New(fault.InvalidCursor, "cursor"), 400, []string{"cannot be read"}},
		"failed":     {unknown, 500, []string{"the disk is gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := fiber.New()
			app.Get("/", func(ctx *fiber.Ctx) error { return kind.SendOr(ctx, view, c.err) })
			answer, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != c.status {
				t.Errorf("status %d, want %d", answer.StatusCode, c.status)
			}
			for _, want := range c.want {
				if !strings.Contains(string(body), want) {
					t.Errorf("no %s in\n%s", want, body)
				}
			}
			if policy := answer.Header.Get("Content-Security-Policy"); c.status < 500 &&
				(!strings.Contains(policy, "style-src 'sha256-") || !strings.Contains(policy, "form-action 'none'")) {
				t.Errorf("policy %q", policy)
			}
			if c.status != 200 && strings.Contains(string(body), "run_1") {
				t.Errorf("a refusal names what was asked for:\n%s", body)
			}
		})
	}
}
