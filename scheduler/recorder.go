package scheduler

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// Recorder keeps what the jobs of one engine find as rows of its own, written in the very transactions that move the jobs and
// their tasks: neither is committed without the other. A value that Postgres refuses (error classes 22 and 23) and a document that
// encoding/json cannot read fail the attempt that reported them; every other error undoes the transaction, which is tried again.
// All methods may be called concurrently, for one job never at the same time.
type Recorder interface {
	// Submitted keeps a job that is being accepted, with its plan.
	Submitted(ctx context.Context, tx *sqlx.Tx, accepted Accepted) error
	// Moved keeps that a task has started, has been given back, or has ended. Tasks that are cancelled before they were ever
	// dispatched are not told one by one; Ended follows for their job.
	Moved(ctx context.Context, tx *sqlx.Tx, move TaskMove) error
	// Restarted forgets what the tasks of these names have found: a retry runs them again.
	Restarted(ctx context.Context, tx *sqlx.Tx, jobID string, names []string, at time.Time) error
	// Ended keeps that a job's run is over, and with which status. reason is for its owner.
	Ended(ctx context.Context, tx *sqlx.Tx, jobID string, status job.Status, reason string, at time.Time) error
}

// Accepted is a submission that is becoming a job.
type Accepted struct {
	Submission
	JobID  string
	Shards []engines.Shard
	At     time.Time
}

// TaskMove is a task's new state.
type TaskMove struct {
	JobID     string
	AccountID string
	TaskID    string
	Stage     string
	Name      string // of its shard
	To        job.TaskStatus
	Result    *queue.Result    // of a success
	Failure   *engines.Failure // of a failure
	At        time.Time
}

// Recording is a Recorder at work in one transaction.
type Recording interface {
	Submitted(ctx context.Context, accepted Accepted) error
	Moved(ctx context.Context, move TaskMove) error
	Restarted(ctx context.Context, jobID string, names []string, at time.Time) error
	Ended(ctx context.Context, jobID string, status job.Status, reason string, at time.Time) error
}

// bound is a Recorder with its transaction.
type bound struct {
	recorder Recorder
	tx       postgresTx
}

func (b bound) Submitted(ctx context.Context, accepted Accepted) error {
	if err := b.tx.Send(ctx); err != nil {
		return err
	}
	return b.recorder.Submitted(ctx, b.tx.Tx, accepted)
}

func (b bound) Moved(ctx context.Context, move TaskMove) error {
	if err := b.tx.Send(ctx); err != nil {
		return err
	}
	return b.recorder.Moved(ctx, b.tx.Tx, move)
}

func (b bound) Restarted(ctx context.Context, jobID string, names []string, at time.Time) error {
	if err := b.tx.Send(ctx); err != nil {
		return err
	}
	return b.recorder.Restarted(ctx, b.tx.Tx, jobID, names, at)
}

func (b bound) Ended(ctx context.Context, jobID string, status job.Status, reason string, at time.Time) error {
	if err := b.tx.Send(ctx); err != nil {
		return err
	}
	return b.recorder.Ended(ctx, b.tx.Tx, jobID, status, reason, at)
}

// NoRecording keeps nothing.
var NoRecording Recording = noRecording{}

type noRecording struct{}

func (noRecording) Submitted(context.Context, Accepted) error                    { return nil }
func (noRecording) Moved(context.Context, TaskMove) error                        { return nil }
func (noRecording) Restarted(context.Context, string, []string, time.Time) error { return nil }
func (noRecording) Ended(context.Context, string, job.Status, string, time.Time) error {
	return nil
}

// recordMove tells the recorder of the engine that runs a task of its new state: in a pipeline that is not always the job's.
func (c *change) recordMove(
	ctx context.Context, task TaskRow, to job.TaskStatus, result *queue.Result, failure *engines.Failure,
) error {
	owner := c.jobs[task.JobID]
	return c.tx.Recorder(queue.Class(task.Queue).Engine).Moved(ctx, TaskMove{
		JobID: owner.ID, AccountID: owner.AccountID, TaskID: task.ID, Stage: task.Stage, Name: task.Name,
		To: to, Result: result, Failure: failure, At: c.now,
	})
}
