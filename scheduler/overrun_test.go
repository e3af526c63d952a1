package scheduler_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// TestAJobFarBeyondItsHoldIsStopped has tasks that use far more than they were expected to: the job ends, is charged its hold and
// no more, keeps what is finished, and can be retried with money set aside for the rest.
func TestAJobFarBeyondItsHoldIsStopped(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	f.lead()
	account := f.account()
	f.hire(1, func(order queue.WorkOrder) *queue.Event {
		event := success(order)
		if order.Shard.Stage == "dock" {
			event.Usage.CPUMicroseconds = 100_000_000_000 // 100,000 s where 60 were expected
		}
		return event
	})
	jobID := f.submit(account, 40)
	got := f.awaitStatus(jobID, job.Failed)
	if done := f.count(`SELECT count(*) FROM tasks WHERE job_id = $1 AND stage = 'dock' AND status = 'SUCCEEDED'`,
		jobID); done == 0 || done == 40 {
		t.Errorf("%d of 40 docking tasks are done, want some and not all", done)
	}
	if failed := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND failure_class = 'COST_LIMIT'
		AND error_code = 'COST_LIMIT_EXCEEDED' AND error_retryable`, jobID); failed != 1 {
		t.Errorf("the job does not say that it was stopped for its cost: %+v", got)
	}
	if charged := f.count(`SELECT charged_pence FROM jobs WHERE id = $1`, jobID); charged != f.count(`SELECT held_pence FROM jobs
		WHERE id = $1`, jobID) {
		t.Errorf("charged %d pence, want the hold", charged)
	}
	f.audit()
}

// counted is what a counter without labels has counted.
func counted(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	return -1
}

// TestWhatRunningTasksUseStopsAJob has a task that never ends: what its worker says that it uses stops the job, which is charged
// its hold once the stopped task has told what it had used.
func TestWhatRunningTasksUseStopsAJob(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	registry := prometheus.NewRegistry()
	f.Metrics = scheduler.NewMetrics(registry)
	f.lead()
	account := f.account()
	h := f.hire(4, func(order queue.WorkOrder) *queue.Event {
		if order.Shard.Stage == "dock" {
			return nil // it runs on
		}
		return success(order)
	})
	jobID := f.submit(account, 2)
	orders := []queue.WorkOrder{<-h.orders, <-h.orders}
	held := int64(f.count(`SELECT held_pence FROM jobs WHERE id = $1`, jobID))
	// Each of the two uses six tenths of what the job may, at 24 pence an hour: neither alone would stop it.
	used := queue.Use{CPUMicroseconds: held * 6 * time.Hour.Microseconds() / 24}
	// A lie at first: nobody can have used that in the moment since both were started.
	h.spend(used)
	f.eventually("the lie is told and cut", func() bool { return counted(t, registry, "molfabric_use_cut_total") == 2 })
	if stopping := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND stopping`, jobID); stopping != 0 {
		t.Error("the job is stopped for use that cannot be")
	}
	f.db.MustExec(`UPDATE tasks SET started_at = started_at - interval '1 year' WHERE job_id = $1`, jobID)
	f.eventually("both are told to stop", func() bool {
		for _, order := range orders {
			if stopped, err := f.queue.Stopped(t.Context(), order.Ref()); err != nil || !stopped {
				return false
			}
		}
		return true
	})
	if open := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND stopping AND overspent AND finished_at IS NULL`,
		jobID); open != 1 {
		t.Error("the job is not being stopped for what it uses")
	}
	for _, order := range orders {
		h.finish(order, queue.Event{Kind: queue.Cancelled, Usage: queue.Usage{CPUMicroseconds: used.CPUMicroseconds}})
	}
	f.awaitStatus(jobID, job.Failed)
	if failed := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND error_code = 'COST_LIMIT_EXCEEDED' AND error_retryable
		AND charged_pence = held_pence`, jobID); failed != 1 {
		t.Error("the job does not say that it was stopped for its cost, or was not charged its hold")
	}
}

// TestATaskMayUseWhatItsHoldPays: on a machine that is busy with other things the same use takes longer, and nothing is stopped.
func TestATaskMayUseWhatItsHoldPays(t *testing.T) {
	t.Parallel()
	f := start(t)
	h := f.hire(1, func(queue.WorkOrder) *queue.Event { return nil })
	jobID := f.submit(f.account(), 2)
	order := <-h.orders
	held := int64(f.count(`SELECT held_pence FROM jobs WHERE id = $1`, jobID))
	want := held * 10 * time.Hour.Microseconds() / 24
	if got := order.Paid; got.CPUMicroseconds < want || got.CPUMicroseconds > want+1_000_000 || got.GPUMicroseconds != 0 {
		t.Errorf("the task may use %+v, want %d µs of processors: ten times %d pence at 24 pence an hour", got, want, held)
	}
	if limit := order.Shard.Needs.TimeLimit; time.Duration(want)*time.Microsecond >= limit {
		t.Errorf("the time limit is %s, which the hold pays for: this shows nothing", limit)
	}
}

// TestTheFabricsFailureIsNotTheCostLimit: a job that fails for the fabric's fault is free, however much the tasks have used
// that end after it; one that was stopped for its use first stays stopped for that.
func TestTheFabricsFailureIsNotTheCostLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		order    []string // in which the two tasks end
		want     string
		notFatal bool // the failed task does not decide the job
	}{
		{name: "failure first", order: []string{"failed", "greedy"}, want: "SYSTEM BROKEN 0"},
		{name: "use first", order: []string{"greedy", "failed"}, want: "COST_LIMIT COST_LIMIT_EXCEEDED 100"},
		{name: "a failure that decides nothing", order: []string{"failed", "greedy"}, want: "COST_LIMIT COST_LIMIT_EXCEEDED 100",
			notFatal: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			jobID := b.submit(b.account(), 2)
			prepare := b.dispatch(1)["receptor"]
			b.say(prepare, *success(prepare))
			orders := b.dispatch(2)
			b.db.MustExec(`UPDATE tasks SET essential = $2, interruptions = $3 WHERE id = $1`, orders["dock-000"].TaskID,
				!test.notFatal, job.MaxInterruptions)
			for _, what := range test.order {
				if what == "failed" {
					b.say(orders["dock-000"], *failure(engines.System))
					continue
				}
				greedy := *success(orders["dock-001"])
				greedy.Usage.CPUMicroseconds = 1000 * time.Hour.Microseconds()
				b.say(orders["dock-001"], greedy)
			}
			got := b.column(`SELECT failure_class || ' ' || error_code || ' ' || 100 * charged_pence / held_pence FROM jobs
				WHERE id = $1 AND status = 'FAILED'`, jobID)
			b.expect("class, code and percent of the hold", got, test.want)
		})
	}
}

// TestAReportOfUseThatCannotBeIsCut: whoever has claimed an attempt says at its end, or of work that it saved, that it used more
// than its cores can have done since it was handed out, or stored more than there was room for. The bill is for what can be.
func TestAReportOfUseThatCannotBeIsCut(t *testing.T) {
	t.Parallel()
	const years = 1 << 50 // microseconds
	for _, test := range []struct {
		name string
		say  func(h *hand, order queue.WorkOrder)
		want string // attempts
	}{
		{"at its end", func(h *hand, order queue.WorkOrder) {
			end := success(order)
			end.Usage.CPUMicroseconds, end.Usage.GPUMicroseconds, end.Usage.BytesOut = years, years, 1<<60
			h.finish(order, *end)
		}, "1 SUCCEEDED"},
		{"by a failure that is the user's", func(h *hand, order queue.WorkOrder) {
			end := failure(engines.UserInput)
			end.Usage.CPUMicroseconds = years
			h.finish(order, *end)
		}, "1 FAILED"},
		{"of saved work", func(h *hand, order queue.WorkOrder) {
			h.report(order, keeping(order, years/1_000_000, "frame"))
			h.finish(order, *failure(engines.System))
			next := <-h.orders
			h.finish(next, *success(next))
		}, "1 FAILED 2 SUCCEEDED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rdb, _, prefix := redistest.New(t)
			f := newFabric(t, rdb, prefix)
			asOwner(t, `DROP TRIGGER long_ago ON tasks`)
			registry := prometheus.NewRegistry()
			f.Metrics = scheduler.NewMetrics(registry)
			f.lead()
			h := f.hire(1, func(queue.WorkOrder) *queue.Event { return nil })
			jobID := f.submit(f.account(), 1)
			test.say(h, <-h.orders)
			f.eventually("the attempts are settled", func() bool {
				return f.column(`SELECT a.attempt || ' ' || outcome FROM task_attempts a
					JOIN tasks t ON t.id = a.task_id WHERE t.job_id = $1 AND t.ordinal = 0 ORDER BY 1`, jobID) == test.want
			})
			if n := f.count(`SELECT count(*) FROM task_attempts WHERE cpu_us > 2 * 60e6 OR gpu_us > 0 OR bytes_out > 1e6
				OR charged_micropence > 24e6 * 2 / 60`); n > 0 {
				t.Errorf("%d attempts are charged for what cannot be", n)
			}
			if cut := counted(t, registry, "molfabric_use_cut_total"); cut != 1 {
				t.Errorf("%g cuts are counted, want 1", cut)
			}
		})
	}
}
