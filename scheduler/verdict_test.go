package scheduler_test

import (
	"slices"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// verdict compares what the stores say with what the world knows.
func (w *world) verdict() {
	for _, violation := range w.f.violations() {
		w.t.Error(violation)
	}
	charged := map[string]int64{}
	for _, j := range w.jobs {
		charged[j.account] += w.verdictOn(j)
	}
	for _, c := range w.accounts {
		balance, err := w.f.ledger.Balance(w.ctx, w.f.db, c.id, w.clock)
		w.must(err)
		if left := c.pence - charged[c.id]; balance.AvailablePence != left || balance.HeldPence != 0 {
			w.t.Errorf("account has %d pence available and %d held, want %d and 0", balance.AvailablePence, balance.HeldPence, left)
		}
	}
}

// attemptRow is an attempt that was settled.
type attemptRow struct {
	Run     int    `db:"run"`
	TaskID  string `db:"task_id"`
	Attempt int    `db:"attempt"`
	Outcome string `db:"outcome"`
	Price   int64  `db:"charged_micropence"`

	StageIndex int `db:"stage_index"`
}

// taskOutcome is how a task ended.
type taskOutcome struct {
	ID      string         `db:"id"`
	Status  job.TaskStatus `db:"status"`
	Attempt int            `db:"attempt"`
	Run     int            `db:"run"`
	Files   int            `db:"files"` // of the attempt that counts
	Others  int            `db:"others"`
}

// verdictOn checks one job and returns its charge.
func (w *world) verdictOn(j *submitted) int64 {
	var settled []attemptRow
	w.must(w.f.db.Select(&settled, `SELECT a.run, a.task_id, a.attempt, a.outcome, a.charged_micropence, t.stage_index
		FROM task_attempts a JOIN tasks t ON t.id = a.task_id
		WHERE t.job_id = $1 ORDER BY a.task_id, a.attempt`, j.id))
	used, begun := map[int]billing.Micropence{}, map[int]bool{} // by run
	byTask := map[string][]attemptRow{}
	for i, a := range settled {
		want, billed := w.price(j, a)
		if !billed {
			want = w.keptPrice(j, a, w.nextBilled(j, settled[i+1:], a))
		}
		if billing.Micropence(a.Price) != want {
			w.t.Errorf("attempt %s.%d, %s: priced at %d micropence, want %d", a.TaskID, a.Attempt, a.Outcome, a.Price, want)
		}
		used[a.Run] += want
		begun[a.Run] = begun[a.Run] || want > 0 && a.StageIndex > 0
		byTask[a.TaskID] = append(byTask[a.TaskID], a)
	}
	got := w.f.bill(j.id)
	total := int64(0)
	for i, last := range append(slices.Clone(j.ended), lastRun{bill: got}) {
		var hold struct{ Held, Captured int64 }
		w.must(w.f.db.Get(&hold, `SELECT wallet_pence + monthly_pence AS held, captured_pence AS captured FROM holds
			WHERE job_id = $1 AND run = $2`, j.id, i+1))
		failedFor := func(class engines.FailureClass) bool {
			return last.Status == job.Failed && last.Class != nil && *last.Class == string(class)
		}
		want, err := w.f.Prices.Capture(billing.Accrual{Engine: "autodock-vina", Used: used[i+1], HoldPence: hold.Held,
			StartFeePaid:  total > 0,
			SystemFailure: failedFor(engines.System), InputFailure: failedFor(engines.UserInput) && !begun[i+1]})
		w.must(err)
		total += want
		if last.Charged == nil || hold.Captured != want || *last.Charged != total || last.Held-hold.Held != total-want {
			w.t.Errorf("job %s, run %d, %s: charged %d of %d pence and %+v in all, want %d and %d", j.id, i+1, last.Status,
				hold.Captured, hold.Held, last.bill, want, total)
		}
	}
	if n := w.f.count(`SELECT count(*) FROM holds WHERE job_id = $1`, j.id); n != len(j.ended)+1 {
		w.t.Errorf("job %s: %d holds for %d runs", j.id, n, len(j.ended)+1)
	}
	w.verdictOnStatus(j, got.Status, byTask)
	return total
}

// verdictOnStatus checks that a job's state follows from its tasks', theirs from the attempts, and that it moved legally.
func (w *world) verdictOnStatus(j *submitted, status job.Status, settled map[string][]attemptRow) {
	var tasks []taskOutcome
	w.must(w.f.db.Select(&tasks, `SELECT t.id, t.status, t.attempt, t.run,
			count(a.id) FILTER (WHERE a.storage_key LIKE '%/' || t.id || '/' || t.attempt || '/%') AS files,
			count(a.id) FILTER (WHERE a.storage_key NOT LIKE '%/' || t.id || '/' || t.attempt || '/%') AS others
		FROM tasks t LEFT JOIN artifacts a ON a.task_id = t.id WHERE t.job_id = $1 GROUP BY t.id ORDER BY t.id`, j.id))
	ended := map[job.TaskStatus]int{}
	items := false
	for _, task := range tasks {
		ended[task.Status]++
		w.verdictOnTask(task, settled[task.ID])
		if r := w.runs[queue.Ref{TaskID: task.ID, Attempt: task.Attempt}]; task.Status == job.TaskSucceeded && r != nil {
			items = items || len(r.end.Result.Failures) > 0
		}
	}
	all := len(tasks)
	switch {
	case j.cancelled != (status == job.Cancelled):
		w.t.Errorf("job is %s; cancelled by its owner: %v", status, j.cancelled)
	case (status == job.Completed) != (ended[job.TaskSucceeded] == all && !items && !j.cancelled):
		w.t.Errorf("job is %s with %v of %d tasks, failed items: %v", status, ended, all, items)
	case status == job.Failed && ended[job.TaskFailed] == 0:
		w.t.Errorf("job is %s and no task failed: %v", status, ended)
	}
	var history []job.Status
	w.must(w.f.db.Select(&history, `SELECT status FROM job_status_history WHERE job_id = $1 ORDER BY seq`, j.id))
	retries := 0
	for i := 1; i < len(history); i++ {
		if retried := history[i-1].CanRetry(history[i]); retried {
			retries++
		} else if !history[i-1].CanMove(history[i]) {
			w.t.Errorf("job moved %v", history)
		}
	}
	if retries != len(j.ended) {
		w.t.Errorf("job was retried %d times, its history is %v", len(j.ended), history)
	}
	if history[len(history)-1] != status {
		w.t.Errorf("job is %s, its history %v", status, history)
	}
}

// verdictOnTask checks that every attempt was settled but those given back and the last of each run, which may never have started,
// and that exactly the current attempt of a task that succeeded is its success.
func (w *world) verdictOnTask(task taskOutcome, settled []attemptRow) {
	counted, before := 0, attemptRow{Run: 1}
	for _, a := range settled {
		unsettled := a.Attempt - before.Attempt - 1
		if unsettled < 0 || unsettled > a.Run-before.Run+w.givenBack(task.ID, before.Attempt, a.Attempt) ||
			a.Attempt > task.Attempt || a.Run > task.Run {
			w.t.Errorf("task %s in attempt %d, run %d has settled attempts %+v", task.ID, task.Attempt, task.Run, settled)
		}
		if before.Outcome == "SUCCEEDED" && before.Run == a.Run {
			w.t.Errorf("task %s was started again in run %d, in which it had succeeded: %+v", task.ID, a.Run, settled)
		}
		if before = a; a.Outcome == "SUCCEEDED" && a.Run == task.Run {
			counted++
			if a.Attempt != task.Attempt {
				w.t.Errorf("task %s in attempt %d counts the success of attempt %d", task.ID, task.Attempt, a.Attempt)
			}
		}
	}
	if task.Attempt-before.Attempt > 1+task.Run-before.Run+w.givenBack(task.ID, before.Attempt, task.Attempt) {
		w.t.Errorf("task %s in attempt %d has only the settled attempts %+v", task.ID, task.Attempt, settled)
	}
	succeeded := task.Status == job.TaskSucceeded
	if succeeded != (counted == 1) || succeeded != (task.Files == 1) || task.Others != 0 {
		w.t.Errorf("task %s is %s with %d successes, %d files and %d foreign ones", task.ID, task.Status, counted, task.Files,
			task.Others)
	}
	if task.Attempt > task.Run*(1+job.MaxRetries+job.MaxInterruptions)+w.givenBack(task.ID, 0, task.Attempt) {
		w.t.Errorf("task %s was started %d times", task.ID, task.Attempt)
	}
}

// price is what an attempt costs that is charged as a whole, from what its worker said and the rules of billing. It checks that the
// worker said what was settled.
func (w *world) price(j *submitted, a attemptRow) (price billing.Micropence, billed bool) {
	r := w.runs[queue.Ref{TaskID: a.TaskID, Attempt: a.Attempt}]
	if a.Outcome == "LOST" {
		return 0, false
	}
	if r == nil || r.end == nil {
		w.t.Errorf("attempt %s.%d was settled as %s, and nobody has said so", a.TaskID, a.Attempt, a.Outcome)
		return 0, false
	}
	bill := false
	switch said := r.end; {
	case a.Outcome == "SUCCEEDED" && said.Kind == queue.Succeeded && !r.broken:
		bill = true
	case a.Outcome == "FAILED" && r.broken, a.Outcome == "FAILED" && said.Kind == queue.Cancelled:
	case a.Outcome == "FAILED" && said.Kind == queue.Failed:
		bill = said.Failure.Class == engines.UserInput || said.Failure.Class == engines.Timeout
	case a.Outcome == "CANCELLED" && said.Kind == queue.Cancelled:
		bill = j.cancelledIn(a.Run)
	default:
		w.t.Errorf("attempt %s.%d was settled as %s, its worker said %s", a.TaskID, a.Attempt, a.Outcome, said.Kind)
	}
	if !bill {
		return 0, false
	}
	return w.meter(j, r, r.end.Usage), true
}
