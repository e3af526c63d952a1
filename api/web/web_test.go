package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofiber/fiber/v2"

	"github.com/molfabric/molfabric/internal/fault"
)

const (
	page   = "<!doctype html><title>molfabric</title>"
	script = "export const x = 1"
)

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// built is an app as the build leaves one; what stands for brotli is not looked into.
func built(t *testing.T, options Options) *fiber.App {
	t.Helper()
	made, err := New(fstest.MapFS{
		".keep":                  {},
		"index.html.gz":          {Data: packed(t, page)},
		"index.html.br":          {Data: []byte("brotli page")},
		"assets/index-abc.js.gz": {Data: packed(t, script)},
		"assets/index-abc.js.br": {Data: []byte("brotli script")},
		"assets/picture-abc.png": {Data: []byte("picture")},
		"favicon.svg.gz":         {Data: packed(t, "<svg/>")},
		"favicon.svg.br":         {Data: []byte("brotli svg")},
	}, options)
	if err != nil {
		t.Fatal(err)
	}
	app := fiber.New(fiber.Config{Immutable: true, CaseSensitive: true, StrictRouting: true})
	made.Mount(app)
	app.Get("/known", func(*fiber.Ctx) error { return fault.New(fault.NotFound, "an operation's own") })
	made.MountMissing(app)
	return app
}

type answer struct {
	*http.Response
	text string
}

func send(t *testing.T, app *fiber.App, method, path string, header ...string) answer {
	t.Helper()
	request := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := app.Test(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response, string(text)}
}

var (
	routerPath = regexp.MustCompile(`path: '(/[^']*)'`)
	routerPage = regexp.MustCompile(`page\('(/[^']*)'`)
	parameter  = regexp.MustCompile(`\$(\w+)`)
)

// TestPagesAreTheRouters holds the addresses here against those that the app itself tells apart.
func TestPagesAreTheRouters(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("src/router.tsx")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, found := range append(routerPath.FindAllSubmatch(source, -1), routerPage.FindAllSubmatch(source, -1)...) {
		want = append(want, parameter.ReplaceAllString(string(found[1]), ":$1"))
	}
	got := slices.Sorted(slices.Values(pages))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestEveryPageIsTheApp(t *testing.T) {
	t.Parallel()
	app := built(t, Options{})
	for _, pattern := range pages {
		path := regexp.MustCompile(`:\w+`).ReplaceAllString(pattern, "x_1")
		got := send(t, app, http.MethodGet, path+"?a=b")
		caching := "no-cache"
		if pattern == share {
			caching = "no-store"
		}
		if got.StatusCode != 200 || got.text != page || got.Header.Get("Content-Type") != "text/html; charset=utf-8" ||
			got.Header.Get("Cache-Control") != caching {
			t.Errorf("%s: got %d %v %s", path, got.StatusCode, got.Header, got.text)
		}
		if head := send(t, app, http.MethodHead, path); head.StatusCode != 200 || head.text != "" {
			t.Errorf("HEAD %s: got %d %s", path, head.StatusCode, head.text)
		}
	}
}

// TestTheAddressOfAShareIsKept: it is all that it takes to see the share, so no site, search engine or cache may learn it.
func TestTheAddressOfAShareIsKept(t *testing.T) {
	t.Parallel()
	app := built(t, Options{})
	for path, want := range map[string]map[string]string{
		"/shared/x_1": {"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex", "Cache-Control": "no-store"},
		"/projects/x": {"Referrer-Policy": "same-origin", "X-Robots-Tag": "", "Cache-Control": "no-cache"},
	} {
		got := send(t, app, http.MethodGet, path)
		for name, value := range want {
			if got.Header.Get(name) != value {
				t.Errorf("%s: %s is %q, want %q", path, name, got.Header.Get(name), value)
			}
		}
		if policy := got.Header.Get("Content-Security-Policy"); policy != policyOfApp {
			t.Errorf("%s: the policy is %s", path, policy)
		}
	}
}

func TestWhatIsSentIsWhatTheClientTakes(t *testing.T) {
	t.Parallel()
	app := built(t, Options{})
	for _, c := range []struct{ path, accept, encoding, text string }{
		{"/", "gzip, deflate, br, zstd", "br", "brotli page"}, {"/", "br", "br", "brotli page"},
		{"/", "gzip", "gzip", string(packed(t, page))}, {"/", "br;q=0, gzip", "gzip", string(packed(t, page))},
		{"/", "", "", page}, {"/", "identity", "", page}, {"/", "zstd", "", page},
		{"/assets/index-abc.js", "br", "br", "brotli script"}, {"/assets/index-abc.js", "", "", script},
		{"/assets/picture-abc.png", "br, gzip", "", "picture"}, {"/favicon.svg", "", "", "<svg/>"},
	} {
		got := send(t, app, http.MethodGet, c.path, "Accept-Encoding", c.accept)
		if got.StatusCode != 200 || got.Header.Get("Content-Encoding") != c.encoding || got.text != c.text {
			t.Errorf("%s for %q: got %d, %q: %.40q", c.path, c.accept, got.StatusCode, got.Header.Get("Content-Encoding"), got.text)
		}
		if varies := got.Header.Get("Vary") == "Accept-Encoding"; varies != !strings.HasSuffix(c.path, ".png") {
			t.Errorf("%s: Vary is %q", c.path, got.Header.Get("Vary"))
		}
	}
}

func TestWhatBrowsersMayKeep(t *testing.T) {
	t.Parallel()
	app := built(t, Options{})
	for path, want := range map[string]string{
		"/": "no-cache", "/favicon.svg": "no-cache", "/assets/index-abc.js": "public, max-age=31536000, immutable",
	} {
		first := send(t, app, http.MethodGet, path, "Accept-Encoding", "br")
		if got := first.Header.Get("Cache-Control"); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
		tag := first.Header.Get("ETag")
		if again := send(t, app, http.MethodGet, path, "Accept-Encoding", "br", "If-None-Match", tag); again.StatusCode != 304 ||
			again.text != "" || again.Header.Get("ETag") != tag {
			t.Errorf("%s again: got %d %s", path, again.StatusCode, again.text)
		}
		if other := send(t, app, http.MethodGet, path, "Accept-Encoding", "gzip", "If-None-Match", tag); other.StatusCode != 200 {
			t.Errorf("%s in another form: got %d", path, other.StatusCode)
		}
	}
}

// policyOfApp lets the app load its own files and speak to its own service, and nobody else in.
const policyOfApp = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"media-src 'self' blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; " +
	"require-trusted-types-for 'script'; trusted-types 'none'"

func TestThePolicyLetsNobodyElseIn(t *testing.T) {
	t.Parallel()
	for origin, policy := range map[string]string{
		"":                          policyOfApp,
		"https://files.example.org": strings.Replace(policyOfApp, "connect-src 'self'", "connect-src 'self' https://files.example.org", 1),
	} {
		for _, path := range []string{"/", "/assets/index-abc.js"} { // a worker has the policy that its script came with
			got := send(t, built(t, Options{StoreOrigin: origin}), http.MethodGet, path).Header
			if got.Get("Content-Security-Policy") != policy {
				t.Errorf("%s: got %s", path, got.Get("Content-Security-Policy"))
			}
			for name, value := range map[string]string{
				"Cross-Origin-Opener-Policy": "same-origin", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
			} {
				if got.Get(name) != value {
					t.Errorf("%s: %s is %q, want %q", path, name, got.Get(name), value)
				}
			}
		}
	}
}

// TestUnknownAddresses: people get the app's own word for it, and programs the error that they get everywhere.
func TestUnknownAddresses(t *testing.T) {
	t.Parallel()
	app := built(t, Options{})
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, c := range []struct {
		method, path, accept string
		status               int
		app                  bool
	}{
		{http.MethodGet, "/nowhere", browser, 404, true}, {http.MethodGet, "/jobs", browser, 404, true},
		{http.MethodGet, "/nowhere", "*/*", 404, false}, {http.MethodGet, "/assets/index-old.js", "*/*", 404, false},
		{http.MethodPost, "/nowhere", browser, 404, false}, {http.MethodGet, "/assets/../web.go", browser, 404, true},
		{http.MethodGet, "/known", browser, 500, false},
	} {
		got := send(t, app, c.method, c.path, "Accept", c.accept)
		if got.StatusCode != c.status || strings.Contains(got.text, page) != c.app {
			t.Errorf("%s %s for %s: got %d %s", c.method, c.path, c.accept, got.StatusCode, got.text)
		}
	}
}

// TestAProgramWithoutTheApp tells people why they see nothing, and programs what it tells them everywhere.
func TestAProgramWithoutTheApp(t *testing.T) {
	t.Parallel()
	app := fiber.New(fiber.Config{Immutable: true, CaseSensitive: true, StrictRouting: true})
	app.Get("/known", func(*fiber.Ctx) error { return fault.New(fault.NotFound, "an operation's own") })
	MountAbsent(app)
	for _, pattern := range slices.Concat(pages, moved[0].pages, []string{"/nowhere"}) {
		path := regexp.MustCompile(`:\w+`).ReplaceAllString(pattern, "x_1")
		got := send(t, app, http.MethodGet, path, "Accept", "text/html,*/*;q=0.8")
		if got.StatusCode != 404 || got.text != absent || got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: got %d %v %s", path, got.StatusCode, got.Header, got.text)
		}
		for _, accept := range []string{"application/json", "*/*", ""} {
			if got := send(t, app, http.MethodGet, path, "Accept", accept); got.StatusCode != 404 || got.text == absent {
				t.Errorf("%s for %q: got %d %s", path, accept, got.StatusCode, got.text)
			}
		}
	}
	if got := send(t, app, http.MethodGet, "/known", "Accept", "text/html"); got.text == absent {
		t.Errorf("an operation's own error is replaced: %s", got.text)
	}
}

// TestPagesThatMoved: answers of the API lead to searches below the Studio, and checkouts to a page of their own.
func TestPagesThatMoved(t *testing.T) {
	t.Parallel()
	app := built(t, Options{})
	for from, want := range map[string]string{
		"/studio/searches": "/searches", "/studio/searches/job_1?cursor=x&y=%2F": "/searches/job_1?cursor=x&y=%2F",
		"/studio/searches/job_1/queries/0": "/searches/job_1/queries/0", "/dashboard?topup=success": "/credits?topup=success",
		"/dashboard": "/credits",
	} {
		if got := send(t, app, http.MethodGet, from); got.StatusCode != 302 || got.Header.Get("Location") != want {
			t.Errorf("%s: got %d to %q, want %q", from, got.StatusCode, got.Header.Get("Location"), want)
		}
	}
}

func TestHalfAnAppIsNone(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]fstest.MapFS{
		"no page":     {"assets/index-abc.js.gz": {Data: packed(t, script)}},
		"broken file": {"index.html.gz": {Data: []byte("no gzip")}},
		"one form":    {"index.html.br": {Data: []byte("brotli page")}},
	} {
		if _, err := New(files, Options{}); err == nil {
			t.Errorf("%s: taken for an app", name)
		}
	}
}

// TestTheBuiltApp looks at the app that is embedded, where it was built.
func TestTheBuiltApp(t *testing.T) {
	t.Parallel()
	if !Built() {
		t.Skip("the app is not built: api/web/build.sh builds it")
	}
	made, err := Embedded(Options{})
	if err != nil {
		t.Fatal(err)
	}
	app := fiber.New()
	made.Mount(app)
	got := send(t, app, http.MethodGet, "/")
	used := regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(got.text, -1)
	if got.StatusCode != 200 || len(used) < 3 || strings.Contains(got.text, "<script>") || strings.Contains(got.text, "<style") {
		t.Fatalf("the page: got %d %s", got.StatusCode, got.text)
	}
	for _, file := range used {
		if got := send(t, app, http.MethodGet, file[1], "Accept-Encoding", "br"); got.StatusCode != 200 || got.text == "" {
			t.Errorf("%s: got %d", file[1], got.StatusCode)
		}
	}
}
