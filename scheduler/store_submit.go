package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
)

// taskColumns is a plan laid out for one bulk insert.
type taskColumns struct {
	ID, Stage, Name, Shard  []string
	Ordinal, StageIndex     []int64
	Essential, Ready        []bool
	Weight                  []float64
	JobID, AccountID, Queue string
	Status                  job.TaskStatus
	Priority                int
}

func insertJob(ctx context.Context, tx *sqlx.Tx, sub Submission, plan []engines.Shard, receipt Receipt, priority int) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO jobs (id, account_id, job_type, simulator, job_name, scene_file, request, recovery_mode, priority,
			status, stage_count, task_count, estimated_pence, held_pence, request_id, created_at, updated_at)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$16)`,
		receipt.JobID, sub.AccountID, sub.JobType, sub.Engine.Spec().ID, sub.JobName, sub.SceneFile.StorageKey, []byte(sub.Request),
		sub.RecoveryMode, priority, job.Submitted, plan[len(plan)-1].StageIndex+1, len(plan),
		receipt.Quote.EstimatedPence, receipt.Quote.HeldPence, sub.RequestID, receipt.CreatedAt)
	if err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	body, err := json.Marshal(map[string]any{"status": job.Submitted, "reason": "", "terminal": false})
	if err != nil {
		return fmt.Errorf("encode status event: %w", err)
	}
	if err := recordStatus(ctx, tx, receipt.JobID, job.Submitted, "", body, receipt.CreatedAt); err != nil {
		return err
	}
	rows, err := taskRows(sub, plan, receipt.JobID, priority)
	if err != nil {
		return err
	}
	return insertTasks(ctx, tx, rows)
}

func insertTasks(ctx context.Context, tx *sqlx.Tx, r taskColumns) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO tasks (id, ordinal, stage, stage_index, name, essential, weight, ready, job_id, account_id, queue, status, priority)
		SELECT *, $9, $10, $11, $12, $13::int
		FROM unnest($1::text[], $2::int[], $3::text[], $4::int[], $5::text[], $6::bool[], $7::real[], $8::bool[])`,
		pq.Array(r.ID), pq.Array(r.Ordinal), pq.Array(r.Stage), pq.Array(r.StageIndex), pq.Array(r.Name), pq.Array(r.Essential),
		pq.Array(r.Weight), pq.Array(r.Ready), r.JobID, r.AccountID, r.Queue, r.Status, r.Priority)
	if err != nil {
		return fmt.Errorf("insert %d tasks: %w", len(r.ID), err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO task_details (task_id, shard) SELECT * FROM unnest($1::text[], $2::jsonb[])`, pq.Array(r.ID), pq.Array(r.Shard))
	if err != nil {
		return fmt.Errorf("insert %d shards: %w", len(r.ID), err)
	}
	return nil
}

// insertIdempotencyKey claims a key and reports false when it is taken by a submission that has been committed. An expired
// claim is replaced.
func insertIdempotencyKey(ctx context.Context, tx *sqlx.Tx, sub Submission, fingerprint string, answer []byte, now time.Time) (bool, error) {
	if _, err := tx.ExecContext(ctx, `SET LOCAL lock_timeout = '2s'`); err != nil {
		return false, fmt.Errorf("set lock timeout: %w", err)
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO idempotency_keys (account_id, operation, key, request_sha256, response, created_at, expires_at)
		VALUES ($1,$2,$3,$4,$5,$6,$7)
		ON CONFLICT (account_id, operation, key) DO UPDATE SET request_sha256 = excluded.request_sha256, response = excluded.response,
			created_at = excluded.created_at, expires_at = excluded.expires_at
		WHERE idempotency_keys.expires_at <= excluded.created_at`,
		sub.AccountID, submitOperation, sub.IdempotencyKey, fingerprint, answer, now, now.Add(idempotencyLifetime))
	if err != nil {
		return false, asInProgress(fmt.Errorf("claim idempotency key: %w", err))
	}
	if _, err := tx.ExecContext(ctx, `SET LOCAL lock_timeout = DEFAULT`); err != nil {
		return false, fmt.Errorf("reset lock timeout: %w", err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

func readIdempotencyKey(ctx context.Context, tx *sqlx.Tx, sub Submission) (fingerprint string, answer []byte, err error) {
	err = tx.QueryRowContext(ctx, `SELECT request_sha256, response FROM idempotency_keys WHERE account_id = $1 AND operation = $2 AND key = $3`,
		sub.AccountID, submitOperation, sub.IdempotencyKey).Scan(&fingerprint, &answer)
	if err != nil {
		return "", nil, fmt.Errorf("read idempotency key: %w", err)
	}
	return fingerprint, answer, nil
}

func deleteExpiredKeys(ctx context.Context, db *sqlx.DB, now time.Time) error {
	if _, err := db.ExecContext(ctx, `DELETE FROM idempotency_keys WHERE expires_at < $1`, now); err != nil {
		return fmt.Errorf("delete expired idempotency keys: %w", err)
	}
	return nil
}
