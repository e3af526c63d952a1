package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// fleetPatience bounds the wait until every worker of a fleet has said hello.
	fleetPatience = time.Minute
	fleetPoll     = 20 * time.Millisecond
	// mostFleet bounds the workers of one process: each keeps three connections to Redis, which takes 10,000.
	mostFleet = 2000
	// fleetDrain is how long a fleet's tasks may go on when it is dismissed; they only sleep.
	fleetDrain = time.Second
)

// fleetOptions say which workers to have in this process.
type fleetOptions struct {
	Workers  int
	Slots    int    // of each worker
	RedisURL string // of the queue whose keys have no prefix
	Scratch  string // an empty directory
	Log      *slog.Logger
}

// fleet is many workers in this process. They are workers in all but the program: each has its own connections, heartbeat, outbox,
// slots and scratch directory, and what it starts is a wait.
type fleet struct {
	runner  *sleepRunner
	clients []redis.UniversalClient
	leave   context.CancelFunc
	running sync.WaitGroup

	mu  sync.Mutex
	err error // why workers could not run
}

// hire starts a fleet and returns when all of it has said hello. The caller dismisses it.
func hire(ctx context.Context, o fleetOptions) (*fleet, error) {
	if o.Workers < 1 || o.Workers > mostFleet {
		return nil, fmt.Errorf("a fleet of %d workers; have 1 to %d in a process", o.Workers, mostFleet)
	}
	work, leave := context.WithCancel(context.WithoutCancel(ctx))
	f := &fleet{runner: &sleepRunner{}, leave: leave}
	for i := range o.Workers {
		client, err := queue.Connect(ctx, o.RedisURL, "")
		if err != nil {
			return nil, errors.Join(err, f.dismiss())
		}
		f.clients = append(f.clients, client)
		w, err := worker.New(worker.Config{
			Queue: queue.New(client, ""), Engines: engines.NewRegistry(sleeper{}), Runner: f.runner,
			Offered: []worker.Offer{{Engine: probe.ID, Hardware: engines.HardwareCPU, Programs: map[string]string{"sleep": "1"}}},
			// Of each worker's own: a starting worker looks through all directories beside its own.
			Slots: o.Slots, ScratchDir: filepath.Join(o.Scratch, strconv.Itoa(i)), Version: "bench", DrainGrace: fleetDrain,
			Log: o.Log,
		})
		if err != nil {
			return nil, errors.Join(err, f.dismiss())
		}
		f.running.Go(func() { f.failed(w.Run(work)) })
	}
	if err := f.awaitHello(ctx, o.Workers); err != nil {
		return nil, errors.Join(err, f.dismiss())
	}
	return f, nil
}

// failed keeps why a worker could not run.
func (f *fleet) failed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = errors.Join(f.err, err)
}

// awaitHello waits until so many workers have sent a heartbeat.
func (f *fleet) awaitHello(ctx context.Context, workers int) error {
	ctx, cancel := context.WithTimeout(ctx, fleetPatience)
	defer cancel()
	q := queue.New(f.clients[0], "")
	for {
		known, err := q.Workers(ctx)
		if err != nil {
			return err
		}
		f.mu.Lock()
		err = f.err
		f.mu.Unlock()
		if err != nil || len(known) >= workers {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d workers have said hello: %w", len(known), workers, ctx.Err())
		case <-time.After(fleetPoll):
		}
	}
}

// dismiss drains the workers and waits for their end. A scheduler must run, which takes their last reports.
func (f *fleet) dismiss() error {
	f.leave()
	f.running.Wait()
	err := f.err
	for _, client := range f.clients {
		err = errors.Join(err, client.Close())
	}
	return err
}

// spans returns what has been run since the last call.
func (f *fleet) spans() []span { return f.runner.taken() }

// span is one attempt's program: from its start to its end.
type span struct {
	Task           string
	Started, Ended time.Time
}

// sleepRunner is the worker.Runner of a fleet. It waits as long as the command says and keeps when that was.
type sleepRunner struct {
	mu   sync.Mutex
	done []span
}

var _ worker.Runner = (*sleepRunner)(nil)

// sleepCPU is what a wait is metered as, so that it has a price: about what a program uses until it waits.
const sleepCPU = time.Millisecond

// Run waits as long as the command's only argument says, in seconds.
func (r *sleepRunner) Run(ctx context.Context, spec sandbox.Spec, _ func(string)) (sandbox.Outcome, error) {
	seconds, err := strconv.ParseFloat(spec.Command.Argv[1], 64)
	if err != nil {
		return sandbox.Outcome{}, fmt.Errorf("wait: %w", err)
	}
	started := time.Now()
	outcome := sandbox.Outcome{Reason: sandbox.Exited}
	if seconds > 0 {
		timer := time.NewTimer(time.Duration(seconds * float64(time.Second)))
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			outcome = sandbox.Outcome{Reason: sandbox.Cancelled, ExitCode: -1}
		}
	}
	ended := time.Now()
	outcome.Usage = sandbox.Usage{CPUMicroseconds: sleepCPU.Microseconds(), Wall: ended.Sub(started)}
	task, _, _ := strings.Cut(filepath.Base(string(spec.Dir)), ".") // the directory has the name of the attempt
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = append(r.done, span{Task: task, Started: started, Ended: ended})
	return outcome, nil
}

// Devices are none.
func (r *sleepRunner) Devices() []sandbox.Device { return nil }

// Describe says that nothing is isolated.
func (r *sleepRunner) Describe() sandbox.Description {
	return sandbox.Description{Isolation: sandbox.Direct, Caps: "none", User: "nobody: no program runs"}
}

func (r *sleepRunner) taken() []span {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.done
	r.done = nil
	slices.SortFunc(taken, func(a, b span) int { return a.Started.Compare(b.Started) })
	return taken
}

// sleeper is the probe on a worker that runs no programs: its tasks take their time, and nothing else.
type sleeper struct{ probe.Probe }

// Command is a wait as long as the shard says.
func (sleeper) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	var p struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(shard.Params, &p); err != nil {
		return engines.Command{}, fmt.Errorf("read the parameters of %s: %w", shard.Name, err)
	}
	return engines.Command{Argv: []string{"sleep", strconv.FormatFloat(p.Seconds, 'f', -1, 64)}}, nil
}

// Collect finds nothing.
func (sleeper) Collect(engines.Shard, engines.Dir) (engines.Result, error) {
	return engines.Result{Summary: json.RawMessage(`{}`), Programs: map[string]string{"sleep": "1"}}, nil
}
