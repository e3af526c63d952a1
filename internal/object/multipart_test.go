package object_test

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

// fullPart is the smallest part that is not the last.
var fullPart = strings.Repeat("ATOM", object.MinPartBytes/4)

func base64Of(t *testing.T, hexDigest string) string {
	t.Helper()
	raw, err := hex.DecodeString(hexDigest)
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// start begins an upload in parts and fails the test when that fails.
func start(t *testing.T, store *object.Store, key string, checksummed bool) string {
	t.Helper()
	handle, err := store.StartMultipart(t.Context(), key, pdbqt, checksummed)
	if err != nil || handle == "" {
		t.Fatalf("StartMultipart = %q, %v", handle, err)
	}
	return handle
}

// putPart puts one part through its signed URL and returns the store's status.
func putPart(t *testing.T, store *object.Store, key, handle string, number int, signed, sent, sha256hex string) int {
	t.Helper()
	url, headers, err := store.PresignPart(t.Context(), key, handle, number, int64(len(signed)), sha256hex, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	status, _, _ := send(t, http.MethodPut, url, sent, headers)
	return status
}

func TestMultipart(t *testing.T) { objecttest.OnEach(t, testMultipart) }

func testMultipart(t *testing.T, store *object.Store, _ object.Config) {
	for _, checksummed := range []bool{false, true} {
		key := fmt.Sprintf("acct_1/in parts %v", checksummed)
		handle, bodies := start(t, store, key, checksummed), []string{fullPart, "END"}
		for i, body := range bodies {
			sha := ""
			if checksummed {
				sha = digest(body)
			}
			if status := putPart(t, store, key, handle, i+1, body, body, sha); status != http.StatusOK {
				t.Fatalf("checksummed %v: PUT of part %d answered %d", checksummed, i+1, status)
			}
		}
		if _, err := store.Head(t.Context(), key); !errors.Is(err, object.ErrNotFound) {
			t.Errorf("before completion: Head = %v, want %v", err, object.ErrNotFound)
		}
		parts, err := store.Parts(t.Context(), key, handle)
		if err != nil || len(parts) != 2 {
			t.Fatalf("Parts = %+v, %v", parts, err)
		}
		for i, part := range parts {
			want := digest(bodies[i])
			if !checksummed {
				want = ""
			}
			if part.Number != i+1 || part.ByteSize != int64(len(bodies[i])) || part.SHA256 != want || part.ETag == "" ||
				strings.Contains(part.ETag, `"`) {
				t.Errorf("checksummed %v: part %+v, want number %d, %d bytes, SHA-256 %q", checksummed, part, i+1, len(bodies[i]),
					want)
			}
		}
		etag, err := store.CompleteMultipart(t.Context(), key, handle, parts)
		if err != nil || etag == "" {
			t.Fatalf("CompleteMultipart = %q, %v", etag, err)
		}
		info, err := store.Measure(t.Context(), key)
		if whole := fullPart + "END"; err != nil || info.SHA256 != digest(whole) || info.ByteSize != int64(len(whole)) ||
			info.ContentType != pdbqt {
			t.Errorf("Measure = %+v, %v", info, err)
		}
		if _, err := store.Parts(t.Context(), key, handle); !errors.Is(err, object.ErrNotFound) {
			t.Errorf("after completion: Parts = %v, want %v", err, object.ErrNotFound)
		}
		if err := store.AbortMultipart(t.Context(), key, handle); err != nil {
			t.Errorf("abort of what is complete = %v, want nil", err)
		}
	}
}

func TestPartsAreGuarded(t *testing.T) { objecttest.OnEach(t, testPartsAreGuarded) }

func testPartsAreGuarded(t *testing.T, store *object.Store, _ object.Config) {
	plain, guarded := start(t, store, "plain", false), start(t, store, "guarded", true)
	url, headers, err := store.PresignPart(t.Context(), "guarded", guarded, 1, 4, digest("ATOM"), time.Hour)
	if err != nil || headers["X-Amz-Checksum-Sha256"] != base64Of(t, digest("ATOM")) {
		t.Fatalf("PresignPart: headers %v, %v", headers, err)
	}
	for _, c := range []struct {
		name, url, body string
		headers         map[string]string
	}{
		{"other bytes", url, "MOTA", headers},
		{"no checksum", url, "ATOM", nil},
		{"checksum of the other bytes", url, "MOTA", map[string]string{"X-Amz-Checksum-Sha256": base64Of(t, digest("MOTA"))}},
		{"another part", strings.Replace(url, "partNumber=1", "partNumber=2", 1), "ATOM", headers},
		{"another upload", strings.Replace(url, "/guarded?", "/plain?", 1), "ATOM", headers},
		{"anonymous", strings.Split(url, "?")[0] + "?partNumber=1&uploadId=" + guarded, "ATOM", headers},
	} {
		if status, text, _ := send(t, http.MethodPut, c.url, c.body, c.headers); status < 400 || status > 499 {
			t.Errorf("%s: %d %s; want a refusal", c.name, status, text)
		}
	}
	for sent, signed := range map[string]string{"ATO": "ATOM", "ATOMS": "ATOM"} {
		if status := putPart(t, store, "plain", plain, 1, signed, sent, ""); status < 400 || status > 499 {
			t.Errorf("%d bytes for a part of %d: %d; want a refusal", len(sent), len(signed), status)
		}
	}
	for key, handle := range map[string]string{"plain": plain, "guarded": guarded} {
		if parts, err := store.Parts(t.Context(), key, handle); err != nil || len(parts) != 0 {
			t.Errorf("%s: parts %+v, %v; want none", key, parts, err)
		}
	}
}

func TestBadPartsAreRefused(t *testing.T) { objecttest.OnEach(t, testBadPartsAreRefused) }

func testBadPartsAreRefused(t *testing.T, store *object.Store, _ object.Config) {
	key := "key"
	handle := start(t, store, key, false)
	for number, body := range []string{fullPart, "short", "END"} {
		if status := putPart(t, store, key, handle, number+1, body, body, ""); status != http.StatusOK {
			t.Fatalf("PUT answered %d", status)
		}
	}
	parts, err := store.Parts(t.Context(), key, handle)
	if err != nil {
		t.Fatal(err)
	}
	first, short, last := parts[0], parts[1], parts[2]
	replaced := first
	replaced.ETag = last.ETag
	for _, c := range []struct {
		name  string
		parts []object.Part
	}{
		{"a short part before the last", []object.Part{first, short, last}},
		{"wrong order", []object.Part{last, first}},
		{"a part that was replaced", []object.Part{replaced, last}},
		{"a part that is absent", []object.Part{first, {Number: 4, ETag: last.ETag}}},
	} {
		if _, err := store.CompleteMultipart(t.Context(), key, handle, c.parts); !errors.Is(err, object.ErrBadParts) {
			t.Errorf("%s: CompleteMultipart = %v, want %v", c.name, err, object.ErrBadParts)
		}
	}
	if _, err := store.CompleteMultipart(t.Context(), key, handle, []object.Part{first, last}); err != nil {
		t.Errorf("after the refusals: CompleteMultipart = %v", err)
	}
}

func TestStalePartURL(t *testing.T) { objecttest.OnEach(t, testStalePartURL) }

func testStalePartURL(t *testing.T, store *object.Store, _ object.Config) {
	handle := start(t, store, "key", false)
	url, _, err := store.PresignPart(t.Context(), "key", handle, 1, 4, "", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the URL to expire", func() bool {
		status, text, _ := send(t, http.MethodPut, url, "ATOM", nil)
		return status == http.StatusForbidden && strings.Contains(text, "expired")
	})
	if status := putPart(t, store, "key", handle, 1, "ATOM", "ATOM", ""); status != http.StatusOK {
		t.Errorf("PUT with a new URL answered %d", status)
	}
	if err := store.AbortMultipart(t.Context(), "key", handle); err != nil {
		t.Fatal(err)
	}
	if status := putPart(t, store, "key", handle, 1, "ATOM", "ATOM", ""); status != http.StatusNotFound {
		t.Errorf("PUT after the abort answered %d, want 404", status)
	}
	if err := store.AbortMultipart(t.Context(), "key", handle); err != nil {
		t.Errorf("second abort = %v, want nil", err)
	}
}

func TestManyParts(t *testing.T) { objecttest.OnEach(t, testManyParts) }

func testManyParts(t *testing.T, store *object.Store, _ object.Config) {
	const many = 1003 // a page of the list holds 1,000
	handle := start(t, store, "key", false)
	for number := 1; number <= many; number++ {
		if status := putPart(t, store, "key", handle, number, "x", "x", ""); status != http.StatusOK {
			t.Fatalf("PUT of part %d answered %d", number, status)
		}
	}
	parts, err := store.Parts(t.Context(), "key", handle)
	if err != nil || len(parts) != many {
		t.Fatalf("Parts gave %d, %v; want %d", len(parts), err, many)
	}
	for i, part := range parts {
		if part.Number != i+1 {
			t.Fatalf("part %d has number %d", i, part.Number)
		}
	}
}

func TestPresignCreateWritesOnce(t *testing.T) { objecttest.OnEach(t, testPresignCreateWritesOnce) }

func testPresignCreateWritesOnce(t *testing.T, store *object.Store, _ object.Config) {
	url, headers, err := store.PresignCreate(t.Context(), "key", pdbqt, 4, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if status, text, _ := send(t, http.MethodPut, url, "ATOM", without(headers, "If-None-Match", "")); status < 400 ||
		status > 499 {
		t.Errorf("PUT without its condition = %d %s, want a refusal", status, text)
	}
	for _, want := range []int{http.StatusOK, http.StatusPreconditionFailed} {
		if status, text, _ := send(t, http.MethodPut, url, "ATOM", headers); status != want {
			t.Errorf("PUT = %d %s, want %d", status, text, want)
		}
	}
}

func TestPresignPartBounds(t *testing.T) {
	t.Parallel()
	store, _ := objecttest.New(t)
	for _, c := range []struct {
		number int
		size   int64
		sha    string
		expiry time.Duration
	}{{0, 1, "", time.Hour}, {object.MaxParts + 1, 1, "", time.Hour}, {1, 0, "", time.Hour},
		{1, object.MaxPartBytes + 1, "", time.Hour}, {1, 1, "ab", time.Hour}, {1, 1, "", 0}} {
		if _, _, err := store.PresignPart(t.Context(), "key", "handle", c.number, c.size, c.sha, c.expiry); err == nil {
			t.Errorf("PresignPart of %+v = nil, want an error", c)
		}
	}
}
