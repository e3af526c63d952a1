package archive_test

import (
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// TestTheSettingWaitsForNobody changes what migration 18 changes while a transaction reads and writes the table, and is not over.
func TestTheSettingWaitsForNobody(t *testing.T) {
	t.Parallel()
	db := pgtest.Owner(t)
	within(t, db, func(working *sqlx.Tx) {
		working.MustExec(`DELETE FROM job_events WHERE id = 1`)
		working.MustExec(`LOCK TABLE tasks IN ROW EXCLUSIVE MODE`) // as every writer does
		within(t, db, func(migration *sqlx.Tx) {
			migration.MustExec(`SET LOCAL lock_timeout = '1s'`)
			migration.MustExec(`ALTER TABLE tasks SET (autovacuum_vacuum_scale_factor = 0.01)`)
			migration.MustExec(`ALTER TABLE job_events SET (autovacuum_vacuum_scale_factor = 0.01)`)
		})
	})
	var set int
	if err := db.Get(&set, `SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace
		AND relname IN ('jobs', 'tasks', 'task_details', 'job_events')
		AND reloptions @> '{autovacuum_vacuum_scale_factor=0.01}'`); err != nil || set != 4 {
		t.Errorf("%d tables have the setting, %v; want 4", set, err)
	}
}

func within(t *testing.T, db *sqlx.DB, do func(*sqlx.Tx)) {
	t.Helper()
	tx, err := db.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	do(tx)
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}
