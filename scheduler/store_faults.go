package scheduler

import (
	"context"
	"fmt"

	"github.com/lib/pq"
)

// addFault counts an attempt against a worker in a job and returns how many there are now. A worker's name is a text of its own; code
// says why the attempt ended.
func addFault(ctx context.Context, c *change, jobID, workerID, code string) (faults int, err error) {
	err = c.tx.GetContext(ctx, &faults, `INSERT INTO worker_faults AS f (job_id, worker_id, attempts, code, at) VALUES ($1, $2, 1, $3, $4)
		ON CONFLICT (job_id, worker_id) DO UPDATE SET attempts = f.attempts + 1, code = excluded.code, at = excluded.at
		RETURNING attempts`, jobID, workerID, code, c.now)
	if err != nil {
		return 0, fmt.Errorf("count a fault of %s in %s: %w", workerID, jobID, err)
	}
	return faults, nil
}

// readFaulty returns, by job, the workers that have failed it too often.
func readFaulty(ctx context.Context, c *change, jobIDs []string) (map[string][]string, error) {
	var rows []struct {
		JobID    string `db:"job_id"`
		WorkerID string `db:"worker_id"`
	}
	err := c.tx.SelectContext(ctx, &rows, `SELECT job_id, worker_id FROM worker_faults WHERE job_id = ANY($1) AND attempts >= $2 ORDER BY job_id, worker_id`,
		pq.Array(jobIDs), maxFaults)
	if err != nil {
		return nil, fmt.Errorf("read the faults of workers in %d jobs: %w", len(jobIDs), err)
	}
	faulty := map[string][]string{}
	for _, row := range rows {
		faulty[row.JobID] = append(faulty[row.JobID], row.WorkerID)
	}
	return faulty, nil
}
