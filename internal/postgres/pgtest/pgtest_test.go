package pgtest_test

import (
	"errors"
	"os"
	"testing"

	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

func TestEachTestHasItsSchema(t *testing.T) {
	t.Parallel()
	first := pgtest.URL(t)
	if again := pgtest.URL(t); again != first {
		t.Error("two URLs of one test differ")
	}
	db := pgtest.New(t)
	var inner string
	t.Run("subtest", func(t *testing.T) {
		if pgtest.URL(t) == first {
			t.Error("a subtest has its parent's schema")
		}
		if err := pgtest.New(t).Get(&inner, "SELECT current_schema()"); err != nil {
			t.Fatal(err)
		}
	})
	var left int
	if err := db.Get(&left, "SELECT count(*) FROM pg_namespace WHERE nspname = $1", inner); err != nil || left != 0 {
		t.Errorf("%d schemas left by a finished test that knew its address, %v; want none", left, err)
	}
}

// TestSchemasAreLeftEmpty wants the next test to find nothing of the one before, whatever triggers refuse.
func TestSchemasAreLeftEmpty(t *testing.T) { //nolint:paralleltest // another test could take the schema
	const insert = `INSERT INTO audit_log (at, account_id, actor, event) VALUES (now(), 'acct_1', 'somebody', 'something')
		RETURNING id`
	var schemas [2]string
	for i := range schemas {
		t.Run("one after the other", func(t *testing.T) { //nolint:paralleltest // one after the other
			db := pgtest.New(t)
			var id, rows int
			err := errors.Join(db.Get(&schemas[i], "SELECT current_schema()"), db.Get(&id, insert),
				db.Get(&rows, "SELECT count(*) FROM audit_log"))
			if err != nil || id != 1 || rows != 1 {
				t.Errorf("got row %d of %d, %v; want the first and only one", id, rows, err)
			}
		})
	}
	if schemas[0] != schemas[1] && os.Getenv("TEST_DATABASE_URL") == "" { // in somebody else's server nothing stays
		t.Error("the second test did not have the schema that the first one left")
	}
}
