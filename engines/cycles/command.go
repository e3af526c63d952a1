package cycles

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
	"github.com/molfabric/molfabric/engines/program/film"
	"github.com/molfabric/molfabric/engines/program/tracer"
	"github.com/molfabric/molfabric/engines/program/viewer"
)

//go:embed programs/*.py
var programs embed.FS

const (
	// programFolder holds the Python programs in a task's directory, requestFile what they are to do.
	programFolder = "program"
	requestFile   = "request.json"

	programCheck  = "check.py"
	programRender = "render.py"
	programExport = "export.py" // of the viewer
)

// Command runs the shard's Python program on request.json, which is the shard's parameters.
func (Cycles) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	if film.IsFinish(shard) {
		return film.FinishCommand(shard)
	}
	name, err := programOf(shard)
	if err != nil {
		return engines.Command{}, err
	}
	files, err := sources(name)
	if err != nil {
		return engines.Command{}, fmt.Errorf("cycles: %w", err)
	}
	files[requestFile] = shard.Params
	return engines.Command{
		Argv:  []string{"python", "-B", programFolder + "/" + name, "--request", requestFile},
		Env:   film.Environment(),
		Files: files,
	}, nil
}

// sources are a program and those that it imports: the film's, and the viewer's or this engine's own with the tracer's.
func sources(name string) (map[string][]byte, error) {
	files, err := film.Sources(programFolder)
	if err != nil {
		return nil, err
	}
	folders := map[fs.FS]string{programs: "programs", tracer.Programs: "."}
	if name == programExport {
		folders = map[fs.FS]string{viewer.Programs: "."}
	}
	for own, folder := range folders {
		more, err := program.Sources(own, folder, programFolder)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, more)
	}
	return files, nil
}

func programOf(shard engines.Shard) (string, error) {
	var head struct {
		Program string `json:"program"`
	}
	if err := json.Unmarshal(shard.Params, &head); err != nil {
		return "", fmt.Errorf("cycles: reading the parameters of shard %s: %w", shard.Name, err)
	}
	switch head.Program {
	case programCheck, programRender, programExport:
		return head.Program, nil
	}
	return "", fmt.Errorf("cycles: shard %s names the unknown program %q", shard.Name, head.Program)
}
