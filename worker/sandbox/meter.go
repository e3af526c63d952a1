package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// Meter reads what a command has used so far, while it runs. Its zero value is ready and belongs to one Run. It is safe for
// concurrent use.
type Meter struct {
	mu      sync.Mutex
	process *process // nil unless the command runs
}

// Usage is what all processes of the command have used until now. ok is false before the start and after the end, and when the
// kernel does not tell. Without a control group the processor time is counted in steps of ten milliseconds, and there is no peak.
func (m *Meter) Usage() (used Usage, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.process == nil {
		return Usage{}, false
	}
	return m.process.usedSoFar()
}

// watch lets m read p, or nothing any more when p is nil. m may be nil.
func (m *Meter) watch(p *process) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.process = p
}

func (p *process) usedSoFar() (used Usage, ok bool) {
	if p.group != nil {
		usage, _, err := p.group.usage()
		usage.Wall = time.Since(p.started)
		return usage, err == nil
	}
	micros, err := treeCPUMicroseconds(p.cmd.Process.Pid)
	return Usage{CPUMicroseconds: micros, Wall: time.Since(p.started)}, err == nil
}

// microsecondsPerTick is the unit of processor time in /proc, the same on every Linux (USER_HZ is 100).
const microsecondsPerTick = 10_000

// treeCPUMicroseconds is the processor time of a process and all its descendants, those included that have been waited for: what
// the kernel will have counted for it once it has waited for the rest.
func treeCPUMicroseconds(root int) (int64, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	ticks, children := map[int]int64{}, map[int][]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if stat, err := readStat(pid); err == nil { // else it has ended
			ticks[pid], children[stat.parent] = stat.cpuTicks, append(children[stat.parent], pid)
		}
	}
	if _, alive := ticks[root]; !alive {
		return 0, fmt.Errorf("process %d has ended", root)
	}
	total := int64(0)
	for tree := []int{root}; len(tree) > 0; tree = tree[1:] {
		total += ticks[tree[0]]
		tree = append(tree, children[tree[0]]...)
	}
	return total * microsecondsPerTick, nil
}
