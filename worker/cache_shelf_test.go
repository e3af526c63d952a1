package worker

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
)

// fileBytes is the size of every file of these tests.
const fileBytes = 1000

// shelf is a cache directory with a store behind it, whose reads are counted and may be held up.
type shelf struct {
	t       *testing.T
	dir     string
	objects *object.Store
	behind  *object.Store // counted
	log     *slog.Logger
	logged  *bytes.Buffer // by all caches; read it when they are idle

	mu      sync.Mutex
	fetched map[string]int // by key
	hold    chan struct{}  // reads wait for it
	reading chan struct{}  // gets one for every read that begins
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, dir: t.TempDir(), logged: &bytes.Buffer{}, fetched: map[string]int{}, hold: make(chan struct{}),
		reading: make(chan struct{}, 100_000)}
	s.log = slog.New(slog.NewTextHandler(s.logged, nil))
	var cfg object.Config
	s.objects, cfg = objecttest.New(t)
	endpoint, err := url.Parse(cfg.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	beyond := httputil.NewSingleHostReverseProxy(endpoint)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			s.mu.Lock()
			s.fetched[filepath.Base(r.URL.Path)]++
			s.mu.Unlock()
			s.reading <- struct{}{}
			select {
			case <-s.hold:
			case <-r.Context().Done():
				return
			}
		}
		beyond.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	cfg.Endpoint = server.URL
	if s.behind, err = object.New(cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

// open opens a cache as another process would.
func (s *shelf) open(limitBytes int64) *cache {
	s.t.Helper()
	c, err := openCache(filepath.Join(s.dir, "cache"), id.New(workerPrefix), limitBytes, true, s.log)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.close)
	return c
}

// put stores an object of fileBytes.
func (s *shelf) put(key, letter string) engines.Object {
	s.t.Helper()
	info, err := s.objects.Put(s.t.Context(), key, strings.NewReader(strings.Repeat(letter, fileBytes)), "text/plain", "")
	if err != nil {
		s.t.Fatal(err)
	}
	return engines.Object{StorageKey: key, SHA256: info.SHA256, ByteSize: info.ByteSize}
}

// take stages an object and returns where. It is used as long as the file is there.
func (s *shelf) take(c *cache, o engines.Object) (string, error) {
	path := filepath.Join(s.dir, id.New("taken_"))
	return path, c.stage(s.t.Context(), s.behind, o, path)
}

// use stages an object, checks it and lets go of it.
func (s *shelf) use(c *cache, o engines.Object, letter string) {
	s.t.Helper()
	path, err := s.take(c, o)
	if err != nil {
		s.t.Fatalf("stage %s: %v", o.StorageKey, err)
	}
	content, err := os.ReadFile(path)
	if err != nil || string(content) != strings.Repeat(letter, fileBytes) {
		s.t.Errorf("%s is %.10q, %v; want %s…", o.StorageKey, content, err, letter)
	}
	if err := os.Remove(path); err != nil {
		s.t.Error(err)
	}
}

func (s *shelf) fetches(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetched[key]
}

// files is what content/ holds, sorted.
func (s *shelf) files() []string {
	s.t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.dir, "cache", "content"))
	if err != nil {
		s.t.Fatal(err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// expectFiles wants content/ to hold just these objects, and the ledger to say so.
func (s *shelf) expectFiles(c *cache, want ...engines.Object) {
	s.t.Helper()
	names := []string{}
	for _, o := range want {
		names = append(names, nameOf(o))
	}
	slices.Sort(names)
	if got := s.files(); !slices.Equal(got, names) {
		s.t.Errorf("the cache holds %v, want %v", got, names)
	}
	if got := c.room.heldBytes(); got != int64(len(want))*fileBytes {
		s.t.Errorf("the cache counts %d bytes, want %d files of %d", got, len(want), fileBytes)
	}
}
