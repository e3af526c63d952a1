package object_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/object/objecttest"
)

// TestAllowOrigins: a browser's page may use signed URLs where its origin is allowed, and nowhere else.
func TestAllowOrigins(t *testing.T) {
	t.Parallel()
	store, _ := objecttest.New(t)
	const ours, stranger = "https://app.example.org", "https://evil.example.net"
	url, headers, err := store.PresignPut(t.Context(), "upload", pdbqt, 4, digest("ATOM"), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	preflight := func(origin string) (int, string) {
		status, _, header := send(t, http.MethodOptions, url, "", map[string]string{"Origin": origin,
			"Access-Control-Request-Method":  "PUT",
			"Access-Control-Request-Headers": "content-type,x-amz-checksum-sha256"})
		return status, header.Get("Access-Control-Allow-Origin")
	}
	if status, allowed := preflight(ours); status < 400 || allowed != "" {
		t.Errorf("a preflight before anything is allowed: %d, %q", status, allowed)
	}
	if err := store.AllowOrigins(t.Context(), []string{ours}); err != nil {
		t.Fatal(err)
	}
	if status, allowed := preflight(ours); status/100 != 2 || allowed != ours {
		t.Errorf("a preflight of an allowed origin: %d, %q", status, allowed)
	}
	if status, allowed := preflight(stranger); status < 400 || allowed != "" {
		t.Errorf("a preflight of another origin: %d, %q", status, allowed)
	}
	headers["Origin"] = ours
	if status, text, header := send(t, http.MethodPut, url, "ATOM", headers); status != http.StatusOK ||
		header.Get("Access-Control-Allow-Origin") != ours ||
		header.Get("ETag") == "" {
		t.Errorf("the PUT of a page: %d %s %v", status, text, header)
	}
	if err := store.AllowOrigins(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if status, allowed := preflight(ours); status < 400 || allowed != "" {
		t.Errorf("a preflight after the origins are removed: %d, %q", status, allowed)
	}
}
