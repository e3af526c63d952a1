package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/postgres/pgtest"
)

// patience bounds every wait of these tests.
const patience = 30 * time.Second

// noon is the time of every test's first claim.
var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func claimOf(t *testing.T, db *sqlx.DB) idempotency.Claim {
	t.Helper()
	accountID := id.New("acct_")
	db.MustExecContext(t.Context(), `INSERT INTO accounts (id, email, name, password_hash, created_at)
		VALUES ($1, $2, '', '', now())`, accountID, accountID+"@example.org")
	return idempotency.Claim{AccountID: accountID, Operation: "jobs.submit", Key: "key-0001", Request: []byte(`{"a":1}`)}
}

// take claims in a transaction of its own.
func take(ctx context.Context, db *sqlx.DB, c idempotency.Claim, answer string, now time.Time) (first string, err error) {
	err = postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		raw, err := idempotency.Take(ctx, tx, c, []byte(answer), now)
		first = string(raw)
		return err
	})
	return first, err
}

func wantFirst(t *testing.T, name, got string, err error, want string) {
	t.Helper()
	if err != nil || got != want {
		t.Errorf("%s: got %q (%v), want %q", name, got, err, want)
	}
}

func TestSameRequestGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	got, err := take(t.Context(), db, c, `{"job": 1}`, noon)
	wantFirst(t, "first", got, err, "")
	for i := range 3 {
		got, err = take(t.Context(), db, c, `{"job": 2}`, noon.Add(time.Duration(i)*time.Hour))
		wantFirst(t, "again", got, err, `{"job": 1}`)
	}
}

func TestOtherRequestIsRefused(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	got, err := take(t.Context(), db, c, `1`, noon)
	wantFirst(t, "first", got, err, "")
	other := c
	other.Request = []byte(`{"a":2}`)
	if _, err := take(t.Context(), db, other, `2`, noon); !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Errorf("other request: %v", err)
	}
	got, err = take(t.Context(), db, c, `3`, noon)
	wantFirst(t, "the refusal changed nothing", got, err, `1`)
}

func TestKeysLiveByAccountAndOperation(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	operation, key, account := c, c, claimOf(t, db)
	operation.Operation, key.Key = "projects.save", "key-0002"
	operation.Request, key.Request, account.Request = []byte("x"), []byte("y"), []byte("z")
	for i, one := range []idempotency.Claim{c, operation, key, account} {
		got, err := take(t.Context(), db, one, fmt.Sprint(i), noon)
		wantFirst(t, fmt.Sprint(i), got, err, "")
	}
	for i, one := range []idempotency.Claim{c, operation, key, account} {
		got, err := take(t.Context(), db, one, `9`, noon)
		wantFirst(t, fmt.Sprint(i), got, err, fmt.Sprint(i))
	}
}

func TestAnswerComesAtTheEnd(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
		if first, err := idempotency.Take(t.Context(), tx, c, nil, noon); err != nil || first != nil {
			return fmt.Errorf("got %q: %w", first, err)
		}
		return idempotency.Answer(t.Context(), tx, c, []byte(`{"late": true}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := take(t.Context(), db, c, `0`, noon)
	wantFirst(t, "again", got, err, `{"late": true}`)
}

func TestFailureLeavesNoClaim(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	failure := errors.New("the operation failed")
	err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
		if _, err := idempotency.Take(t.Context(), tx, c, []byte(`1`), noon); err != nil {
			return err
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	other := c
	other.Request = []byte(`{"corrected":true}`)
	got, err := take(t.Context(), db, other, `2`, noon)
	wantFirst(t, "after a failure", got, err, "")
}

// TestLifetime checks the promise of at least a day, the end of a key, and that its next use counts anew.
func TestLifetime(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	if idempotency.Lifetime < 24*time.Hour {
		t.Errorf("keys live for %s", idempotency.Lifetime)
	}
	got, err := take(t.Context(), db, c, `1`, noon)
	wantFirst(t, "first", got, err, "")
	other := c
	other.Request = []byte(`other`)
	justBefore, end := noon.Add(idempotency.Lifetime-time.Microsecond), noon.Add(idempotency.Lifetime)
	if _, err := take(t.Context(), db, other, `2`, justBefore); !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Errorf("just before its end: %v", err)
	}
	got, err = take(t.Context(), db, other, `3`, end)
	wantFirst(t, "at its end", got, err, "")
	got, err = take(t.Context(), db, other, `4`, end.Add(time.Hour))
	wantFirst(t, "of the second life", got, err, `3`)
}

func TestDeleteExpired(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	old, young := claimOf(t, db), claimOf(t, db)
	for i, c := range []idempotency.Claim{old, young} {
		got, err := take(t.Context(), db, c, `1`, noon.Add(time.Duration(i)*time.Hour))
		wantFirst(t, "first", got, err, "")
	}
	if err := idempotency.DeleteExpired(t.Context(), db, noon.Add(idempotency.Lifetime+time.Minute)); err != nil {
		t.Fatal(err)
	}
	var left []string
	if err := db.SelectContext(t.Context(), &left, `SELECT account_id FROM idempotency_keys`); err != nil || len(left) != 1 ||
		left[0] != young.AccountID {
		t.Errorf("left are %v (%v)", left, err)
	}
}

// TestRunningClaim: a second request waits for the first a short while, then is told that it runs.
func TestRunningClaim(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	tx, err := db.BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := idempotency.Take(t.Context(), tx, c, []byte(`1`), noon); err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	if _, err := take(t.Context(), db, c, `2`, noon); !fault.Is(err, fault.IdempotencyInProgress) {
		t.Errorf("while it runs: %v", err)
	}
	if waited := time.Since(started); waited < time.Second || waited > patience {
		t.Errorf("it waited %s", waited)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	got, err := take(t.Context(), db, c, `3`, noon)
	wantFirst(t, "afterwards", got, err, `1`)
}

// TestConcurrentClaimsHaveOneFirst: of many at once one does the work, and all know its answer.
func TestConcurrentClaimsHaveOneFirst(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	var (
		wait            sync.WaitGroup
		mu              sync.Mutex
		firsts, answers = map[string]bool{}, map[string]int{}
	)
	for i := range 20 {
		wait.Go(func() {
			mine := fmt.Sprintf(`{"n": %d}`, i)
			got, err := take(t.Context(), db, c, mine, noon)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Error(err)
			case got == "":
				firsts[mine] = true
			default:
				answers[got]++
			}
		})
	}
	wait.Wait()
	if len(firsts) != 1 || len(answers) != 1 {
		t.Fatalf("firsts %v, answers %v", firsts, answers)
	}
	for answer := range answers {
		if !firsts[answer] || answers[answer] != 19 {
			t.Errorf("firsts %v, answers %v", firsts, answers)
		}
	}
}

// TestLockTimeoutEndsWithTheClaim: what the operation does afterwards may wait as long as it must.
func TestLockTimeoutEndsWithTheClaim(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error {
		if _, err := idempotency.Take(t.Context(), tx, c, []byte(`1`), noon); err != nil {
			return err
		}
		var timeout string
		if err := tx.GetContext(t.Context(), &timeout, `SHOW lock_timeout`); err != nil || timeout != "0" {
			return fmt.Errorf("lock_timeout is %q: %w", timeout, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFindClaimsNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := claimOf(t, db)
	find := func(c idempotency.Claim, now time.Time) (string, error) {
		raw, err := idempotency.Find(t.Context(), db, c, now)
		return string(raw), err
	}
	got, err := find(c, noon)
	wantFirst(t, "before", got, err, "")
	got, err = take(t.Context(), db, c, `{"job": 1}`, noon)
	wantFirst(t, "the claim after a look", got, err, "")
	got, err = find(c, noon)
	wantFirst(t, "after", got, err, `{"job": 1}`)
	got, err = find(c, noon.Add(idempotency.Lifetime))
	wantFirst(t, "expired", got, err, "")
	other := c
	other.Request = []byte(`{"a":2}`)
	if _, err := find(other, noon); !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Errorf("another request: %v", err)
	}
	other = claimOf(t, db)
	got, err = find(other, noon)
	wantFirst(t, "another account", got, err, "")
}
