package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/engines"
)

const (
	// taskType is the one asynq task type; the queue says which engine.
	taskType = "molfabric:task"
	// asynqQueues is the set in which asynq lists its queues.
	asynqQueues = "asynq:queues"
)

// Queue is the scheduler's and the workers' face of Redis. It is safe for concurrent use.
type Queue struct {
	rdb       redis.UniversalClient
	client    *asynq.Client
	inspector *asynq.Inspector
	prefix    string
}

// New returns a Queue over a Redis client. All keys and queue names begin with prefix, so that several deployments (or tests)
// can share one Redis.
func New(rdb redis.UniversalClient, prefix string) *Queue {
	return &Queue{
		rdb:       rdb,
		client:    asynq.NewClientFromRedisClient(rdb),
		inspector: asynq.NewInspectorFromRedisClient(rdb),
		prefix:    prefix,
	}
}

// Name is the queue of a worker class, e.g. "cpu.autodock-vina", as the database and people know it.
func Name(class engines.WorkerClass) string { return class.Hardware + "." + class.Engine }

// Class is the worker class in a name that Name has made.
func Class(name string) engines.WorkerClass {
	hardware, engine, _ := strings.Cut(name, ".")
	return engines.WorkerClass{Hardware: hardware, Engine: engine}
}

// claimedMark begins the names of queues with orders whose reports must be proven. Workers of a release that knows no proofs look
// for queues without it, and so never get an order that they could not answer for.
const claimedMark = "claimed."

func (q *Queue) asynqName(queue string) string {
	return strings.ReplaceAll(q.prefix, ":", ".") + claimedMark + queue
}
func (q *Queue) key(parts ...string) string {
	return q.prefix + "molfabric:" + strings.Join(parts, ":")
}

// enqueueAtOnce is how many orders are on their way at the same moment: asynq has no call for several.
const enqueueAtOnce = 8

// Enqueue hands work orders to the workers of their queues, several at a time and else in their order. Handing the same attempt
// twice is harmless. After an error some may have arrived.
func (q *Queue) Enqueue(ctx context.Context, orders ...WorkOrder) error {
	if err := q.leaveClaims(ctx, orders); err != nil { // before the orders: who gets one wants its claim
		return err
	}
	if len(orders) == 1 {
		return q.enqueue(ctx, orders[0])
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(enqueueAtOnce)
	for _, order := range orders {
		group.Go(func() error { return q.enqueue(ctx, order) })
	}
	return group.Wait()
}

func (q *Queue) enqueue(ctx context.Context, order WorkOrder) error {
	order.Guarded = !order.Claim.IsZero()
	payload, err := json.Marshal(order)
	if err != nil {
		return fmt.Errorf("encode work order of %s: %w", order.Ref(), err)
	}
	// MaxRetry(0): retries are the scheduler's. The timeout only bounds asynq's own bookkeeping; the shard's limit is the
	// worker's to enforce, and asynq's default of 30 minutes would end a long simulation.
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(taskType, payload),
		asynq.TaskID(order.Ref().String()), asynq.Queue(q.asynqName(order.Queue)),
		asynq.MaxRetry(0), asynq.Timeout(order.Shard.Needs.TimeLimit+time.Hour))
	if errors.Is(err, asynq.ErrTaskIDConflict) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("enqueue %s: %w", order.Ref(), err)
	}
	return nil
}

// Remove takes an attempt out of its queue before a worker has claimed it. It reports false when it was not waiting there.
func (q *Queue) Remove(queue string, ref Ref) (bool, error) {
	err := q.inspect(queue, func(name string) error { return q.inspector.DeleteTask(name, ref.String()) })
	switch {
	case err == nil:
		// asynq's inspector takes no context either. What is left behind expires.
		return true, q.dropClaim(context.Background(), queue, ref)
	case errors.Is(err, asynq.ErrTaskNotFound), isActive(err):
		return false, nil
	}
	return false, fmt.Errorf("remove %s from %s: %w", ref, queue, err)
}

// isActive tells the one refusal of asynq's DeleteTask that has no error value of its own.
func isActive(err error) bool { return strings.Contains(err.Error(), "active state") }

// Waiting reports whether an attempt lies in its queue, unclaimed.
func (q *Queue) Waiting(queue string, ref Ref) (bool, error) {
	var info *asynq.TaskInfo
	err := q.inspect(queue, func(name string) (err error) {
		info, err = q.inspector.GetTaskInfo(name, ref.String())
		return err
	})
	if errors.Is(err, asynq.ErrTaskNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up %s in %s: %w", ref, queue, err)
	}
	return info.State == asynq.TaskStatePending, nil
}

// Depth is a queue as Redis holds it now.
type Depth struct {
	Pending, Active int
	OldestAge       time.Duration
}

// Depth returns how many attempts wait and run in a queue.
func (q *Queue) Depth(queue string) (Depth, error) {
	var info *asynq.QueueInfo
	err := q.inspect(queue, func(name string) (err error) {
		info, err = q.inspector.GetQueueInfo(name)
		return err
	})
	if err != nil {
		return Depth{}, fmt.Errorf("inspect queue %s: %w", queue, err)
	}
	return Depth{Pending: info.Pending, Active: info.Active, OldestAge: info.Latency}, nil
}

// Sweep removes what lost workers left archived in a queue: attempts that will never be run again, because every new start
// is a new attempt.
func (q *Queue) Sweep(queue string) error {
	err := q.inspect(queue, func(name string) error {
		_, err := q.inspector.DeleteAllArchivedTasks(name)
		return err
	})
	if err != nil {
		return fmt.Errorf("sweep queue %s: %w", queue, err)
	}
	return nil
}

// inspect looks at a queue through asynq, which refuses one that it has not listed. A client lists a queue at the first task
// it hands over and not again, so after a flush of Redis waiting tasks could not be seen: the queue is then listed here.
func (q *Queue) inspect(queue string, look func(asynqName string) error) error {
	name := q.asynqName(queue)
	err := look(name)
	if err == nil || !isUnlisted(err) {
		return err
	}
	// asynq's inspector takes no context either; the Redis client's own timeouts bound both.
	if err := q.rdb.SAdd(context.Background(), asynqQueues, name).Err(); err != nil {
		return err
	}
	return look(name)
}

// isUnlisted tells asynq's refusal of a queue, which only some of its methods give as an error value.
func isUnlisted(err error) bool {
	return errors.Is(err, asynq.ErrQueueNotFound) || strings.Contains(err.Error(), "does not exist")
}

// IsMarked reports whether this is the Redis that Mark marked: false after a flush or a restart without its data.
func (q *Queue) IsMarked(ctx context.Context, mark string) (bool, error) {
	got, err := q.rdb.Get(ctx, q.key("epoch")).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read epoch: %w", err)
	}
	return got == mark, nil
}

// Mark leaves a mark in Redis that disappears with its data.
func (q *Queue) Mark(ctx context.Context, mark string) error {
	if err := q.rdb.Set(ctx, q.key("epoch"), mark, 0).Err(); err != nil {
		return fmt.Errorf("set epoch: %w", err)
	}
	return nil
}

// Wake tells the leading scheduler that there is something to do. It is a hint: losing it costs a poll interval.
func (q *Queue) Wake(ctx context.Context) error {
	return q.rdb.Publish(ctx, q.key("wake"), "").Err()
}

// Wakes calls f at every Wake until the context ends. It reconnects by itself.
func (q *Queue) Wakes(ctx context.Context, f func()) {
	sub := q.rdb.Subscribe(ctx, q.key("wake"))
	defer sub.Close()
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-sub.Channel():
			if !ok {
				return
			}
			f()
		}
	}
}
