package queue_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
)

func newEvent(workerID string) queue.Event {
	order := newOrder()
	return queue.Event{ID: id.New("evt_"), Kind: queue.Succeeded, Ref: order.Ref(), JobID: order.JobID, WorkerID: workerID,
		Result: &queue.Result{Summary: []byte(`{"score":-9.1}`), Artifacts: []queue.StoredArtifact{{
			Artifact: engines.Artifact{Name: "poses.sdf", Role: engines.RoleResult},
			Object:   engines.Object{StorageKey: "k", SHA256: "00", ByteSize: 7}}}},
		Usage: queue.Usage{CPUMicroseconds: 123}}
}

func report(t *testing.T, q *queue.Queue, events ...queue.Event) []string {
	t.Helper()
	places, err := q.Report(t.Context(), events)
	if err != nil || len(places) != len(events) {
		t.Fatalf("%d places for %d events, %v", len(places), len(events), err)
	}
	return places
}

func deliveries(t *testing.T, q *queue.Queue, limit int64) []queue.Delivery {
	t.Helper()
	got, err := q.Receive(t.Context(), limit, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func eventIDs(got []queue.Delivery) []string {
	ids := make([]string, len(got))
	for i, d := range got {
		ids[i] = d.ID
	}
	return ids
}

func expectThere(t *testing.T, q *queue.Queue, place string, want bool) {
	t.Helper()
	if got, err := q.StillThere(t.Context(), place); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("stillThere(%s) = %v, %v; want %v", place, got, err, want)
	}
}

func beat(t *testing.T, q *queue.Queue, hb queue.Heartbeat) queue.Orders {
	t.Helper()
	orders, err := q.Beat(t.Context(), hb)
	if err != nil {
		t.Fatal(err)
	}
	return orders
}

func TestEventsStayUntilAcknowledged(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	if got := deliveries(t, q, 10); len(got) != 0 {
		t.Fatalf("received %d events before any was sent", len(got))
	}
	first, second, other := newEvent("wrk_1"), newEvent("wrk_1"), newEvent("wrk_2")
	places := report(t, q, first, second, other)
	for range 2 {
		if got, want := eventIDs(deliveries(t, q, 10)), []string{first.ID, second.ID, other.ID}; !slices.Equal(got, want) {
			t.Fatalf("received %v, want %v", got, want)
		}
	}
	got := deliveries(t, q, 2) // oldest first, at most so many
	if want := []string{first.ID, second.ID}; !slices.Equal(eventIDs(got), want) {
		t.Fatalf("received %v, want %v", eventIDs(got), want)
	}
	if e := got[0].Event; string(e.Result.Summary) != string(first.Result.Summary) ||
		e.Result.Artifacts[0] != first.Result.Artifacts[0] ||
		e.Usage != first.Usage || e.Ref != first.Ref || e.Kind != first.Kind {
		t.Errorf("received %+v, want %+v", e, first)
	}
	if err := q.Acknowledge(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	expectThere(t, q, places[0], false)
	expectThere(t, q, places[2], true)
	if got := eventIDs(deliveries(t, q, 10)); !slices.Equal(got, []string{other.ID}) {
		t.Errorf("received %v after the acknowledgement, want %v", got, []string{other.ID})
	}
	// Each worker learns of its own, once.
	if orders := beat(t, q, queue.Heartbeat{WorkerID: "wrk_2"}); len(orders.Acked) != 0 {
		t.Errorf("a worker was told %v, which are another's", orders.Acked)
	}
	if orders := beat(t, q, queue.Heartbeat{WorkerID: "wrk_1"}); !slices.Equal(orders.Acked, []string{first.ID, second.ID}) {
		t.Errorf("acknowledged %v, want %v", orders.Acked, []string{first.ID, second.ID})
	}
	if orders := beat(t, q, queue.Heartbeat{WorkerID: "wrk_1"}); len(orders.Acked) != 0 {
		t.Errorf("acknowledged %v again", orders.Acked)
	}
	if err := q.Acknowledge(t.Context(), nil); err != nil {
		t.Errorf("acknowledge nothing: %v", err)
	}
}

// TestOneBeatBringsAllAcknowledgements: what a heartbeat left for the next, the worker would send again.
func TestOneBeatBringsAllAcknowledgements(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	sent := make([]queue.Event, 5000)
	for i := range sent {
		sent[i] = newEvent("wrk_1")
	}
	report(t, q, sent...)
	if err := q.Acknowledge(t.Context(), deliveries(t, q, int64(len(sent)))); err != nil {
		t.Fatal(err)
	}
	if orders := beat(t, q, queue.Heartbeat{WorkerID: "wrk_1"}); len(orders.Acked) != len(sent) {
		t.Errorf("a heartbeat brought %d of %d acknowledgements", len(orders.Acked), len(sent))
	}
}

func TestStillThereOfNothing(t *testing.T) {
	t.Parallel()
	if there, err := newQueue(t).StillThere(t.Context()); err != nil || len(there) != 0 {
		t.Errorf("no places: %v, %v", there, err)
	}
}

func TestUnreadableEventIsDroppedAndBlocksNobody(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	q := queue.New(rdb, prefix)
	good := newEvent("wrk_1")
	report(t, q, good)
	keys, err := rdb.Keys(t.Context(), prefix+"*events").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("streams: %v, %v; want one", keys, err)
	}
	if err := rdb.XTrimMaxLen(t.Context(), keys[0], 0).Err(); err != nil {
		t.Fatal(err)
	}
	for _, fields := range [][]any{{"event", "{broken"}, {"other", "field"}} {
		if err := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: keys[0], Values: fields}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	report(t, q, good)
	got := deliveries(t, q, 10)
	if ids := eventIDs(got); !slices.Equal(ids, []string{"", "", good.ID}) {
		t.Fatalf("received %q, want two unreadable ones and %s", ids, good.ID)
	}
	if err := q.Acknowledge(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	if left := deliveries(t, q, 10); len(left) != 0 {
		t.Errorf("%d events left, want none", len(left))
	}
}

func TestFlushedEventIsNotThere(t *testing.T) {
	t.Parallel()
	q, rdb := private(t)
	place := report(t, q, newEvent("wrk_1"))[0]
	expectThere(t, q, place, true)
	if err := rdb.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	expectThere(t, q, place, false)
}

func TestBeatBringsStopOrders(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	first, second, left := newOrder(), newOrder(), newOrder()
	hb := queue.Heartbeat{WorkerID: "wrk_1", Seq: 1}
	for _, order := range []queue.WorkOrder{first, second, left} {
		hb.Held = append(hb.Held, queue.Held{Ref: order.Ref(), JobID: order.JobID})
	}
	if orders := beat(t, q, hb); len(orders.Stop) != 0 {
		t.Errorf("told to stop %v before anybody asked", orders.Stop)
	}
	if err := q.StopAttempts(t.Context()); err != nil {
		t.Errorf("stop nothing: %v", err)
	}
	if err := q.StopAttempts(t.Context(), first.Ref(), second.Ref()); err != nil {
		t.Fatal(err)
	}
	for range 2 { // an order holds until the attempt has gone
		if got := beat(t, q, hb).Stop; len(got) != 2 || !got[first.Ref()] || !got[second.Ref()] {
			t.Errorf("told to stop %v, want %s and %s", got, first.Ref(), second.Ref())
		}
	}
	next := second.Ref()
	next.Attempt++
	for _, c := range []struct {
		ref  queue.Ref
		want bool
	}{{first.Ref(), true}, {second.Ref(), true}, {next, false}, {left.Ref(), false}} {
		if got, err := q.Stopped(t.Context(), c.ref); err != nil || got != c.want {
			t.Errorf("stopped(%s) = %v, %v; want %v", c.ref, got, err, c.want)
		}
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	q := queue.New(rdb, prefix)
	if got, err := q.Workers(t.Context()); err != nil || len(got) != 0 {
		t.Fatalf("%d workers, %v; want none", len(got), err)
	}
	for seq := range int64(3) {
		beat(t, q, queue.Heartbeat{WorkerID: "wrk_1", Seq: seq, Slots: 4, Queues: []string{vinaQueue},
			Held: []queue.Held{{Ref: newOrder().Ref(), Progress: 0.5}}})
	}
	if n := beat(t, q, queue.Heartbeat{WorkerID: "wrk_2"}).Workers; n != 2 {
		t.Errorf("told of %d workers, want 2", n)
	}
	got, err := q.Workers(t.Context())
	if err != nil || len(got) != 2 {
		t.Fatalf("%d workers, %v; want 2", len(got), err)
	}
	i := slices.IndexFunc(got, func(hb queue.Heartbeat) bool { return hb.WorkerID == "wrk_1" })
	if hb := got[i]; hb.Seq != 2 || hb.Slots != 4 || !slices.Equal(hb.Queues, []string{vinaQueue}) || hb.Held[0].Progress != 0.5 {
		t.Errorf("the heartbeat is %+v, want the newest", hb)
	}
	if err := q.Forget(t.Context(), "wrk_1"); err != nil {
		t.Fatal(err)
	}
	if got, err := q.Workers(t.Context()); err != nil || len(got) != 1 || got[0].WorkerID != "wrk_2" {
		t.Errorf("workers %+v, %v; want only wrk_2", got, err)
	}
	// A worker that died while nobody watched does not count for ever.
	for _, key := range rdb.Keys(t.Context(), prefix+"*worker:wrk_2").Val() {
		if err := rdb.Del(t.Context(), key).Err(); err != nil { // as its time to live does
			t.Fatal(err)
		}
	}
	if got, err := q.Workers(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("workers %+v, %v; want none", got, err)
	}
	if n := beat(t, q, queue.Heartbeat{WorkerID: "wrk_3"}).Workers; n != 1 {
		t.Errorf("told of %d workers, want 1", n)
	}
}

func TestSlotsOfAQueueAreThoseOfItsClass(t *testing.T) {
	t.Parallel()
	hb := queue.Heartbeat{Slots: 8, Devices: queue.Devices{Total: 2, Free: 1, Slots: 4}}
	for hardware, want := range map[string]int{"cpu": 8, "gpu": 4} {
		name := queue.Name(engines.WorkerClass{Hardware: hardware, Engine: "openmm"})
		if got := hb.SlotsOf(name); got != want {
			t.Errorf("SlotsOf(%s) = %d, want %d", name, got, want)
		}
	}
	// A worker without devices says nothing of any, as those of older versions do.
	if got := (queue.Heartbeat{Slots: 8}).SlotsOf("gpu.openmm"); got != 0 {
		t.Errorf("a worker without devices has %d slots on some", got)
	}
}
