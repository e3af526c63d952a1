package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	attackSlots = 4
	// logBytes is what is kept of what a task of the probe prints, mostLogBytes that with the note that the rest was dropped.
	logBytes     = 64 << 10
	mostLogBytes = logBytes + 200
)

// confined is R15. The attacks are tasks of a real job, planned, queued, reported and billed as any other's, on a worker whose
// probe runs them in place of its script. Tasks of another account run between them.
func confined(ctx context.Context, w *World, _ *rand.Rand) error {
	if err := w.Start(ctx, 1, 1, 0); err != nil {
		return err
	}
	bait, err := listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer bait.close()
	list := w.targets(bait).attacks()
	told, leave, err := w.hireIntruded(ctx, list)
	if err != nil {
		return err
	}
	err = w.attack(ctx, list)
	err = errors.Join(err, leave())
	if n := bait.visits.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d connections came out of the sandbox", n))
	}
	if err != nil {
		return err
	}
	return heldBack(told, list)
}

// targets are this World's.
func (w *World) targets(bait *bait) targets {
	return targets{home: w.home, worker: os.Getpid(), secret: "HOME=" + os.Getenv("HOME"), // a program's is its own /tmp
		addresses: []string{bait.address(), w.RedisLine.Address(), w.PostgresLine.Address(), w.S3Line.Address(),
			strings.TrimPrefix(w.APIs()[0].URL, "http://")}}
}

// attack runs the attacks beside a neighbour's job and looks at how each of them ended.
func (w *World) attack(ctx context.Context, list []attack) error {
	villain, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	neighbour, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	jobID, err := villain.Submit(ctx, Probe{Name: "attacks", Tasks: 1 + len(list), Seconds: attackSeconds, OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	beside, err := neighbour.Submit(ctx, Probe{Name: "neighbour", Tasks: 2 * attackSlots, Seconds: 0.5, OutputBytes: 1000}, "")
	if err != nil {
		return err
	}
	status, err := w.AwaitWithin(ctx, jobID, 3*patience)
	if err != nil {
		return err
	}
	if status != job.CompletedWithFailures {
		err = fmt.Errorf("the attacks ended as %s, want %s: the first task is an honest one", status, job.CompletedWithFailures)
	}
	return errors.Join(err, judgeAttacks(ctx, villain, jobID, list), w.unharmed(ctx, neighbour, beside))
}

// judgeAttacks holds the end of each task against what it tried: it failed for the right reason, its log tells so, and it published
// nothing.
func judgeAttacks(ctx context.Context, villain *Account, jobID string, list []attack) error {
	tasks, err := villain.Client.Tasks(ctx, jobID, client.TaskFilter{Page: client.Page{Limit: 100}})
	if err != nil {
		return err
	}
	logs, err := villain.Client.Logs(ctx, jobID, client.Page{Limit: 100}, "")
	if err != nil {
		return err
	}
	if len(tasks.Body.Tasks) != 1+len(list) || len(logs.Body.Logs) != len(tasks.Body.Tasks) {
		return fmt.Errorf("%d tasks and %d logs, want %d", len(tasks.Body.Tasks), len(logs.Body.Logs), 1+len(list))
	}
	var failures []error
	for i, a := range list {
		task, log := tasks.Body.Tasks[i+1], logs.Body.Logs[i+1]
		code, text := "none", ""
		if task.Error != nil {
			code = task.Error.Code
		}
		if log.Text != nil {
			text = *log.Text
		}
		if task.Status != job.TaskFailed || code != a.want {
			failures = append(failures, fmt.Errorf("%s: the task ended as %s with %s, want %s; its log: %.300s", a.name,
				task.Status, code, a.want, text))
		} else if a.want == attackRefused && !strings.Contains(text, "refused:") && log.ByteSize < logBytes {
			// else its end is cut off
			failures = append(failures, fmt.Errorf("%s: the log does not say that it was refused: %.300s", a.name, text))
		}
		if log.ByteSize > mostLogBytes {
			failures = append(failures, fmt.Errorf("%s: the log has %d bytes", a.name, log.ByteSize))
		}
	}
	outputs, err := villain.Client.AllOutputs(ctx, jobID)
	for _, output := range outputs.Body.Outputs {
		if output.Role != string(engines.RoleLog) && output.TaskIndex != 0 {
			failures = append(failures, fmt.Errorf("%s was published by an attack", output.Name))
		}
	}
	return errors.Join(append(failures, err)...)
}

// unharmed expects that the neighbour's tasks have all succeeded at their first attempt.
func (w *World) unharmed(ctx context.Context, neighbour *Account, jobID string) error {
	if err := w.AwaitCompleted(ctx, jobID); err != nil {
		return fmt.Errorf("the neighbour: %w", err)
	}
	tasks, err := neighbour.Client.Tasks(ctx, jobID, client.TaskFilter{Page: client.Page{Limit: 100}})
	for _, task := range tasks.Body.Tasks {
		if task.Attempt != 1 {
			err = errors.Join(err, fmt.Errorf("the neighbour's task %s had %d attempts", task.Name, task.Attempt))
		}
	}
	return err
}

// hireIntruded starts a worker within this process whose probe attacks. leave ends it; told is its log, complete then.
func (w *World) hireIntruded(ctx context.Context, list []attack) (told string, leave func() error, err error) {
	told = filepath.Join(w.home, "logs", "worker-attacked.log")
	file, err := os.OpenFile(told, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, err
	}
	log := slog.New(slog.NewTextHandler(file, nil))
	box, err := sandbox.New(ctx, sandbox.Config{Programs: map[string]string{"python": w.python}, Log: log, Grace: time.Second})
	if err != nil {
		return "", nil, errors.Join(Skip("no sandbox on this machine: %v", err), file.Close())
	}
	if gaps := box.Describe(); gaps.Caps == "rlimits" || !gaps.CallFilter {
		return "", nil, errors.Join(Skip("the sandbox is not whole on this machine: %s", gaps), file.Close())
	}
	home := filepath.Join(w.home, "worker")
	hired, err := worker.New(worker.Config{Queue: w.queue, Engines: engines.NewRegistry(intruder{attacks: list}), Runner: box,
		Offered: []worker.Offer{{Engine: probe.ID, Hardware: engines.HardwareCPU}}, Slots: attackSlots,
		ScratchDir: filepath.Join(home, "scratch"), Version: "chaos", DrainGrace: drainGrace, Log: log})
	if err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	prefix, err := sandbox.GroupPrefix(os.Getpid())
	if err != nil {
		return "", nil, errors.Join(err, file.Close())
	}
	w.mu.Lock()
	w.homes, w.groups = append(w.homes, home), append(w.groups, prefix)
	w.mu.Unlock()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- hired.Run(running) }()
	return told, func() error {
		stop()
		return errors.Join(<-ended, file.Close())
	}, nil
}

// heldBack expects that the worker's own log tells of the attacks that only the sandbox can see.
func heldBack(told string, list []attack) error {
	text, err := os.ReadFile(told)
	if err != nil {
		return err
	}
	want := 0
	for _, a := range list {
		if a.held {
			want++
		}
	}
	if got := strings.Count(string(text), "the sandbox held an engine back"); got < want {
		return fmt.Errorf("the worker's log tells of %d attacks that the sandbox held back, want %d", got, want)
	}
	return nil
}

// bait is a server that nobody may reach.
type bait struct {
	listener net.Listener
	visits   atomic.Int64
	serving  sync.WaitGroup
}

// listen serves an address, e.g. "127.0.0.1:0", and counts who connects. It says nothing to them.
func listen(address string) (*bait, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("lay a bait: %w", err)
	}
	b := &bait{listener: listener}
	b.serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			b.visits.Add(1)
			_ = connection.Close() // nobody is to be there
		}
	})
	return b, nil
}

func (b *bait) address() string { return b.listener.Addr().String() }

func (b *bait) close() {
	_ = b.listener.Close() // the port is all that there is to give back
	b.serving.Wait()
}
