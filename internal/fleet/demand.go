// Package fleet says how many workers a backlog wants, and keeps that many of them where the fabric may start them. What is counted
// here are values; the stores are asked by the scheduler, and machines by the packages below this one.
package fleet

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Demand is what the scheduler says to whoever sizes a fleet.
type Demand struct {
	At time.Time `json:"at"`
	// Classes are the worker classes of the deployment, with or without work, by name.
	Classes []Backlog `json:"classes"`
	// Workers are those whose heartbeat is not a minute old: one that died just now is among them.
	Workers []Worker `json:"workers"`
	// Wanted is how many workers the pool wants that was asked about, those that run included.
	Wanted int `json:"wanted"`
}

// Backlog is what waits for, and runs on, the workers of one class. Expectations are corrected by what the newest tasks of the
// class have used; a longest time that was asked about leaves the waiting tasks out that would take longer.
type Backlog struct {
	Class   string `json:"class"` // the name of its queue, such as "cpu.autodock-vina"
	Waiting int    `json:"waiting"`
	Running int    `json:"running"`
	// Places are the cores that the waiting and the running tasks can keep busy at once; of the class gpu, devices.
	Places int `json:"places"`
	// CPUSeconds and GPUSeconds are expected of the waiting tasks, and RunningSeconds of what the running ones have still to do: on
	// processors, or of the class gpu on devices.
	CPUSeconds     float64 `json:"cpuSeconds"`
	GPUSeconds     float64 `json:"gpuSeconds"`
	RunningSeconds float64 `json:"runningSeconds"`
	// OldestSeconds is since when the task has waited whose stage has been open longest; 0 when none waits.
	OldestSeconds float64 `json:"oldestSeconds"`
}

// OnDevices reports whether the class's tasks wait for devices, and not for cores.
func (b Backlog) OnDevices() bool { return strings.HasPrefix(b.Class, "gpu.") }

// seconds are what the class's tasks have still to do.
func (b Backlog) seconds() float64 {
	if b.OnDevices() {
		return b.GPUSeconds + b.RunningSeconds
	}
	return b.CPUSeconds + b.RunningSeconds
}

// Worker is a living worker.
type Worker struct {
	ID string `json:"id"`
	// Name is what who started it calls it; "" for one that was started by hand.
	Name      string    `json:"name,omitempty"`
	Host      string    `json:"host"`
	Version   string    `json:"version"`
	Classes   []string  `json:"classes"`
	Slots     int       `json:"slots"`
	Devices   int       `json:"devices"`
	Held      int       `json:"held"` // tasks that it answers for
	Draining  bool      `json:"draining"`
	StartedAt time.Time `json:"startedAt"`
	// Until is when its allocation ends; zero for one that stays.
	Until time.Time `json:"until,omitzero"`
}

const (
	// MinTarget is the shortest time in which a backlog may be asked to be done. Below it a fleet would grow for work that is done
	// before its workers have started.
	MinTarget = 10 * time.Minute
	// MaxWorkers bounds every pool.
	MaxWorkers = 10_000
)

// Pool is one kind of worker, as it is asked for.
type Pool struct {
	Slots   int // cores that a worker has for engines, at least 1
	Devices int // tasks that its devices take at once; 0 for a worker without
	Min     int
	Max     int
	// Target is how soon a backlog is to be done; less than MinTarget counts as that.
	Target time.Duration
	// Classes are the names of the classes that its workers serve, or patterns of path.Match such as "cpu.*"; none for all.
	Classes []string
}

// Wanted is how many workers the pool is to have, those that run and start included:
//
//	wanted = clamp(ceil(min(P, B/T) / slots), min, max)
//
// where P are the cores that the waiting and running tasks can keep busy, B the seconds of one core that they have still to do, and
// T = max(600 s, target). So a backlog is done in about T, no worker stands idle beside others for want of tasks, and a single long
// task wants one worker however long it is. For a pool with devices the same is asked of devices, and the larger number wins.
func (p Pool) Wanted(backlogs []Backlog) int {
	var cores, devices need
	for _, b := range backlogs {
		switch {
		case !p.Serves(b.Class):
		case b.OnDevices():
			devices.add(b)
		default:
			cores.add(b)
		}
	}
	target := max(p.Target, MinTarget)
	wanted := cores.workers(target, p.Slots)
	if p.Devices > 0 {
		wanted = max(wanted, devices.workers(target, p.Devices))
	}
	return min(max(wanted, p.Min), p.Max)
}

// Serves reports whether the pool's workers take tasks of a class.
func (p Pool) Serves(class string) bool {
	return len(p.Classes) == 0 || slices.ContainsFunc(p.Classes, func(pattern string) bool {
		matches, err := path.Match(pattern, class)
		return err == nil && matches
	})
}

// need is what the backlogs of one kind of hardware come to.
type need struct {
	places  int
	seconds float64
}

func (n *need) add(b Backlog) {
	n.places, n.seconds = n.places+b.Places, n.seconds+b.seconds()
}

// workers is the formula without its bounds; at least one where anything waits or runs, whatever its expectation.
func (n need) workers(target time.Duration, slots int) int {
	if n.places == 0 {
		return 0
	}
	busy := min(float64(n.places), n.seconds/target.Seconds())
	return min(max(ceil(busy/float64(max(slots, 1))), 1), MaxWorkers)
}

// ceil rounds up what is not a whole number but for the error of its computation.
func ceil(x float64) int {
	const slack = 1e-9
	whole := int(min(x, MaxWorkers))
	if x-float64(whole) > slack {
		whole++
	}
	return whole
}
