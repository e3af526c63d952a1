package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/plans"
	"github.com/molfabric/molfabric/internal/postgres"
)

// template is a submitted job of one task, as a pattern for others: whole rows, whatever columns they have, and what the task does.
type template struct {
	job, task copied
	shard     engines.Shard
}

// readTemplate reads a job of one task.
func readTemplate(ctx context.Context, db *sqlx.DB, jobID string) (template, error) {
	t := template{job: copied{table: "jobs"}, task: copied{table: "tasks"}}
	err := errors.Join(t.job.read(ctx, db, "jobs", `id = $1`, jobID), t.task.read(ctx, db, "tasks", `job_id = $1`, jobID),
		plans.Each(ctx, db, jobID, func(_ int, shard engines.Shard) error { t.shard = shard; return nil }))
	for _, c := range []copied{t.job, t.task} {
		if err == nil && len(c.rows) != 1 {
			err = fmt.Errorf("job %s has %d rows of %s, want 1", jobID, len(c.rows), c.table)
		}
	}
	return t, err
}

// with is the row with some columns changed.
func (c copied) with(changed map[string]any) []any {
	row := slices.Clone(c.rows[0])
	for i, column := range c.columns {
		if value, named := changed[column]; named {
			row[i] = value
		}
	}
	return row
}

// copyJob writes a job like the template with so many tasks that wait, with COPY.
func copyJob(ctx context.Context, db *sqlx.DB, t template, tasks int) error {
	return postgres.InTx(ctx, db, func(tx *sqlx.Tx) error { return copyJobIn(ctx, tx, t, tasks) })
}

func copyJobIn(ctx context.Context, tx *sqlx.Tx, t template, tasks int) error {
	jobID := id.New("job_")
	ids := make([]string, tasks)
	for i := range ids {
		ids[i] = id.New("task_")
	}
	job := t.job.with(map[string]any{"id": jobID, "task_count": int64(tasks), "status": "SUBMITTED", "started_at": nil})
	if err := postgres.Copy(ctx, tx, t.job.table, t.job.columns, slices.Values([][]any{job})); err != nil {
		return err
	}
	plan := make([]engines.Shard, tasks)
	for i := range plan {
		plan[i] = t.shard
		plan[i].Name = probeName(i)
	}
	written := plans.Write(plan)
	defer written.Stop()
	err := postgres.Copy(ctx, tx, t.task.table, t.task.columns, func(yield func([]any) bool) {
		for i, taskID := range ids {
			if !yield(t.task.with(map[string]any{"id": taskID, "job_id": jobID, "ordinal": int64(i), "name": probeName(i),
				"status": "PENDING", "attempt": int64(0), "queued_at": nil, "started_at": nil, "worker_id": nil})) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return written.Insert(ctx, tx, jobID)
}

// probeName is the name of a task by its place.
func probeName(ordinal int) string { return fmt.Sprintf("probe-%05d", ordinal+1) }

// analyzeTasks does what autovacuum does some time after many rows were written.
func analyzeTasks(ctx context.Context, db *sqlx.DB) error {
	if _, err := db.ExecContext(ctx, `VACUUM (ANALYZE) tasks, plan_blocks, jobs`); err != nil {
		return fmt.Errorf("analyze the tasks: %w", err)
	}
	return nil
}

// endInFlight ends every task that has been dispatched, as if it had succeeded, and adds a job of so many tasks of each template.
func endInFlight(ctx context.Context, db *sqlx.DB, templates []template, refill int) error {
	return postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE tasks SET status = 'SUCCEEDED', finished_at = now()
			WHERE status IN ('QUEUED', 'RUNNING')`); err != nil {
			return fmt.Errorf("end what is in flight: %w", err)
		}
		for _, t := range templates {
			if refill == 0 {
				break
			}
			if err := copyJobIn(ctx, tx, t, refill); err != nil {
				return err
			}
		}
		return nil
	})
}

// dispatchTime tells whether so many tasks are in flight, and then the seconds a thousand of them took: from the pick of the first
// batch to the pick of the last.
func dispatchTime(ctx context.Context, db *sqlx.DB, tasks int) (done bool, seconds float64, err error) {
	var found struct {
		InFlight int     `db:"in_flight"`
		Before   int     `db:"before_last"` // those of all batches but the last
		Seconds  float64 `db:"seconds"`
	}
	err = db.GetContext(ctx, &found, `WITH flying AS (SELECT queued_at FROM tasks
		WHERE status = 'QUEUED'), ends AS (SELECT min(queued_at) AS first, max(queued_at) AS last FROM flying)
		SELECT count(*) AS in_flight, count(*) FILTER (WHERE queued_at < last) AS before_last, coalesce(extract(epoch
		FROM max(last) - min(first))::float8, 0) AS seconds
		FROM flying, ends`)
	if err != nil {
		return false, 0, fmt.Errorf("time the dispatch: %w", err)
	}
	if found.InFlight < tasks || found.Before == 0 {
		return false, 0, nil
	}
	return true, 1000 * found.Seconds / float64(found.Before), nil
}
