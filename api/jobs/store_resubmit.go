package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/molfabric/molfabric/engines"
)

// request reads the canonical request of a job, which may be a hundred megabytes. Errors: fault.NotFound, also for another
// account's job.
func (s store) request(ctx context.Context, accountID, jobID string) (json.RawMessage, error) {
	var kept json.RawMessage
	err := s.db.GetContext(ctx, &kept, `SELECT request FROM jobs WHERE account_id = $1 AND id = $2`, accountID, jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noSuchJob()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the request of job %s: %w", jobID, err)
	}
	return kept, nil
}

// prepareShards reads the shards of a job's first stage, in the order of the plan; none for another account's job.
func (s store) prepareShards(ctx context.Context, accountID, jobID string) ([]engines.Shard, error) {
	var texts []json.RawMessage
	err := s.db.SelectContext(ctx, &texts, `SELECT d.shard FROM tasks t JOIN task_details d ON d.task_id = t.id
WHERE t.account_id = $1 AND t.job_id = $2 AND t.stage_index = 0 ORDER BY t.ordinal`, accountID, jobID)
	if err != nil {
		return nil, fmt.Errorf("reading the plan of job %s: %w", jobID, err)
	}
	shards := make([]engines.Shard, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal(text, &shards[i]); err != nil {
			return nil, fmt.Errorf("reading the plan of job %s: %w", jobID, err)
		}
	}
	return shards, nil
}
