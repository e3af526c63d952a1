package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// windowFactor is how many attempts a slot has in flight: the one that it runs and the next, so that it never waits for the
	// scheduler. More would only make a newcomer's task wait behind what is already queued.
	windowFactor = 2
	// minWindow keeps a queue moving whose workers have not been heard of yet.
	minWindow = 4
	// SmallBacklog is how many tasks of a queue an account may have waiting to be served as a small one. By equal turns a few tasks
	// would wait for two or three rounds of a crowd's; so they are soon out of its way, and who has more to do, in one job or in
	// many, has the turns of all others.
	SmallBacklog = 32
	// SmallTurns is how many turns a small account has for each of another one.
	SmallTurns = 4
	// maxBatch bounds one dispatch transaction.
	maxBatch = 200
	// handOverGrace is how long a leader that is stopping may still hand over what it has committed; otherwise those tasks would
	// wait for the next leader to miss them.
	handOverGrace = 3 * time.Second
)

// dispatchLoop moves ready tasks into the queues whenever something may have changed.
func (s *Scheduler) dispatchLoop(ctx context.Context) {
	ticker := time.NewTicker(dispatchInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s.logLoopError(ctx, "dispatch", s.fillAll(ctx))
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-ticker.C:
		}
	}
}

// fillAll tops the window up of every queue that something waits for: most of the time none, which is asked in one statement. What
// goes wrong for one does not keep the others from being filled.
func (s *Scheduler) fillAll(ctx context.Context) error {
	waiting, err := s.store.QueuesWaiting(ctx, s.queueNames())
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range waiting {
		errs = append(errs, s.fill(ctx, name))
	}
	return errors.Join(errs...)
}

// fill tops a queue's window up.
func (s *Scheduler) fill(ctx context.Context, queueName string) error {
	window := max(minWindow, windowFactor*s.slots.of(queueName))
	for {
		inFlight, err := s.store.CountInFlight(ctx, queueName)
		if err != nil {
			return err
		}
		batch := min(window-inFlight, maxBatch)
		if batch <= 0 {
			return nil
		}
		_, more, err := s.dispatch(ctx, queueName, batch)
		if err != nil || !more {
			return err
		}
	}
}

// dispatch starts the next attempt of up to limit ready tasks of a queue: committed as QUEUED first, then handed to Redis. A
// crash between the two is repaired by the watch. Returns how many tasks it moved, and whether there may be more of them.
func (s *Scheduler) dispatch(ctx context.Context, queueName string, limit int) (moved int, more bool, err error) {
	// What is picked here is looked at again under the jobs' locks: until then another leader may have taken it.
	picked, err := s.store.NextReady(ctx, queueName, limit, s.Now().UTC(), s.fleet.waitingFor(queueName))
	if err != nil || len(picked) == 0 {
		return 0, false, err
	}
	ratios, err := s.ratios(ctx, queueName)
	if err != nil {
		return 0, false, err
	}
	var orders []queue.WorkOrder
	passedOver := false
	err = s.change(ctx, picked.jobIDs(), func(c *change) error {
		reachable, avoid, err := s.withinReach(ctx, c, queueName, picked)
		if err != nil {
			return err
		}
		passedOver = len(reachable) < len(picked)
		granted, err := s.withinSeats(ctx, c, reachable)
		if err != nil {
			return err
		}
		claims, witnesses, err := s.newClaims(granted)
		if err != nil {
			return err
		}
		tasks, err := c.tx.QueueTasks(ctx, granted.taskIDs(), witnesses, c.now)
		if err != nil {
			return err
		}
		moved = len(tasks)
		orders, err = s.workOrders(ctx, c, tasks, avoid)
		for i := range orders {
			orders[i].Claim = claims[orders[i].TaskID]
			orders[i].ExpectedSeconds = orders[i].Shard.ExpectedWallSeconds() * ratios.high
		}
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("dispatch to %s: %w", queueName, err)
	}
	s.permit(context.WithoutCancel(ctx), orders)
	handOver, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverGrace)
	defer cancel()
	if err := s.Queue.Enqueue(handOver, orders...); err != nil {
		return moved, false, err
	}
	s.Metrics.dispatched.WithLabelValues(queueName).Add(float64(len(orders)))
	return moved, moved == limit || passedOver, nil
}

// newClaims makes the secrets of the attempts that are about to be queued, by task, and what is kept of them, in the order of
// picked. A secret is in the order alone: of an attempt whose order is lost, nobody can report, and it is missed.
func (s *Scheduler) newClaims(picked Candidates) (claims map[string]queue.Claim, witnesses [][]byte, err error) {
	claims, witnesses = make(map[string]queue.Claim, len(picked)), make([][]byte, len(picked))
	for i, task := range picked {
		claim, err := queue.NewClaim(s.Random)
		if err != nil {
			return nil, nil, err
		}
		claims[task.TaskID], witnesses[i] = claim, claim.Witness()
	}
	return claims, witnesses, nil
}

// workOrders describes the attempts that have just been queued, with the workers that must not have them. A task that can never be
// run fails instead: it must not hold up the others.
func (s *Scheduler) workOrders(ctx context.Context, c *change, tasks []TaskRow, avoid avoidance) ([]queue.WorkOrder, error) {
	outputs := outputCache{}
	resumed, err := s.resumeInputs(ctx, c, tasks)
	if err != nil {
		return nil, err
	}
	reusable, err := s.reusable(ctx, c, tasks)
	if err != nil {
		return nil, err
	}
	var orders []queue.WorkOrder
	for _, task := range tasks {
		var shard engines.Shard
		var inputs []queue.ResolvedInput
		var failure *engines.Failure
		err := json.Unmarshal(task.Shard, &shard)
		if err != nil {
			s.Log.Error("task has an unreadable shard", "job", task.JobID, "task", task.ID, "error", err)
			failure = &engines.Failure{Class: engines.System, Code: "SHARD_UNREADABLE",
				Message: "the plan of this task cannot be read any more"}
		} else if inputs, failure, err = outputs.resolve(ctx, c.tx, task.JobID, shard); err != nil {
			return nil, err
		}
		if failure != nil {
			if err := c.endTask(ctx, task, job.TaskFailed, failure); err != nil {
				return nil, err
			}
			continue
		}
		owner := c.jobs[task.JobID]
		orders = append(orders, queue.WorkOrder{
			TaskID: task.ID, Attempt: task.Attempt, JobID: task.JobID, AccountID: owner.AccountID, RequestID: owner.RequestID,
			Engine: queue.Class(task.Queue).Engine, Queue: task.Queue, Shard: shard,
			Inputs: slices.Concat(inputs, resumed[task.ID]), OutputPrefix: outputPrefix(task), CommittedAt: c.now,
			Avoid: avoid.of(task), Paid: s.paidUse(owner, task, shard), Reuse: reusable[task.ID],
		})
	}
	return orders, nil
}

// outputPrefix is where an attempt stores its files, and the only place of which its report may speak.
func outputPrefix(task TaskRow) string {
	return fmt.Sprintf("accounts/%s/jobs/%s/%s/%d/", task.AccountID, task.JobID, task.ID, task.Attempt)
}

// outputCache finds the stored outputs that shards refer to, reading each stage of a job once a dispatch.
type outputCache map[string]map[string]StageOutput

// resolve turns a shard's inputs into stored objects. failure is set when a named producer did not succeed.
func (c outputCache) resolve(
	ctx context.Context, tx Tx, jobID string, shard engines.Shard,
) ([]queue.ResolvedInput, *engines.Failure, error) {
	var inputs []queue.ResolvedInput
	for _, input := range shard.Inputs {
		if input.Object != nil {
			inputs = append(inputs, queue.ResolvedInput{Name: input.Name, Object: *input.Object, Optional: input.Optional})
			continue
		}
		stage, err := c.stage(ctx, tx, jobID, *input.From)
		if err != nil {
			return nil, nil, err
		}
		if input.From.Shard == "" {
			inputs = append(inputs, everyOutput(input, stage)...)
			continue
		}
		producer, known := stage[input.From.Shard]
		if producer.Object == nil && input.From.Optional {
			continue
		}
		if !known || producer.Object == nil {
			return nil, producer.asCause(input.From.Shard), nil
		}
		inputs = append(inputs, queue.ResolvedInput{Name: input.Name, Object: *producer.Object})
	}
	return inputs, nil, nil
}

func (c outputCache) stage(ctx context.Context, tx Tx, jobID string, from engines.From) (map[string]StageOutput, error) {
	key := jobID + "/" + from.Stage + "/" + from.Output
	if stage, ok := c[key]; ok {
		return stage, nil
	}
	stage, err := tx.StageOutputs(ctx, jobID, from.Stage, from.Output)
	if err == nil {
		c[key] = stage
	}
	return stage, err
}

// everyOutput stages one output of every shard that has it, in the order of their names.
func everyOutput(input engines.Input, stage map[string]StageOutput) []queue.ResolvedInput {
	var inputs []queue.ResolvedInput
	for _, name := range sortedKeys(stage) {
		if object := stage[name].Object; object != nil {
			inputs = append(inputs, queue.ResolvedInput{Name: input.Name + "/" + name + "/" + input.From.Output, Object: *object})
		}
	}
	return inputs
}

// asCause is the failure of a task whose producer did not succeed.
func (o StageOutput) asCause(shard string) *engines.Failure {
	if o.Failure != nil {
		return &engines.Failure{Class: o.Failure.Class, Code: o.Failure.Code,
			Message: fmt.Sprintf("its input %s failed: %s", shard, o.Failure.Message)}
	}
	return &engines.Failure{Class: engines.Executor, Code: "INPUT_MISSING",
		Message: fmt.Sprintf("its input %s does not exist", shard)}
}
