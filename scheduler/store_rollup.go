package scheduler

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
)

// readSnapshot reads which states a job's tasks are in, by stage. It leaps from one combination to the next through the index
// tasks_by_state and so looks at a few dozen entries where counting would read every task of the job at every report of one.
func readSnapshot(ctx context.Context, tx *sqlx.Tx, owner *jobRow) (job.Snapshot, error) {
	var rows []struct {
		StageIndex int            `db:"stage_index"`
		Status     job.TaskStatus `db:"status"`
		Essential  bool           `db:"essential"`
	}
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
		SELECT stage_index, status, essential FROM leap`, owner.ID)
	if err != nil {
		return job.Snapshot{}, fmt.Errorf("read states of tasks: %w", err)
	}
	s := job.Snapshot{
		Status: owner.Status, StageIndex: owner.StageIndex, StageCount: owner.StageCount, Started: owner.StartedAt.Valid, Overspent: owner.overspent(),
	}
	for _, r := range rows {
		s.All.Add(r.Status, 1)
		if r.StageIndex == owner.StageIndex {
			s.Stage.Add(r.Status, 1)
		}
		if r.Status == job.TaskFailed && r.Essential {
			s.EssentialFailed = true
		}
	}
	if s.All.Open() == 0 {
		err = tx.GetContext(ctx, &s.ItemFailures, `SELECT EXISTS (SELECT 1 FROM tasks t JOIN task_details d ON d.task_id = t.id
			WHERE t.job_id = $1 AND t.status = 'SUCCEEDED' AND d.item_failures IS NOT NULL)`, owner.ID)
		if err != nil {
			return s, fmt.Errorf("look for item failures: %w", err)
		}
	}
	return s, nil
}

func readyStage(ctx context.Context, tx *sqlx.Tx, jobID string, stageIndex int) error {
	_, err := tx.ExecContext(ctx, `UPDATE tasks SET ready = true WHERE job_id = $1 AND stage_index = $2 AND status = 'PENDING'`, jobID, stageIndex)
	if err != nil {
		return fmt.Errorf("open stage %d: %w", stageIndex, err)
	}
	return nil
}

// cancelPending ends the tasks that have not been dispatched. Watchers learn it from the job's own event: there may be
// thousands.
func cancelPending(ctx context.Context, c *change, jobID string) error {
	_, err := c.tx.ExecContext(ctx, `UPDATE tasks SET status = 'CANCELLED', finished_at = $2 WHERE job_id = $1 AND status = 'PENDING'`, jobID, c.now)
	if err != nil {
		return fmt.Errorf("cancel pending tasks: %w", err)
	}
	return nil
}

// failedTask is why a task failed for good. Count is the number of failed tasks of the job; Retryable says that some of them may
// succeed in a retry, and that none without which it cannot succeed is the user's to correct.
type failedTask struct {
	Class     engines.FailureClass `db:"failure_class"`
	Code      string               `db:"error_code"`
	Message   string               `db:"error_message"`
	Count     int                  `db:"count"`
	Retryable bool                 `db:"retryable"`
}

// readFailures returns the failure of a job that tells most, at most one: an essential task's first, then the latest run's, then
// the earliest of the plan.
func readFailures(ctx context.Context, tx *sqlx.Tx, jobID string) ([]failedTask, error) {
	var rows []failedTask
	err := tx.SelectContext(ctx, &rows, `SELECT coalesce(d.failure_class, 'SYSTEM') AS failure_class, coalesce(d.error_code, '') AS error_code,
			coalesce(d.error_message, '') AS error_message, count(*) OVER () AS count,
			bool_or(d.failure_class IS DISTINCT FROM 'USER_INPUT') OVER ()
				AND NOT bool_or(t.essential AND d.failure_class IS NOT DISTINCT FROM 'USER_INPUT') OVER () AS retryable
		FROM tasks t JOIN task_details d ON d.task_id = t.id
		WHERE t.job_id = $1 AND t.status = 'FAILED' ORDER BY t.essential DESC, t.run DESC, t.ordinal LIMIT 1`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read failures: %w", err)
	}
	return rows, nil
}
