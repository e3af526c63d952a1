package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

// startRepeats makes a fabric that runs tasks again with a chance.
func startRepeats(t *testing.T, chance float64) *fabric {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix, func(deps *scheduler.Deps) {
		deps.Engines, deps.RepeatRate = engines.NewRegistry(repeating{}), chance
	})
	f.lead()
	return f
}

// manySlots let several repetitions run at once.
const manySlots = 60

func ofRepeat(order queue.WorkOrder) bool { return strings.HasPrefix(order.TaskID, "repeat_") }

// madeHere is a success by the programs that the workers of these tests have.
func madeHere(order queue.WorkOrder) *queue.Event {
	event := success(order)
	event.Toolchain = queue.Toolchain(repeating{}, handsPrograms["autodock-vina"])
	if order.Reuse != nil {
		event.Reused = &order.Reuse.Source
	}
	return event
}

// keepsRepeats runs tasks, and keeps repetitions for the test.
func keepsRepeats(order queue.WorkOrder) *queue.Event {
	if ofRepeat(order) {
		return nil
	}
	return madeHere(order)
}

// verdict is what has come of running a task again.
type verdict struct {
	Task    string `db:"name"`
	Status  string `db:"status"`
	Reason  string `db:"reason"`
	File    string `db:"file"`
	Before  string `db:"sha256"`
	Again   string `db:"sha256_again"`
	Attempt int    `db:"attempt"`
}

func (f *fabric) verdicts(jobID string) []verdict {
	f.t.Helper()
	var found []verdict
	if err := f.db.Select(&found, `SELECT t.name, r.status, r.reason, r.file, r.sha256, r.sha256_again, r.attempt
		FROM repeats r JOIN tasks t ON t.id = r.task_id WHERE r.job_id = $1 ORDER BY t.ordinal`, jobID); err != nil {
		f.t.Fatal(err)
	}
	return found
}

// awaitVerdicts waits until so many tasks of a job have been drawn and run again.
func (f *fabric) awaitVerdicts(jobID string, n int) []verdict {
	f.t.Helper()
	f.eventually(fmt.Sprintf("%d repetitions have ended", n), func() bool {
		return f.count(`SELECT count(*) FROM repeats WHERE job_id = $1 AND ended_at IS NOT NULL`, jobID) == n
	})
	return f.verdicts(jobID)
}

// awaitDraw waits until a job has been drawn from.
func (f *fabric) awaitDraw(jobID string) {
	f.t.Helper()
	f.eventually("the job was drawn from", func() bool {
		return f.count(`SELECT count(*) FROM repeat_draws WHERE job_id = $1`, jobID) == 1
	})
}

// accountRows are all that the tables say which are an account's to see.
func (f *fabric) accountRows() string {
	f.t.Helper()
	var said []string
	for _, table := range []string{"jobs", "tasks", "task_attempts", "task_details", "artifacts", "known_work", "credit_accounts",
		"holds", "ledger_entries", "ledger_postings", "job_events", "job_status_history"} {
		var rows []string
		if err := f.db.Select(&rows, `SELECT row_to_json(t)::text FROM `+table+` t ORDER BY 1`); err != nil {
			f.t.Fatal(err)
		}
		said = append(said, table)
		said = append(said, rows...)
	}
	return strings.Join(said, "\n")
}

// TestRepetitionsChangeNothing runs all that repeats again, once, and leaves no trace in the account.
func TestRepetitionsChangeNothing(t *testing.T) {
	t.Parallel()
	f := startRepeats(t, 1)
	var again sync.Map
	f.hire(manySlots, func(order queue.WorkOrder) *queue.Event {
		if ofRepeat(order) {
			again.Store(order.Shard.Name, order)
		}
		return madeHere(order)
	})
	account := f.account()
	first := f.repeat(account, 2, "aa")
	before := f.accountRows()
	for _, v := range f.awaitVerdicts(first.JobID, 3) {
		if v.Status != "SAME" || v.Attempt != 1 {
			t.Errorf("%+v, want the same", v)
		}
		found, _ := again.Load(v.Task)
		order, _ := found.(queue.WorkOrder)
		prefix := fmt.Sprintf("accounts/%s/jobs/%s/%s/1/", account, first.JobID, order.TaskID)
		if order.OutputPrefix != prefix || order.Reuse != nil || len(order.Inputs) != 1 {
			t.Errorf("%s: stores below %q, reuses %v, reads %d files; want %q, nothing and 1", v.Task, order.OutputPrefix,
				order.Reuse, len(order.Inputs), prefix)
		}
		if n := f.count(`SELECT count(*) FROM removals WHERE prefix = $1`, strings.TrimSuffix(prefix, "1/")); n != 1 {
			t.Errorf("%s: its files are to be removed %d times, want once", v.Task, n)
		}
	}
	if after := f.accountRows(); after != before {
		t.Errorf("the account's rows have changed:\n%s\nwere\n%s", after, before)
	}
	second := f.repeat(account, 2, "aa") // takes all over but the last task
	f.awaitDraw(second.JobID)
	if got := f.verdicts(second.JobID); second.Known != 3 || len(got) != 0 {
		t.Errorf("%d tasks were known, and %v was drawn: want 3, and none", second.Known, got)
	}
	if _, err := f.db.Exec(`UPDATE repeat_draws SET finished_at = now() - interval '1 hour', job_id = ''`); err != nil {
		t.Fatal(err)
	}
	f.awaitDraw(second.JobID)
	counts, err := scheduler.CountRepeats(t.Context(), f.db, time.Now().Add(-time.Hour))
	want := []scheduler.RepeatCount{{Engine: "autodock-vina", Verdict: "SAME", All: 3, Recent: 3}}
	if err != nil || !slices.Equal(counts, want) {
		t.Errorf("counts %v, %v; drawn from twice, want %v", counts, err, want)
	}
}

// TestRepetitionsFindWhatDiffers is told of other bytes by who makes them again, and of one changed in the store's record.
func TestRepetitionsFindWhatDiffers(t *testing.T) {
	t.Parallel()
	f := startRepeats(t, 1)
	f.hire(manySlots, func(order queue.WorkOrder) *queue.Event {
		event := madeHere(order)
		if !ofRepeat(order) {
			return event
		}
		file := &event.Result.Artifacts[0]
		switch order.Shard.Name {
		case "receptor":
			file.Name += "\x00"
		case "dock-000":
			file.SHA256 = "01"
		case "dock-002":
			file.SHA256, event.Toolchain = "02", "others"
		case "dock-003":
			return failure(engines.Timeout)
		case "dock-004":
			event.Toolchain = "others"
		}
		return event
	})
	sub := submission(f.account(), 5, "")
	sub.Engine, sub.SceneFile.SHA256 = repeating{}, "aa"
	receipt, err := f.Submit(t.Context(), sub)
	if err != nil {
		t.Fatal(err)
	}
	f.awaitStatus(receipt.JobID, job.Completed)
	if _, err := f.db.Exec(`UPDATE artifacts SET sha256 = 'ff' WHERE task_id = (SELECT id FROM tasks WHERE job_id = $1
		AND name = 'dock-001')`, receipt.JobID); err != nil {
		t.Fatal(err)
	}
	want := []verdict{
		{Task: "receptor", Status: "DIFFERENT", File: "out", Before: "00"},
		{Task: "dock-000", Status: "DIFFERENT", File: "out", Before: "00", Again: "01"},
		{Task: "dock-001", Status: "DIFFERENT", File: "out", Before: "ff", Again: "00"},
		{Task: "dock-002", Status: "NOT_COMPARABLE", Reason: "OTHER_PROGRAMS"},
		{Task: "dock-003", Status: "NOT_COMPARABLE", Reason: "FAILED: BROKEN"},
		{Task: "dock-004", Status: "SAME"},
	}
	found := f.awaitVerdicts(receipt.JobID, len(want))
	if len(found) != len(want) {
		t.Fatalf("run again were %+v", found)
	}
	for i, got := range found {
		if want[i].Attempt = 1; got != want[i] {
			t.Errorf("got %+v, want %+v", got, want[i])
		}
	}
	differ, err := scheduler.ListDifferentRepeats(t.Context(), f.db, 2)
	if err != nil || len(differ) != 2 || differ[0].File != "out" || differ[0].Worker == "" || differ[0].FirstWorker == "" {
		t.Errorf("listed %+v, %v; want the newest two with their files and workers", differ, err)
	}
}

// TestRepetitionsOutliveWorkersAndNotFiles loses the worker of one repetition and deletes the files of another that runs.
func TestRepetitionsOutliveWorkersAndNotFiles(t *testing.T) {
	t.Parallel()
	f := startRepeats(t, 1)
	account, first := f.account(), f.hire(1, keepsRepeats)
	receipt := f.repeat(account, 1, "aa")
	lost := <-first.orders
	first.kill()
	second := f.hire(1, keepsRepeats)
	again := <-second.orders
	if again.TaskID != lost.TaskID { // the lost one waits for a moment
		second.finish(again, *madeHere(again))
		again = <-second.orders
	}
	if again.TaskID != lost.TaskID || again.Attempt != 2 {
		t.Fatalf("%s was handed out after the loss of %s", again.Ref(), lost.Ref())
	}
	late := madeHere(lost)
	late.Result.Artifacts[0].SHA256 = "01"
	first.report(lost, *late)
	second.finish(again, *madeHere(again))
	for _, v := range f.awaitVerdicts(receipt.JobID, 2) {
		if v.Status != "SAME" {
			t.Errorf("%+v, want the same, whatever a lost attempt says", v)
		}
	}
	deleted := f.repeat(account, 1, "bb")
	running := <-second.orders
	if _, err := erasure.JobFiles(t.Context(), f.db, erasure.Order{AccountID: account, JobID: deleted.JobID,
		At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	f.eventually("its worker is told to stop", func() bool {
		stopped, err := f.queue.Stopped(context.Background(), running.Ref())
		return err == nil && stopped
	})
	second.finish(running, *madeHere(running))
	for _, v := range f.awaitVerdicts(deleted.JobID, 2) {
		if v.Status != "NOT_COMPARABLE" || v.Reason != "FILES_DELETED" {
			t.Errorf("%+v, want it not comparable since the files were deleted", v)
		}
	}
}

// TestRepetitionsGiveWayToRetries has the owner run a job anew while a task of it is run again: there is nothing to compare with.
func TestRepetitionsGiveWayToRetries(t *testing.T) {
	t.Parallel()
	f := startRepeats(t, 1)
	account, worker := f.account(), f.hire(2, keepsRepeats)
	receipt := f.repeat(account, 1, "aa")
	running := <-worker.orders
	if _, err := f.Retry(t.Context(), scheduler.RetryOrder{AccountID: account, JobID: receipt.JobID,
		Scope: scheduler.RetryAll}); err != nil {
		t.Fatal(err)
	}
	worker.finish(running, *madeHere(running))
	f.eventually("neither is compared", func() bool {
		return f.count(`SELECT count(*) FROM repeats WHERE status = 'NOT_COMPARABLE' AND reason = 'RUN_ANEW'`) == 2
	})
	f.awaitStatus(receipt.JobID, job.Completed)
	for range 2 { // what the retry has made is drawn too
		again := <-worker.orders
		worker.finish(again, *madeHere(again))
	}
	f.eventually("the retry's tasks are the same", func() bool {
		return f.count(`SELECT count(*) FROM repeats WHERE status = 'SAME' AND task_attempt = 2`) == 2
	})
}

// TestRepetitionsGoToOthers has a second worker make again what the first has made, and no forged report believed.
func TestRepetitionsGoToOthers(t *testing.T) {
	t.Parallel()
	f := startRepeats(t, 1)
	a, b := f.hire(1, keepsRepeats), f.hire(1, keepsRepeats)
	f.eventually("both workers live", func() bool {
		workers, err := f.queue.Workers(context.Background())
		return err == nil && len(workers) == 2
	})
	receipt := f.repeat(f.account(), 1, "aa")
	for range 2 {
		var by *hand
		var order queue.WorkOrder
		select {
		case order = <-a.orders:
			by = a
		case order = <-b.orders:
			by = b
		}
		forged := order
		forged.Claim = newClaim(t)
		wrong := madeHere(forged)
		wrong.Result.Artifacts[0].SHA256 = "01"
		by.report(forged, *wrong)
		by.finish(order, *madeHere(order))
	}
	for _, v := range f.awaitVerdicts(receipt.JobID, 2) {
		if v.Status != "SAME" {
			t.Errorf("%+v, want the same", v)
		}
	}
	if n := f.count(`SELECT count(*) FROM repeats WHERE worker_id <> first_worker`); n != 2 {
		t.Errorf("%d tasks were made again by another worker, want both", n)
	}
}

func TestWithoutAChanceNothingIsRunAgain(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix, func(deps *scheduler.Deps) { deps.Engines = engines.NewRegistry(repeating{}) })
	leader := scheduler.NewLeader(f.Scheduler, id.New("epoch_"))
	if err := leader.Repeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := f.count(`SELECT count(*) FROM repeat_draws`) + f.count(`SELECT count(*) FROM repeats`); n != 0 {
		t.Errorf("%d rows were written without a chance", n)
	}
}
