package scheduler_test

import (
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
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
	if done := f.count(`SELECT count(*) FROM tasks WHERE job_id = $1 AND stage = 'dock' AND status = 'SUCCEEDED'`, jobID); done == 0 || done == 40 {
		t.Errorf("%d of 40 docking tasks are done, want some and not all", done)
	}
	if failed := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND failure_class = 'COST_LIMIT' AND error_code = 'COST_LIMIT_EXCEEDED' AND error_retryable`, jobID); failed != 1 {
		t.Errorf("the job does not say that it was stopped for its cost: %+v", got)
	}
	if charged := f.count(`SELECT charged_pence FROM jobs WHERE id = $1`, jobID); charged != f.count(`SELECT held_pence FROM jobs WHERE id = $1`, jobID) {
		t.Errorf("charged %d pence, want the hold", charged)
	}
	f.audit()
}

// TestWhatRunningTasksUseStopsAJob has a task that never ends: what its worker says that it uses stops the job, which is charged
// its hold once the stopped task has told what it had used.
func TestWhatRunningTasksUseStopsAJob(t *testing.T) {
	t.Parallel()
	f := start(t)
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
	h.spend(used)
	f.eventually("both are told to stop", func() bool {
		for _, order := range orders {
			if stopped, err := f.queue.Stopped(t.Context(), order.Ref()); err != nil || !stopped {
				return false
			}
		}
		return true
	})
	if open := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND stopping AND overspent AND finished_at IS NULL`, jobID); open != 1 {
		t.Error("the job is not being stopped for what it uses")
	}
	for _, order := range orders {
		h.finish(order, queue.Event{Kind: queue.Cancelled, Usage: queue.Usage{CPUMicroseconds: used.CPUMicroseconds}})
	}
	f.awaitStatus(jobID, job.Failed)
	if failed := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND error_code = 'COST_LIMIT_EXCEEDED' AND error_retryable AND charged_pence = held_pence`, jobID); failed != 1 {
		t.Error("the job does not say that it was stopped for its cost, or was not charged its hold")
	}
}

// TestATaskMayRunAsLongAsItsHoldPays: a plan's own limit is the longer one here.
func TestATaskMayRunAsLongAsItsHoldPays(t *testing.T) {
	t.Parallel()
	f := start(t)
	h := f.hire(1, func(queue.WorkOrder) *queue.Event { return nil })
	jobID := f.submit(f.account(), 2)
	order := <-h.orders
	held := f.count(`SELECT held_pence FROM jobs WHERE id = $1`, jobID)
	want := time.Duration(held) * 10 * time.Hour / 24
	if got := order.Shard.Needs.TimeLimit; got < want || got > want+time.Second || !order.PaidTime {
		t.Errorf("the task may run %s (for what is paid: %t), want %s: ten times %d pence at 24 pence an hour", got, order.PaidTime, want, held)
	}
}
