package swan

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/waves"
)

const stageRun = "run"

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
)

// runParams are the parameters of a shard, as run.py reads them.
type runParams struct {
	Program    string             `json:"program"`
	Title      string             `json:"title"`
	Deck       string             `json:"deck"`
	Root       string             `json:"root"`
	Prefix     string             `json:"prefix"` // before the names of outputs, where a job has several decks
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

// Plan gives a shard for each deck.
func (SWAN) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	shards := make([]engines.Shard, len(q.decks))
	for i := range q.decks {
		if shards[i], err = q.shard(r, i); err != nil {
			return nil, err
		}
	}
	return shards, nil
}

func (q request) shard(r engines.Request, i int) (engines.Shard, error) {
	d := q.decks[i]
	object := r.SceneFile
	expected, most := d.seconds()
	bytes := int64(baseBytes) + int64(bytesPerBin*d.bins())
	if err := waves.CheckSize(d.file, most, bytes, "a coarser grid, fewer steps or several decks",
		"a coarser grid or fewer spectral bins"); err != nil {
		return engines.Shard{}, err
	}
	cores := min(maxCores, 1+int(d.bins()/coreBins))
	params := runParams{
		Program: programRun, Title: r.JobName, Deck: d.file, Root: q.root, Threads: cores, Steps: d.steps(),
		Iterations: d.mostIterations(), Windows: []window{}, Grid: d.regular, Spherical: d.spherical, Citations: citations(),
	}
	if len(q.decks) > 1 {
		params.Prefix = strings.TrimSuffix(path.Base(d.file), path.Ext(d.file)) + "."
	}
	if r.Recovery == waves.RecoveryResumable {
		params.Windows = d.windows()
	}
	text, err := json.Marshal(params)
	return engines.Shard{
		Stage: stageRun, Name: fmt.Sprintf("run-%03d", i+1), Items: 1, Params: text, Essential: len(q.decks) == 1,
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
