package scheduler

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// Every change of a task's state is checked against the table of legal moves before it is stored.

// readTask locks and returns a task of a job whose lock the caller holds, or nil.
func readTask(ctx context.Context, tx *sqlx.Tx, jobID, taskID string) (*taskRow, error) {
	var row taskRow
	err := tx.GetContext(ctx, &row, `SELECT `+taskFields+` FROM tasks WHERE id = $1 AND job_id = $2 FOR NO KEY UPDATE`, taskID, jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read task %s: %w", taskID, err)
	}
	return &row, nil
}

// startTask notes that an attempt runs. Told again it changes nothing.
func startTask(ctx context.Context, c *change, task taskRow, workerID string) error {
	if task.Status == job.TaskRunning {
		return nil
	}
	if err := checkMove(task, job.TaskRunning); err != nil {
		return err
	}
	c.jobs[task.JobID].begin(c.now)
	_, err := c.tx.ExecContext(ctx, `UPDATE tasks SET status = 'RUNNING', worker_id = $2, started_at = $3, given_back = 0 WHERE id = $1`, task.ID, workerID, c.now)
	if err != nil {
		return fmt.Errorf("start task %s: %w", task.ID, err)
	}
	if err := c.recordMove(ctx, task, job.TaskRunning, nil, nil); err != nil {
		return err
	}
	return addTaskEvent(ctx, c, task, job.TaskRunning, nil)
}

// endTask ends a task, until a retry of its job perhaps. failure says why a task failed; it is nil for every other end. What a
// success has found is the caller's to record.
func endTask(ctx context.Context, c *change, task taskRow, to job.TaskStatus, failure *engines.Failure) error {
	if err := checkMove(task, to); err != nil {
		return err
	}
	if to != job.TaskCancelled {
		c.jobs[task.JobID].begin(c.now)
	}
	_, err := c.tx.ExecContext(ctx, `UPDATE tasks SET status = $2, finished_at = $3, progress = CASE WHEN $2 = 'SUCCEEDED' THEN 1 ELSE progress END
		WHERE id = $1`, task.ID, to, c.now)
	if err != nil {
		return fmt.Errorf("end task %s as %s: %w", task.ID, to, err)
	}
	if failure != nil {
		items, err := jsonOrNull(failure.Items, len(failure.Items) == 0)
		if err != nil {
			return fmt.Errorf("encode failure of %s: %w", task.ID, err)
		}
		_, err = c.tx.ExecContext(ctx, `UPDATE task_details SET failure_class = $2, error_code = $3, error_message = $4, item_failures = $5 WHERE task_id = $1`,
			task.ID, failure.Class, failure.Code, failure.Message, items)
		if err != nil {
			return fmt.Errorf("store failure of %s: %w", task.ID, err)
		}
	}
	if to != job.TaskSucceeded {
		if err := c.recordMove(ctx, task, to, nil, failure); err != nil {
			return err
		}
	}
	return addTaskEvent(ctx, c, task, to, failure)
}

// returnTask gives a task back for its next attempt, which counts against its retries or not and starts no earlier than
// notBefore.
func returnTask(ctx context.Context, c *change, task taskRow, counts bool, notBefore time.Time) error {
	if err := checkMove(task, job.TaskPending); err != nil {
		return err
	}
	_, err := c.tx.ExecContext(ctx, `UPDATE tasks SET status = 'PENDING', worker_id = NULL, progress = 0, not_before = $2,
		retries = retries + CASE WHEN $3 THEN 1 ELSE 0 END, interruptions = interruptions + CASE WHEN $3 THEN 0 ELSE 1 END
		WHERE id = $1`, task.ID, notBefore, counts)
	if err != nil {
		return fmt.Errorf("give task %s back: %w", task.ID, err)
	}
	return c.recordMove(ctx, task, job.TaskPending, nil, nil)
}

// giveBackTask lets a task wait for another worker, no earlier than notBefore. It counts as no attempt.
func giveBackTask(ctx context.Context, c *change, task taskRow, notBefore time.Time) error {
	if err := checkMove(task, job.TaskPending); err != nil {
		return err
	}
	_, err := c.tx.ExecContext(ctx, `UPDATE tasks SET status = 'PENDING', worker_id = NULL, progress = 0, not_before = $2, given_back = given_back + 1
		WHERE id = $1`, task.ID, notBefore)
	if err != nil {
		return fmt.Errorf("give task %s to another worker: %w", task.ID, err)
	}
	return c.recordMove(ctx, task, job.TaskPending, nil, nil)
}

func checkMove(task taskRow, to job.TaskStatus) error {
	if !task.Status.CanMove(to) {
		return fmt.Errorf("task %s: %w", task.ID, &job.IllegalMoveError{From: string(task.Status), To: string(to)})
	}
	return nil
}

func storeResult(ctx context.Context, c *change, taskID string, result queue.Result) error {
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
		return &unusableError{fmt.Errorf("encode summary: %w", err)}
	}
	_, err = c.tx.ExecContext(ctx, `UPDATE task_details SET summary = $2, item_failures = $3, programs = $4 WHERE task_id = $1`,
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

// insertAttempt records what an attempt used. The primary key lets an attempt be settled once.
func insertAttempt(ctx context.Context, c *change, task taskRow, event queue.Event, outcome string, price billing.Micropence) error {
	u := event.Usage
	_, err := c.tx.ExecContext(ctx, `INSERT INTO task_attempts (task_id, attempt, worker_id, outcome, cpu_us, gpu_us, wall_ms, peak_memory_bytes, bytes_in, bytes_out,
			charged_micropence, started_at, finished_at, run)
		VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14)`,
		task.ID, task.Attempt, event.WorkerID, outcome, u.CPUMicroseconds, u.GPUMicroseconds, u.WallMs, u.PeakMemoryBytes, u.BytesIn, u.BytesOut, int64(price),
		sql.NullTime{Time: u.StartedAt, Valid: !u.StartedAt.IsZero()}, c.now, c.jobs[task.JobID].Run)
	if err != nil {
		return fmt.Errorf("record attempt %d of %s: %w", task.Attempt, task.ID, err)
	}
	return nil
}

// insertArtifacts records the stored files of an attempt, in their order.
func insertArtifacts(ctx context.Context, c *change, task taskRow, artifacts []queue.StoredArtifact) error {
	if len(artifacts) == 0 {
		return nil
	}
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
	_, err := c.tx.ExecContext(ctx, `INSERT INTO artifacts (id, name, role, storage_key, sha256, media_type, format, byte_size, frame, job_id, task_id, account_id, created_at)
		SELECT *, $10, $11, $12, $13::timestamptz
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[])`,
		pq.Array(ids), pq.Array(names), pq.Array(roles), pq.Array(keys), pq.Array(digests), pq.Array(types), pq.Array(formats), pq.Array(sizes), pq.Array(shown),
		task.JobID, task.ID, task.AccountID, c.now)
	if err != nil {
		return fmt.Errorf("record %d artifacts of %s: %w", n, task.ID, err)
	}
	return nil
}

func addTaskEvent(ctx context.Context, c *change, task taskRow, status job.TaskStatus, failure *engines.Failure) error {
	body, err := taskEvent(task, status, failure)
	if err != nil {
		return fmt.Errorf("encode task event: %w", err)
	}
	return addEvent(ctx, c.tx, task.JobID, "task", body, c.now)
}
