package blast

import (
	"embed"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

//go:embed programs/*.py
var programs embed.FS

// searching is this engine's programs in its words. They need the standard library alone, so that Python may start without looking
// for packages (-S).
var searching = python.Program{
	Engine:  "blast",
	Sources: []python.Source{{Files: programs, From: "programs"}}, // all of them: they import each other
	Mains:   []string{programSplit, programSearch, programMerge},
	Flags:   []string{"-S"},
	Name:    "The sequence search", Requirements: "NCBI BLAST+",
	LessMemory: "shorter queries, fewer hits (blastMaxHits) or more tasks (taskCount)",
}

// Command runs the shard's Python program. BLAST+ is to report its use to nobody and to read nobody's settings.
func (Blast) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	main, err := searching.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	return searching.Command(shard, main, python.Environment(map[string]string{"BLAST_USAGE_REPORT": "false",
		"NCBI_DONT_USE_NCBIRC": "true"}))
}

// Explain reads the failure that the program has written, and knows the usual accidents of an installation. search.py knows what
// the exit codes of BLAST+ mean.
func (Blast) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return searching.Explain(dir, exitCode, logTail)
}
