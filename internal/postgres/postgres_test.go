package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

var errRefused = errors.New("refused")

// insertAccount writes an account with the given address.
func insertAccount(tx sqlx.ExecerContext, email string) error {
	_, err := tx.ExecContext(context.Background(),
		"INSERT INTO accounts (id, email, name, password_hash, created_at) VALUES ($1, $2, 'Ada', 'x', now())", id.New("acct_"),
		email)
	return err
}

func countAccounts(t *testing.T, db *sqlx.DB) int {
	t.Helper()
	var count int
	if err := db.Get(&count, "SELECT count(*) FROM accounts"); err != nil {
		t.Fatal(err)
	}
	return count
}

func TestOpenRefusesWithoutLeaking(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"postgres://ada:hunter2@127.0.0.1:notaport/db",
		"postgres://ada:hunter2@127.0.0.1:1/db?sslmode=disable"} {
		db, err := postgres.Open(t.Context(), url)
		if err == nil {
			t.Errorf("Open(%q) = %v, want an error", url, db)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Open(%q) tells the password: %v", url, err)
		}
	}
}

func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	var now time.Time
	if err := pgtest.New(t).Get(&now, "SELECT now()"); err != nil {
		t.Fatal(err)
	}
	if now.Location() != time.UTC {
		t.Errorf("now() is in %v, want UTC", now.Location())
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	version, err := postgres.Version(t.Context(), pgtest.New(t))
	if err != nil || version == "" || version[0] < '1' || version[0] > '9' {
		t.Errorf("Version() = %q, %v; want a number", version, err)
	}
}

func TestInTxCommits(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error { return insertAccount(tx, "ada@example.org") })
	if got := countAccounts(t, db); err != nil || got != 1 {
		t.Errorf("InTx = %v and %d accounts, want 1", err, got)
	}
}

func TestInTxRollsBackOnError(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
		return errors.Join(insertAccount(tx, "ada@example.org"), errRefused)
	})
	if got := countAccounts(t, db); !errors.Is(err, errRefused) || got != 0 {
		t.Errorf("InTx = %v and %d accounts, want %v and none", err, got, errRefused)
	}
}

func TestInTxRollsBackOnPanic(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
			if err := insertAccount(tx, "ada@example.org"); err != nil {
				return err
			}
			panic("out of the blue")
		})
	}()
	if got := countAccounts(t, db); got != 0 {
		t.Errorf("%d accounts, want none", got)
	}
	if open := db.Stats().InUse; open != 0 {
		t.Errorf("%d connections in use after the panic, want 0", open)
	}
}

// Two transactions that lock two rows in opposite order: the server ends one of them, and InTx runs it again.
func TestInTxRetriesADeadlock(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for _, email := range []string{"a", "b"} {
		if err := insertAccount(db, email); err != nil {
			t.Fatal(err)
		}
	}
	var (
		both, group sync.WaitGroup
		runs        [2]int
		errs        [2]error
	)
	both.Add(2)
	for n, order := range [2][2]string{{"a", "b"}, {"b", "a"}} {
		group.Go(func() {
			errs[n] = postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
				runs[n]++
				if _, err := tx.Exec("UPDATE accounts SET name = name || $1 WHERE email = $2", "+", order[0]); err != nil {
					return err
				}
				if runs[n] == 1 { // each holds its first row before either asks for its second
					both.Done()
					both.Wait()
				}
				_, err := tx.Exec("UPDATE accounts SET name = name || $1 WHERE email = $2", "+", order[1])
				return err
			})
		})
	}
	group.Wait()
	// Whoever begins anew may have its first row again before the other is awake, and then they collide once more.
	if errs[0] != nil || errs[1] != nil || runs[0]+runs[1] < 3 {
		t.Errorf("errors %v after %v runs, want none after 3 in all or more", errs, runs)
	}
	var names []string
	if err := db.Select(&names, "SELECT name FROM accounts"); err != nil || names[0] != "Ada++" || names[1] != "Ada++" {
		t.Errorf("names = %q, %v; want each changed twice", names, err)
	}
}

func TestInTxGivesUp(t *testing.T) {
	t.Parallel()
	runs := 0
	err := postgres.InTx(t.Context(), pgtest.New(t), func(*sqlx.Tx) error {
		runs++
		return &pq.Error{Code: "40001"}
	})
	if err == nil || runs != 5 {
		t.Errorf("InTx = %v after %d runs, want an error after 5", err, runs)
	}
}

func TestIsUniqueViolation(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if err := insertAccount(db, "ada@example.org"); err != nil {
		t.Fatal(err)
	}
	err := insertAccount(db, "ADA@example.org")
	for _, c := range []struct {
		err        error
		constraint string
		want       bool
	}{
		{err, "accounts_email", true},
		{err, "accounts_pkey", false},
		{nil, "accounts_email", false},
		{errRefused, "accounts_email", false},
	} {
		if got := postgres.IsUniqueViolation(c.err, c.constraint); got != c.want {
			t.Errorf("IsUniqueViolation(%v, %q) = %v, want %v", c.err, c.constraint, got, c.want)
		}
	}
}
