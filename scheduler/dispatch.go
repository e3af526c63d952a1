package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/postgres"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// windowFactor is how many attempts a slot has in its queue: enough that a slot never waits for the scheduler, few enough
	// that Redis stays small and a newcomer's task is soon at the head.
	windowFactor = 3
	// minWindow keeps a queue moving whose workers have not been heard of yet.
	minWindow = 4
	// maxBatch bounds one dispatch transaction.
	maxBatch = 200
)

// dispatchLoop moves ready tasks into the queues whenever something may have changed.
func (s *Scheduler) dispatchLoop(ctx context.Context) {
	ticker := time.NewTicker(dispatchInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		for _, name := range s.queueNames() {
			s.logLoopError(ctx, "dispatch", s.fill(ctx, name))
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-ticker.C:
		}
	}
}

// fill tops a queue's window up.
func (s *Scheduler) fill(ctx context.Context, queueName string) error {
	window := max(minWindow, windowFactor*s.slots.of(queueName))
	for {
		inFlight, err := countInFlight(ctx, s.DB, queueName)
		if err != nil {
			return err
		}
		batch := min(window-inFlight, maxBatch)
		if batch <= 0 {
			return nil
		}
		sent, err := s.dispatch(ctx, queueName, batch)
		if err != nil || sent < batch {
			return err
		}
	}
}

// dispatch starts the next attempt of up to limit ready tasks of a queue: committed as QUEUED first, then handed to Redis. A
// crash between the two is repaired by the watch. Returns how many tasks it moved.
func (s *Scheduler) dispatch(ctx context.Context, queueName string, limit int) (int, error) {
	var orders []queue.WorkOrder
	moved := 0
	err := postgres.InTx(ctx, s.DB, func(tx *sqlx.Tx) error {
		orders, moved = nil, 0
		now := s.Now().UTC()
		candidates, err := nextReady(ctx, tx, queueName, limit, now)
		if err != nil || len(candidates) == 0 {
			return err
		}
		jobs, err := lockJobs(ctx, tx, candidates.jobIDs())
		if err != nil {
			return err
		}
		tasks, err := queueTasks(ctx, tx, candidates.taskIDs(), now)
		if err != nil {
			return err
		}
		moved = len(tasks)
		orders, err = s.workOrders(ctx, tx, jobs, tasks, now)
		if err != nil {
			return err
		}
		return s.rollUpAll(ctx, tx, jobs, now)
	})
	if err != nil {
		return 0, fmt.Errorf("dispatch to %s: %w", queueName, err)
	}
	for _, order := range orders {
		if err := s.Queue.Enqueue(ctx, order); err != nil {
			return moved, err
		}
	}
	s.Metrics.dispatched.WithLabelValues(queueName).Add(float64(len(orders)))
	return moved, nil
}

// workOrders describes the attempts that have just been queued. A task whose input will never exist fails instead.
func (s *Scheduler) workOrders(ctx context.Context, tx *sqlx.Tx, jobs map[string]*jobRow, tasks []taskRow, now time.Time) ([]queue.WorkOrder, error) {
	outputs := outputCache{}
	var orders []queue.WorkOrder
	for _, task := range tasks {
		var shard engines.Shard
		if err := json.Unmarshal(task.Shard, &shard); err != nil {
			return nil, fmt.Errorf("decode shard of %s: %w", task.ID, err)
		}
		inputs, failure, err := outputs.resolve(ctx, tx, task.JobID, shard)
		if err != nil {
			return nil, err
		}
		if failure != nil {
			if err := endTask(ctx, tx, task.ID, job.TaskFailed, failure, now); err != nil {
				return nil, err
			}
			continue
		}
		owner := jobs[task.JobID]
		orders = append(orders, queue.WorkOrder{
			TaskID: task.ID, Attempt: task.Attempt, JobID: task.JobID, AccountID: owner.AccountID, RequestID: owner.RequestID,
			Engine: owner.Simulator.String, Queue: task.Queue, Shard: shard, Inputs: inputs,
			OutputPrefix: fmt.Sprintf("accounts/%s/jobs/%s/%s/%d/", owner.AccountID, task.JobID, task.ID, task.Attempt),
			CommittedAt:  now,
		})
	}
	return orders, nil
}

// outputCache finds the stored outputs that shards refer to, reading each stage of a job once a dispatch.
type outputCache map[string]map[string]stageOutput

// resolve turns a shard's inputs into stored objects. failure is set when a named producer did not succeed.
func (c outputCache) resolve(ctx context.Context, tx *sqlx.Tx, jobID string, shard engines.Shard) ([]queue.ResolvedInput, *engines.Failure, error) {
	var inputs []queue.ResolvedInput
	for _, input := range shard.Inputs {
		if input.Object != nil {
			inputs = append(inputs, queue.ResolvedInput{Name: input.Name, Object: *input.Object})
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
		if !known || producer.object == nil {
			return nil, producer.asCause(input.From.Shard), nil
		}
		inputs = append(inputs, queue.ResolvedInput{Name: input.Name, Object: *producer.object})
	}
	return inputs, nil, nil
}

func (c outputCache) stage(ctx context.Context, tx *sqlx.Tx, jobID string, from engines.From) (map[string]stageOutput, error) {
	key := jobID + "/" + from.Stage + "/" + from.Output
	if stage, ok := c[key]; ok {
		return stage, nil
	}
	stage, err := readStageOutputs(ctx, tx, jobID, from.Stage, from.Output)
	if err == nil {
		c[key] = stage
	}
	return stage, err
}

// everyOutput stages one output of every shard that has it, in the order of their names.
func everyOutput(input engines.Input, stage map[string]stageOutput) []queue.ResolvedInput {
	var inputs []queue.ResolvedInput
	for _, name := range sortedKeys(stage) {
		if object := stage[name].object; object != nil {
			inputs = append(inputs, queue.ResolvedInput{Name: input.Name + "/" + name + "/" + input.From.Output, Object: *object})
		}
	}
	return inputs
}

// stageOutput is one shard's output, or why there is none.
type stageOutput struct {
	object  *engines.Object
	failure *engines.Failure
}

// asCause is the failure of a task whose producer did not succeed.
func (o stageOutput) asCause(shard string) *engines.Failure {
	if o.failure != nil {
		return &engines.Failure{Class: o.failure.Class, Code: o.failure.Code, Message: fmt.Sprintf("its input %s failed: %s", shard, o.failure.Message)}
	}
	return &engines.Failure{Class: engines.Executor, Code: "INPUT_MISSING", Message: fmt.Sprintf("its input %s does not exist", shard)}
}
