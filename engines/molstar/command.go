package molstar

import (
	"embed"
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

//go:embed programs/*.py
var programs embed.FS

const programRender = "render.py"

// drawing is this engine's programs in its words: its own, the viewer's and the film's, which import each other.
var drawing = python.Program{
	Engine:  "molstar",
	Sources: []python.Source{{Files: film.Programs}, {Files: viewer.Programs}, {Files: programs, From: "programs"}},
	Mains:   []string{programRender},
	Name:    "The drawing program", Requirements: "engines/molstar/requirements.lock",
	LessMemory: "a smaller resolution or a smaller scene", MemorySigns: []string{"Cannot allocate memory", "Out of memory"},
}

// Command runs the shard's Python program.
func (Molstar) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	if film.IsFinish(shard) {
		return film.FinishCommand(shard)
	}
	main, err := drawing.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	return drawing.Command(shard, main, python.Environment(nil))
}

// Explain reads the failure that a program has written, and knows how a worker runs out of memory while it draws.
func (Molstar) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return drawing.Explain(dir, exitCode, logTail)
}

// paramsOf reads the parameters of a render shard.
func paramsOf(shard engines.Shard) (renderParams, error) {
	var params renderParams
	if _, err := drawing.Main(shard); err != nil {
		return params, err
	}
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return params, fmt.Errorf("molstar: reading the parameters of shard %s: %w", shard.Name, err)
	}
	return params, nil
}
