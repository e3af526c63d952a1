package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"sync"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// maxProven bounds how many objects a process remembers as proven; when it forgets them, the store is asked once more.
const maxProven = 20_000

// errUncached says that an input does not go through the cache and is fetched for its attempt alone.
var errUncached = errors.New("not kept in the cache")

var sha256Hex = regexp.MustCompile(`^[0-9a-f]{64}$`)

// cache keeps inputs that attempts share on this machine, so that a receptor or a database is fetched once and not for every
// task. An attempt gets a hard link to the one read-only file, or a copy where its program could write to it. Several worker
// processes may share one directory.
//
// Files are found by their SHA-256 and size, and a file is handed out only as the content of an object that has been proven to
// have that digest: this process fetched the object, or the store told the digest that it computed itself. A digest alone
// therefore opens nobody's file, although a submission may state any. What remains is the time: who has a file already can tell
// by the speed whether somebody else used it on this machine.
//
// An object is proven once in the life of a process. A task that was accepted before its object was deleted may so still run;
// it gets the very bytes that were agreed. The file itself goes when nobody has used it for cacheIdle.
//
// Its methods may be called concurrently.
type cache struct {
	room *room
	link bool // no program can write to what it is given, so links are safe
	log  *slog.Logger

	mu      sync.Mutex
	proven  map[engines.Object]bool
	flights map[engines.Object]*flight
	counts  cacheCounts
}

// cacheCounts are what one process did with inputs that went through the cache.
type cacheCounts struct {
	hits         int64 // staged without a transfer of their own
	misses       int64 // fetched
	uncached     int64 // left to the attempt: larger than the cache, or all of it in use
	fetchedBytes int64
}

// flight is one fetch of one object, for all attempts that wait for it. It goes on as long as one of them does.
type flight struct {
	wanted  engines.Object
	from    object.Getter // of who began it
	ctx     context.Context
	cancel  context.CancelFunc
	waiting int           // guarded by cache.mu
	done    chan struct{} // closed when file and err are set
	file    *os.File      // the content, open until the last waiter has left
	err     error
}

// openCache opens the cache of a worker process below dir. limitBytes bounds what it holds; it takes less where the disk is
// nearly full.
func openCache(dir, workerID string, limitBytes int64, link bool, log *slog.Logger) (*cache, error) {
	room, err := openRoom(dir, workerID, limitBytes, log)
	if err != nil {
		return nil, fmt.Errorf("open the cache of inputs: %w", err)
	}
	return &cache{room: room, link: link, log: log,
		proven: map[engines.Object]bool{}, flights: map[engines.Object]*flight{}}, nil
}

// openCache opens the cache that a configuration asks for, or none.
func (cfg Config) openCache(workerID string) (*cache, error) {
	if cfg.CacheBytes <= 0 {
		return nil, nil
	}
	link := cfg.Runner.Describe().Isolation != sandbox.Direct
	return openCache(cfg.CacheDir, workerID, cfg.CacheBytes, link, cfg.Log)
}

// close removes what this process was fetching; the files stay for the next. No attempt may be staging any more.
func (c *cache) close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	counts := c.counts
	c.mu.Unlock()
	c.log.Info("cache of inputs", "hits", counts.hits, "misses", counts.misses, "uncached", counts.uncached,
		"fetched_bytes", counts.fetchedBytes, "held_bytes", c.room.heldBytes(), "evicted", c.room.evictions())
	c.room.close()
}

// stage puts an object's content at path and replaces what is there. from is where the caller may read the object. While another
// attempt fetches the same object it waits for that. Errors: errUncached when the caller has to fetch the object itself; otherwise
// as object.GetFile.
func (c *cache) stage(ctx context.Context, from object.Getter, wanted engines.Object, path string) error {
	if !sha256Hex.MatchString(wanted.SHA256) || wanted.ByteSize < 0 {
		return errUncached
	}
	if file := c.known(wanted); file != nil {
		defer file.Close()
		return c.place(file, path)
	}
	f, mine := c.join(from, wanted)
	defer c.leave(f)
	select {
	case <-f.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !mine && errors.Is(f.err, object.ErrRefused) {
		return errUncached // another attempt's permit, which nobody renews when that attempt has ended
	}
	if f.err != nil {
		return f.err
	}
	return c.place(f.file, path)
}

func (c *cache) place(file *os.File, path string) error {
	if err := place(file, path, c.link); err != nil {
		c.log.Warn("input not taken from the cache", "error", err)
		return errUncached
	}
	return nil
}

// known returns the content of a proven object that this process has verified already, or nil.
func (c *cache) known(wanted engines.Object) *os.File {
	c.mu.Lock()
	proven := c.proven[wanted]
	c.mu.Unlock()
	if !proven {
		return nil
	}
	file := c.room.trustedFile(nameOf(wanted))
	if file != nil {
		c.count(func(n *cacheCounts) { n.hits++ })
	}
	return file
}

// join takes part in the flight for an object and begins one when there is none, which is then the caller's. The caller leaves it.
func (c *cache) join(from object.Getter, wanted engines.Object) (f *flight, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f = c.flights[wanted]
	if mine = f == nil; !mine {
		c.counts.hits++
	} else {
		f = &flight{wanted: wanted, from: from, done: make(chan struct{})}
		// Of nobody's attempt: the first may be cancelled while others wait.
		f.ctx, f.cancel = context.WithCancel(context.Background())
		c.flights[wanted] = f
		go c.fly(f)
	}
	f.waiting++
	return f, mine
}

// leave ends the flight with its last waiter. It returns when nothing of it runs any more.
func (c *cache) leave(f *flight) {
	c.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	if last && c.flights[f.wanted] == f {
		delete(c.flights, f.wanted)
	}
	c.mu.Unlock()
	if !last {
		return
	}
	f.cancel()
	<-f.done
	if f.file != nil {
		f.file.Close()
	}
}

func (c *cache) fly(f *flight) {
	defer close(f.done)
	f.file, f.err = c.find(f.ctx, f.from, f.wanted)
	if f.err != nil && !ofStore(f.err) && f.ctx.Err() == nil {
		if !errors.Is(f.err, errNoRoom) {
			c.log.Warn("the cache of inputs cannot be used", "error", f.err)
		}
		f.err = errUncached
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(f.err, errUncached) {
		c.counts.uncached++
	}
	if c.flights[f.wanted] == f {
		delete(c.flights, f.wanted)
	}
}

// ofStore reports whether an error says something about the object or the store, so that trying without the cache is of no use.
func ofStore(err error) bool {
	var mismatch *object.MismatchError
	return errors.As(err, &mismatch) || errors.Is(err, object.ErrNotFound) || errors.Is(err, object.ErrUnavailable) ||
		errors.Is(err, object.ErrRefused)
}

// find returns the content of an object, from the directory or from the store. Of all that want this content, in whatever process
// and under whatever key, one is here at a time.
func (c *cache) find(ctx context.Context, from object.Getter, wanted engines.Object) (*os.File, error) {
	name := nameOf(wanted)
	release, err := c.room.takeTurn(ctx, wanted.SHA256)
	if err != nil {
		return nil, err
	}
	defer release()
	file, err := c.room.open(ctx, name)
	if err != nil {
		return nil, err
	}
	if file == nil {
		if file, err = c.fetch(ctx, from, wanted); err != nil {
			return nil, err
		}
		c.count(func(n *cacheCounts) { n.misses++; n.fetchedBytes += wanted.ByteSize })
	} else {
		if err := c.prove(ctx, from, wanted); err != nil {
			file.Close()
			return nil, err
		}
		c.count(func(n *cacheCounts) { n.hits++ })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.proven) >= maxProven {
		clear(c.proven)
	}
	c.proven[wanted] = true
	return file, nil
}

// fetch brings an object into the directory.
func (c *cache) fetch(ctx context.Context, from object.Getter, wanted engines.Object) (*os.File, error) {
	coming, err := c.room.reserve(wanted.ByteSize)
	if err != nil {
		return nil, err
	}
	err = retryStore(ctx, func() error {
		_, err := object.GetFile(ctx, from, wanted.StorageKey, coming, wanted.SHA256, wanted.ByteSize)
		return err
	})
	if err != nil {
		c.room.giveUp(coming, wanted.ByteSize)
		return nil, err
	}
	return c.room.keep(coming, nameOf(wanted))
}

// prove makes sure that an object has the digest and size that it is said to have, without storing it: its content is here, but
// perhaps for another account, and the digest may be no more than what a submission states. A store that has no digest of the
// whole object, as of one uploaded in parts, is read. Errors: object.ErrNotFound, *object.MismatchError, object.ErrUnavailable,
// object.ErrRefused.
func (c *cache) prove(ctx context.Context, from object.Getter, wanted engines.Object) error {
	c.mu.Lock()
	proven := c.proven[wanted]
	c.mu.Unlock()
	if proven {
		return nil
	}
	var info object.Info
	err := retryStore(ctx, func() (err error) {
		info, err = look(ctx, from, wanted)
		return err
	})
	if err == nil && (info.ByteSize != wanted.ByteSize || info.SHA256 != wanted.SHA256) {
		err = &object.MismatchError{Key: wanted.StorageKey, WantSHA256: wanted.SHA256, GotSHA256: info.SHA256,
			WantByteSize: wanted.ByteSize, GotByteSize: info.ByteSize}
	}
	return err
}

// look asks the store what an object is. A permit to read it allows no other question, so the answer is not read to its end but
// where the digest must be computed.
func look(ctx context.Context, from object.Getter, wanted engines.Object) (object.Info, error) {
	body, info, err := from.Get(ctx, wanted.StorageKey)
	if err != nil {
		return object.Info{}, err
	}
	defer func() { _ = body.Close() }() // read to its end, or given up
	if info.SHA256 != "" || info.ByteSize != wanted.ByteSize {
		return info, nil
	}
	return object.Measure(body, info)
}

func (c *cache) count(change func(*cacheCounts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.counts)
}
