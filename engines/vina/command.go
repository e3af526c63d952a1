package vina

import (
	"embed"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/molfabric/molfabric/engines"
)

//go:embed *.py
var programs embed.FS

const (
	// programFolder holds the Python programs in a task's directory, requestFile what they are to do.
	programFolder = "program"
	requestFile   = "request.json"
)

// Command runs the shard's Python program on request.json, which is the shard's parameters.
func (Vina) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	program, err := programOf(shard)
	if err != nil {
		return engines.Command{}, err
	}
	files := map[string][]byte{requestFile: shard.Params}
	sources, err := programs.ReadDir(".")
	if err != nil {
		return engines.Command{}, fmt.Errorf("vina: listing the programs: %w", err)
	}
	for _, entry := range sources { // all of them: they import each other
		source, err := programs.ReadFile(entry.Name())
		if err != nil {
			return engines.Command{}, fmt.Errorf("vina: reading program %s: %w", entry.Name(), err)
		}
		files[programFolder+"/"+entry.Name()] = source
	}
	return engines.Command{
		Argv:  []string{"python", "-B", programFolder + "/" + program, "--request", requestFile},
		Env:   environment(shard.Needs.CPUs),
		Files: files,
	}, nil
}

func programOf(shard engines.Shard) (string, error) {
	var head struct {
		Program string `json:"program"`
	}
	if err := json.Unmarshal(shard.Params, &head); err != nil {
		return "", fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	switch head.Program {
	case programReceptor, programLigands, programRedock, programGate, programDock, programAnalyse, programRank:
		return head.Program, nil
	}
	return "", fmt.Errorf("vina: shard %s names the unknown program %q", shard.Name, head.Program)
}

// environment makes runs repeatable (hash seed, locale) and keeps numerical libraries from starting threads of their own.
func environment(threads int) map[string]string {
	most := strconv.Itoa(max(threads, 1))
	return map[string]string{
		"LC_ALL":               "C.UTF-8",
		"PYTHONHASHSEED":       "0",
		"PYTHONNOUSERSITE":     "1",
		"PYTHONUNBUFFERED":     "1",
		"PYTHONUTF8":           "1",
		"OMP_NUM_THREADS":      most,
		"OPENBLAS_NUM_THREADS": "1",
	}
}
