package fleet

import (
	"testing"
	"time"
)

func TestWanted(t *testing.T) {
	t.Parallel()
	cpu := func(tasks int, seconds float64) Backlog {
		return Backlog{Class: "cpu.autodock-vina", Waiting: tasks, Places: tasks, CPUSeconds: seconds}
	}
	plain := Pool{Slots: 4, Max: 100}
	devices := Backlog{Class: "gpu.openmm", Waiting: 3, Places: 3, GPUSeconds: 9e6}
	for name, c := range map[string]struct {
		pool     Pool
		backlogs []Backlog
		want     int
	}{
		"nothing waits":               {plain, []Backlog{cpu(0, 0)}, 0},
		"nothing waits, some stay":    {Pool{Slots: 4, Min: 2, Max: 9}, nil, 2},
		"the example of doc/capacity": {Pool{Slots: 16, Max: 40}, []Backlog{cpu(2000, 120_000)}, 13},
		"a moment's work":             {plain, []Backlog{cpu(1, 0.1)}, 1},
		"no expectation at all":       {plain, []Backlog{cpu(1, 0)}, 1},
		"one long task":               {plain, []Backlog{cpu(1, 36_000)}, 1},
		"no more than tasks":          {plain, []Backlog{cpu(9, 360_000)}, 3},
		"exactly full":                {plain, []Backlog{cpu(1000, 4*600)}, 1},
		"a second more":               {plain, []Backlog{cpu(1000, 4*600+1)}, 2},
		"a target below the least":    {Pool{Slots: 1, Max: 100, Target: time.Second}, []Backlog{cpu(1000, 1200)}, 2},
		"a longer target":             {Pool{Slots: 1, Max: 100, Target: 20 * time.Minute}, []Backlog{cpu(1000, 1200)}, 1},
		"the most":                    {Pool{Slots: 1, Max: 7}, []Backlog{cpu(100_000, 1e12)}, 7},
		"classes that others serve":   {Pool{Slots: 1, Max: 7, Classes: []string{"cpu.openmm", "gpu.*"}}, []Backlog{cpu(9, 9e9)}, 0},
		"classes by pattern":          {Pool{Slots: 1, Max: 7, Classes: []string{"cpu.*"}}, []Backlog{cpu(5, 9e9)}, 5},
		"what runs counts":            {plain, []Backlog{{Class: "cpu.openmm", Running: 8, Places: 8, RunningSeconds: 80_000}}, 2},
		"nearly done":                 {plain, []Backlog{{Class: "cpu.openmm", Running: 8, Places: 8, RunningSeconds: 80}}, 1},
		"several cores a task":        {plain, []Backlog{{Class: "cpu.openmm", Waiting: 2, Places: 16, CPUSeconds: 1e6}}, 4},
		"several classes": {plain, []Backlog{cpu(1000, 2400),
			{Class: "cpu.openmm", Waiting: 4, Places: 4, CPUSeconds: 2400}}, 2},
		"devices without any":           {plain, []Backlog{devices}, 0},
		"devices":                       {Pool{Slots: 8, Devices: 2, Max: 9}, []Backlog{devices}, 2},
		"devices and cores: the larger": {Pool{Slots: 1, Devices: 1, Max: 9}, []Backlog{devices, cpu(5, 9e9)}, 5},
		"beyond all numbers":            {Pool{Slots: 1, Max: 1 << 30}, []Backlog{cpu(1<<40, 1e300)}, MaxWorkers},
	} {
		if got := c.pool.Wanted(c.backlogs); got != c.want {
			t.Errorf("%s: %+v on %+v wants %d workers, want %d", name, c.pool, c.backlogs, got, c.want)
		}
	}
}
