package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// retry runs a job again and expects it to begin the given run.
func (f *fabric) retry(accountID, jobID string, scope scheduler.RetryScope, run int) scheduler.Retried {
	f.t.Helper()
	order := scheduler.RetryOrder{AccountID: accountID, JobID: jobID, Scope: scope, RequestID: "req_retry"}
	got, err := f.Retry(context.Background(), order)
	if err != nil {
		f.t.Fatal(err)
	}
	if got.JobID != jobID || got.Attempt != run || got.Status != job.Submitted || got.HeldPence < got.EstimatedPence ||
		got.EstimatedPence < 1 {
		f.t.Fatalf("retry: got %+v, want run %d as %s", got, run, job.Submitted)
	}
	return got
}

// column reads a text column of a job's rows.
func (f *fabric) column(query string, args ...any) string {
	f.t.Helper()
	var rows []string
	if err := f.db.Select(&rows, query, args...); err != nil {
		f.t.Fatal(err)
	}
	return strings.Join(rows, " ")
}

// succeedBut lets every task succeed, and one fail for a reason that is not tried again, while failing is set.
func succeedBut(name string, failing *atomic.Bool) func(queue.WorkOrder) *queue.Event {
	return func(order queue.WorkOrder) *queue.Event {
		if order.Shard.Name == name && failing.Load() {
			return failure(engines.License)
		}
		return success(order)
	}
}

func TestRetryRunsWhatFailedAndRanksAnew(t *testing.T) {
	t.Parallel()
	f := start(t)
	var failing atomic.Bool
	failing.Store(true)
	var mu sync.Mutex
	ranked := map[int]int{} // inputs of the ranking, by attempt
	behave := succeedBut("dock-001", &failing)
	f.hire(2, func(order queue.WorkOrder) *queue.Event {
		mu.Lock()
		defer mu.Unlock()
		if order.Shard.Name == "rank" {
			ranked[order.Attempt] = len(order.Inputs)
		}
		return behave(order)
	})
	accountID := f.account()
	jobID := f.submit(accountID, 3)
	first := f.awaitStatus(jobID, job.CompletedWithFailures)
	failing.Store(false)

	if got := f.retry(accountID, jobID, scheduler.RetryFailed, 2); got.Tasks != 2 {
		t.Errorf("%d tasks run again, want the search and the ranking", got.Tasks)
	}
	second := f.awaitStatus(jobID, job.Completed)
	// The first run is charged 2 pence with its start fee, the second the minimum of 1: its 20 s cost less, and no fee is due.
	if *first.Charged != 2 || *second.Charged != 3 {
		t.Errorf("charged %d, then %d pence, want 2, then 3", *first.Charged, *second.Charged)
	}
	if second.Message != nil || second.Class != nil {
		t.Errorf("the job still shows the failure %s: %s", *second.Class, *second.Message)
	}
	mu.Lock()
	defer mu.Unlock()
	if ranked[1] != 2 || ranked[2] != 3 {
		t.Errorf("inputs of the ranking by attempt: %v, want 2, then all 3", ranked)
	}
	got := f.column(`SELECT name || ':' || attempt || ':' || run FROM tasks WHERE job_id = $1 ORDER BY ordinal`, jobID)
	if want := "receptor:1:1 dock-000:1:1 dock-001:2:2 dock-002:1:1 rank:2:2"; got != want {
		t.Errorf("tasks by attempt and run: %s, want %s", got, want)
	}
	got = f.column(`SELECT status FROM job_status_history WHERE job_id = $1 ORDER BY seq`, jobID)
	if want := "SUBMITTED QUEUED RUNNING COMPLETED_WITH_FAILURES SUBMITTED QUEUED RUNNING COMPLETED"; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
	if n := f.count(`SELECT count(*) FROM artifacts WHERE job_id = $1`, jobID); n != 5 {
		t.Errorf("%d files, want one of each task", n)
	}
	if got := f.column(`SELECT request_id FROM jobs WHERE id = $1`, jobID); got != "req_retry" {
		t.Errorf("the logs would speak of request %q", got)
	}
}

func TestRetryOfAllRunsEverythingAndIsChargedAgain(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.hire(2, success)
	accountID := f.account()
	jobID := f.submit(accountID, 2)
	f.awaitStatus(jobID, job.Completed)
	for run := 2; run <= 4; run++ {
		if got := f.retry(accountID, jobID, scheduler.RetryAll, run); got.Tasks != 4 {
			t.Errorf("%d tasks run again, want all 4", got.Tasks)
		}
		if got := f.awaitStatus(jobID, job.Completed); *got.Charged != int64(2+run-1) {
			t.Errorf("after run %d: charged %d pence, want 2 for the first run and 1 for each later one", run, *got.Charged)
		}
	}
	if got := f.column(`SELECT attempt FROM tasks WHERE job_id = $1 ORDER BY ordinal`, jobID); got != "4 4 4 4" {
		t.Errorf("attempts %s, want 4 of each", got)
	}
}

func TestRetryIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	accountID := f.account()
	running := f.submit(accountID, 1) // nobody takes it until the end of the test
	refuse := func(name, accountID, jobID string, scope scheduler.RetryScope, want fault.Code) {
		t.Helper()
		before := f.everything()
		order := scheduler.RetryOrder{AccountID: accountID, JobID: jobID, Scope: scope}
		if _, err := f.Retry(context.Background(), order); !fault.Is(err, want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
		if after := f.everything(); after != before {
			t.Errorf("%s: changed\n%s\nto\n%s", name, before, after)
		}
	}
	refuse("a job that has not ended", accountID, running, scheduler.RetryAll, fault.JobNotRetryable)
	refuse("an unknown job", accountID, "job_unknown", scheduler.RetryAll, fault.NotFound)
	refuse("another account's job", f.account(), running, scheduler.RetryAll, fault.NotFound)
	refuse("an unknown scope", accountID, running, "some", fault.Validation)

	var class atomic.Value
	class.Store(engines.License)
	f.hire(2, func(order queue.WorkOrder) *queue.Event {
		if order.Shard.Name == "receptor" {
			return failure(class.Load().(engines.FailureClass))
		}
		return success(order)
	})
	f.awaitStatus(running, job.Failed)
	f.spend(accountID)
	refuse("without credit", accountID, running, scheduler.RetryFailed, fault.InsufficientCredits)

	class.Store(engines.UserInput)
	accountID = f.account()
	wrong := f.submit(accountID, 1)
	f.awaitStatus(wrong, job.Failed)
	for _, scope := range scheduler.RetryScopes {
		refuse("wrong input, "+string(scope), accountID, wrong, scope, fault.JobNotRetryable)
	}
	if _, err := f.db.Exec(`UPDATE jobs SET attempts = $2 WHERE id = $1`, running, job.MaxRuns); err != nil {
		t.Fatal(err)
	}
	owner := f.column(`SELECT account_id FROM jobs WHERE id = $1`, running)
	order := scheduler.RetryOrder{AccountID: owner, JobID: running, Scope: scheduler.RetryAll}
	if _, err := f.Retry(context.Background(), order); !fault.Is(err, fault.JobNotRetryable) {
		t.Errorf("too many runs: got %v, want %s", err, fault.JobNotRetryable)
	}
	f.db.MustExec(`UPDATE jobs SET attempts = 1 WHERE id = $1`, running)
}

// everything is what a retry might change of jobs that nobody else moves, as one text.
func (f *fabric) everything() string {
	return f.column(`SELECT to_jsonb(j)::text FROM jobs j WHERE finished_at IS NOT NULL
		UNION ALL SELECT to_jsonb(t)::text FROM tasks t JOIN jobs j ON j.id = t.job_id WHERE j.finished_at IS NOT NULL
		UNION ALL SELECT to_jsonb(d)::text FROM task_details d JOIN tasks t ON t.id = d.task_id JOIN jobs j ON j.id = t.job_id
		WHERE j.finished_at IS NOT NULL
		UNION ALL SELECT to_jsonb(a)::text FROM artifacts a
		UNION ALL SELECT to_jsonb(h)::text FROM holds h
		UNION ALL SELECT count(*)::text FROM ledger_entries ORDER BY 1`)
}

// spend takes all of an account's credit away.
func (f *fabric) spend(accountID string) {
	f.t.Helper()
	balance, err := f.ledger.Balance(context.Background(), f.db, accountID, f.Now())
	if err != nil {
		f.t.Fatal(err)
	}
	err = postgres.InTx(context.Background(), f.db, func(tx *sqlx.Tx) error {
		_, err := f.ledger.Credit(context.Background(), tx, billing.CreditRequest{AccountID: accountID,
			Type:   billing.EntryAdjustment,
			Bucket: billing.Monthly, Pence: -balance.AvailablePence, UniqueKey: "spend " + accountID}, f.Now())
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestOfRetriesAtOnceOneWins(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.hire(2, success)
	accountID := f.account()
	jobID := f.submit(accountID, 2)
	f.awaitStatus(jobID, job.Completed)
	const callers = 12
	errs := make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		order := scheduler.RetryOrder{AccountID: accountID, JobID: jobID, Scope: scheduler.RetryAll}
		all.Go(func() { _, errs[i] = f.Retry(context.Background(), order) })
	}
	all.Wait()
	won := 0
	for i, err := range errs {
		switch {
		case err == nil:
			won++
		case !fault.Is(err, fault.JobNotRetryable):
			t.Errorf("caller %d: got %v, want %s", i, err, fault.JobNotRetryable)
		}
	}
	// A caller that comes when the retry has ended already may begin the next one.
	f.eventually("the retries have ended", func() bool { return f.bill(jobID).Status == job.Completed })
	if runs := f.count(`SELECT attempts FROM jobs WHERE id = $1`, jobID); won < 1 || runs != 1+won || f.count(`SELECT count(*)
		FROM holds`) != runs {
		t.Errorf("%d callers won and the job has been run %d times", won, runs)
	}
}

// TestRetriesOfOneKeyAreOne sends one order at once from several callers, and again when its run has ended.
func TestRetriesOfOneKeyAreOne(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.hire(2, success)
	accountID := f.account()
	jobID := f.submit(accountID, 2)
	f.awaitStatus(jobID, job.Completed)
	order := scheduler.RetryOrder{AccountID: accountID, JobID: jobID, Scope: scheduler.RetryAll, IdempotencyKey: "again-and-again"}
	const callers = 12
	answers, errs := make([]scheduler.Retried, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { answers[i], errs[i] = f.Retry(context.Background(), order) })
	}
	all.Wait()
	first := 0
	for i, got := range answers {
		if !got.Replayed {
			first++
		}
		got.Replayed = answers[0].Replayed
		if errs[i] != nil || got != answers[0] || got.Attempt != 2 {
			t.Errorf("caller %d: got %+v, %v", i, got, errs[i])
		}
	}
	f.awaitStatus(jobID, job.Completed)
	if again, err := f.Retry(context.Background(), order); err != nil || !again.Replayed || again.Attempt != 2 {
		t.Errorf("after the end: got %+v, %v", again, err)
	}
	if runs := f.count(`SELECT attempts FROM jobs WHERE id = $1`, jobID); first != 1 || runs != 2 {
		t.Errorf("%d callers began a run, and the job has been run %d times", first, runs)
	}
	order.Scope = scheduler.RetryFailed
	if _, err := f.Retry(context.Background(), order); !fault.Is(err, fault.IdempotencyKeyReused) {
		t.Errorf("another order under the key: got %v", err)
	}
	order.Scope, order.IdempotencyKey = scheduler.RetryAll, "another-key"
	if next, err := f.Retry(context.Background(), order); err != nil || next.Replayed || next.Attempt != 3 {
		t.Errorf("another key: got %+v, %v", next, err)
	}
}

// A retried job can be cancelled like any other, and what stopped that run does not stop the next.
func TestCancelOfARetryAndRetryOfACancel(t *testing.T) {
	t.Parallel()
	f := start(t)
	ctx := context.Background()
	var holding atomic.Bool
	worker := f.hire(2, func(order queue.WorkOrder) *queue.Event {
		if holding.Load() {
			return nil
		}
		return success(order)
	})
	accountID := f.account()
	jobID := f.submit(accountID, 2)
	f.awaitStatus(jobID, job.Completed)
	holding.Store(true)
	again := f.retry(accountID, jobID, scheduler.RetryAll, 2)
	order := <-worker.orders
	if _, err := f.Cancel(ctx, accountID, jobID, "changed my mind"); err != nil {
		t.Fatal(err)
	}
	f.eventually("the worker is told to stop", func() bool {
		stopped, err := f.queue.Stopped(ctx, order.Ref())
		return err == nil && stopped
	})
	worker.finish(order, queue.Event{Kind: queue.Cancelled, Usage: queue.Usage{CPUMicroseconds: 3600_000_000}})
	got := f.awaitStatus(jobID, job.Cancelled)
	if *got.Charged != 2+again.HeldPence || got.Held != *got.Charged {
		t.Errorf("charged %d pence of %d, want 2 for the first run and the whole hold of %d for the second", *got.Charged, got.Held,
			again.HeldPence)
	}
	holding.Store(false)
	f.retry(accountID, jobID, scheduler.RetryFailed, 3)
	if got := f.awaitStatus(jobID, job.Completed); *got.Charged != 2+again.HeldPence+1 {
		t.Errorf("charged %d pence in all, want %d", *got.Charged, 2+again.HeldPence+1)
	}
	if n := f.count(`SELECT count(*) FROM task_attempts WHERE outcome = 'CANCELLED'`); n != 1 {
		t.Errorf("%d attempts were stopped, want the one of the cancelled run", n)
	}
}

func TestLostWorkerOfARetryIsReplaced(t *testing.T) {
	t.Parallel()
	f := start(t)
	var holding atomic.Bool
	behave := func(order queue.WorkOrder) *queue.Event {
		if holding.Load() {
			return nil
		}
		return success(order)
	}
	doomed := f.hire(1, behave)
	accountID := f.account()
	jobID := f.submit(accountID, 1)
	f.awaitStatus(jobID, job.Completed)
	holding.Store(true)
	f.retry(accountID, jobID, scheduler.RetryAll, 2)
	order := <-doomed.orders
	if order.Attempt != 2 || order.RequestID != "req_retry" {
		t.Errorf("got attempt %d of request %q, want the second of the retry", order.Attempt, order.RequestID)
	}
	f.eventually("the task runs", func() bool {
		return f.count(`SELECT count(*) FROM tasks WHERE id = $1 AND status = 'RUNNING' AND progress > 0`, order.TaskID) == 1
	})
	doomed.kill()
	holding.Store(false)
	f.hire(1, behave)
	f.awaitStatus(jobID, job.Completed)
	got := f.column(`SELECT attempt || ':' || run || ':' || outcome FROM task_attempts WHERE task_id = $1 ORDER BY attempt`,
		order.TaskID)
	if want := "1:1:SUCCEEDED 2:2:LOST 3:2:SUCCEEDED"; got != want {
		t.Errorf("attempts %s, want %s", got, want)
	}
	if doomed.report(order, *success(order)); f.bill(jobID).Status != job.Completed {
		t.Error("the zombie moved the job")
	}
}

// What an attempt of an earlier run still says is dropped, whether its task waits, runs or has ended again.
func TestLateReportsOfAnEarlierRunAreFenced(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	ctx := t.Context()
	leader := scheduler.NewLeader(f.Scheduler, "alone")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	say := func(order queue.WorkOrder, event queue.Event) {
		t.Helper()
		event.ID, event.Ref, event.JobID, event.WorkerID, event.Engine = fmt.Sprintf("evt_%s_%s", order.Ref(), event.Kind),
			order.Ref(), order.JobID, "wrk_1", "autodock-vina"
		event.Claim = order.Claim
		_, err := f.queue.Report(ctx, []queue.Event{event})
		must(err)
		must(leader.Collect(ctx))
	}
	accountID := f.account()
	jobID := f.submit(accountID, 1)
	current := func() (orders []queue.WorkOrder) {
		t.Helper()
		must(leader.Dispatch(ctx))
		must(f.db.Select(&orders, `SELECT id AS taskid, attempt, job_id AS jobid, queue, 'accounts/' || account_id || '/jobs/' ||
			job_id || '/' || id || '/' || attempt || '/' AS outputprefix
			FROM tasks WHERE status = 'QUEUED'`))
		for i := range orders {
			claim, _, err := f.queue.TakeClaim(ctx, orders[i].Queue, orders[i].Ref())
			must(err)
			orders[i].Claim = claim
		}
		return orders
	}
	finish := func() (last queue.WorkOrder) {
		t.Helper()
		for orders := current(); len(orders) > 0; orders = current() {
			last = orders[0]
			say(last, *success(last))
		}
		return last
	}
	old := finish() // the ranking
	if status := f.bill(jobID).Status; status != job.Completed {
		t.Fatalf("job is %s", status)
	}
	late := []*queue.Event{{Kind: queue.Started}, success(old), failure(engines.UserInput), {Kind: queue.Cancelled}}
	unmoved := func(when string) {
		t.Helper()
		const state = `SELECT to_jsonb(t)::text FROM tasks t UNION ALL SELECT (to_jsonb(j) - 'updated_at')::text FROM jobs j
			ORDER BY 1`
		before := f.column(state)
		for _, event := range late {
			say(old, *event)
			if after := f.column(state); after != before {
				t.Fatalf("%s: a late %s changed\n%s\nto\n%s", when, event.Kind, before, after)
			}
		}
	}
	f.retry(accountID, jobID, scheduler.RetryAll, 2)
	unmoved("while the task waits")
	prepared := current()
	say(prepared[0], *success(prepared[0]))
	docked := current()
	say(docked[0], *success(docked[0]))
	ranking := current()
	if len(ranking) != 1 || ranking[0].Ref() != (queue.Ref{TaskID: old.TaskID, Attempt: old.Attempt + 1}) {
		t.Fatalf("in flight: %v, want the next attempt of %s", ranking, old.Ref())
	}
	unmoved("while the next attempt is queued")
	say(ranking[0], queue.Event{Kind: queue.Started})
	unmoved("while the next attempt runs")
	say(ranking[0], *success(ranking[0]))
	unmoved("when the job has ended")
	if got := f.bill(jobID); got.Status != job.Completed || *got.Charged != 3 {
		t.Errorf("job is %s, charged %d pence, want it completed for 3", got.Status, *got.Charged)
	}
	f.audit()
}
