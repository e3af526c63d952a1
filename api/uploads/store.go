package uploads

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/postgres"
)

// store holds the SQL of the tables uploads (here) and multipart_uploads (store_multipart.go), and the locks on storage keys
// (store_lock.go). Every query for a caller names the account.
type store struct{ db *sqlx.DB }

// upload is a file that an upload URL was given out for, or one that has been completed from parts.
type upload struct {
	StorageKey  string         `db:"storage_key"`
	AccountID   string         `db:"account_id"`
	Filename    string         `db:"filename"`
	ContentType string         `db:"content_type"`
	ByteSize    int64          `db:"byte_size"`
	SHA256      sql.NullString `db:"sha256"`
	ProjectID   sql.NullString `db:"project_id"`
	LogicalPath sql.NullString `db:"logical_path"`
	UsedAt      sql.NullTime   `db:"used_at"` // when a submission first found it
	CreatedAt   time.Time      `db:"created_at"`
	ExpiresAt   time.Time      `db:"expires_at"` // of the URL
	ArrivedAt   sql.NullTime   `db:"arrived_at"` // when it was first seen in the object store
}

const uploadColumns = `storage_key, account_id, filename, content_type, byte_size, sha256, project_id, logical_path, used_at, created_at, expires_at, arrived_at`

// put stores an upload in the place of an earlier one with its key.
func put(ctx context.Context, db sqlx.ExtContext, u upload) error {
	_, err := sqlx.NamedExecContext(ctx, db, `
INSERT INTO uploads (`+uploadColumns+`)
VALUES (:storage_key, :account_id, :filename, :content_type, :byte_size, :sha256, :project_id, :logical_path, :used_at, :created_at,
	:expires_at, :arrived_at)
ON CONFLICT (storage_key) DO UPDATE SET filename = excluded.filename, content_type = excluded.content_type,
	byte_size = excluded.byte_size,
    sha256 = excluded.sha256, used_at = excluded.used_at, created_at = excluded.created_at, expires_at = excluded.expires_at,
    arrived_at = excluded.arrived_at, removing = false`, u)
	if err != nil {
		return fmt.Errorf("storing upload %s: %w", u.StorageKey, err)
	}
	return nil
}

// find reads the account's uploads among the keys; the others stay out of the answer.
func (s store) find(ctx context.Context, accountID string, keys []string) ([]upload, error) {
	var found []upload
	err := s.db.SelectContext(ctx, &found, `
SELECT `+uploadColumns+` FROM uploads WHERE account_id = $1 AND storage_key = ANY($2) AND NOT removing`, accountID, pq.Array(keys))
	if err != nil {
		return nil, fmt.Errorf("looking uploads up: %w", err)
	}
	return found, nil
}

// use marks files as used, and with a file of a project package all of the package, as a relative path may lead from one to
// another. It returns the files that are still there, by their keys; one may have been replaced since it was found.
func (s store) use(ctx context.Context, accountID string, keys, projects []string, now time.Time) (map[string]upload, error) {
	still := map[string]upload{}
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		// Locked in the order of their keys, or two submissions would wait for each other.
		var locked []upload
		if err := tx.SelectContext(ctx, &locked, `
SELECT `+uploadColumns+` FROM uploads
WHERE account_id = $1 AND NOT removing AND (storage_key = ANY($2) OR project_id = ANY($3::uuid[]))
ORDER BY storage_key FOR NO KEY UPDATE`, accountID, pq.Array(keys), pq.Array(projects)); err != nil {
			return err
		}
		found := make([]string, len(locked))
		for i, u := range locked {
			found[i], still[u.StorageKey] = u.StorageKey, u
		}
		_, err := tx.ExecContext(ctx, `UPDATE uploads SET used_at = $2 WHERE storage_key = ANY($1) AND used_at IS NULL`,
			pq.Array(found), now)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("marking uploads as used: %w", err)
	}
	return still, nil
}

// lockFile keeps a file from being found by submissions until the transaction ends. used tells that one has found it before.
func lockFile(ctx context.Context, tx *sqlx.Tx, storageKey string) (used bool, err error) {
	err = tx.GetContext(ctx, &used, `SELECT used_at IS NOT NULL FROM uploads WHERE storage_key = $1 FOR UPDATE`, storageKey)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, fmt.Errorf("locking upload %s: %w", storageKey, err)
	}
	return used, nil
}

// withdraw makes a file as if absent, when its object is replaced.
func withdraw(ctx context.Context, tx *sqlx.Tx, storageKey string) error {
	if _, err := tx.ExecContext(ctx, `UPDATE uploads SET removing = true WHERE storage_key = $1`, storageKey); err != nil {
		return fmt.Errorf("withdrawing upload %s: %w", storageKey, err)
	}
	return nil
}

// endRemoval takes back that the object of a key is to be deleted, with the files of a job that referred to it: a new file takes
// the key, and the caller deletes the object. While the old one is being deleted it waits.
func endRemoval(ctx context.Context, tx *sqlx.Tx, storageKey string) error {
	if _, err := tx.ExecContext(ctx, `DELETE FROM removals WHERE prefix = $1`, storageKey); err != nil {
		return fmt.Errorf("taking the deletion of %s back: %w", storageKey, err)
	}
	return nil
}

// crossing finds a file of the package that is a directory of the path, or the other way round, on its way in parts or here.
func crossing(ctx context.Context, db sqlx.QueryerContext, accountID string, at place) (string, error) {
	var found string
	err := sqlx.GetContext(ctx, db, &found, `
SELECT logical_path FROM (
    SELECT logical_path FROM uploads WHERE account_id = $1 AND project_id = $2
    UNION ALL
    SELECT logical_path FROM multipart_uploads WHERE account_id = $1 AND project_id = $2 AND state IN ('open', 'completing')
) AS paths WHERE logical_path = ANY($3) OR starts_with(logical_path, $4) LIMIT 1`,
		accountID, at.projectID, pq.Array(ancestors(at.logicalPath)), at.logicalPath+"/")
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking for paths in project %s: %w", at.projectID, err)
	}
	return found, nil
}

// unused lists files that no submission has found since before, and those whose removal was begun: at most limit, oldest first.
func (s store) unused(ctx context.Context, before time.Time, limit int) ([]string, error) {
	var keys []string
	err := s.db.SelectContext(ctx, &keys, `
SELECT storage_key FROM uploads WHERE used_at IS NULL AND created_at < $1 ORDER BY created_at LIMIT $2`, before, limit)
	if err != nil {
		return nil, fmt.Errorf("looking for unused uploads: %w", err)
	}
	return keys, nil
}

// withdrawUnused is withdraw for a file that was stored before a time; one that has been used or replaced since is left.
func (s store) withdrawUnused(ctx context.Context, storageKey string, before time.Time) (bool, error) {
	result, err := s.db.ExecContext(ctx, `UPDATE uploads SET removing = true WHERE storage_key = $1 AND used_at IS NULL
		AND created_at < $2`, storageKey, before)
	if err != nil {
		return false, fmt.Errorf("withdrawing upload %s: %w", storageKey, err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// drop forgets a file whose object is gone.
func (s store) drop(ctx context.Context, storageKey string) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM uploads WHERE storage_key = $1 AND removing`, storageKey); err != nil {
		return fmt.Errorf("forgetting upload %s: %w", storageKey, err)
	}
	return nil
}

// projectsOf lists the project packages that files belong to, each once.
func projectsOf(files []upload) []string {
	found := []string{}
	for _, u := range files {
		if u.ProjectID.Valid && !slices.Contains(found, u.ProjectID.String) {
			found = append(found, u.ProjectID.String)
		}
	}
	return found
}
