package scheduler

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/plans"
	"github.com/molfabric/molfabric/internal/queue"
)

func (db postgresStore) TasksInFlight(ctx context.Context) ([]TaskRow, error) {
	var rows []TaskRow
	err := db.SelectContext(ctx, &rows, `SELECT `+taskFields+` FROM tasks WHERE status IN ('QUEUED', 'RUNNING') ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read tasks in flight: %w", err)
	}
	return rows, nil
}

func (db postgresStore) TasksToStop(ctx context.Context) ([]TaskRow, error) {
	var rows []TaskRow
	err := db.SelectContext(ctx, &rows, `SELECT `+taskFields+` FROM tasks WHERE status IN ('QUEUED', 'RUNNING')
		AND job_id IN (SELECT id FROM jobs WHERE finished_at IS NULL AND stopping) ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read tasks to stop: %w", err)
	}
	return rows, nil
}

func (db postgresStore) Spenders(ctx context.Context, jobIDs []string) ([]JobRow, error) {
	var rows []JobRow
	err := db.SelectContext(ctx, &rows, `SELECT `+jobFields+
		` FROM jobs WHERE id = ANY($1) AND finished_at IS NULL AND NOT stopping ORDER BY id`,
		pq.Array(jobIDs))
	if err != nil {
		return nil, fmt.Errorf("read what %d jobs have used: %w", len(jobIDs), err)
	}
	return rows, nil
}

func (db postgresStore) Running(ctx context.Context, tasks []TaskRow) (map[queue.Ref]Running, error) {
	ids, places := make([]string, len(tasks)), make([]plans.Place, len(tasks))
	for i, task := range tasks {
		ids[i], places[i] = task.ID, plans.Place{JobID: task.JobID, Ordinal: task.Ordinal}
	}
	var rows []struct {
		ID        string    `db:"id"`
		Attempt   int       `db:"attempt"`
		StartedAt time.Time `db:"started_at"`
	}
	err := db.SelectContext(ctx, &rows, `SELECT id, attempt, started_at FROM tasks
		WHERE id = ANY($1) AND status = 'RUNNING' AND started_at IS NOT NULL`, pq.Array(ids))
	if err != nil {
		return nil, fmt.Errorf("read since when %d tasks run: %w", len(tasks), err)
	}
	shards, err := plans.At(ctx, db, places)
	if err != nil {
		return nil, err
	}
	needs := map[string]engines.Resources{}
	for i, id := range ids {
		var shard engines.Shard
		if json.Unmarshal(shards[i], &shard) == nil {
			needs[id] = shard.Needs
		}
	}
	out := map[queue.Ref]Running{}
	for _, row := range rows {
		if need, known := needs[row.ID]; known {
			out[queue.Ref{TaskID: row.ID, Attempt: row.Attempt}] = runningOn(row.StartedAt, need)
		}
	}
	return out, nil
}

func (tx postgresTx) RefsInFlight(ctx context.Context, jobID string) ([]queue.Ref, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, attempt FROM tasks WHERE job_id = $1 AND status IN ('QUEUED', 'RUNNING')
		ORDER BY id`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read what is in flight for %s: %w", jobID, err)
	}
	return scanRefs(rows)
}

func (db postgresStore) StaleRefs(ctx context.Context, refs []queue.Ref) ([]queue.Ref, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	ids, attempts := make([]string, len(refs)), make([]int64, len(refs))
	for i, r := range refs {
		ids[i], attempts[i] = r.TaskID, int64(r.Attempt)
	}
	rows, err := db.QueryContext(ctx, `SELECT r.id, r.attempt FROM unnest($1::text[], $2::int[]) AS r (id, attempt)
		LEFT JOIN tasks t ON t.id = r.id
		WHERE t.id IS NULL OR t.attempt <> r.attempt OR t.status NOT IN ('QUEUED', 'RUNNING')`, pq.Array(ids), pq.Array(attempts))
	if err != nil {
		return nil, fmt.Errorf("look for stale attempts: %w", err)
	}
	return scanRefs(rows)
}

// scanRefs reads rows of a task's id and an attempt, and closes them.
func scanRefs(rows *sql.Rows) ([]queue.Ref, error) {
	defer rows.Close()
	var refs []queue.Ref
	for rows.Next() {
		var r queue.Ref
		if err := rows.Scan(&r.TaskID, &r.Attempt); err != nil {
			return nil, fmt.Errorf("read attempts: %w", err)
		}
		refs = append(refs, r)
	}
	return refs, rows.Err()
}

func (db postgresStore) SaveProgress(ctx context.Context, news []queue.Held) ([]queue.Ref, error) {
	ids, attempts := make([]string, len(news)), make([]int64, len(news))
	progress, messages := make([]float64, len(news)), make([]string, len(news))
	for i, h := range news {
		ids[i], attempts[i], progress[i], messages[i] = h.TaskID, int64(h.Attempt), h.Progress, h.Message
	}
	rows, err := db.QueryContext(ctx, `WITH news AS (
			SELECT * FROM unnest($1::text[], $2::int[], $3::real[], $4::text[]) AS n (id, attempt, progress, message)
		), free AS (
			SELECT t.id, t.attempt, n.progress, n.message FROM tasks t JOIN news n ON t.id = n.id AND t.attempt = n.attempt
			WHERE t.status = 'RUNNING' FOR NO KEY UPDATE OF t SKIP LOCKED
		), moved AS (
			UPDATE tasks t SET progress = f.progress FROM free f WHERE t.id = f.id
		), told AS (
			INSERT INTO task_details (task_id, message) SELECT id, message FROM free
			ON CONFLICT (task_id) DO UPDATE SET message = excluded.message
		)
		SELECT id, attempt FROM free`,
		pq.Array(ids), pq.Array(attempts), pq.Array(progress), pq.Array(messages))
	if err != nil {
		return nil, fmt.Errorf("store progress: %w", err)
	}
	return scanRefs(rows)
}

func (db postgresStore) Percent(ctx context.Context, jobID string) (percent float64, err error) {
	err = db.GetContext(ctx, &percent, `SELECT 100 * sum(weight * CASE WHEN status IN ('SUCCEEDED', 'FAILED') THEN 1 ELSE progress
		END)
			/ greatest(sum(weight), 1e-9) FROM tasks WHERE job_id = $1`, jobID)
	if err != nil {
		return 0, fmt.Errorf("sum progress of %s: %w", jobID, err)
	}
	return percent, nil
}

// TellProgress keeps the newest event alone, so that a job which runs for days does not fill the table. The job's row is locked
// while the event gets its id, so that ids of one job are committed in their order and a watcher that reads on from the last id
// misses nothing.
func (db postgresStore) TellProgress(ctx context.Context, jobID string, body []byte, at time.Time) error {
	_, err := db.ExecContext(ctx, `WITH open AS (
			SELECT id, account_id FROM jobs WHERE id = $1 AND finished_at IS NULL FOR NO KEY UPDATE
		), gone AS (
			DELETE FROM job_events WHERE kind = 'progress' AND job_id IN (SELECT id FROM open)
		)
		INSERT INTO job_events (account_id, job_id, kind, body, at) SELECT account_id, id, 'progress', $2, $3 FROM open`, jobID, body, at)
	if err != nil {
		return fmt.Errorf("add progress event of %s: %w", jobID, err)
	}
	return nil
}

// CountOpenTasks: each half matches a partial index, so that the tasks that have ended, which are nearly all, are not looked at.
func (db postgresStore) CountOpenTasks(ctx context.Context) ([]OpenTasks, error) {
	var rows []OpenTasks
	err := db.SelectContext(ctx, &rows, `SELECT queue, 'PENDING' AS status, count(*) AS n FROM tasks WHERE status = 'PENDING'
		AND ready GROUP BY queue
		UNION ALL
		SELECT queue, status, count(*) FROM tasks WHERE status IN ('QUEUED', 'RUNNING') GROUP BY queue, status`)
	if err != nil {
		return nil, fmt.Errorf("count open tasks: %w", err)
	}
	return rows, nil
}
