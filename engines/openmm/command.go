package openmm

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
)

//go:embed programs/*.py
var programs embed.FS

const (
	// programFolder holds the Python programs in a task's directory, requestFile what they are to do.
	programFolder = "program"
	requestFile   = "request.json"

	programPrepare  = "prepare.py"
	programSimulate = "simulate.py"
	programAnalyse  = "analyse.py"
)

// Command runs the shard's Python program on request.json, which is the shard's parameters.
func (OpenMM) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	name, err := programOf(shard)
	if err != nil {
		return engines.Command{}, err
	}
	files, err := program.Sources(programs, "programs", programFolder) // all of them: they import each other
	if err != nil {
		return engines.Command{}, fmt.Errorf("openmm: %w", err)
	}
	files[requestFile] = shard.Params
	return engines.Command{
		Argv:  []string{"python", "-B", programFolder + "/" + name, "--request", requestFile},
		Env:   environment(shard.Needs.CPUs),
		Files: files,
	}, nil
}

func programOf(shard engines.Shard) (string, error) {
	var head struct {
		Program string `json:"program"`
	}
	if err := json.Unmarshal(shard.Params, &head); err != nil {
		return "", fmt.Errorf("openmm: reading the parameters of shard %s: %w", shard.Name, err)
	}
	switch head.Program {
	case programPrepare, programSimulate, programAnalyse:
		return head.Program, nil
	}
	return "", fmt.Errorf("openmm: shard %s names the unknown program %q", shard.Name, head.Program)
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

// environment makes runs repeatable (hash seed, locale), keeps numerical libraries from starting threads of their own, and lets
// plots be drawn without a screen.
func environment(threads int) map[string]string {
	return map[string]string{
		"LC_ALL":               "C.UTF-8",
		"MPLBACKEND":           "Agg",
		"PYTHONHASHSEED":       "0",
		"PYTHONNOUSERSITE":     "1",
		"PYTHONUNBUFFERED":     "1",
		"PYTHONUTF8":           "1",
		"OMP_NUM_THREADS":      "1",
		"OPENBLAS_NUM_THREADS": "1",
		"OPENMM_CPU_THREADS":   strconv.Itoa(max(threads, 1)),
	}
}
