package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
