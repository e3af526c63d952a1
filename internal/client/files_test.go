package client

import (
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
	want := Uploaded{StorageKey: "accounts/a/uploads/u/r.pdbqt", SHA256: digestOf(t, content), ByteSize: int64(len(content)),
		ContentType: "chemical/x-pdbqt"}
	if err != nil || uploaded != want {
		t.Fatalf("got %+v, %v; want %+v", uploaded, err, want)
	}
	if got := b.received()[0].body; !strings.Contains(got, `"sha256":"`+want.SHA256+`"`) ||
		!strings.Contains(got, `"size":500000`) {
		t.Errorf("asked for an upload with %s", got)
	}
	puts := store.received()
	if len(puts) != 3 {
		t.Fatalf("got %d tries, want 3", len(puts))
	}
	for i, r := range puts {
		if r.body != content || r.method != "PUT" || r.header.Get("X-Amz-Checksum-Sha256") != "c2hh" ||
			r.header.Get("Content-Type") != "chemical/x-pdbqt" {
			t.Errorf("try %d: got %s with %d bytes and %v, want the whole file with the signed headers", i, r.method, len(r.body),
				r.header)
		}
		if r.header.Get("Authorization") != "" || r.header.Get("Cookie") != "" {
			t.Errorf("try %d: a credential went to the store", i)
		}
	}
}

func TestUploadFails(t *testing.T) {
	t.Parallel()
	store := newBreaker(t,
		answer(403, `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>`))
	b := newBreaker(t, answer(200, `{"uploadUrl":"`+store.URL+`/k","s3Key":"k","method":"PUT"}`))
	c, _ := newClient(t, b.URL, Options{})
	if _, err := c.Upload(t.Context(), "x.pdb", strings.NewReader("abc"), 3); StatusOf(err) != 403 ||
		!strings.Contains(err.Error(), "Request has expired") {
		t.Errorf("refused: got %v, want the store's own words", err)
	}
	if _, err := c.Upload(t.Context(), "x.pdb", strings.NewReader(""), 0); err == nil {
		t.Error("empty: got no error")
	}
	if _, err := c.UploadFile(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder: got no error")
	}
}
