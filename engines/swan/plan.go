package swan

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/waves"
)

const (
	stageRun   = "run"
	stageTable = "table"
)

// Cost model: a point's bin takes so long an iteration. SWAN 41.01 took 6.4 CPU seconds for 9 iterations of 51 × 51 points, 36
// directions and 33 frequencies, and 16.4 for 24 time steps of one iteration each.
const (
	secondsPerBin   = 2.3e-7
	startSeconds    = 4.0 // the programs, and drawing
	usualIterations = 15  // a stationary run of common accuracy converges within
	bytesPerBin     = 24  // the spectra of all points, twice, and what is derived from them
	baseBytes       = 768 << 20
	coreBins        = 20e6 // from so many bins on a second core pays
	maxCores        = 4
	scratchBytes    = 4 << 30
	maxLogBytes     = 4 << 20
	maxProcesses    = 64
	maxFileBytes    = 1 << 30
	tableSeconds    = 0.01 // of a scenario
	tableBytes      = 256 << 20
	tableScratch    = 256 << 20
)

// runParams are the parameters of a shard, as run.py reads them.
type runParams struct {
	Program    string             `json:"program"`
	Title      string             `json:"title"`
	Deck       string             `json:"deck"`
	Root       string             `json:"root"`
	Prefix     string             `json:"prefix"` // before the names of outputs, where a job has several runs
	Label      string             `json:"label"`  // what people call the run
	Scenario   string             `json:"scenario,omitempty"`
	Values     map[string]string  `json:"values,omitempty"` // of the scenario, by what stands for them in the deck
	Threads    int                `json:"threads"`
	Steps      int                `json:"steps"` // of all time; 0 of stationary runs
	Iterations int                `json:"iterations"`
	Windows    []window           `json:"windows"`
	Grid       regularGrid        `json:"grid"`
	Spherical  bool               `json:"spherical"`
	Citations  []engines.Citation `json:"citations"`
}

// window is a part of a run over time: a process of its own.
type window struct {
	Begin     string `json:"begin"` // as SWAN writes times
	End       string `json:"end"`
	FirstStep int    `json:"firstStep"`
}

// tableParams are the parameters of the shard that gathers, as table.py reads them.
type tableParams struct {
	Program   string            `json:"program"`
	Columns   []string          `json:"columns"`
	Scenarios []tableOfScenario `json:"scenarios"`
}

type tableOfScenario struct {
	Name   string            `json:"name"`
	Values map[string]string `json:"values"`
}

// Plan gives a shard for each run, and behind those of scenarios one that gathers them in a table.
func (SWAN) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	shards := make([]engines.Shard, 0, len(q.runs)+1)
	for i := range q.runs {
		shard, err := q.shard(r, i)
		if err != nil {
			return nil, err
		}
		shards = append(shards, shard)
	}
	if q.runs[0].scenario.name == "" {
		return shards, nil
	}
	last, err := q.table()
	return append(shards, last), err
}

// table is the shard that gathers the results of all scenarios.
func (q request) table() (engines.Shard, error) {
	params := tableParams{Program: programTable, Columns: slices.Sorted(maps.Keys(q.runs[0].scenario.values))}
	shard := engines.Shard{
		Stage: stageTable, StageIndex: 1, Name: stageTable, Items: len(q.runs), Essential: true,
		ExpectedCPUSeconds: waves.Round(1 + tableSeconds*float64(len(q.runs))),
		Needs: engines.Resources{CPUs: 1, MemoryBytes: tableBytes, FileBytes: maxFileBytes, Processes: maxProcesses,
			TimeLimit: waves.TimeLimit(1), MaxLogBytes: maxLogBytes, ScratchBytes: tableScratch},
	}
	for i, one := range q.runs {
		params.Scenarios = append(params.Scenarios, tableOfScenario{one.scenario.name, one.scenario.values})
		shard.Inputs = append(shard.Inputs, engines.Input{Name: one.scenario.name, From: &engines.From{
			Stage: stageRun, Shard: shardName(i), Output: one.prefix() + waves.ResultsFile, Optional: true}})
	}
	var err error
	shard.Params, err = json.Marshal(params)
	return shard, err
}

func shardName(i int) string { return fmt.Sprintf("run-%03d", i+1) }

// prefix is what the names of a run's outputs begin with, in a job of several.
func (r run) prefix() string {
	if r.scenario.name != "" {
		return r.scenario.name + "."
	}
	return strings.TrimSuffix(path.Base(r.file), path.Ext(r.file)) + "."
}

func (q request) shard(r engines.Request, i int) (engines.Shard, error) {
	d := q.runs[i]
	object := r.SceneFile
	expected, most := d.seconds()
	bytes := int64(baseBytes) + int64(bytesPerBin*d.bins())
	if err := waves.CheckSize(d.label(), most, bytes, "a coarser grid, fewer steps or several decks",
		"a coarser grid or fewer spectral bins"); err != nil {
		return engines.Shard{}, err
	}
	cores := min(maxCores, 1+int(d.bins()/coreBins))
	params := runParams{
		Program: programRun, Title: r.JobName, Deck: d.file, Root: q.root, Label: d.label(), Scenario: d.scenario.name,
		Values: d.scenario.values, Threads: cores, Steps: d.steps(),
		Iterations: d.mostIterations(), Windows: []window{}, Grid: d.regular, Spherical: d.spherical, Citations: citations(),
	}
	if len(q.runs) > 1 || d.scenario.name != "" {
		params.Prefix = d.prefix()
	}
	if r.Recovery == waves.RecoveryResumable {
		params.Windows = d.windows()
	}
	text, err := json.Marshal(params)
	return engines.Shard{
		Stage: stageRun, Name: shardName(i), Items: 1, Params: text, Essential: len(q.runs) == 1,
		Inputs:             []engines.Input{{Name: waves.InputCase, Object: &object}},
		ExpectedCPUSeconds: waves.Round(expected), MostCPUSeconds: waves.Round(most),
		Needs: engines.Resources{
			CPUs: cores, MemoryBytes: waves.WholeMebibytes(bytes), FileBytes: maxFileBytes,
			Processes: maxProcesses, TimeLimit: waves.TimeLimit(most), MaxLogBytes: maxLogBytes, ScratchBytes: scratchBytes,
		},
	}, err
}

// bins are the spectral bins of all points.
func (d deck) bins() float64 {
	cells := d.cells
	if d.unstructured {
		cells = unstructuredCells
	}
	return float64(cells) * float64(d.directions) * float64(d.frequencies)
}

// unstructuredCells is assumed of a grid whose points are in a file of another program.
const unstructuredCells = 50_000

// steps of all computations together.
func (d deck) steps() int {
	steps := 0
	for _, one := range d.computations {
		steps += one.steps()
	}
	return steps
}

// mostIterations of a computation or step.
func (d deck) mostIterations() int {
	switch {
	case d.iterations > 0:
		return d.iterations
	case d.nonstationary:
		return 1
	}
	return defaultMaxIts
}

// seconds are the processor time that is expected, and the most there can be.
func (d deck) seconds() (expected, most float64) {
	iterations := float64(d.mostIterations())
	for _, one := range d.computations {
		usual := math.Min(iterations, usualIterations)
		turns := 1.0
		if steps := one.steps(); steps > 0 {
			turns, usual = float64(steps), math.Min(iterations, 3)
		}
		expected += turns * usual * d.bins() * secondsPerBin
		most += turns * iterations * d.bins() * secondsPerBin
	}
	return expected + startSeconds, 1.5*most + startSeconds
}

// windows cut a run over time into parts of about windowSeconds; none where the deck cannot be cut.
func (d deck) windows() []window {
	if len(d.computations) != 1 || d.steps() < 2 || !d.inOneLine {
		return []window{}
	}
	one, steps := d.computations[0], d.steps()
	expected, _ := d.seconds()
	count := waves.Windows(steps, expected)
	windows := make([]window, count)
	for i := range windows {
		first, last := i*steps/count, (i+1)*steps/count
		windows[i] = window{one.at(first), one.at(last), first}
	}
	windows[count-1].End = one.end.Format(isoTime)
	return windows
}

// at is the time of a step as SWAN writes it.
func (c computation) at(step int) string {
	return c.begin.Add(time.Duration(step) * c.step).Format(isoTime)
}
