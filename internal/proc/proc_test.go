package proc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/proc"
)

// patience bounds every wait for something that a healthy kernel does in milliseconds.
const patience = 10 * time.Second

// roleEnv makes this test binary play a parent that starts a child and then hangs, to be killed by the test.
const roleEnv = "MOLFABRIC_PROC_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "parent" {
		playParent()
	}
	os.Exit(m.Run())
}

func playParent() {
	child := exec.Command("sleep", "600")
	if err := proc.Start(child); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(child.Process.Pid)
	select {}
}

// start starts a shell script and returns the command and the signal of its end.
func start(t *testing.T, script string) (*exec.Cmd, <-chan struct{}, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Start(cmd); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = proc.SignalGroup(cmd.Process.Pid, syscall.SIGKILL)
		<-exited
	})
	return cmd, exited, bufio.NewScanner(stdout)
}

// line reads one line that the script prints.
func line(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	if !lines.Scan() {
		t.Fatalf("the script printed no line: %v", lines.Err())
	}
	return lines.Text()
}

// alive tells whether pid is a process that has not ended; a zombie has.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func waitDead(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); alive(pid); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("process %d still lives after %v", pid, patience)
		}
	}
}

func TestStartLeadsItsOwnGroup(t *testing.T) {
	t.Parallel()
	shared := &syscall.SysProcAttr{}
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = shared
	if err := proc.Start(cmd); err != nil {
		t.Fatal(err)
	}
	pgid, err := syscall.Getpgid(cmd.Process.Pid)
	if err != nil || pgid != cmd.Process.Pid {
		t.Errorf("group of %d = %d, %v; want the same number", cmd.Process.Pid, pgid, err)
	}
	if shared.Setpgid || shared.Pdeathsig != 0 {
		t.Errorf("Start changed the caller's SysProcAttr: %+v", shared)
	}
	if err := proc.SignalGroup(cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func TestStartWithSession(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := proc.Start(cmd); err != nil {
		t.Fatalf("Start of a session leader: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestStartReportsMissingProgram(t *testing.T) {
	t.Parallel()
	err := proc.Start(exec.Command("/nonexistent/program"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start of a missing program = %v, want %v", err, os.ErrNotExist)
	}
}

// Children survive the end of the thread that asked for them; without the forking thread, Pdeathsig would end them here.
func TestChildSurvivesItsCallersThread(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "600")
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // a goroutine that ends while locked takes its thread with it
		started <- proc.Start(cmd)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	select {
	case <-exited:
		t.Error("the child ended with its caller's thread")
	case <-time.After(200 * time.Millisecond): // an absence can only be watched for a while
	}
	if err := proc.Stop(t.Context(), cmd.Process.Pid, exited, syscall.SIGTERM, patience); err != nil {
		t.Error(err)
	}
}

func TestChildDiesWithThisProcess(t *testing.T) {
	t.Parallel()
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), roleEnv+"=parent")
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(line(t, bufio.NewScanner(stdout)))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(child) {
		t.Fatalf("child %d does not live", child)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitDead(t, child)
}

func TestStopWithinGrace(t *testing.T) {
	t.Parallel()
	cmd, exited, lines := start(t, `trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
	line(t, lines)
	if err := proc.Stop(t.Context(), cmd.Process.Pid, exited, syscall.SIGTERM, patience); err != nil {
		t.Errorf("Stop = %v, want nil", err)
	}
	if err := proc.Stop(t.Context(), cmd.Process.Pid, exited, syscall.SIGTERM, patience); err != nil {
		t.Errorf("second Stop = %v, want nil", err)
	}
}

func TestStopKillsWhatIgnoresItsSignal(t *testing.T) {
	t.Parallel()
	cmd, exited, lines := start(t, `trap '' TERM; sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' & wait`)
	grandchild, err := strconv.Atoi(line(t, lines))
	if err != nil {
		t.Fatal(err)
	}
	err = proc.Stop(t.Context(), cmd.Process.Pid, exited, syscall.SIGTERM, 50*time.Millisecond)
	if !errors.Is(err, proc.ErrKilled) {
		t.Errorf("Stop = %v, want %v", err, proc.ErrKilled)
	}
	waitDead(t, grandchild)
}

func TestStopEndsWhatOutlivesItsLeader(t *testing.T) {
	t.Parallel()
	// The grandchild closes the pipe, or cmd.Wait would wait for it and not for the leader alone.
	cmd, exited, lines := start(t, `trap 'exit 0' TERM
		sh -c 'trap "" TERM; echo $$; exec >&- 2>&-; while :; do sleep 0.05; done' & while :; do sleep 0.01; done`)
	grandchild, err := strconv.Atoi(line(t, lines))
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Stop(t.Context(), cmd.Process.Pid, exited, syscall.SIGTERM, patience); err != nil {
		t.Errorf("Stop = %v, want nil", err)
	}
	waitDead(t, grandchild)
}

func TestStopOnCancelledContextKills(t *testing.T) {
	t.Parallel()
	cmd, exited, lines := start(t, `trap '' TERM; echo ready; while :; do sleep 0.01; done`)
	line(t, lines)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := proc.Stop(ctx, cmd.Process.Pid, exited, syscall.SIGTERM, time.Hour); !errors.Is(err, proc.ErrKilled) {
		t.Errorf("Stop = %v, want %v", err, proc.ErrKilled)
	}
}

func TestSignalGroupRefusesEverybody(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{-1, 0, 1} {
		if err := proc.SignalGroup(pid, 0); err == nil {
			t.Errorf("SignalGroup(%d) = nil, want an error", pid)
		}
	}
}
