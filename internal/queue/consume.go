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
	// maxPoll bounds the pickup latency of the largest fleets.
	maxPoll = time.Second
)

// PollInterval is how often each of n workers asks for work, so that the whole fleet asks Redis a bounded number of times a
// second.
func PollInterval(workers int) time.Duration {
	return min(max(minPoll*time.Duration(workers), minPoll), maxPoll)
}

// Consumer claims work orders.
type Consumer struct{ server *asynq.Server }

// Consume claims work orders from the queues, at most slots at a time, and calls handle for each on a goroutine of its own.
// handle answers for the order from then on; it is never called again for the same attempt by this consumer.
func (q *Queue) Consume(queues []string, slots int, poll time.Duration, log *slog.Logger, handle func(WorkOrder)) (*Consumer, error) {
	weights := map[string]int{}
	for _, name := range queues {
		weights[q.asynqName(name)] = 1
	}
	server := asynq.NewServerFromRedisClient(q.rdb, asynq.Config{
		Concurrency:       slots,
		Queues:            weights,
		TaskCheckInterval: poll,
		// Draining is the worker's: by the time Close is called no handler is running.
		ShutdownTimeout: time.Second,
		Logger:          asynqLog{log},
		LogLevel:        asynq.WarnLevel,
	})
	handler := asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		var order WorkOrder
		if err := json.Unmarshal(task.Payload(), &order); err != nil {
			log.Error("drop an unreadable work order", "error", err)
			return nil
		}
		handle(order)
		return nil
	})
	if err := server.Start(handler); err != nil {
		return nil, fmt.Errorf("claim from %v: %w", queues, err)
	}
	return &Consumer{server: server}, nil
}

// Stop claims nothing more; running handlers go on.
func (c *Consumer) Stop() { c.server.Stop() }

// Close ends the consumer after Stop, when no handler is running any more.
func (c *Consumer) Close() { c.server.Shutdown() }

// asynqLog passes asynq's own messages on to slog.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) Debug(args ...any) { l.log.Debug("asynq", "message", fmt.Sprint(args...)) }
func (l asynqLog) Info(args ...any)  { l.log.Debug("asynq", "message", fmt.Sprint(args...)) }
func (l asynqLog) Warn(args ...any)  { l.log.Warn("asynq", "message", fmt.Sprint(args...)) }
func (l asynqLog) Error(args ...any) { l.log.Error("asynq", "message", fmt.Sprint(args...)) }
func (l asynqLog) Fatal(args ...any) { l.log.Error("asynq", "message", fmt.Sprint(args...)) }
