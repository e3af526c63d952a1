package auth

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"
)

// selectByIdentity finds the account that an identity is bound to. Errors: sql.ErrNoRows.
func selectByIdentity(ctx context.Context, tx *sqlx.Tx, issuer, subject string) (accountID string, err error) {
	err = tx.GetContext(ctx, &accountID, `SELECT account_id FROM account_identities WHERE issuer = $1 AND subject = $2`, issuer,
		subject)
	return accountID, wrap(err, "read identity")
}

// insertIdentity breaks the constraint account_identities_pkey when the identity is bound already.
func insertIdentity(ctx context.Context, tx *sqlx.Tx, who identity, accountID string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO account_identities (issuer, subject, account_id, created_at)
		VALUES ($1, $2, $3, $4)`,
		who.Issuer, who.Subject, accountID, now)
	return wrap(err, "bind identity")
}
