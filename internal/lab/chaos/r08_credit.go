package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/id"
)

const (
	// racingSubmits race for the credit of affordableJobs.
	racingSubmits  = 100
	affordableJobs = 10
)

// lastCredit is R8: it races for credit, while nothing ends and while jobs end.
func lastCredit(ctx context.Context, w *World, rng *rand.Rand) error {
	if err := w.Start(ctx, 3, 0, 0); err != nil {
		return err
	}
	job := Probe{Tasks: 1 + rng.IntN(5)}
	price, err := w.priceOf(ctx, job)
	if err != nil {
		return err
	}
	account, err := w.Account(ctx, affordableJobs*price+rng.Int64N(price))
	if err != nil {
		return err
	}
	return errors.Join(w.watchPurse(ctx, account, func() error { return spend(ctx, w, account, job) }),
		w.neverBelowZero(ctx, account))
}

// spend submits more than there is credit for: once while nothing can end, and once more while jobs end and their credit comes
// back.
func spend(ctx context.Context, w *World, account *Account, job Probe) error {
	accepted, err := raceForCredit(ctx, w, account, job)
	if err != nil {
		return err
	}
	if accepted != affordableJobs {
		return fmt.Errorf("%d of %d submissions were accepted, and there was credit for %d", accepted, racingSubmits,
			affordableJobs)
	}
	if err := w.hasJobs(ctx, account, affordableJobs); err != nil {
		return err
	}
	if _, err := w.StartScheduler(ctx); err != nil {
		return err
	}
	if _, err := w.StartWorker(ctx, WorkerOptions{Slots: 4}); err != nil {
		return err
	}
	more := 0
	err = w.Eventually(ctx, "credit that came back is spent again", patience, func(ctx context.Context) (bool, error) {
		taken, err := raceForCredit(ctx, w, account, job)
		more += taken
		return more >= affordableJobs, err
	})
	if err != nil {
		return err
	}
	w.Figure("accepted_count", float64(accepted))
	w.Figure("accepted_while_jobs_end_count", float64(more))
	if err := w.awaitEnds(ctx); err != nil {
		return err
	}
	return w.hasJobs(ctx, account, accepted+more)
}

// priceOf is what a job sets aside, in pence.
func (w *World) priceOf(ctx context.Context, job Probe) (int64, error) {
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return 0, err
	}
	jobID, err := account.Submit(ctx, job, "")
	if err != nil {
		return 0, err
	}
	price, err := heldPence(ctx, w.db, jobID)
	if err == nil && price < 1 {
		err = fmt.Errorf("job %s holds %d pence", jobID, price)
	}
	return price, err
}

// raceForCredit submits jobs at the same moment and counts those that were accepted; the others must lack credit.
func raceForCredit(ctx context.Context, w *World, account *Account, job Probe) (accepted int, err error) {
	apis, request := w.APIs(), account.Request(job)
	var taken atomic.Int64
	err = atOnce(racingSubmits, func(i int) error {
		answer, err := account.Send(ctx, apis[i%len(apis)], http.MethodPost, "/v1/jobs/submit", request, "Idempotency-Key",
			id.New("key_"))
		switch {
		case err != nil:
			return err
		case answer.Status == http.StatusOK:
			taken.Add(1)
			return nil
		}
		return answer.refuses(http.StatusPaymentRequired, "INSUFFICIENT_CREDITS")
	})
	return int(taken.Load()), err
}

// watchPurse reads an account's money from the tables and from every API, again and again, as long as do runs.
func (w *World) watchPurse(ctx context.Context, account *Account, do func() error) error {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	apis := w.APIs()
	failures := make([]error, 1+len(apis))
	var samples atomic.Int64
	var watchers sync.WaitGroup
	watch := func(failure *error, look func(context.Context) error) {
		watchers.Go(func() {
			for watching.Err() == nil && *failure == nil {
				if err := look(watching); err != nil && watching.Err() == nil {
					*failure = err
				}
				samples.Add(1)
			}
		})
	}
	watch(&failures[0], func(ctx context.Context) error { return w.soundPurse(ctx, account) })
	for i, api := range apis {
		watch(&failures[1+i], func(ctx context.Context) error { return soundBalance(ctx, account, api) })
	}
	err := do()
	stop()
	watchers.Wait()
	w.Figure("purse_samples_count", float64(samples.Load()))
	return errors.Join(someOf(failures), err)
}

// soundPurse reads the tables: nothing below zero, and what is available is the sum of the ledger's entries.
func (w *World) soundPurse(ctx context.Context, account *Account) error {
	p, err := readPurse(ctx, w.db, account.ID)
	if err == nil && (p.Least < 0 || p.Available != p.Entries) {
		err = fmt.Errorf("account %s: at least %d pence in a bucket, %d available, %d by the ledger", account.ID, p.Least,
			p.Available, p.Entries)
	}
	return err
}

// soundBalance reads what an API says.
func soundBalance(ctx context.Context, account *Account, api *Process) error {
	answer, err := account.Send(ctx, api, http.MethodGet, "/v1/credits/balance", nil)
	if err != nil {
		return err
	}
	var b contract.Balance
	if err := answer.read(&b, http.StatusOK); err != nil {
		return err
	}
	if least := min(b.WalletCents, b.WalletAvailableCents, b.MonthlyCents, b.MonthlyAvailableCents, b.AvailableCents); least < 0 {
		return fmt.Errorf("%s tells a balance of %d pence", api.Name, least)
	}
	return nil
}

// neverBelowZero walks through the ledger, entry by entry.
func (w *World) neverBelowZero(ctx context.Context, account *Account) error {
	lowest, err := lowestPence(ctx, w.db, account.ID)
	if err == nil && lowest < 0 {
		err = fmt.Errorf("account %s: its ledger passes %d pence", account.ID, lowest)
	}
	w.Figure("lowest_pence", float64(lowest))
	return err
}
