package uploads

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/postgres"
)

// States of an upload in parts. Open and completing go on; the others are ends.
const (
	stateOpen       = "open"
	stateCompleting = "completing" // the store may have made the object already
	stateCompleted  = "completed"
	stateFailed     = "failed" // the file was not what was stated, and is gone
	stateAborted    = "aborted"
	stateExpired    = "expired"
)

// multipart is an upload in parts.
type multipart struct {
	ID          string         `db:"id"`
	AccountID   string         `db:"account_id"`
	StorageKey  string         `db:"storage_key"`
	StoreHandle string         `db:"store_handle"`
	Filename    string         `db:"filename"`
	ContentType string         `db:"content_type"`
	ByteSize    int64          `db:"byte_size"`
	SHA256      sql.NullString `db:"sha256"`
	ProjectID   sql.NullString `db:"project_id"`
	LogicalPath sql.NullString `db:"logical_path"`
	PartBytes   int64          `db:"part_bytes"`
	PartCount   int            `db:"part_count"`
	Checksummed bool           `db:"checksummed"`
	State       string         `db:"state"`
	PartETags   pq.StringArray `db:"part_etags"`
	Integrity   sql.NullString `db:"integrity"`
	Answer      []byte         `db:"answer"`
	CreatedAt   time.Time      `db:"created_at"`
	ExpiresAt   time.Time      `db:"expires_at"`
}

func (m multipart) plan() partPlan { return partPlan{partBytes: m.PartBytes, partCount: m.PartCount} }

const multipartColumns = `id, account_id, storage_key, store_handle, filename, content_type, byte_size, sha256, project_id, logical_path,
    part_bytes, part_count, checksummed, state, part_etags, integrity, answer, created_at, expires_at`

func insertMultipart(ctx context.Context, tx *sqlx.Tx, m multipart) error {
	_, err := tx.NamedExecContext(ctx, `
INSERT INTO multipart_uploads (id, account_id, storage_key, store_handle, filename, content_type, byte_size, sha256, project_id,
logical_path,
    part_bytes, part_count, checksummed, state, created_at, expires_at)
VALUES (:id, :account_id, :storage_key, :store_handle, :filename, :content_type, :byte_size, :sha256, :project_id, :logical_path,
    :part_bytes, :part_count, :checksummed, :state, :created_at, :expires_at)`, m)
	if err != nil {
		return fmt.Errorf("storing upload %s: %w", m.ID, err)
	}
	return nil
}

// multipart reads an upload of the account. Errors: fault.NotFound, alike for an unknown and another account's.
func (s store) multipart(ctx context.Context, accountID, uploadID string) (multipart, error) {
	var m multipart
	err := s.db.GetContext(ctx, &m, `SELECT `+multipartColumns+` FROM multipart_uploads WHERE id = $1 AND account_id = $2`,
		uploadID, accountID)
	if errors.Is(err, sql.ErrNoRows) {
		return multipart{}, errNoUpload
	}
	if err != nil {
		return multipart{}, fmt.Errorf("reading upload %s: %w", uploadID, err)
	}
	return m, nil
}

// errNoUpload is the same for every upload that is not the caller's.
var errNoUpload = fault.New(fault.NotFound, "uploadId: this account has no such upload")

// setState moves an upload on that is open or completing; m keeps its other members.
func (s store) setState(ctx context.Context, m multipart, state string) error {
	_, err := s.db.ExecContext(ctx, `UPDATE multipart_uploads SET state = $2 WHERE id = $1 AND state IN ('open', 'completing')`,
		m.ID, state)
	if err != nil {
		return fmt.Errorf("upload %s becomes %s: %w", m.ID, state, err)
	}
	return nil
}

// completing stores of what the file is about to be made, so that another instance can finish the work of a dead one.
func completing(ctx context.Context, tx *sqlx.Tx, m multipart) error {
	_, err := tx.NamedExecContext(ctx, `
UPDATE multipart_uploads SET state = 'completing', part_etags = :part_etags, integrity = :integrity, sha256 = :sha256
WHERE id = :id AND state IN ('open', 'completing')`, m)
	if err != nil {
		return fmt.Errorf("upload %s is being completed: %w", m.ID, err)
	}
	return nil
}

// complete stores the file and the answer of its completion.
func (s store) complete(ctx context.Context, m multipart, file upload) error {
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if err := put(ctx, tx, file); err != nil {
			return err
		}
		_, err := tx.NamedExecContext(ctx, `UPDATE multipart_uploads SET state = 'completed', answer = :answer
			WHERE id = :id AND state = 'completing'`, m)
		return err
	})
	if err != nil {
		return fmt.Errorf("completing upload %s: %w", m.ID, err)
	}
	return nil
}

// overdue lists uploads that have expired before their completion: at most limit, oldest first.
func (s store) overdue(ctx context.Context, now time.Time, limit int) ([]multipart, error) {
	var found []multipart
	err := s.db.SelectContext(ctx, &found, `
SELECT `+multipartColumns+` FROM multipart_uploads WHERE expires_at < $1 AND state IN ('open', 'completing') ORDER BY expires_at LIMIT $2`, now, limit)
	if err != nil {
		return nil, fmt.Errorf("looking for abandoned uploads: %w", err)
	}
	return found, nil
}

// forget deletes uploads that ended long ago: at most limit.
func (s store) forget(ctx context.Context, before time.Time, limit int) (int64, error) {
	result, err := s.db.ExecContext(ctx, `
DELETE FROM multipart_uploads WHERE id IN (
    SELECT id FROM multipart_uploads WHERE expires_at < $1 AND state NOT IN ('open', 'completing') ORDER BY expires_at LIMIT $2)`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("forgetting ended uploads: %w", err)
	}
	return result.RowsAffected()
}

// holdsKey tells whether a file of the key is known, so that its object is that file's.
func (s store) holdsKey(ctx context.Context, storageKey string) (bool, error) {
	var known bool
	if err := s.db.GetContext(ctx, &known, `SELECT EXISTS (SELECT FROM uploads WHERE storage_key = $1 AND NOT removing)`,
		storageKey); err != nil {
		return false, fmt.Errorf("looking for upload %s: %w", storageKey, err)
	}
	return known, nil
}
