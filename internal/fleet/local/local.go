// Package local runs workers as processes of this machine: the driver of a keeper for a single host, and for trying pools.
package local

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

	"github.com/molfabric/molfabric/internal/fleet/keeper"
)

// Driver starts workers that live on when this process ends, and finds them again by their environment.
type Driver struct {
	File keeper.File

	mu    sync.Mutex
	ended []keeper.Allocation // of this process' own starts
}

var _ keeper.Driver = (*Driver)(nil)

const (
	jobEnv   = "MOLFABRIC_FLEET_JOB"   // holds keeper.JobName
	startEnv = "MOLFABRIC_FLEET_START" // in seconds since 1970
	// remember is how long an end is told.
	remember = 5 * time.Minute
)

// Check looks whether the program is there.
func (d *Driver) Check(_ context.Context, p keeper.Pool) error {
	if field := p.OfSlurm(); field != "" {
		return fmt.Errorf("%s: has a meaning in Slurm alone", field)
	}
	if _, err := exec.LookPath(d.File.Worker.Program); err != nil {
		return fmt.Errorf("worker.program: %w", err)
	}
	return nil
}

// Start starts a worker, unless one with the token runs.
func (d *Driver) Start(ctx context.Context, p keeper.Pool, token string) error {
	found, err := d.List(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(a keeper.Allocation) bool { return a.Token == token }) {
		return nil
	}
	if err := os.MkdirAll(d.File.Worker.Logs, 0o755); err != nil {
		return fmt.Errorf("worker.logs: %w", err)
	}
	name := keeper.JobName(d.File.Fleet, p.Name, token)
	log, err := os.OpenFile(filepath.Join(d.File.Worker.Logs, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("worker.logs: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command("/bin/sh", "-c", d.script(p)) //nolint:noctx // it outlives the keeper
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.Env = append(os.Environ(), jobEnv+"="+name, fmt.Sprintf("%s=%d", startEnv, time.Now().Unix()),
		"MOLFABRIC_WORKER_NAME="+d.worker(token), "MOLFABRIC_PREVIEWS=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	go d.await(cmd, keeper.Allocation{ID: strconv.Itoa(cmd.Process.Pid), Pool: p.Name, Token: token, Worker: d.worker(token),
		Cores: p.Cores, Since: began})
	return nil
}

// script starts the worker in the place of the shell.
func (d *Driver) script(p keeper.Pool) string {
	w := d.File.Worker
	var lines []string
	if w.Environment != "" {
		lines = append(lines, "set -a", ". "+quote(w.Environment)+" || exit 1", "set +a")
	}
	gpus := "off"
	if p.GPUs > 0 {
		gpus = "auto"
	}
	return strings.Join(append(lines, w.Setup, "export MOLFABRIC_GPUS="+gpus, "export MOLFABRIC_DRAIN_GRACE="+p.DrainGrace.String(),
		fmt.Sprintf("export MOLFABRIC_MEMORY_BYTES=%d", int64(p.MemoryMiB)<<20),
		fmt.Sprintf("exec %s worker --slots %d --walltime %s --idle-exit %s", quote(w.Program), p.Cores, p.Walltime, p.IdleExit)),
		"\n")
}

// await remembers how a worker ended.
func (d *Driver) await(cmd *exec.Cmd, a keeper.Allocation) {
	err := cmd.Wait()
	a.State, a.Until = keeper.Ended, time.Now()
	if err != nil {
		a.State, a.Reason = keeper.Failed, err.Error()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = append(d.ended, a)
}

// List looks through the processes of this user for those that carry a token in their environment.
func (d *Driver) List(context.Context) ([]keeper.Allocation, error) {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(processes) == 0 {
		return nil, errors.Join(errors.New("list processes: /proc has none"), err)
	}
	byToken := map[string]keeper.Allocation{}
	for _, dir := range processes {
		if a, ok := d.read(dir); ok {
			byToken[a.Token] = a
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = slices.DeleteFunc(d.ended, func(a keeper.Allocation) bool { return time.Since(a.Until) > remember })
	found := slices.Clone(d.ended)
	for token, a := range byToken {
		if !slices.ContainsFunc(d.ended, func(e keeper.Allocation) bool { return e.Token == token }) {
			found = append(found, a)
		}
	}
	return found, nil
}

// read reads one process; ok is false for those that are not the fleet's.
func (d *Driver) read(dir string) (a keeper.Allocation, ok bool) {
	if !leads(dir) {
		return a, false
	}
	var name string
	for line := range strings.SplitSeq(environmentOf(dir), "\x00") {
		key, value, _ := strings.Cut(line, "=")
		switch key {
		case jobEnv:
			name = value
		case startEnv:
			if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
				a.Since = time.Unix(seconds, 0).UTC()
			}
		}
	}
	if a.Pool, a.Token, ok = keeper.ReadJobName(name, d.File.Fleet); !ok {
		return a, false
	}
	a.ID, a.Worker, a.State = filepath.Base(dir), d.worker(a.Token), keeper.Running
	for _, p := range d.File.Pools {
		if p.Name == a.Pool {
			a.Cores, a.Until = p.Cores, a.Since.Add(p.Walltime)
		}
	}
	return a, true
}

// environmentOf is the environment of a process; "" of another user's, and of one that is gone. While a process takes on another
// program it has none for a moment, which is waited for: the shell becomes the worker right after its start.
func environmentOf(dir string) string {
	const moment, looks = time.Millisecond, 50
	for range looks {
		text, err := os.ReadFile(dir + "/environ")
		if err != nil || len(text) > 0 {
			return string(text)
		}
		time.Sleep(moment)
	}
	return ""
}

// leads tells whether a process leads its session, as what Start starts does and what a worker starts does not.
func leads(dir string) bool {
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return false
	}
	// After the name, which may hold anything and ends with the last parenthesis: state, parent, group, session.
	_, after, _ := strings.Cut(string(stat[max(0, strings.LastIndex(string(stat), ")")):]), " ")
	fields := strings.Fields(after)
	return len(fields) > 3 && fields[0] != "Z" && fields[3] == filepath.Base(dir)
}

// Cancel has nothing to take back: a process runs from its start on.
func (d *Driver) Cancel(context.Context, []string) error { return nil }

func (d *Driver) worker(token string) string { return "local/" + d.File.Fleet + "/" + token }

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
