package worker_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/object/objecttest"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// deadline bounds every wait of these tests; a healthy machine needs a fraction.
	deadline = 30 * time.Second
	// killGrace is short, so that a program which ignores SIGTERM does not hold the tests up.
	killGrace = 300 * time.Millisecond
)

func TestMain(m *testing.M) {
	flag.Parse()
	if setup := os.Getenv(doomedSetup); setup != "" {
		workUntilKilled(setup)
	}
	// These tests wait for heartbeats more than they compute.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(shared...); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared are the goroutines that live as long as the process: the servers that all tests use, the thread that forks, and the
// object store's idle connections.
var shared = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/molfabric/molfabric/internal/proc.fork"),
	goleak.IgnoreAnyFunction("github.com/molfabric/molfabric/internal/servers.(*server).wait"),
	goleak.IgnoreAnyFunction("os/exec.(*Cmd).writerDescriptor.func1"),
	goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
	goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
}

// shell is an engine whose program is what the shard says, as a shell script in the task's directory.
type shell struct{ id string }

// shellParams are the parameters of a shell shard.
type shellParams struct {
	Script  string
	Outputs []string // announced by Collect
	Explain string   // the failure that Explain tells, or none
	Collect string   // how Collect misbehaves
	Program string   // instead of sh
	Image   string   // digest of the image that must run it, or none
}

func (e shell) Spec() engines.Spec {
	return engines.Spec{ID: e.id, Title: "Shell", Hardware: "cpu"}
}

func (shell) Plan(engines.Request) ([]engines.Shard, error) { return nil, nil }

func params(shard engines.Shard) shellParams {
	var p shellParams
	if err := json.Unmarshal(shard.Params, &p); err != nil {
		panic(err)
	}
	return p
}

func (shell) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	p := params(shard)
	if p.Program != "" {
		return engines.Command{Argv: []string{p.Program}}, nil
	}
	return engines.Command{Argv: []string{"sh", "-c", p.Script}}, nil
}

func (shell) Image(shard engines.Shard) string { return params(shard).Image }

func (shell) Collect(shard engines.Shard, _ engines.Dir) (engines.Result, error) {
	p := params(shard)
	switch p.Collect {
	case "fail":
		return engines.Result{}, &engines.Failure{Class: engines.UserInput, Code: "LIGAND_UNREADABLE", Message: "no atoms"}
	case "error":
		return engines.Result{}, errors.New("open /secret/scratch/out/pose: no such file")
	case "panic":
		panic("index out of range")
	case "swell":
		return engines.Result{Summary: bytes.Repeat([]byte("1"), engines.MaxSummaryBytes+1)}, nil
	}
	result := engines.Result{Summary: json.RawMessage(`{"score":-9.1}`), Programs: map[string]string{"sh": "1"}}
	for _, name := range p.Outputs {
		result.Artifacts = append(result.Artifacts, engines.Artifact{Name: name, Role: engines.RoleResult, MediaType: "text/plain",
			Format: "txt"})
	}
	return result, nil
}

// Progress reads lines like "progress 0.25 docking".
func (shell) Progress(line string) (fraction float64, message string, ok bool) {
	if line == "progress panic" {
		panic("not a number")
	}
	_, err := fmt.Sscanf(line, "progress %f %s", &fraction, &message)
	return fraction, message, err == nil
}

func (shell) Explain(shard engines.Shard, _ engines.Dir, exitCode int, logTail string) *engines.Failure {
	if p := params(shard); p.Explain != "" {
		return &engines.Failure{Class: engines.UserInput, Code: p.Explain,
			Message: fmt.Sprintf("%d: %s", exitCode, strings.TrimSpace(logTail))}
	}
	return nil
}

// runner is the sandbox of all tests.
var runner = sync.OnceValues(func() (*sandbox.Runner, error) {
	return sandbox.New(context.Background(), sandbox.Config{Grace: killGrace})
})

// bench is the scheduler's side of a fleet, played by the test.
type bench struct {
	t       *testing.T
	ctx     context.Context // outlives the test's own, for its clean-up
	rdb     redis.UniversalClient
	queue   *queue.Queue
	objects *object.Store
	store   object.Config
	signer  *object.Store // of the permits of orders; objects, or the same store behind a door
	scratch string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	return newBenchOn(t, rdb, prefix)
}

// newPrivateBench has a Redis that may be flushed.
func newPrivateBench(t *testing.T) *bench {
	t.Helper()
	server, _ := redistest.Private(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { rdb.Close() })
	return newBenchOn(t, rdb, "")
}

func newBenchOn(t *testing.T, rdb redis.UniversalClient, prefix string) *bench {
	t.Helper()
	objects, store := objecttest.New(t)
	// Not t.TempDir: the sandbox's user must be able to enter it.
	return &bench{t: t, ctx: context.WithoutCancel(t.Context()), rdb: rdb, queue: queue.New(rdb, prefix), objects: objects,
		store: store, signer: objects,
		scratch: serverstest.Dir(t)}
}

// hired is a running worker.
type hired struct {
	*worker.Worker
	leave func()       // asks it to stop
	left  func() error // waits until it has
}

// sandboxed returns the sandbox, without which no test here tells anything.
func (b *bench) sandboxed() *sandbox.Runner {
	b.t.Helper()
	sandboxed, err := runner()
	if err != nil {
		if serverstest.Required() {
			b.t.Fatal(err)
		}
		b.t.Skip("SKIPPED: ", err)
	}
	return sandboxed
}

// hire starts a worker that offers the engines "shell" and "other" and has no key of the object store; change may change its
// configuration.
func (b *bench) hire(slots int, change func(*worker.Config)) hired {
	b.t.Helper()
	cfg := worker.Config{Queue: b.queue, Engines: engines.NewRegistry(shell{"shell"}, shell{"other"}), Runner: b.sandboxed(),
		Offered: []worker.Offer{{Engine: "shell", Hardware: "cpu", Programs: map[string]string{"sh": "1"}},
			{Engine: "other", Hardware: "cpu"}},
		Slots: slots, ScratchDir: b.scratch, Version: "test", Log: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&cfg)
	}
	w, err := worker.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	h := hired{Worker: w, leave: cancel, left: sync.OnceValue(func() error { return <-ended })}
	b.t.Cleanup(func() {
		cancel()
		b.awaitLeft(h)
	})
	return h
}

// awaitLeft waits until a worker that was asked to stop has done so, and acknowledges what it still reports.
func (b *bench) awaitLeft(h hired) {
	b.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := h.left(); err != nil {
			b.t.Error(err)
		}
	}()
	b.eventually("the worker has left", func() bool {
		b.acknowledge()
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

var needs = engines.Resources{CPUs: 1, MemoryBytes: 256 << 20, FileBytes: 16 << 20, Processes: 32, TimeLimit: time.Minute,
	MaxLogBytes: 1 << 20, ScratchBytes: 16 << 20}

// order makes a work order.
func order(p shellParams) queue.WorkOrder {
	encoded, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	o := queue.WorkOrder{TaskID: id.New("task_"), Attempt: 1, JobID: id.New("job_"), RequestID: "req_1", Engine: "shell",
		Queue: "cpu.shell", Shard: engines.Shard{Stage: "run", Name: "run-00001", Params: encoded, Needs: needs},
		CommittedAt: time.Now()}
	return attemptOf(o, o, 1)
}

// attemptOf is an order as an attempt of the task of another.
func attemptOf(task, o queue.WorkOrder, number int) queue.WorkOrder {
	o.TaskID, o.JobID, o.Attempt = task.TaskID, task.JobID, number
	o.OutputPrefix = fmt.Sprintf("jobs/%s/%s/%d/", o.JobID, o.TaskID, o.Attempt)
	return o
}

// untilTold is a script that goes on until tell is called for its order.
const untilTold = `while [ ! -e in/told ]; do sleep 0.02; done`

// tell ends the script untilTold of a running order.
func (b *bench) tell(o queue.WorkOrder) {
	b.t.Helper()
	found, err := filepath.Glob(filepath.Join(b.scratch, "*", o.Ref().String(), "in"))
	if err != nil || len(found) != 1 {
		b.t.Fatalf("directories of %s: %v, %v; want one", o.Ref(), found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], "told"), nil, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// enqueue hands orders over as the scheduler does, each with a claim and a permit where it has none.
func (b *bench) enqueue(orders ...queue.WorkOrder) {
	b.t.Helper()
	for _, o := range orders {
		if o.Claim.IsZero() {
			o.Claim = newClaim(b.t)
		}
		if o.Permit == nil {
			o.Permit = b.permit(o, time.Now())
		}
		if err := b.queue.Enqueue(b.t.Context(), o); err != nil {
			b.t.Fatal(err)
		}
	}
}

func newClaim(t *testing.T) queue.Claim {
	t.Helper()
	claim, err := queue.NewClaim(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// permit is the text of an order's permit, signed at a moment.
func (b *bench) permit(o queue.WorkOrder, at time.Time) []byte {
	b.t.Helper()
	grant := object.Grant{Prefix: o.OutputPrefix, MaxBytes: o.Shard.Needs.ScratchBytes}
	for _, input := range o.Inputs {
		grant.Reads = append(grant.Reads, input.Object.StorageKey)
	}
	if o.Reuse != nil {
		for _, made := range o.Reuse.Result.Artifacts {
			grant.Reads = append(grant.Reads, made.StorageKey)
		}
	}
	signed, err := b.signer.Permit(b.ctx, grant, at)
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := signed.Encode()
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// put stores an object and returns how a work order refers to it.
func (b *bench) put(key, content string) engines.Object {
	b.t.Helper()
	info, err := b.objects.Put(b.t.Context(), key, strings.NewReader(content), "text/plain", "")
	if err != nil {
		b.t.Fatal(err)
	}
	return engines.Object{StorageKey: key, SHA256: info.SHA256, ByteSize: info.ByteSize}
}

// events returns what lies in the stream, which nobody else reads.
func (b *bench) events() []queue.Delivery {
	b.t.Helper()
	got, err := b.queue.Receive(b.ctx, 1000, time.Millisecond)
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// acknowledge takes everything out of the stream, as the scheduler does after its commit.
func (b *bench) acknowledge() {
	b.t.Helper()
	if err := b.queue.Acknowledge(b.ctx, b.events()); err != nil {
		b.t.Fatal(err)
	}
}

// of returns an order's events of one kind, or those of its end for "".
func (b *bench) of(o queue.WorkOrder, kind queue.EventKind) []queue.Event {
	b.t.Helper()
	var out []queue.Event
	for _, d := range b.events() {
		if d.Ref == o.Ref() && (d.Kind == kind || (kind == "" && d.Kind != queue.Started && d.Kind != queue.Checkpointed)) {
			out = append(out, d.Event)
		}
	}
	return out
}

func (b *bench) eventually(what string, holds func() bool) {
	b.t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		if holds() {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	b.t.Fatalf("not within %s: %s; events: %s", deadline, what, b.describe())
}

// describe lists the stream for a failing test.
func (b *bench) describe() string {
	var out strings.Builder
	for _, d := range b.events() {
		fmt.Fprintf(&out, "\n%s %s %v", d.Kind, d.Ref, d.Failure)
	}
	return out.String()
}

// ending waits for the report of an order's end.
func (b *bench) ending(o queue.WorkOrder) queue.Event {
	b.t.Helper()
	b.eventually("an end of "+o.Ref().String(), func() bool { return len(b.of(o, "")) > 0 })
	return b.of(o, "")[0]
}

func (b *bench) awaitStart(o queue.WorkOrder) {
	b.t.Helper()
	b.eventually("the start of "+o.Ref().String(), func() bool { return len(b.of(o, queue.Started)) > 0 })
}

// heartbeat returns a worker's newest heartbeat; it is empty when there is none.
func (b *bench) heartbeat(w hired) queue.Heartbeat {
	b.t.Helper()
	all, err := b.queue.Workers(b.ctx)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, hb := range all {
		if hb.WorkerID == w.ID() {
			return hb
		}
	}
	return queue.Heartbeat{}
}

// held returns what a worker's newest heartbeat says of an order, or nil.
func (b *bench) held(w hired, o queue.WorkOrder) *queue.Held {
	b.t.Helper()
	for _, h := range b.heartbeat(w).Held {
		if h.Ref == o.Ref() {
			return &h
		}
	}
	return nil
}

func (b *bench) awaitPhase(w hired, o queue.WorkOrder, phase queue.Phase) {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%s is %s", o.Ref(), phase), func() bool {
		h := b.held(w, o)
		return h != nil && h.Phase == phase
	})
}
