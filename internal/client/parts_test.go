package client

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// partText is a file that goes up in three parts.
const partText = "0123456789abcdefghijABCDE"

// partServer is an API and a store for one upload of partText, and fails where its test wants.
type partServer struct {
	*httptest.Server
	checksums bool           // the store checks parts
	received  string         // parts that are there already, as JSON
	failing   map[string]int // how often a PUT of these bytes fails
	finish    http.HandlerFunc

	mu        sync.Mutex
	puts      []string // bodies of the PUTs that succeeded
	signed    []contract.UploadPartDone
	completed struct {
		Parts  []contract.UploadPartDone `json:"parts"`
		SHA256 string                    `json:"sha256"`
	}
	ended bool
}

func newPartServer(t *testing.T, s *partServer) (*partServer, *Client) {
	t.Helper()
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	c, _ := newClient(t, s.URL, Options{APIKey: "svc_live_x"})
	c.inParts = int64(len(partText))
	c.wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() } // parts wait at the same time
	if s.finish == nil {
		s.finish = answer(200, `{"verified":true}`)
	}
	return s, c
}

func (s *partServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodPut && s.failing[string(body)] > 0:
		s.failing[string(body)]--
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodPut:
		s.puts = append(s.puts, string(body))
	case r.Method == http.MethodDelete:
		s.ended = true
		w.WriteHeader(http.StatusNoContent)
	case strings.HasSuffix(r.URL.Path, "/parts"):
		s.sign(w, body)
	case strings.HasSuffix(r.URL.Path, "/complete"):
		_ = json.Unmarshal(body, &s.completed) // what is missing is seen by the test
		s.finish(w, r)
	default:
		algorithm := "null"
		if s.checksums && r.Method == http.MethodPost {
			algorithm = `"sha256"`
		}
		fmt.Fprintf(w,
			`{"uploadId":"upl_1","key":"accounts/a/upl_1/t.dcd","partSize":10,"partCount":3,"checksumAlgorithm":%s,"received":[%s]}`, algorithm, s.received)
	}
}

func (s *partServer) sign(w http.ResponseWriter, body []byte) {
	var request struct{ Parts []contract.UploadPartDone }
	if json.Unmarshal(body, &request) != nil || len(request.Parts) != 1 || (request.Parts[0].ChecksumSHA256 != "") != s.checksums {
		answer(400, `{"error":"parts[0].checksumSha256: is not allowed","code":"VALIDATION_ERROR"}`)(w, nil)
		return
	}
	s.signed = append(s.signed, request.Parts[0])
	fmt.Fprintf(w, `{"parts":[{"partNumber":%d,"url":"%s/bucket?part=%[1]d","headers":{"X-Part":"%[1]d"}}]}`,
		request.Parts[0].PartNumber, s.URL)
}

func uploadText(c *Client, options UploadOptions) (Uploaded, error) {
	return c.UploadWith(context.Background(), "t.dcd", strings.NewReader(partText), int64(len(partText)), options)
}

func sorted(texts []string) string { return strings.Join(slices.Sorted(slices.Values(texts)), " ") }

func TestUploadInParts(t *testing.T) {
	t.Parallel()
	for _, checksums := range []bool{true, false} {
		s, c := newPartServer(t, &partServer{checksums: checksums, failing: map[string]int{"abcdefghij": 2}})
		var begun string
		var sent, there int64
		uploaded, err := uploadText(c, UploadOptions{Begun: func(id string) { begun = id },
			Progress: func(a, b int64) { sent, there = a, b }})
		if err != nil || uploaded.StorageKey != "accounts/a/upl_1/t.dcd" || uploaded.SHA256 != digestOf(t, partText) ||
			begun != "upl_1" {
			t.Fatalf("checksums %v: got %+v as %s, %v", checksums, uploaded, begun, err)
		}
		if got := sorted(s.puts); got != "0123456789 ABCDE abcdefghij" {
			t.Errorf("the store got %s", got)
		}
		if len(s.signed) != 5 {
			t.Errorf("%d addresses were asked for, want one for each of 5 tries", len(s.signed))
		}
		if sent != int64(len(partText)) || there != 0 {
			t.Errorf("progress ends at %d and %d, want %d and 0", sent, there, len(partText))
		}
		want := []contract.UploadPartDone{{PartNumber: 1}, {PartNumber: 2}, {PartNumber: 3}}
		for i, text := range []string{"0123456789", "abcdefghij", "ABCDE"} {
			if digest := sha256.Sum256([]byte(text)); checksums {
				want[i].ChecksumSHA256 = base64.StdEncoding.EncodeToString(digest[:])
			}
		}
		if !slices.Equal(s.completed.Parts, want) || s.completed.SHA256 != uploaded.SHA256 || s.ended {
			t.Errorf("completed with %+v, ended %v; want %+v", s.completed, s.ended, want)
		}
	}
}

func TestUploadResumes(t *testing.T) {
	t.Parallel()
	etag := func(text string) string {
		sum := md5.Sum([]byte(text))
		return hex.EncodeToString(sum[:])
	}
	there := fmt.Sprintf(`{"partNumber":1,"etag":%q,"size":10},{"partNumber":2,"etag":%q,"size":10}`, etag("0123456789"),
		etag("another.._"))
	for _, checksums := range []bool{true, false} {
		s, c := newPartServer(t, &partServer{checksums: checksums, received: there})
		var sent, kept int64
		_, err := uploadText(c, UploadOptions{Resume: "upl_1", Begun: func(string) {},
			Progress: func(a, b int64) { sent, kept = a, b }})
		if got := sorted(s.puts); err != nil || got != "ABCDE abcdefghij" || sent != 15 || kept != 10 {
			t.Errorf("checksums %v: the store got %s, progress %d and %d, %v; want the other two parts", checksums, got, sent, kept,
				err)
		}
		if len(s.completed.Parts) != 3 || (s.completed.Parts[0].ChecksumSHA256 != "") != checksums {
			t.Errorf("completed with %+v", s.completed)
		}
	}
	_, c := newPartServer(t, &partServer{})
	if _, err := c.UploadWith(t.Context(), "t.dcd", strings.NewReader(partText+partText), 50,
		UploadOptions{Resume: "upl_1"}); !errors.Is(err, ErrOtherFile) {
		t.Errorf("another file: got %v", err)
	}
}

func TestUploadInPartsFails(t *testing.T) {
	t.Parallel()
	late, calls := answer(504, ""), 0
	tests := []struct {
		name   string
		server partServer
		begun  bool
		check  func(error) bool
		ended  bool
	}{
		{"a part for ever", partServer{failing: map[string]int{"ABCDE": 100}}, true,
			func(err error) bool { return StatusOf(err) == 503 }, false},
		{"and nobody knows it", partServer{failing: map[string]int{"ABCDE": 100}}, false,
			func(err error) bool { return StatusOf(err) == 503 }, true},
		{"other bytes arrived", partServer{finish: answer(422, `{"error":"sha256","code":"CHECKSUM_MISMATCH"}`)}, true,
			func(err error) bool { return CodeOf(err) == fault.ChecksumMismatch }, false},
		{"a slow completion", partServer{finish: func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls < maxAttempts {
				late(w, r)
				return
			}
			answer(200, `{}`)(w, r)
		}}, true, func(err error) bool { return err == nil }, false},
	}
	for i := range tests {
		test := &tests[i]
		s, c := newPartServer(t, &test.server)
		var options UploadOptions
		if test.begun {
			options.Begun = func(string) {}
		}
		if _, err := uploadText(c, options); !test.check(err) || s.ended != test.ended {
			t.Errorf("%s: got %v, ended %v; want %v", test.name, err, s.ended, test.ended)
		}
	}
}

func TestUploadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s, c := newPartServer(t, &partServer{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.UploadWith(ctx, "t.dcd", strings.NewReader(partText), int64(len(partText)),
		UploadOptions{Begun: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) || len(s.puts) != 0 {
		t.Errorf("cancelled before the first part: got %v with %q sent", err, s.puts)
	}
	if _, err := c.UploadWith(ctx, "t.dcd", strings.NewReader(partText), int64(len(partText)), UploadOptions{}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("cancelled while reading: got %v", err)
	}
}
