package auth

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres"
)

// maxForgotten bounds the old links that one new link clears away; what is left is the next one's.
const maxForgotten = 100

func insertProof(ctx context.Context, tx *sqlx.Tx, p proof, tokenSHA256 postgres.Bytes, now, expires time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO email_proofs
		(token_sha256, account_id, email, name, password_hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`, tokenSHA256, p.AccountID, p.Email, p.Name, p.PasswordHash, now, expires)
	return wrap(err, "keep a link")
}

// takeProof removes a link and returns what it stood for: of two that follow it at once, one gets it. Errors: sql.ErrNoRows.
func takeProof(ctx context.Context, tx *sqlx.Tx, tokenSHA256 postgres.Bytes, now time.Time) (proof, error) {
	var p proof
	err := tx.GetContext(ctx, &p, `DELETE FROM email_proofs WHERE token_sha256 = $1 AND expires_at > $2
		RETURNING account_id, email, name, password_hash`, tokenSHA256, now)
	return p, wrap(err, "follow a link")
}

// selectProofPassword returns the address that a link was sent to, and the hash of the password of its sign-up or account; "" where
// that has none. Errors: sql.ErrNoRows.
func selectProofPassword(
	ctx context.Context, db sqlx.QueryerContext, tokenSHA256 postgres.Bytes, now time.Time,
) (email, hash string, err error) {
	var row struct {
		Email string `db:"email"`
		Hash  string `db:"hash"`
	}
	err = sqlx.GetContext(ctx, db, &row, `SELECT p.email, coalesce(p.password_hash, a.password_hash, '') AS hash
		FROM email_proofs p LEFT JOIN accounts a ON a.id = p.account_id
		WHERE p.token_sha256 = $1 AND p.expires_at > $2`, tokenSHA256, now)
	return row.Email, row.Hash, wrap(err, "read a link")
}

func deleteOldProofs(ctx context.Context, tx *sqlx.Tx, now time.Time) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM email_proofs WHERE token_sha256 IN (
		SELECT token_sha256 FROM email_proofs WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`, now, maxForgotten)
	return wrap(err, "forget old links")
}

func deleteProofs(ctx context.Context, tx *sqlx.Tx, accountID string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM email_proofs WHERE account_id = $1`, accountID)
	return wrap(err, "forget links")
}

// markProved reports whether the account has this address and had not proved it before.
func markProved(ctx context.Context, tx *sqlx.Tx, accountID, email string, now time.Time) (bool, error) {
	done, err := tx.ExecContext(ctx, `UPDATE accounts SET email_verified_at = $3
		WHERE id = $1 AND lower(email) = lower($2) AND email_verified_at IS NULL`, accountID, email, now)
	if err != nil {
		return false, wrap(err, "note a proved address")
	}
	changed, err := done.RowsAffected()
	return changed == 1, wrap(err, "note a proved address")
}

// renameUnproved gives an account another name in the place of an address that it has not proved, and reports false when it has, or
// is locked: a lock is not left behind with an address.
func renameUnproved(ctx context.Context, tx *sqlx.Tx, accountID, name string) (bool, error) {
	done, err := tx.ExecContext(ctx, `UPDATE accounts SET email = $2 WHERE id = $1 AND email_verified_at IS NULL
		AND locked_at IS NULL`, accountID, name)
	if err != nil {
		return false, wrap(err, "take an address away")
	}
	changed, err := done.RowsAffected()
	return changed == 1, wrap(err, "take an address away")
}
