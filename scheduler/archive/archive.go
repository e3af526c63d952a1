// Package archive lets go of what nobody reads any more of jobs that ended long ago: the events that their watchers followed, and
// which workers were kept off them. What is owed, what was found and what a retry needs stays: the jobs, their history of states,
// their tasks with plans and results, every attempt with its use and price, the files and the ledger. It runs no job and moves
// none.
package archive

import (
	"context"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// passInterval is often against a lifetime of days.
	passInterval = 10 * time.Minute
	// stepEvents bounds the events that one transaction looks at, and those that it removes: some ten milliseconds of work.
	stepEvents = 2000
	// stepPause leaves the database to the work of today: a year's backlog of 20 million events goes in a quarter of an hour or
	// two.
	stepPause = 50 * time.Millisecond
)

// Deps is what an Archive needs. All are required but Metrics.
type Deps struct {
	DB      *sqlx.DB
	Keep    time.Duration // how long the events of an ended job are kept; 0 keeps them for ever
	Log     *slog.Logger
	Metrics *Metrics
	Now     func() time.Time
}

// Metrics count what was let go.
type Metrics struct {
	rows     *prometheus.CounterVec
	lastPass prometheus.Gauge
}

// NewMetrics registers the metrics; reg may be nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	f := promauto.With(reg)
	return &Metrics{
		rows: f.NewCounterVec(prometheus.CounterOpts{Name: "molfabric_archive_removed_rows_total",
			Help: "Rows about jobs that ended long ago that were removed, by table."}, []string{"table"}),
		lastPass: f.NewGauge(prometheus.GaugeOpts{Name: "molfabric_archive_last_pass_timestamp_seconds",
			Help: "When everything that was due had last been removed, by this instance."}),
	}
}

// Archive removes what is due. Every scheduler may run one: they take turns by the step. Its methods are called by one goroutine.
type Archive struct {
	Deps
	store store
	// cursor is the last event that was looked at. A new Archive looks at all again: of each archived job one event is left.
	cursor int64
}

// New returns an Archive. It starts nothing.
func New(deps Deps) *Archive {
	if deps.Metrics == nil {
		deps.Metrics = NewMetrics(nil)
	}
	return &Archive{Deps: deps, store: store{deps.DB}}
}

// Run removes what is due, every ten minutes, until the context ends.
func (a *Archive) Run(ctx context.Context) {
	if a.Keep <= 0 {
		return
	}
	tick := time.NewTicker(passInterval)
	defer tick.Stop()
	for {
		removed, err := a.Pass(ctx)
		switch {
		case err != nil && ctx.Err() == nil:
			a.Log.Warn("old events not removed; the next try is soon", "error", err, "removed", removed)
		case removed > 0:
			a.Log.Info("removed what is left of jobs that ended long ago", "rows", removed)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Pass removes what is due now, in small transactions with pauses, and returns how many rows that were. It ends early when another
// instance is at work. After an error it goes on from the last step that was committed.
func (a *Archive) Pass(ctx context.Context) (removed int, err error) {
	ctx = tenant.Everyone(ctx, "old events of all accounts are removed")
	before := a.Now().UTC().Add(-a.Keep)
	for {
		done, err := a.store.step(ctx, a.cursor, before, stepEvents)
		if err != nil {
			return removed, err
		}
		a.cursor = done.cursor
		for table, rows := range done.removed {
			removed += int(rows)
			a.Metrics.rows.WithLabelValues(table).Add(float64(rows))
		}
		if done.last {
			a.Metrics.lastPass.Set(float64(a.Now().Unix()))
		}
		if done.last || done.busy {
			return removed, nil
		}
		select {
		case <-ctx.Done():
			return removed, ctx.Err()
		case <-time.After(stepPause):
		}
	}
}
