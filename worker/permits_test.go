package worker_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/nacl/box"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker"
)

// asked returns what a worker's newest heartbeat asks for an order; nil for nothing. Whatever is asked is proven.
func (b *bench) asked(w hired, o queue.WorkOrder) *queue.Ask {
	b.t.Helper()
	held := b.held(w, o)
	if held == nil || held.Ask == nil {
		return nil
	}
	if !held.Ask.ProvenBy(o.Ref(), o.Claim.Witness()) {
		b.t.Errorf("what is asked for %s proves no claim", o.Ref())
	}
	return held.Ask
}

// renew gives a worker another permit, once it asks for one because the store refused what it has.
func (b *bench) renew(w hired, o queue.WorkOrder, permit []byte) {
	b.t.Helper()
	b.eventually("a permit is asked for", func() bool { a := b.asked(w, o); return a != nil && a.Refused })
	b.leave(w, o, b.seal(*b.asked(w, o), o, permit))
}

// seal does what the scheduler does for an order.
func (b *bench) seal(ask queue.Ask, o queue.WorkOrder, permit []byte) []byte {
	b.t.Helper()
	sealed, err := ask.Seal(o.Ref(), o.Claim.Witness(), permit)
	if err != nil {
		b.t.Fatal(err)
	}
	return sealed
}

// leave leaves something sealed for a worker, and waits until that has looked at it.
func (b *bench) leave(w hired, o queue.WorkOrder, sealed []byte) {
	b.t.Helper()
	if err := b.queue.LeavePermit(b.ctx, w.ID(), o.Ref(), sealed); err != nil {
		b.t.Fatal(err)
	}
	left := b.heartbeat(w).Seq
	b.eventually("it is looked at", func() bool { return b.heartbeat(w).Seq >= left+3 })
}

// expired is the moment at which a permit was signed that is no good any more.
func expired() time.Time { return time.Now().Add(-object.PermitLife - time.Minute) }

// ownOrder is an order whose claim the test knows.
func ownOrder(t *testing.T, p shellParams) queue.WorkOrder {
	t.Helper()
	o := order(p)
	o.Claim = newClaim(t)
	return o
}

// An attempt that waited for longer than its permit is good, or whose permit is lost, goes on with the next one.
func TestPermitIsRenewedBeforeTheStart(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(*bench, queue.WorkOrder) []byte{
		"expired": func(b *bench, o queue.WorkOrder) []byte { return b.permit(o, expired()) },
		"lost":    func(*bench, queue.WorkOrder) []byte { return []byte{} },
		"damaged": func(*bench, queue.WorkOrder) []byte { return []byte("{") },
		"another": func(b *bench, o queue.WorkOrder) []byte {
			return b.permit(attemptOf(o, queue.WorkOrder{}, 1), time.Now())
		}, // no inputs
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.hire(1, b.cached(nil))
			o := ownOrder(t, shellParams{Script: "cp in/ligand out/pose", Outputs: []string{"pose"}})
			o.Inputs = []queue.ResolvedInput{{Name: "ligand", Object: b.put("ligand", "C1")}}
			o.Permit = first(b, o)
			b.enqueue(o)
			b.renew(w, o, b.permit(o, time.Now()))
			event := b.ending(o)
			expectSuccess(t, event)
			expectStored(t, b.objects, event.Result.Artifacts[0], o.OutputPrefix+"pose", "C1")
		})
	}
}

// Finished work waits for a permit, and its worker says all the time until when the one at hand is good.
func TestPermitIsRenewedAfterTheEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(1, nil)
	o := ownOrder(t, shellParams{Script: save + "save state 1\n" + untilTold + "; echo pose >out/pose", Outputs: []string{"pose"}})
	o.Permit = b.permit(o, expired())
	b.enqueue(o)
	b.awaitStart(o)
	b.tell(o)
	b.eventually("it asks", func() bool { a := b.asked(w, o); return a != nil && a.Refused })
	if until := b.asked(w, o).Until; time.Since(until) < 50*time.Second || time.Since(until) > 2*time.Minute {
		t.Errorf("it says that its permit is good until %v, want a minute ago", until)
	}
	other := ownOrder(t, shellParams{Script: "true"})
	b.enqueue(other) // the slot is free
	expectSuccess(t, b.ending(other))
	b.renew(w, o, b.permit(o, time.Now()))
	event := b.ending(o)
	expectSuccess(t, event)
	expectStored(t, b.objects, event.Result.Artifacts[0], o.OutputPrefix+"pose", "pose\n")
	b.eventually("it asks no more", func() bool { return b.asked(w, o) == nil })
}

// A store that refuses every permit costs the attempt, and not the worker; what is sealed for nobody or for others is dropped.
func TestPermitsThatAreNoGood(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var writes atomic.Int32
	b.interposed(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(written(r), "/pose") {
			return false
		}
		writes.Add(1)
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	w := b.hire(1, nil)
	o := ownOrder(t, shellParams{Script: "echo pose >out/pose", Outputs: []string{"pose"}})
	b.enqueue(o)
	b.eventually("it asks", func() bool { a := b.asked(w, o); return a != nil && a.Refused })
	others, err := queue.NewLetterbox()
	if err != nil {
		t.Fatal(err)
	}
	for _, sealed := range [][]byte{b.seal(queue.Ask{Box: others.Public()}, o, b.permit(o, time.Now())),
		b.seal(*b.asked(w, o), o, []byte("no permit")), nil, []byte("x\x00\x00")} {
		b.leave(w, o, sealed)
	}
	b.renew(w, o, b.permit(o, time.Now()))
	b.eventually("it is refused again", func() bool { return writes.Load() == 2 })
	b.eventually("it asks again", func() bool { a := b.asked(w, o); return a != nil && a.Refused })
	b.renew(w, o, b.permit(o, time.Now().Add(2*time.Second)))
	expectFailure(t, b.ending(o), engines.System, "PERMIT_REFUSED")
	if n := writes.Load(); n != 3 {
		t.Errorf("tried %d permits, want three", n)
	}
}

// TestForgedPermits: somebody who reads and writes all of Redis, and so knows where permits go and has claims of his own, cannot
// have a worker send its outputs to his store.
func TestForgedPermits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var got atomic.Int32
	his := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	t.Cleanup(his.Close)
	w := b.hire(1, nil)
	o, other := ownOrder(t, shellParams{Script: "echo pose >out/pose", Outputs: []string{"pose"}}), ownOrder(t, shellParams{})
	o.Permit = b.permit(o, expired())
	b.enqueue(o)
	b.eventually("it asks", func() bool { a := b.asked(w, o); return a != nil && a.Refused })
	ask := *b.asked(w, o)
	elsewhere := fmt.Appendf(nil, `{"until":%q,"url":%q,"form":{}}`, time.Now().Add(time.Hour).Format(time.RFC3339), his.URL)
	anonymous, err := box.SealAnonymous(nil, elsewhere, (*[32]byte)(ask.Box), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	asOther := o
	asOther.Claim = other.Claim
	for _, forged := range [][]byte{anonymous, append(make([]byte, 32), anonymous...), b.seal(ask, asOther, elsewhere),
		b.seal(ask, other, elsewhere)} {
		b.leave(w, o, forged)
	}
	b.renew(w, o, b.permit(o, time.Now()))
	event := b.ending(o)
	expectSuccess(t, event)
	expectStored(t, b.objects, event.Result.Artifacts[0], o.OutputPrefix+"pose", "pose\n")
	if n := got.Load(); n != 0 {
		t.Errorf("his store got %d files", n)
	}
}

// A stopped attempt does not wait for a permit for its log.
func TestStoppedAttemptWaitsForNoPermit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	o := ownOrder(t, shellParams{Script: "sleep 600"})
	o.Permit = b.permit(o, expired())
	b.enqueue(o)
	b.awaitStart(o)
	b.stop(o)
	event := b.ending(o)
	expectCancelled(t, event)
	if len(event.Logs) != 0 {
		t.Errorf("stored %v without a permit", event.Logs)
	}
}

// TestWorkerWithTheStoresKey: a deployment whose store knows no forms gives its workers the key, which then ask for nothing.
func TestWorkerWithTheStoresKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(1, func(cfg *worker.Config) { cfg.Objects = b.objects })
	o := ownOrder(t, shellParams{Script: save + "save state 1; cp in/ligand out/pose\n" + untilTold, Outputs: []string{"pose"}})
	o.Inputs = []queue.ResolvedInput{{Name: "ligand", Object: b.put("ligand", "C1")}}
	o.Permit = []byte{}
	b.enqueue(o)
	b.awaitSaved(o, "checkpoint/state", "1")
	b.awaitPhase(w, o, queue.Running)
	if a := b.asked(w, o); a != nil {
		t.Errorf("it asks %+v", a)
	}
	b.tell(o)
	event := b.ending(o)
	expectSuccess(t, event)
	expectStored(t, b.objects, event.Result.Artifacts[0], o.OutputPrefix+"pose", "C1")
}

// An output that one request cannot carry is told before anything is stored.
func TestOutputLargerThanAnObject(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, nil)
	o := order(shellParams{Script: fmt.Sprintf("truncate -s %d out/large; echo small >out/small", int64(object.MaxObjectBytes)+1),
		Outputs: []string{"small", "large"}})
	o.Shard.Needs.ScratchBytes, o.Shard.Needs.FileBytes = 6<<30, 6<<30
	b.enqueue(o)
	event := b.ending(o)
	expectFailure(t, event, engines.Executor, "OUTPUT_TOO_LARGE")
	if !strings.Contains(event.Failure.Message, "5120 MiB") || len(b.keysBelow(o.OutputPrefix)) != 0 {
		t.Errorf("told %q, stored %v", event.Failure.Message, b.keysBelow(o.OutputPrefix))
	}
}
