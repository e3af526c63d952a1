package scheduler

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
)

// maxReasonRunes bounds what is kept of the caller's reason.
const maxReasonRunes = 500

// Cancel asks a job to end. Tasks that have not been dispatched end at once; dispatched ones end when their worker says so,
// and what they used until then is charged. Cancelling again is harmless.
//
// Errors: fault.NotFound for an unknown job or another account's; fault.JobNotCancellable for one that ended otherwise.
func (s *Scheduler) Cancel(ctx context.Context, accountID, jobID, reason string) (Cancellation, error) {
	var answer Cancellation
	err := postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		answer = Cancellation{}
		jobs, err := lockJobs(ctx, tx, []string{jobID})
		if err != nil {
			return err
		}
		owner := jobs[jobID]
		switch {
		case owner == nil || owner.AccountID != accountID:
			return fault.New(fault.NotFound, "job: no job of this account has the id given")
		case owner.Status == job.Cancelling || owner.Status == job.Cancelled:
			answer = Cancellation{Status: owner.Status, Already: true}
			return nil
		case owner.Status.Terminal():
			return fault.New(fault.JobNotCancellable, "job: it has already ended as %s", owner.Status)
		}
		now := s.Now().UTC()
		owner.CancelRequestedAt = sql.NullTime{Time: now, Valid: true}
		owner.CancelReason = text(orDefault(truncate(reason, maxReasonRunes), "cancelled by its owner"))
		if err := s.move(ctx, tx, owner, job.Cancelling, now); err != nil {
			return err
		}
		if err := s.rollUp(ctx, tx, owner, now); err != nil {
			return err
		}
		answer.Status = owner.Status
		return nil
	})
	if err != nil {
		return Cancellation{}, err
	}
	if answer.Status == job.Cancelling {
		if err := s.Queue.StopJob(ctx, jobID); err != nil {
			// The watch sends it again: the cancel is committed.
			s.Log.Warn("stop order not sent yet", "job", jobID, "error", err)
		}
		s.announce(ctx)
	}
	return answer, nil
}

// pursueCancels repeats the stop orders of cancelling jobs, which Redis may have lost, and ends their tasks that still wait in
// a queue.
func (s *Scheduler) pursueCancels(ctx context.Context) error {
	waiting, err := cancellingTasks(ctx, s.DB)
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, task := range waiting {
		if !told[task.JobID] {
			told[task.JobID] = true
			if err := s.Queue.StopJob(ctx, task.JobID); err != nil {
				return err
			}
		}
		if task.Status != job.TaskQueued {
			continue
		}
		removed, err := s.Queue.Remove(task.Queue, queue.Ref{TaskID: task.ID, Attempt: task.Attempt})
		if err != nil {
			return err
		}
		if removed {
			if err := s.withTask(ctx, task, s.dropUnstarted); err != nil {
				return err
			}
		}
	}
	return nil
}

// withTask runs change on a task under its job's lock, if it is still in the attempt and state that the caller saw, and rolls
// the job up.
func (s *Scheduler) withTask(ctx context.Context, seen taskRow, change taskChange) error {
	err := postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		now := s.Now().UTC()
		jobs, err := lockJobs(ctx, tx, []string{seen.JobID})
		if err != nil {
			return err
		}
		owner := jobs[seen.JobID]
		if owner == nil {
			return nil
		}
		task, err := readTask(ctx, tx, seen.JobID, seen.ID)
		if err != nil {
			return err
		}
		if task == nil || task.Attempt != seen.Attempt || task.Status != seen.Status {
			return nil
		}
		if err := change(ctx, tx, owner, *task, now); err != nil {
			return err
		}
		return s.rollUp(ctx, tx, owner, now)
	})
	if err != nil {
		return fmt.Errorf("task %s: %w", seen.ID, err)
	}
	return nil
}

func truncate(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes])
	}
	return s
}
