package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/hibiken/asynq"
)

const (
	// minPoll is how often an idle worker asks for work when it is alone: 11 ms median pickup at 48 script calls a second.
	minPoll = 20 * time.Millisecond
	// calmPoll is as long as workers of a middling fleet wait: tasks that come at once then start within a part of a second on all
	// of them, where a second is one worker in twenty that stands idle through a job of twenty seconds.
	calmPoll = 250 * time.Millisecond
	// fleetPoll a worker keeps what a large fleet asks of Redis at a thousand calls a second.
	fleetPoll = time.Millisecond
	// maxPoll bounds the pickup latency of the largest fleets.
	maxPoll = time.Second
)

// PollInterval is how often the nth worker of a fleet asks for work. What the fleet asks of Redis then grows as the logarithm of
// its size up to a dozen workers, by 1/calmPoll a worker up to a thousand calls a second, and by 1/maxPoll a worker from the
// thousandth on.
func PollInterval(workers int) time.Duration {
	of := func(each time.Duration) time.Duration { return time.Duration(max(workers, 1)) * each }
	return min(max(min(of(minPoll), calmPoll), of(fleetPoll)), maxPoll)
}

// Consumer claims work orders.
type Consumer struct{ server *asynq.Server }

// Consume claims work orders from the queues and calls handle for each on a goroutine of its own, at most slots at a time. handle
// answers for the order, which has passed its Check, from then on. It may be called again for an attempt whose hand-over was
// repeated.
func (q *Queue) Consume(
	queues []string, slots int, poll time.Duration, log *slog.Logger, handle func(WorkOrder),
) (*Consumer, error) {
	weights := map[string]int{}
	for _, name := range queues {
		weights[q.asynqName(name)] = 1
	}
	server := asynq.NewServerFromRedisClient(q.rdb, asynq.Config{
		Concurrency:       slots,
		Queues:            weights,
		TaskCheckInterval: poll,
		// Draining is the worker's: when Close is called every handler has returned or is about to.
		ShutdownTimeout: time.Second,
		Logger:          asynqLog{log},
		LogLevel:        asynq.WarnLevel,
	})
	handler := asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		var order WorkOrder
		if err := json.Unmarshal(task.Payload(), &order); err != nil {
			log.Error("drop an unreadable work order", "error", err)
			return nil
		}
		if err := order.Check(); err != nil {
			log.Error("drop a work order that no scheduler has sent", "error", err)
			return nil
		}
		if order.Guarded {
			claim, permit, err := q.TakeClaim(ctx, order.Queue, order.Ref())
			if err != nil || claim.IsZero() { // the scheduler misses the attempt and starts the next
				log.Warn("drop a work order whose claim is not to be had", "job", order.JobID, "attempt", order.Ref(), "error", err)
				return nil
			}
			order.Claim, order.Permit = claim, permit
		}
		handle(order)
		return nil
	})
	if err := server.Start(handler); err != nil {
		return nil, fmt.Errorf("claim from %v: %w", queues, err)
	}
	return &Consumer{server: server}, nil
}

// Stop claims nothing more; running handlers go on. An order that has been claimed may still reach its handler.
func (c *Consumer) Stop() { c.server.Stop() }

// Close ends the consumer after Stop and waits for the handlers, which must not run for long any more.
func (c *Consumer) Close() { c.server.Shutdown() }

// asynqLog passes asynq's own messages on to slog.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) Debug(args ...any) { l.log.Debug("asynq", "message", fmt.Sprint(args...)) }
func (l asynqLog) Info(args ...any)  { l.log.Debug("asynq", "message", fmt.Sprint(args...)) }
func (l asynqLog) Warn(args ...any)  { l.log.Warn("asynq", "message", fmt.Sprint(args...)) }
func (l asynqLog) Error(args ...any) { l.log.Error("asynq", "message", fmt.Sprint(args...)) }
func (l asynqLog) Fatal(args ...any) { l.log.Error("asynq", "message", fmt.Sprint(args...)) }
