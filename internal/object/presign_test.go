package object_test

import (
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

// send makes a request as any HTTP client would and returns its status and body.
func send(t *testing.T, method, url, body string, headers map[string]string) (status int, text string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw), response.Header
}

// without returns headers without one of them, or with another value for it.
func without(headers map[string]string, name, value string) map[string]string {
	changed := map[string]string{}
	for n, v := range headers {
		changed[n] = v
	}
	delete(changed, name)
	if value != "" {
		changed[name] = value
	}
	return changed
}

func TestPresignPut(t *testing.T) { objecttest.OnEach(t, testPresignPut) }

func testPresignPut(t *testing.T, store *object.Store, _ object.Config) {
	body := "ATOM"
	address, headers, err := store.PresignPut(t.Context(), "upload", pdbqt, int64(len(body)), digest(body), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Content-Type", "Content-Length", "X-Amz-Checksum-Sha256"} {
		if headers[name] == "" {
			t.Errorf("headers = %v, want %s among them", headers, name)
		}
	}
	for _, c := range []struct {
		name, url, body string
		headers         map[string]string
	}{
		{"other bytes of the same size", address, "MOTA", headers},
		{"other size", address, "ATOM ATOM", without(headers, "Content-Length", "")},
		{"no checksum", address, body, without(headers, "X-Amz-Checksum-Sha256", "")},
		{"checksum of other bytes", address, body, without(headers, "X-Amz-Checksum-Sha256",
			"TeUH/dlKS9BPCCvMwFIVBEnvVqlqbhq7Q5gDFR09KQA=")},
		{"other content type", address, body, without(headers, "Content-Type", "text/html")},
		{"no content type", address, body, without(headers, "Content-Type", "")},
		{"anonymous", strings.Split(address, "?")[0], body, headers},
		{"other key", strings.Replace(address, "/upload?", "/another?", 1), body, headers},
		{"longer expiry", strings.Replace(address, "X-Amz-Expires=3600", "X-Amz-Expires=36000", 1), body, headers},
	} {
		if status, text, _ := send(t, http.MethodPut, c.url, c.body, c.headers); status < 400 || status > 499 {
			t.Errorf("%s: %d %s; want a refusal", c.name, status, text)
		}
	}
	if info, err := store.Head(t.Context(), "upload"); err == nil {
		t.Fatalf("a refused upload is there: %+v", info)
	}
	if status, text, _ := send(t, http.MethodPut, address, body, headers); status != http.StatusOK {
		t.Fatalf("PUT = %d %s, want 200", status, text)
	}
	info, err := store.Head(t.Context(), "upload")
	if err != nil || info.SHA256 != digest(body) || info.ContentType != pdbqt {
		t.Errorf("Head = %+v, %v; want what was put", info, err)
	}
}

func TestPresignPutWithoutDigest(t *testing.T) { objecttest.OnEach(t, testPresignPutWithoutDigest) }

func testPresignPutWithoutDigest(t *testing.T, store *object.Store, _ object.Config) {
	address, headers, err := store.PresignPut(t.Context(), "upload", pdbqt, 4, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if status, text, _ := send(t, http.MethodPut, address, "ATOMS", without(headers, "Content-Length", "")); status < 400 {
		t.Errorf("PUT of another size = %d %s, want a refusal", status, text)
	}
	if status, text, _ := send(t, http.MethodPut, address, "ATOM", headers); status != http.StatusOK {
		t.Errorf("PUT = %d %s, want 200", status, text)
	}
	// The store keeps no SHA-256 that nobody sent; reading the object finds it.
	if info, err := store.GetFile(t.Context(), "upload", t.TempDir()+"/out", digest("ATOM"), 4); err != nil ||
		info.SHA256 != digest("ATOM") {
		t.Errorf("GetFile = %+v, %v", info, err)
	}
}

func TestPresignGet(t *testing.T) { objecttest.OnEach(t, testPresignGet) }

func testPresignGet(t *testing.T, store *object.Store, _ object.Config) {
	put(t, store, "acct_1/pose 1.sdf", "M  END")
	name := `Imatinib "best" pöse.sdf`
	address, err := store.PresignGet(t.Context(), "acct_1/pose 1.sdf", name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	status, text, header := send(t, http.MethodGet, address, "", nil)
	if status != http.StatusOK || text != "M  END" {
		t.Errorf("GET = %d %q, want 200 %q", status, text, "M  END")
	}
	kind, params, err := mime.ParseMediaType(header.Get("Content-Disposition"))
	if err != nil || kind != "attachment" || params["filename"] != name {
		t.Errorf("Content-Disposition = %q, %v; want an attachment called %q", header.Get("Content-Disposition"), err, name)
	}
	for what, url := range map[string]string{
		"anonymous": strings.Split(address, "?")[0],
		"other key": strings.Replace(address, "pose", "poses", 1),
		"a put":     address,
	} {
		method := http.MethodGet
		if what == "a put" {
			method = http.MethodPut
		}
		if status, text, _ := send(t, method, url, "", nil); status != http.StatusForbidden {
			t.Errorf("%s: %d %s; want 403", what, status, text)
		}
	}
}

func TestPresignedURLsExpire(t *testing.T) { objecttest.OnEach(t, testPresignedURLsExpire) }

func testPresignedURLsExpire(t *testing.T, store *object.Store, _ object.Config) {
	put(t, store, "key", "x")
	read, err := store.PresignGet(t.Context(), "key", "x", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	write, headers, err := store.PresignPut(t.Context(), "late", pdbqt, 1, digest("x"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the URL to expire", func() bool {
		status, text, _ := send(t, http.MethodGet, read, "", nil)
		return status == http.StatusForbidden && strings.Contains(text, "expired")
	})
	if status, text, _ := send(t, http.MethodPut, write, "x", headers); status != http.StatusForbidden ||
		!strings.Contains(text, "expired") {
		t.Errorf("PUT with an expired URL = %d %s, want 403", status, text)
	}
}

func TestPresignForThePublicEndpoint(t *testing.T) {
	objecttest.OnEach(t, testPresignForThePublicEndpoint)
}

func testPresignForThePublicEndpoint(t *testing.T, _ *object.Store, cfg object.Config) {
	cfg.PublicEndpoint = "https://objects.example.org"
	store, err := object.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	address, err := store.PresignGet(t.Context(), "key", "x", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host != "objects.example.org" || u.Path != "/"+cfg.Bucket+"/key" {
		t.Errorf("PresignGet = %s, %v; want it at the public endpoint, path style", address, err)
	}
}

func TestPresignBounds(t *testing.T) { objecttest.OnEach(t, testPresignBounds) }

func testPresignBounds(t *testing.T, store *object.Store, _ object.Config) {
	for _, expiry := range []time.Duration{0, -time.Hour, 8 * 24 * time.Hour} {
		if _, err := store.PresignGet(t.Context(), "key", "x", expiry); err == nil {
			t.Errorf("PresignGet for %v = nil, want an error", expiry)
		}
		if _, _, err := store.PresignPut(t.Context(), "key", pdbqt, 1, "", expiry); err == nil {
			t.Errorf("PresignPut for %v = nil, want an error", expiry)
		}
	}
	for _, size := range []int64{-1, object.MaxObjectBytes + 1} {
		if _, _, err := store.PresignPut(t.Context(), "key", pdbqt, size, "", time.Hour); err == nil {
			t.Errorf("PresignPut of %d bytes = nil, want an error", size)
		}
	}
}

// patience bounds the wait for what happens within seconds.
const patience = 20 * time.Second

// waitFor polls until the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}
