package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/plans"
	"github.com/molfabric/molfabric/scheduler"
)

// request reads the canonical request of a job, which may be a hundred megabytes. Errors: fault.NotFound, also for another
// account's job.
func (s store) request(ctx context.Context, accountID, jobID string) (json.RawMessage, error) {
	var kept []byte
	err := s.db.GetContext(ctx, &kept, `SELECT `+scheduler.RequestText+` FROM jobs WHERE account_id = $1 AND id = $2`, accountID,
		jobID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noSuchJob()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the request of job %s: %w", jobID, err)
	}
	return kept, nil
}

// prepareShards reads the shards of a job's first stage, in the order of the plan; none for another account's job.
func (s store) prepareShards(ctx context.Context, jobID string) ([]engines.Shard, error) {
	var shards []engines.Shard
	err := plans.Each(ctx, s.db, jobID, func(_ int, shard engines.Shard) error {
		if shard.StageIndex > 0 {
			return plans.ErrEnough
		}
		shards = append(shards, shard)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the plan of job %s: %w", jobID, err)
	}
	return shards, nil
}
