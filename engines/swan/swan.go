// Package swan is the engine swan: waves near the shore by SWAN of Delft University of Technology. It reads a case before it costs
// anything, plans one shard a run, writes their command lines and reads their outputs; the Python programs beside it, which it
// embeds, run SWAN, judge how it went and draw what it wrote. SWAN itself is under the GPL, runs as a program of its own, and is
// installed by set-up or by the operator.
package swan

import (
	"embed"
	"errors"
	"strconv"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/waves"
)

// ID is the canonical simulator id of doc/contract.md §1.
const ID = "swan"

//go:embed programs/*.py
var programs embed.FS

const (
	programRun   = "run.py"
	programTable = "table.py"
)

// running is this engine's program in its words.
var running = python.Program{
	Engine: ID, Sources: []python.Source{waves.Sources, {Files: programs, From: "programs"}},
	Mains: []string{programRun, programTable}, Name: "The wave model",
	Requirements: "engines/openmm/requirements.lock", LessMemory: "a coarser grid or fewer spectral bins",
}

// SWAN implements engines.Engine and the optional interfaces listed below. Its zero value is ready; it has no state.
type SWAN struct {
	python.Reporting
	python.Saving
}

var (
	_ engines.Engine       = SWAN{}
	_ engines.Wanter       = SWAN{}
	_ engines.Typical      = SWAN{}
	_ engines.Progresser   = SWAN{}
	_ engines.Checkpointer = SWAN{}
	_ engines.Explainer    = SWAN{}
	_ engines.Repeater     = SWAN{}
)

// New returns the engine.
func New() SWAN { return SWAN{} }

// Spec describes the engine.
func (SWAN) Spec() engines.Spec {
	return engines.Spec{
		ID: ID, Title: "SWAN", Hardware: engines.HardwareCPU, Citations: citations(),
		Probe: python.Probe(probeProgram, probeWayOut, checkVersions),
	}
}

func citations() []engines.Citation {
	return []engines.Citation{
		{Text: "Booij N, Ris RC, Holthuijsen LH. A third-generation wave model for coastal regions: 1. Model description and " +
			"validation. J. Geophys. Res. 1999, 104, 7649.", DOI: "10.1029/98JC02622"},
		{Text: "Ris RC, Holthuijsen LH, Booij N. A third-generation wave model for coastal regions: 2. Verification. J. Geophys. " +
			"Res. 1999, 104, 7667.", DOI: "10.1029/1998JC900123"},
	}
}

// probeProgram runs SWAN without a deck, which it says is missing, behind its version.
const probeProgram = `import json, pathlib, re, shutil, subprocess, sys, tempfile
import matplotlib, numpy, scipy
found = {"numpy": numpy.__version__, "scipy": scipy.__version__, "matplotlib": matplotlib.__version__}
program = shutil.which("swan.exe") or shutil.which("swan") or shutil.which("swan.exe", path=str(pathlib.Path(sys.prefix) / "bin"))
if program:
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "INPUT").write_text("PROJ 'probe' '1'\nSTOP\n")
    subprocess.run([program], cwd=folder, capture_output=True, timeout=60)
    printed = (folder / "PRINT").read_text(errors="replace") if (folder / "PRINT").exists() else ""
    version = re.search(r"VERSION NUMBER\s+(\S+)", printed)
    found["swan"] = version.group(1) if version else ""
print(json.dumps(found))`

const probeWayOut = "install it with `make setup-waves`, or put swan.exe on the path"

// checkVersions refuses an installation without SWAN.
func checkVersions(versions map[string]string) error {
	if versions["swan"] == "" {
		return errors.New("there is no swan.exe; " + probeWayOut)
	}
	return nil
}

// Command runs the shard's Python program.
func (SWAN) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	main, err := running.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	return running.Command(shard, main, python.Environment(map[string]string{
		"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": strconv.Itoa(max(shard.Needs.CPUs, 1)),
	}))
}

// Explain reads the failure that the program has written, and knows the usual accidents of an installation.
func (SWAN) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return running.Explain(dir, exitCode, logTail)
}

var ownPrograms = running.Digest()

// Programs implements engines.Repeater.
func (SWAN) Programs() string { return ownPrograms }

// Repeats implements engines.Repeater.
func (SWAN) Repeats(plan []engines.Shard) []engines.Repeat { return engines.RepeatAll(plan) }
