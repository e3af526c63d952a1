package scheduler_test

import (
	"context"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// repeating is threeStages whose shards make the same each time, but for the last.
type repeating struct{ threeStages }

func (repeating) Programs() string { return "1" }

func (repeating) Repeats(plan []engines.Shard) []engines.Repeat {
	repeats := make([]engines.Repeat, len(plan))
	for i, shard := range plan[:len(plan)-1] {
		repeats[i].Decides = []byte(`"` + shard.Name + `"`)
	}
	return repeats
}

var handsPrograms = map[string]map[string]string{"autodock-vina": {"vina": "1.2.7"}}

// thrifty is a worker that takes over what its orders name, and runs the rest; it tells how many it ran.
func (f *fabric) thrifty(ran chan<- string) {
	toolchain := queue.Toolchain(repeating{}, handsPrograms["autodock-vina"])
	f.hire(4, func(order queue.WorkOrder) *queue.Event {
		event := success(order)
		event.Toolchain = toolchain
		if order.Reuse != nil {
			event.Reused = &order.Reuse.Source
			return event
		}
		ran <- order.JobID + " " + order.Shard.Name
		return event
	})
}

func startRepeating(t *testing.T) (*fabric, <-chan string) {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix, func(deps *scheduler.Deps) { deps.Engines = engines.NewRegistry(repeating{}) })
	f.lead()
	ran := make(chan string, 1000)
	f.thrifty(ran)
	f.eventually("the worker lives", func() bool {
		workers, err := f.queue.Workers(context.Background())
		return err == nil && len(workers) == 1
	})
	return f, ran
}

// repeat submits a job of so many docking shards on a scene of this digest, and waits for its end.
func (f *fabric) repeat(accountID string, shards int, digest string, change ...func(*scheduler.Submission)) scheduler.Receipt {
	f.t.Helper()
	sub := submission(accountID, shards, "")
	sub.Engine, sub.SceneFile.SHA256 = repeating{}, digest
	for _, do := range change {
		do(&sub)
	}
	receipt, err := f.Submit(context.Background(), sub)
	if err != nil {
		f.t.Fatal(err)
	}
	f.awaitStatus(receipt.JobID, job.Completed)
	return receipt
}

func ranOf(ran <-chan string, jobID string) (names []string) {
	for len(ran) > 0 {
		if of, name, _ := strings.Cut(<-ran, " "); of == jobID {
			names = append(names, name)
		}
	}
	return names
}

func TestWhatWasMadeBeforeIsNotRunAgain(t *testing.T) {
	t.Parallel()
	f, ran := startRepeating(t)
	account := f.account()
	first := f.repeat(account, 3, "aa")
	if got := ranOf(ran, first.JobID); len(got) != 5 || first.Known != 0 {
		t.Fatalf("the first job ran %v, and %d tasks were known before", got, first.Known)
	}
	asked := submission(account, 4, "")
	asked.SceneFile.SHA256 = "aa"
	estimation, err := f.Estimate(context.Background(), account, repeating{}, asked.Request, false)
	if err != nil || estimation.Known != 4 || estimation.Tasks != 6 {
		t.Errorf("an estimate knows %d of %d tasks (%v), want 4 of 6", estimation.Known, estimation.Tasks, err)
	}
	if fresh, err := f.Estimate(context.Background(), account, repeating{}, asked.Request, true); err != nil || fresh.Known != 0 ||
		fresh.Quote.EstimatedPence <= estimation.Quote.EstimatedPence {
		t.Errorf("an estimate of running everything knows %d tasks and says %d pence (%v), want none and more than %d", fresh.Known,
			fresh.Quote.EstimatedPence, err, estimation.Quote.EstimatedPence)
	}
	if visitor, err := f.Estimate(context.Background(), "", repeating{}, asked.Request, false); err != nil || visitor.Known != 0 {
		t.Errorf("a visitor's estimate knows %d tasks (%v), want none", visitor.Known, err)
	}
	second := f.repeat(account, 4, "aa")
	if got := ranOf(ran, second.JobID); len(got) != 2 || second.Known != 4 || second.Tasks != 6 {
		t.Fatalf("the second job ran %v; %d of %d tasks were known before, want 4 of 6", got, second.Known, second.Tasks)
	}
	if second.Quote.EstimatedPence >= first.Quote.EstimatedPence {
		t.Errorf("estimated %d pence, the first %d: want less", second.Quote.EstimatedPence, first.Quote.EstimatedPence)
	}
	if n := f.count(`SELECT count(*) FROM task_attempts a JOIN tasks t ON t.id = a.task_id WHERE t.job_id = $1 AND a.cpu_us = 0
		AND a.charged_micropence = 0 AND a.reused_job = $2 AND a.reused_attempt = 1`, second.JobID, first.JobID); n != 4 {
		t.Errorf("%d attempts cost nothing and name the first job, want 4", n)
	}
	if n := f.count(`SELECT count(*) FROM artifacts a JOIN tasks t ON t.id = a.task_id WHERE t.job_id = $1`, second.JobID); n != 6 {
		t.Errorf("the second job has %d files, want 6 of its own", n)
	}
	if n := f.count(`SELECT count(*) FROM job_events WHERE job_id = $1 AND body->'reusedFrom'->>'jobId' = $2`, second.JobID,
		first.JobID); n != 4 {
		t.Errorf("%d events tell where a result came from, want 4", n)
	}
	third := f.repeat(account, 4, "aa")
	if n := f.count(`SELECT count(*) FROM task_attempts WHERE reused_job = $1`, second.JobID); n != 5 {
		t.Errorf("the third job %s took %d results from the newest that has them, want 5", third.JobID, n)
	}
}

// repeatingAll repeats the last shard too, which gathers.
type repeatingAll struct{ repeating }

func (r repeatingAll) Repeats(plan []engines.Shard) []engines.Repeat {
	repeats := r.repeating.Repeats(plan)
	repeats[len(plan)-1].Decides = []byte(`"rank"`)
	return repeats
}

// TestWhatLacksSomethingIsNotKnown gathers without a task that has failed: the next job, in which that one succeeds, gathers anew.
func TestWhatLacksSomethingIsNotKnown(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix, func(deps *scheduler.Deps) { deps.Engines = engines.NewRegistry(repeatingAll{}) })
	f.lead()
	toolchain := queue.Toolchain(repeatingAll{}, handsPrograms["autodock-vina"])
	ran, broken := make(chan string, 100), true
	f.hire(1, func(order queue.WorkOrder) *queue.Event {
		event := success(order)
		event.Toolchain = toolchain
		switch {
		case order.Reuse != nil:
			event.Reused = &order.Reuse.Source
			return event
		case order.Shard.Name == "dock-001" && broken:
			broken = false
			return failure(engines.UserInput)
		}
		ran <- order.JobID + " " + order.Shard.Name
		return event
	})
	account := f.account()
	submit := func(ending job.Status) []string {
		sub := submission(account, 3, "")
		sub.Engine, sub.SceneFile.SHA256 = repeatingAll{}, "aa"
		receipt, err := f.Submit(context.Background(), sub)
		if err != nil {
			t.Fatal(err)
		}
		f.awaitStatus(receipt.JobID, ending)
		return ranOf(ran, receipt.JobID)
	}
	if got := submit(job.CompletedWithFailures); len(got) != 4 {
		t.Fatalf("the first job ran %v, want all but the task that failed", got)
	}
	if got := strings.Join(submit(job.Completed), " "); got != "dock-001 rank" {
		t.Errorf("the second job ran %s, want what had failed and what had lacked it", got)
	}
	if got := submit(job.Completed); len(got) != 0 {
		t.Errorf("the third job ran %v, want nothing", got)
	}
}

func TestWhatIsRunAllTheSame(t *testing.T) {
	t.Parallel()
	f, ran := startRepeating(t)
	account := f.account()
	first := f.repeat(account, 2, "aa")
	for name, again := range map[string]func() scheduler.Receipt{
		"asked for": func() scheduler.Receipt {
			return f.repeat(account, 2, "aa", func(sub *scheduler.Submission) { sub.NoReuse = true })
		},
		"another account": func() scheduler.Receipt { return f.repeat(f.account(), 2, "aa") },
		"another scene":   func() scheduler.Receipt { return f.repeat(account, 2, "bb") },
		"no digest":       func() scheduler.Receipt { return f.repeat(account, 2, "") },
	} {
		receipt := again()
		if got := ranOf(ran, receipt.JobID); len(got) != 4 || receipt.Known != 0 {
			t.Errorf("%s: ran %v, %d known; want all 4 run", name, got, receipt.Known)
		}
	}
	if _, err := f.db.Exec(`DELETE FROM known_work`); err != nil { // as a deletion of files does
		t.Fatal(err)
	}
	if receipt := f.repeat(account, 2, "aa"); len(ranOf(ran, receipt.JobID)) != 4 {
		t.Error("what is gone was taken over")
	}
	_ = first
}

// A worker cannot pass another account's result, or any other task's, off as known.
func TestForgedReuseFails(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix, func(deps *scheduler.Deps) { deps.Engines = engines.NewRegistry(repeating{}) })
	f.lead()
	f.hire(4, func(order queue.WorkOrder) *queue.Event {
		event := success(order)
		event.Reused = &queue.Source{JobID: id.New("job_"), TaskID: id.New("task_"), Attempt: 1}
		return event
	})
	sub := submission(f.account(), 1, "")
	sub.Engine, sub.SceneFile.SHA256 = repeating{}, "aa"
	receipt, err := f.Submit(context.Background(), sub)
	if err != nil {
		t.Fatal(err)
	}
	f.awaitStatus(receipt.JobID, job.Failed)
	if n := f.count(`SELECT count(*) FROM task_attempts WHERE outcome = 'SUCCEEDED'`); n != 0 {
		t.Errorf("%d attempts succeeded with results of nobody", n)
	}
}
