package bench

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// makeDurableTable makes the table of the peer of B3, empty.
func makeDurableTable(ctx context.Context, db *sqlx.DB) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS bench_requests (
		id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body jsonb NOT NULL, at timestamptz NOT NULL DEFAULT now())`)
	if err == nil {
		_, err = db.ExecContext(ctx, `TRUNCATE bench_requests`)
	}
	if err != nil {
		return fmt.Errorf("make the peer's table: %w", err)
	}
	return nil
}

// insertDurable stores a request and commits.
func insertDurable(ctx context.Context, db *sqlx.DB, body []byte) error {
	if _, err := db.ExecContext(ctx, `INSERT INTO bench_requests (body) VALUES ($1)`, body); err != nil {
		return fmt.Errorf("insert a request: %w", err)
	}
	return nil
}
