// Package scheduler moves jobs and tasks through their states, and nothing else does: it submits, dispatches to the queues,
// collects what workers report, notices lost workers, cancels, and rolls tasks up into jobs, all in Postgres transactions
// that also move the money. It runs no engine, stages no file and answers no HTTP.
package scheduler

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// lostAfter is how long a worker may be silent before its tasks start elsewhere: two heartbeats and a half.
	lostAfter = 2500 * time.Millisecond
	// watchInterval is how often heartbeats are compared with the tasks in flight.
	watchInterval = 500 * time.Millisecond
	// dispatchInterval bounds the wait of a task whose wake-up was lost, and of a retry whose back-off has passed.
	dispatchInterval = 250 * time.Millisecond
	// electionInterval is how often a follower asks for the lead and the leader checks that it still has it.
	electionInterval = time.Second
	// announceTimeout bounds how long a caller waits for Redis after his job has been committed.
	announceTimeout = 250 * time.Millisecond
	// errorPause keeps a loop whose store is away from spinning.
	errorPause = 500 * time.Millisecond
)

// Deps is what a Scheduler needs. All are required but Metrics, NewID, Random, Recorders, Permits, Remover and
// RepeatRate.
type Deps struct {
	DB      *sqlx.DB
	Queue   Queue
	Engines *engines.Registry
	Prices  *billing.Book
	Ledger  *billing.Ledger
	Log     *slog.Logger
	Metrics *Metrics
	Now     func() time.Time
	// NewID makes the ids of jobs and tasks after a prefix; id.New by default. Later ones sort behind earlier ones.
	NewID func(prefix string) string
	// Random makes the secrets of attempts; crypto/rand by default.
	Random io.Reader
	// Recorders keep what the jobs of some engines find, by the engines' ids.
	Recorders map[string]Recorder
	// Permits signs what attempts may do in the object store. Without it workers need the store's key.
	Permits Permits
	// Remover removes checkpoints that are of no use any more. Without it they stay.
	Remover Remover
	// RepeatRate is the chance with which a task that has ended well is run again, 0 to 1.
	RepeatRate float64
}

// Scheduler is safe for concurrent use. Submit, Estimate, Cancel and Retry work on every instance; Run leads when elected.
type Scheduler struct {
	Deps
	store    Store
	repeats  *repeatStore // nil over a store that is not Postgres
	wake     chan struct{}
	slots    capacity
	fleet    livingFleet
	history  history
	unwanted unwanted
}

// capacity is how many attempts the living workers of each queue can run at once, as the watch last saw it.
type capacity struct{ atomic.Pointer[map[string]int] }

func (f *capacity) of(queueName string) int {
	if slots := f.Load(); slots != nil {
		return (*slots)[queueName]
	}
	return 0
}

// New returns a Scheduler over Postgres. It starts nothing.
func New(deps Deps) *Scheduler {
	s := NewOver(InPostgres(deps.DB, deps.Recorders), deps)
	s.repeats = &repeatStore{deps.DB}
	s.Metrics.expect(deps.Engines.IDs())
	return s
}

// NewOver returns a Scheduler over a store of any kind; deps.DB and deps.Recorders are those of Postgres alone. Without them there
// is no election: a Leader of it leads because it is called.
func NewOver(store Store, deps Deps) *Scheduler {
	if deps.Metrics == nil {
		deps.Metrics = NewMetrics(nil)
	}
	if deps.NewID == nil {
		deps.NewID = id.New
	}
	if deps.Random == nil {
		deps.Random = rand.Reader
	}
	return &Scheduler{Deps: deps, store: store, wake: make(chan struct{}, 1), history: history{spreads: map[string]knownSpread{}}}
}

// Run takes part in the election and, while it leads, dispatches, collects and watches. It returns when the context ends and
// every loop has stopped.
func (s *Scheduler) Run(ctx context.Context) error {
	ctx = tenant.Everyone(ctx, "the leader moves the tasks of all accounts")
	for ctx.Err() == nil {
		lease, err := s.elect(ctx)
		if err != nil {
			s.Log.Warn("election failed; trying again", "error", err)
		}
		if lease != nil {
			s.Log.Info("scheduler leads")
			s.lead(ctx, lease)
			s.Log.Info("scheduler no longer leads")
		}
		pause(ctx, electionInterval)
	}
	return nil
}

// lead runs the leader's loops until the lease or the context ends.
func (s *Scheduler) lead(ctx context.Context, lease *lease) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.Metrics.leader.Set(1)
	defer s.Metrics.leader.Set(0)
	var loops sync.WaitGroup
	for _, loop := range []func(context.Context){s.dispatchLoop, s.collectLoop, s.watchLoop, s.tidyLoop, s.repeatLoop, s.listen} {
		loops.Go(func() { loop(ctx) })
	}
	lease.keep(ctx)
	stop()
	loops.Wait()
	lease.release()
}

// listen turns the wake-ups of other processes into our own.
func (s *Scheduler) listen(ctx context.Context) {
	s.Queue.Wakes(ctx, s.wakeUp)
}

// wakeUp makes the dispatch loop look at once. It never blocks.
func (s *Scheduler) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// announce wakes the leader, wherever it runs. A lost wake-up costs at most dispatchInterval.
func (s *Scheduler) announce(ctx context.Context) {
	s.wakeUp()
	ctx, cancel := context.WithTimeout(ctx, announceTimeout)
	defer cancel()
	if err := s.Queue.Wake(ctx); err != nil {
		s.Log.Debug("wake-up not sent", "error", err)
	}
}

// logLoopError logs a loop's failure, unless it is just the end of the context, and pauses.
func (s *Scheduler) logLoopError(ctx context.Context, loop string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	s.Log.Error("scheduler loop failed; trying again", "loop", loop, "error", err)
	pause(ctx, errorPause)
}

// pause waits or returns early when the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// queueNames are the queues of this deployment's engines, one a worker class that they may need. Whether the price book sells the
// class does not matter: what was accepted will run.
func (s *Scheduler) queueNames() []string {
	var names []string
	for _, engineID := range s.Engines.IDs() {
		engine, _ := s.Engines.Lookup(engineID)
		for _, class := range engine.Spec().Classes() {
			names = append(names, queue.Name(class))
		}
	}
	return names
}
