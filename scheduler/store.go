package scheduler

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/job"
)

// Every transaction here locks the jobs that it touches first, in the order of their ids, then their tasks; so no two of them
// can wait for each other.

// jobRow is the part of a job's row that the scheduler decides on.
type jobRow struct {
	ID                string         `db:"id"`
	AccountID         string         `db:"account_id"`
	Simulator         sql.NullString `db:"simulator"`
	Status            job.Status     `db:"status"`
	StatusReason      sql.NullString `db:"status_reason"`
	StageIndex        int            `db:"stage_index"`
	StageCount        int            `db:"stage_count"`
	TaskCount         int            `db:"task_count"`
	Run               int            `db:"attempts"`
	EstimatedPence    int64          `db:"estimated_pence"`
	HeldPence         int64          `db:"held_pence"`
	SettledPence      int64          `db:"settled_pence"` // see runMoney
	AccruedMicropence int64          `db:"accrued_micropence"`
	ChargedPence      sql.NullInt64  `db:"charged_pence"`
	ErrorCode         sql.NullString `db:"error_code"`
	ErrorMessage      sql.NullString `db:"error_message"`
	FailureClass      sql.NullString `db:"failure_class"`
	ErrorRetryable    bool           `db:"error_retryable"`
	Stopping          bool           `db:"stopping"`
	CancelRequestedAt sql.NullTime   `db:"cancel_requested_at"`
	CancelReason      sql.NullString `db:"cancel_reason"`
	RequestID         string         `db:"request_id"`
	SoftwareFee       int64          `db:"software_micropence_per_core_hour"`
	StartedAt         sql.NullTime   `db:"started_at"`
	FinishedAt        sql.NullTime   `db:"finished_at"`
}

const jobFields = `id, account_id, simulator, status, status_reason, stage_index, stage_count, task_count, attempts, estimated_pence, held_pence,
	settled_pence, accrued_micropence, charged_pence, error_code, error_message, failure_class, error_retryable, stopping, cancel_requested_at, cancel_reason, request_id, started_at, finished_at,
	software_micropence_per_core_hour`

// taskRow is a task as the scheduler handles it. Shard is filled by queueTasks alone.
type taskRow struct {
	ID            string         `db:"id"`
	JobID         string         `db:"job_id"`
	AccountID     string         `db:"account_id"`
	Ordinal       int            `db:"ordinal"`
	Stage         string         `db:"stage"`
	Name          string         `db:"name"`
	Queue         string         `db:"queue"`
	Status        job.TaskStatus `db:"status"`
	Attempt       int            `db:"attempt"`
	Retries       int            `db:"retries"`
	Interruptions int            `db:"interruptions"`
	GivenBack     int            `db:"given_back"`
	WorkerID      sql.NullString `db:"worker_id"`
	Shard         []byte         `db:"shard"`
}

const taskFields = `id, job_id, account_id, ordinal, stage, name, queue, status, attempt, retries, interruptions, given_back, worker_id`

// lockJobs locks the jobs in the order of their ids. Unknown ids are left out.
func lockJobs(ctx context.Context, tx *sqlx.Tx, ids []string) (map[string]*jobRow, error) {
	var rows []jobRow
	err := tx.SelectContext(ctx, &rows, `SELECT `+jobFields+` FROM jobs WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, pq.Array(ids))
	if err != nil {
		return nil, fmt.Errorf("lock %d jobs: %w", len(ids), err)
	}
	out := make(map[string]*jobRow, len(rows))
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

func saveJob(ctx context.Context, c *change, r *jobRow) error {
	_, err := c.tx.ExecContext(ctx, `UPDATE jobs SET status = $2, status_reason = $3, stage_index = $4, accrued_micropence = $5, charged_pence = $6,
			error_code = $7, error_message = $8, failure_class = $9, error_retryable = $10, cancel_requested_at = $11, cancel_reason = $12,
			started_at = $13, finished_at = $14, stopping = $15, updated_at = $16
		WHERE id = $1`, r.ID, r.Status, r.StatusReason, r.StageIndex, r.AccruedMicropence, r.ChargedPence, r.ErrorCode, r.ErrorMessage,
		r.FailureClass, r.ErrorRetryable, r.CancelRequestedAt, r.CancelReason, r.StartedAt, r.FinishedAt, r.Stopping, c.now)
	if err != nil {
		return fmt.Errorf("save job %s: %w", r.ID, err)
	}
	return nil
}

// recordStatus appends to a job's history and tells its watchers.
func recordStatus(ctx context.Context, tx *sqlx.Tx, jobID string, status job.Status, reason string, body []byte, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO job_status_history (job_id, seq, status, reason, at)
		SELECT $1, coalesce(max(seq), 0) + 1, $2, $3, $4 FROM job_status_history WHERE job_id = $1`, jobID, status, reason, now)
	if err != nil {
		return fmt.Errorf("record status %s: %w", status, err)
	}
	return addEvent(ctx, tx, jobID, "status", body, now)
}

func addEvent(ctx context.Context, tx *sqlx.Tx, jobID, kind string, body []byte, now time.Time) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO job_events (job_id, kind, body, at) VALUES ($1,$2,$3,$4)`, jobID, kind, body, now); err != nil {
		return fmt.Errorf("add %s event: %w", kind, err)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
