package fpocket

import (
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
	"github.com/molfabric/molfabric/engines/program/pockets"
)

const (
	// programFolder holds the Python programs in a task's directory, requestFile what they are to do.
	programFolder = "program"
	requestFile   = "request.json"
)

// Command runs the shard's Python program on request.json, which is the shard's parameters.
func (Fpocket) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	files, err := program.Sources(pockets.Programs, ".", programFolder)
	if err != nil {
		return engines.Command{}, fmt.Errorf("fpocket: %w", err)
	}
	files[requestFile] = shard.Params
	return engines.Command{
		Argv: []string{"python", "-B", programFolder + "/" + pockets.Main, "--request", requestFile},
		// Runs are to be repeatable (hash seed, locale), and numerical libraries to start no threads of their own.
		Env: map[string]string{
			"LC_ALL":               "C.UTF-8",
			"PYTHONHASHSEED":       "0",
			"PYTHONNOUSERSITE":     "1",
			"PYTHONUNBUFFERED":     "1",
			"PYTHONUTF8":           "1",
			"OMP_NUM_THREADS":      "1",
			"OPENBLAS_NUM_THREADS": "1",
			"RAYON_NUM_THREADS":    "1", // fpocket-rs
		},
		Files: files,
	}, nil
}
