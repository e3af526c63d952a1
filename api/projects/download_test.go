package projects_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// TestDownloadOfAShare: the content comes as it was saved, as a file that no browser shows, for as long as the share lives.
func TestDownloadOfAShare(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	var refused error
	app := fiber.New(fiber.Config{Immutable: true, StrictRouting: true, CaseSensitive: true,
		ErrorHandler: func(_ *fiber.Ctx, err error) error { refused = err; return nil }})
	limited := 0
	c.projects.Mount(app, func(c *fiber.Ctx) error { limited++; return c.Next() })
	get := func(link string) (*http.Response, string) {
		t.Helper()
		refused = nil
		response, err := app.Test(httptest.NewRequestWithContext(t.Context(), "GET", link+"/content.json", nil), -1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(text)
	}
	const content = `{"x":"</pre><script>alert(1)</script>","y":"ä","z":{"10":1,"9":2}}`
	made := c.do("POST", base, `{"name":"a project","content":`+content+`}`)
	want(t, made, 201, "")
	at := base + "/" + decoded[contract.Project](t, made).ProjectID
	share := decoded[contract.ProjectShareAnswer](t, c.do("POST", at+"/shares", `{"expectedVersion":1}`))

	response, text := get(share.URL)
	if response.StatusCode != 200 || text != content || response.Header.Get("Content-Type") != "application/json" ||
		!strings.HasPrefix(response.Header.Get("Content-Disposition"), "attachment") ||
		response.Header.Get("Cache-Control") != "public, no-cache" || response.Header.Get("X-Robots-Tag") != "noindex" {
		t.Errorf("%d %s %v", response.StatusCode, text, response.Header)
	}
	if shown := decoded[contract.SharedProject](t, c.Anonymous().Send("GET", "/api/v1/public/shares/"+share.Token, "")); digest(
		text) != shown.ContentSHA256 {
		t.Errorf("the download has the digest %s, the share says %s", digest(text), shown.ContentSHA256)
	}
	if _, text = get("/shared/wrong"); !fault.Is(refused, fault.NotFound) || text != "" {
		t.Errorf("wrong link: %v %s", refused, text)
	}
	want(t, c.do("POST", at+"/shares", `{"expectedVersion":1,"content":{}}`), 201, "")
	if _, text = get(share.URL); !fault.Is(refused, fault.ShareRevoked) || text != "" {
		t.Errorf("replaced link: %v %s", refused, text)
	}
	if limited != 3 {
		t.Errorf("the limit has counted %d requests", limited)
	}
}
