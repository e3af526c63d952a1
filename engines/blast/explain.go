package blast

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
)

// searching is this engine's programs in its words.
var searching = program.Program{
	Name: "The sequence search", Requirements: "NCBI BLAST+", LessMemory: "shorter queries, fewer hits (blastMaxHits) or more tasks (taskCount)",
}

// Progress reads the programs' progress lines; what else is printed is ignored.
func (Blast) Progress(line string) (float64, string, bool) { return program.Progress(line) }

// Explain reads the failure that the program has written, and knows the usual accidents of an installation. search.py knows what
// the exit codes of BLAST+ mean.
func (Blast) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return searching.Explain(dir, exitCode, logTail)
}
