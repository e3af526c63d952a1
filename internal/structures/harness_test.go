package structures

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// site is a web server on loopback whose files a test lays out.
type site struct {
	url string

	mu    sync.Mutex
	files map[string]http.HandlerFunc
	asked []string // paths, in order
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{files: map[string]http.HandlerFunc{}}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path)
		answer := s.files[r.URL.Path]
		s.mu.Unlock()
		if answer == nil {
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(listening.Close)
	s.url = listening.URL
	return s
}

// serve lays a file out.
func (s *site) serve(path string, content []byte) {
	s.answer(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
}

// answer lets a function answer.
func (s *site) answer(path string, answer http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = answer
}

// requests counts what was asked for since the last call.
func (s *site) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.asked)
	s.asked = nil
	return n
}

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// bed is a library on stores of its own.
type bed struct {
	*Library
	t     *testing.T
	deps  Deps
	clock *clock
}

func open(t *testing.T, source, components string) *bed {
	t.Helper()
	objects, _ := objecttest.New(t)
	b := &bed{t: t, clock: &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	b.deps = Deps{DB: pgtest.New(t), Objects: objects, Source: source, Components: components, Log: slog.New(slog.DiscardHandler),
		Now: b.clock.time}
	b.again(source)
	return b
}

// again opens the library anew with another source, as a second process would.
func (b *bed) again(source string) {
	b.t.Helper()
	b.deps.Source = source
	var err error
	if b.Library, err = Open(b.deps); err != nil {
		b.t.Fatal(err)
	}
}

// stored reads a file of the object store.
func (b *bed) stored(key string) []byte {
	b.t.Helper()
	return readAll(b.t, b.objects, key)
}

func readAll(t *testing.T, objects *object.Store, key string) []byte {
	t.Helper()
	body, _, err := objects.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	_ = body.Close()
	return content
}

func testdata(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func zipped(t *testing.T, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
