package api_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api"
	"github.com/molfabric/molfabric/api/apitest"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

// publicHost is what the URLs of these tests are signed for; no such machine is asked.
const publicHost = "files.example.org"

// openPassage starts a front door before a store of its own, whose URLs are signed for publicHost.
func openPassage(t *testing.T) (*apitest.Door, *object.Store) {
	t.Helper()
	_, cfg := objecttest.New(t)
	cfg.PublicEndpoint = "https://" + publicHost
	store, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, func(deps *api.Deps) {
		deps.Config.FileStore = api.FileStore{Endpoint: cfg.Endpoint, Bucket: cfg.Bucket, Host: publicHost}
		deps.Config.Origins = []string{"https://app.example.org"}
	})
	return d, store
}

// through is a signed URL as it reaches the front door at base, from a proxy or directly.
func through(t *testing.T, base, signed string) string {
	t.Helper()
	rest, ours := strings.CutPrefix(signed, "https://"+publicHost)
	if !ours {
		t.Fatalf("%s is not signed for %s", signed, publicHost)
	}
	return base + rest
}

func exchange(t *testing.T, method, address string, body io.Reader, headers map[string]string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got, string(text)
}

// TestSignedURLsArePassedOn: a file goes up and comes back through the service's own address, whatever proxies make of the Host.
func TestSignedURLsArePassedOn(t *testing.T) {
	t.Parallel()
	d, store := openPassage(t)
	content := bytes.Repeat([]byte("ATOM      1  N   MET A   1\n"), 400_000) // 10 MB: neither side can hold it back in its buffers
	front, err := url.Parse(d.Base)
	if err != nil {
		t.Fatal(err)
	}
	// sets another Host
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(front) }})
	t.Cleanup(proxy.Close)
	for i, base := range []string{d.Base, proxy.URL} {
		key := fmt.Sprintf("acct_1/pose %d+é.pdb", i)
		up, headers, err := store.PresignCreate(t.Context(), key, "chemical/x-pdb", int64(len(content)), "", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		delete(headers, "Content-Length")
		if got, text := exchange(t, http.MethodPut, through(t, base, up), bytes.NewReader(content),
			headers); got.StatusCode != http.StatusOK {
			t.Fatalf("PUT = %d %s", got.StatusCode, text)
		}
		if got, text := exchange(t, http.MethodPut, through(t, base, up), bytes.NewReader(content),
			headers); got.StatusCode != http.StatusPreconditionFailed {
			t.Errorf("a second PUT = %d %s, want the store's refusal", got.StatusCode, text)
		}
		down, err := store.PresignGet(t.Context(), key, "pose.pdb", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		got, text := exchange(t, http.MethodGet, through(t, base, down), nil, nil)
		if got.StatusCode != http.StatusOK || text != string(content) || got.Header.Get("Content-Type") != "chemical/x-pdb" ||
			got.Header.Get("Content-Disposition") != `attachment; filename=pose.pdb` || got.Header.Get("X-Request-Id") == "" {
			t.Errorf("GET = %d with %d bytes, %v", got.StatusCode, len(text), got.Header)
		}
		got, text = exchange(t, http.MethodGet, through(t, base, down), nil, map[string]string{"Range": "bytes=5-9"})
		if got.StatusCode != http.StatusPartialContent || text != string(content[5:10]) || got.Header.Get("Content-Range") == "" {
			t.Errorf("a range = %d %q, %v", got.StatusCode, text, got.Header)
		}
	}
	if strings.Contains(d.Log.String(), "acct_1") || strings.Contains(d.Log.String(), "Signature") {
		t.Error("the log tells of a file or a signature")
	}
}

// TestOnlySignedRequestsArePassedOn: the store behind the service does nothing for whoever has no signature.
func TestOnlySignedRequestsArePassedOn(t *testing.T) {
	t.Parallel()
	d, store := openPassage(t)
	const body = "ATOM"
	signed, headers, err := store.PresignPut(t.Context(), "upload", "chemical/x-pdb", int64(len(body)), "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	delete(headers, "Content-Length")
	address := through(t, d.Base, signed)
	bare, _, _ := strings.Cut(address, "?")
	for _, one := range []struct {
		name, method, address, body string
		status                      int
	}{
		{"no signature", http.MethodPut, bare, body, http.StatusNotFound},
		{"no signature, reading", http.MethodGet, bare, "", http.StatusNotFound},
		{"the bucket", http.MethodGet, bare[:strings.LastIndex(bare, "/")+1] + "?list-type=2", "", http.StatusNotFound},
		{"another method", http.MethodDelete, address, "", http.StatusMethodNotAllowed},
		{"another key", http.MethodPut, strings.Replace(address, "/upload?", "/another?", 1), body, http.StatusForbidden},
		{"another length", http.MethodPut, address, "ATOM ATOM", http.StatusForbidden},
		{"a large body with a false signature", http.MethodPut, address + "0", strings.Repeat("x", 8<<20), http.StatusForbidden},
		{"another bucket", http.MethodGet, d.Base + "/other/key?X-Amz-Signature=0", "", http.StatusNotFound},
	} {
		if got, text := exchange(t, one.method, one.address, strings.NewReader(one.body), headers); got.StatusCode != one.status {
			t.Errorf("%s: %d %s, want %d", one.name, got.StatusCode, text, one.status)
		}
	}
	if got, text := exchange(t, http.MethodPut, address, io.MultiReader(strings.NewReader(body)),
		headers); got.StatusCode != http.StatusBadRequest {
		t.Errorf("chunks: %d %s, want 400", got.StatusCode, text)
	}
	if got, text := exchange(t, http.MethodPut, address, strings.NewReader(body), headers); got.StatusCode != http.StatusOK {
		t.Errorf("the signed request: %d %s", got.StatusCode, text)
	}
}

// TestExpectedFilesArePassedOn: curl asks before it sends a large body.
func TestExpectedFilesArePassedOn(t *testing.T) {
	t.Parallel()
	d, store := openPassage(t)
	signed, headers, err := store.PresignPut(t.Context(), "upload", "chemical/x-pdb", 4, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	w := dial(t, d)
	lines := []string{"PUT " + through(t, "", signed) + " HTTP/1.1", "Host: x", "Expect: 100-continue"}
	for name, value := range headers {
		lines = append(lines, name+": "+value)
	}
	w.send(append(lines, "", "")...)
	if got, _ := w.answer(); got.StatusCode != http.StatusContinue {
		t.Fatalf("asked, the service says %d", got.StatusCode)
	}
	w.send("ATOM")
	if got, text := w.answer(); got.StatusCode != http.StatusOK {
		t.Errorf("then %d %s", got.StatusCode, text)
	}
	w.send("GET /healthz HTTP/1.1", "Host: x", "", "")
	if got, _ := w.answer(); got.StatusCode != http.StatusOK {
		t.Errorf("the next request of the connection: %d", got.StatusCode)
	}
}

// TestPreflightsArePassedOn: the store's origins decide, not the API's.
func TestPreflightsArePassedOn(t *testing.T) {
	t.Parallel()
	d, store := openPassage(t)
	const ours, stranger = "https://app.example.org", "https://evil.example.net"
	if err := store.AllowOrigins(t.Context(), []string{ours}); err != nil {
		t.Fatal(err)
	}
	signed, headers, err := store.PresignPut(t.Context(), "upload", "chemical/x-pdb", 4, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	delete(headers, "Content-Length")
	address := through(t, d.Base, signed)
	asks := func(origin string) map[string]string {
		return map[string]string{"Origin": origin, "Access-Control-Request-Method": "PUT",
			"Access-Control-Request-Headers": "content-type,x-amz-checksum-sha256"}
	}
	if got, text := exchange(t, http.MethodOptions, address, nil, asks(ours)); got.StatusCode/100 != 2 ||
		got.Header.Get("Access-Control-Allow-Origin") != ours ||
		!strings.Contains(got.Header.Get("Access-Control-Allow-Headers"), "x-amz-checksum-sha256") {
		t.Errorf("a configured origin: %d %s %v", got.StatusCode, text, got.Header)
	}
	if got, text := exchange(t, http.MethodOptions, address, nil, asks(stranger)); got.StatusCode < 400 ||
		got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin: %d %s %v", got.StatusCode, text, got.Header)
	}
	headers["Origin"] = ours
	if got, text := exchange(t, http.MethodPut, address, strings.NewReader("ATOM"), headers); got.StatusCode != http.StatusOK ||
		got.Header.Get("Access-Control-Allow-Origin") != ours || !strings.Contains(got.Header.Get("Access-Control-Expose-Headers"),
		"ETag") {
		t.Errorf("the PUT of a page: %d %s %v", got.StatusCode, text, got.Header)
	}
}
