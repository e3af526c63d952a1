package fpocket

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/pockets"
	"github.com/molfabric/molfabric/engines/python"
)

// finding is this engine's program in its words.
var finding = python.Program{
	Engine:  "fpocket",
	Sources: []python.Source{{Files: pockets.Programs}},
	Name:    "The pocket finder", Requirements: "engines/fpocket/requirements.lock", LessMemory: "only the chains of interest",
}

// Command runs the pocket finder. Numerical libraries are to start no threads of their own, nor is fpocket-rs.
func (Fpocket) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	return finding.Command(shard, pockets.Main, python.Environment(map[string]string{
		"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1",
	}))
}

// Explain reads the failure that the program has written, and knows the usual accidents of an installation.
func (Fpocket) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return finding.Explain(dir, exitCode, logTail)
}
