package scheduler_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/redistest"
)

// finished stores n tasks that have succeeded in a job of another account, each with its weight in CPU seconds and the seconds
// that it used; the later ones ended later.
func (f *fabric) finished(n int, outcome func(i int) (weight, used float64)) {
	f.t.Helper()
	jobID := f.submit(f.account(), 1)
	ids, weights, used := make([]string, n), make([]float64, n), make([]int64, n)
	for i := range n {
		weight, seconds := outcome(i)
		ids[i], weights[i], used[i] = id.New("task_"), weight, int64(seconds*1e6)
	}
	f.db.MustExec(`WITH given AS (
			SELECT * FROM unnest($2::text[], $3::float8[], $4::bigint[]) WITH ORDINALITY AS g (id, weight, used, place)
		), ended AS (
			INSERT INTO tasks (id, job_id, account_id, ordinal, stage, stage_index, name, essential, weight, queue, ready, status,
			attempt, finished_at)
			SELECT id, $1, 'acct', 1000 + place, 's', 0, 'n', false, weight, $5, true, 'SUCCEEDED', 1, $6::timestamptz + place *
			interval '1 microsecond' FROM given
		)
		INSERT INTO task_attempts (task_id, attempt, outcome, cpu_us, finished_at) SELECT id, 1, 'SUCCEEDED', used, $6 FROM given`,
		jobID, pq.Array(ids), pq.Array(weights), pq.Array(used), cpuQueue, f.Now())
}

func (f *fabric) estimate() billing.Quote {
	f.t.Helper()
	// 600 shards and two more tasks of 60 s: 241 pence of compute and 2 to start.
	got, err := f.Estimate(f.t.Context(), "", threeStages{}, engines.Request{Params: json.RawMessage(`{"shards":600}`)}, false)
	if err != nil {
		f.t.Fatal(err)
	}
	return got.Quote
}

// TestRangeComesFromWhatTasksUsed: the estimate's range follows the newest successes of the engine, weighted by what had been
// expected of them, for a minute; the estimate and the hold do not move.
func TestRangeComesFromWhatTasksUsed(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	f.Now = func() time.Time { return now }

	plain := f.estimate()
	if plain.EstimatedPence != 243 || plain.LikelyPence != 243 || plain.LowPence != 121 || plain.HighPence != plain.HoldPence {
		t.Fatalf("without history: %+v", plain)
	}
	// 100 tasks that used 1 % to 100 % of what was expected; the light ones beside them used ten times as much and
	// weigh little: they move each quantile by one task.
	f.finished(100, func(i int) (weight, used float64) { return 60, 0.6 * float64(i+1) })
	f.finished(50, func(int) (weight, used float64) { return 0.001, 0.01 })
	f.finished(5, func(int) (weight, used float64) { return 0, 10 }) // nothing was expected: no ratio
	f.finished(5, func(int) (weight, used float64) { return 60, 0 }) // nothing was measured
	if got := f.estimate(); got.LikelyPence != plain.LikelyPence {
		t.Errorf("within a minute: %+v, want the range as it was", got)
	}
	now = now.Add(time.Minute)
	got := f.estimate()
	if got.LowPence != 28 || got.LikelyPence != 125 || got.HighPence != 221 || got.EstimatedPence != plain.EstimatedPence ||
		got.HoldPence != plain.HoldPence {
		t.Errorf("with history: low %d, likely %d, high %d, estimated %d, held %d; want 11 %%, 51 %% and 91 %% of 241 pence, and 2",
			got.LowPence, got.LikelyPence, got.HighPence, got.EstimatedPence, got.HoldPence)
	}

	// Newer tasks push the old ones out, and what is above the hold is cut.
	now = now.Add(time.Minute)
	f.finished(1000, func(int) (weight, used float64) { return 60, 600 })
	if got := f.estimate(); got.LowPence > got.HoldPence || got.HighPence > got.HoldPence || got.LowPence < 480 ||
		got.HoldPence != plain.HoldPence {
		t.Errorf("with tasks that use ten times as much: %+v", got)
	}
}

func TestTooFewTasksSayNothing(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	f.finished(19, func(int) (weight, used float64) { return 60, 6 })
	if got := f.estimate(); got.LikelyPence != got.EstimatedPence || got.HighPence != got.HoldPence {
		t.Errorf("after 19 tasks: %+v", got)
	}
}

// TestRealRunsMakeHistory: tasks that workers report count without anybody's help.
func TestRealRunsMakeHistory(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.hire(8, success) // each task uses 10 s of the 60 s that were expected
	f.awaitStatus(f.submit(f.account(), 30), job.Completed)
	// The leader has asked before there was any, and believes that for a minute.
	other := newFabric(t, f.rdb, "other")
	if got := other.estimate(); got.LikelyPence != 42 || got.LowPence != 42 || got.HighPence != 42 || got.EstimatedPence != 243 {
		t.Errorf("after 32 tasks at a sixth of their expectation: %+v, want 40 + 2 pence", got)
	}
}
