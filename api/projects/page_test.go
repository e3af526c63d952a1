package projects_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/api/projects"
	"github.com/molfabric/molfabric/internal/contract"
)

// TestSharedPage opens links as a browser does. Nothing of a project may become markup.
func TestSharedPage(t *testing.T) {
	t.Parallel()
	c := open(t, projects.Quota{}).account()
	app := fiber.New(fiber.Config{Immutable: true, StrictRouting: true, CaseSensitive: true})
	limited := 0
	c.projects.Mount(app, func(c *fiber.Ctx) error { limited++; return c.Next() })
	get := func(path string) (*http.Response, string) {
		t.Helper()
		response, err := app.Test(httptest.NewRequestWithContext(t.Context(), "GET", path, nil), -1)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(text)
	}
	const content = `{"x":"</pre><script>alert(1)</script>","y":"ä"}`
	made := c.do("POST", base, `{"name":"<b>&\"name\"","content":`+content+`}`)
	want(t, made, 201, "")
	at := base + "/" + decoded[contract.Project](t, made).ProjectID
	link := decoded[contract.ProjectShareAnswer](t, c.do("POST", at+"/shares", `{"expectedVersion":1}`)).URL

	response, text := get(link)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %v", response.StatusCode, response.Header)
	}
	for _, part := range []string{"<h1>&lt;b&gt;&amp;&#34;name&#34;</h1>", "version 1", "&lt;script&gt;", "ä",
		`href="` + link + `/content.json"`, digest(content)} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %s:\n%s", part, text)
		}
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "<b>") {
		t.Errorf("a content has become markup:\n%s", text)
	}
	_, rest, _ := strings.Cut(text, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("the policy does not let the page's own style in, or lets in more: %s", policy)
	}

	response, text = get(link + "/content.json")
	if response.StatusCode != 200 || text != content || !strings.HasPrefix(response.Header.Get("Content-Disposition"),
		"attachment") {
		t.Errorf("download: %d %s %v", response.StatusCode, text, response.Header)
	}
	if response, text = get("/shared/wrong"); response.StatusCode != 404 || !strings.Contains(text, "No such share") {
		t.Errorf("wrong link: %d %s", response.StatusCode, text)
	}

	long := decoded[contract.ProjectShareAnswer](t, c.do("POST", at+"/shares", `{"expectedVersion":1,"content":{"x":"`+
		strings.Repeat("ä", 200_000)+`"}}`))
	if response, text = get(long.URL); response.StatusCode != 200 || len(text) > 270_000 ||
		!strings.Contains(text, "the download has all of it") || strings.Contains(text, "\ufffd") {
		t.Errorf("long content: %d, %d bytes", response.StatusCode, len(text))
	}
	if response, text = get(link); response.StatusCode != 410 || !strings.Contains(text, "has ended") {
		t.Errorf("replaced link: %d %s", response.StatusCode, text)
	}
	if limited != 5 {
		t.Errorf("the limit has counted %d requests", limited)
	}
}
