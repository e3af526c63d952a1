package uploads

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// quotaLockTimeout bounds the wait for the account's files in other instances, and for rows that they hold: it is waited
// with a connection.
const quotaLockTimeout = "2s"

// lockQuota keeps other files of the account waiting until the transaction ends. A wait beyond quotaLockTimeout fails: see
// postgres.IsLockTimeout.
func lockQuota(ctx context.Context, tx *sqlx.Tx, accountID string) error {
	if _, err := tx.ExecContext(ctx, `SET LOCAL lock_timeout = '`+quotaLockTimeout+`'`); err != nil {
		return fmt.Errorf("bounding the wait for the account's other uploads: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('molfabric upload quota ' || current_schema() ||
		' ' || $1, 0))`,
		accountID); err != nil {
		return fmt.Errorf("waiting for the account's other uploads: %w", err)
	}
	return nil
}

// usage adds up what an account has, but for what a new file stands in for.
func usage(ctx context.Context, db sqlx.QueryerContext, accountID string, but newFile) (Usage, error) {
	var found Usage
	err := sqlx.GetContext(ctx, db, &found, `
SELECT coalesce(sum(byte_size), 0)::bigint AS bytes, count(*) AS objects, coalesce(sum(byte_size) FILTER (WHERE unfinished),
0)::bigint AS unfinished_bytes
FROM (
    SELECT byte_size, false AS unfinished FROM uploads WHERE account_id = $1 AND storage_key <> $2
    UNION ALL
    SELECT byte_size, true FROM multipart_uploads WHERE account_id = $1 AND state IN ('open', 'completing') AND id <> $3
) AS files`, accountID, but.storageKey, but.uploadID)
	if err != nil {
		return Usage{}, fmt.Errorf("adding up the account's files: %w", err)
	}
	return found, nil
}

// unseen lists files whose URL expired before a time and that were neither seen in the store nor found by a submission: at most
// limit, oldest first.
func (s store) unseen(ctx context.Context, before time.Time, limit int) ([]string, error) {
	var keys []string
	err := s.db.SelectContext(ctx, &keys, `
SELECT storage_key FROM uploads WHERE arrived_at IS NULL AND used_at IS NULL AND expires_at < $1 ORDER BY expires_at LIMIT $2`, before, limit)
	if err != nil {
		return nil, fmt.Errorf("looking for uploads that never came: %w", err)
	}
	return keys, nil
}

// seen notes that a file lies in the store.
func (s store) seen(ctx context.Context, storageKey string, now time.Time) error {
	if _, err := s.db.ExecContext(ctx, `UPDATE uploads SET arrived_at = $2 WHERE storage_key = $1 AND arrived_at IS NULL`,
		storageKey, now); err != nil {
		return fmt.Errorf("noting upload %s: %w", storageKey, err)
	}
	return nil
}

// dropUnseen forgets a file that never came; one that was announced anew or used since is left.
func (s store) dropUnseen(ctx context.Context, storageKey string, before time.Time) (bool, error) {
	result, err := s.db.ExecContext(ctx, `
DELETE FROM uploads WHERE storage_key = $1 AND arrived_at IS NULL AND used_at IS NULL AND expires_at < $2`, storageKey, before)
	if err != nil {
		return false, fmt.Errorf("forgetting upload %s: %w", storageKey, err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}
