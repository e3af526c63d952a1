package auth

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres"
)

// insertLink stores a link and lets go of those of its session that are too old, and of the oldest beyond a number.
func insertLink(
	ctx context.Context, tx *sqlx.Tx, accountID string, tokenSHA256, sessionSHA256 postgres.Bytes, now, expires time.Time,
) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM sign_in_links WHERE session_sha256 = $1 AND (expires_at <= $2 OR token_sha256 IN (
		SELECT token_sha256 FROM sign_in_links WHERE session_sha256 = $1 ORDER BY expires_at DESC, token_sha256 OFFSET $3))`,
		sessionSHA256, now, maxLinks-1); err != nil {
		return wrap(err, "forget old sign-in links")
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO sign_in_links (token_sha256, session_sha256, account_id, expires_at)
		VALUES ($1, $2, $3, $4)`, tokenSHA256, sessionSHA256, accountID, expires)
	return wrap(err, "keep a sign-in link")
}

// takeLink removes a link and returns whose it was: of two that use it at once, one gets it. Errors: sql.ErrNoRows.
func takeLink(ctx context.Context, tx *sqlx.Tx, tokenSHA256 postgres.Bytes, now time.Time) (accountID string, err error) {
	err = tx.GetContext(ctx, &accountID, `DELETE FROM sign_in_links l USING sessions s
		WHERE l.token_sha256 = $1 AND l.expires_at > $2 AND s.token_sha256 = l.session_sha256 AND s.expires_at > $2
		RETURNING l.account_id`, tokenSHA256, now)
	return accountID, wrap(err, "use a sign-in link")
}
