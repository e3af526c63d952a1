package structures

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// store remembers what was fetched.
type store struct{ db *sqlx.DB }

// entry reads what is kept of an entry; found is false when nothing is.
func (s store) entry(ctx context.Context, id string) (kept Entry, found bool, err error) {
	err = s.db.GetContext(ctx, &kept, `
SELECT pdb_id, sha256, storage_key, byte_size, source, fetched_at, check_after FROM structures WHERE pdb_id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("read structure %s: %w", id, err)
	}
	return kept, true, nil
}

func (s store) keepEntry(ctx context.Context, e Entry) error {
	_, err := s.db.NamedExecContext(ctx, `
INSERT INTO structures (pdb_id, sha256, storage_key, byte_size, source, fetched_at, check_after)
VALUES (:pdb_id, :sha256, :storage_key, :byte_size, :source, :fetched_at, :check_after)
ON CONFLICT (pdb_id) DO UPDATE SET sha256 = excluded.sha256, storage_key = excluded.storage_key, byte_size = excluded.byte_size,
	source = excluded.source, fetched_at = excluded.fetched_at, check_after = excluded.check_after`, e)
	if err != nil {
		return fmt.Errorf("remember structure %s: %w", e.PDBID, err)
	}
	return nil
}

// postponeEntry sets when the source is asked again.
func (s store) postponeEntry(ctx context.Context, id string, until time.Time) error {
	if _, err := s.db.ExecContext(ctx, `UPDATE structures SET check_after = $2 WHERE pdb_id = $1`, id, until); err != nil {
		return fmt.Errorf("postpone structure %s: %w", id, err)
	}
	return nil
}

// keptComponent is a component that was fetched, and when it is asked for again.
type keptComponent struct {
	Component
	CheckAfter time.Time
}

// components reads which of the components are kept, by id.
func (s store) components(ctx context.Context, ids []string) (map[string]keptComponent, error) {
	var rows []struct {
		ID         string          `db:"component_id"`
		Definition json.RawMessage `db:"definition"`
		CheckAfter time.Time       `db:"check_after"`
	}
	err := s.db.SelectContext(ctx, &rows, `SELECT component_id, definition, check_after FROM components
		WHERE component_id = ANY($1)`, pq.Array(ids))
	if err != nil {
		return nil, fmt.Errorf("read components: %w", err)
	}
	kept := make(map[string]keptComponent, len(rows))
	for _, row := range rows {
		one := keptComponent{CheckAfter: row.CheckAfter}
		if err := json.Unmarshal(row.Definition, &one.Component); err != nil {
			return nil, fmt.Errorf("read component %s: %w", row.ID, err)
		}
		kept[row.ID] = one
	}
	return kept, nil
}

func (s store) keepComponent(ctx context.Context, c Component, origin string, fetchedAt, checkAfter time.Time) error {
	definition, err := json.Marshal(c)
	if err == nil {
		_, err = s.db.ExecContext(ctx, `
INSERT INTO components (component_id, definition, source, fetched_at, check_after) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (component_id) DO UPDATE SET definition = excluded.definition, source = excluded.source,
	fetched_at = excluded.fetched_at, check_after = excluded.check_after`, c.ID, string(definition), origin, fetchedAt, checkAfter)
	}
	if err != nil {
		return fmt.Errorf("remember component %s: %w", c.ID, err)
	}
	return nil
}

// postponeComponent sets when the server is asked again.
func (s store) postponeComponent(ctx context.Context, id string, until time.Time) error {
	if _, err := s.db.ExecContext(ctx, `UPDATE components SET check_after = $2 WHERE component_id = $1`, id, until); err != nil {
		return fmt.Errorf("postpone component %s: %w", id, err)
	}
	return nil
}
