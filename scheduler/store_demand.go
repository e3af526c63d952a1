package scheduler

import (
	"context"
	"fmt"

	"github.com/lib/pq"
)

// Backlogs looks at open tasks alone, by the partial indexes that CountOpenTasks uses, and joins their jobs once each. A task of
// the release before, whose wall time is not known, is taken for one core's.
func (db postgresStore) Backlogs(ctx context.Context, queueNames []string, longest []float64) ([]Backlog, error) {
	var rows []Backlog
	err := db.SelectContext(ctx, &rows, `
		WITH waiting AS (
			SELECT queue, job_id, weight, gpu_weight, wall FROM tasks WHERE status = 'PENDING' AND ready
			UNION ALL
			SELECT queue, job_id, weight, gpu_weight, wall FROM tasks WHERE status = 'QUEUED'
		), by_job AS (
			SELECT w.queue, w.job_id, count(*) AS n, sum(w.weight::float8) AS cpu, sum(w.gpu_weight::float8) AS gpu,
				sum(CASE WHEN w.gpu_weight > 0 OR w.wall <= 0 THEN 1 ELSE greatest(w.weight / w.wall, 1) END::float8) AS places
			FROM waiting w JOIN unnest($1::text[], $2::float8[]) AS q (name, longest) ON q.name = w.queue
			WHERE CASE WHEN w.wall > 0 THEN w.wall ELSE greatest(w.weight, w.gpu_weight) END <= q.longest
			GROUP BY w.queue, w.job_id
		), wait AS (
			SELECT b.queue, sum(b.n) AS n, sum(b.cpu) AS cpu, sum(b.gpu) AS gpu, sum(b.places) AS places,
				min(coalesce(j.stage_at, j.created_at)) AS oldest
			FROM by_job b JOIN jobs j ON j.id = b.job_id GROUP BY b.queue
		), run AS (
			SELECT queue, count(*) AS n,
				sum(CASE WHEN gpu_weight > 0 OR wall <= 0 THEN 1 ELSE greatest(weight / wall, 1) END::float8) AS places,
				sum((CASE WHEN gpu_weight > 0 THEN gpu_weight ELSE weight END * (1 - progress))::float8) AS seconds
			FROM tasks WHERE status = 'RUNNING' GROUP BY queue
		)
		SELECT q.name AS queue, coalesce(w.n, 0) AS waiting, coalesce(r.n, 0) AS running,
			coalesce(w.places, 0) + coalesce(r.places, 0) AS places, coalesce(w.cpu, 0) AS cpu_seconds,
			coalesce(w.gpu, 0) AS gpu_seconds, coalesce(r.seconds, 0) AS running_seconds, w.oldest AS oldest_at
		FROM unnest($1::text[]) WITH ORDINALITY AS q (name, place)
		LEFT JOIN wait w ON w.queue = q.name LEFT JOIN run r ON r.queue = q.name ORDER BY q.place`,
		pq.Array(queueNames), pq.Array(longest))
	if err != nil {
		return nil, fmt.Errorf("sum up what waits: %w", err)
	}
	return rows, nil
}
