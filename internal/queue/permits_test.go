package queue_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
)

const permitText = "a permit that opens some files"

// TestPermitLeavesRedisWithTheClaim: the order does not carry it, it cannot be read without the claim, and it goes with that.
func TestPermitLeavesRedisWithTheClaim(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	q := queue.New(rdb, prefix)
	order, other := newOrder(), newOrder()
	order.Claim, order.Permit, other.Claim = newClaim(t), []byte(permitText), newClaim(t)
	other.Queue = "cpu.elsewhere" // where nobody claims
	enqueue(t, q, order)
	key := prefix + "molfabric:claim:" + order.Queue + ":" + order.Ref().String() + ":permit"
	sealed, err := rdb.Get(t.Context(), key).Bytes()
	if err != nil || strings.Contains(everything(t, rdb, prefix), permitText) {
		t.Fatalf("%d sealed bytes, %v; want them, and not the permit itself, in Redis", len(sealed), err)
	}
	if ttl := rdb.TTL(t.Context(), key).Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("it stays for %v, want an hour at most", ttl)
	}
	got := receive(t, claimed(t, q, 1))
	if string(got.Permit) != permitText {
		t.Errorf("claimed with %q", got.Permit)
	}
	if n := rdb.Exists(t.Context(), key).Val(); n != 0 {
		t.Error("it is still there")
	}
	// What somebody puts there is none.
	enqueue(t, q, other)
	if err := rdb.Set(t.Context(), prefix+"molfabric:claim:"+other.Queue+":"+other.Ref().String()+":permit", sealed,
		0).Err(); err != nil {
		t.Fatal(err)
	}
	if claim, permit, err := q.TakeClaim(t.Context(), other.Queue, other.Ref()); err != nil || permit != nil || claim.IsZero() {
		t.Errorf("opened another attempt's: %q, %v", permit, err)
	}
	removed := newOrder()
	removed.Queue, removed.Claim, removed.Permit = "cpu.elsewhere", newClaim(t), []byte(permitText)
	enqueue(t, q, removed)
	if _, err := q.Remove(removed.Queue, removed.Ref()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(everything(t, rdb, prefix), removed.Ref().String()+":permit") {
		t.Error("a removed order leaves its permit")
	}
}

// TestPermitIsNeverEncoded: an order that is logged or sent tells nothing of it.
func TestPermitIsNeverEncoded(t *testing.T) {
	t.Parallel()
	order := newOrder()
	order.Permit = []byte(permitText)
	body, err := json.Marshal(order)
	if err != nil || bytes.Contains(body, []byte("ermit")) {
		t.Errorf("encoded as %s, %v", body, err)
	}
}

// TestNewPermitsComeWithAcknowledgements: sealed for one letterbox, once, beside what else the worker learns.
func TestNewPermitsComeWithAcknowledgements(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	mine, others, claim := letterbox(t), letterbox(t), newClaim(t)
	order, second := newOrder(), newOrder()
	seal := func(ref queue.Ref, text string) []byte {
		sealed, err := queue.Ask{Box: mine.Public()}.Seal(ref, claim.Witness(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	report(t, q, newEvent("wrk_1"))
	for _, left := range []struct {
		ref  queue.Ref
		text string
	}{{order.Ref(), "old"}, {second.Ref(), "\x00binary\x00"}, {order.Ref(), permitText}} {
		if err := q.LeavePermit(t.Context(), "wrk_1", left.ref, seal(left.ref, left.text)); err != nil {
			t.Fatal(err)
		}
	}
	arrived := deliveries(t, q, 10)
	if err := q.Acknowledge(t.Context(), arrived); err != nil {
		t.Fatal(err)
	}
	got := beat(t, q, queue.Heartbeat{WorkerID: "wrk_1"})
	if len(got.Acked) != 1 || got.Acked[0] != arrived[0].ID || len(got.Permits) != 2 {
		t.Fatalf("learnt %q and %d permits, want one acknowledgement and two", got.Acked, len(got.Permits))
	}
	for ref, want := range map[queue.Ref]string{order.Ref(): permitText, second.Ref(): "\x00binary\x00"} {
		if text, ok := mine.Open(ref, claim.Witness(), got.Permits[ref]); !ok || string(text) != want {
			t.Errorf("opened %q, %v; want %q", text, ok, want)
		}
		for name, open := range map[string]func() ([]byte, bool){
			"somebody else": func() ([]byte, bool) { return others.Open(ref, claim.Witness(), got.Permits[ref]) },
			"another claim": func() ([]byte, bool) { return mine.Open(ref, newClaim(t).Witness(), got.Permits[ref]) },
			"no claim":      func() ([]byte, bool) { return mine.Open(ref, nil, got.Permits[ref]) },
			"another attempt": func() ([]byte, bool) {
				return mine.Open(queue.Ref{TaskID: ref.TaskID, Attempt: ref.Attempt + 1}, claim.Witness(), got.Permits[ref])
			},
		} {
			if text, ok := open(); ok {
				t.Errorf("%s opened %q", name, text)
			}
		}
	}
	if again := beat(t, q, queue.Heartbeat{WorkerID: "wrk_1"}); len(again.Permits) != 0 {
		t.Error("it comes twice")
	}
	if _, err := (queue.Ask{Box: []byte("short")}).Seal(order.Ref(), claim.Witness(), nil); err == nil {
		t.Error("a key that is none is taken")
	}
}

func letterbox(t *testing.T) queue.Letterbox {
	t.Helper()
	made, err := queue.NewLetterbox()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestAsksAreProven: nobody can ask in another's name, or have the answer go elsewhere. A release that knows no permits passes over
// it.
func TestAsksAreProven(t *testing.T) {
	t.Parallel()
	claim, self, box := newClaim(t), newClaim(t), letterbox(t)
	ref := newOrder().Ref()
	ask := queue.Ask{Until: time.Now().Truncate(time.Second), Box: box.Public()}.Proven(ref, claim)
	body, err := json.Marshal(queue.Heartbeat{WorkerID: "wrk_1", Seq: 7,
		Held: []queue.Held{queue.Held{Ref: ref, Ask: &ask}.Proven(claim, self)}}.Signed(self))
	if err != nil {
		t.Fatal(err)
	}
	var sent queue.Heartbeat
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	if !sent.Genuine() || !sent.Held[0].ProvenBy(claim.Witness(), sent.Key) || !sent.Held[0].Ask.ProvenBy(ref, claim.Witness()) {
		t.Fatal("the proofs are lost on their way")
	}
	if sent.Held[0].Ask = nil; !sent.Genuine() {
		t.Error("a scheduler that does not know what is asked takes the heartbeat for a forgery")
	}
	for name, change := range map[string]func(*queue.Ask, *queue.Ref){
		"another box":     func(a *queue.Ask, _ *queue.Ref) { a.Box = letterbox(t).Public() },
		"another time":    func(a *queue.Ask, _ *queue.Ref) { a.Until = a.Until.Add(time.Second) },
		"a refusal":       func(a *queue.Ask, _ *queue.Ref) { a.Refused = true },
		"another attempt": func(_ *queue.Ask, r *queue.Ref) { r.Attempt++ },
		"no proof":        func(a *queue.Ask, _ *queue.Ref) { a.Proof = nil },
	} {
		changed, of := ask, ref
		if change(&changed, &of); changed.ProvenBy(of, claim.Witness()) {
			t.Errorf("%s: passes", name)
		}
	}
	if ask.ProvenBy(ref, nil) {
		t.Error("an attempt without a claim gets a permit")
	}
}
