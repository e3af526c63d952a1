package worker_test

import (
	"testing"

	"github.com/molfabric/molfabric/internal/queue"
)

// TestEverythingIsProven: all that a worker says of a guarded attempt, while it runs and when it has ended, proves the claim.
func TestEverythingIsProven(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(1, nil)
	o := order(shellParams{Script: save + "save state one\n" + untilTold})
	claim := newClaim(t)
	o.Claim = claim
	b.enqueue(o)
	proven := func(phase queue.Phase) {
		t.Helper()
		b.awaitPhase(w, o, phase)
		hb := b.heartbeat(w)
		for _, h := range hb.Held {
			if !hb.Genuine() || !h.ProvenBy(claim.Witness(), hb.Key) {
				t.Errorf("the heartbeat %d proves no claim while the attempt is %s", hb.Seq, phase)
			}
		}
	}
	b.eventually("a checkpoint is reported", func() bool { return len(b.of(o, queue.Checkpointed)) > 0 })
	proven(queue.Running)
	b.tell(o)
	b.ending(o)
	proven(queue.Reporting)
	for _, d := range b.events() {
		if !d.ProvenBy(claim.Witness()) {
			t.Errorf("the report %s proves no claim", d.Kind)
		}
	}
}
