package vina

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
)

// docking is this engine's programs in its words.
var docking = program.Program{
	Name: "The docking program", Requirements: "engines/vina/requirements.lock", LessMemory: "a smaller box or smaller ligands",
}

// Progress reads the programs' progress lines; what Vina and the chemistry libraries print beside them is ignored.
func (Vina) Progress(line string) (float64, string, bool) { return program.Progress(line) }

// Checkpoint reads which ligands of a docking shard are finished.
func (Vina) Checkpoint(line string) ([]string, bool) { return program.Checkpoint(line) }

// Explain reads the failure that a program has written, and knows the usual accidents of an installation.
func (Vina) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return docking.Explain(dir, exitCode, logTail)
}
