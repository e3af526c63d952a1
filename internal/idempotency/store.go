package idempotency

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// insert claims a key and reports false when it is taken by an operation that has been committed. An expired claim is
// replaced. The statement itself bounds its wait for a claim that has not ended, and lifts the bound for what follows in the
// transaction; when the key is taken nothing follows that would wait.
func insert(ctx context.Context, tx *sqlx.Tx, c Claim, answer []byte, now time.Time) (bool, error) {
	result, err := tx.ExecContext(ctx, `INSERT INTO idempotency_keys (account_id, operation, key, request_sha256, response,
		created_at, expires_at)
		SELECT $1, $2, $3, $4, $5::jsonb, $6::timestamptz, $7::timestamptz FROM set_config('lock_timeout', '2s', true) AS patience
		WHERE patience IS NOT NULL
		ON CONFLICT (account_id, operation, key) DO UPDATE SET request_sha256 = excluded.request_sha256,
		response = excluded.response,
			created_at = excluded.created_at, expires_at = excluded.expires_at
		WHERE idempotency_keys.expires_at <= excluded.created_at
		RETURNING set_config('lock_timeout', '0', true)`,
		c.AccountID, c.Operation, c.Key, c.fingerprint(), answer, now, now.Add(Lifetime))
	if err != nil {
		return false, fmt.Errorf("claim idempotency key: %w", err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

func read(ctx context.Context, tx *sqlx.Tx, c Claim) (fingerprint string, answer []byte, err error) {
	err = tx.QueryRowContext(ctx, `SELECT request_sha256, response FROM idempotency_keys WHERE account_id = $1 AND operation = $2
		AND key = $3`,
		c.AccountID, c.Operation, c.Key).Scan(&fingerprint, &answer)
	if err != nil {
		return "", nil, fmt.Errorf("read idempotency key: %w", err)
	}
	return fingerprint, answer, nil
}

// find reads the answer of a key that still binds; nil when there is none.
func find(ctx context.Context, db *sqlx.DB, c Claim, now time.Time) (fingerprint string, answer []byte, err error) {
	err = db.QueryRowContext(ctx, `SELECT request_sha256, response FROM idempotency_keys
		WHERE account_id = $1 AND operation = $2 AND key = $3 AND expires_at > $4`, c.AccountID, c.Operation, c.Key, now).Scan(&fingerprint, &answer)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("look for idempotency key: %w", err)
	}
	return fingerprint, answer, nil
}

func update(ctx context.Context, tx *sqlx.Tx, c Claim, answer []byte) error {
	_, err := tx.ExecContext(ctx, `UPDATE idempotency_keys SET response = $4 WHERE account_id = $1 AND operation = $2 AND key = $3`,
		c.AccountID, c.Operation, c.Key, answer)
	if err != nil {
		return fmt.Errorf("store the answer of an idempotency key: %w", err)
	}
	return nil
}

func deleteExpired(ctx context.Context, db *sqlx.DB, now time.Time) error {
	if _, err := db.ExecContext(ctx, `DELETE FROM idempotency_keys WHERE expires_at < $1`, now); err != nil {
		return fmt.Errorf("delete expired idempotency keys: %w", err)
	}
	return nil
}
