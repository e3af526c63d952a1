package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

type session struct {
	AccountID  string    `db:"account_id"`
	Plan       string    `db:"plan"`
	LastSeenAt time.Time `db:"last_seen_at"`
}

// insertAccount breaks the constraint accounts_email when the address is taken.
func insertAccount(ctx context.Context, tx *sqlx.Tx, a Account, passwordHash string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO accounts (id, email, name, password_hash, plan, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		a.AccountID, a.Email, a.Name, passwordHash, a.Plan, a.CreatedAt)
	return wrap(err, "open account")
}

// selectByEmail finds an account however its address is capitalised. Errors: sql.ErrNoRows.
func selectByEmail(ctx context.Context, db *sqlx.DB, email string) (Account, string, error) {
	var row struct {
		Account
		PasswordHash string `db:"password_hash"`
	}
	err := db.GetContext(ctx, &row, `SELECT id, email, name, plan, created_at, password_hash FROM accounts WHERE lower(email) = lower($1)`, email)
	row.CreatedAt = row.CreatedAt.UTC()
	return row.Account, row.PasswordHash, wrap(err, "read account by email")
}

func insertSession(ctx context.Context, tx *sqlx.Tx, tokenSHA256 []byte, accountID string, now, expires time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO sessions (token_sha256, account_id, created_at, expires_at, last_seen_at) VALUES ($1, $2, $3, $4, $3)`,
		tokenSHA256, accountID, now, expires)
	return wrap(err, "start session")
}

// selectSession reads a session that has not expired. Errors: sql.ErrNoRows.
func selectSession(ctx context.Context, db *sqlx.DB, tokenSHA256 []byte, now time.Time) (session, error) {
	var s session
	err := db.GetContext(ctx, &s, `SELECT s.account_id, a.plan, s.last_seen_at FROM sessions s JOIN accounts a ON a.id = s.account_id
		WHERE s.token_sha256 = $1 AND s.expires_at > $2`, tokenSHA256, now)
	return s, wrap(err, "read session")
}

func touchSession(ctx context.Context, db *sqlx.DB, tokenSHA256 []byte, now time.Time) error {
	_, err := db.ExecContext(ctx, `UPDATE sessions SET last_seen_at = $2 WHERE token_sha256 = $1`, tokenSHA256, now)
	return wrap(err, "note the use of a session")
}

func deleteSession(ctx context.Context, db *sqlx.DB, tokenSHA256 []byte) error {
	_, err := db.ExecContext(ctx, `DELETE FROM sessions WHERE token_sha256 = $1`, tokenSHA256)
	return wrap(err, "end session")
}

// deleteExpiredSessions keeps the table as small as the number of browsers in use.
func deleteExpiredSessions(ctx context.Context, tx *sqlx.Tx, accountID string, now time.Time) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE account_id = $1 AND expires_at <= $2`, accountID, now)
	return wrap(err, "end expired sessions")
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
