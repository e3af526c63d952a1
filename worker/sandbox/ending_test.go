package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
)

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *Runner) {
		spec := shellSpec(t, "sleep 60")
		spec.Needs.TimeLimit = 300 * time.Millisecond
		got := mustRun(t, r, spec)
		if got.Reason != TimedOut || got.Usage.Wall < spec.Needs.TimeLimit || got.Usage.Wall > 30*time.Second {
			t.Errorf("ended as %s after %v, want %s after %v", got.Reason, got.Usage.Wall, TimedOut, spec.Needs.TimeLimit)
		}
	})
}

func TestStoppedProgramMayEndWell(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *Runner) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		spec := shellSpec(t, `trap 'echo saved >out/checkpoint; exit 0' TERM; echo ready; while :; do sleep 0.05; done`)
		got, err := r.Run(ctx, spec, func(string) { cancel() })
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, Cancelled, 0)
		if _, err := os.Stat(spec.Dir.Out("checkpoint")); err != nil {
			t.Errorf("the program could not save: %v; log: %s", err, got.LogTail)
		}
	})
}

// stubborn ignores SIGTERM, leaves its session and its parent, and says when it is there. The names of its processes are
// made unique by an argument.
const stubborn = `trap '' TERM
(setsid sh -c 'trap "" TERM; echo ready; while :; do sleep 1; done' %[1]s &)
while :; do sleep 1; done`

func TestCancelEndsTheWholeTree(t *testing.T) {
	t.Parallel()
	for _, mode := range modes[:4] { // the last cannot reach a process that left its group, and says so
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			cfg := mode.cfg
			cfg.Grace = 200 * time.Millisecond
			r := newRunner(t, cfg)
			if cfg.Isolation == Direct {
				needsGroups(t, r)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			marker := "marker-" + filepath.Base(t.TempDir()) + "-" + mode.name + strconv.Itoa(os.Getpid())
			var cancelled time.Time
			got, err := r.Run(ctx, shellSpec(t, fmt.Sprintf(stubborn, marker)), func(string) {
				cancelled = time.Now()
				cancel()
			})
			if err != nil {
				t.Fatal(err)
			}
			if got.Reason != Cancelled {
				t.Errorf("ended as %s, want %s", got.Reason, Cancelled)
			}
			if took := time.Since(cancelled); took < cfg.Grace || took > cfg.Grace+killPatience {
				t.Errorf("took %v to end, want a little more than %v", took, cfg.Grace)
			}
			if pids := withArgument(t, marker); len(pids) > 0 {
				t.Errorf("processes %v outlived their command", pids)
			}
		})
	}
}

func TestCancelledBeforeTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := newRunner(t, Config{}).Run(ctx, shellSpec(t, "true"), nil)
	if err != nil || got.Reason != Cancelled {
		t.Errorf("got %v, %v, want %s", got.Reason, err, Cancelled)
	}
}

// TestLeftBehindProcessesEnd lets a program end while a child of it lives.
func TestLeftBehindProcessesEnd(t *testing.T) {
	t.Parallel()
	for _, mode := range modes[:4] {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, mode.cfg)
			if mode.cfg.Isolation == Direct {
				needsGroups(t, r)
			}
			marker := "left-" + mode.name + strconv.Itoa(os.Getpid())
			got := mustRun(t, r, shellSpec(t, fmt.Sprintf("(setsid sh -c 'echo ready; while :; do sleep 1; done' %s &) ; exit 3",
				marker)))
			expect(t, got, Exited, 3)
			if pids := withArgument(t, marker); len(pids) > 0 {
				t.Errorf("processes %v outlived their command", pids)
			}
		})
	}
}

// parentMain is the worker of TestKillOfTheWorkerEndsTheTree.
func parentMain(dir string) int {
	cfg := Config{Limits: Limits(os.Getenv("MOLFABRIC_TEST_SANDBOX_LIMITS"))}
	r, err := New(context.Background(), cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	spec := Spec{Dir: engines.Dir(dir), Needs: testNeeds,
		Command: engines.Command{Argv: []string{"sh", "-c", fmt.Sprintf(stubborn, filepath.Base(dir))}}}
	if _, err := r.Run(context.Background(), spec, func(line string) { fmt.Println(line) }); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 1
}

func TestKillOfTheWorkerEndsTheTree(t *testing.T) {
	t.Parallel()
	for _, limits := range []Limits{LimitsAuto, LimitsRlimits} {
		t.Run(string(limits), func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, Config{Limits: limits})
			dir, err := os.MkdirTemp(t.TempDir(), "worker-")
			if err != nil {
				t.Fatal(err)
			}
			parent := exec.CommandContext(t.Context(), os.Args[0])
			parent.Env = append(os.Environ(), parentDir+"="+dir, "MOLFABRIC_TEST_SANDBOX_LIMITS="+string(limits))
			parent.Stderr = os.Stderr
			stdout, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := stdout.Read(make([]byte, 64)); err != nil { // "ready"
				t.Fatal(err)
			}
			if len(withArgument(t, filepath.Base(dir))) == 0 {
				t.Fatal("the command is not there")
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = parent.Wait() // killed
			eventually(t, "the tree has ended", func() bool { return len(withArgument(t, filepath.Base(dir))) == 0 })
			if limits == LimitsRlimits {
				return
			}
			needsGroups(t, r)
			if removed, err := r.SweepStale(); err != nil || removed == 0 {
				t.Errorf("swept %d groups, %v, want the dead worker's", removed, err)
			}
		})
	}
}

// withArgument finds living processes by one of their arguments.
func withArgument(t testing.TB, argument string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline")) // empty for the dead
		if strings.Contains(string(text), argument+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// eventually polls a condition that nobody announces.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
