package uploads

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// store holds the SQL of the table uploads. Every query names the account.
type store struct{ db *sqlx.DB }

// upload is a file that an upload URL was given out for.
type upload struct {
	StorageKey  string         `db:"storage_key"`
	AccountID   string         `db:"account_id"`
	Filename    string         `db:"filename"`
	ContentType string         `db:"content_type"`
	ByteSize    int64          `db:"byte_size"`
	SHA256      sql.NullString `db:"sha256"`
	CreatedAt   time.Time      `db:"created_at"`
	ExpiresAt   time.Time      `db:"expires_at"`
}

func (s store) insert(ctx context.Context, u upload) error {
	_, err := s.db.NamedExecContext(ctx, `
INSERT INTO uploads (storage_key, account_id, filename, content_type, byte_size, sha256, created_at, expires_at)
VALUES (:storage_key, :account_id, :filename, :content_type, :byte_size, :sha256, :created_at, :expires_at)`, u)
	if err != nil {
		return fmt.Errorf("storing upload %s: %w", u.StorageKey, err)
	}
	return nil
}

// find reads the account's uploads among the keys; the others stay out of the answer.
func (s store) find(ctx context.Context, accountID string, keys []string) ([]upload, error) {
	var found []upload
	err := s.db.SelectContext(ctx, &found, `
SELECT storage_key, account_id, filename, content_type, byte_size, sha256, created_at, expires_at
FROM uploads WHERE account_id = $1 AND storage_key = ANY($2)`, accountID, pq.Array(keys))
	if err != nil {
		return nil, fmt.Errorf("looking uploads up: %w", err)
	}
	return found, nil
}
