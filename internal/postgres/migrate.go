package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// lockTimeout is how long a migration waits for a table that somebody uses. While it waits, everybody who comes after it waits
	// too: so it gives way, and lockPause later it tries again, for as long as lockPatience.
	lockTimeout  = "2s"
	lockPause    = time.Second
	lockPatience = 5 * time.Minute
)

//go:embed migrations/*.sql
var embedded embed.FS

// Migrate brings the schema to this program's version, each migration in a transaction of its own, and none of them
// holds up others for more than lockTimeout at a time. It may be called by several
// processes at once: one works, the others wait for it. A schema that a newer program has migrated further is refused. The pool is
// the schema's owner's (Open), and to Postgres itself, not to a pooler that changes sessions between transactions.
func Migrate(ctx context.Context, db *sqlx.DB) error {
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	if err := patiently(ctx, func() error { _, err := provider.Up(ctx); return err }); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	current, head, err := schemaVersion(ctx, provider)
	if err != nil {
		return err
	}
	if current > head {
		return fmt.Errorf("the database has schema version %d and this program knows %d: run a newer program", current, head)
	}
	return nil
}

// patiently does what may run into lockTimeout, or be given up by the server for another transaction's sake, until it does
// not, or for as long as lockPatience.
func patiently(ctx context.Context, do func() error) error {
	end := time.Now().Add(lockPatience)
	for {
		err := do()
		if !IsLockTimeout(err) && !isRetryable(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(lockPause):
		}
	}
}

// SchemaVersion returns the number of the last migration that the database has had, and of the last one that this program knows.
func SchemaVersion(ctx context.Context, db *sqlx.DB) (current, head int64, err error) {
	provider, err := newProvider(db)
	if err != nil {
		return 0, 0, err
	}
	return schemaVersion(ctx, provider)
}

func schemaVersion(ctx context.Context, provider *goose.Provider) (current, head int64, err error) {
	current, head, err = provider.GetVersions(tenant.Nobody(ctx))
	if err != nil {
		return 0, 0, fmt.Errorf("read the schema version: %w", err)
	}
	return current, head, nil
}

// newProvider is not closed: that would close db, which is the caller's.
func newProvider(db *sqlx.DB) (*goose.Provider, error) {
	migrations, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return nil, err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db.DB, migrations,
		goose.WithSessionLocker(schemaLock{}), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return provider, nil
}

// schemaLock is an advisory lock of the connection's schema, so that schemas of one database are migrated side by side. It
// waits in the server, where goose's own lock asks again every five seconds.
type schemaLock struct{}

var _ lock.SessionLocker = schemaLock{}

const schemaLockKey = "hashtextextended('molfabric.migrate.' || current_schema(), 0)"

func (schemaLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock("+schemaLockKey+")"); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "SET lock_timeout = '"+lockTimeout+"'"); err != nil { // after the wait for other migrations
		return fmt.Errorf("bound the wait for tables: %w", err)
	}
	return nil
}

func (schemaLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	if _, err := conn.ExecContext(ctx, "RESET lock_timeout"); err != nil {
		return fmt.Errorf("unlock the schema: %w", err)
	}
	var held bool
	if err := conn.QueryRowContext(ctx, "SELECT pg_advisory_unlock("+schemaLockKey+")").Scan(&held); err != nil {
		return fmt.Errorf("unlock the schema: %w", err)
	}
	if !held {
		return fmt.Errorf("unlock the schema: the lock was not held")
	}
	return nil
}
