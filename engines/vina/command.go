package vina

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
	"github.com/molfabric/molfabric/engines/program/pockets"
)

//go:embed programs/*.py programs/*.json
var programs embed.FS

const (
	// programFolder holds the Python programs in a task's directory, requestFile what they are to do.
	programFolder = "program"
	// pocketFolder is where box.py expects the pocket finder.
	pocketFolder = programFolder + "/fpocket"
	requestFile  = "request.json"
)

// Command runs the shard's Python program on request.json, which is the shard's parameters.
func (Vina) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	name, err := programOf(shard)
	if err != nil {
		return engines.Command{}, err
	}
	files, err := program.Sources(programs, "programs", programFolder) // all of them: they import each other
	if err != nil {
		return engines.Command{}, fmt.Errorf("vina: %w", err)
	}
	if name == programReceptor { // which may have to find the pocket to dock into
		finder, err := program.Sources(pockets.Programs, ".", pocketFolder)
		if err != nil {
			return engines.Command{}, fmt.Errorf("vina: %w", err)
		}
		maps.Copy(files, finder)
	}
	if name == programPicture {
		renderers, err := rendererSources()
		if err != nil {
			return engines.Command{}, fmt.Errorf("vina: %w", err)
		}
		maps.Copy(files, renderers)
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
		return "", fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	switch head.Program {
	case programReceptor, programLigands, programRedock, programGate, programDock, programAnalyse, programPicture, programRank:
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
