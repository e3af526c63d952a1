package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// Every change of a task's state is checked against the table of legal moves before it is stored.

// startTask notes that an attempt runs. Told again it changes nothing.
func (c *change) startTask(ctx context.Context, task TaskRow, workerID string) error {
	if task.Status == job.TaskRunning {
		return nil
	}
	if err := checkMove(task, job.TaskRunning); err != nil {
		return err
	}
	c.jobs[task.JobID].begin(c.now)
	if err := c.tx.StartTask(ctx, task.ID, workerID, c.now); err != nil {
		return err
	}
	if err := c.recordMove(ctx, task, job.TaskRunning, nil, nil); err != nil {
		return err
	}
	return c.addTaskEvent(ctx, task, job.TaskRunning, nil)
}

// endTask ends a task, until a retry of its job perhaps. failure says why a task failed; it is nil for every other end. What a
// success has found is the caller's to record.
func (c *change) endTask(ctx context.Context, task TaskRow, to job.TaskStatus, failure *engines.Failure) error {
	if err := checkMove(task, to); err != nil {
		return err
	}
	if to != job.TaskCancelled {
		c.jobs[task.JobID].begin(c.now)
	}
	if err := c.tx.EndTask(ctx, task.ID, to, c.now); err != nil {
		return err
	}
	if failure != nil {
		if err := c.tx.StoreFailure(ctx, task.ID, *failure); err != nil {
			return err
		}
	}
	if to != job.TaskSucceeded {
		if err := c.recordMove(ctx, task, to, nil, failure); err != nil {
			return err
		}
	}
	return c.addTaskEvent(ctx, task, to, failure)
}

// returnTask gives a task back for its next attempt, which counts against its retries or not and starts no earlier than
// notBefore.
func (c *change) returnTask(ctx context.Context, task TaskRow, counts bool, notBefore time.Time) error {
	if err := checkMove(task, job.TaskPending); err != nil {
		return err
	}
	if err := c.tx.ReturnTask(ctx, task.ID, counts, notBefore); err != nil {
		return err
	}
	return c.recordMove(ctx, task, job.TaskPending, nil, nil)
}

// giveBackTask lets a task wait for another worker, no earlier than notBefore. It counts as no attempt; counts tells whether as one
// of the times in a row that the task was given back.
func (c *change) giveBackTask(ctx context.Context, task TaskRow, counts bool, notBefore time.Time) error {
	if err := checkMove(task, job.TaskPending); err != nil {
		return err
	}
	if err := c.tx.GiveBackTask(ctx, task.ID, counts, notBefore); err != nil {
		return err
	}
	return c.recordMove(ctx, task, job.TaskPending, nil, nil)
}

// restartTasks makes the tasks of a job that is run again wait for their next attempt.
func (c *change) restartTasks(ctx context.Context, owner *JobRow, tasks []EndedTask) error {
	ids := make([]string, len(tasks))
	for i, task := range tasks {
		if !task.Status.CanRetry(job.TaskPending) {
			return fmt.Errorf("task %s: %w", task.ID, &job.IllegalMoveError{From: string(task.Status), To: string(job.TaskPending)})
		}
		ids[i] = task.ID
	}
	return c.tx.RestartTasks(ctx, owner, ids)
}

func checkMove(task TaskRow, to job.TaskStatus) error {
	if !task.Status.CanMove(to) {
		return fmt.Errorf("task %s: %w", task.ID, &job.IllegalMoveError{From: string(task.Status), To: string(to)})
	}
	return nil
}

// insertAttempt records what a task's current attempt used.
func (c *change) insertAttempt(
	ctx context.Context, task TaskRow, event queue.Event, outcome string, price billing.Micropence,
) error {
	return c.tx.InsertAttempt(ctx, AttemptRow{TaskID: task.ID, Attempt: task.Attempt, Run: c.jobs[task.JobID].Run,
		WorkerID: event.WorkerID, Outcome: outcome, Usage: event.Usage, Price: price, Reused: event.Reused}, c.now)
}

func (c *change) addTaskEvent(ctx context.Context, task TaskRow, status job.TaskStatus, failure *engines.Failure) error {
	body, err := taskEvent(task, status, failure)
	if err != nil {
		return fmt.Errorf("encode task event: %w", err)
	}
	return c.tx.AddEvent(ctx, task.JobID, "task", body, c.now)
}
