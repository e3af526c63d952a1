package queue_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
)

// deadline bounds every wait of these tests; a healthy machine needs a fraction.
const deadline = 20 * time.Second

const vinaQueue = "cpu.autodock-vina"

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	code := m.Run()
	if code == 0 {
		// The shared server lives as long as the process.
		err := goleak.Find(goleak.IgnoreAnyFunction("github.com/molfabric/molfabric/internal/proc.fork"),
			goleak.IgnoreAnyFunction("github.com/molfabric/molfabric/internal/servers.(*server).wait"),
			goleak.IgnoreAnyFunction("os/exec.(*Cmd).writerDescriptor.func1"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func newQueue(t *testing.T) *queue.Queue {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	return queue.New(rdb, prefix)
}

// private returns a queue in a Redis that the test may flush.
func private(t *testing.T) (*queue.Queue, *redis.Client) {
	t.Helper()
	server, _ := redistest.Private(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { rdb.Close() })
	return queue.New(rdb, ""), rdb
}

// asynqName is what asynq calls the queue of these tests.
func asynqName(prefix string) string {
	return strings.ReplaceAll(prefix, ":", ".") + "claimed." + vinaQueue
}

func newOrder() queue.WorkOrder {
	order := queue.WorkOrder{TaskID: id.New("task_"), Attempt: 1, JobID: id.New("job_"), Queue: vinaQueue, Engine: "autodock-vina",
		Shard: engines.Shard{Name: "dock-00001", Needs: engines.Resources{CPUs: 1, TimeLimit: time.Minute}}}
	order.OutputPrefix = "jobs/" + order.JobID + "/" + order.TaskID + "/1/"
	return order
}

func enqueue(t *testing.T, q *queue.Queue, orders ...queue.WorkOrder) {
	t.Helper()
	for _, order := range orders {
		if err := q.Enqueue(t.Context(), order); err != nil {
			t.Fatal(err)
		}
	}
}

// claimed is a consumer that keeps every order it claims until the test ends.
func claimed(t *testing.T, q *queue.Queue, slots int) <-chan queue.WorkOrder {
	t.Helper()
	orders, release := make(chan queue.WorkOrder, 100), make(chan struct{})
	consumer, err := q.Consume([]string{vinaQueue}, slots, 10*time.Millisecond, slog.New(slog.DiscardHandler),
		func(order queue.WorkOrder) {
			orders <- order
			<-release
		})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		consumer.Stop()
		close(release)
		consumer.Close()
	})
	return orders
}

func receive(t *testing.T, orders <-chan queue.WorkOrder) queue.WorkOrder {
	t.Helper()
	select {
	case order := <-orders:
		return order
	case <-time.After(deadline):
		t.Fatal("no order was claimed")
		panic("unreachable")
	}
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); time.Now().Before(end); {
		if holds() {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	t.Fatalf("not within %s: %s", deadline, what)
}

func expectDepth(t *testing.T, q *queue.Queue, pending, active int) {
	t.Helper()
	got, err := q.Depth(vinaQueue)
	if err != nil || got.Pending != pending || got.Active != active {
		t.Errorf("depth %+v, %v; want %d pending and %d active", got, err, pending, active)
	}
}

func expectWaiting(t *testing.T, q *queue.Queue, ref queue.Ref, want bool) {
	t.Helper()
	if got, err := q.Waiting(vinaQueue, ref); err != nil || got != want {
		t.Errorf("waiting(%s) = %v, %v; want %v", ref, got, err, want)
	}
}

func expectRemoved(t *testing.T, q *queue.Queue, ref queue.Ref, want bool) {
	t.Helper()
	if got, err := q.Remove(vinaQueue, ref); err != nil || got != want {
		t.Errorf("remove(%s) = %v, %v; want %v", ref, got, err, want)
	}
}

func TestEnqueueTwiceIsOne(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	order := newOrder()
	enqueue(t, q, order, order)
	expectDepth(t, q, 1, 0)
	order.Attempt++ // another attempt is another entry
	enqueue(t, q, order)
	expectDepth(t, q, 2, 0)
}

func TestAnAttemptIsWaitingThenActiveThenGone(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	order := newOrder()
	ref := order.Ref()
	// A queue that has never had a task is an empty queue.
	expectDepth(t, q, 0, 0)
	expectWaiting(t, q, ref, false)
	expectRemoved(t, q, ref, false)

	enqueue(t, q, order)
	expectWaiting(t, q, ref, true)
	expectWaiting(t, q, queue.Ref{TaskID: ref.TaskID, Attempt: 2}, false)
	expectRemoved(t, q, ref, true)
	expectRemoved(t, q, ref, false)
	expectWaiting(t, q, ref, false)
	expectDepth(t, q, 0, 0)

	orders := claimed(t, q, 1)
	enqueue(t, q, order)
	got := receive(t, orders)
	if got.Ref() != ref || got.JobID != order.JobID || got.Shard.Needs != order.Shard.Needs {
		t.Errorf("claimed %+v, want %+v", got, order)
	}
	expectWaiting(t, q, ref, false)
	expectRemoved(t, q, ref, false)
	expectDepth(t, q, 0, 1)
}

func TestClaimsAtMostSlots(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	orders := claimed(t, q, 2)
	enqueue(t, q, newOrder(), newOrder(), newOrder())
	receive(t, orders)
	receive(t, orders)
	expectDepth(t, q, 1, 2)
	got, err := q.Depth(vinaQueue)
	if err != nil || got.OldestAge <= 0 {
		t.Errorf("the oldest waiting order has the age %s, %v; want more than 0", got.OldestAge, err)
	}
}

func TestStopClaimsNothingMore(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	handled := 0
	consumer, err := q.Consume([]string{vinaQueue}, 1, 10*time.Millisecond, slog.New(slog.DiscardHandler),
		func(queue.WorkOrder) { handled++ })
	if err != nil {
		t.Fatal(err)
	}
	consumer.Stop()
	enqueue(t, q, newOrder())
	consumer.Close()
	if expectDepth(t, q, 1, 0); handled != 0 {
		t.Errorf("%d orders were handled after Stop", handled)
	}
}

// TestWaitingIsKnownAfterAFlush guards against asynq's memory of the queues that it has listed, which outlives a flush: an
// attempt that waits must not look lost, or a full queue would be handed out again and again.
func TestWaitingIsKnownAfterAFlush(t *testing.T) {
	t.Parallel()
	q, rdb := private(t)
	before, after := newOrder(), newOrder()
	enqueue(t, q, before)
	expectDepth(t, q, 1, 0)
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	expectWaiting(t, q, before.Ref(), false)
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	enqueue(t, q, after)
	expectDepth(t, q, 1, 0)
	if err := rdb.Del(t.Context(), "asynq:queues").Err(); err != nil {
		t.Fatal(err)
	}
	expectWaiting(t, q, after.Ref(), true)
	if err := rdb.Del(t.Context(), "asynq:queues").Err(); err != nil {
		t.Fatal(err)
	}
	expectRemoved(t, q, after.Ref(), true)
}

func TestSweep(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	q := queue.New(rdb, prefix)
	if err := q.Sweep("cpu.never-used"); err != nil {
		t.Errorf("sweep of a queue that has never had a task: %v", err)
	}
	kept, lost := newOrder(), newOrder()
	enqueue(t, q, kept, lost)
	// What asynq itself does with an attempt whose worker has died.
	inspector := asynq.NewInspectorFromRedisClient(rdb)
	if err := inspector.ArchiveTask(asynqName(prefix), lost.Ref().String()); err != nil {
		t.Fatal(err)
	}
	if err := q.Sweep(vinaQueue); err != nil {
		t.Fatal(err)
	}
	if left, err := inspector.ListArchivedTasks(asynqName(prefix)); err != nil || len(left) != 0 {
		t.Errorf("%d archived tasks left, %v", len(left), err)
	}
	expectWaiting(t, q, kept.Ref(), true)
}

func TestUnreadableOrderIsDropped(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	q := queue.New(rdb, prefix)
	client := asynq.NewClientFromRedisClient(rdb)
	broken := asynq.NewTask("molfabric:task", []byte("{not json"))
	if _, err := client.EnqueueContext(t.Context(), broken, asynq.Queue(asynqName(prefix)), asynq.MaxRetry(0)); err != nil {
		t.Fatal(err)
	}
	good := newOrder()
	enqueue(t, q, good)
	if got := receive(t, claimed(t, q, 1)); got.Ref() != good.Ref() {
		t.Errorf("claimed %s, want %s", got.Ref(), good.Ref())
	}
	expectDepth(t, q, 0, 1)
}

func TestPrefixesKeepDeploymentsApart(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	ours, theirs := queue.New(rdb, prefix+"a:"), queue.New(rdb, prefix+"b:")
	ctx := t.Context()
	order := newOrder()
	enqueue(t, ours, order)
	expectDepth(t, theirs, 0, 0)
	expectWaiting(t, theirs, order.Ref(), false)
	if _, err := ours.Report(ctx, []queue.Event{{ID: id.New("evt_"), WorkerID: "wrk_1"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := theirs.Receive(ctx, 10, time.Millisecond); err != nil || len(got) != 0 {
		t.Errorf("received %d events of another deployment, %v", len(got), err)
	}
	if _, err := ours.Beat(ctx, queue.Heartbeat{WorkerID: "wrk_1"}); err != nil {
		t.Fatal(err)
	}
	if got, err := theirs.Workers(ctx); err != nil || len(got) != 0 {
		t.Errorf("sees %d workers of another deployment, %v", len(got), err)
	}
	if err := ours.StopAttempts(ctx, order.Ref()); err != nil {
		t.Fatal(err)
	}
	if stopped, err := theirs.Stopped(ctx, order.Ref()); err != nil || stopped {
		t.Errorf("stopped by another deployment: %v, %v", stopped, err)
	}
	if err := ours.Mark(ctx, "epoch"); err != nil {
		t.Fatal(err)
	}
	if same, err := theirs.IsMarked(ctx, "epoch"); err != nil || same {
		t.Errorf("marked by another deployment: %v, %v", same, err)
	}
}

func TestMarkDisappearsWithTheData(t *testing.T) {
	t.Parallel()
	q, rdb := private(t)
	ctx := t.Context()
	marked := func(mark string, want bool) {
		t.Helper()
		if got, err := q.IsMarked(ctx, mark); err != nil || got != want {
			t.Errorf("marked(%s) = %v, %v; want %v", mark, got, err, want)
		}
	}
	marked("one", false)
	for _, mark := range []string{"one", "two"} {
		if err := q.Mark(ctx, mark); err != nil {
			t.Fatal(err)
		}
		marked(mark, true)
	}
	marked("one", false)
	if err := rdb.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	marked("two", false)
}

func TestWakes(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ctx, cancel := context.WithCancel(t.Context())
	woken, done := make(chan struct{}, 1000), make(chan struct{})
	go func() {
		defer close(done)
		q.Wakes(ctx, func() { woken <- struct{}{} })
	}()
	eventually(t, "a wake-up arrives", func() bool {
		if err := q.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(woken) > 0
	})
	cancel()
	<-done
}

func TestPollInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workers int
		want    time.Duration
	}{{-1, 20 * time.Millisecond}, {0, 20 * time.Millisecond}, {1, 20 * time.Millisecond}, {7, 140 * time.Millisecond},
		{13, 250 * time.Millisecond},
		{250, 250 * time.Millisecond}, {400, 400 * time.Millisecond}, {1000, time.Second}, {1_000_000, time.Second}} {
		if got := queue.PollInterval(c.workers); got != c.want {
			t.Errorf("PollInterval(%d) = %s, want %s", c.workers, got, c.want)
		}
	}
}

func TestRedisAwayIsAnError(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { rdb.Close() })
	q := queue.New(rdb, "")
	ctx := t.Context()
	for name, do := range map[string]func() error{
		"Enqueue":      func() error { return q.Enqueue(ctx, newOrder()) },
		"Remove":       func() error { _, err := q.Remove(vinaQueue, queue.Ref{}); return err },
		"Waiting":      func() error { _, err := q.Waiting(vinaQueue, queue.Ref{}); return err },
		"Depth":        func() error { _, err := q.Depth(vinaQueue); return err },
		"Sweep":        func() error { return q.Sweep(vinaQueue) },
		"IsMarked":     func() error { _, err := q.IsMarked(ctx, "x"); return err },
		"Mark":         func() error { return q.Mark(ctx, "x") },
		"Wake":         func() error { return q.Wake(ctx) },
		"Report":       func() error { _, err := q.Report(ctx, []queue.Event{{ID: "evt_1"}}); return err },
		"StillThere":   func() error { _, err := q.StillThere(ctx, "1-1"); return err },
		"Receive":      func() error { _, err := q.Receive(ctx, 1, time.Millisecond); return err },
		"Acknowledge":  func() error { return q.Acknowledge(ctx, make([]queue.Delivery, 1)) },
		"Beat":         func() error { _, err := q.Beat(ctx, queue.Heartbeat{WorkerID: "wrk_1"}); return err },
		"Workers":      func() error { _, err := q.Workers(ctx); return err },
		"Forget":       func() error { return q.Forget(ctx, "wrk_1") },
		"StopAttempts": func() error { return q.StopAttempts(ctx, queue.Ref{}) },
		"Stopped":      func() error { _, err := q.Stopped(ctx, queue.Ref{}); return err },
	} {
		if err := do(); err == nil {
			t.Errorf("%s says that all is well without a Redis", name)
		}
	}
}
