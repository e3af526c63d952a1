package sandbox

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// parentDir, in the environment of this test binary, makes it the parent of one sandbox instead of running tests.
const parentDir = "MOLFABRIC_TEST_SANDBOX_PARENT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentDir); dir != "" {
		os.Exit(parentMain(dir))
	}
	if dir := os.Getenv(commonerDir); dir != "" {
		os.Exit(commonerMain(dir))
	}
	code := m.Run()
	if dir, _ := localImages(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

type mode struct {
	name string
	cfg  Config
}

// modes are all the ways to run a command.
var modes = []mode{
	{"bubblewrap", Config{Isolation: Bubblewrap}},
	{"bubblewrap-rlimits", Config{Isolation: Bubblewrap, Limits: LimitsRlimits}},
	{"container", Config{Isolation: Container}},
	{"direct", Config{Isolation: Direct}},
	{"direct-rlimits", Config{Isolation: Direct, Limits: LimitsRlimits}},
}

func eachMode(t *testing.T, test func(t *testing.T, r *Runner)) {
	t.Helper()
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			test(t, newRunner(t, mode.cfg))
		})
	}
}

// missing skips a test whose program is not there, and fails it where everything must be.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("MOLFABRIC_TEST_REQUIRE") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

func newRunner(t testing.TB, cfg Config) *Runner {
	t.Helper()
	if cfg.Isolation != Direct {
		if _, err := exec.LookPath("bwrap"); err != nil {
			missing(t, "bubblewrap: %v", err)
		}
	}
	if cfg.Isolation == Container && cfg.Image == "" {
		dir, err := localImages()
		if err != nil {
			t.Fatal(err)
		}
		cfg.Image, cfg.ImageDir = testDigest, dir
	}
	if cfg.Grace == 0 {
		cfg.Grace = 2 * time.Second
	}
	r, err := New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// needsGroups skips where control groups cannot be used, for what only they can do.
func needsGroups(t testing.TB, r *Runner) {
	t.Helper()
	if r.hierarchy == nil {
		missing(t, "no control groups: %s", r.limitsWhy)
	}
}

// python is a configuration with the scientific Python, or else the system's.
func python(t testing.TB) Config {
	t.Helper()
	path := os.Getenv("MOLFABRIC_PYTHON")
	if path == "" {
		path = "/usr/bin/python3"
	}
	if _, err := os.Stat(path); err != nil {
		missing(t, "python: %v", err)
	}
	return Config{Programs: map[string]string{"python": path}}
}

var testNeeds = engines.Resources{CPUs: 1, MemoryBytes: 512 << 20, FileBytes: 64 << 20, Processes: 64, TimeLimit: time.Minute,
	MaxLogBytes: 1 << 20}

func shellSpec(t testing.TB, script string) Spec {
	return Spec{Dir: engines.Dir(t.TempDir()), Command: engines.Command{Argv: []string{"sh", "-c", script}}, Needs: testNeeds}
}

func mustRun(t testing.TB, r *Runner, spec Spec) Outcome {
	t.Helper()
	outcome, err := r.Run(t.Context(), spec, nil)
	if err != nil {
		t.Fatalf("run %q: %v", spec.Command.Argv, err)
	}
	return outcome
}

func expect(t testing.TB, got Outcome, reason Reason, exitCode int) {
	t.Helper()
	if got.Reason != reason || got.ExitCode != exitCode {
		t.Fatalf("ended as %s with %d, want %s with %d; log: %s", got.Reason, got.ExitCode, reason, exitCode, got.LogTail)
	}
}

// TestStandardInput: a command reads what it is given, to the end, and nothing where it is given nothing.
func TestStandardInput(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *Runner) {
		expect(t, mustRun(t, r, shellSpec(t, `[ -z "$(cat)" ]`)), Exited, 0)
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		spec := shellSpec(t, `echo ready; read -r first; echo "got $first"; [ "$(cat)" = second ]`)
		spec.Stdin = in
		var said []string
		got, err := r.Run(t.Context(), spec, func(line string) {
			switch said = append(said, line); line {
			case "ready":
				_, err = out.WriteString("first\n")
			case "got first":
				_, err = out.WriteString("second\n")
				out.Close()
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, Exited, 0)
		if len(said) != 2 {
			t.Errorf("it said %q", said)
		}
	})
}

func TestExitCodesPassThrough(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *Runner) {
		for _, want := range []int{0, 1, 2, 42, 125, 127} {
			expect(t, mustRun(t, r, shellSpec(t, "exit "+strconv.Itoa(want))), Exited, want)
		}
		got := mustRun(t, r, shellSpec(t, "kill -SEGV $$"))
		expect(t, got, Killed, 139)
		if got.Signal != syscall.SIGSEGV {
			t.Errorf("signal %v, want %v", got.Signal, syscall.SIGSEGV)
		}
	})
}

func TestCommandSeesItsDirectory(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *Runner) {
		spec := shellSpec(t, `cat in/ligand.smi run/request.json; printf done >out/result.txt; echo "$OMP_NUM_THREADS $MODE"`)
		if err := os.Mkdir(spec.Dir.In(""), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(spec.Dir.In("ligand.smi"), []byte("CCO\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		spec.Command.Files = map[string][]byte{"run/request.json": []byte("{}\n")}
		spec.Command.Env = map[string]string{"MODE": "fast mode"}
		spec.Needs.CPUs = 3
		for range 2 { // an attempt may be repeated in the same directory
			var lines []string
			got, err := r.Run(t.Context(), spec, func(line string) { lines = append(lines, line) })
			if err != nil {
				t.Fatal(err)
			}
			expect(t, got, Exited, 0)
			if want := "CCO|{}|3 fast mode"; strings.Join(lines, "|") != want {
				t.Errorf("lines %q, want %q", lines, want)
			}
			f, err := OpenOutput(spec.Dir, "result.txt")
			if err != nil {
				t.Fatal(err)
			}
			f.Close()
		}
	})
}

func TestBadSpecsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRunner(t, Config{Isolation: Direct})
	files := func(name string) func(*Spec) {
		return func(s *Spec) { s.Command.Files = map[string][]byte{name: nil} }
	}
	for name, spoil := range map[string]func(*Spec){
		"no program":         func(s *Spec) { s.Command.Argv = nil },
		"unknown program":    func(s *Spec) { s.Command.Argv = []string{"no-such-program"} },
		"path as program":    func(s *Spec) { s.Command.Argv = []string{"/bin/sh"} },
		"no processors":      func(s *Spec) { s.Needs.CPUs = 0 },
		"no memory":          func(s *Spec) { s.Needs.MemoryBytes = 0 },
		"no file size":       func(s *Spec) { s.Needs.FileBytes = 0 },
		"no processes":       func(s *Spec) { s.Needs.Processes = 0 },
		"no time":            func(s *Spec) { s.Needs.TimeLimit = 0 },
		"relative directory": func(s *Spec) { s.Dir = "task" },
		"absent directory":   func(s *Spec) { s.Dir += "/absent" },
		"out is a link":      func(s *Spec) { symlink(t, "/", s.Dir.Out("")) },
		"in is a link":       func(s *Spec) { symlink(t, "/", s.Dir.In("")) },
		"file above":         files("../x"),
		"file at the root":   files("/etc/x"),
		"file unclean":       files("a/../b"),
		"file in out":        files("out/x"),
		"file as in":         files("in"),
		"file as log":        files(logName),
		"file through link": func(s *Spec) {
			symlink(t, os.TempDir(), filepath.Join(string(s.Dir), "run"))
			files("run/x")(s)
		},
		"PATH set":     func(s *Spec) { s.Command.Env = map[string]string{"PATH": "/"} },
		"odd variable": func(s *Spec) { s.Command.Env = map[string]string{"A=B": ""} },
	} {
		spec := shellSpec(t, "true")
		spoil(&spec)
		if got, err := r.Run(t.Context(), spec, nil); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

// TestDenied runs what a hostile input might try. Each script exits with 0 when it got what it wanted.
func TestDenied(t *testing.T) {
	t.Setenv("MOLFABRIC_TEST_SECRET", "hunter2")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2"), 0o644); err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	cfg := python(t)
	for name, script := range map[string]string{
		"loopback of the host":      fmt.Sprintf("import socket; socket.create_connection(('127.0.0.1', %d), 2)", port),
		"any interface but lo":      "import socket; assert [n for _, n in socket.if_nameindex() if n != 'lo']",
		"secret in the environment": "import os; assert 'hunter2' in str(os.environ)",
		"environment of parents": "import glob; assert any(b'hunter2' in open(p, 'rb').read() for p in " +
			"glob.glob('/proc/*/environ'))",
		"processes of the host": "import glob; assert len(glob.glob('/proc/[0-9]*')) > 3",
		"password hashes":       "open('/etc/shadow')",
		"root's files":          "import os; assert set(os.listdir('/root')) - {'.pyenv'}",
		"files of the test":     fmt.Sprintf("open(%q)", secret),
		"write to the root":     "open('/x', 'w')",
		"write to the system":   "open('/usr/x', 'w')",
		"write to the job":      "open('x', 'w')",
		"write to the inputs":   "open('in/x', 'w')",
		"change an input":       "open('in/ligand.smi', 'a')",
		"change a command file": "import os; os.chmod('run.py', 0o666); open('run.py', 'a')",
		"replace out":           "import os; os.rename('out', 'other')",
		"write to /dev":         "open('/dev/x', 'w')",
		"kernel settings": "open('/proc/sys/kernel/core_pattern', " +
			"'r+').write(open('/proc/sys/kernel/core_pattern').read())",
		"signal the worker":          fmt.Sprintf("import os; os.kill(%d, 0)", os.Getpid()),
		"the first process, to read": "open('/proc/1/mem', 'rb')",
		"the first process, to kill": "import os; os.kill(1, 0)",
		"become root":                "import os; os.setuid(0); open('/etc/shadow')",
		"mount":                      "import subprocess as s; s.run(['mount', '-t', 'tmpfs', 'x', '/job/out'], check=True)",
		"more than /tmp may hold":    "open('/tmp/x', 'wb').write(bytes(20 << 20))",
		"inherited descriptors":      "import os; assert [f for f in os.listdir('/proc/self/fd') if int(f) > 3]",
		// which also ends those that are piped
		"core dumps":                  "import resource as r; assert r.getrlimit(r.RLIMIT_CORE)[1] != 1",
		"the kernel's memory":         "open('/proc/kcore', 'rb')",
		"the kernel's addresses":      "open('/proc/kallsyms')",
		"the kernel's keys":           "open('/proc/keys')",
		"the kernel's log":            "import ctypes; assert ctypes.CDLL(None).klogctl(10, None, 0) >= 0",
		"the kernel's log as a file":  "open('/dev/kmsg')",
		"the machine's devices":       "import os; os.listdir('/sys/devices')",
		"the worker's terminal":       "open('/dev/tty')",
		"typing for the worker":       "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSTI, b'x')",
		"a network's packets":         "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
		"a disk":                      "import os, stat; os.mknod('out/disk', stat.S_IFBLK | 0o600, os.makedev(8, 0))",
		"a link out":                  "import os; os.symlink('/etc/shadow', 'out/x'); open('out/x')",
		"a user namespace":            "import subprocess as s; s.run(['unshare', '--user', 'true'], check=True)",
		"real-time priority":          "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
		"more open files":             "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (9999, 9999))",
		"more than its open files":    "import os; keep = [os.open('/dev/null', 0) for _ in range(4200)]",
		"more than /dev/shm may hold": "[open('/dev/shm/%d' % i, 'wb').write(bytes(32 << 20)) for i in range(9)]",
	} {
		for _, mode := range modes[:3] { // the others isolate nothing
			cfg := cfg
			cfg.Isolation, cfg.Limits, cfg.TempBytes = mode.cfg.Isolation, mode.cfg.Limits, 16<<20
			r := newRunner(t, cfg)
			if strings.HasPrefix(name, "the first process") && !r.host.dropUser {
				continue // it has the program's own user then, and nothing but the program's exit code to give away
			}
			t.Run(name+"/"+mode.name, func(t *testing.T) {
				t.Parallel()
				spec := shellSpec(t, "")
				spec.Command = engines.Command{Argv: []string{"python", "run.py"},
					Files: map[string][]byte{"run.py": []byte(script)}}
				if err := os.Mkdir(spec.Dir.In(""), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(spec.Dir.In("ligand.smi"), []byte("CCO"), 0o666); err != nil {
					t.Fatal(err)
				}
				if got := mustRun(t, r, spec); got.ExitCode != 1 || !strings.Contains(got.LogTail, "Error") {
					t.Errorf("ended as %s with %d, want a Python exception; log: %s", got.Reason, got.ExitCode, got.LogTail)
				}
			})
		}
	}
}

func TestPythonRunsAndMayUseItsPlaces(t *testing.T) {
	t.Parallel()
	for _, limits := range []Limits{LimitsAuto, LimitsRlimits} {
		cfg := python(t)
		cfg.Limits = limits
		spec := shellSpec(t, "")
		spec.Command.Argv = []string{"python", "-c", `import multiprocessing, os, tempfile
multiprocessing.Lock()
tempfile.NamedTemporaryFile().write(b"x")
open("out/a", "w").write(os.environ["HOME"])`}
		expect(t, mustRun(t, newRunner(t, cfg), spec), Exited, 0)
	}
}

func TestHugeFileIsStopped(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, r *Runner) {
		spec := shellSpec(t, "exec head -c 9000000 /dev/zero >out/huge")
		spec.Needs.FileBytes = 1 << 20
		got := mustRun(t, r, spec)
		if got.Reason != Killed || got.Signal != syscall.SIGXFSZ {
			t.Errorf("ended as %s by %v, want %s by %v", got.Reason, got.Signal, Killed, syscall.SIGXFSZ)
		}
		files, _, err := Outputs(spec.Dir)
		if err != nil || len(files) != 1 || files[0].ByteSize != 1<<20 {
			t.Errorf("outputs %v, %v, want one file of %d bytes", files, err, 1<<20)
		}
	})
}

// TestOutputIsBounded fills out/ in the ways that no cap of a single file stops.
func TestOutputIsBounded(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"many large files": "import itertools\nfor i in itertools.count(): open(f'out/{i}', 'wb').write(bytes(1 << 20))",
		"many directories": "import os\nos.chdir('out')\nfor _ in range(5000):\n    os.mkdir('d')\n    os.chdir('d')\nwhile " +
			"True: pass",
		"files within reach": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := python(t)
			cfg.Grace = 100 * time.Millisecond
			spec := shellSpec(t, "")
			spec.Command.Argv = []string{"python", "-c", script}
			spec.Needs.FileBytes, spec.Needs.ScratchBytes = 1<<20, 8<<20
			t.Cleanup(func() {
				if err := RemoveTree(string(spec.Dir)); err != nil {
					t.Error(err)
				}
			})
			if script == "" {
				spec.Command.Argv = []string{"sh", "-c", "for i in $(seq 16); do head -c 1000000 /dev/zero >out/$i; done; " +
					"sleep 1.5"}
				expect(t, mustRun(t, newRunner(t, cfg), spec), Exited, 0)
				return
			}
			if got := mustRun(t, newRunner(t, cfg), spec); got.Reason != OutputTooLarge {
				t.Errorf("ended as %s with %d, want %s; log: %s", got.Reason, got.ExitCode, OutputTooLarge, got.LogTail)
			}
		})
	}
}

func TestMemoryHogIsKilled(t *testing.T) {
	t.Parallel()
	hog := "import time; keep = [bytearray(8 << 20) for _ in range(64)]"
	for _, isolation := range []Isolation{Bubblewrap, Container, Direct} {
		cfg := python(t)
		cfg.Isolation = isolation
		spec := shellSpec(t, "")
		spec.Command.Argv = []string{"python", "-c", hog}
		spec.Needs.MemoryBytes = 128 << 20

		cfg.Limits = LimitsRlimits
		if got := mustRun(t, newRunner(t, cfg), spec); got.ExitCode != 1 || !strings.Contains(got.LogTail, "MemoryError") {
			t.Errorf("%s with rlimits: exit code %d, want 1 with a MemoryError; log: %s", isolation, got.ExitCode, got.LogTail)
		}
		cfg.Limits = LimitsAuto
		r := newRunner(t, cfg)
		needsGroups(t, r)
		got := mustRun(t, r, spec)
		expect(t, got, OutOfMemory, 137)
		if peak := got.Usage.PeakMemoryBytes; peak < 100<<20 || peak > 128<<20 {
			t.Errorf("%s: peak memory %d, want nearly %d", isolation, peak, 128<<20)
		}
	}
}

// TestForkBombIsBounded lets a neighbour work while a bomb goes off, and cancels the bomb when it has met its bound.
func TestForkBombIsBounded(t *testing.T) {
	t.Parallel()
	for _, mode := range modes[:4] { // the last cannot bound it, and says so
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, mode.cfg)
			if mode.cfg.Isolation == Direct {
				needsGroups(t, r)
			}
			bomb := shellSpec(t, "exec 2>&1; bomb() { bomb | bomb & }; trap '' TERM; while :; do bomb; done")
			bomb.Needs.Processes = 24
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			refused := make(chan struct{})
			type result struct {
				outcome Outcome
				err     error
			}
			ended := make(chan result, 1)
			go func() {
				once := sync.OnceFunc(func() { close(refused) })
				outcome, err := r.Run(ctx, bomb, func(line string) {
					if strings.Contains(line, "fork") { // "Cannot fork", and with bash "fork: retry"
						once()
					}
				})
				ended <- result{outcome, err}
			}()
			select {
			case <-refused:
			case end := <-ended:
				t.Fatalf("the bomb ended before it was refused a process: %v", end.err)
			}
			expect(t, mustRun(t, r, shellSpec(t, "for i in 1 2 3 4 5 6 7 8; do sh -c true & done; wait")), Exited, 0)
			cancel()
			end := <-ended
			if end.err != nil {
				t.Error(end.err)
			}
			if r.hierarchy != nil && end.outcome.RefusedProcesses == 0 {
				t.Error("no process was refused, says the outcome")
			}
		})
	}
}

func TestProcessorTimeIsMetered(t *testing.T) {
	t.Parallel()
	for _, mode := range modes {
		cfg := python(t)
		cfg.Isolation, cfg.Limits = mode.cfg.Isolation, mode.cfg.Limits
		spec := shellSpec(t, "")
		// A child that is not waited for burns half of it.
		spec.Command.Argv = []string{"python", "-c", `import os, time
pid = os.fork()
while time.process_time() < 0.4: pass
if pid: os.wait()`}
		got := mustRun(t, newRunner(t, cfg), spec)
		expect(t, got, Exited, 0)
		if used := got.Usage.CPUMicroseconds; used < 760_000 || used > 1_600_000 {
			t.Errorf("%s: metered %d µs, want about 800000", mode.name, used)
		}
		if got.Usage.Wall <= 0 || got.Usage.PeakMemoryBytes < 1<<20 {
			t.Errorf("%s: usage %+v", mode.name, got.Usage)
		}
	}
}

// symlink makes a symbolic link.
func symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	cfg := python(t)
	for _, mode := range modes {
		cfg.Isolation, cfg.Limits = mode.cfg.Isolation, mode.cfg.Limits
		d, err := newRunner(t, cfg).Probe(t.Context())
		if err != nil {
			t.Errorf("%s: %v", mode.name, err)
		}
		t.Logf("%s: %v", mode.name, d)
	}
}

func TestMissingBubblewrapNamesItsCure(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := require("bwrap", "bubblewrap")
	if err == nil || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("got %v, want the command that installs it", err)
	}
}

// BenchmarkRun starts and ends a command that does nothing, in every mode and without the filter of system calls.
func BenchmarkRun(b *testing.B) {
	for _, mode := range append(slices.Clone(modes), mode{"unfiltered", Config{Isolation: Bubblewrap}}) {
		b.Run(mode.name, func(b *testing.B) {
			r := newRunner(b, mode.cfg)
			if mode.name == "unfiltered" {
				r.filter = nil
			}
			spec := shellSpec(b, "true")
			cpu := int64(0)
			for b.Loop() {
				outcome := mustRun(b, r, spec)
				expect(b, outcome, Exited, 0)
				cpu += outcome.Usage.CPUMicroseconds
			}
			b.ReportMetric(float64(cpu)/float64(b.N), "cpu-µs/op")
		})
	}
}
