package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
)

type postgresStore struct {
	*sqlx.DB
	recorders map[string]Recorder
}

var _ Store = postgresStore{}

// InPostgres is the Store of a deployment. recorders keep what the jobs of some engines find, by the engines' ids.
func InPostgres(db *sqlx.DB, recorders map[string]Recorder) Store {
	return postgresStore{db, recorders}
}

// postgresTx is a transaction of Postgres.
type postgresTx struct {
	*sqlx.Tx
	billing.Books
	late      *late
	recorders map[string]Recorder
}

var _ Tx = postgresTx{}

func (db postgresStore) InTx(ctx context.Context, do func(Tx) error) error {
	return postgres.InTx(ctx, db.DB, func(tx *sqlx.Tx) error {
		late := postgresTx{Tx: tx, Books: billing.InPostgres(tx), late: newLate(), recorders: db.recorders}
		if err := do(late); err != nil {
			return err
		}
		return late.Send(ctx)
	})
}

func (tx postgresTx) Recorder(engineID string) Recording {
	if recorder, ok := tx.recorders[engineID]; ok {
		return bound{recorder, tx}
	}
	return NoRecording
}

// isRefused tells that Postgres does not take a value, now or ever.
func isRefused(err error) bool {
	var refusal *pq.Error
	return errors.As(err, &refusal) && (refusal.Code.Class() == "22" || refusal.Code.Class() == "23")
}

const jobFields = `id, account_id, simulator, status, status_reason, stage_index, stage_count, preparation_stages, task_count, attempts,
	estimated_pence, held_pence, settled_pence, accrued_micropence, charged_pence, error_code, error_message,
	failure_class, error_retryable, stopping, overspent, cancel_requested_at, cancel_reason, request_id, started_at,
	finished_at, software_micropence_per_core_hour, files_deleted_at, no_reuse`

const taskFields = `id, job_id, account_id, ordinal, stage, name, queue, status, attempt, retries, interruptions, given_back, worker_id,
	queued_at, identity, CASE WHEN claim_attempt = attempt THEN claim_witness END AS claim_witness`

func (tx postgresTx) LockJobs(ctx context.Context, ids []string) (map[string]*JobRow, error) {
	var rows []JobRow
	err := tx.SelectContext(ctx, &rows, `SELECT `+jobFields+` FROM jobs WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`,
		pq.Array(ids))
	if err != nil {
		return nil, fmt.Errorf("lock %d jobs: %w", len(ids), err)
	}
	out := make(map[string]*JobRow, len(rows))
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

func (tx postgresTx) SaveJob(ctx context.Context, r *JobRow, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE jobs SET status = $2, status_reason = $3, stage_index = $4, accrued_micropence = $5,
		charged_pence = $6,
			error_code = $7, error_message = $8, failure_class = $9, error_retryable = $10, cancel_requested_at = $11,
			cancel_reason = $12,
			started_at = $13, finished_at = $14, stopping = $15, overspent = $16, updated_at = $17
		WHERE id = $1`, r.ID, r.Status, r.StatusReason, r.StageIndex, r.AccruedMicropence, r.ChargedPence, r.ErrorCode, r.ErrorMessage,
		r.FailureClass, r.ErrorRetryable, r.CancelRequestedAt, r.CancelReason, r.StartedAt, r.FinishedAt, r.Stopping, r.Overspent,
		at)
	if err != nil {
		return fmt.Errorf("save job %s: %w", r.ID, err)
	}
	return nil
}

func (tx postgresTx) RecordStatus(ctx context.Context, jobID string, status job.Status, reason string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO job_status_history (job_id, seq, status, reason, at)
		SELECT $1, coalesce(max(seq), 0) + 1, $2, $3, $4 FROM job_status_history WHERE job_id = $1`, jobID, status, reason, at)
	if err != nil {
		return fmt.Errorf("record status %s: %w", status, err)
	}
	return nil
}

func (tx postgresTx) AddEvent(_ context.Context, jobID, kind string, body []byte, at time.Time) error {
	e := &tx.late.events
	e.jobIDs, e.kinds, e.bodies, e.at = append(e.jobIDs, jobID), append(e.kinds, kind), append(e.bodies, string(body)),
		append(e.at, at)
	return nil
}

func (tx postgresTx) Claim(ctx context.Context, claim idempotency.Claim, answer []byte, now time.Time) ([]byte, error) {
	return idempotency.Take(ctx, tx.Tx, claim, answer, now)
}

func (db postgresStore) FindAnswer(ctx context.Context, claim idempotency.Claim, now time.Time) ([]byte, error) {
	return idempotency.Find(ctx, db.DB, claim, now)
}

func (db postgresStore) ForgetAnswers(ctx context.Context, now time.Time) error {
	return idempotency.DeleteExpired(ctx, db.DB, now)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
