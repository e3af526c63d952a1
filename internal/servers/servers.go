// Package servers runs the stores that molfabric needs on one machine, Postgres, Redis and an S3 server, as child processes
// of this one: on loopback and a free port, with a generated password, in a data directory of their own under a lock. They end
// with this process whatever its end. The package holds no schema, no keys and no client: it hands out addresses.
//
// A started server lives until Stop is called or it ends by itself; the context of a start bounds only the start.
package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
)

// installCommand installs every program of this machine that molfabric runs but does not bring.
const installCommand = "sudo apt-get install postgresql redis-server bubblewrap"

const (
	// startPatience bounds a start. Crash recovery of a busy database takes seconds; a minute without an answer is a fault.
	startPatience = 60 * time.Second
	// pollInterval is short against what a start takes (40 to 100 ms).
	pollInterval = 5 * time.Millisecond
	// probePatience bounds one try to connect, so that a hung server costs one poll and not the whole start.
	probePatience = time.Second
	// stopGrace is what a server gets to write what it holds, before SIGKILL. Both recover from that too, only more slowly.
	stopGrace = 30 * time.Second
	// pipeGrace bounds the wait for the log pipe after the server's end: its own children may hold the pipe a moment longer.
	pipeGrace = 3 * time.Second
	// portAttempts bounds how often another port is tried: one is taken between its choice and its use only by chance.
	portAttempts = 5
	// firstLastingPort and lastingPorts are what lies between the ports of known services and Linux' first port for outgoing
	// connections.
	firstLastingPort, lastingPorts = 20_000, 12_768
	// lastingTries draws find a free one of them unless nearly all are taken.
	lastingTries = 100
)

// MissingError says that a program is not installed, and how to install it.
type MissingError struct {
	Program string // e.g. "redis-server"
	Install string // the command for a person to run
	Places  string // where it was looked for, when that is not the PATH alone
}

func (e *MissingError) Error() string {
	text := fmt.Sprintf("%s is not installed; install it with: %s", e.Program, e.Install)
	if e.Places != "" {
		text += " (it was looked for " + e.Places + ")"
	}
	return text
}

// errPortTaken is a start that failed only because another process took the port first.
var errPortTaken = errors.New("port was taken")

// PortTakenError says that another program has the one port that a server must listen on.
type PortTakenError struct{ Port int }

func (e *PortTakenError) Error() string {
	return fmt.Sprintf("port %d of 127.0.0.1 is taken by another program", e.Port)
}

// errPermanent marks a probe's answer that no further try will change.
var errPermanent = errors.New("will not change")

// server is one running child and what its end needs.
type server struct {
	name   string
	port   int
	cmd    *exec.Cmd
	tail   *tail
	stopBy syscall.Signal
	done   chan struct{} // closed when the child has been waited for and its directory is free again
	// wanted is set while the server is wanted to run: between its readiness and the call of Stop.
	wanted atomic.Bool
}

// PID is the server's process id, which is also its process group.
func (s *server) PID() int { return s.cmd.Process.Pid }

// Done is closed when the server has ended, by Stop or by itself; its directory can then be started again.
func (s *server) Done() <-chan struct{} { return s.done }

// Stop lets the server write what it holds and waits for its end; a server that needs longer than its grace, or than ctx
// allows, is killed, which is reported as proc.ErrKilled and costs what a crash costs (see the starts). It may be called
// repeatedly and concurrently; on an ended server it returns nil.
func (s *server) Stop(ctx context.Context) error {
	s.wanted.Store(false)
	if err := proc.Stop(ctx, s.PID(), s.done, s.stopBy, stopGrace); err != nil {
		return fmt.Errorf("stop %s: %w", s.name, err)
	}
	return nil
}

// command is what differs between the servers at their start.
type command struct {
	name   string
	argv   []string
	env    []string // beside the home's
	stopBy syscall.Signal
	// taken is what the server's log says when its port is not free.
	taken string
}

// launch starts c below h and waits until probe succeeds. It takes h: when the server has ended, or never began, h is
// closed.
func launch(
	ctx context.Context, c command, h *home, port int, log *slog.Logger, probe func(context.Context) error,
) (*server, error) {
	s := &server{name: c.name, port: port, tail: newTail(log.With("server", c.name)), stopBy: c.stopBy, done: make(chan struct{})}
	s.cmd = exec.Command(c.argv[0], c.argv[1:]...)
	s.cmd.Dir = "/" // the working directory of this process may be closed to the server's user
	s.cmd.Env = append(h.environment(), c.env...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.credential}
	s.cmd.Stdout, s.cmd.Stderr = s.tail, s.tail
	s.cmd.WaitDelay = pipeGrace
	if err := proc.Start(s.cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", c.name, err), h.close())
	}
	go s.wait(h, log)
	if err := s.awaitReady(ctx, probe); err != nil {
		_ = proc.Stop(ctx, s.PID(), s.done, syscall.SIGKILL, stopGrace) // the error that counts is the start's
		<-s.done
		text := s.tail.String()
		if strings.Contains(text, c.taken) {
			err = errPortTaken
		}
		return nil, fmt.Errorf("start %s in %s: %w; its log ends with:\n%s", c.name, h.dir, err, text)
	}
	s.wanted.Store(true)
	return s, nil
}

// wait waits for the server's end, tells why when nobody wanted it, and frees its directory.
func (s *server) wait(h *home, log *slog.Logger) {
	err := s.cmd.Wait()
	if s.wanted.Load() {
		log.Error("server ended by itself", "server", s.name, "error", err, "its_log", s.tail.String())
	}
	if err := h.close(); err != nil {
		log.Error("data directory not released", "server", s.name, "error", err)
	}
	close(s.done)
}

// awaitReady polls until probe succeeds, the server ends, or patience does.
func (s *server) awaitReady(ctx context.Context, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := tryOnce(ctx, probe)
		if err == nil || errors.Is(err, errPermanent) {
			return err
		}
		select {
		case <-s.done:
			return fmt.Errorf("it ended by itself (%v)", s.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w (last answer: %w)", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

func tryOnce(ctx context.Context, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	return probe(ctx)
}

// onFreePort calls start with a free port, and again with another while it fails only because somebody took it first.
func onFreePort[S any](start func(port int) (S, error)) (S, error) { return onPort(freePort, start) }

// onPort is onFreePort with ports of choose.
func onPort[S any](choose func() (int, error), start func(port int) (S, error)) (S, error) {
	for attempt := 1; ; attempt++ {
		var none S
		port, err := choose()
		if err != nil {
			return none, err
		}
		s, err := start(port)
		if err == nil || !errors.Is(err, errPortTaken) || attempt == portAttempts {
			return s, err
		}
	}
}

// freePort asks the kernel for a TCP port of 127.0.0.1 that nobody listens on.
func freePort() (int, error) { return listenOnce(0) }

// LastingPort finds a free port of 127.0.0.1 outside the range from which kernels take those of outgoing connections, so that no
// such connection has it when a server starts again.
func LastingPort() (port int, err error) {
	for range lastingTries {
		drawn, _ := rand.Int(rand.Reader, big.NewInt(lastingPorts)) // never fails
		if port, err = listenOnce(firstLastingPort + int(drawn.Int64())); err == nil {
			return port, nil
		}
	}
	return freePort()
}

// listenOnce listens on a port of 127.0.0.1, 0 for any, and returns the one it had.
func listenOnce(port int) (int, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
