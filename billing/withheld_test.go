package billing_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// openWithheld signs an account up whose address nobody has proved.
func (b *bench) openWithheld(t *testing.T, now time.Time) string {
	t.Helper()
	accountID := id.New("acct_")
	err := b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO accounts (id, email, name, password_hash, plan, created_at)
			VALUES ($1, $1 || '@example.org', 'Test', 'none', 'free', $2)`, accountID, now)
		if err != nil {
			return err
		}
		return b.ledger.OpenWithheld(ctx, tx, accountID, "free", now)
	})
	if err != nil {
		t.Fatal(err)
	}
	return accountID
}

func (b *bench) release(accountID string, now time.Time) (released bool, err error) {
	return released, b.inTx(func(ctx context.Context, tx *sqlx.Tx) error {
		released, err = b.ledger.ReleaseAllowance(ctx, tx, accountID, now)
		return err
	})
}

// TestWithheldAllowance: no month brings it before its release, one release does, and from then on every month.
func TestWithheldAllowance(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.openWithheld(t, midMarch)
	for _, now := range []time.Time{midMarch, midMarch.AddDate(0, 1, 0), midMarch.AddDate(0, 2, 0)} {
		if got := b.balance(t, account, now); got.AvailablePence != 0 {
			t.Errorf("%s: %d pence before the release, want none", now, got.AvailablePence)
		}
	}
	err := b.hold(account, "job_too_early", 1, midMarch)
	if !fault.Is(err, fault.InsufficientCredits) || !strings.Contains(err.Error(), "confirm the account's address") {
		t.Errorf("a hold before the release: %v", err)
	}
	if credited, err := b.credit(topUp(account, "pay_1", 700), midMarch.AddDate(0, 1, 0)); err != nil || !credited {
		t.Fatal(credited, err)
	}
	released := midMarch.AddDate(0, 2, 0)
	if got := b.balance(t, account, released); got.AvailablePence != 700 {
		t.Errorf("with a top-up and a month that began: %d pence, want 700", got.AvailablePence)
	}
	if done, err := b.release(account, released); err != nil || !done {
		t.Fatal(done, err)
	}
	if got := b.balance(t, account, released); got.MonthlyPence != freePence || got.AvailablePence != freePence+700 {
		t.Errorf("released: %+v", got)
	}
	if err := b.hold(account, "job_of_the_allowance", freePence, released); err != nil {
		t.Fatal(err)
	}
	if _, err := b.settle("job_of_the_allowance", freePence, released); err != nil {
		t.Fatal(err)
	}
	if got := b.balance(t, account, released.AddDate(0, 1, 0)); got.MonthlyPence != freePence {
		t.Errorf("a month later: %d pence, want %d", got.MonthlyPence, freePence)
	}
	b.wantClean(t)
}

// TestOneRelease: of twenty calls at once one gives the allowance, and none does to an account that has had it.
func TestOneRelease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.openWithheld(t, midMarch)
	done := make([]bool, 20)
	for i, err := range race(len(done), func(i int) (err error) {
		done[i], err = b.release(account, midMarch)
		return err
	}) {
		if err != nil {
			t.Errorf("caller %d: %v", i, err)
		}
	}
	wins := 0
	for _, won := range done {
		if won {
			wins++
		}
	}
	if got := b.balance(t, account, midMarch); wins != 1 || got.MonthlyPence != freePence {
		t.Errorf("%d calls released, %d pence; want 1 and %d", wins, got.MonthlyPence, freePence)
	}
	var keys int
	if err := b.db.GetContext(t.Context(), &keys, `SELECT count(*) FROM ledger_entries WHERE account_id = $1
		AND unique_key IS NOT NULL`, account); err != nil || keys != 1 {
		t.Errorf("%d entries with a unique key, %v; want 1", keys, err)
	}
	old := b.mustOpen(t, midMarch)
	if again, err := b.release(old, midMarch); err != nil || again {
		t.Errorf("an account that was never withheld: %v, %v", again, err)
	}
	b.wantClean(t)
}
