package openmm

import (
	"embed"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

//go:embed programs/*.py
var programs embed.FS

const (
	programPrepare  = "prepare.py"
	programSimulate = "simulate.py"
	programAnalyse  = "analyse.py"
)

// dynamics is this engine's programs in its words.
var dynamics = python.Program{
	Engine:  "openmm",
	Sources: []python.Source{{Files: programs, From: "programs"}}, // all of them: they import each other
	Mains:   []string{programPrepare, programSimulate, programAnalyse},
	Name:    "The simulation program", Requirements: "engines/openmm/requirements.lock", LessMemory: "a smaller system",
}

// Command runs the shard's Python program.
func (OpenMM) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	main, err := dynamics.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	return dynamics.Command(shard, main, environment(shard.Needs.CPUs))
}

// Explain reads the failure that a program has written, and knows the usual accidents of an installation.
func (OpenMM) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return dynamics.Explain(dir, exitCode, logTail)
}

// anyImage is no image: a request must name one, and this one asks for none.
var anyImage = "sha256:" + strings.Repeat("0", 64)

// Image is the request's execution.workerImageDigest, in the shard that runs the dynamics.
func (OpenMM) Image(shard engines.Shard) string {
	var params struct {
		WorkerImageDigest string `json:"workerImageDigest"`
	}
	if err := json.Unmarshal(shard.Params, &params); err != nil || params.WorkerImageDigest == anyImage {
		return "" // Command says what is wrong with the parameters
	}
	return params.WorkerImageDigest
}

// environment keeps numerical libraries from starting threads of their own, and lets plots be drawn without a screen.
func environment(threads int) map[string]string {
	return python.Environment(map[string]string{
		"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
		"OPENMM_CPU_THREADS": strconv.Itoa(max(threads, 1)),
	})
}
