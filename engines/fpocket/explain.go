package fpocket

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
)

// finding is this engine's program in its words.
var finding = program.Program{
	Name: "The pocket finder", Requirements: "engines/fpocket/requirements.lock", LessMemory: "only the chains of interest",
}

// Progress reads the program's progress lines; what else is printed is ignored.
func (Fpocket) Progress(line string) (float64, string, bool) { return program.Progress(line) }

// Explain reads the failure that the program has written, and knows the usual accidents of an installation.
func (Fpocket) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return finding.Explain(dir, exitCode, logTail)
}
