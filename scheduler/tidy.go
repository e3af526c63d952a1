package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/object"
)

// Checkpoints that later ones have replaced, or a success, are removed from the object store after the commit that says so. A
// permit cannot remove anything. What a leader that ends leaves behind goes with the store's retention, or by `molfabric audit
// --sweep`.

const (
	// tidyInterval gathers what is removed with one request.
	tidyInterval = 2 * time.Second
	// maxUnwanted bounds what waits while the store is away: more is left behind.
	maxUnwanted = 100_000
	// tidyBatch is how many objects one request removes.
	tidyBatch = 1000
)

// maxRemovals is how often the removal of an object is tried that the store refuses while it removes others.
const maxRemovals = 3

// Remover removes objects for good: an *object.Store.
type Remover interface {
	// DeleteAll may be called again with the same keys. Errors: *object.UndeletedError when the others are gone,
	// object.ErrUnavailable.
	DeleteAll(ctx context.Context, keys []string) error
}

var _ Remover = (*object.Store)(nil)

// unwanted are keys of objects that are to be removed.
type unwanted struct {
	mu    sync.Mutex
	keys  []string
	tries map[string]int // of those that were refused
}

// discard has objects removed that nothing speaks of any more.
func (s *Scheduler) discard(keys ...string) {
	if s.Remover == nil || len(keys) == 0 {
		return
	}
	s.unwanted.mu.Lock()
	defer s.unwanted.mu.Unlock()
	if len(s.unwanted.keys)+len(keys) > maxUnwanted {
		s.Metrics.leftBehind.Add(float64(len(keys)))
		s.Log.Warn("old checkpoints left behind: the object store does not remove them", "files", len(keys))
		return
	}
	s.unwanted.keys = append(s.unwanted.keys, keys...)
}

// tidyLoop removes what was discarded, and once more when the leader stops.
func (s *Scheduler) tidyLoop(ctx context.Context) {
	ticker := time.NewTicker(tidyInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s.logLoopError(ctx, "tidy", s.tidy(ctx))
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverGrace)
	defer cancel()
	if err := s.tidy(last); err != nil {
		s.Log.Info("old checkpoints left behind", "error", err)
	}
}

// tidy removes what has been discarded until now. While the store is away the rest waits. What the store refuses to remove keeps
// nothing else waiting: it is tried again in later rounds, and then left behind.
func (s *Scheduler) tidy(ctx context.Context) error {
	s.unwanted.mu.Lock()
	left := len(s.unwanted.keys)
	s.unwanted.mu.Unlock()
	for left > 0 {
		s.unwanted.mu.Lock()
		batch := slices.Clone(s.unwanted.keys[:min(left, tidyBatch)])
		s.unwanted.mu.Unlock()
		refused, cause, err := s.removeAll(ctx, batch)
		if err != nil {
			return err
		}
		left -= len(batch)
		s.unwanted.mu.Lock()
		given := s.unwanted.end(len(batch), refused)
		s.unwanted.mu.Unlock()
		if len(given) > 0 {
			s.Metrics.leftBehind.Add(float64(len(given)))
			s.Log.Warn("old checkpoints left behind: the object store refuses to remove them", "files", len(given), "first",
				given[0],
				"error", cause)
		}
	}
	return nil
}

// removeAll removes a batch and returns what the store refuses to remove, and why. A batch that it refuses as a whole is removed
// one by one. Errors: for a store that is away.
func (s *Scheduler) removeAll(ctx context.Context, batch []string) (refused []string, cause, err error) {
	cause = s.Remover.DeleteAll(ctx, batch)
	var some *object.UndeletedError
	switch {
	case cause == nil:
		return nil, nil, nil
	case errors.As(cause, &some):
		return some.Keys, cause, nil
	case ctx.Err() != nil || errors.Is(cause, object.ErrUnavailable):
		return nil, nil, cause
	case len(batch) == 1:
		return batch, cause, nil
	}
	for _, key := range batch {
		one, why, err := s.removeAll(ctx, []string{key})
		if err != nil {
			return nil, nil, err
		}
		if len(one) > 0 {
			refused, cause = append(refused, key), why
		}
	}
	return refused, cause, nil
}

// end takes the first n keys out. Those of them that were refused come again, up to maxRemovals; what is left behind is returned.
func (u *unwanted) end(n int, refused []string) (given []string) {
	batch := slices.Clone(u.keys[:n])
	u.keys = slices.Delete(u.keys, 0, n)
	if u.tries == nil {
		u.tries = map[string]int{}
	}
	for _, key := range batch {
		if !slices.Contains(refused, key) {
			delete(u.tries, key)
			continue
		}
		if u.tries[key]++; u.tries[key] < maxRemovals {
			u.keys = append(u.keys, key)
			continue
		}
		delete(u.tries, key)
		given = append(given, key)
	}
	return given
}
