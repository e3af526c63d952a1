package bench

import (
	"context"
	"sync"
	"time"

	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
)

// probeQueue is where the probe's tasks wait.
const probeQueue = "cpu." + probe.ID

// announced is a worker in its heartbeats alone: the scheduler dispatches for its slots, and nobody claims.
type announced struct {
	id      string
	queue   *queue.Queue
	slots   int
	started time.Time
	stop    context.CancelFunc
	done    sync.WaitGroup
}

// announce lets the fleet have so many more slots until silence is called.
func announce(ctx context.Context, q *queue.Queue, slots int) (*announced, error) {
	beating, stop := context.WithCancel(ctx)
	a := &announced{id: id.New("wrk_"), queue: q, slots: slots, started: time.Now().UTC(), stop: stop}
	if err := a.beat(ctx, 0); err != nil {
		stop()
		return nil, err
	}
	a.done.Go(func() {
		ticker := time.NewTicker(queue.HeartbeatInterval)
		defer ticker.Stop()
		for seq := int64(1); ; seq++ {
			select {
			case <-beating.Done():
				return
			case <-ticker.C:
				_ = a.beat(beating, seq) // what is missed is said again a second later
			}
		}
	})
	return a, nil
}

// beat sends one heartbeat. What has been acknowledged is dropped: nothing is sent again.
func (a *announced) beat(ctx context.Context, seq int64) error {
	_, err := a.queue.Beat(ctx, queue.Heartbeat{WorkerID: a.id, Seq: seq, Queues: []string{probeQueue}, Slots: a.slots,
		StartedAt: a.started})
	return err
}

// silence ends the worker with a goodbye.
func (a *announced) silence(ctx context.Context) error {
	a.stop()
	a.done.Wait()
	return a.queue.Forget(context.WithoutCancel(ctx), a.id)
}
