// Package postgres opens the database, brings its schema to the newest version and runs transactions. It holds the
// migrations and no other SQL: the tables' queries live in the store.go files of the rooms that own them. Package pgtest
// gives every test a schema of its own.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/tenant"
)

// Bounds of one process' pool. The server's connections are shared by every process of a deployment.
const (
	// maxOpenConns keeps API, scheduler and tools together below Postgres' usual 100 connections.
	maxOpenConns = 24
	// maxIdleConns keeps the usual load from connecting anew, at a few megabytes of the server's memory each.
	maxIdleConns = 8
	// maxConnAge makes pools follow a failover or a changed address without a restart.
	maxConnAge = 30 * time.Minute
	// maxIdleTime gives connections back after a burst.
	maxIdleTime = 5 * time.Minute
	// connectTimeout bounds a connection attempt to a server that does not answer.
	connectTimeout = 10 * time.Second
)

// Retries of a transaction that the server gave up for another's sake.
const (
	// maxAttempts is generous: a second collision in a row is rare, a fifth is a fault of the code.
	maxAttempts = 5
	// retryBase is the longest first pause; each further one may be twice as long.
	retryBase = 10 * time.Millisecond
)

// Codes of errors, from appendix A of the PostgreSQL manual.
const (
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	featureNotSupported  = "0A000"
	lockNotAvailable     = "55P03"
)

// Open connects to the database at url ("postgres://…" or "key=value …") as the user that it names, and returns a pool of bounded
// size. Times come back in UTC. The caller closes the pool. It is for the schema's owner: to migrate, and to look from outside.
// What serves accounts uses OpenServed.
func Open(ctx context.Context, url string) (*sqlx.DB, error) {
	plain, err := connector(url, func(*pq.Config) {})
	if err != nil {
		return nil, err
	}
	return pool(ctx, plain)
}

// connector makes connections to the database at url; set adapts how.
func connector(url string, set func(*pq.Config)) (driver.Connector, error) {
	cfg, err := pq.NewConfig(url)
	if err != nil {
		return nil, errors.New("database URL cannot be read") // the cause would repeat the password
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	if cfg.Runtime == nil {
		cfg.Runtime = map[string]string{}
	}
	cfg.Runtime["timezone"] = "UTC"
	set(&cfg)
	made, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return made, nil
}

func pool(ctx context.Context, connections driver.Connector) (*sqlx.DB, error) {
	db := sqlx.NewDb(sql.OpenDB(connections), "postgres")
	db.SetMaxOpenConns(maxOpenConns)
	db.SetMaxIdleConns(maxIdleConns)
	db.SetConnMaxLifetime(maxConnAge)
	db.SetConnMaxIdleTime(maxIdleTime)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to database: %w", err), db.Close())
	}
	return db, nil
}

// Version asks the server for its version, e.g. "15.14 (Debian 15.14-0+deb12u1)".
func Version(ctx context.Context, db *sqlx.DB) (string, error) {
	var version string
	if err := db.GetContext(tenant.Nobody(ctx), &version, "SHOW server_version"); err != nil {
		return "", fmt.Errorf("ask postgres for its version: %w", err)
	}
	return version, nil
}

// InTx runs do in a transaction at the server's isolation level (read committed, unless do sets another) and commits it when
// do returns nil. An error or a panic of do rolls back and is passed on. A transaction that the server gave up because of a
// deadlock, a serialization failure or a schema that has just changed is run again, a bounded number of times: so do may run more
// than once, and must change nothing outside the transaction that a second run would not set right.
func InTx(ctx context.Context, db *sqlx.DB, do func(tx *sqlx.Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := inTxOnce(ctx, db, do)
		if err == nil || !isRetryable(err) || attempt == maxAttempts {
			return err
		}
		// Random, or those that collided would meet again.
		pause := time.NewTimer(rand.N(retryBase << (attempt - 1))) //nolint:gosec // G404: a pause, not a secret
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return errors.Join(ctx.Err(), err)
		}
	}
}

func inTxOnce(ctx context.Context, db *sqlx.DB, do func(tx *sqlx.Tx) error) error {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	// After a commit this does nothing; on an error or a panic it gives the connection back.
	defer func() { _ = tx.Rollback() }()
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	return nil
}

// IsUniqueViolation tells whether err says that a row would have broken the named unique constraint or index.
func IsUniqueViolation(err error, constraint string) bool {
	refusal := (*pq.Error)(nil)
	return errors.As(err, &refusal) && refusal.Code == uniqueViolation && refusal.Constraint == constraint
}

// IsLockTimeout tells whether err says that a lock was not had within the session's or the transaction's lock_timeout.
func IsLockTimeout(err error) bool {
	refusal := (*pq.Error)(nil)
	return errors.As(err, &refusal) && refusal.Code == lockNotAvailable
}

func isRetryable(err error) bool {
	refusal := (*pq.Error)(nil)
	return errors.As(err, &refusal) && (refusal.Code == serializationFailure || refusal.Code == deadlockDetected) || isOutdated(err)
}
