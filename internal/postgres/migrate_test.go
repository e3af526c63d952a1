package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/internal/tenant"
)

func TestMigrateFromEmptyByManyAtOnce(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), pgtest.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if current, head, err := postgres.SchemaVersion(t.Context(), db); err != nil || current != 0 || head < 1 {
		t.Errorf("before: SchemaVersion = %d of %d, %v; want 0 of at least 1", current, head, err)
	}

	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if err := postgres.Migrate(t.Context(), db); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if current, head, err := postgres.SchemaVersion(t.Context(), db); err != nil || current != head {
		t.Errorf("after: SchemaVersion = %d of %d, %v; want them equal", current, head, err)
	}
	var schema, want string
	if err := db.QueryRow("SELECT schemaname, current_schema() FROM pg_tables WHERE tablename = 'goose_db_version' AND "+
		"schemaname = current_schema()").Scan(&schema, &want); err != nil {
		t.Errorf("version table: %v; want it in the schema itself", err)
	}
}

func TestMigrateRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.Owner(t)
	if _, err := db.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)"); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), db); err == nil || !strings.Contains(err.Error(), "99999") {
		t.Errorf("Migrate = %v, want an error that names version 99999", err)
	}
}

func BenchmarkMigrate(b *testing.B) {
	for b.Loop() {
		db, err := postgres.Open(b.Context(), pgtest.EmptyURL(b))
		if err != nil {
			b.Fatal(err)
		}
		if err := postgres.Migrate(b.Context(), db); err != nil {
			b.Fatal(err)
		}
		_ = db.Close()
	}
}

// TestMigrateAsAnOrdinaryOwner migrates as a user who is no superuser and may create no role, as managed servers give one out.
func TestMigrateAsAnOrdinaryOwner(t *testing.T) {
	t.Parallel()
	pgtest.New(t) // the server has the roles by now
	u, err := url.Parse(pgtest.EmptyURL(t))
	if err != nil {
		t.Fatal(err)
	}
	admin, err := postgres.Open(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	owner, password := id.New("test_owner_"), id.New("")
	run := func(statement string) {
		t.Helper()
		if _, err := admin.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
			t.Error(err)
		}
	}
	run(`CREATE ROLE ` + owner + ` LOGIN PASSWORD ` + pq.QuoteLiteral(password))
	defer run(`REASSIGN OWNED BY ` + owner + ` TO CURRENT_USER; DROP OWNED BY ` + owner + `; DROP ROLE ` + owner)
	run(`ALTER SCHEMA ` + u.Query().Get("search_path") + ` OWNER TO ` + owner)
	u.User = url.UserPassword(owner, password)
	db, err := postgres.Open(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := postgres.Migrate(t.Context(), db); err == nil || !strings.Contains(err.Error(),
		"GRANT molfabric_app, molfabric_everyone TO "+owner) {
		t.Errorf("without the roles: %v; want an error that says what to grant", err)
	}
	run(`GRANT molfabric_app, molfabric_everyone TO ` + owner)
	if err := postgres.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	served, err := postgres.OpenServed(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = served.Close() }()
	for _, accountID := range []string{"a", "b"} {
		if _, err := db.ExecContext(t.Context(), `INSERT INTO accounts (id, email, name, created_at) VALUES ($1, $1, '', now())`,
			accountID); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := myself(tenant.With(t.Context(), "b"), served); got != "b" || err != nil {
		t.Errorf("b sees %q, %v", got, err)
	}
	if got, err := myself(t.Context(), db); got != "a b" || err != nil {
		t.Errorf("the owner sees %q, %v; migrations and backups must see everything", got, err)
	}
}

// TestMigrationsGiveWay holds a table that a migration wants: the migration lets go of its place in the queue for it, and of all
// that it has locked, and comes back.
func TestMigrationsGiveWay(t *testing.T) {
	t.Parallel()
	const undo20, undo19 = "ALTER TABLE jobs DROP COLUMN request_text;", "DROP TABLE plan_blocks;"
	for _, test := range []struct {
		name, hold, undo string
		from             int // the first migration that is applied again
	}{
		{"18", "LOCK TABLE jobs IN SHARE UPDATE EXCLUSIVE MODE", undo20 + undo19, 18}, // 18 may be applied twice
		{"19 jobs", "LOCK TABLE jobs IN ACCESS SHARE MODE", undo20 + undo19, 19},
		{"19 task_details", "LOCK TABLE task_details IN ACCESS SHARE MODE", undo20 + undo19, 19},
		{"20", "LOCK TABLE jobs IN ACCESS SHARE MODE", undo20, 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			givesWay(t, test.hold, fmt.Sprintf("%s DELETE FROM goose_db_version WHERE version_id >= %d", test.undo, test.from))
		})
	}
}

func givesWay(t *testing.T, hold, undo string) {
	t.Helper()
	db := pgtest.Owner(t)
	if _, err := db.Exec(undo); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var holder int
	if err := tx.Get(&holder, "SELECT pg_backend_pid()"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(hold); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { migrated <- postgres.Migrate(t.Context(), db) }()
	for waited, gone := false, false; !waited || !gone; {
		var others struct{ Waiting, Asleep, Locks int }
		err := db.Get(&others, `SELECT count(*) FILTER (WHERE NOT granted) AS waiting, count(*) FILTER (WHERE granted
			AND wait_event = 'PgSleep') AS asleep, count(*) AS locks
			FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE relation IN ('jobs'::regclass, 'task_details'::regclass)
			AND pid <> $1`, holder)
		if err != nil {
			t.Fatal(err)
		}
		if others.Asleep > 0 {
			t.Fatal("the migration sleeps between two tries, and keeps a table locked")
		}
		waited = waited || others.Waiting > 0
		gone = waited && others.Locks == 0
		select {
		case err := <-migrated:
			t.Fatalf("Migrate has ended with %v while the table was held", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}

// TestMigrationsSurviveADeadlock has a migration lock two tables in the order in which a running process does not: Postgres
// gives the migration up for the other's sake, and it comes back.
func TestMigrationsSurviveADeadlock(t *testing.T) {
	t.Parallel()
	db := pgtest.Owner(t)
	db.MustExecContext(t.Context(), `DROP TABLE email_proofs; ALTER TABLE credit_accounts DROP COLUMN allowance_withheld;
		ALTER TABLE accounts DROP COLUMN email_verified_at; DELETE FROM goose_db_version WHERE version_id >= 26`)
	tx, err := db.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.Exec("LOCK TABLE credit_accounts IN ACCESS SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { migrated <- postgres.Migrate(t.Context(), db) }()
	for waiting := 0; waiting == 0; time.Sleep(10 * time.Millisecond) {
		if err := db.Get(&waiting,
			`SELECT count(*) FROM pg_locks WHERE relation = 'credit_accounts'::regclass AND NOT granted`); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-migrated:
			t.Fatalf("Migrate has ended with %v while the table was held", err)
		default:
		}
	}
	// the migration waits the longer, and is given up
	if _, err := tx.Exec("LOCK TABLE accounts IN ACCESS SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}
