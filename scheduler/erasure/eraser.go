package erasure

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// passInterval is how long a deletion waits at most before its objects go.
	passInterval = 5 * time.Second
	// lease is how long one instance is given for a deletion before another takes it up; both at once do no harm.
	lease = 10 * time.Minute
	// turn is how long a closed account is stripped before other removals come, and nextTurn is when it goes on.
	turn, nextTurn = time.Minute, time.Second
	// retryAfter is the pause before the next try when the store is away.
	retryAfter = time.Minute
	// secondLook is when all is deleted once more: an address to upload to is good for an hour, what began in time may
	// take a day, and a worker that was thought lost may still store a file.
	secondLook = 26 * time.Hour
	// stepJobs bounds the jobs of a closed account that are read at once.
	stepJobs = 50
)

// Eraser deletes what is written down as to be deleted. Several may run: each takes what no other works on.
type Eraser struct{ Deps }

// New returns an Eraser. It starts nothing.
func New(deps Deps) *Eraser {
	if deps.Metrics == nil {
		deps.Metrics = NewMetrics(nil)
	}
	return &Eraser{deps}
}

// Run deletes what is due, every few seconds, until the context ends.
func (e *Eraser) Run(ctx context.Context) {
	tick := time.NewTicker(passInterval)
	defer tick.Stop()
	for {
		if err := e.Pass(ctx); err != nil && ctx.Err() == nil {
			e.Log.Warn("what was asked to be deleted is not deleted yet; the next try is soon", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Pass deletes what is due now, and records what some earlier jobs read. It may be called at any time. What fails is tried again
// later, and does not keep the others; the first error is returned.
func (e *Eraser) Pass(ctx context.Context) (failed error) {
	ctx = tenant.Everyone(ctx, "what is to be deleted is looked for in all accounts")
	for ctx.Err() == nil {
		found, err := claimRemoval(ctx, e.DB, e.now(), e.now().Add(lease))
		if err != nil {
			return err
		}
		if found == nil {
			break
		}
		if err := e.remove(ctx, *found); err != nil {
			if failed == nil {
				failed = err
			}
			if err := postpone(ctx, e.DB, *found, e.now().Add(retryAfter)); err != nil {
				return err
			}
		}
	}
	if err := e.recordSome(ctx); err != nil && failed == nil {
		failed = err
	}
	waiting, err := countWaiting(ctx, e.DB)
	if err != nil {
		return err
	}
	e.Metrics.waiting.Set(float64(waiting))
	return failed
}

// remove deletes what a removal names. It may be repeated.
func (e *Eraser) remove(ctx context.Context, r removal) error {
	if !r.below() {
		return e.removeOne(ctx, r)
	}
	if r.isAccount() {
		done, err := e.eraseAccount(ctx, r.AccountID)
		if err != nil {
			return err
		}
		if !done {
			return postpone(ctx, e.DB, r, e.now().Add(nextTurn))
		}
	}
	n, err := e.Objects.DeletePrefix(ctx, r.Prefix)
	e.Metrics.removed.Add(float64(n))
	if err != nil {
		return wrap(err, "delete what is below %s", r.Prefix)
	}
	if r.firstLook() {
		e.Log.Info("deleted what was written down as to be deleted", "account", r.AccountID, "below", r.Prefix, "objects", n)
	}
	return finish(ctx, e.DB, r)
}

// removeOne deletes one object of a project package, whose key a new file may take: its removal is held meanwhile, which
// whoever stores the new file waits for and ends.
func (e *Eraser) removeOne(ctx context.Context, r removal) error {
	return postgres.InTx(ctx, e.DB, func(tx *sqlx.Tx) error {
		if held, err := holdRemoval(ctx, tx, r); err != nil || !held {
			return err
		}
		if err := e.Objects.Delete(ctx, r.Prefix); err != nil {
			return wrap(err, "delete %s", r.Prefix)
		}
		e.Metrics.removed.Inc()
		return finish(ctx, tx, r)
	})
}

// eraseAccount removes the rows of a closed account that are none of the books, job by job: an account may have millions, and what
// others have asked for is not to wait for all of them. It reports whether everything is gone.
func (e *Eraser) eraseAccount(ctx context.Context, accountID string) (done bool, err error) {
	begun, last := time.Now(), jobPlace{}
	for {
		jobs, err := jobsToStrip(ctx, e.DB, accountID, last, stepJobs)
		if err != nil {
			return false, err
		}
		for _, last = range jobs {
			err := postgres.InTx(ctx, e.DB, func(tx *sqlx.Tx) error { return stripJob(ctx, tx, last.ID, e.now()) })
			if err != nil {
				return false, err
			}
		}
		if len(jobs) < stepJobs {
			break
		}
		if time.Since(begun) > turn {
			return false, nil
		}
	}
	unfinished, err := unfinishedUploads(ctx, e.DB, accountID)
	if err != nil {
		return false, err
	}
	for _, m := range unfinished {
		if err := e.Objects.AbortMultipart(ctx, m.StorageKey, m.StoreHandle); err != nil {
			return false, wrap(err, "end the upload at %s", m.StorageKey)
		}
	}
	return true, postgres.InTx(ctx, e.DB, func(tx *sqlx.Tx) error {
		if err := deleteCredentials(ctx, tx, accountID, e.now()); err != nil {
			return err
		}
		return deleteRest(ctx, tx, accountID, e.now())
	})
}

func (e *Eraser) now() time.Time { return e.Now().UTC().Truncate(time.Microsecond) }
