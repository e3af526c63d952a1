package sandbox

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
)

const (
	// jobDir is where a task's directory appears inside the sandbox.
	jobDir = "/job"
	// sharedMemoryBytes bounds /dev/shm, which semaphores and small shared arrays need.
	sharedMemoryBytes = 256 << 20
	// maxOpenFiles is far above what an engine opens and far below what would harm the machine.
	maxOpenFiles = 4096
	// noCore is a size of core dumps that the kernel knows to mean none, also where it pipes them to a program of the host's, to
	// whom 0 means nothing (core(5), fs/coredump.c).
	noCore = 1
	// launcherProcesses are ours among the processes of a command: bwrap outside, the waiting shell inside.
	launcherProcesses = 2
	// nobody is the user id shown inside where the real one is the worker's own.
	nobody = "65534"
)

// initScript is the first process inside. It waits for the program as a parent should, so that orphans are reaped and their
// processor time is counted, and ends the whole namespace when the program ends. It keeps the user that bwrap has: when a
// worker dies, the kernel lets the dying bwrap kill it only as one of its own.
const initScript = `"$@"; exit $?`

// layout is what the inside of one sandbox looks like.
type layout struct {
	host      host
	dir       string   // the task's directory on the host
	shown     []string // top-level names in dir that the command may read, beside in/
	devices   []string // device nodes
	machine   []string // the machine's own paths that are shown whatever the root is
	tempBytes int64
	filtered  bool // a filter of system calls is on filterFD
	user      int  // user id to run under, or 0: the worker's own behind a user namespace
}

// bubblewrapArgv is the command line that runs command in a sandbox. Its order matters: bwrap works through its arguments,
// and the root and /dev are made read-only when everything has been placed. Everything it needs to write is /tmp, /dev/shm
// and the task's out/.
func bubblewrapArgv(l layout, command []string) []string {
	argv := []string{l.host.bwrap, "--json-status-fd", strconv.Itoa(statusFD), "--die-with-parent", "--new-session", "--as-pid-1",
		"--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox",
		"--cap-drop", "ALL"}
	if l.filtered {
		argv = append(argv, "--seccomp", strconv.Itoa(filterFD))
	}
	argv = append(argv, identityArgs(l)...)
	argv = append(argv, "--clearenv", "--setenv", "PATH", strings.Join(systemPath, ":"),
		"--perms", "1777", "--size", strconv.FormatInt(l.tempBytes, 10), "--tmpfs", "/tmp",
		"--proc", "/proc",
		// A worker that is root in its container may still own the files below /proc/sys.
		"--ro-bind", "/proc/sys", "/proc/sys",
		"--dev", "/dev", "--perms", "1777", "--size", strconv.Itoa(sharedMemoryBytes), "--tmpfs", "/dev/shm")
	argv = append(argv, hidingArgs(l.host)...)
	argv = append(argv, deviceArgs(l.devices)...)
	argv = append(argv, runtimeArgs(l.host, l.machine)...)
	argv = append(argv, "--dir", jobDir, "--ro-bind", filepath.Join(l.dir, inName), jobDir+"/"+inName)
	for _, name := range l.shown {
		argv = append(argv, "--ro-bind", filepath.Join(l.dir, name), jobDir+"/"+name)
	}
	argv = append(argv, "--bind", filepath.Join(l.dir, outName), jobDir+"/"+outName,
		"--remount-ro", "/dev", "--remount-ro", "/", "--chdir", jobDir,
		"--", shell, "-c", initScript, "sandbox")
	argv = append(argv, dropArgs(l)...)
	return append(argv, command...)
}

// hidingArgs put a node that cannot be opened in the place of the kernel's files, and empty directories in that of its directories.
func hidingArgs(h host) []string {
	var args []string
	for _, path := range h.hiddenFiles {
		args = append(args, "--ro-bind", "/dev/null", path)
	}
	for _, path := range h.hiddenDirs {
		args = append(args, "--perms", "0555", "--size", "4096", "--tmpfs", path, "--remount-ro", path)
	}
	return args
}

// deviceArgs show device nodes.
func deviceArgs(nodes []string) []string {
	var args []string
	for _, node := range nodes {
		if dir := filepath.Dir(node); dir != "/dev" {
			args = append(args, "--dir", dir)
		}
		args = append(args, "--dev-bind", node, node)
	}
	return args
}

// identityArgs choose who the command is. Root must really become somebody else: a user namespace alone would leave it the
// owner of root's files and of kernel settings, with nothing but mounts in between. Everybody else gets a user namespace,
// which is what lets them make the other namespaces, and may not nest another.
func identityArgs(l layout) []string {
	if l.user != 0 {
		return []string{"--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"}
	}
	args := []string{"--unshare-user", "--uid", nobody, "--gid", nobody}
	if slices.Compare(l.host.bwrapVersion[:], []int{0, 8, 0}) >= 0 {
		args = append(args, "--disable-userns")
	}
	return args
}

// dropArgs is the prefix of a command that gives up root for good.
func dropArgs(l layout) []string {
	if l.user == 0 {
		return nil
	}
	user := strconv.Itoa(l.user)
	return []string{l.host.setpriv, "--reuid", user, "--regid", user, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all",
		"--"}
}

// runtimeArgs show the operating system's and the runtimes' files. Parent directories are made one by one, because those
// that bwrap makes by itself may be closed to the sandbox's user.
func runtimeArgs(h host, machine []string) []string {
	var args, made []string
	parents := func(path string) {
		elements := strings.Split(strings.Trim(filepath.Dir(path), "/"), "/")
		for i := range elements {
			dir := "/" + strings.Join(elements[:i+1], "/")
			if dir == "/" || dir == "/tmp" || slices.Contains(made, dir) ||
				slices.ContainsFunc(h.bind, func(b string) bool { return within(b, dir) }) {
				continue
			}
			made = append(made, dir)
			args = append(args, "--dir", dir)
		}
	}
	for _, path := range h.bind {
		parents(path)
		args = append(args, "--ro-bind", h.onMachine(path), path)
	}
	for _, path := range machine {
		parents(path)
		args = append(args, "--ro-bind", path, path)
	}
	for _, l := range h.links {
		parents(l.path)
		args = append(args, "--symlink", l.target, l.path)
	}
	return args
}

// environmentProgram starts a command with its environment alone.
const environmentProgram = "/usr/bin/env"

// environmentArgs is the prefix of a command that gives it env and nothing else. It comes last, so that a variable for the
// program (LD_PRELOAD) changes none of the programs that build its sandbox.
func environmentArgs(env []variable) []string {
	argv := []string{environmentProgram, "-i"}
	for _, v := range env {
		argv = append(argv, v.name+"="+v.value)
	}
	return argv
}

// rlimits is the prefix of a command that lowers its resource limits. Those on files hold in every mode; memory and
// processes are limited so only where no control group does it better. RLIMIT_DATA rather than RLIMIT_AS: Python's and
// CUDA's large reservations of address space are not memory in use.
func (r *Runner) rlimits(needs engines.Resources) []string {
	argv := []string{r.host.prlimit, "--core=" + strconv.Itoa(noCore), "--rtprio=0", "--nofile=" + strconv.Itoa(maxOpenFiles),
		"--fsize=" + strconv.FormatInt(needs.FileBytes, 10),
		"--cpu=" + strconv.FormatInt(cpuSeconds(needs), 10)}
	if r.hierarchy == nil {
		argv = append(argv, "--data="+strconv.FormatInt(needs.MemoryBytes+needs.ReservedBytes, 10))
		if r.cfg.Isolation != Direct {
			argv = append(argv, "--nproc="+strconv.Itoa(needs.Processes+launcherProcesses))
		}
	}
	return append(argv, "--")
}

// cpuSeconds is a processor time that no process can use up within its time limit; it ends one whose worker was stopped.
func cpuSeconds(needs engines.Resources) int64 {
	return int64(math.Ceil(float64(needs.CPUs)*needs.TimeLimit.Seconds())) + int64(time.Minute/time.Second)
}
