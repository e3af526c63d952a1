// Package sandbox runs one engine command in a private directory, holds it to its resources and reports how it ended and
// what it used. It starts processes and nothing else: it knows no queue, no object store, no database, and does not judge
// what a program wrote.
//
// Several isolations serve one contract. Bubblewrap gives every command namespaces of its own (no network, its own processes, a
// read-only root, an empty environment) and a filter of system calls, and is the default. Container does the same with the root of
// a container image in place of the machine's programs; podman or docker fetch and check the image, and no daemon stands between a
// command and its caps. Direct runs the command as it is, for images that already are
// the container. Memory, processes and processor time are capped through control groups where the kernel lets us make
// them, and through resource limits elsewhere; Runner.Describe says which, and what is then not enforced.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
)

// Isolation says how far a command is kept apart from the machine.
type Isolation string

// The isolations. The empty value means Bubblewrap.
const (
	Bubblewrap Isolation = "bubblewrap"
	Container  Isolation = "container"
	Direct     Isolation = "direct"
)

// Limits says by which means resources are capped.
type Limits string

// The means. The empty value means LimitsAuto: control groups where they work, else resource limits.
const (
	LimitsAuto    Limits = "auto"
	LimitsRlimits Limits = "rlimits"
)

const (
	// DefaultTempBytes bounds the private /tmp: room for a program's own scratch, small beside a machine's memory, from
	// which it is taken.
	DefaultTempBytes = 1 << 30
	// DefaultGrace is the time between SIGTERM and SIGKILL: enough to write a checkpoint of a small system, short enough
	// that a cancelled job frees its slot while its owner still looks.
	DefaultGrace = 10 * time.Second
	// MinMemoryBytes is the least memory a command may be given: below it the launching programs themselves fail.
	MinMemoryBytes = 16 << 20
)

// Config is what a worker decides once about all its commands.
type Config struct {
	Isolation Isolation
	Limits    Limits
	// Image is what commands run in under Container: "name@sha256:…" or "sha256:…" of an image that podman or docker has. Its
	// programs are found on its own PATH, Programs are not looked at; it needs sh, env, prlimit and setpriv as every Debian has
	// them.
	Image string
	// OwnImage is the image of the container that this process runs in, by digest, where it runs in one and the isolation is not
	// Container. Commands are told of it as they are of Image.
	OwnImage string
	// ImageDir is where images are laid out, once each.
	ImageDir string
	// Programs maps a name in Command.Argv[0] to an absolute path; "python" is the deployment's scientific Python, and "python-…"
	// are those of engines with an environment of their own; their installations are found by asking them and made visible in the
	// sandbox. Other names are looked up on the sandbox's PATH.
	Programs map[string]string
	// ReadOnlyPaths are further host paths (program prefixes, model weights, databases) visible at the same place inside.
	ReadOnlyPaths []string
	// Environment are variables that every command has, whatever its own say: where the ReadOnlyPaths of the deployment are.
	Environment map[string]string
	// Devices are the accelerators that commands may be given; see FindDevices.
	Devices []Device
	// TempBytes bounds the private /tmp; 0 means DefaultTempBytes.
	TempBytes int64
	// Grace is the time between SIGTERM and SIGKILL; 0 means DefaultGrace.
	Grace time.Duration
	Log   *slog.Logger
}

// Spec is one command to run.
type Spec struct {
	// Dir is the command's private directory on the host. Its in/ holds the staged inputs; out/ is made when missing. The
	// directory belongs to Run until it returns. Where commands run under another user than the worker, Run opens in/ for
	// reading and gives out/ to that user.
	Dir engines.Dir
	// Command is what to run; its Files are written below Dir first.
	Command engines.Command
	// Needs are the caps. All but MaxLogBytes and ScratchBytes must be positive. All files below out/ together may at no time take
	// more than twice ScratchBytes and FileBytes: outputs, checkpoints, and one that is being written.
	Needs engines.Resources
	// Devices are the IDs of the accelerators that the command may use. Bubblewrap shows it no others; Direct tells it by the
	// environment alone. It may not be given any by other means: Command.Env cannot name them.
	Devices []string
	// Stdin, when not nil, is a file or the reading end of a pipe that the command has as its standard input; otherwise that is
	// empty. The caller closes it when Run has returned.
	Stdin *os.File
	// Meter, when not nil, reads what the command uses while it runs.
	Meter *Meter
	// Enough, when not nil, is asked about once a second whether the command has used as much as it may, where the kernel tells.
	Enough func(Usage) bool
}

// Reason says why a command ended.
type Reason string

// Reasons of an end.
const (
	Exited      Reason = "exited"        // by itself, with ExitCode
	Killed      Reason = "killed"        // by a signal that this package did not send, e.g. for a file above its cap
	TimedOut    Reason = "timeout"       // the time limit passed
	Cancelled   Reason = "cancelled"     // the context of Run was cancelled
	OutOfMemory Reason = "out_of_memory" // the kernel killed one of its processes at the memory cap
	UsedEnough  Reason = "used_enough"   // Spec.Enough said so
	// OutputTooLarge: its files below out/ took more room, or were more or deeper, than Needs and MaxOutputs allow.
	OutputTooLarge Reason = "output_too_large"
)

// Outcome is how a command ended.
type Outcome struct {
	Reason Reason
	// ExitCode is the program's exit code, or 128 + the number of the signal that ended it.
	ExitCode int
	// Signal is the signal that ended the program, or 0. Under Bubblewrap it is read from the exit code, so a program that
	// exits with 128 + n by itself looks as if signal n had ended it.
	Signal syscall.Signal
	// LogPath is the file with standard output and error, at most Needs.MaxLogBytes and one closing note.
	LogPath string
	// LogTail is the end of all that was printed, at most MaxTailBytes, valid UTF-8.
	LogTail string
	// LogTruncatedBytes counts what was printed but not kept.
	LogTruncatedBytes int64
	Usage             Usage
	// RefusedProcesses counts how often the command was refused a further process or thread, where control groups tell.
	RefusedProcesses int64
}

// Usage is what a command used, all its processes together.
type Usage struct {
	CPUMicroseconds int64 // user and system
	Wall            time.Duration
	// PeakMemoryBytes is the highest memory in use at once, file cache included, from the control group. Without one it is
	// the largest resident set of any single process.
	PeakMemoryBytes int64
}

// Runner runs commands. Its methods may be called concurrently.
type Runner struct {
	cfg       Config
	host      host
	hierarchy *hierarchy // nil: resource limits only
	limitsWhy string     // why there is no hierarchy
	filter    []byte     // of system calls; nil: none
	filterWhy string     // why there is none
	blind     sync.Once  // says that it cannot look into processes
}

// New looks at the machine once: which programs there are, where they may be found, which caps work. It returns an error
// when the configuration names something that is not there, or when a program it cannot do without is missing; the error
// then names the command that installs it. It starts the scientific Python, if one is configured, and makes and removes
// one control group.
func New(ctx context.Context, cfg Config) (*Runner, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	// What a careless parent left open in this process must not reach an engine. Old kernels lack the call; then only a
	// worker started with open files is affected.
	_ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)

	h, err := inspectHost(ctx, cfg)
	if err != nil {
		return nil, err
	}
	r := &Runner{cfg: cfg, host: h}
	if cfg.Isolation != Direct {
		if r.filter, r.filterWhy, err = usableFilter(); err != nil {
			return nil, err
		}
	}
	if cfg.Limits == LimitsRlimits {
		r.limitsWhy = "chosen by configuration"
		return r, nil
	}
	if r.hierarchy, err = detectHierarchy(); err != nil {
		r.limitsWhy = err.Error()
		cfg.Log.Warn("control groups cannot be used; engines are held by resource limits only", "error", err)
	}
	return r, nil
}

func (c Config) withDefaults() (Config, error) {
	if c.Isolation == "" {
		c.Isolation = Bubblewrap
	}
	if c.Isolation != Bubblewrap && c.Isolation != Container && c.Isolation != Direct {
		return c, fmt.Errorf("isolation %q: must be %q, %q or %q", c.Isolation, Bubblewrap, Container, Direct)
	}
	if (c.Image != "") != (c.Isolation == Container) {
		return c, fmt.Errorf("image %q with isolation %q: an image is what %q needs, and nothing else takes one", c.Image,
			c.Isolation, Container)
	}
	if c.OwnImage != "" && c.Isolation == Container {
		return c, fmt.Errorf("own image %q with isolation %q: commands run in the image that is named for them", c.OwnImage,
			Container)
	}
	if c.Isolation == Container && len(c.ReadOnlyPaths) > 0 {
		return c, errors.New("read-only paths: an image holds all that its programs need")
	}
	if c.Limits == "" {
		c.Limits = LimitsAuto
	}
	if c.Limits != LimitsAuto && c.Limits != LimitsRlimits {
		return c, fmt.Errorf("limits %q: must be %q or %q", c.Limits, LimitsAuto, LimitsRlimits)
	}
	if c.TempBytes == 0 {
		c.TempBytes = DefaultTempBytes
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Isolation == Container {
		c.Programs = nil
	}
	c.Programs, c.ReadOnlyPaths, c.Devices = maps.Clone(c.Programs), slices.Clone(c.ReadOnlyPaths), slices.Clone(c.Devices)
	c.Environment = maps.Clone(c.Environment)
	return c, checkDevices(c.Devices)
}

// Devices are the accelerators that commands may be given.
func (r *Runner) Devices() []Device { return slices.Clone(r.cfg.Devices) }

// granted finds the devices of a command.
func (r *Runner) granted(ids []string) ([]Device, error) {
	var devices []Device
	for _, id := range ids {
		at := slices.IndexFunc(r.cfg.Devices, func(d Device) bool { return d.ID == id })
		if at < 0 {
			return nil, fmt.Errorf("device %q: this machine has none of that name", id)
		}
		devices = append(devices, r.cfg.Devices[at])
	}
	return devices, nil
}

// Run runs one command to its end and returns how it ended. onLine, when not nil, is called with every line of standard
// output, without its newline and cut at MaxLineBytes, from one goroutine that ends before Run returns; while it blocks the
// command may block too.
//
// When ctx is cancelled or the time limit passes, every process of the command gets SIGTERM and, a grace later, SIGKILL.
// Run returns only when all of them have been reaped and their control group is removed; a process that the kernel itself
// cannot end holds it, so that its slot is not given away. An error means that the command could not be run (a bad Spec, a
// missing program, a full disk, a failing sandbox); what the program did is never an error.
func (r *Runner) Run(ctx context.Context, spec Spec, onLine func(line string)) (outcome Outcome, err error) {
	if err := validate(spec); err != nil {
		return Outcome{}, err
	}
	if ctx.Err() != nil {
		return Outcome{Reason: Cancelled, ExitCode: -1}, nil
	}
	stage, err := r.prepare(spec)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, stage.cleanUp()) }()
	var g *group
	if r.hierarchy != nil {
		if g, err = r.hierarchy.create(spec.Needs); err != nil {
			return Outcome{}, err
		}
		defer func() {
			if err := g.killAndRemove(); err != nil {
				r.cfg.Log.Error("control group left behind", "error", err)
			}
		}()
	}
	capture, err := newCapture(stage.logPath, spec.Needs.MaxLogBytes, onLine)
	if err != nil {
		return Outcome{}, err
	}
	defer spec.Meter.watch(nil)
	return r.supervise(ctx, stage, g, capture, spec)
}

// supervise starts the staged command, waits for its end and reads what it used while its group still exists.
func (r *Runner) supervise(ctx context.Context, stage *stage, g *group, capture *capture, spec Spec) (Outcome, error) {
	p, err := start(stage, g, capture, spec.Meter)
	if err != nil {
		return Outcome{}, errors.Join(err, capture.close())
	}
	stopped := p.wait(ctx, stage.needs.TimeLimit, r.cfg.Grace, func() Reason {
		if r.overflows(p, stage) {
			return OutputTooLarge
		}
		if spec.Enough == nil {
			return ""
		}
		if used, ok := p.usedSoFar(); ok && spec.Enough(used) {
			return UsedEnough
		}
		return ""
	})
	if g != nil {
		g.kill() // what Direct left running when its main process ended
	}
	if err := p.finishOutput(); err != nil {
		r.cfg.Log.Warn("log of an engine is incomplete", "path", stage.logPath, "error", err)
	}
	tail, dropped := capture.summary()
	outcome := Outcome{LogPath: stage.logPath, LogTail: tail, LogTruncatedBytes: dropped, Usage: p.usage()}
	outcome.ExitCode, outcome.Signal = p.exit()
	oomKills := int64(0)
	if g != nil {
		usage, kills, err := g.usage()
		if err != nil {
			return outcome, err
		}
		usage.Wall = outcome.Usage.Wall
		outcome.Usage, oomKills, outcome.RefusedProcesses = usage, kills, g.refused()
	}
	outcome.Reason = reasonOf(stopped, oomKills, outcome.ExitCode, outcome.Signal)
	if stopped == "" && outcome.Reason != OutOfMemory {
		return outcome, p.startError(tail)
	}
	return outcome, nil
}

// overflows reports whether a command holds more below out/ than it may, with what it has removed there and keeps open.
func (r *Runner) overflows(p *process, stage *stage) bool {
	hidden := p.hidden(stage.outputs.Out(""), stage.needs.FileBytes)
	if hidden.blind {
		r.blind.Do(func() {
			r.cfg.Log.Warn("files that engines have removed and keep open cannot be counted: " +
				"the worker may not look into their processes (CAP_SYS_PTRACE)")
		})
	}
	return outgrown(stage.outputs, outputCeiling(stage.needs)-hidden.bytes, MaxOutputs-hidden.files)
}

// reasonOf names the end. A stop that we asked for explains every exit code; a process killed for memory explains a failure
// of the program, but not a success that came in spite of it.
func reasonOf(stopped Reason, oomKills int64, exitCode int, signal syscall.Signal) Reason {
	switch {
	case stopped != "":
		return stopped
	case oomKills > 0 && exitCode != 0:
		return OutOfMemory
	case signal != 0:
		return Killed
	}
	return Exited
}

// validate refuses a spec that would leave something unbounded.
func validate(spec Spec) error {
	n := spec.Needs
	switch {
	case len(spec.Command.Argv) == 0 || spec.Command.Argv[0] == "":
		return errors.New("command has no program")
	case n.CPUs < 1:
		return fmt.Errorf("needs %d CPUs: must be at least 1", n.CPUs)
	case n.MemoryBytes < MinMemoryBytes:
		return fmt.Errorf("needs %d bytes of memory: must be at least %d", n.MemoryBytes, MinMemoryBytes)
	case n.FileBytes < 1:
		return fmt.Errorf("needs files of %d bytes: must be at least 1", n.FileBytes)
	case n.Processes < 1:
		return fmt.Errorf("needs %d processes: must be at least 1", n.Processes)
	case n.TimeLimit <= 0:
		return fmt.Errorf("time limit %v: must be positive", n.TimeLimit)
	case n.MaxLogBytes < 0:
		return fmt.Errorf("log of %d bytes: must not be negative", n.MaxLogBytes)
	case !filepath.IsAbs(string(spec.Dir)):
		return fmt.Errorf("directory %q: must be absolute", spec.Dir)
	}
	if info, err := os.Lstat(string(spec.Dir)); err != nil {
		return fmt.Errorf("look at the task's directory: %w", err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", spec.Dir)
	}
	return nil
}
