package scheduler_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// TestAWorkerThatKeepsFailingAJobIsKeptOffIt: of two workers one fails whatever it gets of a job. It is kept off that job, which
// the other completes; it serves other jobs, and this one again when nobody else does.
func TestAWorkerThatKeepsFailingAJobIsKeptOffIt(t *testing.T) {
	t.Parallel()
	f := start(t)
	accountID := f.account()
	var cursed atomic.Value
	cursed.Store("")
	var idle, asked atomic.Int64
	broken := f.hire(1, func(order queue.WorkOrder) *queue.Event {
		if order.JobID == cursed.Load() && order.Shard.Stage == "dock" && idle.Load() == 0 {
			return failure(engines.Executor)
		}
		asked.Add(1)
		return success(order)
	})
	healthy := f.hire(1, func(order queue.WorkOrder) *queue.Event { return success(order) })
	f.eventually("both workers are known", func() bool {
		workers, err := f.queue.Workers(context.Background())
		return err == nil && len(workers) == 2
	})
	receipt, err := f.Submit(context.Background(), submission(accountID, 16, ""))
	if err != nil {
		t.Fatal(err)
	}
	jobID := receipt.JobID
	cursed.Store(jobID)
	f.awaitStatus(jobID, job.Completed)
	failed := f.count(`SELECT count(*) FROM task_attempts a JOIN tasks t ON t.id = a.task_id
		WHERE t.job_id = $1 AND a.worker_id = $2 AND a.outcome = 'FAILED'`, jobID, broken.id)
	// What was in the queue when the third attempt failed names nobody to avoid. Unless it was kept off it would have failed each
	// three times.
	if failed < 3 || failed > 15 {
		t.Errorf("the broken worker failed %d tasks of the job before it was kept off, want 3 and what was queued then", failed)
	}
	if got, want := f.column(`SELECT worker_id || ':' || (attempts = $2) || ':' || code FROM worker_faults WHERE job_id = $1`,
		jobID, failed), broken.id+":true:BROKEN"; got != want {
		t.Errorf("faults %s, want %s", got, want)
	}
	if got := f.count(`SELECT sum(retries + interruptions) FROM tasks WHERE job_id = $1`, jobID); got != failed {
		t.Errorf("%d retries and interruptions for %d failures", got, failed)
	}
	before := asked.Load()
	f.eventually("it serves another job", func() bool {
		f.awaitStatus(f.submit(accountID, 4), job.Completed)
		return asked.Load() > before
	})
	healthy.kill()
	idle.Store(1) // it has been repaired
	f.retry(accountID, jobID, "all", 2)
	f.awaitStatus(jobID, job.Completed)
}

// other is a worker of which no more than its heartbeat is seen, with one place.
type other struct {
	b   *bureau
	seq int64
}

// beat lets it be seen, holding something or not, and the leader look.
func (o *other) beat(busy bool) {
	o.b.t.Helper()
	o.seq++
	hb := queue.Heartbeat{WorkerID: "wrk_other", Seq: o.seq, Queues: []string{cpuQueue}, Slots: 1}
	if busy {
		hb.Held = []queue.Held{{Ref: queue.Ref{TaskID: "task_x", Attempt: 1}, JobID: "job_x", Phase: queue.Running}}
	}
	if _, err := o.b.queue.Beat(context.Background(), hb); err != nil {
		o.b.t.Fatal(err)
	}
	if err := o.b.leader.Watch(context.Background()); err != nil {
		o.b.t.Fatal(err)
	}
}

// keptOff makes the bureau's worker one that has failed a job too often.
func (b *bureau) keptOff(jobID string) {
	b.db.MustExec(`INSERT INTO worker_faults (job_id, worker_id, attempts, code, at) VALUES ($1, $2, 3, 'BROKEN', now())`, jobID,
		b.worker.id)
}

// TestAKeptOffWorkerIsNotAskedForEver: the only other worker lives and has room but never takes the task. It is offered again and
// again, at no cost to it, and in the end to anybody.
func TestAKeptOffWorkerIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	jobID := b.submit(b.account(), 1)
	b.keptOff(jobID)
	o := &other{b: b}
	for round := range 20 {
		o.beat(false)
		b.dispatch(0)
		b.eventually("the task is given back", func() bool {
			if err := b.leader.Collect(context.Background()); err != nil {
				t.Fatal(err)
			}
			return b.count(`SELECT count(*) FROM tasks WHERE job_id = $1 AND name = 'receptor' AND status = 'PENDING'
				AND given_back = $2 AND not_before > now() - interval '1 minute'`, jobID, round+1) == 1
		})
		b.db.MustExec(`UPDATE tasks SET not_before = NULL`)
	}
	o.beat(false)
	order := b.dispatch(1)["receptor"]
	if len(order.Avoid) != 0 || order.Attempt != 21 {
		t.Fatalf("after 20 offers: %+v", order)
	}
	b.say(order, *success(order))
	if got := b.column(`SELECT retries || ' ' || interruptions || ' ' || status FROM tasks
		WHERE job_id = $1 AND name = 'receptor'`, jobID); got != "0 0 SUCCEEDED" {
		t.Errorf("retries, interruptions and state: %s", got)
	}
	if n := b.count(`SELECT count(*) FROM task_attempts WHERE outcome = 'FAILED'`); n != 0 {
		t.Errorf("%d attempts that were given back have failed", n)
	}
}

// TestAJobWaitsForTheWorkersThatMayHaveIt and stands in nobody's way meanwhile.
func TestAJobWaitsForTheWorkersThatMayHaveIt(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	accountID := b.account()
	waiting := b.submit(accountID, 1)
	b.keptOff(waiting)
	second := b.submit(accountID, 1)
	o := &other{b: b}
	o.beat(true)
	if order := b.dispatch(1)["receptor"]; order.JobID != second {
		t.Fatalf("dispatched %+v, want the second job's", order)
	}
	if got := b.column(`SELECT status FROM tasks WHERE job_id = $1 AND stage = 'prepare'`, waiting); got != "PENDING" {
		t.Errorf("the first job's task is %s while nobody who may have it has room", got)
	}
	o.beat(false)
	b.dispatch(0)
	b.eventually("the first job's task is offered", func() bool {
		return b.count(`SELECT attempt FROM tasks WHERE job_id = $1 AND stage = 'prepare'`, waiting) == 1
	})
	// Without the other it is anybody's.
	if err := b.queue.Forget(context.Background(), "wrk_other"); err != nil {
		t.Fatal(err)
	}
	b.eventually("the worker that is kept off has it", func() bool {
		if err := b.leader.Collect(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := b.leader.Watch(context.Background()); err != nil {
			t.Fatal(err)
		}
		b.dispatch(0)
		select {
		case order := <-b.claimed:
			return order.JobID == waiting && fmt.Sprint(order.Avoid) == "[]"
		default:
			return false
		}
	})
}

// TestALostInputIsNotAskedForAgainAndAgain: an input that the object store has lost is looked for three times.
func TestALostInputIsNotAskedForAgainAndAgain(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.hire(1, func(queue.WorkOrder) *queue.Event {
		event := failure(engines.System)
		event.Failure.Code = queue.InputLost
		return event
	})
	jobID := f.submit(f.account(), 1)
	f.awaitStatus(jobID, job.Failed)
	if attempts := f.count(`SELECT attempt FROM tasks WHERE job_id = $1 AND status = 'FAILED'`, jobID); attempts != 3 {
		t.Errorf("the task was tried %d times, want 3", attempts)
	}
	if free := f.count(`SELECT count(*) FROM jobs WHERE id = $1 AND error_code = 'INPUT_LOST' AND charged_pence = 0`,
		jobID); free != 1 {
		t.Error("the job does not say that an input is lost, or was charged")
	}
}
