package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
)

const (
	// cpuPeriodMicroseconds is the kernel's own default period of a processor quota.
	cpuPeriodMicroseconds = 100_000
	// removeTimeout bounds the wait for killed processes to leave their group.
	removeTimeout = 10 * time.Second
	// removePoll is how often it is looked whether they have left; there is nothing to wait on in version 1.
	removePoll = 2 * time.Millisecond
)

// group is the control group of one command: one directory under version 2, one for each hierarchy under version 1.
type group struct {
	version int
	dirs    map[string]string // controller → directory
}

// all returns the group's directories, each once.
func (g *group) all() []string { return slices.Compact(slices.Sorted(maps.Values(g.dirs))) }

// joinFiles are the files that a process writes its own id to, to join the group.
func (g *group) joinFiles() []string {
	files := g.all()
	for i := range files {
		files[i] = filepath.Join(files[i], "cgroup.procs")
	}
	return files
}

// setCaps sets memory without swap, processes, and processor time as a share of the machine.
func (g *group) setCaps(needs engines.Resources) error {
	memory := strconv.FormatInt(needs.MemoryBytes, 10)
	quota := strconv.Itoa(needs.CPUs * cpuPeriodMicroseconds)
	type value struct {
		controller, file, value string
		optional                bool // kernels may be built without it
	}
	caps := []value{{controllerPids, "pids.max", strconv.Itoa(needs.Processes + launcherProcesses), false}}
	if g.version == 2 {
		caps = append(caps,
			value{controllerMemory, "memory.max", memory, false},
			value{controllerMemory, "memory.swap.max", "0", true},
			value{controllerMemory, "memory.oom.group", "1", true},
			value{controllerCPU, "cpu.max", quota + " " + strconv.Itoa(cpuPeriodMicroseconds), true})
	} else {
		caps = append(caps,
			value{controllerMemory, "memory.limit_in_bytes", memory, false},
			// Memory and swap together: never below the limit of memory alone, so it is set after it.
			value{controllerMemory, "memory.memsw.limit_in_bytes", memory, true},
			value{controllerCPU, "cpu.cfs_period_us", strconv.Itoa(cpuPeriodMicroseconds), true},
			value{controllerCPU, "cpu.cfs_quota_us", quota, true})
	}
	for _, c := range caps {
		dir, ok := g.dirs[c.controller]
		if !ok && c.optional {
			continue
		}
		err := writeValue(filepath.Join(dir, c.file), c.value)
		if err != nil && !(c.optional && errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("cap %s: %w", c.file, err)
		}
	}
	return nil
}

// usage reads what the group used (all but Wall) and how many of its processes the kernel killed for memory.
func (g *group) usage() (u Usage, oomKills int64, err error) {
	memory := g.dirs[controllerMemory]
	var cpuNanoseconds int64
	var failures [3]error
	if g.version == 2 {
		u.CPUMicroseconds, failures[0] = readField(filepath.Join(g.dirs[controllerCPU], "cpu.stat"), "usage_usec")
		u.PeakMemoryBytes, failures[1] = readNumber(filepath.Join(memory, "memory.peak"))
		if errors.Is(failures[1], os.ErrNotExist) { // before Linux 5.19
			u.PeakMemoryBytes, failures[1] = readNumber(filepath.Join(memory, "memory.current"))
		}
		oomKills, failures[2] = readField(filepath.Join(memory, "memory.events"), "oom_kill")
	} else {
		cpuNanoseconds, failures[0] = readNumber(filepath.Join(g.dirs[controllerCPUAcct], "cpuacct.usage"))
		u.CPUMicroseconds = cpuNanoseconds / 1000
		u.PeakMemoryBytes, failures[1] = readNumber(filepath.Join(memory, "memory.max_usage_in_bytes"))
		oomKills, failures[2] = readField(filepath.Join(memory, "memory.oom_control"), "oom_kill")
	}
	if err := errors.Join(failures[:]...); err != nil {
		return Usage{}, 0, fmt.Errorf("read what a command used: %w", err)
	}
	return u, oomKills, nil
}

// refused is how often a process of the group was denied a further one, 0 where the kernel does not tell.
func (g *group) refused() int64 {
	n, err := readField(filepath.Join(g.dirs[controllerPids], "pids.events"), "max")
	if err != nil {
		return 0
	}
	return n
}

// pids are the processes in the group that can be seen from here.
func (g *group) pids() []int {
	for _, dir := range g.all() {
		return readPids(dir) // a process joins all directories or does not start
	}
	return nil
}

// kill ends every process in the group, those too that are born meanwhile.
func (g *group) kill() {
	for deadline := time.Now().Add(removeTimeout); ; time.Sleep(removePoll) {
		alive := false
		for _, dir := range g.all() {
			for _, pid := range readPids(dir) {
				alive = unix.Kill(pid, unix.SIGKILL) == nil || alive
			}
		}
		if !alive || time.Now().After(deadline) {
			return
		}
	}
}

// killAndRemove ends what is left in the group and removes it.
func (g *group) killAndRemove() error {
	g.kill()
	var failures []error
	for _, dir := range g.all() {
		failures = append(failures, removeGroupDir(dir))
	}
	return errors.Join(failures...)
}

// removeGroupDir removes one directory of a group, waiting for the kernel to take its last dead process out.
func removeGroupDir(dir string) error {
	for deadline := time.Now().Add(removeTimeout); ; time.Sleep(removePoll) {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("remove control group %s: %w", dir, err)
		}
	}
}

// readPids returns the processes of a group's directory. Those outside this process's own namespace have the number 0 there
// and are left out, for to signal 0 is to signal oneself.
func readPids(dir string) []int {
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil // removed already: no processes
	}
	var pids []int
	for line := range strings.Lines(string(text)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// writeValue writes to a file of the kernel's, which must exist and takes the value in one write.
func writeValue(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func readNumber(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// readField reads the number after name in a file of "name number" lines.
func readField(path, name string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			return strconv.ParseInt(fields[1], 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, name)
}
