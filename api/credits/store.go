package credits

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// selectEmail reads where the provider sends the receipt.
func selectEmail(ctx context.Context, tx *sqlx.Tx, accountID string) (string, error) {
	var email string
	if err := tx.GetContext(ctx, &email, `SELECT email FROM accounts WHERE id = $1`, accountID); err != nil {
		return "", fmt.Errorf("read email of %s: %w", accountID, err)
	}
	return email, nil
}
