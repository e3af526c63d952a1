package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// collectBatch bounds the events applied in one transaction.
	collectBatch = 200
	// collectBlock is how long Redis is asked to wait for an event before the loop looks at its context again.
	collectBlock = time.Second
	// retryBackoff is the pause before the first retry of a task that its program failed; it doubles with each.
	retryBackoff = 2 * time.Second
)

// collectLoop applies what workers report, in batches, and acknowledges after the commit.
func (s *Scheduler) collectLoop(ctx context.Context) {
	for ctx.Err() == nil {
		deliveries, err := s.Queue.Receive(ctx, collectBatch, collectBlock)
		if err == nil && len(deliveries) > 0 {
			err = s.collect(ctx, deliveries)
		}
		s.logLoopError(ctx, "collect", err)
	}
}

// collect applies a batch in one transaction. When that fails the events are applied one by one, so that a single bad one
// holds up nobody else; what could not be applied stays in the stream.
func (s *Scheduler) collect(ctx context.Context, deliveries []queue.Delivery) error {
	err := s.apply(ctx, deliveries)
	if err == nil {
		return s.finishCollect(ctx, deliveries)
	}
	if len(deliveries) == 1 {
		return err
	}
	errs := []error{err}
	for _, d := range deliveries {
		if err := s.collect(ctx, []queue.Delivery{d}); err != nil {
			errs = append(errs, fmt.Errorf("event %s %s of %s: %w", d.ID, d.Kind, d.Ref, err))
		}
	}
	if len(errs) == 1 {
		return nil
	}
	return errors.Join(errs...)
}

func (s *Scheduler) finishCollect(ctx context.Context, deliveries []queue.Delivery) error {
	for _, d := range deliveries {
		s.Metrics.observe(d.Event)
	}
	s.wakeUp()
	return s.Queue.Acknowledge(ctx, deliveries)
}

// apply commits a batch of events: task states, results, usage, and everything that follows for their jobs. Applying an event
// again, or one of a fenced attempt, changes nothing.
func (s *Scheduler) apply(ctx context.Context, deliveries []queue.Delivery) error {
	return postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		now := s.Now().UTC()
		var jobIDs []string
		for _, d := range deliveries {
			if d.ID != "" && !slices.Contains(jobIDs, d.JobID) {
				jobIDs = append(jobIDs, d.JobID)
			}
		}
		jobs, err := lockJobs(ctx, tx, jobIDs)
		if err != nil {
			return err
		}
		for _, d := range deliveries {
			if owner := jobs[d.JobID]; owner != nil {
				if err := s.applyEvent(ctx, tx, owner, d.Event, now); err != nil {
					return err
				}
			}
		}
		return s.rollUpAll(ctx, tx, jobs, now)
	})
}

// applyEvent applies one event under its job's lock. The attempt is the fence: an event of any but the current attempt, or of
// a task that has ended, is dropped.
func (s *Scheduler) applyEvent(ctx context.Context, tx *sqlx.Tx, owner *jobRow, event queue.Event, now time.Time) error {
	task, err := readTask(ctx, tx, owner.ID, event.Ref.TaskID)
	if err != nil {
		return err
	}
	if task == nil || task.Attempt != event.Ref.Attempt || task.Status.Terminal() || task.Status == job.TaskPending {
		s.Metrics.fenced.Inc()
		s.Log.Info("dropped a late report", "job", event.JobID, "task", event.Ref.TaskID, "attempt", event.Ref.Attempt, "kind", event.Kind)
		return nil
	}
	switch event.Kind {
	case queue.Started:
		return startTask(ctx, tx, *task, event, now)
	case queue.Succeeded:
		return s.applySuccess(ctx, tx, owner, *task, event, now)
	case queue.Failed:
		return s.applyFailure(ctx, tx, owner, *task, event, now)
	case queue.Cancelled:
		return s.applyCancelled(ctx, tx, owner, *task, event, now)
	}
	s.Log.Warn("dropped an event of unknown kind", "kind", event.Kind)
	return nil
}

func (s *Scheduler) applySuccess(ctx context.Context, tx *sqlx.Tx, owner *jobRow, task taskRow, event queue.Event, now time.Time) error {
	if event.Result == nil {
		return fmt.Errorf("event %s: a success without a result", event.ID)
	}
	if err := s.settleAttempt(ctx, tx, owner, task, event, "SUCCEEDED", true, now); err != nil {
		return err
	}
	if err := insertArtifacts(ctx, tx, task, append(event.Result.Artifacts, event.Logs...), now); err != nil {
		return err
	}
	if err := storeResult(ctx, tx, task.ID, *event.Result); err != nil {
		return err
	}
	return endTask(ctx, tx, task.ID, job.TaskSucceeded, nil, now)
}

// applyFailure decides between another attempt and the end of the task.
func (s *Scheduler) applyFailure(ctx context.Context, tx *sqlx.Tx, owner *jobRow, task taskRow, event queue.Event, now time.Time) error {
	failure := event.Failure
	if failure == nil {
		failure = &engines.Failure{Class: engines.System, Code: "NO_REASON", Message: "the worker gave no reason"}
	}
	if err := s.settleAttempt(ctx, tx, owner, task, event, "FAILED", billable(failure.Class), now); err != nil {
		return err
	}
	switch next := afterFailure(failure.Class, task.Retries, task.Interruptions, owner.Status); next {
	case again, againFree:
		s.Metrics.retried.WithLabelValues(task.Queue, string(failure.Class)).Inc()
		s.Log.Warn("attempt failed; trying again", "job", owner.ID, "task", task.ID, "attempt", task.Attempt, "class", failure.Class, "code", failure.Code, "message", failure.Message)
		return returnTask(ctx, tx, task.ID, next == again, now.Add(retryBackoff<<task.Retries))
	default:
		s.Log.Warn("task failed", "job", owner.ID, "task", task.ID, "attempt", task.Attempt, "class", failure.Class, "code", failure.Code, "message", failure.Message)
		if err := insertArtifacts(ctx, tx, task, event.Logs, now); err != nil {
			return err
		}
		return endTask(ctx, tx, task.ID, job.TaskFailed, failure, now)
	}
}

func (s *Scheduler) applyCancelled(ctx context.Context, tx *sqlx.Tx, owner *jobRow, task taskRow, event queue.Event, now time.Time) error {
	if owner.Status != job.Cancelling { // stopped for another reason, such as a stop order that outlived its cause
		return returnTask(ctx, tx, task.ID, false, now)
	}
	if err := s.settleAttempt(ctx, tx, owner, task, event, "CANCELLED", true, now); err != nil {
		return err
	}
	return endTask(ctx, tx, task.ID, job.TaskCancelled, nil, now)
}

// settleAttempt records what an attempt used and adds its price to the job's bill when the attempt is billable.
func (s *Scheduler) settleAttempt(ctx context.Context, tx *sqlx.Tx, owner *jobRow, task taskRow, event queue.Event, outcome string, bill bool, now time.Time) error {
	price := billing.Micropence(0)
	if bill {
		spec, ok := s.Engines.Lookup(owner.Simulator.String)
		if !ok {
			return fmt.Errorf("job %s: engine %q is not in this deployment", owner.ID, owner.Simulator.String)
		}
		var err error
		price, err = s.Prices.Meter(billing.Usage{Engine: spec.Spec().ID, Hardware: spec.Spec().Hardware,
			CPUMicros: event.Usage.CPUMicroseconds, OutputBytes: event.Usage.BytesOut})
		if err != nil {
			return fmt.Errorf("meter attempt %s: %w", event.Ref, err)
		}
	}
	owner.AccruedMicropence += int64(price)
	return insertAttempt(ctx, tx, task, event, outcome, price, now)
}

// rollUpAll brings every locked job up to date with its tasks, account by account in the order of their ids: settling a bill
// locks the account.
func (s *Scheduler) rollUpAll(ctx context.Context, tx *sqlx.Tx, jobs map[string]*jobRow, now time.Time) error {
	byAccount := func(a, b *jobRow) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), cmp.Compare(a.ID, b.ID))
	}
	for _, owner := range slices.SortedFunc(maps.Values(jobs), byAccount) {
		if err := s.rollUp(ctx, tx, owner, now); err != nil {
			return fmt.Errorf("roll up %s: %w", owner.ID, err)
		}
	}
	return nil
}

// next is what happens to a task after a failed attempt.
type next int

const (
	end       next = iota
	again          // as a retry that counts
	againFree      // as an interruption, which does not
)

// afterFailure says whether a failed attempt is tried again.
func afterFailure(class engines.FailureClass, retries, interruptions int, status job.Status) next {
	switch {
	case status == job.Cancelling:
		return end
	case class == engines.System && interruptions < job.MaxInterruptions:
		return againFree
	case class == engines.Executor && retries < job.MaxRetries:
		return again
	}
	return end
}

// billable says whether an attempt that failed for this reason is charged: the user's own mistakes and limits are, the
// fabric's and the program's are not.
func billable(class engines.FailureClass) bool {
	return class == engines.UserInput || class == engines.Timeout || class == engines.CostLimit
}

// taskEvent is the body of a "task" event for watchers.
func taskEvent(task taskRow, status job.TaskStatus, failure *engines.Failure) (json.RawMessage, error) {
	body := map[string]any{"taskIndex": task.Ordinal, "stage": task.Stage, "name": task.Name, "status": status, "attempt": task.Attempt}
	if failure != nil {
		body["error"] = failure
	}
	return json.Marshal(body)
}
