package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// readIdentities reads the identities of what an account has made once.
func readIdentities(ctx context.Context, db *sqlx.DB, accountID string) (identities [][]byte, err error) {
	err = db.SelectContext(ctx, &identities, `SELECT DISTINCT k.identity FROM known_work k
		JOIN tasks t ON t.id = k.task_id AND t.status = 'SUCCEEDED' AND t.attempt = k.attempt WHERE k.account_id = $1`, accountID)
	if err != nil {
		return nil, fmt.Errorf("read what %s has made: %w", accountID, err)
	}
	return identities, nil
}

// attemptTimes are when an attempt computed, and what it used.
type attemptTimes struct {
	Stage           int       `db:"stage_index"`
	Started         time.Time `db:"started_at"`
	Finished        time.Time `db:"finished_at"`
	CPUMicroseconds int64     `db:"cpu_us"`
}

// readAttempts reads the attempts of a job that ran an engine.
func readAttempts(ctx context.Context, db *sqlx.DB, jobID string) (attempts []attemptTimes, err error) {
	err = db.SelectContext(ctx, &attempts, `SELECT t.stage_index, a.started_at, a.finished_at, a.cpu_us FROM tasks t
		JOIN task_attempts a ON a.task_id = t.id
		WHERE t.job_id = $1 AND a.started_at IS NOT NULL AND a.finished_at IS NOT NULL AND a.reused_task IS NULL`, jobID)
	if err != nil {
		return nil, fmt.Errorf("read the attempts of %s: %w", jobID, err)
	}
	return attempts, nil
}
