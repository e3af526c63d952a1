package client

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

func TestUploadsOfAProject(t *testing.T) {
	t.Parallel()
	store := newBreaker(t, answer(200, ""))
	b := newBreaker(t, answer(200, `{"uploadUrl":"`+store.URL+`/k","s3Key":"a/projects/p/textures/wood.png","method":"PUT"}`))
	c, _ := newClient(t, b.URL, Options{})
	path := filepath.Join(t.TempDir(), "wood.png")
	if err := os.WriteFile(path, []byte("png"), 0o600); err != nil {
		t.Fatal(err)
	}
	options := UploadOptions{ProjectID: "00000000-0000-4000-8000-000000000000", LogicalPath: "textures/wood.png"}
	if uploaded, err := c.UploadFileWith(t.Context(), path, options); err != nil ||
		uploaded.StorageKey != "a/projects/p/textures/wood.png" {
		t.Errorf("got %+v, %v", uploaded, err)
	}
	if got, want := b.received()[0].body,
		`"projectId":"00000000-0000-4000-8000-000000000000","logicalPath":"textures/wood.png"`; !strings.Contains(got, want) {
		t.Errorf("asked with %s, want %s in it", got, want)
	}
	inParts := newBreaker(t, answer(409, `{"error":"no","code":"VALIDATION_ERROR"}`))
	c, _ = newClient(t, inParts.URL, Options{})
	c.inParts = 1
	if _, err := c.UploadFileWith(t.Context(), path, options); StatusOf(err) != http.StatusConflict {
		t.Errorf("got %v, want the refusal", err)
	}
	if got := inParts.received()[0]; got.path != "/api/v1/uploads" || !strings.Contains(got.body,
		`"logicalPath":"textures/wood.png"`) {
		t.Errorf("asked %s with %s", got.path, got.body)
	}
}

func TestDownloadPreview(t *testing.T) {
	t.Parallel()
	store := newBreaker(t, hangUp, answer(503, ""), answer(200, "a picture"), answer(404, `<Error><Code>NoSuchKey</Code></Error>`),
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, endless{}, maxPreviewBytes+1) })
	c, _ := newClient(t, store.URL, Options{APIKey: "svc_live_x"})
	destination := filepath.Join(t.TempDir(), "new", "preview.jpg")
	preview := contract.Preview{URL: store.URL + "/jobs/1/checkpoint/000007/preview.jpg?X-Amz-Signature=s"}
	if err := c.DownloadPreview(t.Context(), preview, destination); err != nil {
		t.Fatal(err)
	}
	if err := c.DownloadPreview(t.Context(), preview, destination); StatusOf(err) != http.StatusNotFound {
		t.Errorf("a picture that has gone: got %v", err)
	}
	if err := c.DownloadPreview(t.Context(), preview, destination); err == nil ||
		!strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("an endless picture: got %v", err)
	}
	if got, err := os.ReadFile(destination); err != nil || string(got) != "a picture" {
		t.Errorf("got %q, %v; want the picture that was right", got, err)
	}
	if _, err := os.Stat(destination + ".part"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a part was left: %v", err)
	}
	for _, r := range store.received() {
		if r.header.Get("Authorization") != "" {
			t.Error("a credential went to the store")
		}
	}
}

// endless is a file without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestPictureOfAPreview(t *testing.T) {
	t.Parallel()
	a, b, c := contract.Preview{URL: "http://s/b/7/preview.jpg?X=1"}, contract.Preview{URL: "http://s/b/7/preview.jpg?X=2"},
		contract.Preview{URL: "http://s/b/8/preview.jpg?X=1"}
	if a.Picture() != b.Picture() || a.Picture() == c.Picture() {
		t.Errorf("got %s, %s and %s; want the first two alike", a.Picture(), b.Picture(), c.Picture())
	}
}

func TestFrames(t *testing.T) {
	t.Parallel()
	queries := make(chan string, 1)
	b := newBreaker(t, func(w http.ResponseWriter, r *http.Request) {
		queries <- r.URL.RawQuery
		_,
			_ = io.WriteString(w,
			`{"jobId":"job_1","outputs":[{"artifactId":"a","name":"frame_0007.png","role":"frame","frame":7}]}`)
	})
	c, _ := newClient(t, b.URL, Options{})
	frames, err := c.Frames(t.Context(), "job_1", Page{Limit: 5, Cursor: "x"})
	if err != nil || len(frames.Body.Outputs) != 1 || frames.Body.Outputs[0].Frame == nil || *frames.Body.Outputs[0].Frame != 7 {
		t.Errorf("got %+v, %v", frames, err)
	}
	if got := <-queries; got != "cursor=x&limit=5&role=frame" {
		t.Errorf("asked %s", got)
	}
}
