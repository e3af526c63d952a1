// Package pgtest gives every test a schema of its own in a real Postgres: in the server that TEST_DATABASE_URL names, or in
// a private one that the first test of a process starts and that ends with the process. It is for tests alone.
package pgtest

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/servers"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// schemaPrefix marks the schemas of tests, so that those of a killed process can be told.
const schemaPrefix = "test_"

// serverVariable names a server to run in, instead of a private one.
const serverVariable = "TEST_DATABASE_URL"

// patience bounds everything that happens outside a test's own context.
const patience = time.Minute

// throwaway trades the safety of data that nobody keeps for speed, and leaves room for many pools.
var throwaway = []string{"fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_wal_size=128MB", "max_connections=300"}

// schema is a schema of tests, in which one of them runs at a time.
type schema struct {
	name, address string // the address is with its owner
	altered       string // by these statements
	// changed may be its tables, and not their rows alone: no other test is to have it.
	changed bool
}

// schemas are those of running tests, and those that ended ones have left empty: to migrate one takes longer than most tests.
var schemas = struct {
	sync.Mutex
	running map[testing.TB]*schema
	empty   map[string][]*schema // by the statements that have altered them
}{running: map[testing.TB]*schema{}, empty: map[string][]*schema{}}

// New returns a pool on a schema of the test's own, migrated to the newest version and empty. The test's end closes it. Pools and
// URLs of one test lead to the same schema; a subtest has its own. The pool is served by the roles that serve the product, which
// may not change the schema; a statement whose context names no tenant sees everyone's rows, because a test looks from outside.
func New(t testing.TB) *sqlx.DB {
	t.Helper()
	return opened(t)(postgres.OpenEveryone(t.Context(), schemaOf(t).address, "a test looks from outside"))
}

// Served is New as the product opens it: a statement whose context names no tenant is refused. What a test drives through its own
// front door is to have this one.
func Served(t testing.TB) *sqlx.DB {
	t.Helper()
	return opened(t)(postgres.OpenServed(t.Context(), schemaOf(t).address))
}

// Owner returns a pool of the schema's owner, whom no policy binds, for what only an owner may do: migrate, change tables.
func Owner(t testing.TB) *sqlx.DB {
	t.Helper()
	return opened(t)(postgres.Open(t.Context(), URL(t)))
}

// URL is the address of the test's schema, with its owner, for processes that open it themselves. Who has it may change tables.
func URL(t testing.TB) string {
	t.Helper()
	s := schemaOf(t)
	s.changed = true
	return s.address
}

// Alter has a test's schema altered by its owner before the test opens it. Tests with the same statements share what was altered.
func Alter(t testing.TB, statements string) {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	if s, known := schemas.running[t]; !known {
		take(t, statements)
	} else if s.altered != statements {
		t.Fatal("the test has opened its schema already")
	}
}

// schemaOf is the schema of a test.
func schemaOf(t testing.TB) *schema {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	if s, known := schemas.running[t]; known {
		return s
	}
	return take(t, "")
}

// take gives a test a schema that another has left, or a new one.
func take(t testing.TB, statements string) *schema {
	t.Helper()
	var s *schema
	if left := schemas.empty[statements]; len(left) > 0 {
		s, schemas.empty[statements] = left[len(left)-1], left[:len(left)-1]
	} else {
		s = create(t)
		s.altered = statements
		if err := migrate(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	schemas.running[t] = s
	t.Cleanup(func() { leave(t, s) })
	return s
}

// migrate brings a schema without any table to the newest version, and alters it.
func migrate(ctx context.Context, s *schema) error {
	db, err := postgres.Open(ctx, s.address)
	if err != nil {
		return err
	}
	err = postgres.Migrate(ctx, db)
	if err == nil && s.altered != "" {
		_, err = db.ExecContext(ctx, s.altered)
	}
	return errors.Join(err, db.Close())
}

// leave empties a schema for the next test, and drops one that cannot be had as it was.
func leave(t testing.TB, s *schema) {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	delete(schemas.running, t)
	// In a server of somebody else's nothing stays.
	if !s.changed && !t.Failed() && os.Getenv(serverVariable) == "" && execute(s.address, wipe) == nil {
		schemas.empty[s.altered] = append(schemas.empty[s.altered], s)
		return
	}
	drop(t, s)
}

// wipe deletes the rows of all tables but the list of migrations, past triggers that refuse it, and counts from 1 again. Many rows
// leave holes through which later tests would read: then it fails.
const wipe = `DO $$
DECLARE
	one regclass;
	deleted bigint;
	everything bigint := 0;
BEGIN
	SET LOCAL session_replication_role = replica;
	FOR one IN SELECT oid::regclass FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
		AND relname NOT LIKE 'goose%' LOOP
		EXECUTE format('DELETE FROM %s', one);
		GET DIAGNOSTICS deleted = ROW_COUNT;
		everything := everything + deleted;
	END LOOP;
	FOR one IN SELECT oid::regclass FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'S'
		AND relname NOT LIKE 'goose%' LOOP
		EXECUTE format('ALTER SEQUENCE %s RESTART', one);
	END LOOP;
	IF everything > 5000 THEN
		RAISE EXCEPTION 'there were % rows', everything;
	END IF;
END $$`

// EmptyURL is the address of a new schema without any table, for tests of the migration itself.
func EmptyURL(t testing.TB) string {
	t.Helper()
	s := create(t)
	t.Cleanup(func() { drop(t, s) })
	return s.address
}

// create makes a schema without any table.
func create(t testing.TB) *schema {
	t.Helper()
	address, err := server()
	serverstest.Check(t, err)
	name := id.New(schemaPrefix)
	if err := execute(address, "CREATE SCHEMA "+pq.QuoteIdentifier(name)); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", name)
	u.RawQuery = query.Encode()
	return &schema{name: name, address: u.String()}
}

func drop(t testing.TB, s *schema) {
	t.Helper()
	if err := execute(s.address, dropSchema(s.name)); err != nil {
		t.Error(err)
	}
}

// opened is what keeps a pool until the test's end.
func opened(t testing.TB) func(*sqlx.DB, error) *sqlx.DB {
	return func(db *sqlx.DB, err error) *sqlx.DB {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	}
}

// server returns the address of the process' server, which the first call starts.
var server = sync.OnceValues(func() (string, error) {
	if address := os.Getenv(serverVariable); address != "" {
		return address, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	started, err := serverstest.StartShared("postgres", func(dir string) (*servers.Postgres, error) {
		return servers.StartPostgres(ctx, servers.PostgresOptions{Dir: dir, Log: slog.New(slog.DiscardHandler),
			Settings: throwaway})
	})
	if err != nil {
		return "", err
	}
	return started.URL(), dropLeftovers(ctx, started.URL())
})

// dropLeftovers drops the schemas of an earlier process: those that its last tests have left, and all where it was killed.
func dropLeftovers(ctx context.Context, address string) error {
	db, err := postgres.Open(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var left []string
	err = db.SelectContext(ctx, &left, "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)", schemaPrefix)
	for _, schema := range left {
		_, errDrop := db.ExecContext(ctx, dropSchema(schema))
		err = errors.Join(err, errDrop)
	}
	return err
}

func dropSchema(schema string) string {
	return "DROP SCHEMA " + pq.QuoteIdentifier(schema) + " CASCADE"
}

// execute runs one statement on a connection of its own, also when the test's context has ended.
func execute(address, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	db, err := postgres.Open(ctx, address)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}
