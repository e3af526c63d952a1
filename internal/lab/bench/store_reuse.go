package bench

import (
	"context"
	"fmt"

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
