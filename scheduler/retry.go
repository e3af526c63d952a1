package scheduler

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/idempotency"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// RetryScope says which tasks of a job a retry runs again.
type RetryScope string

// A task that failed for its user's input would fail again and is left as it is in either scope, unless something that it reads
// is made anew.
const (
	// RetryFailed is the tasks that failed or were cancelled, and every later one that reads what they make. What else is
	// finished is kept, and not charged again.
	RetryFailed RetryScope = "failed"
	// RetryAll is every task.
	RetryAll RetryScope = "all"
)

// RetryScopes lists every scope.
var RetryScopes = []RetryScope{RetryFailed, RetryAll}

// retryOperation is the name under which idempotency keys of retries live.
const retryOperation = "jobs.retry"

// RetryOrder asks for a retry.
type RetryOrder struct {
	AccountID, JobID string
	Scope            RetryScope
	IdempotencyKey   string // "" for none
	RequestID        string
}

// claim is the order as its key names it.
func (o RetryOrder) claim() idempotency.Claim {
	request := fmt.Appendf(nil, `{"jobId":%q,"scope":%q}`, o.JobID, o.Scope)
	return idempotency.Claim{AccountID: o.AccountID, Operation: retryOperation, Key: o.IdempotencyKey, Request: request}
}

// Retried is the answer to a retry. The pence are those of the run that it began.
type Retried struct {
	JobID          string     `json:"jobId"`
	Status         job.Status `json:"status"`
	Attempt        int        `json:"attempt"` // number of the run; the submission's is 1
	Tasks          int        `json:"tasks"`   // that run again
	EstimatedPence int64      `json:"estimatedPence"`
	HeldPence      int64      `json:"heldPence"`
	Currency       string     `json:"currency"`
	Replayed       bool       `json:"-"` // an earlier order with the same idempotency key began the run
}

// Retry runs a job that has ended again under its own id: a further run with a hold and a charge of its own. The results of the
// tasks that run again are forgotten at once, so that a job never shows those of two runs of one task; what else it has stays.
// Of several calls at the same moment one begins a run, and the others find a job that has not ended. With an idempotency key it
// may be called again and answers with the first answer, whatever has become of the job.
//
// Errors: fault.IdempotencyKeyReused for the same key with another order; fault.IdempotencyInProgress while the first call with the
// key is still running; fault.Validation for an unknown scope; fault.NotFound for an unknown job or another account's;
// fault.JobNotRetryable for one that has not ended, has nothing to run again, or cannot succeed with the input that it has;
// fault.InsufficientCredits; fault.UnsupportedSimulator when its engine is not offered any more. After each of them nothing has
// changed.
func (s *Scheduler) Retry(ctx context.Context, order RetryOrder) (Retried, error) {
	if !slices.Contains(RetryScopes, order.Scope) {
		return Retried{}, fault.New(fault.Validation, "scope: must be %q or %q", RetryFailed, RetryAll)
	}
	if answer, found, err := s.retriedBefore(ctx, order); err != nil || found {
		return answer, err
	}
	answer, err := s.retry(ctx, order)
	if fault.Is(err, fault.JobNotRetryable) { // the same order may have begun the run a moment ago
		if first, found, again := s.retriedBefore(ctx, order); again == nil && found {
			return first, nil
		}
	}
	return answer, err
}

// retriedBefore is the answer that an earlier order with the same key was given.
func (s *Scheduler) retriedBefore(ctx context.Context, order RetryOrder) (answer Retried, found bool, err error) {
	if order.IdempotencyKey == "" {
		return Retried{}, false, nil
	}
	stored, err := s.store.FindAnswer(ctx, order.claim(), s.Now().UTC())
	if err != nil || stored == nil {
		return Retried{}, false, err
	}
	answer, err = retriedFirst(stored)
	return answer, err == nil, err
}

// retriedFirst is a stored answer as later calls get it.
func retriedFirst(stored []byte) (Retried, error) {
	var first Retried
	if err := json.Unmarshal(stored, &first); err != nil {
		return Retried{}, fmt.Errorf("decode the stored answer to a retry: %w", err)
	}
	first.Replayed = true
	return first, nil
}

// retry is Retry for an order that has not been carried out before.
func (s *Scheduler) retry(ctx context.Context, order RetryOrder) (answer Retried, err error) {
	var owner *JobRow
	var tasks []EndedTask
	err = s.change(ctx, []string{order.JobID}, func(c *change) error {
		owner = c.jobs[order.JobID]
		if owner == nil || owner.AccountID != order.AccountID {
			return fault.New(fault.NotFound, "job: no job of this account has the id given")
		}
		if err := s.mayRetry(owner); err != nil {
			return err
		}
		if err := hasInputs(ctx, c, owner.ID); err != nil {
			return err
		}
		all, err := c.tx.EndedTasks(ctx, owner.ID)
		if err != nil {
			return err
		}
		if tasks, err = tasksToRetry(all, order.Scope); err != nil {
			return err
		}
		quote, err := s.quoteRetry(owner, tasks)
		if err != nil {
			return err
		}
		answer = Retried{JobID: owner.ID, Status: job.Submitted, Attempt: owner.Run + 1, Tasks: len(tasks),
			EstimatedPence: quote.EstimatedPence, HeldPence: quote.HoldPence, Currency: quote.Currency}
		if err := claimRetry(ctx, c, order, &answer); err != nil || answer.Replayed {
			return err
		}
		if err := c.tx.ForgetCheckpoints(ctx, startOver(tasks, order.Scope)...); err != nil {
			return err
		}
		reason := fmt.Sprintf("retried: %d of %d tasks run again", len(tasks), len(all))
		return s.runAgain(ctx, c, owner, tasks, quote, reason, order.RequestID)
	})
	if err != nil {
		return Retried{}, err
	}
	if answer.Replayed {
		return answer, nil
	}
	s.Metrics.retriedJobs.WithLabelValues(owner.Simulator.String, string(order.Scope)).Inc()
	s.Log.Info("job retried", "job", order.JobID, "account", order.AccountID, "request", order.RequestID, "run", owner.Run,
		"scope", order.Scope, "tasks", len(tasks), "held_pence", answer.HeldPence)
	s.announce(ctx)
	return answer, nil
}

// claimRetry takes the order's key, where it has one, with the answer that it will give. When the key is taken, answer becomes what
// was given then.
func claimRetry(ctx context.Context, c *change, order RetryOrder, answer *Retried) error {
	if order.IdempotencyKey == "" {
		return nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encode the answer to a retry: %w", err)
	}
	stored, err := c.tx.Claim(ctx, order.claim(), text, c.now)
	if err == nil && stored != nil {
		*answer, err = retriedFirst(stored)
	}
	return err
}

// mayRetry says whether a job as such can be run again.
func (s *Scheduler) mayRetry(owner *JobRow) error {
	if !owner.Status.CanRetry(job.Submitted) {
		return fault.New(fault.JobNotRetryable, "job: it is %s; it can be retried when it has ended", owner.Status)
	}
	if owner.FilesDeletedAt.Valid {
		return fault.New(fault.JobNotRetryable, "job: its files were deleted on %s, and its input may be among them; submit it "+
			"as a new job",
			owner.FilesDeletedAt.Time.UTC().Format(time.RFC3339))
	}
	if owner.Run >= job.MaxRuns {
		return fault.New(fault.JobNotRetryable, "job: it has been run %d times; submit it as a new job", owner.Run)
	}
	if _, offered := s.Engines.Lookup(owner.Simulator.String); !offered {
		return fault.New(fault.UnsupportedSimulator, "job: its simulator %s is not offered any more", owner.Simulator.String)
	}
	return nil
}

// hasInputs refuses a job whose input was deleted with the job that had made it.
func hasInputs(ctx context.Context, c *change, jobID string) error {
	lost, err := c.tx.LostInput(ctx, jobID)
	if err != nil || lost == "" {
		return err
	}
	return fault.New(fault.JobNotRetryable, "job: it reads %s, which was deleted with the files of the job that had made it; "+
		"submit a new job with another input", lost)
}

// quoteRetry prices the tasks that run again, as the submission was priced: by what was expected of them. The start fee is not
// due again once a run has been charged.
func (s *Scheduler) quoteRetry(owner *JobRow, tasks []EndedTask) (billing.Quote, error) {
	engine, _ := s.Engines.Lookup(owner.Simulator.String) // mayRetry has found it
	request := billing.QuoteRequest{Engine: owner.Simulator.String, Hardware: engine.Spec().Hardware,
		StartFeePaid: owner.ChargedPence.Int64 > 0}
	if owner.SoftwareFee > 0 {
		request.Software = &billing.SoftwarePrice{PencePerCoreHour: billing.Micropence(owner.SoftwareFee)}
	}
	expected := make([]expectation, len(tasks))
	for i, task := range tasks {
		expected[i] = expectation{queue.Class(task.Queue), task.ExpectedCPUSeconds, task.MostCPUSeconds, task.ExpectedGPUSeconds}
	}
	return s.price(request, expected, nil)
}

// runAgain begins a job's next run with the tasks given. The roll-up that follows every change finds the job as if it had just
// been submitted, with its other tasks ended already.
func (s *Scheduler) runAgain(
	ctx context.Context, c *change, owner *JobRow, tasks []EndedTask, quote billing.Quote, reason, requestID string,
) error {
	if err := s.Ledger.HoldIn(ctx, c.tx, owner.AccountID, owner.ID, owner.Run+1, quote.HoldPence, c.now); err != nil {
		return err
	}
	owner.restart(tasks[0].StageIndex, quote, requestID) // tasks are in the order of the plan
	if err := c.tx.RestartJob(ctx, owner, c.now); err != nil {
		return err
	}
	if err := c.restartTasks(ctx, owner, tasks); err != nil {
		return err
	}
	names := make([]string, len(tasks))
	for i, task := range tasks {
		names[i] = task.Name
	}
	if err := c.tx.Recorder(owner.Simulator.String).Restarted(ctx, owner.ID, names, c.now); err != nil {
		return err
	}
	return c.tellStatus(ctx, owner, reason)
}

// restart makes a job that has ended one that has just been submitted, but for what it has cost.
func (r *JobRow) restart(stageIndex int, quote billing.Quote, requestID string) {
	r.SettledPence = r.ChargedPence.Int64
	r.EstimatedPence, r.HeldPence = r.SettledPence+quote.EstimatedPence, r.SettledPence+quote.HoldPence
	r.AccruedMicropence = int64(billing.FromPence(r.SettledPence))
	r.ChargedPence = sql.NullInt64{}

	r.Run++
	r.Status, r.StageIndex, r.RequestID = job.Submitted, stageIndex, requestID
	r.StatusReason, r.ErrorCode, r.ErrorMessage, r.FailureClass, r.ErrorRetryable = sql.NullString{}, sql.NullString{},
		sql.NullString{}, sql.NullString{}, false
	r.Stopping, r.Overspent, r.CancelRequestedAt, r.CancelReason = false, false, sql.NullTime{}, sql.NullString{}
	r.StartedAt, r.FinishedAt = sql.NullTime{}, sql.NullTime{}
}

// refused reports whether a task failed for its user's input.
func (t EndedTask) refused() bool { return t.Status == job.TaskFailed && t.Class == engines.UserInput }

// tasksToRetry chooses, of all tasks of a job in the order of its plan, those that a retry runs again: at least one. Errors:
// fault.JobNotRetryable when there is none, or when the job would fail again whatever became of them.
func tasksToRetry(all []EndedTask, scope RetryScope) ([]EndedTask, error) {
	again := chosen(all, scope)
	culprit := hopeless(all, again)
	if culprit < 0 && !slices.Contains(again, true) {
		culprit = slices.IndexFunc(all, EndedTask.refused)
	}
	if culprit >= 0 {
		return nil, fault.New(fault.JobNotRetryable, "job: its task %s failed for what it was given and would fail again (%s): "+
			"submit a corrected request",
			all[culprit].Name, all[culprit].Message)
	}
	var tasks []EndedTask
	for i, task := range all {
		if again[i] {
			tasks = append(tasks, task)
		}
	}
	if len(tasks) == 0 {
		return nil, fault.New(fault.JobNotRetryable, "scope: no task of the job failed or was cancelled; %q runs every task again",
			RetryAll)
	}
	return tasks, nil
}

// chosen says which tasks run again. What is made by a task that did not succeed is new to whoever reads it, and so on down the
// plan; running a task again that succeeded gives what it gave before. Producers come before their readers (checkPlan), so one
// pass finds them all.
func chosen(all []EndedTask, scope RetryScope) []bool {
	type shard struct{ stage, name string } // the name "" stands for any shard of the stage
	renewed := map[shard]bool{}
	again := make([]bool, len(all))
	for i, task := range all {
		unfinished := task.Status != job.TaskSucceeded && !task.refused()
		readsNew := slices.ContainsFunc(task.Sources, func(f engines.From) bool { return renewed[shard{f.Stage, f.Shard}] })
		if unfinished || readsNew {
			again[i] = true
			renewed[shard{task.Stage, task.Name}], renewed[shard{task.Stage, ""}] = true, true
		}
		if scope == RetryAll && !task.refused() {
			again[i] = true
		}
	}
	return again
}

// hopeless returns the index of a failure that stays and with which the job fails again: an essential task's, or that of a
// stage in which nothing succeeds. It is -1 when there is none.
func hopeless(all []EndedTask, again []bool) int {
	hope := map[int]bool{} // by stage
	for i, task := range all {
		if again[i] || task.Status == job.TaskSucceeded {
			hope[task.StageIndex] = true
		}
	}
	for i, task := range all {
		if !again[i] && task.Status == job.TaskFailed && task.Essential || !hope[task.StageIndex] {
			return i
		}
	}
	return -1
}
