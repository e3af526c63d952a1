package scheduler_test

import (
	"context"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

func TestCancel(t *testing.T) {
	t.Parallel()
	f := start(t)
	ctx := context.Background()
	accountID := f.account()

	waiting := f.submit(accountID, 5)
	answer, err := f.Cancel(ctx, accountID, waiting, "changed my mind")
	if err != nil || answer.Already {
		t.Fatalf("cancel of a waiting job: %+v, %v", answer, err)
	}
	if got := f.awaitStatus(waiting, job.Cancelled); *got.Charged != 0 {
		t.Errorf("a job that never ran was charged %d pence", *got.Charged)
	}
	if again, err := f.Cancel(ctx, accountID, waiting, ""); err != nil || !again.Already {
		t.Errorf("cancel again: %+v, %v", again, err)
	}

	worker := f.hire(1, func(queue.WorkOrder) *queue.Event { return nil })
	running := f.submit(accountID, 5)
	order := <-worker.orders
	f.eventually("the task runs", func() bool {
		return f.count(`SELECT count(*) FROM tasks WHERE id = $1 AND status = 'RUNNING'`, order.TaskID) == 1
	})
	if answer, err := f.Cancel(ctx, accountID, running, ""); err != nil || answer.Status != job.Cancelling {
		t.Fatalf("cancel of a running job: %+v, %v", answer, err)
	}
	if stopped, err := f.queue.Stopped(ctx, order.Ref()); err != nil || !stopped {
		t.Errorf("the worker is not told to stop: %v, %v", stopped, err)
	}
	worker.finish(order, queue.Event{Kind: queue.Cancelled, Usage: queue.Usage{CPUMicroseconds: 3600_000_000}})
	// An hour of one core is 24 pence, the start fee 2; the hold of 7 tasks of a minute is less than that.
	if got := f.awaitStatus(running, job.Cancelled); *got.Charged != got.Held {
		t.Errorf("charged %d pence of a hold of %d, want all of it", *got.Charged, got.Held)
	}

	if _, err := f.Cancel(ctx, f.account(), running, ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("another account's cancel: got %v, want %s", err, fault.NotFound)
	}
}

func TestCancelOfAnEndedJobIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.hire(2, success)
	accountID := f.account()
	jobID := f.submit(accountID, 1)
	f.awaitStatus(jobID, job.Completed)
	if _, err := f.Cancel(context.Background(), accountID, jobID, ""); !fault.Is(err, fault.JobNotCancellable) {
		t.Errorf("got %v, want %s", err, fault.JobNotCancellable)
	}
}

// A job that can no longer succeed does not keep workers busy, and its owner does not pay for what was stopped.
func TestSiblingsOfAFailedEssentialTaskAreStopped(t *testing.T) {
	t.Parallel()
	f := start(t)
	worker := f.hire(2, func(queue.WorkOrder) *queue.Event { return nil })
	sub := submission(f.account(), 1, "")
	sub.Params, sub.Canonical = []byte(`{"shards":1,"companions":1}`), []byte(`{"shards":1,"companions":1}`)
	receipt, err := f.Submit(context.Background(), sub)
	if err != nil {
		t.Fatal(err)
	}
	essential, sibling := <-worker.orders, <-worker.orders
	if essential.Shard.Name != "receptor" {
		essential, sibling = sibling, essential
	}
	f.eventually("both run", func() bool { return f.count(`SELECT count(*) FROM tasks WHERE status = 'RUNNING'`) == 2 })
	worker.finish(essential, *failure(engines.License))
	f.eventually("the sibling is told to stop", func() bool {
		stopped, err := f.queue.Stopped(context.Background(), sibling.Ref())
		return err == nil && stopped
	})
	worker.finish(sibling, queue.Event{Kind: queue.Cancelled, Usage: queue.Usage{CPUMicroseconds: 3600_000_000}})
	got := f.awaitStatus(receipt.JobID, job.Failed)
	if *got.Charged != 0 || *got.Class != string(engines.License) {
		t.Errorf("charged %d pence for class %s, want nothing for %s", *got.Charged, *got.Class, engines.License)
	}
}
