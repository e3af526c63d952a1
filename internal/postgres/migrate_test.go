package postgres_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
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
	if err := db.QueryRow("SELECT schemaname, current_schema() FROM pg_tables WHERE tablename = 'goose_db_version' AND schemaname = current_schema()").Scan(&schema, &want); err != nil {
		t.Errorf("version table: %v; want it in the schema itself", err)
	}
}

func TestMigrateRefusesANewerSchema(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
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
