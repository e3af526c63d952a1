package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
)

const (
	// stopGrace is how long a process may take to end after SIGTERM: its own graces and some more.
	stopGrace = 60 * time.Second
	// drainGrace is what workers of a world give their running tasks, short because nobody waits for these.
	drainGrace = 3 * time.Second
	// logTailBytes is how much of a log an error shows.
	logTailBytes = 2 << 10
)

// Process is one process of the real binary. Its methods may be called concurrently, but each start and end by one caller at a
// time.
type Process struct {
	Name string // "api-1", "worker-2"
	URL  string // of an API, the same after a restart; "" for the others

	world *World
	role  string
	env   []string
	under []string // what the program is the last argument but one of; nil for none

	mu       sync.Mutex
	cmd      *exec.Cmd
	exited   chan struct{}
	err      error // what Wait returned; set before exited is closed
	wanted   bool  // it is to run: an end is its own
	paused   bool
	workerID string
}

// PID is the id of the running process, or of the last one.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// WorkerID is a running worker's name in heartbeats and records; a restart gives it another.
func (p *Process) WorkerID() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workerID
}

// Exited is closed when the running process has ended.
func (p *Process) Exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

// Running tells whether the process has not ended. A paused one runs.
func (p *Process) Running() bool {
	select {
	case <-p.Exited():
		return false
	default:
		return true
	}
}

// Log is the file that the process' output is appended to.
func (p *Process) Log() string { return filepath.Join(p.world.home, "logs", p.Name+".log") }

// Start starts the process again after its end, at the same address. An API answers and a worker has sent its first heartbeat when
// it returns.
func (p *Process) Start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	var err error
	switch p.role {
	case roleAPI:
		err = p.awaitAPI(ctx)
	case roleWorker:
		err = p.awaitWorker(ctx)
	}
	if err != nil {
		return fmt.Errorf("start %s: %w; its log ends with:\n%s", p.Name, err, p.tail())
	}
	return nil
}

func (p *Process) launch() error {
	log, err := os.OpenFile(p.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", p.Name, err)
	}
	argv := slices.Concat(p.under, []string{p.world.program, p.role})
	cmd := exec.CommandContext(context.Background(), argv[0], argv[1:]...) // its end is this type's business, not a context's
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, log, log
	if err := proc.Start(cmd); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", p.Name, err), log.Close())
	}
	exited := make(chan struct{})
	p.mu.Lock()
	p.cmd, p.exited, p.wanted, p.paused, p.err, p.workerID = cmd, exited, true, false, nil, ""
	p.mu.Unlock()
	p.world.noteStarted(p, cmd.Process.Pid)
	go func() {
		err := cmd.Wait()
		_ = log.Close()
		p.mu.Lock()
		p.err = err
		if p.wanted {
			p.world.noteDeath(p.Name, err)
		}
		p.mu.Unlock()
		close(exited)
	}()
	return nil
}

// Kill ends the process with SIGKILL, it alone, and waits for its end.
func (p *Process) Kill() error {
	if err := p.end(syscall.SIGKILL); err != nil {
		return err
	}
	p.world.noteKilled(p)
	<-p.Exited()
	return nil
}

// LetEnd says that the process may end by itself.
func (p *Process) LetEnd() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = false
}

// Stop asks the process to end with SIGTERM and waits. Errors: proc.ErrKilled when it would not, and an exit status other than 0.
func (p *Process) Stop(ctx context.Context) error {
	if !p.Running() {
		return nil
	}
	if p.isPaused() {
		if err := p.Continue(); err != nil {
			return err
		}
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		return err
	}
	timer := time.NewTimer(stopGrace)
	defer timer.Stop()
	select {
	case <-p.Exited():
	case <-timer.C:
	case <-ctx.Done():
	}
	if p.Running() {
		return errors.Join(fmt.Errorf("%s did not end within %s of SIGTERM: %w", p.Name, stopGrace, proc.ErrKilled), p.Kill())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return fmt.Errorf("%s ended uncleanly after SIGTERM: %w", p.Name, p.err)
	}
	return nil
}

// Restart kills the process if it runs, and starts it again.
func (p *Process) Restart(ctx context.Context) error {
	if p.Running() {
		if err := p.Kill(); err != nil {
			return err
		}
	}
	return p.Start(ctx)
}

// Pause stops the process with SIGSTOP, it alone: what it has started goes on.
func (p *Process) Pause() error {
	err := p.signal(syscall.SIGSTOP)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = err == nil
	return err
}

// Continue lets a paused process go on.
func (p *Process) Continue() error {
	err := p.signal(syscall.SIGCONT)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused = p.paused && err != nil
	return err
}

func (p *Process) isPaused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paused
}

// end sends a signal that is to end the process.
func (p *Process) end(sig syscall.Signal) error {
	p.mu.Lock()
	p.wanted = false
	p.mu.Unlock()
	return p.signal(sig)
}

func (p *Process) signal(sig syscall.Signal) error {
	if !p.Running() {
		return fmt.Errorf("signal %s: it does not run", p.Name)
	}
	p.mu.Lock()
	process := p.cmd.Process
	p.mu.Unlock()
	if err := process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to %s: %w", sig, p.Name, err)
	}
	return nil
}

// Children are the ids of the processes that the process has started and that have not ended.
func (p *Process) Children() []int {
	var children []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.PID())) // a child belongs to the thread that started it
	for _, path := range tasks {
		text, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				children = append(children, pid)
			}
		}
	}
	return children
}

// tail is the end of the process' log, for errors.
func (p *Process) tail() string {
	text, err := os.ReadFile(p.Log())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-logTailBytes):])
}
