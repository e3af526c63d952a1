package sandbox

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// Description says what holds a Runner's commands, for the log, the dashboard and whoever reads either.
type Description struct {
	Isolation         Isolation `json:"isolation"`
	Image             string    `json:"image,omitempty"` // digest of the image that commands run in
	BubblewrapVersion string    `json:"bubblewrapVersion,omitempty"`
	CallFilter        bool      `json:"callFilter"`  // whether system calls are filtered
	Caps              string    `json:"caps"`        // "cgroup v1", "cgroup v2" or "rlimits"
	CapsReason        string    `json:"capsReason"`  // why it is not control groups, or empty
	User              string    `json:"user"`        // whom commands run as
	Devices           []string  `json:"devices"`     // accelerators that commands may be given
	NotEnforced       []string  `json:"notEnforced"` // each a short sentence
}

// String is one line for the log.
func (d Description) String() string {
	s := string(d.Isolation)
	if d.Image != "" {
		s += " " + d.Image
	}
	s += fmt.Sprintf(", caps by %s, as %s", d.Caps, d.User)
	if d.CallFilter {
		s += ", system calls filtered"
	}
	if d.CapsReason != "" {
		s += " (" + d.CapsReason + ")"
	}
	if len(d.Devices) > 0 {
		s += "; GPUs: " + strings.Join(d.Devices, ", ")
	} else {
		s += "; no GPUs"
	}
	if len(d.NotEnforced) > 0 {
		s += "; not enforced: " + strings.Join(d.NotEnforced, "; ")
	}
	return s
}

// Describe tells how commands are isolated and capped, and which caps do not hold here.
func (r *Runner) Describe() Description {
	d := Description{Isolation: r.cfg.Isolation, Image: r.host.image, CallFilter: r.filter != nil, Caps: "rlimits",
		CapsReason: r.limitsWhy}
	if r.hierarchy != nil {
		d.Caps = fmt.Sprintf("cgroup v%d", r.hierarchy.version)
	}
	switch {
	case r.cfg.Isolation == Direct:
		d.User = "the worker's own user"
		d.NotEnforced = append(d.NotEnforced, "isolation from the network, the worker's files and its other tasks is left to the "+
			"container around the worker")
		if os.Geteuid() == 0 {
			d.NotEnforced = append(d.NotEnforced, "a command is root as the worker is, and may raise its own limits on files and "+
				"open files")
		}
	case r.host.dropUser:
		d.User = "a user id of each task's own"
	default:
		d.User = "the worker's own user, in a user namespace"
	}
	for _, device := range r.cfg.Devices {
		d.Devices = append(d.Devices, device.String())
	}
	if len(d.Devices) > 0 {
		d.NotEnforced = append(d.NotEnforced, "memory on a GPU is not capped")
		if r.cfg.Isolation == Direct {
			d.NotEnforced = append(d.NotEnforced, "a command may reach every GPU that the container around the worker has")
		}
		if r.cfg.Isolation == Container {
			d.NotEnforced = append(d.NotEnforced, "the libraries of the GPUs' driver are the image's, not the machine's")
		}
	}
	if r.filterWhy != "" {
		d.NotEnforced = append(d.NotEnforced, "system calls are not filtered: "+r.filterWhy)
	}
	if r.cfg.Isolation != Direct {
		v := r.host.bwrapVersion
		d.BubblewrapVersion = fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
	}
	d.NotEnforced = append(d.NotEnforced, "the files below out/ are counted once a second, so their cap may be passed by what is "+
		"written in one")
	if r.hierarchy == nil {
		d.NotEnforced = append(d.NotEnforced, r.rlimitGaps()...)
	} else if r.hierarchy.dirs[controllerCPU] == "" {
		d.NotEnforced = append(d.NotEnforced, "a command may use more processors than it was given while others are idle or not")
	}
	return d
}

// rlimitGaps are what resource limits cannot do and control groups could.
func (r *Runner) rlimitGaps() []string {
	gaps := []string{
		"memory is capped for each process, not for all of a command's together, and running out of it shows as the program's " +
			"own failure",
		"a command may use more processors than it was given",
		"peak memory is that of the largest single process",
	}
	if r.cfg.Isolation == Direct {
		gaps = append(gaps, "the number of processes is not capped, and one that leaves its process group outlives its command")
	}
	return gaps
}

// probeTimeLimit bounds the trivial command of Probe on a machine that is busy starting up.
const probeTimeLimit = 30 * time.Second

// Probe starts one trivial command with all caps in force and returns Describe, or an error that says what is wrong with
// the machine. A worker calls it once before it takes work.
func (r *Runner) Probe(ctx context.Context) (Description, error) {
	d := r.Describe()
	dir, err := os.MkdirTemp("", "molfabric-probe-")
	if err != nil {
		return d, fmt.Errorf("probe the sandbox: %w", err)
	}
	defer os.RemoveAll(dir)
	argv := []string{"true"}
	if _, ok := r.cfg.Programs["python"]; ok {
		argv = []string{"python", "-I", "-c", "import encodings"}
	}
	outcome, err := r.Run(ctx, Spec{Dir: engines.Dir(dir), Command: engines.Command{Argv: argv}, Needs: engines.Resources{
		CPUs: 1, MemoryBytes: 256 << 20, FileBytes: 1 << 20, Processes: 4, TimeLimit: probeTimeLimit, MaxLogBytes: 64 << 10,
	}}, nil)
	if err != nil {
		return d, fmt.Errorf("probe the sandbox: %w", err)
	}
	if outcome.Reason != Exited || outcome.ExitCode != 0 {
		return d, fmt.Errorf("probe the sandbox: %s ended as %s with exit code %d: %s", argv[0], outcome.Reason, outcome.ExitCode,
			outcome.LogTail)
	}
	return d, nil
}
