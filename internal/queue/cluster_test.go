package queue_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/api/throttle"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/preview"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
)

// TestEverythingWorksOnACluster sends what the fabric asks of Redis to three nodes, where a command or a script whose keys lie in
// different slots is refused.
func TestEverythingWorksOnACluster(t *testing.T) {
	t.Parallel()
	nodes, address := redistest.Cluster(t)
	rdb := connect(t, address)
	q := queue.New(rdb, "deployment:")
	t.Run("orders", func(t *testing.T) { tryOrders(t, q) })
	t.Run("reports", func(t *testing.T) { tryReports(t, q) })
	t.Run("workers", func(t *testing.T) { tryWorkers(t, q) })
	t.Run("marks and wakes", func(t *testing.T) { tryMarks(t, q) })
	t.Run("limits", func(t *testing.T) { tryLimits(t, rdb) })
	t.Run("previews", func(t *testing.T) { tryPreviews(t, rdb, rdb) })
	err := rdb.(*redis.ClusterClient).ForEachMaster(t.Context(), func(ctx context.Context, node *redis.Client) error {
		n, err := node.DBSize(ctx).Result()
		if n == 0 {
			t.Errorf("%s holds no key; want some on each node", node.Options().Addr)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	t.Run("a node that does not answer", func(t *testing.T) { trySilentNode(t, rdb, q, nodes, address) })
}

func connect(t *testing.T, address string) redis.UniversalClient {
	t.Helper()
	rdb, err := queue.Connect(t.Context(), address, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rdb.Close(); err != nil {
			t.Error(err)
		}
	})
	return rdb
}

// tryOrders hands orders of two queues over, takes one back, and claims the rest.
func tryOrders(t *testing.T, q *queue.Queue) {
	first, second, other := newOrder(), newOrder(), newOrder()
	other.Queue = queue.Name(engines.WorkerClass{Hardware: "cpu", Engine: "openmm"})
	enqueue(t, q, first, first, second, other)
	for _, order := range []queue.WorkOrder{first, second, other} {
		if waiting, err := q.Waiting(order.Queue, order.Ref()); err != nil || !waiting {
			t.Errorf("waiting(%s) = %v, %v", order.Ref(), waiting, err)
		}
	}
	if removed, err := q.Remove(vinaQueue, second.Ref()); err != nil || !removed {
		t.Errorf("remove: %v, %v", removed, err)
	}
	if depth, err := q.Depth(vinaQueue); err != nil || depth.Pending != 1 {
		t.Errorf("depth %+v, %v; want 1 pending", depth, err)
	}
	orders := make(chan queue.WorkOrder, 2)
	consumer, err := q.Consume([]string{vinaQueue, other.Queue}, 2, 10*time.Millisecond, slog.New(slog.DiscardHandler),
		func(order queue.WorkOrder) { orders <- order })
	if err != nil {
		t.Fatal(err)
	}
	got := []string{receive(t, orders).TaskID, receive(t, orders).TaskID}
	if !slices.Contains(got, first.TaskID) || !slices.Contains(got, other.TaskID) {
		t.Errorf("claimed %v, want %s and %s", got, first.TaskID, other.TaskID)
	}
	consumer.Stop()
	consumer.Close()
	if depth, err := q.Depth(vinaQueue); err != nil || depth.Pending+depth.Active != 0 {
		t.Errorf("depth %+v, %v; want nothing left", depth, err)
	}
	if err := q.Sweep(vinaQueue); err != nil {
		t.Error(err)
	}
}

// tryReports sends events of two workers and acknowledges them.
func tryReports(t *testing.T, q *queue.Queue) {
	mine, other := newEvent("wrk_1"), newEvent("wrk_2")
	places := report(t, q, mine, other)
	expectThere(t, q, places[0], true)
	got := deliveries(t, q, 10)
	if !slices.Equal(eventIDs(got), []string{mine.ID, other.ID}) {
		t.Fatalf("received %v, want %s and %s", eventIDs(got), mine.ID, other.ID)
	}
	if err := q.Acknowledge(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	expectThere(t, q, places[0], false)
	for worker, want := range map[string]string{"wrk_1": mine.ID, "wrk_2": other.ID} {
		if orders := beat(t, q, queue.Heartbeat{WorkerID: worker}); !slices.Equal(orders.Acked, []string{want}) {
			t.Errorf("%s was told %v, want %s", worker, orders.Acked, want)
		}
	}
}

// tryWorkers lets workers come, be told to stop attempts, and go.
func tryWorkers(t *testing.T, q *queue.Queue) {
	order := newOrder()
	hb := queue.Heartbeat{WorkerID: "wrk_1", Held: []queue.Held{{Ref: order.Ref()}, {Ref: newOrder().Ref()}}}
	stopped := []queue.Ref{order.Ref()}
	for range 100 { // so many that each node has some
		stopped = append(stopped, newOrder().Ref())
	}
	if err := q.StopAttempts(t.Context(), stopped...); err != nil {
		t.Fatal(err)
	}
	if orders := beat(t, q, hb); len(orders.Stop) != 1 || !orders.Stop[order.Ref()] || orders.Workers != 2 {
		t.Errorf("the heartbeat brings %+v; want one stop order and two workers", orders)
	}
	if stopped, err := q.Stopped(t.Context(), order.Ref()); err != nil || !stopped {
		t.Errorf("stopped = %v, %v", stopped, err)
	}
	for _, worker := range []string{"wrk_1", "wrk_2"} {
		if err := q.Forget(t.Context(), worker); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := q.Workers(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%d workers, %v; want none", len(got), err)
	}
}

func tryMarks(t *testing.T, q *queue.Queue) {
	if err := q.Mark(t.Context(), "mark"); err != nil {
		t.Fatal(err)
	}
	if same, err := q.IsMarked(t.Context(), "mark"); err != nil || !same {
		t.Errorf("same = %v, %v", same, err)
	}
	woken := make(chan struct{}, 1)
	go q.Wakes(t.Context(), func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	eventually(t, "a wake-up arrives", func() bool {
		if err := q.Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(woken) > 0
	})
}

// tryLimits counts against two limits, as the API does.
func tryLimits(t *testing.T, rdb redis.UniversalClient) {
	limiter := throttle.New(rdb, "deployment:limit:", slog.New(slog.DiscardHandler), time.Now)
	limit := throttle.Limit{Rate: 1, Period: time.Hour, Burst: 2}
	for _, key := range []string{"key:one", "address:other"} {
		for i, want := range []bool{true, true, false} {
			if got := limiter.Take(t.Context(), key, limit); got.Allowed != want {
				t.Errorf("event %d under %s: allowed %v, want %v", i, key, got.Allowed, want)
			}
		}
		if left, err := rdb.Exists(t.Context(), "rate:deployment:limit:"+key).Result(); err != nil || left != 1 {
			t.Errorf("%s is not counted in Redis but by the instance alone: %d keys, %v", key, left, err)
		}
	}
}

// tryPreviews has a picture drawn by a worker, and a request taken back.
func tryPreviews(t *testing.T, control, worker redis.UniversalClient) {
	log := slog.New(slog.DiscardHandler)
	caller, desk := preview.NewClient(control, "deployment:", nil, log), preview.NewDesk(worker, "deployment:")
	request := preview.Request{AccountID: "acc_one", Scene: []byte("scene"), Format: preview.FormatMVSJ, WidthPixels: 16,
		HeightPixels: 16}
	if err := desk.Beat(t.Context(), "wrk_1", 1, nil); err != nil {
		t.Fatal(err)
	}
	var drawing sync.WaitGroup
	defer drawing.Wait()
	drawing.Go(func() {
		if png, err := caller.Draw(t.Context(), request); err != nil || string(png) != "picture" {
			t.Errorf("got %q, %v", png, err)
		}
	})
	if err := desk.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask, _, err := desk.Take(t.Context(), nil, true)
	if err != nil || ask == nil {
		t.Fatalf("took %v, %v", ask, err)
	}
	for _, err := range []error{desk.Beat(t.Context(), "wrk_1", 1, []preview.Ask{*ask}),
		desk.Answer(t.Context(), *ask, []byte("picture"), nil), desk.Release(t.Context(), *ask)} {
		if err != nil {
			t.Error(err)
		}
	}
	drawing.Wait()
	gone, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := caller.Draw(gone, request); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who goes gets %v", err)
	}
	if ask, waiting, err := desk.Take(t.Context(), nil, true); ask != nil || waiting || err != nil {
		t.Errorf("there is left %v, %v, %v", ask, waiting, err)
	}
	if err := desk.Beat(t.Context(), "wrk_1", 0, nil); err != nil {
		t.Error(err)
	}
	if n, err := caller.Warm(t.Context()); n != 0 || err != nil {
		t.Errorf("%d are warm, %v", n, err)
	}
}

// trySilentNode stops a node that holds a heartbeat, behind one that has been lost. What cannot be read must not be taken for
// silence: the worker would be declared lost.
func trySilentNode(t *testing.T, rdb redis.UniversalClient, q *queue.Queue, nodes []*redistest.Node, address string) {
	nodeOf := func(key string) int {
		slot, err := rdb.ClusterKeySlot(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		return slices.IndexFunc(nodes, func(n *redistest.Node) bool { return int(slot) >= n.FirstSlot && int(slot) <= n.LastSlot })
	}
	list := nodeOf("deployment:molfabric:workers")
	silent := (list + 1) % len(nodes)
	worker := func(on int) string {
		for {
			if workerID := id.New("wrk_"); nodeOf("deployment:molfabric:worker:"+workerID) == on {
				return workerID
			}
		}
	}
	lost, unread := worker(list), worker(silent)
	beat(t, q, queue.Heartbeat{WorkerID: lost})
	beat(t, q, queue.Heartbeat{WorkerID: unread})
	if err := rdb.Del(t.Context(), "deployment:molfabric:worker:"+lost).Err(); err != nil {
		t.Fatal(err)
	}
	hasty := queue.New(connect(t, address+"?read_timeout=100ms&max_redirects=-1"), "deployment:")
	if got, err := hasty.Workers(t.Context()); err != nil || len(got) != 1 {
		t.Fatalf("%d workers, %v; want 1", len(got), err)
	}
	beat(t, q, queue.Heartbeat{WorkerID: lost})
	if err := rdb.Del(t.Context(), "deployment:molfabric:worker:"+lost).Err(); err != nil {
		t.Fatal(err)
	}
	nodes[silent].Pause(t)
	if got, err := hasty.Workers(t.Context()); err == nil {
		t.Errorf("%d workers while a node does not answer, want an error", len(got))
	}
}
