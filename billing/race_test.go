package billing_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

// TestRaceForCredit is R8 of the reliability scorecard: 100 holds race for the credit of 10.
func TestRaceForCredit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	errs := race(100, func(i int) error { return b.hold(account, fmt.Sprintf("job_%03d", i), freePence/10, midMarch) })
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !fault.Is(err, fault.InsufficientCredits):
			t.Errorf("a loser got %v, want %s", err, fault.InsufficientCredits)
		}
	}
	if got := b.balance(t, account, midMarch); won != 10 || got.AvailablePence != 0 || got.HeldPence != freePence {
		t.Errorf("%d holds won, %d pence left, %d held; want 10, 0, %d", won, got.AvailablePence, got.HeldPence, freePence)
	}
	b.wantClean(t)
}

func TestRaceToSettle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	account := b.mustOpen(t, midMarch)
	if err := b.hold(account, "job_raced", 100, midMarch); err != nil {
		t.Fatal(err)
	}
	answers := make([]int64, 20)
	errs := race(len(answers), func(i int) (err error) {
		answers[i], err = b.settle("job_raced", int64(i+1), midMarch)
		return err
	})
	for i, err := range errs {
		if err != nil || answers[i] != answers[0] {
			t.Errorf("caller %d got %d, %v; caller 0 got %d", i, answers[i], err, answers[0])
		}
	}
	if got := b.balance(t, account, midMarch); got.MonthlyPence != freePence-answers[0] || got.HeldPence != 0 {
		t.Errorf("charged %d, but %d of %d pence are left and %d held", answers[0], got.MonthlyPence, freePence, got.HeldPence)
	}
	b.wantClean(t)
}

// TestTransactionsOverManyAccounts settles holds of the same accounts in opposite orders.
func TestTransactionsOverManyAccounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const rounds = 20
	first, second := b.mustOpen(t, midMarch), b.mustOpen(t, midMarch)
	for i := range rounds {
		for _, account := range []string{first, second} {
			if err := b.hold(account, fmt.Sprintf("%s_%d", account, i), 10, midMarch); err != nil {
				t.Fatal(err)
			}
		}
	}
	errs := race(rounds, func(i int) error {
		order := []string{first, second}
		if i%2 == 1 {
			order = []string{second, first}
		}
		ctx := context.Background()
		tx, err := b.db.BeginTxx(ctx, nil) // not InTx, which would hide a deadlock behind a retry
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := b.ledger.LockAccounts(ctx, tx, order...); err != nil {
			return err
		}
		for _, account := range order {
			if _, err := b.ledger.Settle(ctx, tx, fmt.Sprintf("%s_%d", account, i), 1, 10, midMarch); err != nil {
				return err
			}
		}
		return tx.Commit()
	})
	for i, err := range errs {
		if err != nil {
			t.Errorf("transaction %d: %v", i, err)
		}
	}
	b.wantClean(t)
}

// race runs n calls at once and returns their errors.
func race(n int, call func(i int) error) []error {
	errs := make([]error, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			errs[i] = call(i)
		})
	}
	close(start)
	running.Wait()
	return errs
}
