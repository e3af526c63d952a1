package scheduler

import (
	"context"
	"time"
)

// change is one transaction that moves jobs and tasks: the jobs that it has locked, its moment, and what follows its commit.
type change struct {
	tx   Tx
	now  time.Time
	jobs map[string]*JobRow
	// doubts are set where reports are applied.
	doubts doubts
	// after is done once everything is committed: what is counted, logged and told to Redis must not speak of a transaction
	// that was rolled back.
	after []func(context.Context)
}

// then notes something to do after the commit.
func (c *change) then(do func(context.Context)) { c.after = append(c.after, do) }

// change locks the jobs in the order of their ids, runs do and rolls the jobs up, in one transaction. do may run more than
// once, each time with a fresh change. Ids that are unknown are left out of change.jobs.
func (s *Scheduler) change(ctx context.Context, jobIDs []string, do func(c *change) error) error {
	var c *change
	err := s.store.InTx(ctx, func(tx Tx) error {
		jobs, err := tx.LockJobs(ctx, jobIDs)
		if err != nil {
			return err
		}
		c = &change{tx: tx, now: s.Now().UTC(), jobs: jobs}
		if err := do(c); err != nil {
			return err
		}
		return s.rollUpAll(ctx, c)
	})
	if err != nil {
		return err
	}
	for _, do := range c.after {
		do(ctx)
	}
	return nil
}

// changeTask runs do on a task under its job's lock, if the task is still in the attempt and state that the caller saw. It
// reports whether it was.
func (s *Scheduler) changeTask(ctx context.Context, seen TaskRow, do taskChange) (bool, error) {
	changed := false
	err := s.change(ctx, []string{seen.JobID}, func(c *change) error {
		changed = false
		owner := c.jobs[seen.JobID]
		if owner == nil {
			return nil
		}
		task, err := c.tx.ReadTask(ctx, seen.JobID, seen.ID)
		if err != nil || task == nil || task.Attempt != seen.Attempt || task.Status != seen.Status {
			return err
		}
		changed = true
		return do(ctx, c, owner, *task)
	})
	return changed && err == nil, err
}

// taskChange changes one task under its job's lock.
type taskChange func(ctx context.Context, c *change, owner *JobRow, task TaskRow) error
