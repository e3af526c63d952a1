package client

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func digestOf(t *testing.T, text string) string {
	t.Helper()
	digest, err := Digest(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestDigest(t *testing.T) {
	t.Parallel()
	// FIPS 180-2, appendix B.1.
	if got, want := digestOf(t, "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestUploadSendsTheWholeFileAgain(t *testing.T) {
	t.Parallel()
	content := strings.Repeat("ATOM\n", 100_000)
	store := newBreaker(t,
		hangUp,
		answer(503, `<Error><Code>SlowDown</Code><Message>later</Message></Error>`),
		answer(200, ""),
	)
	b := newBreaker(t, answer(200, `{"uploadUrl":"`+store.URL+`/bucket/key?X-Amz-Signature=s","s3Key":"accounts/a/uploads/u/r.pdbqt","method":"PUT",
		"headers":{"Content-Type":"chemical/x-pdbqt","Content-Length":"500000","X-Amz-Checksum-Sha256":"c2hh"}}`))
	c, _ := newClient(t, b.URL, Options{APIKey: "svc_live_x", Session: "token"})
	path := filepath.Join(t.TempDir(), "r.pdbqt")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	uploaded, err := c.UploadFile(t.Context(), path)
	want := Uploaded{StorageKey: "accounts/a/uploads/u/r.pdbqt", SHA256: digestOf(t, content), ByteSize: int64(len(content)), ContentType: "chemical/x-pdbqt"}
	if err != nil || uploaded != want {
		t.Fatalf("got %+v, %v; want %+v", uploaded, err, want)
	}
	if got := b.received()[0].body; !strings.Contains(got, `"sha256":"`+want.SHA256+`"`) || !strings.Contains(got, `"size":500000`) {
		t.Errorf("asked for an upload with %s", got)
	}
	puts := store.received()
	if len(puts) != 3 {
		t.Fatalf("got %d tries, want 3", len(puts))
	}
	for i, r := range puts {
		if r.body != content || r.method != "PUT" || r.header.Get("X-Amz-Checksum-Sha256") != "c2hh" || r.header.Get("Content-Type") != "chemical/x-pdbqt" {
			t.Errorf("try %d: got %s with %d bytes and %v, want the whole file with the signed headers", i, r.method, len(r.body), r.header)
		}
		if r.header.Get("Authorization") != "" || r.header.Get("Cookie") != "" {
			t.Errorf("try %d: a credential went to the store", i)
		}
	}
}

func TestUploadFails(t *testing.T) {
	t.Parallel()
	store := newBreaker(t, answer(403, `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>`))
	b := newBreaker(t, answer(200, `{"uploadUrl":"`+store.URL+`/k","s3Key":"k","method":"PUT"}`))
	c, _ := newClient(t, b.URL, Options{})
	if _, err := c.Upload(t.Context(), "x.pdb", strings.NewReader("abc"), 3); StatusOf(err) != 403 || !strings.Contains(err.Error(), "Request has expired") {
		t.Errorf("refused: got %v, want the store's own words", err)
	}
	if _, err := c.Upload(t.Context(), "x.pdb", strings.NewReader(""), 0); err == nil {
		t.Error("empty: got no error")
	}
	if _, err := c.UploadFile(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder: got no error")
	}
}

func TestDownloadChecksWhatItGets(t *testing.T) {
	t.Parallel()
	const right = "HELLO POSES"
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "11")
		_, _ = io.WriteString(w, "HELLO")
	}
	tests := []struct {
		name     string
		answers  []http.HandlerFunc
		checksum bool // ends as a *ChecksumError
	}{
		{"right", []http.HandlerFunc{answer(200, right)}, false},
		{"right after wrong bytes", []http.HandlerFunc{answer(200, "HELLO p0ses"), answer(200, right)}, false},
		{"right after a cut", []http.HandlerFunc{cut, answer(200, right)}, false},
		{"wrong for ever", []http.HandlerFunc{answer(200, "HELLO p0ses")}, true},
		{"too long for ever", []http.HandlerFunc{answer(200, right+"!")}, true},
		{"too short for ever", []http.HandlerFunc{answer(200, "HELLO")}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBreaker(t, test.answers...)
			c, _ := newClient(t, b.URL, Options{APIKey: "svc_live_x"})
			folder := t.TempDir()
			path := filepath.Join(folder, "poses", "00001.sdf")
			output := Output{Name: "poses/00001.sdf", URL: b.URL, SHA256: digestOf(t, right), ByteSize: int64(len(right))}
			err := c.DownloadOutput(t.Context(), output, path)
			var wrong *ChecksumError
			if errors.As(err, &wrong) != test.checksum || (err == nil) == test.checksum {
				t.Fatalf("got %v, want a checksum error: %v", err, test.checksum)
			}
			left, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			if test.checksum {
				if len(left) != 0 {
					t.Errorf("left behind: %v", left)
				}
				return
			}
			if content, err := os.ReadFile(path); err != nil || string(content) != right || len(left) != 1 {
				t.Errorf("got %q, %v beside %v; want %q alone", content, err, left, right)
			}
			before := len(b.received())
			if err := c.DownloadOutput(t.Context(), output, path); err != nil || len(b.received()) != before {
				t.Errorf("again: %v, %d requests; want none", err, len(b.received())-before)
			}
			if got := b.received()[0].header.Get("Authorization"); got != "" {
				t.Error("the key went to the store")
			}
		})
	}
}

func TestFetchOutput(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, answer(200, "xbc"), answer(200, "abc"))
	c, _ := newClient(t, b.URL, Options{})
	output := Output{Name: "results.json", URL: b.URL, SHA256: digestOf(t, "abc"), ByteSize: 3}
	if content, err := c.FetchOutput(t.Context(), output, 3); err != nil || !bytes.Equal(content, []byte("abc")) {
		t.Errorf("got %q, %v; want abc", content, err)
	}
	if _, err := c.FetchOutput(t.Context(), output, 2); err == nil {
		t.Error("beyond the limit: got no error")
	}
}

func TestDownloadDoesNotRepeatOwnFailures(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, answer(200, "abc"))
	c, waits := newClient(t, b.URL, Options{})
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	output := Output{Name: "a", URL: b.URL, SHA256: digestOf(t, "abc"), ByteSize: 3}
	if err := c.DownloadOutput(t.Context(), output, filepath.Join(blocked, "a")); err == nil || len(*waits) != 0 {
		t.Errorf("got %v after %d waits, want an error at once", err, len(*waits))
	}
}
