package auth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/postgres"
)

type session struct {
	AccountID  string    `db:"account_id"`
	Plan       string    `db:"plan"`
	CreatedAt  time.Time `db:"created_at"`
	ExpiresAt  time.Time `db:"expires_at"`
	LastSeenAt time.Time `db:"last_seen_at"`
	Locked     bool      `db:"locked"`
	Email      string    `db:"email"`
	Proved     bool      `db:"proved"` // the address is the account's owner's
}

// insertAccount breaks the constraint accounts_email when the address is taken. An empty hash is no password.
// accountRow is an account as it is stored.
type accountRow struct {
	contract.Account
	VerifiedAt   *time.Time // when the address was proved; nil for one that was only stated
	PasswordHash string     // "" where it has none
}

func insertAccount(ctx context.Context, tx *sqlx.Tx, a accountRow) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO accounts (id, email, name, password_hash, plan, created_at, email_verified_at)
		VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7)`,
		a.AccountID, a.Email, a.Name, a.PasswordHash, a.Plan, a.CreatedAt, a.VerifiedAt)
	return wrap(err, "open account")
}

const selectAccount = `SELECT id AS AccountID, email, name, plan, created_at AS CreatedAt, email_verified_at AS VerifiedAt,
	coalesce(password_hash, '') AS PasswordHash FROM accounts `

// selectByEmail finds an account however its address is capitalised. Errors: sql.ErrNoRows.
func selectByEmail(ctx context.Context, db sqlx.QueryerContext, email string) (accountRow, error) {
	return readAccount(ctx, db, selectAccount+`WHERE lower(email) = lower($1)`, email)
}

// selectByID is selectByEmail for an id.
func selectByID(ctx context.Context, db sqlx.QueryerContext, accountID string) (accountRow, error) {
	return readAccount(ctx, db, selectAccount+`WHERE id = $1`, accountID)
}

func readAccount(ctx context.Context, db sqlx.QueryerContext, statement, named string) (accountRow, error) {
	var row accountRow
	if err := sqlx.GetContext(ctx, db, &row, statement, named); err != nil {
		return accountRow{}, wrap(err, "read account") // not row, whose pointers are set by then
	}
	row.CreatedAt = row.CreatedAt.UTC()
	return row, nil
}

// replacePassword reports whether the password was still the old one.
func replacePassword(ctx context.Context, tx *sqlx.Tx, accountID, oldHash, newHash string) (bool, error) {
	done, err := tx.ExecContext(ctx, `UPDATE accounts SET password_hash = $3 WHERE id = $1 AND password_hash = $2`, accountID,
		oldHash, newHash)
	if err != nil {
		return false, wrap(err, "replace password")
	}
	changed, err := done.RowsAffected()
	return changed == 1, wrap(err, "replace password")
}

// holdPassword keeps the account's password as it is until the transaction ends, and reports false when it is another than hash
// already.
func holdPassword(ctx context.Context, tx *sqlx.Tx, accountID, hash string) (bool, error) {
	var same bool
	err := tx.GetContext(ctx, &same, `SELECT password_hash = $2 FROM accounts
		WHERE id = $1 AND password_hash IS NOT NULL FOR SHARE`, accountID, hash)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return same, wrap(err, "hold a password")
}

// isLocked tells whether an operator has locked the account, and keeps that so until the transaction ends; no account is not
// locked.
func isLocked(ctx context.Context, tx *sqlx.Tx, accountID string) (bool, error) {
	var locked bool
	err := tx.GetContext(ctx, &locked, `SELECT locked_at IS NOT NULL FROM accounts WHERE id = $1 FOR SHARE`, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return locked, wrap(err, "read the lock of an account")
}

func insertSession(ctx context.Context, tx *sqlx.Tx, tokenSHA256 postgres.Bytes, accountID string, now, expires time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO sessions (token_sha256, account_id, created_at, expires_at, last_seen_at)
		VALUES ($1, $2, $3, $4, $3)`,
		tokenSHA256, accountID, now, expires)
	return wrap(err, "start session")
}

// selectSession reads a session that has not expired. Errors: sql.ErrNoRows.
func selectSession(ctx context.Context, db sqlx.QueryerContext, tokenSHA256 postgres.Bytes, now time.Time) (session, error) {
	var s session
	err := sqlx.GetContext(ctx, db, &s, `SELECT s.account_id, a.plan, s.created_at, s.expires_at, s.last_seen_at,
			a.locked_at IS NOT NULL AS locked, a.email, a.email_verified_at IS NOT NULL AS proved
		FROM sessions s JOIN accounts a ON a.id = s.account_id WHERE s.token_sha256 = $1 AND s.expires_at > $2`, tokenSHA256, now)
	return s, wrap(err, "read session")
}

func touchSession(ctx context.Context, db *sqlx.DB, tokenSHA256 postgres.Bytes, now time.Time) error {
	_, err := db.ExecContext(ctx, `UPDATE sessions SET last_seen_at = $2 WHERE token_sha256 = $1`, tokenSHA256, now)
	return wrap(err, "note the use of a session")
}

func deleteSession(ctx context.Context, db *sqlx.DB, tokenSHA256 postgres.Bytes) error {
	_, err := db.ExecContext(ctx, `DELETE FROM sessions WHERE token_sha256 = $1`, tokenSHA256)
	return wrap(err, "end session")
}

// deleteOldSessions keeps the table as small as the number of browsers in use: it ends what has expired, and all but the
// newest sessions.
func deleteOldSessions(ctx context.Context, tx *sqlx.Tx, accountID string, now time.Time, newest int) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE account_id = $1 AND (expires_at <= $2 OR token_sha256 IN (
		SELECT token_sha256 FROM sessions WHERE account_id = $1 ORDER BY created_at DESC, token_sha256 OFFSET $3))`, accountID, now, newest)
	return wrap(err, "end old sessions")
}

// deleteOtherSessions ends the account's sessions but one.
func deleteOtherSessions(ctx context.Context, tx *sqlx.Tx, accountID string, tokenSHA256 postgres.Bytes) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE account_id = $1 AND token_sha256 <> $2`, accountID, tokenSHA256)
	return wrap(err, "end the other sessions")
}

func wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
