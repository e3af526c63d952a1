package scheduler

import (
	"context"
	"database/sql"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// maxReasonRunes bounds what is kept of the caller's reason.
const maxReasonRunes = 500

// Cancel asks a job to end. Tasks that have not been dispatched end at once; dispatched ones end when their worker says so,
// and what they used until then is charged. Cancelling again is harmless.
//
// Errors: fault.NotFound for an unknown job or another account's; fault.JobNotCancellable for one that ended otherwise.
func (s *Scheduler) Cancel(ctx context.Context, accountID, jobID, reason string) (Cancellation, error) {
	var owner *JobRow
	already := false
	err := s.change(ctx, []string{jobID}, func(c *change) error {
		owner = c.jobs[jobID]
		switch {
		case owner == nil || owner.AccountID != accountID:
			return fault.New(fault.NotFound, "job: no job of this account has the id given")
		case owner.Status == job.Cancelling || owner.Status == job.Cancelled:
			already = true
			return nil
		case owner.Status.Terminal():
			return fault.New(fault.JobNotCancellable, "job: it has already ended as %s", owner.Status)
		}
		already = false
		owner.CancelRequestedAt = sql.NullTime{Time: c.now, Valid: true}
		owner.CancelReason = text(orDefault(truncate(reason, maxReasonRunes), "cancelled by its owner"))
		return s.move(ctx, c, owner, job.Cancelling)
	})
	if err != nil {
		return Cancellation{}, err
	}
	if !already {
		s.announce(ctx)
	}
	return Cancellation{Status: owner.Status, Already: already}, nil
}

// stopInFlight tells the workers, after the commit, to stop what they do for a job. It is only the first time of telling:
// pursueStops repeats it.
func (s *Scheduler) stopInFlight(ctx context.Context, c *change, jobID string) error {
	refs, err := c.tx.RefsInFlight(ctx, jobID)
	if err != nil {
		return err
	}
	c.then(func(ctx context.Context) {
		if err := s.Queue.StopAttempts(ctx, refs...); err != nil {
			s.Log.Warn("stop orders not sent yet", "job", jobID, "error", err)
		}
	})
	return nil
}

// pursueStops repeats the stop orders of jobs that are being stopped, which Redis may have lost, and ends their tasks that
// still wait in a queue.
func (s *Scheduler) pursueStops(ctx context.Context) error {
	tasks, err := s.store.TasksToStop(ctx)
	if err != nil {
		return err
	}
	refs := make([]queue.Ref, len(tasks))
	for i, task := range tasks {
		refs[i] = queue.Ref{TaskID: task.ID, Attempt: task.Attempt}
	}
	if err := s.Queue.StopAttempts(ctx, refs...); err != nil {
		return err
	}
	for i, task := range tasks {
		if task.Status != job.TaskQueued {
			continue
		}
		removed, err := s.Queue.Remove(task.Queue, refs[i])
		if err != nil {
			return err
		}
		if removed {
			if _, err := s.changeTask(ctx, task, s.dropUnstarted); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropUnstarted ends a queued task of a job that is being stopped.
func (s *Scheduler) dropUnstarted(ctx context.Context, c *change, _ *JobRow, task TaskRow) error {
	return c.endTask(ctx, task, job.TaskCancelled, nil)
}

func truncate(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes])
	}
	return s
}
