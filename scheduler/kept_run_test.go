package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// keeping is a report of finished work for which an attempt had used so many seconds.
func keeping(order queue.WorkOrder, cpuSeconds int64, names ...string) queue.Event {
	event := saving(order, 1, names...)
	event.Usage = queue.Usage{CPUMicroseconds: cpuSeconds * 1_000_000, WallMs: cpuSeconds * 1000}
	return event
}

// prices are a task's attempts with what each is charged, in hundredths of a penny.
func (f *fabric) prices(taskID string) string {
	f.t.Helper()
	return f.column(`SELECT attempt || ':' || outcome || ':' || round(charged_micropence / 1e4, 2) FROM task_attempts
		WHERE task_id = $1 ORDER BY attempt`, taskID)
}

// TestFramesOfKilledWorkersAreBilledOnce: two workers die with a task, each after it had saved finished work and begun more. The
// third goes on from there; what was saved is charged with it, and what was lost is free.
func TestFramesOfKilledWorkersAreBilledOnce(t *testing.T) {
	t.Parallel()
	f := start(t)
	keep := func(queue.WorkOrder) *queue.Event { return nil }
	jobID := f.submit(f.account(), 1)
	var order queue.WorkOrder
	for i, seconds := range []int64{300, 600} {
		doomed := f.hire(1, keep)
		order = <-doomed.orders
		doomed.report(order, keeping(order, seconds-1, "frame_0001.png"))
		doomed.report(order, keeping(order, seconds, fmt.Sprintf("frame_%04d.png", i+2), "preview.jpg"))
		doomed.report(order, keeping(order, seconds, fmt.Sprintf("frame_%04d.png", i+2), "preview.jpg")) // told again
		doomed.report(order, keeping(order, seconds+100, "preview.jpg"))                                 // the next frame has begun
		f.eventually("the attempt runs", func() bool {
			return f.count(`SELECT count(*) FROM tasks WHERE id = $1 AND status = 'RUNNING' AND progress > 0`, order.TaskID) == 1
		})
		f.eventually("its work is kept", func() bool {
			return f.count(`SELECT count(*) FROM kept_work WHERE task_id = $1 AND attempt = $2 AND cpu_us = $3`, order.TaskID,
				order.Attempt, seconds*1_000_000) == 1
		})
		doomed.kill()
	}
	f.hire(1, func(order queue.WorkOrder) *queue.Event { return success(order) })
	bill := f.awaitStatus(jobID, job.Completed)
	// 24 pence a core-hour: 300 s are 2 pence and 600 s are 4. With three tasks of 10 s and the start fee of 2 pence that is 8.2.
	if got, want := f.prices(order.TaskID), "1:LOST:200.00 2:LOST:400.00 3:SUCCEEDED:6.67"; got != want {
		t.Errorf("attempts %s, want %s", got, want)
	}
	if want := min(8, bill.Held); *bill.Charged != want {
		t.Errorf("charged %d of %d pence, want %d", *bill.Charged, bill.Held, want)
	}
	if got := f.column(`SELECT cpu_us / 1000000 || ':' || wall_ms FROM task_attempts WHERE task_id = $1 AND outcome = 'LOST'
		ORDER BY attempt`, order.TaskID); got != "300:300000 600:600000" {
		t.Errorf("lost attempts used %s", got)
	}
	if n := f.count(`SELECT count(*) FROM kept_work`); n != 0 {
		t.Errorf("%d rows of work are kept for nobody", n)
	}
}

// TestWhenKeptWorkIsBilled lets the only preparation of a job save 300 s of work and then fail or end in many ways.
func TestWhenKeptWorkIsBilled(t *testing.T) {
	t.Parallel()
	redone := func(event *queue.Event) queue.Event { event.Redone = true; return *event }
	tests := []struct {
		name string
		do   func(b *bureau, first queue.WorkOrder)
		want string
	}{
		{"by the success that went on from it, once", func(b *bureau, first queue.WorkOrder) {
			b.say(first, keeping(first, 300, "frame"))
			second := b.interrupted(first)
			b.say(first, keeping(first, 900, "frame")) // too late
			b.say(second, *success(second))
			b.say(second, *success(second))
		}, "1:FAILED:200.00 2:SUCCEEDED:6.67"},
		{"not what the successful attempt itself has saved", func(b *bureau, first queue.WorkOrder) {
			b.say(first, keeping(first, 300, "frame"))
			b.say(first, *success(first))
		}, "1:SUCCEEDED:6.67"},
		{"not a preview", func(b *bureau, first queue.WorkOrder) {
			b.say(first, keeping(first, 300, "preview.jpg"))
			second := b.interrupted(first)
			b.say(second, *success(second))
		}, "1:FAILED:0.00 2:SUCCEEDED:6.67"},
		{"up to what its time limit allows", func(b *bureau, first queue.WorkOrder) {
			b.say(first, keeping(first, 1<<42, "frame"))
			b.say(first, keeping(first, -300, "frame"))
			second := b.interrupted(first)
			b.say(second, *success(second))
		}, "1:FAILED:4800040.00 2:SUCCEEDED:6.67"}, // twice 1000 hours and a half minute, at 24 pence
		{"not what lies elsewhere", func(b *bureau, first queue.WorkOrder) {
			event := keeping(first, 300, "frame", "other")
			event.Checkpoints[1].StorageKey = "accounts/another/file"
			b.say(first, event)
			second := b.interrupted(first)
			b.say(second, *success(second))
		}, "1:FAILED:0.00 2:SUCCEEDED:6.67"},
		{"not what was lost and done again", func(b *bureau, first queue.WorkOrder) {
			b.say(first, keeping(first, 300, "frame"))
			second := b.interrupted(first)
			again := keeping(second, 240, "frame")
			b.say(second, redone(&again))
			third := b.interrupted(second)
			b.say(third, *success(third))
		}, "1:FAILED:0.00 2:FAILED:160.00 3:SUCCEEDED:6.67"},
		{"not when the program fails for good", func(b *bureau, first queue.WorkOrder) {
			b.say(first, keeping(first, 300, "frame"))
			for next := first; ; {
				b.say(next, *failure(engines.Executor))
				b.db.MustExec(`UPDATE tasks SET not_before = NULL`)
				if next.Attempt == 1+job.MaxRetries {
					return
				}
				next = b.dispatch(1)[first.Shard.Name]
			}
		}, "1:FAILED:0.00 2:FAILED:0.00 3:FAILED:0.00"},
		{"although a second worker, which got the attempt too, gives it back", func(b *bureau, first queue.WorkOrder) {
			b.say(first, keeping(first, 300, "frame"))
			// as if its start had been told to a Redis that was lost
			b.db.MustExec(`UPDATE tasks SET status = 'QUEUED' WHERE id = $1`, first.TaskID)
			back := failure(engines.System)
			back.GivenBack, back.Usage = true, queue.Usage{}
			b.say(first, *back)
			b.db.MustExec(`UPDATE tasks SET not_before = NULL`)
			second := b.dispatch(1)[first.Shard.Name]
			b.say(second, *success(second))
		}, "1:FAILED:200.00 2:SUCCEEDED:6.67"},
		{"with an attempt that reached the user's limit", func(b *bureau, first queue.WorkOrder) {
			b.say(first, keeping(first, 300, "frame"))
			second := b.interrupted(first)
			b.say(second, *failure(engines.Timeout))
		}, "1:FAILED:200.00 2:FAILED:6.67"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			b.submit(b.account(), 1)
			first := b.dispatch(1)["receptor"]
			test.do(b, first)
			b.expect("attempts", b.prices(first.TaskID), test.want)
			b.audit()
		})
	}
}

// TestKeptWorkOfACancelledJob is charged with the attempt that its owner stopped, and not when none had gone on from it.
func TestKeptWorkOfACancelledJob(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		used int64 // CPU seconds, of the attempt that is stopped
		want string
	}{
		{"while another goes on from it", 30, "1:FAILED:200.00 2:CANCELLED:20.00"},
		{"before another begins", 0, "1:FAILED:0.00 2:CANCELLED:0.00"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			accountID := b.account()
			jobID := b.submit(accountID, 1)
			first := b.dispatch(1)["receptor"]
			b.say(first, keeping(first, 300, "frame"))
			second := b.interrupted(first)
			if _, err := b.Cancel(context.Background(), accountID, jobID, ""); err != nil {
				t.Fatal(err)
			}
			b.say(second, queue.Event{Kind: queue.Cancelled, Usage: queue.Usage{CPUMicroseconds: test.used * 1_000_000}})
			b.awaitStatus(jobID, job.Cancelled)
			b.expect("attempts", b.prices(first.TaskID), test.want)

			// The next run has a price of its own: what the one before kept and did not charge stays free.
			b.retry(accountID, jobID, scheduler.RetryFailed, 2)
			third := b.dispatch(1)["receptor"]
			b.expect("the retry resumes", resumed(third), "resume/frame:1")
			b.say(third, *success(third))
			b.expect("attempts of both runs", b.prices(first.TaskID), test.want+" 3:SUCCEEDED:6.67")
			b.audit()
		})
	}
}
