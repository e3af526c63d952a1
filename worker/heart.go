package worker

import (
	"context"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/molfabric/molfabric/internal/queue"
)

// heartPoll is how often a draining worker looks whether it may leave.
const heartPoll = 50 * time.Millisecond

// heartLoop shows that the worker lives, learns what has been committed and what must stop.
func (w *Worker) heartLoop(ctx context.Context) {
	ticker := time.NewTicker(queue.HeartbeatInterval)
	defer ticker.Stop()
	failing := false
	for seq := int64(1); ; seq++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, err := w.beat(ctx, seq)
		if err != nil && ctx.Err() == nil && !failing {
			w.Log.Warn("heartbeat not sent; engines go on", "error", err)
		}
		failing = err != nil
	}
}

// beat sends one heartbeat and acts on the answer. It returns the number of live workers.
func (w *Worker) beat(ctx context.Context, seq int64) (int, error) {
	orders, err := w.Queue.Beat(ctx, w.heartbeat(seq))
	if err != nil {
		return 0, err
	}
	w.outbox.acknowledged(orders.Acked)
	w.mu.Lock()
	defer w.mu.Unlock()
	for ref := range orders.Stop {
		if a := w.held[ref]; a != nil {
			a.stop(errStopped)
		}
	}
	for ref, sealed := range orders.Permits {
		if a := w.held[ref]; a != nil {
			a.permit.renew(sealed)
		}
	}
	return orders.Workers, nil
}

func (w *Worker) heartbeat(seq int64) queue.Heartbeat {
	hb := queue.Heartbeat{
		WorkerID: w.id, Seq: seq, Host: hostName(), PID: os.Getpid(), Version: w.Version, Queues: w.queues(), Slots: w.Slots,
		Devices: w.devices.report(), Sandbox: w.Runner.Describe().String(), Programs: map[string]map[string]string{},
		StartedAt: w.started, Name: w.Name, Until: w.Until,
	}
	for _, offer := range w.Offered {
		hb.Programs[offer.Engine] = offer.Programs
	}
	held := map[queue.Ref]bool{}
	w.mu.Lock()
	hb.Draining = w.draining
	attempts := slices.Collect(maps.Values(w.held))
	w.mu.Unlock()
	for _, a := range attempts { // which may read what it has used, so nobody waits for the lock meanwhile
		hb.Held = append(hb.Held, a.held().Proven(a.order.Claim, w.self))
		held[a.order.Ref()] = true
	}
	// Asked last: an attempt that ends meanwhile is then in both, and never in neither.
	for ref, event := range w.outbox.refs() {
		if !held[ref] {
			reported := queue.Held{Ref: ref, JobID: event.JobID, Phase: queue.Reporting, Progress: 1}
			hb.Held = append(hb.Held, reported.Proven(event.Claim, w.self))
		}
	}
	return hb.Signed(w.self)
}
