package worker_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// plentyBytes is a cache that nothing has to leave.
const plentyBytes = 1 << 30

// cached gives a worker a cache below the bench's scratch directory.
func (b *bench) cached(change func(*worker.Config)) func(*worker.Config) {
	return func(cfg *worker.Config) {
		cfg.CacheDir, cfg.CacheBytes = b.cacheDir(), plentyBytes
		if change != nil {
			change(cfg)
		}
	}
}

func (b *bench) cacheDir() string { return filepath.Join(b.scratch, "cache") }

// asked counts the requests for an object by their method.
type asked struct {
	mu     sync.Mutex
	counts map[string]int
}

func (a *asked) door(key string, next func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	a.counts = map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/"+key) {
			return false
		}
		a.mu.Lock()
		a.counts[r.Method]++
		a.mu.Unlock()
		return next != nil && next(w, r)
	}
}

func (a *asked) of(method string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[method]
}

// reading is an order whose program copies its one input and tells how many links that has.
func reading(o engines.Object) queue.WorkOrder {
	made := order(
		shellParams{
			Script: `stat -c '%h %a' in/shared; cat in/shared >out/copy; echo x 2>/dev/null >>in/shared; chmod 644 in/shared 2>/dev/null; true`, Outputs: []string{"copy"}})
	made.Inputs = []queue.ResolvedInput{{Name: "shared", Object: o}}
	return made
}

func (b *bench) expectCopy(o queue.WorkOrder, want string) queue.Event {
	b.t.Helper()
	event := b.ending(o)
	expectSuccess(b.t, event)
	if got := read(b.t, b.objects, event.Result.Artifacts[0].StorageKey); got != want {
		b.t.Errorf("%s read %q, want %q", o.Ref(), got, want)
	}
	if event.Usage.BytesIn != int64(len(want)) {
		b.t.Errorf("%s staged %d bytes, want %d, wherever they came from", o.Ref(), event.Usage.BytesIn, len(want))
	}
	return event
}

func TestCacheFetchesOnceForManyTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const content = "ATOM of a receptor\n"
	shared := b.put("receptor", content)
	var requests asked
	begun, release := make(chan struct{}), make(chan struct{})
	b.interposed(requests.door("receptor", func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && requests.of(http.MethodGet) == 1 {
			close(begun)
			<-release
		}
		return false
	}))
	w := b.hire(4, b.cached(nil))
	var orders []queue.WorkOrder
	for range 4 {
		orders = append(orders, reading(shared))
	}
	b.enqueue(orders...)
	<-begun
	for _, o := range orders {
		b.awaitPhase(w, o, queue.Waiting)
	}
	close(release)
	for _, o := range orders {
		log := read(t, b.objects, b.expectCopy(o, content).Logs[0].StorageKey)
		if links, mode, _ := strings.Cut(strings.TrimSpace(log), " "); links == "1" || mode != "444" {
			t.Errorf("the input has %s links and mode %s, want a read-only link to the one file", links, mode)
		}
	}
	if got := requests.of(http.MethodGet); got != 1 {
		t.Errorf("fetched %d times, want once", got)
	}
	// Another worker process reads the file once and asks the store only what the object is.
	w.leave()
	b.awaitLeft(w)
	b.hire(1, b.cached(nil))
	for range 2 {
		o := reading(shared)
		b.enqueue(o)
		b.expectCopy(o, content)
	}
	if gets := requests.of(http.MethodGet); gets != 2 {
		t.Errorf("asked for %d times, want once to fetch it and once to look", gets)
	}
}

// A digest that a submission states opens nobody else's file.
func TestCacheGivesNothingForADigestAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, b.cached(nil))
	secret := b.put("mine", "a secret ligand")
	first := reading(secret)
	b.enqueue(first)
	b.expectCopy(first, "a secret ligand")

	garbage := b.put(uploads+"theirs", "fifteen letters")
	garbage.SHA256 = secret.SHA256
	absent := secret
	absent.StorageKey = uploads + "never uploaded"
	for want, object := range map[string]engines.Object{"INPUT_MISMATCH": garbage, "INPUT_NOT_FOUND": absent} {
		o := reading(object)
		b.enqueue(o)
		expectFailure(t, b.ending(o), engines.UserInput, want)
	}

	// Whoever has the content as well gets it, and it is not stored twice.
	same := reading(b.put("theirs too", "a secret ligand"))
	b.enqueue(same)
	b.expectCopy(same, "a secret ligand")
	if files, err := os.ReadDir(filepath.Join(b.cacheDir(), "content")); err != nil || len(files) != 1 {
		t.Errorf("the cache holds %v, %v; want one file", files, err)
	}
}

// A task that was accepted runs although its object has been deleted since, as long as this process knows the object.
func TestCacheServesAnObjectThatIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, b.cached(nil))
	shared := b.put("receptor", "ATOM")
	for range 2 {
		o := reading(shared)
		b.enqueue(o)
		b.expectCopy(o, "ATOM")
		if err := b.objects.Delete(b.ctx, "receptor"); err != nil {
			t.Fatal(err)
		}
	}
}

// Nothing keeps a program from its input without a sandbox: it spoils a copy.
func TestCacheIsCopiedFromWithoutASandbox(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	direct, err := sandbox.New(t.Context(), sandbox.Config{Isolation: sandbox.Direct, Limits: sandbox.LimitsRlimits,
		Grace: killGrace})
	if err != nil {
		t.Fatal(err)
	}
	b.hire(1, b.cached(func(cfg *worker.Config) { cfg.Runner = direct }))
	shared := b.put("receptor", "ATOM")
	for range 2 {
		o := reading(shared) // which appends to its input after it has read it
		b.enqueue(o)
		if log := read(t, b.objects, b.expectCopy(o, "ATOM").Logs[0].StorageKey); !strings.HasPrefix(log, "1 ") {
			t.Errorf("links and mode %q, want one link", log)
		}
	}
}

// hireElsewhere starts a worker in a process of its own and returns how to kill it.
func (b *bench) hireElsewhere(d doomed) (kill func()) {
	b.t.Helper()
	setup, err := json.Marshal(d)
	if err != nil {
		b.t.Fatal(err)
	}
	child := exec.Command(os.Args[0])
	child.Env, child.Stderr = append(os.Environ(), doomedSetup+"="+string(setup)), os.Stderr
	if err := child.Start(); err != nil {
		b.t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = child.Process.Kill()
		_ = child.Wait() // it was killed
	})
	b.t.Cleanup(kill)
	return kill
}

func TestCacheOfAKilledWorkerIsSwept(t *testing.T) {
	t.Parallel()
	rdb, url, prefix := redistest.New(t)
	b := newBenchOn(t, rdb, prefix)
	b.sandboxed()
	content := strings.Repeat("ATOM\n", 1000)
	shared := b.put("receptor", content)
	half := make(chan struct{})
	var cut atomic.Bool
	b.interposed(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !cut.CompareAndSwap(false, true) {
			return false
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = io.WriteString(w, content[:len(content)/2])
		_ = http.NewResponseController(w).Flush()
		close(half)
		<-r.Context().Done()
		return true
	})
	o := reading(shared)
	b.enqueue(o)
	kill := b.hireElsewhere(doomed{RedisURL: url, Prefix: prefix, Scratch: b.scratch, CacheDir: b.cacheDir(),
		CacheBytes: plentyBytes})
	<-half
	kill()

	w := b.hire(1, b.cached(nil))
	o = attemptOf(o, o, 2)
	b.enqueue(o)
	b.expectCopy(o, content)
	left, err := filepath.Glob(filepath.Join(b.cacheDir(), "wrk_*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != w.ID() {
		t.Errorf("the cache has the workers' directories %v, %v; want that of %s", left, err, w.ID())
	}
}

func TestCacheIsSharedByProcesses(t *testing.T) {
	t.Parallel()
	rdb, url, prefix := redistest.New(t)
	b := newBenchOn(t, rdb, prefix)
	b.sandboxed()
	const fileBytes, limitBytes = 1000, 5000
	for range 2 {
		b.hireElsewhere(doomed{RedisURL: url, Prefix: prefix, Scratch: b.scratch, CacheDir: b.cacheDir(), CacheBytes: limitBytes})
	}
	b.hire(2, b.cached(func(cfg *worker.Config) { cfg.CacheBytes = limitBytes }))
	var orders []queue.WorkOrder
	contents := map[queue.Ref]string{}
	for i := range 32 {
		content := strings.Repeat(strconv.Itoa(i%8), fileBytes)
		o := reading(b.put(fmt.Sprint("receptor", i%8), content))
		orders, contents[o.Ref()] = append(orders, o), content
	}
	b.enqueue(orders...)
	for _, o := range orders {
		b.expectCopy(o, contents[o.Ref()])
	}
	files, err := os.ReadDir(filepath.Join(b.cacheDir(), "content"))
	if err != nil || len(files) == 0 || len(files) > limitBytes/fileBytes {
		t.Errorf("the cache holds %d files, %v; want at most %d", len(files), err, limitBytes/fileBytes)
	}
	ledger, err := os.ReadFile(filepath.Join(b.cacheDir(), "held"))
	if want := fmt.Sprintf("%d %d\n", len(files)*fileBytes, len(files)); err != nil || string(ledger) != want {
		t.Errorf("the cache counts %q, %v; want %q", ledger, err, want)
	}
}
