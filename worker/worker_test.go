package worker_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// interposed is the bench's object store behind a door that may treat a request itself: it then returns true.
func (b *bench) interposed(door func(http.ResponseWriter, *http.Request) bool) {
	b.t.Helper()
	endpoint, err := url.Parse(b.store.Endpoint)
	if err != nil {
		b.t.Fatal(err)
	}
	beyond := httputil.NewSingleHostReverseProxy(endpoint)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !door(w, r) {
			beyond.ServeHTTP(w, r)
		}
	}))
	b.t.Cleanup(server.Close)
	cfg := b.store
	cfg.WorkerEndpoint = server.URL
	if b.signer, err = object.New(cfg); err != nil {
		b.t.Fatal(err)
	}
}

// written is the key that a request to the store is to write, "" for one that writes nothing. The request can be read again.
func written(r *http.Request) string {
	if r.Method != http.MethodPost {
		return ""
	}
	_, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	var read bytes.Buffer
	form := multipart.NewReader(io.TeeReader(r.Body, &read), params["boundary"])
	defer func() {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(&read, r.Body), r.Body}
	}()
	for {
		part, err := form.NextPart()
		if err != nil || part.FormName() == "file" {
			return ""
		}
		if part.FormName() == "key" {
			key, _ := io.ReadAll(part)
			return string(key)
		}
	}
}

func (b *bench) stop(o queue.WorkOrder) {
	b.t.Helper()
	if err := b.queue.StopAttempts(b.t.Context(), o.Ref()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) flush() {
	b.t.Helper()
	if err := b.rdb.FlushAll(b.t.Context()).Err(); err != nil {
		b.t.Fatal(err)
	}
}

func expectCancelled(t *testing.T, event queue.Event) {
	t.Helper()
	if event.Kind != queue.Cancelled || event.Result != nil || event.Failure != nil {
		t.Fatalf("ended as %s with %v, want %s", event.Kind, event.Failure, queue.Cancelled)
	}
}

func TestStopBeforeTheClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := order(shellParams{Script: "true"})
	b.stop(o)
	b.enqueue(o)
	b.hire(1, nil)
	event := b.ending(o)
	expectCancelled(t, event)
	if event.Usage != (queue.Usage{}) || len(b.of(o, queue.Started)) != 0 {
		t.Errorf("it ran: %+v", event.Usage)
	}
}

func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, nil)
	wide, waiting := order(shellParams{Script: untilTold}), order(shellParams{Script: "true"})
	wide.Shard.Needs.CPUs = 2
	b.enqueue(wide)
	b.awaitStart(wide)
	b.enqueue(waiting)
	b.awaitPhase(w, waiting, queue.Waiting)
	b.stop(waiting)
	event := b.ending(waiting)
	expectCancelled(t, event)
	if event.Usage != (queue.Usage{}) || len(b.of(waiting, queue.Started)) != 0 {
		t.Errorf("it ran: %+v", event.Usage)
	}
	b.tell(wide)
	expectSuccess(t, b.ending(wide))
}

func TestStopWhileStaging(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	asked, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	var first atomic.Bool
	b.interposed(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/slow") {
			return false
		}
		if first.CompareAndSwap(false, true) {
			close(asked)
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return true
	})
	b.hire(1, nil)
	o, next := order(shellParams{Script: "true"}), order(shellParams{Script: "true"})
	o.Inputs = []queue.ResolvedInput{{Name: "fast", Object: b.put("fast", "four")}, {Name: "slow", Object: b.put("slow", "x")}}
	b.enqueue(o)
	<-asked
	b.stop(o)
	event := b.ending(o)
	expectCancelled(t, event)
	if event.Usage.BytesIn != 4 || event.Usage.WallMs != 0 {
		t.Errorf("used %+v, want the 4 bytes staged and no time", event.Usage)
	}
	b.enqueue(next) // the slot is free again
	expectSuccess(t, b.ending(next))
}

func TestStopWhileRunning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	// A duration that no other process sleeps for marks this tree.
	marker := "36" + strconv.Itoa(os.Getpid()) + ".25"
	o := order(shellParams{Script: "echo so far; (sleep " + marker + " & sleep " + marker +
		") & i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done; sleep " + marker})
	b.enqueue(o)
	b.eventually("the process tree has grown", func() bool { return len(processes(t, marker)) >= 3 })
	b.stop(o)
	event := b.ending(o)
	expectCancelled(t, event)
	if event.Usage.CPUMicroseconds <= 0 || event.Usage.WallMs <= 0 || len(event.Logs) != 1 {
		t.Errorf("used %+v with %d logs, want metered use and its log", event.Usage, len(event.Logs))
	}
	if got := read(t, b.objects, event.Logs[0].StorageKey); !strings.Contains(got, "so far") {
		t.Errorf("log %q", got)
	}
	if left := processes(t, marker); len(left) != 0 {
		t.Errorf("processes %v are left", left)
	}
}

// processes lists those whose command line holds marker.
func processes(t *testing.T, marker string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range all {
		if line, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(line), "sleep\x00"+marker) {
			found = append(found, path)
		}
	}
	return found
}

func TestOrderDeliveredTwiceRunsOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, nil)
	o := order(shellParams{Script: untilTold})
	again := o
	again.Queue = "cpu.other" // where asynq does not know of the first
	delivered := func() {
		b.enqueue(again)
		b.eventually("the repetition is claimed and dropped", func() bool {
			depth, err := b.queue.Depth(again.Queue)
			if err != nil {
				t.Fatal(err)
			}
			return depth.Pending+depth.Active == 0
		})
	}
	b.enqueue(o)
	b.awaitStart(o)
	b.acknowledge()
	seq := b.heartbeat(w).Seq
	b.eventually("the worker has heard of it", func() bool { return b.heartbeat(w).Seq > seq+1 })
	delivered() // while it runs
	b.tell(o)
	expectSuccess(t, b.ending(o))
	b.awaitPhase(w, o, queue.Reporting)
	delivered() // while its end is not acknowledged
	if started, ended := len(b.of(o, queue.Started)), len(b.of(o, "")); started != 0 || ended != 1 {
		t.Errorf("started %d times more, ended %d times; want 0 and 1", started, ended)
	}
}

func TestReportsAreSentUntilAcknowledged(t *testing.T) {
	t.Parallel()
	b := newPrivateBench(t)
	w := b.hire(1, nil)
	o := order(shellParams{Script: "true"})
	b.enqueue(o)
	end := b.ending(o)

	// One of two is lost: it alone is sent again, as the same event.
	keys := b.rdb.Keys(t.Context(), "*events").Val()
	if err := b.rdb.XTrimMaxLen(t.Context(), keys[0], 1).Err(); err != nil {
		t.Fatal(err)
	}
	b.eventually("the start comes again", func() bool { return len(b.of(o, queue.Started)) > 0 })
	if events := b.events(); len(events) != 2 || events[0].ID != end.ID {
		t.Errorf("the stream holds %s; want the end, which was not lost, once and the start", b.describe())
	}
	// All is lost.
	b.flush()
	b.eventually("all comes again", func() bool { return len(b.events()) >= 2 })
	if again := b.of(o, ""); len(again) != 1 || again[0].ID != end.ID {
		t.Errorf("came again: %v, want the event %s", again, end.ID)
	}
	b.acknowledge()
	b.eventually("the worker lets go", func() bool { return b.held(w, o) == nil && b.heartbeat(w).WorkerID != "" })
	b.flush()
	// What a later order reports comes after whatever the flush makes the worker send again.
	next := order(shellParams{Script: "true"})
	b.enqueue(next)
	expectSuccess(t, b.ending(next))
	if n := len(b.of(o, "")) + len(b.of(o, queue.Started)); n != 0 {
		t.Errorf("%d acknowledged events were sent again", n)
	}
}

func TestDrainLetsARunningAttemptFinish(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, nil)
	running, waiting, late := order(shellParams{Script: untilTold}), order(shellParams{Script: "true"}),
		order(shellParams{Script: "true"})
	running.Shard.Needs.CPUs = 2
	b.enqueue(running)
	b.awaitStart(running)
	b.enqueue(waiting)
	b.awaitPhase(w, waiting, queue.Waiting)
	w.leave()
	// What has not started is given back at once.
	expectFailure(t, b.ending(waiting), engines.System, "WORKER_DRAINED")
	if !b.ending(waiting).GivenBack {
		t.Error("what has not started counts as an attempt")
	}
	b.eventually("the worker says that it drains", func() bool { return b.heartbeat(w).Draining })
	b.enqueue(late)
	b.tell(running)
	expectSuccess(t, b.ending(running))
	b.awaitLeft(w)
	if stillThere, err := b.queue.Waiting(late.Queue, late.Ref()); err != nil || !stillThere {
		t.Errorf("an order was claimed while the worker drained, %v", err)
	}
	if hb := b.heartbeat(w); hb.WorkerID != "" {
		t.Error("the worker is still in the fleet")
	}
	if left, err := os.ReadDir(b.scratch); err != nil || len(left) != 0 {
		t.Errorf("left in the scratch directory: %v, %v", left, err)
	}
}

func TestDrainGivesBackWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(1, func(cfg *worker.Config) { cfg.DrainGrace = 50 * time.Millisecond })
	o := order(shellParams{Script: "sleep 600"})
	b.enqueue(o)
	b.awaitStart(o)
	w.leave()
	event := b.ending(o)
	expectFailure(t, event, engines.System, "WORKER_DRAINED")
	if event.Usage.WallMs <= 0 || event.GivenBack {
		t.Errorf("used %+v, given back: %v; want its time, as an attempt", event.Usage, event.GivenBack)
	}
	b.awaitLeft(w)
}

func TestOutputsOutliveAShortOutageOfTheStore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var refused atomic.Int32
	b.interposed(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(written(r), "/pose") || refused.Add(1) > 4 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	b.hire(1, nil)
	o := order(shellParams{Script: "echo pose >out/pose", Outputs: []string{"pose"}})
	b.enqueue(o)
	event := b.ending(o)
	expectSuccess(t, event)
	expectStored(t, b.objects, event.Result.Artifacts[0], o.OutputPrefix+"pose", "pose\n")
}

func TestOutputsThatCannotBeStoredAreNoSuccess(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.interposed(func(w http.ResponseWriter, r *http.Request) bool {
		if written(r) != "" {
			w.WriteHeader(http.StatusBadRequest)
			return true
		}
		return false
	})
	b.hire(1, nil)
	o := order(shellParams{Script: "echo pose >out/pose", Outputs: []string{"pose"}})
	b.enqueue(o)
	event := b.ending(o)
	expectFailure(t, event, engines.System, "STORE_UNAVAILABLE")
	if event.Usage.WallMs <= 0 || event.Usage.BytesOut != 0 || len(event.Logs) != 0 {
		t.Errorf("used %+v with %d logs", event.Usage, len(event.Logs))
	}
}

func TestStartSweepsTheScratchOfTheDead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"wrk_dead/task_1.1/out", "wrk_living/task_2.1/out", "keep/out"} {
		if err := os.MkdirAll(filepath.Join(b.scratch, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"wrk_dead/lock", "wrk_living/lock", "file"} {
		if err := os.WriteFile(filepath.Join(b.scratch, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	living, err := os.Open(filepath.Join(b.scratch, "wrk_living/lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	if err := unix.Flock(int(living.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	w, second := b.hire(1, nil), b.hire(1, nil)
	for name, want := range map[string]bool{"wrk_dead": false, "wrk_living/task_2.1/out": true, "keep/out": true, "file": true,
		w.ID(): true, second.ID(): true} {
		if _, err := os.Stat(filepath.Join(b.scratch, name)); errors.Is(err, os.ErrNotExist) == want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}
	if _, err := os.Stat(filepath.Join(b.scratch, "keep/lock")); err == nil {
		t.Error("something was written to a directory that is no worker's")
	}
}

func TestNewAndRunRefuseWhatCannotWork(t *testing.T) {
	t.Parallel()
	away := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { away.Close() })
	sandboxed, err := sandbox.New(t.Context(), sandbox.Config{Isolation: sandbox.Direct, Limits: sandbox.LimitsRlimits})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	good := worker.Config{Queue: queue.New(away, ""), Engines: engines.NewRegistry(shell{"shell"}), Runner: sandboxed,
		Offered: []worker.Offer{{Engine: "shell", Hardware: "cpu"}}, Slots: 1, ScratchDir: dir, Log: slog.New(slog.DiscardHandler)}
	for name, spoil := range map[string]func(*worker.Config){
		"no engine":         func(c *worker.Config) { c.Offered = nil },
		"no slot":           func(c *worker.Config) { c.Slots = 0 },
		"no scratch to use": func(c *worker.Config) { c.ScratchDir = filepath.Join(dir, "file", "scratch") },
	} {
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cfg := good
		spoil(&cfg)
		if _, err := worker.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	w, err := worker.New(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(t.Context()); err == nil {
		t.Error("a worker without a Redis runs")
	}
	if _, err := os.Stat(filepath.Join(dir, w.ID())); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its scratch is left: %v", err)
	}
}
