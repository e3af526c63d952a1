package workers

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/postgres"
)

// insertEnrolment reports false when one of the name is good already.
func insertEnrolment(ctx context.Context, tx *sqlx.Tx, e Enrolment, hash []byte) (bool, error) {
	done, err := tx.ExecContext(ctx, `INSERT INTO worker_enrolments (id, name, token_hash, max_workers, created_at, created_by,
			expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING`,
		e.ID, e.Name, postgres.Bytes(hash), e.MaxWorkers, e.CreatedAt, e.CreatedBy, e.ExpiresAt)
	if err != nil {
		return false, fmt.Errorf("store an enrolment: %w", err)
	}
	n, err := done.RowsAffected()
	return n == 1, err
}

// selectEnrolments lists the newest enrolments, newest first.
func selectEnrolments(ctx context.Context, db sqlx.QueryerContext) ([]Enrolment, error) {
	found := []Enrolment{}
	err := sqlx.SelectContext(ctx, db, &found, `SELECT id, name, max_workers, created_at, created_by, expires_at, revoked_at,
			revoked_by, (SELECT count(*) FROM worker_identities w WHERE w.enrolment_id = e.id AND w.ended_at IS NULL) AS living
		FROM worker_enrolments e ORDER BY created_at DESC, id DESC LIMIT $1`, listed)
	if err != nil {
		return nil, fmt.Errorf("list enrolments: %w", err)
	}
	return found, nil
}

// revokeEnrolment ends the enrolment of a name; "" when none of the name is good.
func revokeEnrolment(ctx context.Context, tx *sqlx.Tx, name, by string, at time.Time) (id string, err error) {
	err = tx.GetContext(ctx, &id, `UPDATE worker_enrolments SET revoked_at = $2, revoked_by = $3
		WHERE name = $1 AND revoked_at IS NULL RETURNING id`, name, at, by)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("revoke an enrolment: %w", err)
	}
	return id, nil
}

// selectWorkers lists the newest workers, newest first: the living ones, or all that are known.
func selectWorkers(ctx context.Context, db sqlx.QueryerContext, all bool) ([]Worker, error) {
	found := []Worker{}
	err := sqlx.SelectContext(ctx, db, &found, `SELECT w.worker_id, e.name AS enrolment, w.host, w.name, w.address, w.created_at,
			w.renewed_at, w.expires_at, w.revoked_at, w.revoked_by, w.ended_at
		FROM worker_identities w JOIN worker_enrolments e ON e.id = w.enrolment_id
		WHERE $1 OR w.ended_at IS NULL ORDER BY w.created_at DESC, w.worker_id DESC LIMIT $2`, all, listed)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	return found, nil
}

// countOpen is how many of some workers may still have a user of Redis.
func countOpen(ctx context.Context, db sqlx.QueryerContext, workerIDs []string) (n int, err error) {
	err = sqlx.GetContext(ctx, db, &n, `SELECT count(*) FROM worker_identities WHERE ended_at IS NULL AND worker_id = ANY($1)`,
		pq.Array(workerIDs))
	if err != nil {
		return 0, fmt.Errorf("look whether workers have ended: %w", err)
	}
	return n, nil
}
