package scheduler_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

func TestJobRunsThroughItsStages(t *testing.T) {
	t.Parallel()
	f := start(t)
	var mu sync.Mutex
	var stages []string
	f.hire(2, func(order queue.WorkOrder) *queue.Event {
		mu.Lock()
		defer mu.Unlock()
		stages = append(stages, order.Shard.Stage)
		if want := map[string]int{"prepare": 1, "dock": 1, "rank": 3}[order.Shard.Stage]; len(order.Inputs) != want {
			t.Errorf("%s has %d inputs, want %d", order.Shard.Name, len(order.Inputs), want)
		}
		return success(order)
	})
	jobID := f.submit(f.account(), 3)
	got := f.awaitStatus(jobID, job.Completed)
	// 5 tasks × 10 s at 24 pence a core-hour is a third of a penny; with the start fee of 2 pence the bill is 2 pence.
	if got.Charged == nil || *got.Charged != 2 {
		t.Errorf("charged %v pence, want 2", got.Charged)
	}
	if got, want := strings.Join(stages, " "), "prepare dock dock dock rank"; got != want {
		t.Errorf("stages ran as %q, want %q", got, want)
	}
	var history []string
	if err := f.db.Select(&history, `SELECT status FROM job_status_history WHERE job_id = $1 ORDER BY seq`, jobID); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(history, " "), "SUBMITTED QUEUED RUNNING COMPLETED"; got != want {
		t.Errorf("history %q, want %q", got, want)
	}
}

func TestFailuresDecideRetryAndBill(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		fail     func(queue.WorkOrder) *queue.Event
		want     job.Status
		charged  int64
		attempts int // of the failing stage
	}{
		{"user input is not retried, and free before the main work", failIn("prepare", engines.UserInput, 99), job.Failed, 0, 1},
		{"user input that leaves the main work nothing to do is free", unbegunIn("dock"), job.Failed, 0, 2},
		{"user input that leaves the last work nothing to do is charged", unbegunIn("rank"), job.Failed, 2, 1},
		{"the program's fault is retried, then fails, free", failIn("prepare", engines.Executor, 99), job.Failed, 0, 3},
		{"the fabric's fault is retried without counting", failIn("prepare", engines.System, 2), job.Completed, 2, 3},
		{"one failed shard of two", failOne("dock-000"), job.CompletedWithFailures, 2, 1},
		{"every shard of a stage", failIn("dock", engines.UserInput, 99), job.Failed, 2, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rdb, _, prefix := redistest.New(t)
			own := newFabric(t, rdb, prefix)
			own.lead()
			own.hire(2, test.fail)
			jobID := own.submit(own.account(), 2)
			got := own.awaitStatus(jobID, test.want)
			if *got.Charged != test.charged {
				t.Errorf("charged %d pence, want %d", *got.Charged, test.charged)
			}
			free := own.count(`SELECT count(*) FROM jobs WHERE id = $1 AND failure_class = 'USER_INPUT'
				AND status_reason LIKE '% Nothing is charged.'`, jobID) == 1
			if want := test.charged == 0 && got.Class != nil && *got.Class == "USER_INPUT"; free != want {
				t.Errorf("the reason says that nothing is charged: %v, want %v", free, want)
			}
			attempts := own.count(`SELECT count(*) FROM task_attempts a JOIN tasks t ON t.id = a.task_id
				WHERE t.job_id = $1 AND a.outcome = 'FAILED'`, jobID)
			retried := own.count(`SELECT max(attempt) FROM tasks WHERE job_id = $1`, jobID)
			if test.want == job.Failed && attempts != test.attempts {
				t.Errorf("%d failed attempts, want %d", attempts, test.attempts)
			}
			if test.want == job.Completed && retried != test.attempts {
				t.Errorf("%d attempts, want %d", retried, test.attempts)
			}
		})
	}
}

// failIn fails the first n attempts of every task of a stage.
func failIn(stage string, class engines.FailureClass, n int) func(queue.WorkOrder) *queue.Event {
	return func(order queue.WorkOrder) *queue.Event {
		if order.Shard.Stage == stage && order.Attempt <= n {
			return failure(class)
		}
		return success(order)
	}
}

// unbegunIn fails every task of a stage for its input, before its work begins.
func unbegunIn(stage string) func(queue.WorkOrder) *queue.Event {
	return func(order queue.WorkOrder) *queue.Event {
		if order.Shard.Stage != stage {
			return success(order)
		}
		event := failure(engines.UserInput)
		event.Failure.Unbegun = true
		return event
	}
}

func failOne(name string) func(queue.WorkOrder) *queue.Event {
	return func(order queue.WorkOrder) *queue.Event {
		if order.Shard.Name == name {
			return failure(engines.UserInput)
		}
		return success(order)
	}
}

func TestLostWorkerIsReplacedAndItsLateResultIsFenced(t *testing.T) {
	t.Parallel()
	f := start(t)
	keep := func(queue.WorkOrder) *queue.Event { return nil }
	doomed := f.hire(1, keep)
	jobID := f.submit(f.account(), 1)
	order := <-doomed.orders
	f.eventually("the task runs", func() bool {
		return f.count(`SELECT count(*) FROM tasks WHERE id = $1 AND status = 'RUNNING' AND progress > 0`, order.TaskID) == 1
	})
	doomed.kill()
	died := time.Now()
	heir := f.hire(1, keep)
	second := <-heir.orders
	t.Logf("second attempt %s after the first worker fell silent", time.Since(died).Round(time.Millisecond))
	if second.TaskID != order.TaskID || second.Attempt != order.Attempt+1 {
		t.Fatalf("second attempt is %s, want the next of %s", second.Ref(), order.Ref())
	}
	doomed.report(order, *success(order)) // the zombie speaks
	heir.behave = func(order queue.WorkOrder) *queue.Event { return success(order) }
	heir.finish(second, *success(second))
	f.awaitStatus(jobID, job.Completed)
	if n := f.count(`SELECT count(*) FROM task_attempts WHERE task_id = $1 AND outcome = 'SUCCEEDED' AND worker_id = $2`,
		order.TaskID, heir.id); n != 1 {
		t.Errorf("the second worker's result is not the one that counts")
	}
	if n := f.count(`SELECT retries FROM tasks WHERE id = $1`, order.TaskID); n != 0 {
		t.Errorf("the loss used up %d retries", n)
	}
}

func TestFlushedRedisLosesNothing(t *testing.T) {
	t.Parallel()
	server, _ := redistest.Private(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(options)
	t.Cleanup(func() { rdb.Close() })
	f := newFabric(t, rdb, "")
	f.lead()
	var mu sync.Mutex
	flushed := 0
	f.hire(2, func(order queue.WorkOrder) *queue.Event {
		mu.Lock()
		defer mu.Unlock()
		if order.Shard.Stage == "dock" && flushed < 3 {
			flushed++
			if err := f.rdb.FlushAll(context.Background()).Err(); err != nil {
				t.Error(err)
			}
		}
		return success(order)
	})
	jobID := f.submit(f.account(), 12)
	f.awaitStatus(jobID, job.Completed)
	if flushed != 3 {
		t.Errorf("Redis was flushed %d times, want 3", flushed)
	}
}

func TestSmallAccountIsServedBesideALargeOne(t *testing.T) {
	t.Parallel()
	f := start(t)
	large, small := f.account(), f.account()
	f.submit(large, 200)
	var mu sync.Mutex
	var served []string
	f.hire(1, func(order queue.WorkOrder) *queue.Event {
		mu.Lock()
		defer mu.Unlock()
		served = append(served, order.AccountID)
		return success(order)
	})
	f.eventually("the large job is under way", func() bool { mu.Lock(); defer mu.Unlock(); return len(served) > 5 })
	mu.Lock()
	before := len(served)
	mu.Unlock()
	f.awaitStatus(f.submit(small, 2), job.Completed)
	mu.Lock()
	defer mu.Unlock()
	others := 0
	for _, accountID := range served[before:] {
		if accountID == large {
			others++
		}
	}
	// Four tasks of the small job, each behind at most one window of the large one's.
	if others > 4*6 {
		t.Errorf("%d tasks of the large job ran before the small one's four had ended", others)
	}
}

func TestSmallAccountsHaveMoreTurns(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	large, small := f.account(), f.account()
	f.submit(large, 100)
	f.submit(small, 10)
	f.db.MustExec(`UPDATE tasks SET ready = true`)
	const places = 2 * (scheduler.SmallTurns + 1)
	picked, err := scheduler.NewLeader(f.Scheduler, "").NextReady(t.Context(), cpuQueue, places)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, candidate := range picked {
		counts[candidate.AccountID]++
	}
	if counts[large] != 2 || counts[small] != 2*scheduler.SmallTurns {
		t.Errorf("of %d places %d go to the large account and %d to the small one, want 2 and %d", places, counts[large],
			counts[small], 2*scheduler.SmallTurns)
	}
}

// TestBrokenPlanFailsAlone breaks what is kept of one job's plan: that job fails, free of charge, and another one beside it runs.
func TestBrokenPlanFailsAlone(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	broken, sound := f.submit(f.account(), 1), f.submit(f.account(), 1)
	f.db.MustExec(`UPDATE plan_blocks SET shards = '' WHERE job_id = $1`, broken)
	f.lead()
	f.hire(2, failIn("none", engines.System, 0))
	got := f.awaitStatus(broken, job.Failed)
	if *got.Charged != 0 || !strings.Contains(*got.Message, "the plan of this task cannot be read any more") {
		t.Errorf("the job with the broken plan is charged %d and says %q", *got.Charged, *got.Message)
	}
	f.awaitStatus(sound, job.Completed)
}

func TestOnlyOneSchedulerLeads(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.lead() // a second leader on the same stores would start tasks twice
	counts := map[queue.Ref]int{}
	var mu sync.Mutex
	f.hire(2, func(order queue.WorkOrder) *queue.Event {
		mu.Lock()
		defer mu.Unlock()
		counts[order.Ref()]++
		return success(order)
	})
	f.awaitStatus(f.submit(f.account(), 20), job.Completed)
	if n := f.count(`SELECT count(*) FROM tasks WHERE attempt > 1`); n != 0 {
		t.Errorf("%d tasks were started more than once", n)
	}
}
