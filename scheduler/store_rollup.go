package scheduler

import (
	"context"
	"fmt"
	"time"
)

// TaskStates leaps from one combination to the next through the index tasks_by_state and so looks at a few dozen entries where
// counting would read every task of the job at every report of one.
func (tx postgresTx) TaskStates(ctx context.Context, jobID string) ([]TaskState, error) {
	var rows []TaskState
	err := tx.SelectContext(ctx, &rows, `
		WITH RECURSIVE leap AS (
			(SELECT stage_index, status, essential FROM tasks WHERE job_id = $1 ORDER BY stage_index, status, essential LIMIT 1)
			UNION ALL
			SELECT after.* FROM leap, LATERAL (
				SELECT t.stage_index, t.status, t.essential FROM tasks t
				WHERE t.job_id = $1 AND (t.stage_index, t.status, t.essential) > (leap.stage_index, leap.status, leap.essential)
				ORDER BY t.stage_index, t.status, t.essential LIMIT 1
			) after
		)
		SELECT stage_index, status, essential FROM leap`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read states of tasks: %w", err)
	}
	return rows, nil
}

func (tx postgresTx) HasItemFailures(ctx context.Context, jobID string) (has bool, err error) {
	err = tx.GetContext(ctx, &has, `SELECT EXISTS (SELECT 1 FROM tasks t JOIN task_details d ON d.task_id = t.id
			WHERE t.job_id = $1 AND t.status = 'SUCCEEDED' AND d.item_failures IS NOT NULL)`, jobID)
	if err != nil {
		return false, fmt.Errorf("look for item failures: %w", err)
	}
	return has, nil
}

func (tx postgresTx) HasUsed(ctx context.Context, jobID string, run, fromStage int) (has bool, err error) {
	if err := tx.Send(ctx); err != nil { // of attempts that were settled just now
		return false, err
	}
	err = tx.GetContext(ctx, &has, `SELECT EXISTS (SELECT 1 FROM tasks t JOIN task_attempts a ON a.task_id = t.id
			WHERE t.job_id = $1 AND t.stage_index >= $3 AND a.run = $2 AND a.charged_micropence > 0)`, jobID, run, fromStage)
	if err != nil {
		return false, fmt.Errorf("look for the use of run %d: %w", run, err)
	}
	return has, nil
}

func (tx postgresTx) ReadyStage(ctx context.Context, jobID string, stageIndex int, at time.Time) error {
	_, err := tx.ExecContext(ctx, `WITH opened AS (UPDATE jobs SET stage_at = $3 WHERE id = $1)
		UPDATE tasks SET ready = true WHERE job_id = $1 AND stage_index = $2 AND status = 'PENDING'`, jobID, stageIndex, at)
	if err != nil {
		return fmt.Errorf("open stage %d: %w", stageIndex, err)
	}
	return nil
}

func (tx postgresTx) CancelPending(ctx context.Context, jobID string, at time.Time) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'CANCELLED', finished_at = $2
		WHERE job_id = $1 AND status = 'PENDING'`, jobID, at)
	if err != nil {
		return fmt.Errorf("cancel pending tasks: %w", err)
	}
	return nil
}

func (tx postgresTx) Failures(ctx context.Context, jobID string) ([]FailedTask, error) {
	var rows []FailedTask
	err := tx.SelectContext(ctx, &rows, `SELECT coalesce(d.failure_class, 'SYSTEM') AS failure_class, coalesce(d.error_code,
		'') AS error_code,
			coalesce(d.error_message, '') AS error_message, count(*) OVER () AS count, t.essential,
			bool_or(d.failure_class IS DISTINCT FROM 'USER_INPUT') OVER ()
				AND NOT bool_or(t.essential AND d.failure_class IS NOT DISTINCT FROM 'USER_INPUT') OVER () AS retryable
		FROM tasks t LEFT JOIN task_details d ON d.task_id = t.id
		WHERE t.job_id = $1 AND t.status = 'FAILED' ORDER BY t.essential DESC, t.run DESC, t.ordinal LIMIT 1`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read failures: %w", err)
	}
	return rows, nil
}
