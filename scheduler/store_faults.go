package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/lib/pq"
)

func (tx postgresTx) AddFault(ctx context.Context, jobID, workerID, code string, at time.Time) (faults int, err error) {
	err = tx.GetContext(ctx, &faults, `INSERT INTO worker_faults AS f (job_id, worker_id, attempts, code, at)
		VALUES ($1, $2, 1, $3, $4)
		ON CONFLICT (job_id, worker_id) DO UPDATE SET attempts = f.attempts + 1, code = excluded.code, at = excluded.at
		RETURNING attempts`, jobID, workerID, code, at)
	if err != nil {
		return 0, fmt.Errorf("count a fault of %s in %s: %w", workerID, jobID, err)
	}
	return faults, nil
}

func (tx postgresTx) Faulty(ctx context.Context, jobIDs []string, atLeast int) (map[string][]string, error) {
	var rows []struct {
		JobID    string `db:"job_id"`
		WorkerID string `db:"worker_id"`
	}
	err := tx.SelectContext(ctx, &rows, `SELECT job_id, worker_id FROM worker_faults WHERE job_id = ANY($1) AND attempts >= $2
		ORDER BY job_id, worker_id`,
		pq.Array(jobIDs), atLeast)
	if err != nil {
		return nil, fmt.Errorf("read the faults of workers in %d jobs: %w", len(jobIDs), err)
	}
	faulty := map[string][]string{}
	for _, row := range rows {
		faulty[row.JobID] = append(faulty[row.JobID], row.WorkerID)
	}
	return faulty, nil
}
