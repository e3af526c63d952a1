package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (k *clock) now() time.Time { k.at = k.at.Add(time.Second); return k.at }

func TestCacheRemovesTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	close(s.hold)
	c, now := s.open(3*fileBytes+fileBytes/2), &clock{at: time.Now()}
	c.room.now = now.now
	first, second, third, fourth := s.put("first", "1"), s.put("second", "2"), s.put("third", "3"), s.put("fourth", "4")
	s.use(c, first, "1")
	s.use(c, second, "2")
	s.use(c, third, "3")
	s.use(c, first, "1")
	s.use(c, fourth, "4")
	s.expectFiles(c, first, third, fourth)

	// What a running attempt uses stays, however old: its removal would free nothing.
	held, err := s.take(c, third)
	if err != nil {
		t.Fatal(err)
	}
	s.use(c, first, "1")
	s.use(c, fourth, "4")
	s.use(c, second, "2")
	s.expectFiles(c, second, third, fourth)
	heldToo := []string{}
	for _, o := range []engines.Object{second, fourth} {
		path, err := s.take(c, o)
		if err != nil {
			t.Fatal(err)
		}
		heldToo = append(heldToo, path)
	}
	if _, err := s.take(c, first); !errors.Is(err, errUncached) {
		t.Errorf("staged a fourth file with %v, want %v", err, errUncached)
	}
	s.expectFiles(c, second, third, fourth)
	for _, path := range append(heldToo, held) {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
	s.use(c, first, "1")
	s.expectFiles(c, first, second, fourth)
}

func TestCacheLeavesOutWhatItCannotTake(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	close(s.hold)
	c, o := s.open(fileBytes-1), s.put("large", "x")
	unknown, odd := o, o
	unknown.SHA256, odd.SHA256 = "", "../../../"+o.SHA256[9:]
	for _, left := range []engines.Object{o, unknown, odd} {
		if _, err := s.take(c, left); !errors.Is(err, errUncached) {
			t.Errorf("%+v: %v, want %v", left, err, errUncached)
		}
	}
	s.expectFiles(c)
}

func TestCacheForgetsWhatNobodyUses(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	close(s.hold)
	c, now := s.open(plentyRoom), &clock{at: time.Now()}
	c.room.now = now.now
	old, kept, added := s.put("old", "1"), s.put("kept", "2"), s.put("added", "3")
	s.use(c, old, "1")
	s.use(c, kept, "2")
	now.at = now.at.Add(cacheIdle)
	s.use(c, kept, "2")
	s.use(c, added, "3")
	s.expectFiles(c, kept, added)
}

// plentyRoom is a cache that nothing has to leave.
const plentyRoom = 1 << 30

// Whatever is wrong with a file, another process finds it at the first use, and fetches it anew.
func TestCacheFindsDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, path string) error{
		"other bytes": func(t *testing.T, path string) error {
			t.Helper()
			return rewrite(path, strings.Repeat("y", fileBytes))
		},
		"cut short": func(t *testing.T, path string) error { t.Helper(); return rewrite(path, "x") },
		"writable":  func(t *testing.T, path string) error { t.Helper(); return os.Chmod(path, 0o644) },
		"a link": func(t *testing.T, path string) error {
			t.Helper()
			target := filepath.Join(t.TempDir(), "target")
			return errors.Join(os.Rename(path, target), os.Symlink(target, path))
		},
		"a pipe": func(t *testing.T, path string) error {
			t.Helper()
			return errors.Join(os.Remove(path), unix.Mkfifo(path, cachedMode))
		},
		"a directory": func(t *testing.T, path string) error {
			t.Helper()
			return errors.Join(os.Remove(path), os.MkdirAll(path+"/in", 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			close(s.hold)
			o := s.put("receptor", "x")
			s.use(s.open(plentyRoom), o, "x")
			c := s.open(plentyRoom) // has counted before the damage
			if err := damage(t, filepath.Join(s.dir, "cache", "content", nameOf(o))); err != nil {
				t.Fatal(err)
			}
			s.use(c, o, "x")
			s.use(c, o, "x")
			if got := s.fetches("receptor"); got != 2 {
				t.Errorf("fetched %d times, want again once", got)
			}
			if !strings.Contains(s.logged.String(), "damaged") {
				t.Errorf("nothing is logged: %s", s.logged)
			}
			s.expectFiles(c, o)
		})
	}
}

// rewrite changes a read-only file in place.
func rewrite(path, content string) error {
	return errors.Join(os.Chmod(path, 0o644), os.WriteFile(path, []byte(content), 0o644), os.Chmod(path, cachedMode))
}

// A file that is changed after it was verified is verified again: its modification time tells.
func TestCacheNoticesALaterChange(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	close(s.hold)
	c, o := s.open(plentyRoom), s.put("receptor", "x")
	s.use(c, o, "x")
	path := filepath.Join(s.dir, "cache", "content", nameOf(o))
	if err := errors.Join(rewrite(path, strings.Repeat("y", fileBytes)),
		os.Chtimes(path, time.Time{}, time.Now().Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	s.use(c, o, "x")
	s.expectFiles(c, o)
}

// A crash leaves the ledger wrong or torn; the next process counts again.
func TestCacheCountsAgain(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	close(s.hold)
	o := s.put("receptor", "x")
	s.use(s.open(plentyRoom), o, "x")
	ledger := filepath.Join(s.dir, "cache", "held")
	for _, text := range []string{"", "1", "-5 2\n", "999999 7\n"} {
		if err := os.WriteFile(ledger, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.expectFiles(s.open(plentyRoom), o)
	}
}

// waiting tells how many attempts wait for a flight.
func (c *cache) waitingFor(o engines.Object) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.flights[o]; f != nil {
		return f.waiting
	}
	return 0
}

func (s *shelf) awaitWaiting(c *cache, o engines.Object, want int) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); c.waitingFor(o) != want; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("%d attempts wait, want %d", c.waitingFor(o), want)
		}
	}
}

func TestCacheFetchOutlivesTheFirstWhoWantedIt(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	c, o := s.open(plentyRoom), s.put("receptor", "x")
	first, cancelFirst := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var firstErr error
	all.Go(func() { firstErr = c.stage(first, s.behind, o, filepath.Join(s.dir, "first")) })
	<-s.reading
	for range 3 {
		all.Go(func() { s.use(c, o, "x") })
	}
	s.awaitWaiting(c, o, 4)
	cancelFirst()
	s.awaitWaiting(c, o, 3)
	close(s.hold)
	all.Wait()
	if !errors.Is(firstErr, context.Canceled) || s.fetches("receptor") != 1 {
		t.Errorf("the first ended with %v and %d fetches were made, want %v and one", firstErr, s.fetches("receptor"),
			context.Canceled)
	}
	s.expectFiles(c, o)
}

func TestCacheFetchEndsWithTheLastWhoWantedIt(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	c, o := s.open(plentyRoom), s.put("receptor", "x")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.stage(ctx, s.behind, o, filepath.Join(s.dir, "first")) }()
	<-s.reading
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v, want %v", err, context.Canceled)
	}
	s.expectFiles(c)
	if left, err := os.ReadDir(c.room.own.dir); err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v; want the lock alone", left, err)
	}
	close(s.hold)
	s.use(c, o, "x")
}

// An object that is missing fails those who want that object, and nobody who wants the same content under another key.
func TestCacheFailuresAreOfTheObject(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	close(s.hold)
	c, there := s.open(plentyRoom), s.put("there", "x")
	gone := there
	gone.StorageKey = "gone"
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { s.use(c, there, "x") })
		all.Go(func() {
			if _, err := s.take(c, gone); !errors.Is(err, object.ErrNotFound) {
				t.Errorf("staged with %v, want %v", err, object.ErrNotFound)
			}
		})
	}
	all.Wait()
}

// Several processes that want the same at the same time fetch it once.
func TestCacheFetchesOnceForManyProcesses(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	o := s.put("receptor", "x")
	var all sync.WaitGroup
	var caches []*cache
	for range 3 {
		caches = append(caches, s.open(plentyRoom))
	}
	for _, c := range caches {
		for range 3 {
			all.Go(func() { s.use(c, o, "x") })
		}
	}
	<-s.reading
	close(s.hold)
	all.Wait()
	fetched := int64(0)
	for _, c := range caches {
		fetched += c.counts.misses
	}
	if looked := s.fetches("receptor") - 1; fetched != 1 || looked != len(caches)-1 {
		t.Errorf("fetched %d times and looked at %d times, want once by one process and once by each other", fetched, looked)
	}
	s.expectFiles(caches[0], o)
}

// Whatever several processes do with a cache that is too small for it, they read what they asked for, the bound holds and the
// ledger is right.
func TestCacheHoldsUnderAnyUse(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	close(s.hold)
	var objects []engines.Object
	for i := range 6 {
		objects = append(objects, s.put(fmt.Sprint("object", i), fmt.Sprint(i)))
	}
	const files = 3
	rapid.Check(t, func(rt *rapid.T) {
		caches := []*cache{s.open(files * fileBytes), s.open(files * fileBytes)}
		plans := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, len(objects)-1), 1, 8), 1, 4).Draw(rt, "plans")
		var all sync.WaitGroup
		for i, plan := range plans {
			c := caches[i%len(caches)]
			all.Go(func() {
				for _, n := range plan {
					path, err := s.take(c, objects[n])
					content, readErr := os.ReadFile(path)
					if errors.Is(err, errUncached) {
						continue // all room is taken by what is coming
					}
					if err != nil || readErr != nil || string(content) != strings.Repeat(fmt.Sprint(n), fileBytes) {
						t.Errorf("object %d is %.10q, %v, %v", n, content, err, readErr)
					}
					_ = os.Remove(path) // found missing above
				}
			})
		}
		all.Wait()
		found := s.files()
		if held := caches[0].room.heldBytes(); len(found) > files || held != int64(len(found))*fileBytes {
			rt.Errorf("%d files are held and %d bytes counted, want at most %d files", len(found), held, files)
		}
		for _, c := range caches {
			c.close()
		}
	})
}
