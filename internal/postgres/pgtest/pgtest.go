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

// patience bounds everything that happens outside a test's own context.
const patience = time.Minute

// throwaway trades the safety of data that nobody keeps for speed, and leaves room for many pools.
var throwaway = []string{"fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_wal_size=128MB", "max_connections=300"}

// schemas holds the address of every running test's schema.
var schemas = struct {
	sync.Mutex
	urls map[testing.TB]string
}{urls: map[testing.TB]string{}}

// New returns a pool on a schema of the test's own, migrated to the newest version. The test's end closes it and drops the
// schema. Pools and URLs of one test lead to the same schema; a subtest has its own. The pool is served by the roles that serve the
// product, which may not change the schema; a statement whose context names no tenant sees everyone's rows, because a test looks
// from outside.
func New(t testing.TB) *sqlx.DB {
	t.Helper()
	return opened(t)(postgres.OpenEveryone(t.Context(), URL(t), "a test looks from outside"))
}

// Served is New as the product opens it: a statement whose context names no tenant is refused. What a test drives through its own
// front door is to have this one.
func Served(t testing.TB) *sqlx.DB {
	t.Helper()
	return opened(t)(postgres.OpenServed(t.Context(), URL(t)))
}

// Owner returns a pool of the schema's owner, whom no policy binds, for what only an owner may do: migrate, change tables.
func Owner(t testing.TB) *sqlx.DB {
	t.Helper()
	return opened(t)(postgres.Open(t.Context(), URL(t)))
}

// URL is the address of the test's schema, with its owner, for processes that open it themselves.
func URL(t testing.TB) string {
	t.Helper()
	schemas.Lock()
	defer schemas.Unlock()
	if address, known := schemas.urls[t]; known {
		return address
	}
	address := EmptyURL(t)
	db, err := postgres.Open(t.Context(), address)
	if err == nil {
		err = errors.Join(postgres.Migrate(t.Context(), db), db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	schemas.urls[t] = address
	t.Cleanup(func() {
		schemas.Lock()
		defer schemas.Unlock()
		delete(schemas.urls, t)
	})
	return address
}

// EmptyURL is the address of a new schema without any table, for tests of the migration itself.
func EmptyURL(t testing.TB) string {
	t.Helper()
	address, err := server()
	serverstest.Check(t, err)
	schema := id.New(schemaPrefix)
	if err := execute(address, "CREATE SCHEMA "+pq.QuoteIdentifier(schema)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := execute(address, dropSchema(schema)); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("search_path", schema)
	u.RawQuery = query.Encode()
	return u.String()
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
	if address := os.Getenv("TEST_DATABASE_URL"); address != "" {
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

// dropLeftovers drops the schemas of an earlier process that was killed in its tests.
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
