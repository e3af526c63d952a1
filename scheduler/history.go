package scheduler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// historyTasks is how many of a queue's newest successes are looked at: enough for steady quantiles, few enough to be read
	// within milliseconds.
	historyTasks = 1000
	// minHistoryTasks is the least that says anything about the outer tenths.
	minHistoryTasks = 20
	// historyFor is how long a spread is believed: estimates are asked for far more often than it changes.
	historyFor = time.Minute
)

// The quantiles of a spread: one task in ten lies below the low one, one in ten above the high one.
const (
	lowQuantile    = 0.1
	likelyQuantile = 0.5
	highQuantile   = 0.9
)

// spreadOf is the spread of outcomes, or nil when there are too few. A task counts by the time expected of it, because
// that is its part in a price: many small preparations say little about the search that follows.
func spreadOf(outcomes []Outcome) *billing.Spread {
	if len(outcomes) < minHistoryTasks {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(outcomes), func(a, b Outcome) int { return cmp.Compare(a.Ratio, b.Ratio) })
	total := 0.0
	for _, o := range sorted {
		total += o.Weight
	}
	at := func(quantile float64) float64 {
		below := 0.0
		for _, o := range sorted {
			if below += o.Weight; below >= quantile*total {
				return o.Ratio
			}
		}
		return sorted[len(sorted)-1].Ratio
	}
	return &billing.Spread{Low: at(lowQuantile), Likely: at(likelyQuantile), High: at(highQuantile)}
}

// history remembers the spreads that were read last, one a queue.
type history struct {
	mu      sync.Mutex
	spreads map[string]knownSpread
}

type knownSpread struct {
	spread *billing.Spread
	until  time.Time
}

// spreads are how well the expectations of an engine were met by the newest tasks of this deployment, of all accounts, by
// hardware; a worker class of which too few have ended is nil.
func (s *Scheduler) spreads(ctx context.Context, spec engines.Spec) (map[string]*billing.Spread, error) {
	all := map[string]*billing.Spread{}
	for _, class := range spec.Classes() {
		spread, err := s.spread(ctx, class)
		if err != nil {
			return nil, err
		}
		all[class.Hardware] = spread
	}
	return all, nil
}

// spread is that of one worker class. Two that find it out of date at the same moment both read it.
func (s *Scheduler) spread(ctx context.Context, class engines.WorkerClass) (*billing.Spread, error) {
	name, now := queue.Name(class), s.Now()
	s.history.mu.Lock()
	known, found := s.history.spreads[name]
	s.history.mu.Unlock()
	if found && now.Before(known.until) {
		return known.spread, nil
	}
	outcomes, err := s.store.Outcomes(ctx, name, historyTasks)
	if err != nil {
		return nil, err
	}
	spread := spreadOf(outcomes)
	s.history.mu.Lock()
	s.history.spreads[name] = knownSpread{spread: spread, until: now.Add(historyFor)}
	s.history.mu.Unlock()
	s.Metrics.measured(class, spread)
	return spread, nil
}
