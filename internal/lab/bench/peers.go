package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/internal/proc"
)

const (
	peerTask = "bench"
	// peerClients enqueue at once, each waiting for Redis' answer.
	peerClients = 8
)

// peerClient returns a client of Redis for a peer of its own connections.
func peerClient(url string) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("the address of Redis cannot be read") // the cause would show the password
	}
	return redis.NewClient(options), nil
}

// stockServer starts an asynq server as its documentation does, and calls handle for every task. The caller shuts it down.
func stockServer(
	rdb redis.UniversalClient, queueName string, slots int, handle func(ctx context.Context, payload []byte) error,
) (*asynq.Server, error) {
	server := asynq.NewServerFromRedisClient(rdb, asynq.Config{Concurrency: slots, Queues: map[string]int{queueName: 1},
		Logger: quiet{}, LogLevel: asynq.ErrorLevel})
	err := server.Start(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error { return handle(ctx, task.Payload()) }))
	return server, err
}

// quiet drops what asynq says while it starts and ends.
type quiet struct{}

func (quiet) Debug(...any)      {}
func (quiet) Info(...any)       {}
func (quiet) Warn(...any)       {}
func (quiet) Error(args ...any) { slog.Error("asynq", "message", fmt.Sprint(args...)) }
func (quiet) Fatal(args ...any) { slog.Error("asynq", "message", fmt.Sprint(args...)) }

// enqueueAll enqueues tasks with numbers for payloads, by several clients at once.
func enqueueAll(ctx context.Context, rdb redis.UniversalClient, queueName string, tasks int) error {
	client := asynq.NewClientFromRedisClient(rdb)
	workers, ctx := errgroup.WithContext(ctx)
	for i := range peerClients {
		workers.Go(func() error {
			for n := i; n < tasks; n += peerClients {
				if _, err := client.EnqueueContext(ctx, asynq.NewTask(peerTask, []byte(strconv.Itoa(n))),
					asynq.Queue(queueName)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return workers.Wait()
}

// countingServers are asynq servers whose handler does nothing but count.
type countingServers struct {
	servers []*asynq.Server
	clients []*redis.Client
	left    atomic.Int64
	done    chan struct{} // gets a value when left reaches 0
}

func startCounting(url, queueName string, servers, slots int) (*countingServers, error) {
	c := &countingServers{done: make(chan struct{}, 1)}
	for range servers {
		rdb, err := peerClient(url)
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.clients = append(c.clients, rdb)
		server, err := stockServer(rdb, queueName, slots, func(context.Context, []byte) error {
			if c.left.Add(-1) == 0 {
				c.done <- struct{}{}
			}
			return nil
		})
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.servers = append(c.servers, server)
	}
	return c, nil
}

// process enqueues so many tasks and waits until all have been handled.
func (c *countingServers) process(ctx context.Context, rdb redis.UniversalClient, queueName string, tasks int) error {
	c.left.Store(int64(tasks))
	if err := enqueueAll(ctx, rdb, queueName, tasks); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return nil
	}
}

func (c *countingServers) stop() error {
	for _, server := range c.servers {
		server.Shutdown()
	}
	var err error
	for _, client := range c.clients {
		err = errors.Join(err, client.Close())
	}
	return err
}

// peerOrderEnv is the environment variable that makes this program a stock asynq worker and nothing else; its value is a peerOrder
// in JSON.
const peerOrderEnv = "MOLFABRIC_BENCH_PEER"

// peerOrder tells a stock worker where its tasks are. Each is to wait until it is told to stop; that it has started is noted in a
// list.
type peerOrder struct {
	RedisURL string `json:"redisUrl"`
	Queue    string `json:"queue"`
	Started  string `json:"started"` // key of the list
	Slots    int    `json:"slots"`
}

func init() {
	order := os.Getenv(peerOrderEnv)
	if order == "" {
		return
	}
	if err := runPeer(order); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// runPeer is the process of a stock worker.
func runPeer(text string) error {
	var order peerOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return fmt.Errorf("%s: %w", peerOrderEnv, err)
	}
	rdb, err := peerClient(order.RedisURL)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server, err := stockServer(rdb, order.Queue, order.Slots, func(task context.Context, payload []byte) error {
		note := fmt.Sprintf("%s %d %d", payload, os.Getpid(), time.Now().UnixNano())
		if err := rdb.RPush(task, order.Started, note).Err(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-task.Done():
		}
		return nil
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	server.Shutdown()
	return rdb.Close()
}

// startStock starts a stock worker as a process of its own, which can be killed: this program's own file again.
func startStock(order peerOrder) (*role, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(context.Background(), "/proc/self/exe")
	command.Env = append(os.Environ(), peerOrderEnv+"="+string(text))
	command.Stderr = os.Stderr
	if err := proc.Start(command); err != nil {
		return nil, fmt.Errorf("start a stock worker: %w", err)
	}
	r := &role{pid: command.Process.Pid, exited: make(chan struct{})}
	go func() {
		_ = command.Wait()
		close(r.exited)
	}()
	return r, nil
}

// stockStart is a note of a stock worker: which task it has started, and when.
type stockStart struct {
	task string
	pid  int
	at   time.Time
}

func parseStockStart(note string) (stockStart, error) {
	var s stockStart
	var nanoseconds int64
	if _, err := fmt.Sscan(note, &s.task, &s.pid, &nanoseconds); err != nil || strings.Count(note, " ") != 2 {
		return s, fmt.Errorf("a stock worker noted %.100q", note)
	}
	s.at = time.Unix(0, nanoseconds)
	return s, nil
}

// stockStarts reads what the stock workers have noted so far.
func stockStarts(ctx context.Context, rdb redis.UniversalClient, key string) ([]stockStart, error) {
	notes, err := rdb.LRange(ctx, key, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("read what stock workers have started: %w", err)
	}
	starts := make([]stockStart, len(notes))
	for i, note := range notes {
		if starts[i], err = parseStockStart(note); err != nil {
			return nil, err
		}
	}
	return starts, nil
}
