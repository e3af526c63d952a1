package uploads

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/molfabric/molfabric/internal/object"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// sweepInterval is how often abandoned uploads are looked for: often against lifetimes of days.
	sweepInterval = 10 * time.Minute
	// sweepBatch bounds one sweep; what is left is the next one's.
	sweepBatch = 500
	// FileRetention is how long a file that no submission has found is kept.
	FileRetention = 30 * 24 * time.Hour
	// unseenGrace is how long after its URL has expired a file may still be on its way: a PUT that began in time goes on.
	unseenGrace = 24 * time.Hour
	// recordRetention is how long an ended upload in parts still answers: with its completion, or that it has expired.
	recordRetention = 30 * 24 * time.Hour
)

// Swept counts what a sweep cleaned up.
type Swept struct {
	Aborted int // uploads in parts that expired before their completion
	Removed int // files that no submission has found in time
	Unseen  int // files that were announced and never came, forgotten
	Records int // ended uploads in parts, forgotten
}

// Run sweeps every ten minutes until the context ends. Every instance of the API may run it: one sweeps at a time.
func (s *Service) Run(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		swept, err := s.Sweep(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("cleaning up uploads failed; the next try is soon", "error", err, "swept", swept)
		case swept != (Swept{}):
			log.Info("cleaned up uploads", "swept", swept)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sweep ends uploads in parts that have expired, removes files that no submission has found for FileRetention, and forgets what
// ended long ago, each up to a bound. It may be called at any time and by several instances: all but one return at once. An
// upload that cannot be cleaned up does not keep the others.
func (s *Service) Sweep(ctx context.Context) (Swept, error) {
	ctx = tenant.Everyone(ctx, "what is abandoned is looked for in all accounts")
	held, err := s.store.try(ctx, sweepLock)
	if held == nil || err != nil {
		return Swept{}, err
	}
	defer held.release()
	var swept Swept
	now := s.now().UTC()
	var failures [4]error
	swept.Aborted, failures[0] = s.sweepOverdue(ctx, now)
	swept.Removed, failures[1] = s.sweepUnused(ctx, now.Add(-FileRetention))
	swept.Unseen, failures[3] = s.sweepUnseen(ctx, now)
	forgotten, err := s.store.forget(ctx, now.Add(-recordRetention), sweepBatch)
	swept.Records, failures[2] = int(forgotten), err
	return swept, errors.Join(failures[:]...)
}

func (s *Service) sweepOverdue(ctx context.Context, now time.Time) (aborted int, err error) {
	overdue, err := s.store.overdue(ctx, now, sweepBatch)
	for _, m := range overdue {
		done, failure := s.locked(ctx, m.StorageKey, func() (bool, error) {
			current, err := s.store.multipart(ctx, m.AccountID, m.ID)
			if err != nil || current.over() {
				return false, err
			}
			return true, s.end(ctx, current, stateExpired)
		})
		if done {
			aborted++
		}
		err = errors.Join(err, failure)
	}
	return aborted, err
}

func (s *Service) sweepUnused(ctx context.Context, before time.Time) (removed int, err error) {
	keys, err := s.store.unused(ctx, before, sweepBatch)
	for _, key := range keys {
		done, failure := s.locked(ctx, key, func() (bool, error) {
			withdrawn, err := s.store.withdrawUnused(ctx, key, before)
			if err != nil || !withdrawn {
				return false, err
			}
			if err := s.objects.Delete(ctx, key); err != nil {
				return false, err
			}
			return true, s.store.drop(ctx, key)
		})
		if done {
			removed++
		}
		err = errors.Join(err, failure)
	}
	return removed, err
}

// sweepUnseen looks once for each file whose URL has expired, and forgets what never came.
func (s *Service) sweepUnseen(ctx context.Context, now time.Time) (dropped int, err error) {
	before := now.Add(-unseenGrace)
	keys, err := s.store.unseen(ctx, before, sweepBatch)
	for _, key := range keys {
		done, failure := s.locked(ctx, key, func() (bool, error) {
			_, err := s.objects.Head(ctx, key)
			switch {
			case err == nil:
				return false, s.store.seen(ctx, key, now)
			case errors.Is(err, object.ErrNotFound):
				return s.store.dropUnseen(ctx, key, before)
			}
			return false, err
		})
		if done {
			dropped++
		}
		err = errors.Join(err, failure)
	}
	return dropped, err
}

// locked does something under the lock of a storage key, or nothing when a request holds it.
func (s *Service) locked(ctx context.Context, storageKey string, do func() (bool, error)) (done bool, err error) {
	held, err := s.store.try(ctx, keyLock, storageKey)
	if held == nil || err != nil {
		return false, err
	}
	defer held.release()
	done, err = do()
	return done && err == nil, err
}
