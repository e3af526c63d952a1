package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/internal/proc"
)

const (
	// statusFD and filterFD are the launcher's descriptors for its report and for the filter that it is to put on the command.
	statusFD, filterFD = 3, 4
	// shell starts every command: a process must be in its control group before it can fork, and this one writes itself
	// there before it becomes the launcher.
	shell = "/bin/sh"
	// joinIsolated joins the groups named before "--" and becomes what follows. bwrap itself reports on descriptor 3.
	joinIsolated = `while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"`
	// joinDirect does the same and reports on descriptor 3 as bwrap would that the program was reached.
	joinDirect = `while [ "$1" != -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; echo '{"child-pid":'$$'}' >&3; exec "$@" 3>&-`
	// maxStatusBytes bounds what a launcher reports.
	maxStatusBytes = 64 << 10
	// killPatience is how long the killed first process of a sandbox has to take bwrap with it before bwrap is killed too.
	killPatience = 2 * time.Second
	// setUpPatience is how long a launcher has to name the sandbox's first process before it is taken for one that hangs.
	setUpPatience = time.Second
	// lookEvery is how often the files below out/ are counted, of which a program writes at most a few gigabytes in that time, and
	// what it uses is held against what it may.
	lookEvery = time.Second
	// outputPatience is how long output is still read after the end: whoever still holds the pipe then has escaped Direct.
	outputPatience = time.Second
)

// process is a started command.
type process struct {
	cmd      *exec.Cmd
	isolated bool
	group    *group
	capture  *capture
	streams  []*os.File // reading ends
	readers  sync.WaitGroup
	started  time.Time
	wall     time.Duration
	exited   chan struct{} // closed when the launcher has been reaped and its report read
	adopted  chan struct{} // closed when childFD is held

	mu       sync.Mutex
	childPid int  // first process of the sandbox, or 0 before it is known
	childFD  int  // pidfd of it, or -1
	finished bool // bwrap reported the program's exit code
}

// start starts a staged command inside g, which may be nil. Its output goes to capture; meter, which may be nil, reads it from its
// first line on.
func start(s *stage, g *group, capture *capture, meter *Meter) (*process, error) {
	p := &process{isolated: s.isolated, group: g, capture: capture, exited: make(chan struct{}),
		adopted: make(chan struct{}), childFD: -1}
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	for range 3 { // standard output, standard error, the launcher's report
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...))
			return nil, fmt.Errorf("make pipe: %w", err)
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	defer func() { closeAll(theirs) }()

	script, args := joinDirect, []string{}
	if s.isolated {
		script = joinIsolated
	}
	if g != nil {
		args = g.joinFiles()
	}
	args = append([]string{"sh", "-c", script, "sandbox"}, append(append(args, "--"), s.argv...)...)
	if s.filter != nil {
		filter, err := filledPipe(s.filter)
		if err != nil {
			closeAll(ours)
			return nil, fmt.Errorf("hand over the filter of system calls: %w", err)
		}
		theirs = append(theirs, filter)
	}
	p.cmd = &exec.Cmd{Path: shell, Args: args, Env: s.env, Dir: s.dir, Stdout: theirs[0], Stderr: theirs[1], ExtraFiles: theirs[2:]}
	if s.stdin != nil { // a nil file is not the same as no reader
		p.cmd.Stdin = s.stdin
	}
	p.started = time.Now()
	if err := proc.Start(p.cmd); err != nil {
		closeAll(ours)
		return nil, fmt.Errorf("start sandbox: %w", err)
	}
	p.streams = ours[:2]
	meter.watch(p)
	p.readers.Go(func() { capture.readOutput(ours[0]) })
	p.readers.Go(func() { capture.readErrors(ours[1]) })
	go p.reap(ours[2])
	return p, nil
}

// filledPipe is the reading end of a pipe that holds content and then ends. The content must fit into a pipe (chunkBytes).
func filledPipe(content []byte) (*os.File, error) {
	if len(content) > chunkBytes {
		return nil, fmt.Errorf("%d bytes: at most %d fit", len(content), chunkBytes)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		r.Close()
		w.Close()
		return nil, err
	}
	if err := w.Close(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// reap reads the launcher's report, which ends with it, and waits for it. It is the one goroutine that closes p.exited.
func (p *process) reap(report *os.File) {
	defer close(p.exited)
	defer report.Close()
	decoder := json.NewDecoder(io.LimitReader(report, maxStatusBytes))
	for {
		var status struct {
			ChildPid int  `json:"child-pid"`
			ExitCode *int `json:"exit-code"`
		}
		if decoder.Decode(&status) != nil {
			break
		}
		p.mu.Lock()
		if status.ChildPid > 0 && p.childPid == 0 {
			p.adopt(status.ChildPid)
		}
		p.finished = p.finished || status.ExitCode != nil
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // its exit code is read from ProcessState
	p.wall = time.Since(p.started)
	p.awaitNamespace()
}

// adopt takes hold of the sandbox's first process by descriptor, so that its number may be reused without harm. The caller
// holds p.mu. The launcher is not reaped yet, so a process that still has it as its parent is the right one.
func (p *process) adopt(pid int) {
	p.childPid = pid
	if !p.isolated {
		return
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has ended
	}
	if stat, err := readStat(pid); err != nil || stat.parent != p.cmd.Process.Pid {
		unix.Close(fd)
		return
	}
	p.childFD = fd
	close(p.adopted)
}

// awaitNamespace waits for the end of the sandbox's first process. bwrap has reaped it, unless bwrap itself was killed; the
// kernel ends all the others of its namespace before that end can be seen.
func (p *process) awaitNamespace() {
	p.mu.Lock()
	fd := p.childFD
	p.childFD = -1
	p.mu.Unlock()
	if fd < 0 {
		return
	}
	defer unix.Close(fd)
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // ended already, nearly always
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// wait waits for the command's end and brings it about when ctx is cancelled, limit passes or look gives a reason at one of the
// times that it is asked; it then returns why.
func (p *process) wait(ctx context.Context, limit, grace time.Duration, look func() Reason) (stopped Reason) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for stopped == "" {
		select {
		case <-p.exited:
			return ""
		case <-timer.C:
			stopped = TimedOut
		case <-ctx.Done():
			stopped = Cancelled
		case <-ticker.C:
			stopped = look()
		}
	}
	p.terminate()
	if p.exitsWithin(grace) {
		return stopped
	}
	p.kill()
	if !p.exitsWithin(killPatience) {
		_ = proc.SignalGroup(p.cmd.Process.Pid, syscall.SIGKILL) // it can only have ended
		<-p.exited
	}
	return stopped
}

func (p *process) exitsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
		return false
	}
}

// terminate asks every process of the command to end. The launcher is left out: it would take the rest with it at once.
// The kernel drops the signal for the first process of the namespace.
func (p *process) terminate() {
	if p.isolated {
		p.awaitAdoption()
	}
	p.mu.Lock()
	child, fd := p.childPid, p.childFD
	p.mu.Unlock()
	switch {
	case p.isolated && fd >= 0:
		signalNamespace(child, unix.SIGTERM)
	case p.isolated:
		p.kill() // the launcher hangs before the program: nothing of the program's can be lost
	case p.group != nil:
		for _, pid := range p.group.pids() {
			_ = unix.Kill(pid, unix.SIGTERM) // ended meanwhile
		}
	default:
		_ = proc.SignalGroup(p.cmd.Process.Pid, syscall.SIGTERM)
	}
}

// awaitAdoption waits until the sandbox's first process is held. bwrap names it before the program starts, but on a busy machine
// the program may already run, and have something to save, when that is read.
func (p *process) awaitAdoption() {
	timer := time.NewTimer(setUpPatience)
	defer timer.Stop()
	select {
	case <-p.adopted:
	case <-p.exited:
	case <-timer.C:
	}
}

// kill ends every process of the command that can be reached. The end of a namespace's first process is the end of all.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.childFD >= 0 {
		_ = unix.PidfdSendSignal(p.childFD, unix.SIGKILL, nil, 0)
		return
	}
	select {
	case <-p.exited: // the group's number may be another's by now
	default:
		_ = proc.SignalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
	}
	if p.group != nil {
		p.group.kill()
	}
}

// signalNamespace sends a signal to every process in the process namespace that first leads.
func signalNamespace(first int, signal unix.Signal) {
	namespace, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", first))
	if err != nil {
		return
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		link := fmt.Sprintf("/proc/%d/ns/pid", pid)
		if ns, err := os.Readlink(link); err != nil || ns != namespace {
			continue
		}
		// Taken hold of first and looked at again: between the two looks the number may have gone to another.
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if ns, err := os.Readlink(link); err == nil && ns == namespace {
			_ = unix.PidfdSendSignal(fd, signal, nil, 0)
		}
		unix.Close(fd)
	}
}

// finishOutput waits for the end of the output and closes the log.
func (p *process) finishOutput() error {
	if !p.isolated {
		// The leader was reaped a moment ago; others of its group may still write.
		_ = proc.SignalGroup(p.cmd.Process.Pid, syscall.SIGKILL)
	}
	for _, stream := range p.streams {
		_ = stream.SetReadDeadline(time.Now().Add(outputPatience)) // pipes have deadlines
	}
	p.readers.Wait()
	for _, stream := range p.streams {
		stream.Close()
	}
	return p.capture.close()
}

// exit returns the exit code and the signal that ended the program, as Outcome describes them.
func (p *process) exit() (code int, signal syscall.Signal) {
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return 128 + int(status.Signal()), status.Signal()
	}
	code = status.ExitStatus()
	if p.isolated && code > 128 && code < 128+65 {
		signal = syscall.Signal(code - 128)
	}
	return code, signal
}

// startError tells whether the program was never reached, which is the sandbox's failure and not the program's. tail is
// what the launcher printed.
func (p *process) startError(tail string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if p.childPid == 0 || (p.isolated && !p.finished && !status.Signaled()) {
		return fmt.Errorf("the sandbox did not start: %s", tail)
	}
	return nil
}

// usage is what the kernel counted for the launcher and all it waited for.
func (p *process) usage() Usage {
	u := Usage{Wall: p.wall}
	if r, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.CPUMicroseconds = (r.Utime.Nano() + r.Stime.Nano()) / 1000
		u.PeakMemoryBytes = r.Maxrss << 10 // in KiB, getrusage(2)
	}
	return u
}
