package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// An attempt that is lost, or that the program or the fabric fails, is free as a whole. What it has saved is not lost, though: the
// attempt that goes on from there does not do that work again. So an attempt that is charged is charged with the work of those
// before it in the job's run that it went on from, each up to its last save; work that nobody went on from in the end stays free.

// keepUsage notes what an attempt had used when it last saved finished work, if an event says so. A usage that can never be priced
// is left out, as a bad checkpoint is.
func (s *Scheduler) keepUsage(ctx context.Context, c *change, owner *JobRow, task TaskRow, event queue.Event) error {
	finished := slices.ContainsFunc(event.Checkpoints, func(file queue.StoredArtifact) bool { return queue.KeepsWork(file.Name) })
	used := queue.Usage{CPUMicroseconds: event.Usage.CPUMicroseconds, GPUMicroseconds: event.Usage.GPUMicroseconds,
		WallMs: event.Usage.WallMs}
	if !finished || used == (queue.Usage{}) {
		return nil
	}
	if !s.hasPrice(owner, task, used) {
		c.then(func(context.Context) {
			s.Log.Warn("what a checkpoint has used cannot be kept", "job", task.JobID, "task", task.ID, "attempt", task.Attempt,
				"usage", used)
		})
		return nil
	}
	return c.tx.KeepWork(ctx, task, used, c.now)
}

// hasPrice reports whether a usage makes sense and can be priced.
func (s *Scheduler) hasPrice(owner *JobRow, task TaskRow, used queue.Usage) bool {
	_, err := s.meter(owner, task, used)
	return err == nil && used.WallMs >= 0
}

// billKeptWork charges the kept work of a task's earlier attempts, which its current one went on from and which is charged now.
// What is charged is no longer kept, so it is charged once.
func (s *Scheduler) billKeptWork(ctx context.Context, c *change, owner *JobRow, task TaskRow) error {
	kept, err := c.tx.TakeKeptWork(ctx, task)
	if err != nil {
		return err
	}
	for _, work := range kept {
		if work.Attempt == task.Attempt { // it is charged as a whole
			continue
		}
		price, err := s.meter(owner, task, queue.Usage{CPUMicroseconds: work.CPUMicroseconds,
			GPUMicroseconds: work.GPUMicroseconds})
		if err != nil {
			return fmt.Errorf("meter the kept work of attempt %d of %s: %w", work.Attempt, task.ID, err)
		}
		if err := c.tx.ChargeAttempt(ctx, task.ID, work.Attempt, price); err != nil {
			return err
		}
		owner.AccruedMicropence += int64(price)
		c.then(func(context.Context) {
			s.Metrics.keptWork.WithLabelValues(queue.Class(task.Queue).Engine).Add(float64(price) / float64(billing.FromPence(1)))
			s.Log.Info("kept work charged", "job", task.JobID, "task", task.ID, "attempt", work.Attempt, "resumed_by", task.Attempt,
				"micropence", price)
		})
	}
	return nil
}

// settleLost records an attempt that nobody answers for: of what it used no more is known than it had said when it last saved.
func (s *Scheduler) settleLost(ctx context.Context, c *change, task TaskRow) error {
	event := queue.Event{WorkerID: task.WorkerID.String, Ref: queue.Ref{TaskID: task.ID, Attempt: task.Attempt}}
	kept, err := c.tx.KeptWork(ctx, task)
	if err != nil {
		return err
	}
	if kept != nil {
		event.Usage = queue.Usage{CPUMicroseconds: kept.CPUMicroseconds, GPUMicroseconds: kept.GPUMicroseconds, WallMs: kept.WallMs}
	}
	if err := c.insertAttempt(ctx, task, event, "LOST", billing.Micropence(0)); err != nil {
		return err
	}
	return s.blame(ctx, c, task, task.WorkerID.String, lostCode)
}

// maxGivenBack is how many times in a row workers may give a task back before that counts as an interruption. It goes to whoever
// asks first, and the one that does not want it may ask as often as the one that does.
const (
	maxGivenBack        = 30
	firstGivenBackPause = 50 * time.Millisecond
	maxGivenBackPause   = 2 * time.Second
	// leavesSoonPause is how long a task is left alone that a worker had no time for: the next that asks has as little, as often as
	// not, until one comes that stays.
	leavesSoonPause = 10 * time.Second
)

// isGivenBack tells whether a failure says that its attempt never began. An attempt that was handed over twice may be given back by
// one worker while the other has saved work of it: that one has begun, and is settled, or its work could never be charged.
func (c *change) isGivenBack(ctx context.Context, owner *JobRow, task TaskRow, event queue.Event) (bool, error) {
	if !event.GivenBack || task.Status != job.TaskQueued || owner.Stopping {
		return false, nil
	}
	if task.GivenBack >= maxGivenBack && !leavesSoon(event.Failure) {
		return false, nil
	}
	kept, err := c.tx.KeptWork(ctx, task)
	return kept == nil, err
}

// applyGivenBack lets another worker have an attempt that was never started: it counts for nothing.
func (s *Scheduler) applyGivenBack(
	ctx context.Context, c *change, task TaskRow, event queue.Event, failure *engines.Failure,
) error {
	c.then(func(context.Context) {
		s.Metrics.givenBack.WithLabelValues(task.Queue, failure.Code).Inc()
		s.Log.Info("task given back unstarted", "job", task.JobID, "task", task.ID, "attempt", task.Attempt, "worker",
			event.WorkerID, "code", failure.Code)
	})
	if leavesSoon(failure) {
		return c.giveBackTask(ctx, task, false, c.now.Add(leavesSoonPause))
	}
	return c.giveBackTask(ctx, task, true, c.now.Add(givenBackPause(task.GivenBack)))
}

// leavesSoon tells of an attempt given back that its worker had no time for it.
func leavesSoon(failure *engines.Failure) bool {
	return failure != nil && failure.Code == queue.LeavesSoon
}

// givenBackPause is how long a task that was given back n times before is left alone: somebody else is to find it soon, and those
// who do not want it are not to be asked without end.
func givenBackPause(n int) time.Duration {
	return min(firstGivenBackPause<<min(n, 10), maxGivenBackPause)
}
