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
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/molfabric/molfabric/engines"
)

// Controllers of the kernel's control groups that caps are made of. cpu is used where it is there; the others are required.
const (
	controllerMemory  = "memory"
	controllerPids    = "pids"
	controllerCPU     = "cpu"
	controllerCPUAcct = "cpuacct" // version 1 only
)

// supervisorName is the group a worker moves itself into under version 2, where a group with children must have no processes
// of its own. A service manager that starts the worker in a group of this name (DelegateSubgroup=) saves it the move.
const supervisorName = "molfabric-worker"

// hierarchy is the place in the control groups below which this worker makes one group a command: its own group, so that
// whatever caps the worker caps its commands too.
type hierarchy struct {
	version int
	dirs    map[string]string // controller → directory; one and the same for all under version 2
	prefix  string            // of the names of this process's groups
}

// detectHierarchy finds control groups that work, by making a group and removing it again.
func detectHierarchy() (*hierarchy, error) {
	mountText, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	ownText, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	prefix, err := GroupPrefix(os.Getpid())
	if err != nil {
		return nil, err
	}
	own := groupDirs(string(mountText), string(ownText))
	h, err1 := version1(own)
	if err1 == nil {
		h.prefix = prefix
		err1 = h.try()
	}
	if err1 == nil {
		return h, nil
	}
	h, err2 := version2(own)
	if err2 == nil {
		h.prefix = prefix
		err2 = h.try()
	}
	if err2 == nil {
		return h, nil
	}
	return nil, fmt.Errorf("%w; %w", err1, err2)
}

// version1 uses the separate hierarchies of version 1, which systems with both versions still have for these controllers.
func version1(own map[string]string) (*hierarchy, error) {
	dirs := map[string]string{}
	for _, controller := range []string{controllerMemory, controllerPids, controllerCPUAcct} {
		if own[controller] == "" {
			return nil, fmt.Errorf("cgroup v1: no %s controller is mounted", controller)
		}
		dirs[controller] = own[controller]
	}
	if dir := own[controllerCPU]; dir != "" {
		dirs[controllerCPU] = dir
	}
	return &hierarchy{version: 1, dirs: dirs}, nil
}

// version2 uses the unified hierarchy, if its controllers have been delegated to us.
func version2(own map[string]string) (*hierarchy, error) {
	dir := own[""]
	if dir == "" {
		return nil, errors.New("cgroup v2: not mounted")
	}
	if filepath.Base(dir) == supervisorName {
		dir = filepath.Dir(dir)
	}
	text, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, fmt.Errorf("cgroup v2: %w", err)
	}
	dirs := map[string]string{}
	var enable []string
	for _, controller := range []string{controllerMemory, controllerPids, controllerCPU} {
		if !slices.Contains(strings.Fields(string(text)), controller) {
			return nil, fmt.Errorf("cgroup v2: the %s controller is not delegated to %s", controller, dir)
		}
		dirs[controller] = dir
		enable = append(enable, "+"+controller)
	}
	if err := enableControllers(dir, strings.Join(enable, " ")); err != nil {
		return nil, fmt.Errorf("cgroup v2: %w", err)
	}
	return &hierarchy{version: 2, dirs: dirs}, nil
}

// enableControllers hands controllers down to dir's children. While dir has processes the kernel refuses; if they all are
// this process and its children, they move into a group of their own first, and back when that was not enough.
func enableControllers(dir, controllers string) error {
	file := filepath.Join(dir, "cgroup.subtree_control")
	err := writeValue(file, controllers)
	if !errors.Is(err, unix.EBUSY) {
		return err
	}
	leaf := filepath.Join(dir, supervisorName)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	moved := familyOf(os.Getpid(), readPids(dir))
	for _, pid := range moved {
		if err := writeValue(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(pid)); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	if err = writeValue(file, controllers); err == nil {
		return nil
	}
	for _, pid := range moved {
		_ = writeValue(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)) // the error below is the one that counts
	}
	_ = os.Remove(leaf)
	return fmt.Errorf("%s holds processes of others: %w", dir, err)
}

// familyOf keeps those of pids that are self or descend from it.
func familyOf(self int, pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		for pid > 1 && pid != self {
			stat, err := readStat(pid)
			if err != nil {
				return true
			}
			pid = stat.parent
		}
		return pid != self
	})
}

// try makes one group with small caps and removes it.
func (h *hierarchy) try() error {
	g, err := h.create(engines.Resources{CPUs: 1, MemoryBytes: MinMemoryBytes, Processes: 1})
	if err != nil {
		return err
	}
	return g.killAndRemove()
}

// sequence numbers this process's groups, whichever Runner makes them.
var sequence atomic.Int64

// create makes the group of one command and sets its caps. A name that is taken is an error: it is another worker's, one
// that sees other process ids in a container of its own.
func (h *hierarchy) create(needs engines.Resources) (*group, error) {
	name := h.prefix + strconv.FormatInt(sequence.Add(1), 10)
	g := &group{version: h.version, dirs: map[string]string{}}
	made := map[string]bool{}
	for _, controller := range slices.Sorted(maps.Keys(h.dirs)) {
		dir := filepath.Join(h.dirs[controller], name)
		if !made[dir] {
			if err := os.Mkdir(dir, 0o755); err != nil {
				return nil, errors.Join(fmt.Errorf("make control group: %w", err), g.killAndRemove())
			}
		}
		made[dir], g.dirs[controller] = true, dir
	}
	if err := g.setCaps(needs); err != nil {
		return nil, errors.Join(err, g.killAndRemove())
	}
	return g, nil
}

// The name of a group says which process made it, so that another can tell whether that one still lives.
const groupNameFormat = "molfabric-%d-%d-"

// GroupPrefix is what the names of all control groups begin with that a living process makes, and those of no process that had or
// will have its id before or after it.
func GroupPrefix(pid int) (string, error) {
	stat, err := readStat(pid)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(groupNameFormat, pid, stat.startTicks), nil
}

// SweepStale removes the control groups that workers which live no more have left behind, and ends what still runs in them.
// It returns how many it removed. Groups of living workers, this one's too, are left alone.
func (r *Runner) SweepStale() (removed int, err error) {
	if r.hierarchy == nil {
		return 0, nil
	}
	stale := map[string]*group{}
	for controller, dir := range r.hierarchy.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return 0, fmt.Errorf("look for stale control groups: %w", err)
		}
		for _, entry := range entries {
			if !entry.IsDir() || !staleGroup(entry.Name()) {
				continue
			}
			if stale[entry.Name()] == nil {
				stale[entry.Name()] = &group{version: r.hierarchy.version, dirs: map[string]string{}}
			}
			stale[entry.Name()].dirs[controller] = filepath.Join(dir, entry.Name())
		}
	}
	var failures []error
	for _, g := range stale {
		if err := g.killAndRemove(); err != nil {
			failures = append(failures, err)
			continue
		}
		removed++
	}
	return removed, errors.Join(failures...)
}

// staleGroup reports whether name is that of a group whose maker has ended.
func staleGroup(name string) bool {
	var pid int
	var startTicks, number int64
	if n, err := fmt.Sscanf(name, groupNameFormat+"%d", &pid, &startTicks, &number); n != 3 || err != nil {
		return false
	}
	stat, err := readStat(pid)
	return err != nil || stat.startTicks != startTicks
}

// groupDirs joins /proc/self/mountinfo and /proc/self/cgroup into controller → directory of this process's group. The key
// of the unified hierarchy is "". Hierarchies in which our group cannot be seen from here are left out.
func groupDirs(mountText, ownText string) map[string]string {
	type mount struct{ root, point string }
	mounts := map[string]mount{}
	for line := range strings.Lines(mountText) {
		before, after, ok := strings.Cut(line, " - ")
		fields, super := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(super) < 3 {
			continue
		}
		m := mount{root: fields[3], point: fields[4]}
		switch super[0] {
		case "cgroup2":
			mounts[""] = m
		case "cgroup":
			for option := range strings.SplitSeq(super[2], ",") {
				mounts[option] = m
			}
		}
	}
	dirs := map[string]string{}
	for line := range strings.Lines(ownText) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			m, ok := mounts[controller]
			if ok && within(m.root, parts[2]) {
				dirs[controller] = filepath.Join(m.point, strings.TrimPrefix(parts[2], m.root))
			}
		}
	}
	return dirs
}

// processStat is what is needed of /proc/<pid>/stat.
type processStat struct {
	parent     int
	startTicks int64 // since boot, in clock ticks: with the pid it names a process for good
	cpuTicks   int64 // processor time of it and of the children that it has waited for
}

func readStat(pid int) (processStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, err
	}
	// The second field is the program's name in parentheses and may hold anything, so count from its end (proc(5)).
	_, after, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(after)
	if len(fields) < 20 {
		return processStat{}, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return processStat{}, err
	}
	stat := processStat{parent: parent}
	for _, field := range fields[11:15] { // utime, stime, cutime, cstime
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return processStat{}, err
		}
		stat.cpuTicks += ticks
	}
	stat.startTicks, err = strconv.ParseInt(fields[19], 10, 64)
	return stat, err
}
