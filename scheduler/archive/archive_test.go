package archive_test

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/internal/postgres/pgtest"
	"github.com/molfabric/molfabric/scheduler/archive"
)

const keep = 30 * 24 * time.Hour

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// daysAgo is a moment.
func daysAgo(days float64) time.Time {
	return now.Add(-time.Duration(days * 24 * float64(time.Hour)))
}

// world is a database with jobs, and an archive of it.
type world struct {
	*archive.Archive
	t        *testing.T
	db       *sqlx.DB
	registry *prometheus.Registry
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, db: pgtest.New(t), registry: prometheus.NewRegistry()}
	w.Archive = w.another(archive.NewMetrics(w.registry))
	w.db.MustExec(`INSERT INTO accounts (id, email, name, plan, created_at) VALUES ('acct_a', 'a@example.test', '', 'free', $1)`,
		now)
	return w
}

// another is an archive of the same database, as another instance has.
func (w *world) another(metrics *archive.Metrics) *archive.Archive {
	return archive.New(archive.Deps{DB: w.db, Keep: keep, Log: slog.New(slog.DiscardHandler), Metrics: metrics,
		Now: func() time.Time { return now }})
}

// job makes a job with one task that was charged, and a fault of a worker of it.
func (w *world) job(id string, finished *time.Time) {
	w.t.Helper()
	status := "RUNNING"
	if finished != nil {
		status = "COMPLETED"
	}
	w.db.MustExec(`INSERT INTO jobs (id, account_id, job_type, scene_file, request, status, stage_count, task_count,
		estimated_pence, held_pence, created_at, updated_at, finished_at)
		VALUES ($1, 'acct_a', 'simulation', 's', '{}', $2, 1, 1, 1, 1, $3, $3, $4)`, id, status, daysAgo(100), finished)
	w.db.MustExec(`INSERT INTO job_status_history (job_id, seq, status, at) VALUES ($1, 1, 'SUBMITTED', $2), ($1, 2, $3, $2)`, id,
		daysAgo(100), status)
	w.db.MustExec(`INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready,
		status)
		VALUES ('task_' || $1, $1, 'acct_a', 0, 'dock', 0, 'dock-1', true, 1, 'cpu.autodock-vina', true, 'SUCCEEDED')`, id)
	w.db.MustExec(`INSERT INTO task_details (task_id) VALUES ('task_' || $1)`, id)
	w.db.MustExec(`INSERT INTO task_attempts (task_id, attempt, outcome, charged_micropence, finished_at)
		VALUES ('task_' || $1, 1, 'SUCCEEDED', 7, $2)`, id, daysAgo(90))
	w.db.MustExec(`INSERT INTO worker_faults (job_id, worker_id, attempts, code, at) VALUES ($1, 'wrk_1', 2, 'OUT_OF_MEMORY', $2)`,
		id, daysAgo(90))
}

// event adds one to a job; status is "" for one of a task.
func (w *world) event(jobID, status string, at time.Time) {
	w.t.Helper()
	kind, body := "task", `{"taskIndex": 0}`
	if status != "" {
		kind, body = "status", fmt.Sprintf(`{"status": %q, "reason": ""}`, status)
	}
	w.db.MustExec(`INSERT INTO job_events (job_id, kind, body, at) VALUES ($1, $2, $3, $4)`, jobID, kind, body, at)
}

// events are what is left of a job's, in their order: the status or the kind.
func (w *world) events(jobID string) []string {
	w.t.Helper()
	var left []string
	if err := w.db.Select(&left, `SELECT coalesce(body ->> 'status', kind) FROM job_events WHERE job_id = $1 ORDER BY id`,
		jobID); err != nil {
		w.t.Fatal(err)
	}
	return left
}

func (w *world) expect(jobID string, want ...string) {
	w.t.Helper()
	if got := w.events(jobID); !slices.Equal(got, want) {
		w.t.Errorf("events of %s are %v, want %v", jobID, got, want)
	}
}

func (w *world) pass(a *archive.Archive, want int) {
	w.t.Helper()
	if removed, err := a.Pass(w.t.Context()); err != nil || removed != want {
		w.t.Errorf("removed %d rows, %v; want %d", removed, err, want)
	}
}

func (w *world) count(table string) (n int) {
	w.t.Helper()
	if err := w.db.Get(&n, `SELECT count(*) FROM `+table); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestOldEventsGoAndEverythingElseStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old, recent := daysAgo(40), daysAgo(10)
	w.job("old", &old)
	w.job("recent", &recent)
	w.job("open", nil)
	for _, jobID := range []string{"old", "recent", "open"} {
		w.event(jobID, "SUBMITTED", daysAgo(100))
		w.event(jobID, "", daysAgo(99))
	}
	w.event("old", "COMPLETED", old)
	w.event("recent", "", daysAgo(11))
	w.event("recent", "COMPLETED", recent)
	w.pass(w.Archive, 3)
	w.expect("old", "COMPLETED")
	w.expect("recent", "SUBMITTED", "task", "task", "COMPLETED")
	w.expect("open", "SUBMITTED", "task")
	for table, want := range map[string]int{"jobs": 3, "job_status_history": 6, "tasks": 3, "task_details": 3, "task_attempts": 3,
		"worker_faults": 2} {
		if got := w.count(table); got != want {
			t.Errorf("%d rows of %s are left, want %d", got, table, want)
		}
	}
	w.pass(w.Archive, 0)
	w.pass(w.another(nil), 0) // after a restart, all is looked at again
	if got, want := w.removed(), map[string]float64{"job_events": 2, "worker_faults": 1}; !maps.Equal(got, want) {
		t.Errorf("the metric counts %v, want %v", got, want)
	}
}

// removed is what the metric counts, by table.
func (w *world) removed() map[string]float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	counts := map[string]float64{}
	for _, family := range families {
		if family.GetName() == "molfabric_archive_removed_rows_total" {
			for _, metric := range family.GetMetric() {
				counts[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	return counts
}

// TestARetriedJobKeepsItsCurrentRun follows a job that failed long ago, is run again now, and ends.
func TestARetriedJobKeepsItsCurrentRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.job("again", nil)
	w.event("again", "SUBMITTED", daysAgo(100))
	w.event("again", "FAILED", daysAgo(40))
	w.event("again", "QUEUED", daysAgo(1))
	w.event("again", "", daysAgo(1))
	w.pass(w.Archive, 2)
	w.expect("again", "FAILED", "QUEUED", "task")
	w.event("again", "COMPLETED", daysAgo(0.5))
	w.pass(w.Archive, 0)
	w.expect("again", "FAILED", "QUEUED", "task", "COMPLETED")
	later := archive.New(archive.Deps{DB: w.db, Keep: keep, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return now.Add(2 * keep) }})
	w.pass(later, 3)
	w.expect("again", "COMPLETED")
}

// TestALargeJobGoesStepByStep removes more events of one job than a step may.
func TestALargeJobGoesStepByStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := daysAgo(40)
	w.job("large", &old)
	w.db.MustExec(`INSERT INTO job_events (job_id, kind, body, at) SELECT 'large', 'task', '{}', $1 FROM generate_series(1, 4500)`,
		daysAgo(50))
	w.event("large", "CANCELLED", old)
	w.job("open", nil)
	w.event("open", "", daysAgo(35))
	w.pass(w.Archive, 4501)
	w.expect("large", "CANCELLED")
	w.expect("open", "task")
}

// TestOneInstanceIsAtWork holds the lock of a step, as another instance does.
func TestOneInstanceIsAtWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := daysAgo(40)
	w.job("old", &old)
	w.event("old", "", daysAgo(50))
	w.event("old", "FAILED", old)
	tx, err := w.db.Beginx()
	if err != nil {
		t.Fatal(err)
	}
	if _,
		err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtextextended('molfabric archive ' || current_schema(), 0))`); err != nil {
		t.Fatal(err)
	}
	w.pass(w.Archive, 0)
	w.expect("old", "task", "FAILED")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	w.pass(w.Archive, 2)
}

func TestKeptForEver(t *testing.T) {
	t.Parallel()
	a := archive.New(archive.Deps{Now: time.Now})
	a.Run(t.Context()) // returns at once, and asks no database
}
