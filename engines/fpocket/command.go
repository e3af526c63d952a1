package fpocket

import (
	"embed"
	"fmt"

	"github.com/molfabric/molfabric/engines"
)

//go:embed common.py structure.py detect.py surface.py find_pockets.py
var programs embed.FS

const (
	// programFolder holds the Python programs in a task's directory, requestFile what they are to do.
	programFolder = "program"
	requestFile   = "request.json"
	programFind   = "find_pockets.py"
)

// Command runs the shard's Python program on request.json, which is the shard's parameters.
func (Fpocket) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	files := map[string][]byte{requestFile: shard.Params}
	entries, err := programs.ReadDir(".")
	if err != nil {
		return engines.Command{}, fmt.Errorf("fpocket: listing the programs: %w", err)
	}
	for _, entry := range entries {
		source, err := programs.ReadFile(entry.Name())
		if err != nil {
			return engines.Command{}, fmt.Errorf("fpocket: reading program %s: %w", entry.Name(), err)
		}
		files[programFolder+"/"+entry.Name()] = source
	}
	return engines.Command{
		Argv: []string{"python", "-B", programFolder + "/" + programFind, "--request", requestFile},
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
