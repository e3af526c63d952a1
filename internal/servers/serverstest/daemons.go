package serverstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
	"github.com/molfabric/molfabric/internal/servers"
)

const (
	// daemonPatience bounds every wait: what is waited for takes seconds on a quiet machine, which that of a test rarely is.
	daemonPatience = 3 * time.Minute
	daemonPoll     = 50 * time.Millisecond
	// daemonGrace is what a daemon gets to end.
	daemonGrace = 10 * time.Second
	// logTailBytes is how much of each log is shown.
	logTailBytes = 3000
)

// Daemons are programs that make a cluster for a test, all below one directory, where each has a log of its own.
type Daemons struct {
	T   testing.TB
	Dir string
	Env []string // beside the test's own

	started []*Daemon
}

// Daemon is one running program.
type Daemon struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// Start starts a program whose output goes into the log called name.
func (d *Daemons) Start(name, program string, args ...string) *Daemon {
	d.T.Helper()
	log, err := os.OpenFile(filepath.Join(d.Dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.T.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	one := &Daemon{cmd: exec.Command(program, args...), done: make(chan struct{})}
	one.cmd.Env = append(os.Environ(), d.Env...)
	one.cmd.Stdout, one.cmd.Stderr = log, log
	if err := proc.Start(one.cmd); err != nil {
		d.T.Fatal(err)
	}
	go func() {
		_ = one.cmd.Wait()
		close(one.done)
	}()
	d.started = append(d.started, one)
	return one
}

// Stop ends a daemon with SIGTERM. One that has ended already is left alone.
func (d *Daemon) Stop() error {
	return proc.Stop(context.Background(), d.cmd.Process.Pid, d.done, syscall.SIGTERM, daemonGrace)
}

// Stop ends all daemons, the last one first.
func (d *Daemons) Stop() {
	for i := len(d.started) - 1; i >= 0; i-- {
		_ = d.started[i].Stop()
	}
}

// Eventually waits until something holds, and ends the test with all logs when it does not.
func (d *Daemons) Eventually(what string, holds func() bool) {
	d.T.Helper()
	for end := time.Now().Add(daemonPatience); time.Now().Before(end); <-time.After(daemonPoll) {
		if holds() {
			return
		}
	}
	d.T.Fatalf("not within %s: %s\n%s", daemonPatience, what, d.Logs())
}

// Logs are the last lines of all logs in the directory.
func (d *Daemons) Logs() string {
	var all strings.Builder
	paths, _ := filepath.Glob(filepath.Join(d.Dir, "*.log"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&all, "--- %s\n%s\n", filepath.Base(path), text[max(0, len(text)-logTailBytes):])
	}
	return all.String()
}

// FreePorts are different ports of loopback that nobody listens on, and that no outgoing connection takes meanwhile.
func FreePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for len(ports) < n {
		port, err := servers.LastingPort()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(ports, port) {
			ports = append(ports, port)
		}
	}
	return ports
}
