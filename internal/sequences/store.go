package sequences

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
)

// store keeps the rows of the databases.
type store struct{ db *sqlx.DB }

const columns = `name, version, to_char(released_on, 'YYYY-MM-DD') AS released_on, type, checksum, title, sequences, residues, bytes, files,
	source_sha256, program, created_at, retired_at`

// row is a Database with its files as they are stored.
type row struct {
	Database
	Files json.RawMessage `db:"files"`
}

func (r row) database() (Database, error) {
	if err := json.Unmarshal(r.Files, &r.Database.Files); err != nil {
		return Database{}, fmt.Errorf("read the files of database %s: %w", r.Database, err)
	}
	return r.Database, nil
}

// all reads every database, retired ones included, by name and then from the newest release to the oldest.
func (s store) all(ctx context.Context) ([]Database, error) {
	var rows []row
	err := s.db.SelectContext(ctx, &rows, `SELECT `+columns+
		` FROM sequence_databases ORDER BY name, sequence_databases.released_on DESC, created_at DESC, version LIMIT $1`,
		MaxDatabases)
	if err != nil {
		return nil, fmt.Errorf("read the sequence databases: %w", err)
	}
	databases := make([]Database, len(rows))
	for i, r := range rows {
		if databases[i], err = r.database(); err != nil {
			return nil, err
		}
	}
	return databases, nil
}

// one reads a database; found is false when there is none of this name and version.
func (s store) one(ctx context.Context, name, version string) (d Database, found bool, err error) {
	var r row
	err = s.db.GetContext(ctx, &r, `SELECT `+columns+` FROM sequence_databases WHERE name = $1 AND version = $2`, name, version)
	if errors.Is(err, sql.ErrNoRows) {
		return Database{}, false, nil
	}
	if err != nil {
		return Database{}, false, fmt.Errorf("read database %s %s: %w", name, version, err)
	}
	d, err = r.database()
	return d, err == nil, err
}

// insert keeps a new database; inserted is false when its name and version, or the registry's last place, are taken.
func (s store) insert(ctx context.Context, d Database) (inserted bool, err error) {
	files, err := json.Marshal(d.Files)
	if err != nil {
		return false, fmt.Errorf("keep database %s: %w", d, err)
	}
	result, err := s.db.ExecContext(ctx, `
INSERT INTO sequence_databases (name, version, released_on, type, checksum, title, sequences, residues, bytes, files, source_sha256,
program, created_at)
SELECT $1, $2, $3::date, $4, $5, $6, $7, $8, $9, $10::jsonb, $11, $12, $13 WHERE (SELECT count(*) FROM sequence_databases) < $14
ON CONFLICT (name, version) DO NOTHING`,
		d.Name, d.Version, d.ReleasedOn, d.Type, d.Checksum, d.Title, d.Sequences, d.Residues, d.Bytes, string(files),
		d.SourceSHA256, d.Program, d.CreatedAt, MaxDatabases)
	if err != nil {
		return false, fmt.Errorf("keep database %s: %w", d, err)
	}
	count, err := result.RowsAffected()
	return count == 1, err
}

// setRetired retires a database, or with nil takes it into use again. What is so already stays as it is.
func (s store) setRetired(ctx context.Context, name, version string, at *time.Time) error {
	_, err := s.db.ExecContext(ctx, `
UPDATE sequence_databases SET retired_at = $3 WHERE name = $1 AND version = $2 AND (retired_at IS NULL) <> ($3::timestamptz IS
NULL)`, name, version, at)
	if err != nil {
		return fmt.Errorf("retire database %s %s: %w", name, version, err)
	}
	return nil
}

const nameLockKey = "hashtextextended('molfabric.sequence_database.' || $1, 0)"

// lockName keeps others from adding a database of the same name until unlock is called. waiting is called when another one holds
// the lock. The lock spares work: what must never happen, the table's key prevents.
func (s store) lockName(ctx context.Context, name string, waiting func()) (unlock func(), err error) {
	conn, err := s.db.Connx(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock database name %s: %w", name, err)
	}
	var got bool
	err = conn.GetContext(ctx, &got, `SELECT pg_try_advisory_lock(`+nameLockKey+`)`, name)
	if err == nil && !got {
		waiting()
		_, err = conn.ExecContext(ctx, `SELECT pg_advisory_lock(`+nameLockKey+`)`, name)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock database name %s: %w", name, err), conn.Close())
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
		defer cancel()
		_, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock(`+nameLockKey+`)`, name)
		if err != nil { // the connection must not go back into the pool with its lock
			_ = conn.Raw(func(any) error { return sql.ErrConnDone })
		}
		_ = conn.Close()
	}, nil
}

// unlockTimeout bounds the giving back of a lock, which waits for nothing.
const unlockTimeout = 5 * time.Second
