package molstar

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
	"github.com/molfabric/molfabric/engines/program/film"
	"github.com/molfabric/molfabric/engines/program/viewer"
)

//go:embed programs/*.py
var programs embed.FS

const (
	// programFolder holds the Python programs in a task's directory, requestFile what they are to do.
	programFolder = "program"
	requestFile   = "request.json"

	programRender = "render.py"
)

// Command runs the shard's Python program on request.json, which is the shard's parameters.
func (Molstar) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	if film.IsFinish(shard) {
		return film.FinishCommand(shard)
	}
	if _, err := paramsOf(shard); err != nil {
		return engines.Command{}, err
	}
	files, err := sources()
	if err != nil {
		return engines.Command{}, fmt.Errorf("molstar: %w", err)
	}
	files[requestFile] = shard.Params
	return engines.Command{
		Argv:  []string{"python", "-B", programFolder + "/" + programRender, "--request", requestFile},
		Env:   film.Environment(),
		Files: files,
	}, nil
}

// sources are the programs of the engine, of the viewer and of the film, which import each other.
func sources() (map[string][]byte, error) {
	files, err := film.Sources(programFolder)
	if err != nil {
		return nil, err
	}
	shown, err := program.Sources(viewer.Programs, ".", programFolder)
	if err != nil {
		return nil, err
	}
	own, err := program.Sources(programs, "programs", programFolder)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, shown)
	maps.Copy(files, own)
	return files, nil
}

// paramsOf reads the parameters of a render shard.
func paramsOf(shard engines.Shard) (renderParams, error) {
	var params renderParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return params, fmt.Errorf("molstar: reading the parameters of shard %s: %w", shard.Name, err)
	}
	if params.Program != programRender {
		return params, fmt.Errorf("molstar: shard %s names the unknown program %q", shard.Name, params.Program)
	}
	return params, nil
}
