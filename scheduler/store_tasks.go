package scheduler

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

func (tx postgresTx) ReadTask(ctx context.Context, jobID, taskID string) (*TaskRow, error) {
	if known, ok := tx.known(jobID, taskID); ok {
		return known, nil
	}
	var row TaskRow
	err := tx.GetContext(ctx, &row, `SELECT `+taskFields+` FROM tasks WHERE id = $1 AND job_id = $2 FOR NO KEY UPDATE`, taskID,
		jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read task %s: %w", taskID, err)
	}
	return &row, nil
}

func (tx postgresTx) StartTask(_ context.Context, taskID, workerID string, at time.Time) error {
	tx.move(taskID, func(m *taskMoved, row *TaskRow) {
		m.status, m.worker, m.started = job.TaskRunning, sql.NullString{String: workerID, Valid: true},
			sql.NullTime{Time: at, Valid: true}
		row.WorkerID, row.GivenBack = m.worker, 0
	})
	return nil
}

func (tx postgresTx) EndTask(_ context.Context, taskID string, to job.TaskStatus, at time.Time) error {
	tx.move(taskID, func(m *taskMoved, _ *TaskRow) { m.status, m.finished = to, sql.NullTime{Time: at, Valid: true} })
	return nil
}

func (tx postgresTx) StoreFailure(ctx context.Context, taskID string, failure engines.Failure) error {
	items, err := jsonOrNull(failure.Items, len(failure.Items) == 0)
	if err != nil {
		return fmt.Errorf("encode failure of %s: %w", taskID, err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO task_details (task_id, failure_class, error_code, error_message, item_failures)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (task_id) DO UPDATE SET failure_class = excluded.failure_class, error_code = excluded.error_code,
			error_message = excluded.error_message, item_failures = excluded.item_failures`,
		taskID, failure.Class, failure.Code, failure.Message, items)
	if err != nil {
		return fmt.Errorf("store failure of %s: %w", taskID, err)
	}
	return nil
}

func (tx postgresTx) ReturnTask(ctx context.Context, taskID string, counts bool, notBefore time.Time) error {
	tx.forget(taskID)
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'PENDING', worker_id = NULL, progress = 0, not_before = $2,
		retries = retries + CASE WHEN $3 THEN 1 ELSE 0 END, interruptions = interruptions + CASE WHEN $3 THEN 0 ELSE 1 END
		WHERE id = $1`, taskID, notBefore, counts)
	if err != nil {
		return fmt.Errorf("give task %s back: %w", taskID, err)
	}
	return nil
}

func (tx postgresTx) GiveBackTask(ctx context.Context, taskID string, counts bool, notBefore time.Time) error {
	tx.forget(taskID)
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'PENDING', worker_id = NULL, progress = 0, not_before = $2,
		given_back = given_back + CASE WHEN $3 THEN 1 ELSE 0 END
		WHERE id = $1`, taskID, notBefore, counts)
	if err != nil {
		return fmt.Errorf("give task %s to another worker: %w", taskID, err)
	}
	return nil
}

func (tx postgresTx) StoreResult(_ context.Context, taskID string, result queue.Result) error {
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
	tx.late.results.add(taskID, summary, failures, programs, result.Toolchain)
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
func (tx postgresTx) InsertAttempt(_ context.Context, a AttemptRow, at time.Time) error {
	tx.late.attempts = append(tx.late.attempts, lateAttempt{a, at})
	return nil
}

func (tx postgresTx) InsertArtifacts(_ context.Context, task TaskRow, artifacts []queue.StoredArtifact, at time.Time) error {
	for _, file := range artifacts {
		tx.late.artifacts.add(id.New("art_"), task, file, at)
	}
	return nil
}
