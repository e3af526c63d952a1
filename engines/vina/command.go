package vina

import (
	"embed"
	"strconv"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/pockets"
	"github.com/molfabric/molfabric/engines/python"
)

//go:embed programs/*.py programs/*.json
var programs embed.FS

// pocketFolder is where box.py expects the pocket finder, below the programs.
const pocketFolder = "fpocket"

// docking is this engine's programs in its words. A picture may say that nothing was drawn, and with nothing.
var docking = python.Program{
	Engine:  "vina",
	Sources: []python.Source{{Files: programs, From: "programs"}}, // all of them: they import each other
	Mains: []string{
		programReceptor, programLigands, programRedock, programGate, programDock, programAnalyse, programPicture, programRank,
	},
	Name: "The docking program", Requirements: "engines/vina/requirements.lock", LessMemory: "a smaller box or smaller ligands",
	Nameless: true,
}

// Command runs the shard's Python program.
func (Vina) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	main, err := docking.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	return docking.Command(shard, main, environment(shard.Needs.CPUs), sourcesOf(main)...)
}

// sourcesOf are what a program starts beside this engine's own: the receptor's may have to find the pocket to dock into.
func sourcesOf(main string) []python.Source {
	switch main {
	case programReceptor:
		return []python.Source{{Files: pockets.Programs, Into: pocketFolder}}
	case programPicture:
		return renderers
	}
	return nil
}

// environment keeps numerical libraries from starting threads of their own.
func environment(threads int) map[string]string {
	return python.Environment(map[string]string{"OMP_NUM_THREADS": strconv.Itoa(max(threads, 1)), "OPENBLAS_NUM_THREADS": "1"})
}

// Explain reads the failure that a program has written, and knows the usual accidents of an installation.
func (Vina) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return docking.Explain(dir, exitCode, logTail)
}
