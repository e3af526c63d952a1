package operator

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// maxFailures bounds the codes that are told; there are fewer.
const maxFailures = 50

// store reads the tables that the scheduler writes, and lets nothing but numbers leave them.
type store struct{ db *sqlx.DB }

// openTasks is what waits and runs of one queue.
type openTasks struct {
	Queue   string       `db:"queue"`
	Waiting int          `db:"waiting"`
	Running int          `db:"running"`
	Since   sql.NullTime `db:"since"`
}

// openTasks reads what waits and runs. Each half matches a partial index, so that the tasks that have ended, which are nearly all,
// are not looked at; ids sort by the time that they were made at.
func (s store) openTasks(ctx context.Context) ([]openTasks, error) {
	var rows []openTasks
	err := s.db.SelectContext(ctx, &rows, `
WITH open AS (
	SELECT queue, count(*) AS waiting, 0 AS running, min(id) AS first FROM tasks WHERE status = 'PENDING' AND ready GROUP BY queue
	UNION ALL
	SELECT queue, count(*) FILTER (WHERE status = 'QUEUED'), count(*) FILTER (WHERE status = 'RUNNING'),
		min(id) FILTER (WHERE status = 'QUEUED') FROM tasks WHERE status IN ('QUEUED', 'RUNNING') GROUP BY queue
), queues AS (
	SELECT queue, sum(waiting)::int AS waiting, sum(running)::int AS running, min(first) AS first FROM open GROUP BY queue
)
SELECT q.queue, q.waiting, q.running, j.created_at AS since
FROM queues q LEFT JOIN tasks t ON t.id = q.first LEFT JOIN jobs j ON j.id = t.job_id ORDER BY q.queue`)
	if err != nil {
		return nil, fmt.Errorf("count what waits and runs: %w", err)
	}
	return rows, nil
}

// failure is how many jobs failed with a code.
type failure struct {
	Code string `db:"code"`
	Jobs int    `db:"jobs"`
}

// failures counts the jobs that failed since, by their codes, the most frequent first.
func (s store) failures(ctx context.Context, since time.Time) ([]failure, error) {
	var rows []failure
	err := s.db.SelectContext(ctx, &rows, `SELECT coalesce(error_code, 'no code') AS code, count(*) AS jobs FROM jobs
		WHERE status = 'FAILED' AND finished_at > $1 GROUP BY 1 ORDER BY jobs DESC, code LIMIT $2`, since, maxFailures)
	if err != nil {
		return nil, fmt.Errorf("count the jobs that failed: %w", err)
	}
	return rows, nil
}
