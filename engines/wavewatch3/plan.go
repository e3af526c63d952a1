package wavewatch3

import (
	"encoding/json"
	"math"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/waves"
)

const stageRun = "run"

// Cost model: so long takes a bin of a point for a step of propagation in space, for one in the spectrum, and for the source terms
// of a global step. A serial build of 7.14 took 0.16 CPU seconds for 7.5 million steps of bins in space alone, and with ST4 25 for
// 15.7 million of three in space, two in the spectrum and one of source terms.
const (
	secondsPerMove    = 2e-8
	secondsPerTurn    = 2e-8
	secondsPerSources = 1.5e-6
	startSeconds      = 25.0 // the programs before and behind the model, tables of source terms, and drawing
	leeway            = 3    // other source terms, smaller steps in storms, and slower machines
	bytesPerBin       = 16   // the spectra of all points, and what is derived from them
	baseBytes         = 768 << 20
	scratchBytes      = 8 << 30
	maxLogBytes       = 4 << 20
	maxProcesses      = 64
	maxFileBytes      = 2 << 30
	// unstructuredCells is assumed of a grid whose points are in a file of another program.
	unstructuredCells = 50_000
)

// runParams are the parameters of a shard, as run.py reads them.
type runParams struct {
	Program   string             `json:"program"`
	Title     string             `json:"title"`
	Deck      string             `json:"deck"` // as reports call the case
	Root      string             `json:"root"`
	Switches  string             `json:"switches"`
	Start     string             `json:"start"`
	Begin     string             `json:"begin"` // of the run, as WAVEWATCH III writes times
	End       string             `json:"end"`
	Stages    stages             `json:"stages"`
	Drawn     bool               `json:"drawn"` // its fields are rows and columns
	Windows   []window           `json:"windows"`
	Citations []engines.Citation `json:"citations"`
}

// window is a part of a run: a process of ww3_shel of its own. Its series are a first time, seconds and a last time each.
type window struct {
	Begin   string    `json:"begin"`
	End     string    `json:"end"`
	Field   [3]string `json:"field"`
	Point   [3]string `json:"point"`
	Restart [3]string `json:"restart"`
	Own     bool      `json:"own"` // its restart file is for the next window alone
}

// Plan gives the one shard of a case.
func (WaveWatch) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	d := q.deck
	expected, most := d.seconds()
	bytes := int64(baseBytes) + int64(bytesPerBin*d.bins())
	if err := waves.CheckSize(gridDeck, most, bytes, "a coarser grid, longer steps or less time",
		"a coarser grid or fewer spectral bins"); err != nil {
		return nil, err
	}
	params := runParams{
		Program: programRun, Title: r.JobName, Deck: shelDeck, Root: q.root, Switches: q.switches, Start: q.start,
		Begin: spell(d.start), End: spell(d.stop), Stages: d.stages.whole(), Drawn: d.kind == rectilinear || d.kind == curvilinear,
		Windows: []window{}, Citations: citations(),
	}
	if r.Recovery == waves.RecoveryResumable {
		params.Windows = d.windows()
	}
	text, err := json.Marshal(params)
	object := r.SceneFile
	return []engines.Shard{{
		Stage: stageRun, Name: "run", Items: 1, Params: text, Essential: true,
		Inputs:             []engines.Input{{Name: waves.InputCase, Object: &object}},
		ExpectedCPUSeconds: waves.Round(expected), MostCPUSeconds: waves.Round(most),
		Needs: engines.Resources{
			CPUs: 1, MemoryBytes: waves.WholeMebibytes(bytes), FileBytes: maxFileBytes, Processes: maxProcesses,
			TimeLimit: waves.TimeLimit(most), MaxLogBytes: maxLogBytes, ScratchBytes: scratchBytes,
		},
	}}, err
}

// whole has lists where there are none, as the program reads them.
func (s stages) whole() stages {
	s.Forcing = append([]prnc{}, s.Forcing...)
	s.Fields, s.Points, s.Needs = append([]string{}, s.Fields...), append([]string{}, s.Points...), append([]string{}, s.Needs...)
	return s
}

// bins are the spectral bins of all points.
func (d deck) bins() float64 {
	cells := d.cells
	if cells == 0 {
		cells = unstructuredCells
	}
	return float64(cells) * float64(d.directions) * float64(d.frequencies)
}

// steps are the global ones of the whole run.
func (d deck) steps() int {
	if d.global <= 0 {
		return 0
	}
	return int((d.stop.Sub(d.start) + d.global - 1) / d.global)
}

// seconds are the processor time that is expected, and the most there can be.
func (d deck) seconds() (expected, most float64) {
	turns := func(part time.Duration) float64 { return math.Max(math.Ceil(float64(d.global)/float64(part)), 1) }
	step := 0.0
	if d.moves {
		step += secondsPerMove * turns(d.space)
	}
	if d.turns {
		step += secondsPerTurn * turns(d.turn)
	}
	if d.hasSources {
		step += secondsPerSources
	}
	expected = d.bins()*float64(d.steps())*step + startSeconds
	return expected, leeway * expected
}
