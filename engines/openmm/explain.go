package openmm

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
)

// dynamics is this engine's programs in its words.
var dynamics = program.Program{
	Name: "The simulation program", Requirements: "engines/openmm/requirements.lock", LessMemory: "a smaller system",
}

// Progress reads the programs' progress lines; what OpenMM and its libraries print beside them is ignored.
func (OpenMM) Progress(line string) (float64, string, bool) { return program.Progress(line) }

// Checkpoint reads which saves of a run are whole.
func (OpenMM) Checkpoint(line string) ([]string, bool) { return program.Checkpoint(line) }

// Explain reads the failure that a program has written, and knows the usual accidents of an installation.
func (OpenMM) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return dynamics.Explain(dir, exitCode, logTail)
}
