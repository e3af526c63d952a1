// Package proc starts child processes that cannot outlive this one and ends whole process groups. It holds nothing about
// what the children do: servers, sandboxes and workers are built on it by others.
//
// Linux ends a child with its Pdeathsig when the thread that forked it ends, not when the process does, and the Go runtime
// ends threads as it likes. So every child is forked from one OS thread that lives as long as this process.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// ErrKilled says that a process group ignored its signal for the whole grace and was ended with SIGKILL.
var ErrKilled = errors.New("process group was killed: it had not ended within its grace")

// request is one cmd.Start to be made on the forking thread.
type request struct {
	cmd    *exec.Cmd
	result chan error
}

// forker starts the forking thread at its first call and returns the way to it. The goroutine is locked to its thread and
// has no end on purpose: its end would end every child.
var forker = sync.OnceValue(func() chan<- request {
	requests := make(chan request)
	go fork(requests)
	return requests
})

func fork(requests <-chan request) {
	runtime.LockOSThread()
	for r := range requests {
		r.result <- r.cmd.Start()
	}
}

// Start starts cmd in a process group of its own, to be killed with this process. It adds to what cmd.SysProcAttr already
// asks for (which is copied, so that a shared value is safe) and returns what cmd.Start returns. The caller waits with
// cmd.Wait. Calls may be concurrent; they are served one after the other.
func Start(cmd *exec.Cmd) error {
	attr := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		attr = *cmd.SysProcAttr
	}
	// A session leader already leads a group, and the kernel refuses to let it lead another.
	attr.Setpgid = !attr.Setsid
	attr.Pgid = 0
	attr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr = &attr

	r := request{cmd: cmd, result: make(chan error, 1)}
	forker() <- r
	return <-r.result
}

// SignalGroup sends sig to every process of the group that the process pid leads. A group that has ended already is not
// an error. It must not be called after pid was waited for long ago: the number may belong to another group by then.
func SignalGroup(pid int, sig syscall.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("signal process group %d: not a child's process id", pid)
	}
	err := syscall.Kill(-pid, sig)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to process group %d: %w", sig, pid, err)
	}
	return nil
}

// Stop ends the group that pid leads: it sends sig, gives the leader grace to end, then sends SIGKILL to all that is left
// and waits for the leader. exited must be closed by whoever waits for the leader, after cmd.Wait has returned. A cancelled
// ctx cuts the grace short; Stop still waits for the leader's end, which SIGKILL makes certain.
//
// It returns nil when the leader ended by itself within the grace and ErrKilled when it had to be killed.
func Stop(ctx context.Context, pid int, exited <-chan struct{}, sig syscall.Signal, grace time.Duration) error {
	select {
	case <-exited:
		return nil
	default:
	}
	if err := SignalGroup(pid, sig); err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-exited:
		// Descendants that outlive their leader keep the group's number taken, so this reaches them or nobody.
		return SignalGroup(pid, syscall.SIGKILL)
	case <-timer.C:
	case <-ctx.Done():
	}
	if err := SignalGroup(pid, syscall.SIGKILL); err != nil {
		return err
	}
	<-exited
	return ErrKilled
}
