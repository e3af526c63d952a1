package bench

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// readPickups reads, for each attempt of jobs, the seconds from the job's acceptance to the start of the attempt's program.
func readPickups(ctx context.Context, db *sqlx.DB, jobs []string) ([]float64, error) {
	var waits []float64
	err := db.SelectContext(ctx, &waits, `SELECT extract(epoch FROM a.started_at - j.created_at)::float8
		FROM jobs j JOIN tasks t ON t.job_id = j.id JOIN task_attempts a ON a.task_id = t.id WHERE j.id = ANY($1)`, pq.Array(jobs))
	if err != nil {
		return nil, fmt.Errorf("read the pickups of %d jobs: %w", len(jobs), err)
	}
	if len(waits) != len(jobs) {
		return nil, fmt.Errorf("%d jobs of one task had %d attempts", len(jobs), len(waits))
	}
	return waits, nil
}

// runningTask is a task whose current attempt has started.
type runningTask struct {
	ID       string `db:"id"`
	JobID    string `db:"job_id"`
	Attempt  int    `db:"attempt"`
	WorkerID string `db:"worker_id"`
}

func readRunning(ctx context.Context, db *sqlx.DB, jobID string) ([]runningTask, error) {
	var tasks []runningTask
	err := db.SelectContext(ctx, &tasks, `SELECT id, job_id, attempt, worker_id FROM tasks WHERE job_id = $1 AND status = 'RUNNING'
		ORDER BY ordinal`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read what runs of %s: %w", jobID, err)
	}
	return tasks, nil
}
