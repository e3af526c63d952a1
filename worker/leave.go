package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// leavePoll is how often a worker looks whether it has been idle for long enough, unless that is shorter.
	leavePoll = time.Second
	// restAfter is how long a place that a task was handed back from takes no other. The tasks of a queue are of one size as often
	// as not: without a rest a worker that is about to leave would hand back hundreds a second.
	restAfter = 10 * time.Second
)

// farewell is how long a worker takes to leave at most: its tasks have the grace to end, outputs are stored, reports committed.
func (c Config) farewell() time.Duration { return c.DrainGrace + storeGrace + farewellGrace }

// checkStay says what is wrong with how long a worker is to stay.
func (c Config) checkStay(now time.Time) error {
	if c.IdleExit < 0 {
		return fmt.Errorf("idle-exit: %s; give how long a worker may be idle before it leaves, or 0 for ever", c.IdleExit)
	}
	if !c.Until.IsZero() && !now.Before(c.lastMoment()) {
		return fmt.Errorf("until: %s leaves no time to work: a worker needs %s to leave in order, of which the drain grace is %s",
			c.Until.UTC().Format(time.RFC3339), c.farewell(), c.DrainGrace)
	}
	return nil
}

// lastMoment is when the worker must begin to leave to be gone at Until.
func (c Config) lastMoment() time.Time { return c.Until.Add(-c.farewell()) }

// tooLate reports whether a task is expected to run beyond the moment at which the worker begins to leave.
func (w *Worker) tooLate(order queue.WorkOrder) bool {
	if w.Until.IsZero() {
		return false
	}
	expected := order.ExpectedSeconds
	if expected == 0 { // of a scheduler that does not say
		expected = order.Shard.ExpectedWallSeconds()
	}
	return time.Until(w.lastMoment()).Seconds() < expected
}

// leavesSoon is how an attempt ends that was not begun because it would not have ended here.
func (w *Worker) leavesSoon() ending {
	return ending{givenBack: true, failure: systemFailure(queue.LeavesSoon,
		"the worker leaves at %s, before the task can have ended", w.Until.UTC().Format(time.RFC3339))}
}

// stay waits for the reason to leave: the context's end, that nothing was to do for IdleExit, or that Until draws near.
func (w *Worker) stay(ctx context.Context) {
	var poll, last <-chan time.Time
	if w.IdleExit > 0 {
		ticker := time.NewTicker(min(leavePoll, w.IdleExit))
		defer ticker.Stop()
		poll = ticker.C
	}
	if !w.Until.IsZero() {
		timer := time.NewTimer(time.Until(w.lastMoment()))
		defer timer.Stop()
		last = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-last:
			w.Log.Info("worker leaves: its time is over", "until", w.Until)
			return
		case <-poll:
			if w.idleFor() >= w.IdleExit {
				w.Log.Info("worker leaves: nothing was to do", "idle", w.IdleExit)
				return
			}
		}
	}
}

// idleFor is how long the worker has held nothing. What it has handed back was nothing to do.
func (w *Worker) idleFor() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		return 0
	}
	return time.Since(w.lastHeld)
}

// rest keeps a place from taking tasks for a while, or until the worker leaves.
func (w *Worker) rest(ctx context.Context) {
	timer := time.NewTimer(restAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.leaving:
	case <-ctx.Done():
	}
}
