package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// collectBatch bounds the events applied in one transaction.
	collectBatch = 200
	// collectBlock is how long Redis is asked to wait for an event before the loop looks at its context again.
	collectBlock = time.Second
	// retryBackoff is the pause before the first retry of a task; it doubles with each up to maxBackoff, so that a store which is
	// away, or a worker that fails everything at once, does not use up a task's attempts within seconds.
	retryBackoff = 2 * time.Second
	maxBackoff   = time.Minute
)

// UnusableError says that an event's content can never be stored, however often it is delivered.
type UnusableError struct{ Cause error }

func (e *UnusableError) Error() string { return "unusable report: " + e.Cause.Error() }
func (e *UnusableError) Unwrap() error { return e.Cause }

// collectLoop applies what workers report, in batches, and acknowledges after the commit.
func (s *Scheduler) collectLoop(ctx context.Context) {
	for ctx.Err() == nil {
		s.logLoopError(ctx, "collect", s.collectOnce(ctx, collectBlock))
	}
}

// collectOnce waits up to block for events (not at all when it is negative) and applies a batch of them.
func (s *Scheduler) collectOnce(ctx context.Context, block time.Duration) error {
	deliveries, err := s.Queue.Receive(ctx, collectBatch, block)
	if err != nil {
		return err
	}
	var tasks, repeats []queue.Delivery
	for i := range deliveries {
		if isRepeat(deliveries[i].Ref.TaskID) && s.repeats != nil {
			repeats = append(repeats, deliveries[i])
		} else {
			tasks = append(tasks, deliveries[i])
		}
	}
	if len(tasks) > 0 {
		err = s.collect(ctx, tasks)
	}
	return errors.Join(err, s.collectRepeats(ctx, repeats))
}

// collect applies a batch in one transaction. When that fails the events are applied one by one, so that a single bad one
// holds up nobody else; what could not be applied stays in the stream.
func (s *Scheduler) collect(ctx context.Context, deliveries []queue.Delivery) error {
	err := s.apply(ctx, deliveries)
	if err == nil {
		return s.finishCollect(ctx, deliveries)
	}
	if len(deliveries) == 1 {
		return s.collectUnusable(ctx, deliveries, err)
	}
	var errs []error
	for i := range deliveries {
		if err := s.collect(ctx, deliveries[i:i+1]); err != nil {
			errs = append(errs, fmt.Errorf("event %s %s of %s: %w", deliveries[i].ID, deliveries[i].Kind, deliveries[i].Ref, err))
		}
	}
	return errors.Join(errs...)
}

// collectUnusable replaces an event that can never be stored by the failure of its attempt: otherwise it would lie at the head
// of the stream, and its job would stay open, for ever.
func (s *Scheduler) collectUnusable(ctx context.Context, delivery []queue.Delivery, cause error) error {
	var unusable *UnusableError
	if !errors.As(cause, &unusable) {
		return cause
	}
	event := &delivery[0].Event
	s.Log.Error("report cannot be stored; the attempt counts as failed", "job", event.JobID, "attempt", event.Ref, "worker",
		event.WorkerID, "kind", event.Kind, "error", cause)
	class := engines.Executor
	if event.Failure != nil {
		class = event.Failure.Class
	}
	failed := delivery[0] // with its proof
	failed.Event = queue.Event{ID: event.ID, Kind: queue.Failed, Ref: event.Ref, JobID: event.JobID, Engine: event.Engine,
		Failure: &engines.Failure{Class: class, Code: "REPORT_UNUSABLE",
			Message: "the task ended, but what it reported cannot be stored"}}
	if err := s.apply(ctx, []queue.Delivery{failed}); err != nil {
		return err
	}
	return s.finishCollect(ctx, delivery)
}

// finishCollect acknowledges what has been committed, also when the leader is just being stopped.
func (s *Scheduler) finishCollect(ctx context.Context, deliveries []queue.Delivery) error {
	s.wakeUp()
	handOver, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverGrace)
	defer cancel()
	return s.Queue.Acknowledge(handOver, deliveries)
}

// apply commits a batch of events: task states, results, usage, and everything that follows for their jobs. Applying an event
// again, or one of a fenced attempt, changes nothing.
func (s *Scheduler) apply(ctx context.Context, deliveries []queue.Delivery) error {
	var jobIDs, taskIDs []string
	for i := range deliveries {
		if event := deliveries[i].Event; nameable(event) {
			jobIDs, taskIDs = append(jobIDs, event.JobID), append(taskIDs, event.Ref.TaskID)
		}
	}
	slices.Sort(jobIDs)
	return s.change(ctx, slices.Compact(jobIDs), func(c *change) error {
		if err := c.tx.ReadAhead(ctx, sortedKeys(c.jobs), taskIDs); err != nil {
			return err
		}
		if err := s.doubt(ctx, c, deliveries); err != nil {
			return err
		}
		for i := range deliveries {
			if err := s.applyEvent(ctx, c, &deliveries[i]); err != nil {
				return err
			}
		}
		if err := c.tx.Send(ctx); err != nil {
			return unusableIfRefused(err)
		}
		c.then(func(context.Context) { s.discard(c.tx.Dropped()...) })
		return nil
	})
}

// applyEvent applies one event under its job's lock. The attempt is the fence: an event of an unknown task, of any but the
// current attempt, or of a task that has ended is dropped. So is one that was not sent by who has claimed the attempt.
func (s *Scheduler) applyEvent(ctx context.Context, c *change, delivery *queue.Delivery) error {
	event := delivery.Event
	var task *TaskRow
	owner := c.jobs[event.JobID]
	if owner != nil && nameable(event) {
		var err error
		if task, err = c.tx.ReadTask(ctx, owner.ID, event.Ref.TaskID); err != nil {
			return err
		}
	}
	if task == nil || task.Attempt != event.Ref.Attempt || task.Status.Terminal() || task.Status == job.TaskPending {
		c.then(func(context.Context) {
			s.Metrics.fenced.Inc()
			s.Log.Info("dropped a late report", "job", event.JobID, "task", event.Ref.TaskID, "attempt", event.Ref.Attempt, "kind",
				event.Kind)
		})
		return nil
	}
	if !delivery.ProvenBy(task.Witness) {
		c.then(func(context.Context) {
			delivery.Disown() // or whose worker it pretends to be of would take it for its own
			s.Metrics.forged.WithLabelValues(forgedReport).Inc()
			s.Log.Warn("dropped a report that proves no claim", "job", event.JobID, "task", event.Ref.TaskID, "attempt",
				event.Ref.Attempt, "kind", event.Kind, "worker", event.WorkerID)
		})
		return nil
	}
	event.Usage = s.believe(c, *task, event)
	if err := s.applyCurrent(ctx, c, owner, *task, event); err != nil {
		return unusableIfRefused(err)
	}
	c.then(func(context.Context) {
		s.Metrics.observe(event)
		s.fleet.ended(event)
	})
	return nil
}

// nameable tells whether Postgres can be asked for an event's job and task: a text with a NUL is an error there, and names
// nothing here.
func nameable(event queue.Event) bool { return !strings.Contains(event.JobID+event.Ref.TaskID, "\x00") }

// applyCurrent applies an event of a task's current attempt.
func (s *Scheduler) applyCurrent(ctx context.Context, c *change, owner *JobRow, task TaskRow, event queue.Event) error {
	if event.Redone {
		if err := c.tx.ForgetWorkBefore(ctx, task); err != nil {
			return err
		}
	}
	switch event.Kind {
	case queue.Started:
		return c.startTask(ctx, task, event.WorkerID)
	case queue.Checkpointed:
		return s.applyCheckpoints(ctx, c, owner, task, event)
	case queue.Succeeded:
		return s.applySuccess(ctx, c, owner, task, event)
	case queue.Failed:
		return s.applyFailure(ctx, c, owner, task, event)
	case queue.Cancelled:
		return s.applyCancelled(ctx, c, owner, task, event)
	}
	return &UnusableError{fmt.Errorf("unknown kind %q", event.Kind)}
}

// unusableIfRefused marks an error that says that a report can never be kept: the store does not take a value (a NUL in a text, a
// storage key that is taken), or what should be a document of the engine's is none to the job's recorder.
func unusableIfRefused(err error) error {
	if err == nil {
		return nil
	}
	var torn *json.SyntaxError
	var other *json.UnmarshalTypeError
	if isRefused(err) || errors.As(err, &torn) || errors.As(err, &other) {
		return &UnusableError{err}
	}
	return err
}

func (s *Scheduler) applySuccess(ctx context.Context, c *change, owner *JobRow, task TaskRow, event queue.Event) error {
	if event.Result == nil {
		return &UnusableError{errors.New("a success without a result")}
	}
	reused, err := s.reusedBy(ctx, c, task, event)
	if err != nil {
		return err
	}
	if reused != nil { // whatever its worker says that copying took
		event.Usage = queue.Usage{}
	}
	if err := s.settleAttempt(ctx, c, owner, task, event, "SUCCEEDED", reused == nil); err != nil {
		return err
	}
	if err := c.remember(ctx, task, event.Toolchain); err != nil {
		return err
	}
	if err := keepFiles(ctx, c, task, slices.Concat(event.Result.Artifacts, event.Logs)); err != nil {
		return err
	}
	result := *event.Result
	result.Toolchain = believable(event.Toolchain)
	if err := c.tx.StoreResult(ctx, task.ID, result); err != nil {
		return err
	}
	if err := c.tx.ForgetCheckpoints(ctx, task.ID); err != nil {
		return err
	}
	if isStray(task, event.Stray) {
		c.then(func(context.Context) { s.discard(event.Stray) })
	}
	task.Reused = reused
	if err := c.endTask(ctx, task, job.TaskSucceeded, nil); err != nil {
		return err
	}
	return c.recordMove(ctx, task, job.TaskSucceeded, event.Result, nil)
}

// applyFailure decides between another attempt and the end of the task.
func (s *Scheduler) applyFailure(ctx context.Context, c *change, owner *JobRow, task TaskRow, event queue.Event) error {
	failure := event.Failure
	if failure == nil {
		failure = &engines.Failure{Class: engines.System, Code: "NO_REASON", Message: "the worker gave no reason"}
	}
	unbegun, err := c.isGivenBack(ctx, owner, task, event)
	if err != nil {
		return err
	}
	if unbegun {
		return s.applyGivenBack(ctx, c, task, event, failure)
	}
	if err := s.settleAttempt(ctx, c, owner, task, event, "FAILED", billable(failure)); err != nil {
		return err
	}
	if failure.Class == engines.Executor {
		if err := s.blame(ctx, c, task, event.WorkerID, failure.Code); err != nil {
			return err
		}
	}
	log := s.Log.With("job", owner.ID, "task", task.ID, "attempt", task.Attempt, "class", failure.Class, "code", failure.Code,
		"message", failure.Message)
	switch next := afterFailure(failure.Class, failure.Code, task.Retries, task.Interruptions, owner.Stopping); next {
	case again, againFree:
		c.then(func(context.Context) {
			s.Metrics.retried.WithLabelValues(task.Queue, string(failure.Class)).Inc()
			log.Warn("attempt failed; trying again")
		})
		return c.returnTask(ctx, task, next == again, c.now.Add(backoff(task.Retries+task.Interruptions)))
	case drop:
		return c.endTask(ctx, task, job.TaskCancelled, nil)
	default:
		c.then(func(context.Context) { log.Warn("task failed") })
		if err := keepFiles(ctx, c, task, event.Logs); err != nil {
			return err
		}
		return c.endTask(ctx, task, job.TaskFailed, failure)
	}
}

// applyCancelled ends the task of a stopped attempt. What it used is charged when its owner cancelled the job or the job was
// stopped for its use, and free when the fabric stopped it because the job could no longer succeed.
func (s *Scheduler) applyCancelled(ctx context.Context, c *change, owner *JobRow, task TaskRow, event queue.Event) error {
	if !owner.Stopping { // by a stop order that outlived its cause
		event.Failure = &engines.Failure{Class: engines.System, Code: "STOPPED",
			Message: "the task was stopped although its job goes on"}
		return s.applyFailure(ctx, c, owner, task, event)
	}
	if err := s.settleAttempt(ctx, c, owner, task, event, "CANCELLED",
		owner.Status == job.Cancelling || owner.Overspent); err != nil {
		return err
	}
	return c.endTask(ctx, task, job.TaskCancelled, nil)
}

// settleAttempt records what an attempt used and adds its price to the job's bill when the attempt is billable, with that of the
// work of earlier ones that it went on from.
func (s *Scheduler) settleAttempt(
	ctx context.Context, c *change, owner *JobRow, task TaskRow, event queue.Event, outcome string, bill bool,
) error {
	price := billing.Micropence(0)
	if bill {
		var err error
		if price, err = s.meter(owner, task, event.Usage); err != nil {
			err = fmt.Errorf("meter attempt %s: %w", event.Ref, err)
			if !fault.Is(err, fault.UnsupportedSimulator) { // the price book is to blame for that one
				err = &UnusableError{err}
			}
			return err
		}
		if price > 0 { // else it never ran, and went on from nothing
			if err := s.billKeptWork(ctx, c, owner, task); err != nil {
				return err
			}
		}
	}
	owner.AccruedMicropence += int64(price)
	return c.insertAttempt(ctx, task, event, outcome, price)
}

// meter prices what an attempt of a task has used.
func (s *Scheduler) meter(owner *JobRow, task TaskRow, used queue.Usage) (billing.Micropence, error) {
	return s.Prices.Meter(billing.Usage{Engine: queue.Class(task.Queue).Engine, Hardware: queue.Class(task.Queue).Hardware,
		CPUMicros: used.CPUMicroseconds, GPUMicros: used.GPUMicroseconds, OutputBytes: used.BytesOut,
		SoftwarePencePerCoreHour: billing.Micropence(owner.SoftwareFee)})
}

// keepFiles records the files that an attempt has stored. Their keys become readable by the job's owner, so a worker cannot
// name any but the attempt's own.
func keepFiles(ctx context.Context, c *change, task TaskRow, files []queue.StoredArtifact) error {
	prefix := outputPrefix(task)
	for _, file := range files {
		if !strings.HasPrefix(file.StorageKey, prefix) {
			return &UnusableError{fmt.Errorf("the file %q is not below %s", file.StorageKey, prefix)}
		}
	}
	if len(files) == 0 {
		return nil
	}
	return c.tx.InsertArtifacts(ctx, task, files, c.now)
}

// next is what happens to a task after a failed attempt.
type next int

const (
	end       next = iota // it fails
	again                 // another attempt, as a retry that counts
	againFree             // another attempt, after an interruption, which does not
	drop                  // it ends with its job, which is being stopped
)

// maxInputLosses is how many interruptions a task may have had whose input is lost: it may be a store that is being restored, and
// no more attempts than these find out.
const maxInputLosses = 2

// afterFailure says whether a failed attempt is tried again. code is the failure's.
func afterFailure(class engines.FailureClass, code string, retries, interruptions int, stopping bool) next {
	switch {
	case stopping && class == engines.System:
		return drop
	case stopping:
		return end
	case code == queue.InputLost && interruptions >= maxInputLosses:
		return end
	case class == engines.System && interruptions < job.MaxInterruptions:
		return againFree
	case class == engines.Executor && retries < job.MaxRetries:
		return again
	}
	return end
}

// backoff is the pause before the next attempt of a task that has been given back n times before.
func backoff(n int) time.Duration {
	return min(retryBackoff<<min(n, 10), maxBackoff) // the inner bound keeps the shift from overflowing
}

// billable says whether an attempt that failed for this reason is charged: the user's own mistakes and limits are, unless they were
// found before any work; the fabric's and the program's are not.
func billable(failure *engines.Failure) bool {
	switch failure.Class {
	case engines.UserInput, engines.Timeout, engines.CostLimit:
		return !failure.Unbegun
	}
	return false
}

// taskEvent is the body of a "task" event for watchers.
func taskEvent(task TaskRow, status job.TaskStatus, failure *engines.Failure) (json.RawMessage, error) {
	body := map[string]any{"taskIndex": task.Ordinal, "stage": task.Stage, "name": task.Name, "status": status,
		"attempt": task.Attempt}
	if failure != nil {
		body["error"] = failure
	}
	if task.Reused != nil {
		body["reusedFrom"] = task.Reused
	}
	return json.Marshal(body)
}
