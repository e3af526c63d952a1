package scheduler_test

import (
	"testing"

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
