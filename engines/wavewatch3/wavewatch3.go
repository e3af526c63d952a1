// Package wavewatch3 is the engine wavewatch3: waves of oceans and seas by WAVEWATCH III of NOAA, with the binaries that an
// operator has built. It reads the namelists of a case before they cost anything, plans one shard a case, writes its command line
// and reads its outputs; the Python programs beside it, which it embeds, choose the build, run its programs one after the other,
// look at what lies between them, and draw what they wrote. Nothing of WAVEWATCH III is built or installed here.
package wavewatch3

import (
	"embed"
	"errors"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/waves"
)

// ID is the canonical simulator id of doc/contract.md §1.
const ID = "wavewatch3"

//go:embed programs/*.py
var programs embed.FS

//go:embed programs/builds.py
var builds string

const programRun = "run.py"

// running is this engine's program in its words.
var running = python.Program{
	Engine: ID, Sources: []python.Source{waves.Sources, {Files: programs, From: "programs"}}, Mains: []string{programRun},
	Name: "The wave model", Requirements: "engines/openmm/requirements.lock", LessMemory: "a coarser grid or fewer spectral bins",
}

// WaveWatch implements engines.Engine and the optional interfaces listed below. Its zero value is ready; it has no state.
type WaveWatch struct {
	python.Reporting
	python.Saving
}

var (
	_ engines.Engine       = WaveWatch{}
	_ engines.Wanter       = WaveWatch{}
	_ engines.Typical      = WaveWatch{}
	_ engines.Progresser   = WaveWatch{}
	_ engines.Checkpointer = WaveWatch{}
	_ engines.Explainer    = WaveWatch{}
)

// New returns the engine.
func New() WaveWatch { return WaveWatch{} }

// Spec describes the engine.
func (WaveWatch) Spec() engines.Spec {
	return engines.Spec{
		ID: ID, Title: "WAVEWATCH III", Aliases: []string{"ww3", "wavewatchiii"}, Hardware: engines.HardwareCPU,
		Brought: true, Citations: citations(), Probe: python.Probe(builds+probeEnd, probeWayOut, checkBuilds),
	}
}

func citations() []engines.Citation {
	return []engines.Citation{
		{Text: "Tolman HL. A third-generation model for wind waves on slowly varying, unsteady, and inhomogeneous depths and " +
			"currents. J. Phys. Oceanogr. 1991, 21, 782.", DOI: "10.1175/1520-0485(1991)021<0782:ATGMFW>2.0.CO;2"},
	}
}

// FolderVariable is the environment variable that names the folder of builds, for a worker as for its programs.
const FolderVariable = "MOLFABRIC_WW3"

// probeEnd, behind builds.py, lists the builds whose model starts, and why others are not offered.
const probeEnd = `

import json
import matplotlib, numpy, scipy
found = {"numpy": numpy.__version__, "scipy": scipy.__version__, "matplotlib": matplotlib.__version__}
usable, refused = find()
for build in usable:
    wrong = starts(build)
    if wrong:
        refused[build["folder"].name] = wrong
    else:
        found["build " + build["digest"][:12]] = build["switches"][:200]
for name, why in refused.items():
    found["refused " + name[:64]] = why[:300]
print(json.dumps(found))`

const probeWayOut = "name a folder in " + FolderVariable + " with a folder for each switch file: named by the file's SHA-256, " +
	"with the file `switch` and the programs in `bin`"

const (
	buildPrefix   = "build "
	refusedPrefix = "refused "
)

// checkBuilds refuses an installation without a build that starts.
func checkBuilds(versions map[string]string) error {
	var wrong []string
	for name, said := range versions {
		switch folder, refused := strings.CutPrefix(name, refusedPrefix); {
		case strings.HasPrefix(name, buildPrefix):
			return nil
		case refused:
			wrong = append(wrong, folder+": "+said)
		}
	}
	if len(wrong) == 0 {
		return errors.New("there is no build of WAVEWATCH III; " + probeWayOut)
	}
	slices.Sort(wrong)
	return errors.New("no build of WAVEWATCH III can be used: " + strings.Join(wrong, "; "))
}

// Refused are the folders of builds that a worker has and does not use, with the reasons, from what the engine's probe has found.
func Refused(versions map[string]string) []string {
	var wrong []string
	for name, said := range versions {
		if folder, refused := strings.CutPrefix(name, refusedPrefix); refused {
			wrong = append(wrong, folder+": "+said)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// Command runs the shard's Python program.
func (WaveWatch) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	main, err := running.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	return running.Command(shard, main, python.Environment(map[string]string{"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1",
		"OMP_NUM_THREADS": "1"}))
}

// Explain reads the failure that the program has written, and knows the usual accidents of an installation.
func (WaveWatch) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return running.Explain(dir, exitCode, logTail)
}
