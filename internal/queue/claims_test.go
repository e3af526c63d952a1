package queue_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
)

func newClaim(t *testing.T) queue.Claim {
	t.Helper()
	claim, err := queue.NewClaim(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// everything is all that lies in Redis below a prefix, as text: a worker may read all of it.
func everything(t *testing.T, rdb redis.UniversalClient, prefix string) string {
	t.Helper()
	keys, err := rdb.Keys(t.Context(), "*"+strings.ReplaceAll(prefix, ":", "?")+"*").Result()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, key := range keys {
		dump, err := read(t.Context(), rdb, key)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s\n", key, dump)
	}
	return all.String()
}

func read(ctx context.Context, rdb redis.UniversalClient, key string) (string, error) {
	kind, err := rdb.Type(ctx, key).Result()
	if err != nil {
		return "", err
	}
	switch kind {
	case "hash":
		fields, err := rdb.HGetAll(ctx, key).Result()
		return fmt.Sprint(fields), err
	case "stream":
		entries, err := rdb.XRange(ctx, key, "-", "+").Result()
		return fmt.Sprint(entries), err
	case "string":
		return rdb.Get(ctx, key).Result()
	}
	return "", nil
}

// TestClaimLeavesRedisWithItsWorker: the order carries no secret, the first who asks gets it, and what he then sends does not tell
// it.
func TestClaimLeavesRedisWithItsWorker(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	q := queue.New(rdb, prefix)
	order := newOrder()
	seed := []byte("the thirty-two bytes of a secret")
	claim, err := queue.NewClaim(bytes.NewReader(seed))
	if err != nil {
		t.Fatal(err)
	}
	order.Claim = claim
	enqueue(t, q, order)
	if !strings.Contains(everything(t, rdb, prefix), string(seed)) {
		t.Fatal("the secret of an order that waits cannot be seen by this test")
	}
	got := receive(t, claimed(t, q, 1))
	if !bytes.Equal(got.Claim.Witness(), claim.Witness()) || !got.Guarded {
		t.Fatalf("claimed with the witness %x, want %x", got.Claim.Witness(), claim.Witness())
	}
	event := newEvent("wrk_1")
	event.Ref, event.Claim = order.Ref(), got.Claim
	report(t, q, event)
	self := newClaim(t)
	held := queue.Held{Ref: order.Ref(), JobID: order.JobID, Phase: queue.Running}.Proven(got.Claim, self)
	beat(t, q, queue.Heartbeat{WorkerID: "wrk_1", Seq: 1, Held: []queue.Held{held}}.Signed(self))
	if all := everything(t, rdb, prefix); strings.Contains(all, string(seed)) || !strings.Contains(all, order.TaskID) {
		t.Errorf("the secret is still in Redis:\n%s", all)
	}
	if again, _, err := q.TakeClaim(t.Context(), order.Queue, order.Ref()); err != nil || !again.IsZero() {
		t.Errorf("claimed twice: %v, %v", again.Witness(), err)
	}
}

// TestOrderWithoutItsClaimIsDropped: somebody else has taken it, and answers for the attempt.
func TestOrderWithoutItsClaimIsDropped(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	stolen, next := newOrder(), newOrder()
	stolen.Claim, next.Claim = newClaim(t), newClaim(t)
	enqueue(t, q, stolen)
	if _, _, err := q.TakeClaim(t.Context(), stolen.Queue, stolen.Ref()); err != nil {
		t.Fatal(err)
	}
	enqueue(t, q, next)
	if got := receive(t, claimed(t, q, 1)); got.TaskID != next.TaskID {
		t.Errorf("claimed %s, want only %s", got.TaskID, next.TaskID)
	}
}

func TestRemovedOrderLeavesNoClaim(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	order := newOrder()
	order.Claim = newClaim(t)
	enqueue(t, q, order)
	if removed, err := q.Remove(order.Queue, order.Ref()); err != nil || !removed {
		t.Fatalf("removed: %v, %v", removed, err)
	}
	if claim, _, err := q.TakeClaim(t.Context(), order.Queue, order.Ref()); err != nil || !claim.IsZero() {
		t.Errorf("left %x, %v", claim.Witness(), err)
	}
}

// TestReportsAreProven holds what arrives in the stream against the witness of its attempt.
func TestReportsAreProven(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	q := queue.New(rdb, prefix)
	claim, other := newClaim(t), newClaim(t)
	events := []queue.Event{newEvent("wrk_1"), newEvent("wrk_1"), newEvent("wrk_1")}
	events[0].Claim, events[1].Claim = claim, other
	report(t, q, events...)
	copied, err := rdb.XRange(t.Context(), prefix+"molfabric:events", "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	forged := newEvent("wrk_1")
	body, err := json.Marshal(forged)
	if err != nil {
		t.Fatal(err)
	}
	// Another body with a proof that was read.
	if err := rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: prefix + "molfabric:events",
		Values: []any{"event", body, "proof", copied[0].Values["proof"]}}).Err(); err != nil {
		t.Fatal(err)
	}
	for i, delivery := range deliveries(t, q, 10) {
		if got, want := delivery.ProvenBy(claim.Witness()), i == 0; got != want {
			t.Errorf("report %d: proven is %v, want %v", i, got, want)
		}
		if !delivery.ProvenBy(nil) {
			t.Errorf("report %d: an attempt of the release before asks for a proof", i)
		}
	}
}

// TestHeartbeatsAreSigned: what one worker says of its attempts nobody else can say, or change.
func TestHeartbeatsAreSigned(t *testing.T) {
	t.Parallel()
	claim, self := newClaim(t), newClaim(t)
	order := newOrder()
	held := queue.Held{Ref: order.Ref(), JobID: order.JobID, Phase: queue.Running, Progress: 1.0 / 3,
		Message: "half \xff way\x00"}.Proven(claim, self)
	body, err := json.Marshal(queue.Heartbeat{WorkerID: "wrk_1", Seq: 7, Held: []queue.Held{held}}.Signed(self))
	if err != nil {
		t.Fatal(err)
	}
	arrived := func() (sent queue.Heartbeat) {
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		return sent
	}
	if sent := arrived(); !sent.Genuine() || !sent.Held[0].ProvenBy(claim.Witness(), sent.Key) {
		t.Error("the proofs are lost on their way")
	}
	for name, change := range map[string]func(*queue.Heartbeat){
		"another worker":   func(hb *queue.Heartbeat) { hb.WorkerID = "wrk_2" },
		"a later number":   func(hb *queue.Heartbeat) { hb.Seq++ },
		"another progress": func(hb *queue.Heartbeat) { hb.Held[0].Progress = 0.99 },
		"another use":      func(hb *queue.Heartbeat) { hb.Held[0].Used.CPUMicroseconds++ },
		"another message":  func(hb *queue.Heartbeat) { hb.Held[0].Message = "done" },
		"one attempt less": func(hb *queue.Heartbeat) { hb.Held = nil },
		"another key":      func(hb *queue.Heartbeat) { hb.Key = newClaim(t).Witness() },
		"no key":           func(hb *queue.Heartbeat) { hb.Key = nil },
	} {
		sent := arrived()
		if change(&sent); sent.Genuine() {
			t.Errorf("%s: passes", name)
		}
	}
	sent := arrived().Held[0]
	moved := sent
	moved.Attempt++
	for name, proven := range map[string]bool{
		"another worker's": sent.ProvenBy(claim.Witness(), newClaim(t).Witness()),
		"another attempt":  moved.ProvenBy(claim.Witness(), self.Witness()),
		"another claim":    sent.ProvenBy(newClaim(t).Witness(), self.Witness()),
		"no proof":         queue.Held{Ref: order.Ref()}.ProvenBy(claim.Witness(), self.Witness()),
		"a bad witness":    sent.ProvenBy([]byte("short"), self.Witness()),
	} {
		if proven {
			t.Errorf("%s: passes", name)
		}
	}
}

// TestClaimIsNeverPrinted looks for the secret in what Go can make of an order.
func TestClaimIsNeverPrinted(t *testing.T) {
	t.Parallel()
	claim, err := queue.NewClaim(strings.NewReader("sssssssssssssssssssssssssssssssssssssssssssss"))
	if err != nil {
		t.Fatal(err)
	}
	order := newOrder()
	order.Claim = claim
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("order", "order", order, "claim", claim)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("order", "order", order, "claim", claim)
	body, err := json.Marshal(struct {
		queue.WorkOrder
		Claim queue.Claim
	}{order, claim})
	if err != nil {
		t.Fatal(err)
	}
	kept := struct{ claim queue.Claim }{claim}
	all := log.String() + string(body) + fmt.Sprintf("%v %+v %#v %s %x %d %v %+v %#v", claim, claim, claim, claim, claim, claim,
		order, order, kept)
	for _, trace := range []string{"sssss", "7373737373", "115 115", "[115"} {
		if strings.Contains(all, trace) {
			t.Errorf("the secret is printed:\n%s", all)
		}
	}
}
