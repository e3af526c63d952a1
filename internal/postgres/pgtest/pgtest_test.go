package pgtest_test

import (
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
		t.Errorf("%d schemas left by a finished test, %v; want none", left, err)
	}
}
