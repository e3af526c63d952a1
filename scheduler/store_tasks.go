package scheduler

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

func (tx postgresTx) ReadTask(ctx context.Context, jobID, taskID string) (*TaskRow, error) {
	var row TaskRow
	err := tx.GetContext(ctx, &row, `SELECT `+taskFields+` FROM tasks WHERE id = $1 AND job_id = $2 FOR NO KEY UPDATE`, taskID, jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read task %s: %w", taskID, err)
	}
	return &row, nil
}

func (tx postgresTx) StartTask(ctx context.Context, taskID, workerID string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'RUNNING', worker_id = $2, started_at = $3, given_back = 0 WHERE id = $1`, taskID, workerID, at)
	if err != nil {
		return fmt.Errorf("start task %s: %w", taskID, err)
	}
	return nil
}

func (tx postgresTx) EndTask(ctx context.Context, taskID string, to job.TaskStatus, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = $2, finished_at = $3, progress = CASE WHEN $2 = 'SUCCEEDED' THEN 1 ELSE progress END
		WHERE id = $1`, taskID, to, at)
	if err != nil {
		return fmt.Errorf("end task %s as %s: %w", taskID, to, err)
	}
	return nil
}

func (tx postgresTx) StoreFailure(ctx context.Context, taskID string, failure engines.Failure) error {
	items, err := jsonOrNull(failure.Items, len(failure.Items) == 0)
	if err != nil {
		return fmt.Errorf("encode failure of %s: %w", taskID, err)
	}
	_, err = tx.ExecContext(ctx, `UPDATE task_details SET failure_class = $2, error_code = $3, error_message = $4, item_failures = $5 WHERE task_id = $1`,
		taskID, failure.Class, failure.Code, failure.Message, items)
	if err != nil {
		return fmt.Errorf("store failure of %s: %w", taskID, err)
	}
	return nil
}

func (tx postgresTx) ReturnTask(ctx context.Context, taskID string, counts bool, notBefore time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'PENDING', worker_id = NULL, progress = 0, not_before = $2,
		retries = retries + CASE WHEN $3 THEN 1 ELSE 0 END, interruptions = interruptions + CASE WHEN $3 THEN 0 ELSE 1 END
		WHERE id = $1`, taskID, notBefore, counts)
	if err != nil {
		return fmt.Errorf("give task %s back: %w", taskID, err)
	}
	return nil
}

func (tx postgresTx) GiveBackTask(ctx context.Context, taskID string, notBefore time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'PENDING', worker_id = NULL, progress = 0, not_before = $2, given_back = given_back + 1
		WHERE id = $1`, taskID, notBefore)
	if err != nil {
		return fmt.Errorf("give task %s to another worker: %w", taskID, err)
	}
	return nil
}

func (tx postgresTx) StoreResult(ctx context.Context, taskID string, result queue.Result) error {
	failures, err := jsonOrNull(result.Failures, len(result.Failures) == 0)
	if err != nil {
		return fmt.Errorf("encode item failures: %w", err)
	}
	programs, err := jsonOrNull(result.Programs, false)
	if err != nil {
		return fmt.Errorf("encode programs: %w", err)
	}
	summary, err := jsonOrNull(json.RawMessage(result.Summary), len(result.Summary) == 0)
	if err != nil {
		return &UnusableError{fmt.Errorf("encode summary: %w", err)}
	}
	_, err = tx.ExecContext(ctx, `UPDATE task_details SET summary = $2, item_failures = $3, programs = $4 WHERE task_id = $1`,
		taskID, summary, failures, programs)
	if err != nil {
		return fmt.Errorf("store result of %s: %w", taskID, err)
	}
	return nil
}

// jsonOrNull is a value for a jsonb column: SQL's NULL, and not JSON's, when there is nothing to store.
func jsonOrNull(value any, empty bool) ([]byte, error) {
	if empty {
		return nil, nil
	}
	return json.Marshal(value)
}

// InsertAttempt relies on the primary key, which lets an attempt be settled once.
func (tx postgresTx) InsertAttempt(ctx context.Context, a AttemptRow, at time.Time) error {
	u := a.Usage
	_, err := tx.ExecContext(ctx, `INSERT INTO task_attempts (task_id, attempt, worker_id, outcome, cpu_us, gpu_us, wall_ms, peak_memory_bytes, bytes_in, bytes_out,
			charged_micropence, started_at, finished_at, run)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)`,
		a.TaskID, a.Attempt, a.WorkerID, a.Outcome, u.CPUMicroseconds, u.GPUMicroseconds, u.WallMs, u.PeakMemoryBytes, u.BytesIn, u.BytesOut, int64(a.Price),
		sql.NullTime{Time: u.StartedAt, Valid: !u.StartedAt.IsZero()}, at, a.Run)
	if err != nil {
		return fmt.Errorf("record attempt %d of %s: %w", a.Attempt, a.TaskID, err)
	}
	return nil
}

func (tx postgresTx) InsertArtifacts(ctx context.Context, task TaskRow, artifacts []queue.StoredArtifact, at time.Time) error {
	n := len(artifacts)
	ids, names, roles, keys := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	digests, types, formats, sizes, shown := make([]string, n), make([]string, n), make([]string, n), make([]int64, n), make([]sql.NullInt64, n)
	for i, a := range artifacts {
		ids[i], names[i], roles[i], keys[i] = id.New("art_"), a.Name, string(a.Role), a.StorageKey
		digests[i], types[i], formats[i], sizes[i] = a.SHA256, a.MediaType, a.Format, a.ByteSize
		if a.Frame != nil {
			shown[i] = sql.NullInt64{Int64: *a.Frame, Valid: true}
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO artifacts (id, name, role, storage_key, sha256, media_type, format, byte_size, frame, job_id, task_id, account_id, created_at)
		SELECT *, $10, $11, $12, $13::timestamptz
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[])`,
		pq.Array(ids), pq.Array(names), pq.Array(roles), pq.Array(keys), pq.Array(digests), pq.Array(types), pq.Array(formats), pq.Array(sizes), pq.Array(shown),
		task.JobID, task.ID, task.AccountID, at)
	if err != nil {
		return fmt.Errorf("record %d artifacts of %s: %w", n, task.ID, err)
	}
	return nil
}
