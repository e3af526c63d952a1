package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
)

const (
	// maxCachedFiles bounds the files: looking at all of them, to choose which go, then takes a few milliseconds.
	maxCachedFiles = 4096
	// cachedFilesSlack is how many places are made free at once when all are taken, so that not every new file looks at all.
	cachedFilesSlack = maxCachedFiles / 16
	// cacheIdle is how long a file stays that nobody uses: its object may have been deleted long ago.
	cacheIdle = 7 * 24 * time.Hour
	// cacheSweepInterval is how often a process that fetches looks for idle files.
	cacheSweepInterval = time.Hour
	// cacheDiskShare is the part of the disk's free space that the cache leaves to everything else: one half.
	cacheDiskShare = 2
	// turnPoll is how often a process looks whether another has fetched what both want.
	turnPoll = 50 * time.Millisecond
)

// errNoRoom says that a file has no room: it is larger than the cache, or running attempts use what would have to go.
var errNoRoom = errors.New("no room in the cache")

// room is the directory of a cache, with its bound. Several processes share it:
//
//	content/<sha256>-<bytes>  whole files, read-only, last used at their access time
//	wrk_…/<n>-<bytes>         what a worker fetches or is about to; swept when the worker has died, as scratch is
//	held                      "<bytes> <files>" of both, changed under the lock on content/; too much after a crash, until
//	                          the next count
//	turns                     one byte a content, locked by who fetches or verifies it
//
// A file that a running attempt has a link to stays: its removal would free nothing.
type room struct {
	dir     string
	own     *scratch
	limit   int64 // bytes
	now     func() time.Time
	log     *slog.Logger
	mu      sync.Mutex
	trusted map[string]stamp // verified by this process, by name
	coming  int              // numbers what is fetched
	swept   time.Time
	evicted int64
}

// held is how much room is taken.
type held struct {
	bytes int64
	files int
}

// cachedFile is one file of content/.
type cachedFile struct {
	path     string
	byteSize int64
	used     time.Time
	pinned   bool // a running attempt has a link to it
}

// nameOf is the name of an object's content.
func nameOf(o engines.Object) string { return o.SHA256 + "-" + strconv.FormatInt(o.ByteSize, 10) }

// byteSizeIn reads the size that a name of this directory ends with.
func byteSizeIn(name string) (int64, bool) {
	_, size, ok := strings.Cut(name, "-")
	byteSize, err := strconv.ParseInt(size, 10, 64)
	return byteSize, ok && err == nil && byteSize >= 0
}

// openRoom makes or finds the directory, removes what dead workers were fetching and what has been idle, and counts the rest.
func openRoom(dir, workerID string, limitBytes int64, log *slog.Logger) (*room, error) {
	content := filepath.Join(dir, "content")
	if err := os.MkdirAll(content, 0o700); err != nil {
		return nil, err
	}
	own, err := openScratch(dir, workerID, log)
	if err != nil {
		return nil, err
	}
	r := &room{dir: dir, own: own, now: time.Now, log: log, trusted: map[string]stamp{}}
	var taken int64
	err = r.account(func(h *held) error {
		files, found, err := r.count()
		*h, taken = r.removeIdle(files, found), found.bytes
		return err
	})
	var disk unix.Statfs_t
	if err == nil {
		err = unix.Statfs(dir, &disk)
	}
	if err != nil {
		own.close()
		return nil, err
	}
	r.swept = r.now()
	r.limit = min(limitBytes, (int64(disk.Bavail)*disk.Frsize+taken)/cacheDiskShare)
	return r, nil
}

func (r *room) close() { r.own.close() }

func (r *room) content(name string) string { return filepath.Join(r.dir, "content", name) }

// account changes what is held, one at a time among all processes.
func (r *room) account(change func(*held) error) error {
	door, err := lockFile(filepath.Join(r.dir, "content"), unix.O_DIRECTORY, unix.LOCK_EX)
	if err != nil {
		return fmt.Errorf("lock the cache: %w", err)
	}
	defer door.Close()
	path := filepath.Join(r.dir, "held")
	var h held
	if text, err := os.ReadFile(path); err != nil || !h.read(string(text)) {
		if _, h, err = r.count(); err != nil {
			return err
		}
	}
	before := h
	err = change(&h)
	if h == before {
		return err
	}
	return errors.Join(err, os.WriteFile(path, fmt.Appendf(nil, "%d %d\n", h.bytes, h.files), 0o600))
}

// read takes what another process wrote; it may have been stopped in the middle.
func (h *held) read(text string) bool {
	_, err := fmt.Sscanf(text, "%d %d\n", &h.bytes, &h.files)
	return err == nil && h.bytes >= 0 && h.files >= 0
}

// heldBytes is what the cache takes now, of all processes.
func (r *room) heldBytes() (bytes int64) {
	if err := r.account(func(h *held) error { bytes = h.bytes; return nil }); err != nil {
		r.log.Warn("the cache cannot be counted", "error", err)
	}
	return bytes
}

// evictions is how many files this process has removed to make room.
func (r *room) evictions() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.evicted
}

// count looks at every file. The caller holds the lock.
func (r *room) count() ([]cachedFile, held, error) {
	var files []cachedFile
	var h held
	entries, err := os.ReadDir(filepath.Join(r.dir, "content"))
	if err != nil {
		return nil, h, err
	}
	for _, entry := range entries {
		path := r.content(entry.Name())
		byteSize, ok := byteSizeIn(entry.Name())
		var found unix.Stat_t
		if err := unix.Lstat(path, &found); err != nil || !ok || found.Mode&unix.S_IFMT != unix.S_IFREG {
			err = os.RemoveAll(path)
			r.log.Warn("removed from the cache what is not of it", "name", entry.Name(), "error", err)
			continue
		}
		files = append(files, cachedFile{path: path, byteSize: byteSize, used: time.Unix(found.Atim.Unix()),
			pinned: found.Nlink > 1})
		h.bytes, h.files = h.bytes+byteSize, h.files+1
	}
	coming, err := filepath.Glob(filepath.Join(r.dir, workerPrefix+"*", "*"))
	if err != nil {
		return nil, h, err
	}
	for _, path := range coming {
		if byteSize, ok := byteSizeIn(filepath.Base(path)); ok {
			h.bytes, h.files = h.bytes+byteSize, h.files+1
		}
	}
	return files, h, nil
}

// reserve makes room for a file that will come and returns where it is to be written. The caller goes on with keep or giveUp.
// Errors: errNoRoom.
func (r *room) reserve(byteSize int64) (path string, err error) {
	if byteSize > r.limit {
		return "", errNoRoom
	}
	r.mu.Lock()
	r.coming++
	path = filepath.Join(r.own.dir, fmt.Sprintf("%d-%d", r.coming, byteSize))
	sweep := r.now().Sub(r.swept) > cacheSweepInterval
	if sweep {
		r.swept = r.now()
	}
	r.mu.Unlock()
	return path, r.account(func(h *held) error {
		if sweep || h.bytes+byteSize > r.limit || h.files >= maxCachedFiles {
			if err := r.makeRoom(h, byteSize); err != nil {
				return err
			}
		}
		// Others count the room as taken from here on.
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		h.bytes, h.files = h.bytes+byteSize, h.files+1
		return nil
	})
}

// makeRoom removes what is idle and then the least recently used files, until one of byteSize fits. It removes no used file
// when that would not be enough. The caller holds the lock.
func (r *room) makeRoom(h *held, byteSize int64) error {
	files, found, err := r.count()
	if err != nil {
		return err
	}
	*h = r.removeIdle(files, found)
	files = slices.DeleteFunc(files, func(f cachedFile) bool { return f.pinned || r.idle(f) })
	slices.SortFunc(files, func(a, b cachedFile) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	mostFiles := maxCachedFiles - 1
	if h.files > mostFiles {
		mostFiles = maxCachedFiles - cachedFilesSlack
	}
	gone, left := 0, *h
	for ; gone < len(files) && (left.bytes+byteSize > r.limit || left.files > mostFiles); gone++ {
		left.bytes, left.files = left.bytes-files[gone].byteSize, left.files-1
	}
	if left.bytes+byteSize > r.limit || left.files >= maxCachedFiles {
		return errNoRoom
	}
	for _, file := range files[:gone] {
		*h = r.remove(file, *h)
	}
	return nil
}

func (r *room) idle(f cachedFile) bool { return !f.pinned && r.now().Sub(f.used) > cacheIdle }

// removeIdle removes what nobody has used for long, and forgets files that are not there any more. It returns what is left.
func (r *room) removeIdle(files []cachedFile, h held) held {
	there := map[string]bool{}
	for _, file := range files {
		there[filepath.Base(file.path)] = true
		if r.idle(file) {
			h = r.remove(file, h)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.trusted {
		if !there[name] {
			delete(r.trusted, name)
		}
	}
	return h
}

func (r *room) remove(file cachedFile, h held) held {
	if err := os.Remove(file.path); err != nil {
		r.log.Warn("file not removed from the cache", "error", err)
		return h
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.evicted++
	delete(r.trusted, filepath.Base(file.path))
	return held{bytes: h.bytes - file.byteSize, files: h.files - 1}
}

// giveUp returns the room of a file that did not come.
func (r *room) giveUp(coming string, byteSize int64) {
	err := r.account(func(h *held) error {
		h.bytes, h.files = max(h.bytes-byteSize, 0), max(h.files-1, 0)
		return os.Remove(coming)
	})
	if err != nil {
		r.log.Warn("what was fetched in vain is left in the cache", "error", err)
	}
}

// takeTurn waits until nobody else, in any process, fetches or verifies the content with this digest. A process that dies loses
// its turn.
func (r *room) takeTurn(ctx context.Context, digest string) (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(r.dir, "turns"), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	at, err := strconv.ParseInt(digest[:15], 16, 64) // two contents with the same beginning wait for each other, no more
	if err != nil {
		file.Close()
		return nil, err
	}
	for {
		lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart, Start: at, Len: 1}
		err := unix.FcntlFlock(file.Fd(), unix.F_OFD_SETLK, &lock)
		switch {
		case err == nil:
			return func() { file.Close() }, nil
		case ctx.Err() != nil:
			file.Close()
			return nil, ctx.Err()
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
			wait(ctx, turnPoll)
		case !errors.Is(err, unix.EINTR):
			file.Close()
			return nil, fmt.Errorf("wait for the turn: %w", err)
		}
	}
}
