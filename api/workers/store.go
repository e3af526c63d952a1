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

type store struct{ db *sqlx.DB }

// identityRow is a worker's identity as it is stored.
type identityRow struct {
	WorkerID    string         `db:"worker_id"`
	EnrolmentID string         `db:"enrolment_id"`
	PublicKey   postgres.Bytes `db:"public_key"`
	Host        string         `db:"host"`
	Name        string         `db:"name"`
	Address     string         `db:"address"`
	RenewedAt   time.Time      `db:"renewed_at"`
	Serial      int64          `db:"serial"`
	ExpiresAt   time.Time      `db:"expires_at"`
	RevokedAt   *time.Time     `db:"revoked_at"`
}

// lock reads the identity of a worker and keeps others from changing it until the transaction ends; nil when there is none.
func (s store) lock(ctx context.Context, tx *sqlx.Tx, workerID string) (*identityRow, error) {
	var found identityRow
	err := tx.GetContext(ctx, &found, `SELECT worker_id, enrolment_id, public_key, host, name, address, renewed_at, serial,
		expires_at, revoked_at FROM worker_identities WHERE worker_id = $1 FOR UPDATE`, workerID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // see above
	}
	if err != nil {
		return nil, fmt.Errorf("read the identity of %s: %w", workerID, err)
	}
	return &found, nil
}

// opened finds the enrolment that a token opens at a moment, and keeps others from taking its last places until the transaction
// ends. living is how many workers it has. Errors: sql.ErrNoRows.
func (s store) opened(ctx context.Context, tx *sqlx.Tx, hash []byte, at time.Time) (id string, most, living int, err error) {
	err = tx.QueryRowxContext(ctx, `SELECT id, max_workers FROM worker_enrolments
		WHERE token_hash = $1 AND revoked_at IS NULL AND expires_at > $2 FOR UPDATE`, postgres.Bytes(hash), at).Scan(&id, &most)
	if err != nil {
		return "", 0, 0, fmt.Errorf("look for an enrolment: %w", err)
	}
	err = tx.GetContext(ctx, &living, `SELECT count(*) FROM worker_identities WHERE enrolment_id = $1 AND ended_at IS NULL`, id)
	if err != nil {
		return "", 0, 0, fmt.Errorf("count the workers of an enrolment: %w", err)
	}
	return id, most, living, nil
}

// insert stores a new identity. It reports false when the worker's id has been taken meanwhile.
func (s store) insert(ctx context.Context, tx *sqlx.Tx, r identityRow) (bool, error) {
	done, err := tx.NamedExecContext(ctx, `INSERT INTO worker_identities (worker_id, enrolment_id, public_key, host, name, address,
			created_at, renewed_at, serial, expires_at)
		VALUES (:worker_id, :enrolment_id, :public_key, :host, :name, :address, :renewed_at, :renewed_at, :serial, :expires_at)
		ON CONFLICT (worker_id) DO NOTHING`, r)
	if err != nil {
		return false, fmt.Errorf("store the identity of %s: %w", r.WorkerID, err)
	}
	n, err := done.RowsAffected()
	return n == 1, err
}

// renew stores what a worker gets next. What it has stays good until its own end, what it had before that does not.
func (s store) renew(ctx context.Context, tx *sqlx.Tx, r identityRow) error {
	_, err := tx.NamedExecContext(ctx, `UPDATE worker_identities SET previous_serial = serial, previous_expires_at = expires_at,
			serial = :serial, expires_at = :expires_at, renewed_at = :renewed_at, host = :host, name = :name, address = :address,
			ended_at = NULL
		WHERE worker_id = :worker_id`, r)
	if err != nil {
		return fmt.Errorf("renew the identity of %s: %w", r.WorkerID, err)
	}
	return nil
}

// revoke takes identities their access: all of an enrolment, or that of one worker. It returns how many they were, and which of
// them may have a user: the others were silent, and come back no more.
func (s store) revoke(
	ctx context.Context, tx *sqlx.Tx, enrolmentID, workerID, by string, at time.Time,
) (n int, living []string, err error) {
	var rows []struct {
		WorkerID string `db:"worker_id"`
		Living   bool   `db:"living"`
	}
	err = tx.SelectContext(ctx, &rows, `UPDATE worker_identities SET revoked_at = $3, revoked_by = $4
		WHERE (enrolment_id = $1 OR worker_id = $2) AND revoked_at IS NULL RETURNING worker_id, ended_at IS NULL AS living`,
		enrolmentID, workerID, at, by)
	if err != nil {
		return 0, nil, fmt.Errorf("revoke identities: %w", err)
	}
	for _, r := range rows {
		if r.Living {
			living = append(living, r.WorkerID)
		}
	}
	return len(rows), living, nil
}

// toEnd are the workers that were revoked and whose users may still be there.
func (s store) toEnd(ctx context.Context) ([]string, error) {
	var found []string
	err := s.db.SelectContext(ctx, &found, `SELECT worker_id FROM worker_identities
		WHERE revoked_at IS NOT NULL AND ended_at IS NULL ORDER BY worker_id LIMIT $1`, atOnce)
	if err != nil {
		return nil, fmt.Errorf("look for revoked workers: %w", err)
	}
	return found, nil
}

// ended notes that revoked workers have no user any more, and returns who had revoked those of which nobody had noted it.
func (s store) ended(ctx context.Context, workerIDs []string, at time.Time) (by []string, err error) {
	err = s.db.SelectContext(ctx, &by, `UPDATE worker_identities SET ended_at = $2 WHERE worker_id = ANY($1) AND ended_at IS NULL
		RETURNING revoked_by`, pq.Array(workerIDs), at)
	if err != nil {
		return nil, fmt.Errorf("end the identities of %d workers: %w", len(workerIDs), err)
	}
	return by, nil
}

// good are the serial numbers of each worker's users that are good at a moment.
func (s store) good(ctx context.Context, at time.Time) (map[string][]int64, error) {
	var rows []struct {
		WorkerID string `db:"worker_id"`
		Serial   int64  `db:"serial"`
	}
	err := s.db.SelectContext(ctx, &rows, `SELECT worker_id, serial FROM worker_identities
			WHERE ended_at IS NULL AND revoked_at IS NULL AND expires_at > $1
		UNION ALL SELECT worker_id, previous_serial FROM worker_identities
			WHERE ended_at IS NULL AND revoked_at IS NULL AND previous_expires_at > $1`, at)
	if err != nil {
		return nil, fmt.Errorf("read the living workers: %w", err)
	}
	found := map[string][]int64{}
	for _, r := range rows {
		found[r.WorkerID] = append(found[r.WorkerID], r.Serial)
	}
	return found, nil
}

// endSilent notes that workers whose credentials have ended at a moment have no user any more.
func (s store) endSilent(ctx context.Context, at time.Time) (int64, error) {
	done, err := s.db.ExecContext(ctx, `UPDATE worker_identities SET ended_at = $1
		WHERE ended_at IS NULL AND revoked_at IS NULL AND expires_at <= $1`, at)
	if err != nil {
		return 0, fmt.Errorf("end silent workers: %w", err)
	}
	return done.RowsAffected()
}

// forget removes workers that have ended long ago, and enrolments without any that were revoked or have expired by then.
func (s store) forget(ctx context.Context, before time.Time) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM worker_identities WHERE worker_id IN (SELECT worker_id FROM worker_identities
		WHERE ended_at < $1 ORDER BY ended_at LIMIT $2)`, before, atOnce)
	if err != nil {
		return fmt.Errorf("forget workers: %w", err)
	}
	_, err = s.db.ExecContext(ctx, `DELETE FROM worker_enrolments e WHERE (e.revoked_at < $1 OR e.expires_at < $1)
		AND NOT EXISTS (SELECT FROM worker_identities w WHERE w.enrolment_id = e.id)`, before)
	if err != nil {
		return fmt.Errorf("forget enrolments: %w", err)
	}
	return nil
}
