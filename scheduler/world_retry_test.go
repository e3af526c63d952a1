package scheduler_test

import (
	"strings"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// cancelledIn reports whether a run was cancelled by the job's owner.
func (j *submitted) cancelledIn(run int) bool {
	if run <= len(j.ended) {
		return j.ended[run-1].cancelled
	}
	return j.cancelled
}

// leftover is a task as a user sees it before and after he asks for a retry.
type leftover struct {
	Name    string               `db:"name"`
	Status  job.TaskStatus       `db:"status"`
	Class   engines.FailureClass `db:"class"`
	Attempt int                  `db:"attempt"`
	Run     int                  `db:"run"`
	Returns int                  `db:"returns"` // retries and interruptions
	Results int                  `db:"results"` // files and summaries
}

func (w *world) leftovers(j *submitted) []leftover {
	var tasks []leftover
	w.must(w.f.db.Select(&tasks, `SELECT t.name, t.status, coalesce(d.failure_class, '') AS class, t.attempt, t.run,
		t.retries + t.interruptions AS returns,
			(SELECT count(*) FROM artifacts a WHERE a.task_id = t.id) + (d.summary IS NOT NULL)::int AS results
		FROM tasks t LEFT JOIN task_details d ON d.task_id = t.id WHERE t.job_id = $1 ORDER BY t.ordinal`, j.id))
	return tasks
}

// expectRetry says, from what the shards of threeStages are called, which tasks a retry runs again, and whether it may be asked
// for: something runs, and the job could succeed.
func expectRetry(tasks []leftover, scope scheduler.RetryScope) (again map[string]bool, possible bool) {
	again = map[string]bool{}
	newReceptor, newDock, anyDock, doomed := false, false, false, false
	for _, task := range tasks {
		dock, rank := strings.HasPrefix(task.Name, "dock"), task.Name == "rank"
		readsNew := dock && newReceptor || rank && newDock
		refused := !readsNew && task.Status == job.TaskFailed && task.Class == engines.UserInput
		renewed := readsNew || !refused && task.Status != job.TaskSucceeded
		if renewed || scope == scheduler.RetryAll && !refused {
			again[task.Name] = true
		}
		newReceptor = newReceptor || renewed && task.Name == "receptor"
		newDock = newDock || renewed && dock
		anyDock = anyDock || dock && !refused
		doomed = doomed || refused && (rank || task.Name == "receptor")
	}
	return again, anyDock && !doomed && len(again) > 0
}

// retry lets a user ask for a job again, also for one that has not ended, and looks at what that did.
func (w *world) retry() {
	if len(w.jobs) == 0 {
		return
	}
	j := pick(w, "job", w.jobs)
	tasks := w.leftovers(j)
	again := w.retryJob(j, tasks)
	for i, after := range w.leftovers(j) {
		want := tasks[i]
		if again[want.Name] {
			want = leftover{Name: want.Name, Status: job.TaskPending, Attempt: want.Attempt, Run: len(j.ended) + 1}
		}
		if after != want {
			w.t.Errorf("a retry left %+v, want %+v", after, want)
		}
	}
}

// retryBeside retries a job while leaders are at work, if the one picked has ended.
func (w *world) retryBeside() {
	if len(w.jobs) > 0 {
		if j := pick(w, "job", w.jobs); w.f.bill(j.id).Status.Terminal() {
			w.retryJob(j, w.leftovers(j))
		}
	}
}

// retryJob asks for a job again of which these tasks are left. It returns those that run again now, none after a refusal.
func (w *world) retryJob(j *submitted, tasks []leftover) (again map[string]bool) {
	scope := rapid.SampledFrom([]scheduler.RetryScope{scheduler.RetryFailed, scheduler.RetryFailed, scheduler.RetryAll}).Draw(w.t,
		"scope")
	before := w.f.bill(j.id)
	again, possible := expectRetry(tasks, scope)
	possible = possible && before.Status.Terminal()
	got, err := w.f.Retry(w.ctx, scheduler.RetryOrder{AccountID: j.account, JobID: j.id, Scope: scope})
	switch {
	case err == nil && possible:
		j.ended, j.cancelled = append(j.ended, lastRun{before, j.cancelled}), false
		if got.Attempt != len(j.ended)+1 {
			w.t.Errorf("retry began run %d, want %d", got.Attempt, len(j.ended)+1)
		}
		return again
	case fault.Is(err, fault.JobNotRetryable) && !possible, fault.Is(err, fault.InsufficientCredits) && possible &&
		j.account == w.accounts[2].id:
		return nil
	}
	w.t.Fatalf("retry of a job that is %s with %+v, scope %s: %+v, %v; possible: %v", before.Status, tasks, scope, got, err,
		possible)
	return nil
}
