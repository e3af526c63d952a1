package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

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
			output := contract.Output{Name: "poses/00001.sdf", URL: b.URL, SHA256: digestOf(t, right), ByteSize: int64(len(right))}
			err := c.DownloadOutput(t.Context(), "job_1", output, path)
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
			if err := c.DownloadOutput(t.Context(), "job_1", output, path); err != nil || len(b.received()) != before {
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
	output := contract.Output{Name: "results.json", URL: b.URL, SHA256: digestOf(t, "abc"), ByteSize: 3}
	if content, err := c.FetchOutput(t.Context(), "job_1", output, 3); err != nil || !bytes.Equal(content, []byte("abc")) {
		t.Errorf("got %q, %v; want abc", content, err)
	}
	if _, err := c.FetchOutput(t.Context(), "job_1", output, 2); err == nil {
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
	output := contract.Output{Name: "a", URL: b.URL, SHA256: digestOf(t, "abc"), ByteSize: 3}
	if err := c.DownloadOutput(t.Context(), "job_1", output, filepath.Join(blocked, "a")); err == nil || len(*waits) != 0 {
		t.Errorf("got %v after %d waits, want an error at once", err, len(*waits))
	}
}

// breaks answers with the file from the offset that is asked for, and breaks off after so many bytes.
func breaks(content string, after int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, status := 0, http.StatusOK
		if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil {
			status = http.StatusPartialContent
		}
		rest := content[from:]
		w.Header().Set("Content-Length", strconv.Itoa(len(rest)))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, rest[:min(after, len(rest))])
	}
}

func ranges(requests []received) (asked []string) {
	for _, r := range requests {
		asked = append(asked, r.header.Get("Range"))
	}
	return asked
}

// A transfer that breaks off goes on where it ended, in this call and in the next; what was wrong comes again from the beginning.
func TestDownloadGoesOn(t *testing.T) {
	t.Parallel()
	const whole = "0123456789"
	path := filepath.Join(t.TempDir(), "frames", "1.png")
	store := newBreaker(t, breaks(whole, 4), breaks(whole, 3), breaks(whole, 99))
	c, _ := newClient(t, store.URL, Options{})
	output := contract.Output{Name: "1.png", URL: store.URL, SHA256: digestOf(t, whole), ByteSize: int64(len(whole))}
	var told []int64
	err := c.Download(t.Context(), []Download{{output, "job_1", path}}, func(bytes int64) { told = append(told, bytes) }, nil)
	if got := ranges(store.received()); err != nil || !slices.Equal(got, []string{"", "bytes=4-", "bytes=7-"}) {
		t.Errorf("within a call: %v, asked for %q", err, got)
	}
	if !slices.IsSorted(told) || told[len(told)-1] != int64(len(whole)) {
		t.Errorf("told %v", told)
	}
	for left, first := range map[string]string{"01234": "bytes=5-", "01x34": "bytes=5-", whole + "!": ""} {
		if err := errors.Join(os.Remove(path), os.WriteFile(path+".part", []byte(left), 0o600)); err != nil {
			t.Fatal(err)
		}
		again := newBreaker(t, breaks(whole, 99))
		output.URL = again.URL
		err := c.DownloadOutput(t.Context(), "job_1", output, path)
		if content, readErr := os.ReadFile(path); err != nil || readErr != nil || string(content) != whole {
			t.Errorf("behind %q: got %q, %v", left, content, errors.Join(err, readErr))
		}
		if got := ranges(again.received()); got[0] != first {
			t.Errorf("behind %q: asked for %q, want %q first", left, got, first)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	broken := newBreaker(t, breaks(whole, 2), hangUp)
	output.URL = broken.URL
	if err := c.DownloadOutput(t.Context(), "job_1", output, path); err == nil {
		t.Error("a store that hangs up for ever: got no error")
	}
	if content, err := os.ReadFile(path + ".part"); err != nil || string(content) != "01" {
		t.Errorf("left %q, %v for the next call", content, err)
	}
}

// An address that has become too old is had anew from the API, once a file.
func TestDownloadRenewsAddresses(t *testing.T) {
	t.Parallel()
	const expired = "<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
	store := newBreaker(t, answer(403, expired), answer(200, "abc"), answer(403, expired))
	listed := fmt.Sprintf(`{"jobId":"job_1","outputs":[{"artifactId":"art_0","name":"b"},{"artifactId":"art_1","name":"a",
		"role":"result","taskIndex":7,"sha256":%q,"byteSize":3,"url":%q}]}`, digestOf(t, "abc"), store.URL+"/new")
	api := newBreaker(t, answer(200, strings.Replace(listed, "/new", "/old", 1)), answer(200, listed))
	c, _ := newClient(t, api.URL, Options{APIKey: "svc_live_x"})
	outputs, err := c.Outputs(t.Context(), "job_1", Page{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a")
	if err := c.DownloadOutput(t.Context(), "job_1", outputs.Body.Outputs[1], path); err != nil {
		t.Fatal(err)
	}
	if got := api.received()[1].path; got != "/api/v1/jobs/job_1/outputs?limit=100&role=result&taskIndex=7" {
		t.Errorf("asked the API for %s", got)
	}
	if got := store.received(); len(got) != 2 || got[0].path != "/old" || got[1].path != "/new" {
		t.Errorf("asked the store for %+v", got)
	}
	if err := c.DownloadOutput(t.Context(), "job_1", outputs.Body.Outputs[1], path+"2"); StatusOf(err) != http.StatusForbidden {
		t.Errorf("refused for ever: got %v", err)
	}
}

func TestDownloadTellsOfEachFile(t *testing.T) {
	t.Parallel()
	store := newBreaker(t, answer(200, "abc"))
	c, _ := newClient(t, store.URL, Options{})
	folder := t.TempDir()
	var files []Download
	for _, name := range []string{"a", "b", "there"} {
		files = append(files, Download{contract.Output{Name: name, URL: store.URL, SHA256: digestOf(t, "abc"), ByteSize: 3},
			"job_1", filepath.Join(folder, name)})
	}
	if err := os.WriteFile(files[2].Path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	var done []string
	var bytes int64
	err := c.Download(t.Context(), files, func(n int64) { bytes = n }, func(file Download) { done = append(done, file.Name) })
	slices.Sort(done)
	if err != nil || bytes != 9 || !slices.Equal(done, []string{"a", "b", "there"}) || len(store.received()) != 2 {
		t.Errorf("got %v, %d bytes, %v, %d requests", err, bytes, done, len(store.received()))
	}
}
