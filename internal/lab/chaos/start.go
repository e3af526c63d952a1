package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/servers"
)

// inherited are the variables of this process that its children get beside their configuration.
var inherited = []string{"PATH", "HOME", "MOLFABRIC_SANDBOX"}

// portTries bounds how often another port is tried for an API: one is taken between its choice and its use only by chance.
const portTries = 5

// WorkerOptions say what a worker is like. The zero value is one with two slots that runs the probe alone.
type WorkerOptions struct {
	Slots   int      // 0 means 2
	Engines []string // ids that it may offer; nil means the probe alone, which starts at once
	// Home is where its scratch and its cache lie; "" means that of all workers of the World, as on one machine.
	Home string
	Env  []string // "NAME=value", over all that the World sets
	// Under is a command that becomes the worker's program, such as nsenter with its options: the machine that it runs on.
	Under []string
}

// StartAPI starts an API on a port of its own and returns when it answers. env is "NAME=value" over all that the World sets.
func (w *World) StartAPI(ctx context.Context, env ...string) (*Process, error) {
	var failure error
	for range portTries {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		p := w.newProcess(roleAPI, slices.Concat(w.stores, []string{"MOLFABRIC_LISTEN=" + address,
			"MOLFABRIC_PUBLIC_URL=http://" + address, "MOLFABRIC_SIGNUP_NETWORKS=127.0.0.0/8"}, env))
		p.URL = "http://" + address
		if failure = p.Start(ctx); failure == nil {
			return p, nil
		}
		if p.Running() {
			_ = p.Kill() // the error that counts is the start's
		}
		w.drop(p)
		if !strings.Contains(p.tail(), "address already in use") {
			break
		}
	}
	return nil, failure
}

// StartScheduler starts a scheduler; of several, one leads.
func (w *World) StartScheduler(ctx context.Context, env ...string) (*Process, error) {
	p := w.newProcess(roleScheduler, slices.Concat(w.stores, env))
	err := p.Start(ctx)
	return p, err
}

// StartWorker starts a worker and returns when the fleet knows it.
func (w *World) StartWorker(ctx context.Context, o WorkerOptions) (*Process, error) {
	if o.Slots == 0 {
		o.Slots = 2
	}
	if len(o.Engines) == 0 {
		o.Engines = []string{probe.ID}
	}
	if o.Home == "" {
		o.Home = filepath.Join(w.home, "worker")
	}
	w.mu.Lock()
	w.homes = append(w.homes, o.Home)
	w.mu.Unlock()
	p := w.newProcess(roleWorker, slices.Concat([]string{"REDIS_URL=" + w.workerRedisURL, "MOLFABRIC_HOME=" + o.Home,
		"MOLFABRIC_SIMULATORS=" + strings.Join(o.Engines, ","), fmt.Sprintf("MOLFABRIC_SLOTS=%d", o.Slots),
		"MOLFABRIC_DRAIN_GRACE=" + drainGrace.String()}, o.Env))
	p.under = o.Under
	err := p.Start(ctx)
	return p, err
}

// Start starts so many APIs, schedulers and workers of two slots, as a deployment has them.
func (w *World) Start(ctx context.Context, apis, schedulers, workers int) error {
	for range apis {
		if _, err := w.StartAPI(ctx); err != nil {
			return err
		}
	}
	for range schedulers {
		if _, err := w.StartScheduler(ctx); err != nil {
			return err
		}
	}
	for range workers {
		if _, err := w.StartWorker(ctx, WorkerOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// APIs are the World's APIs, in the order of their first start.
func (w *World) APIs() []*Process { return w.of(roleAPI) }

// Schedulers are the World's schedulers.
func (w *World) Schedulers() []*Process { return w.of(roleScheduler) }

// Workers are the World's workers.
func (w *World) Workers() []*Process { return w.of(roleWorker) }

// newProcess names a process and gives it the environment of all, its own last.
func (w *World) newProcess(role string, own []string) *Process {
	env := w.environment(own)
	exited := make(chan struct{})
	close(exited)
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 1
	for _, other := range w.processes {
		if other.role == role {
			n++
		}
	}
	p := &Process{Name: fmt.Sprintf("%s-%d", role, n), world: w, role: role, env: env, exited: exited}
	w.processes = append(w.processes, p)
	return p
}

// environment is what every program of the World is given, and own after it.
func (w *World) environment(own []string) []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return slices.Concat(env, []string{"TMPDIR=" + w.temp(), "MOLFABRIC_HOME=" + filepath.Join(w.home, "control"),
		"MOLFABRIC_KEY_SECRET=" + w.secret,
		"MOLFABRIC_PYTHON=" + w.python, "MOLFABRIC_STRUCTURES=off", "MOLFABRIC_PREVIEWS=0",
		"MOLFABRIC_GPUS=off", "MOLFABRIC_HARDWARE=cpu",
		"MOLFABRIC_SIMULATORS=" + listed(),
		"MOLFABRIC_LIMIT_CREDENTIAL=1000000", "MOLFABRIC_LIMIT_ADDRESS=1000000"}, own)
}

func (w *World) drop(p *Process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.processes = slices.DeleteFunc(w.processes, func(other *Process) bool { return other == p })
	w.deaths = slices.DeleteFunc(w.deaths, func(death string) bool { return strings.HasPrefix(death, p.Name+" ") })
}

var errEnded = errors.New("it ended at its start")

// awaitAPI waits until an API answers.
func (p *Process) awaitAPI(ctx context.Context) error {
	return p.world.Eventually(ctx, "the API answers", patience, func(ctx context.Context) (bool, error) {
		if !p.Running() {
			return false, errEnded
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+"/healthz", nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil // nobody listens yet
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK, nil
	})
}

// awaitWorker waits for the first heartbeat of a worker.
func (p *Process) awaitWorker(ctx context.Context) error {
	err := p.world.Eventually(ctx, "the worker's heart beats", patience, func(ctx context.Context) (bool, error) {
		if !p.Running() {
			return false, errEnded
		}
		heartbeats, err := p.world.queue.Workers(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // Redis may be on its way back
		}
		for _, heartbeat := range heartbeats {
			if heartbeat.PID == p.PID() {
				p.mu.Lock()
				p.workerID = heartbeat.WorkerID
				p.mu.Unlock()
			}
		}
		return p.WorkerID() != "", nil
	})
	if err == nil {
		p.world.mu.Lock()
		p.world.swept = true // it has removed what dead workers left
		p.world.mu.Unlock()
	}
	return err
}

// KillRedis ends Redis with SIGKILL; it loses at most the last second of what it had acknowledged.
func (w *World) KillRedis() error { return endStore(&w.redis, w.RedisLine, syscall.SIGKILL) }

// killable is a running store.
type killable interface {
	comparable
	PID() int
	Done() <-chan struct{}
}

// StopPostgres stops Postgres in its immediate mode: no checkpoint, no farewell, the next start recovers.
func (w *World) StopPostgres() error { return endStore(&w.postgres, w.PostgresLine, syscall.SIGQUIT) }

// KillS3 ends the object store with SIGKILL.
func (w *World) KillS3() error { return endStore(&w.s3, w.S3Line, syscall.SIGKILL) }

// endStore cuts a store's line, sends the store a signal and waits for its end.
func endStore[S killable](store *S, line *Line, sig syscall.Signal) error {
	var none S
	if *store == none {
		return errors.New("the store does not run")
	}
	if err := syscall.Kill((*store).PID(), sig); err != nil {
		return fmt.Errorf("end a store: %w", err)
	}
	select {
	case <-(*store).Done():
	case <-time.After(patience):
		return fmt.Errorf("a store did not end within %s of %v", patience, sig)
	}
	line.Cut()
	*store = none
	return nil
}

// freeAddress is one of loopback where nobody listens. No outgoing connection takes its port before what is to listen there has
// started, or while it is started again.
func freeAddress() (string, error) {
	port, err := servers.LastingPort()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), err
}
