package cycles

import (
	"embed"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/tracer"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

//go:embed programs/*.py
var programs embed.FS

const (
	programCheck  = "check.py"
	programRender = "render.py"
	programExport = "export.py" // of the viewer
)

// rendering is this engine's programs in its words.
var rendering = python.Program{
	Engine:  "cycles",
	Sources: []python.Source{{Files: film.Programs}},
	Mains:   []string{programCheck, programRender, programExport},
	Name:    "The rendering program", Requirements: "engines/cycles/requirements.lock",
	LessMemory: "a smaller resolution or a lighter scene", MemorySigns: []string{"Cannot allocate memory", "Malloc returns null"},
}

// Command runs the shard's Python program.
func (Cycles) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	if film.IsFinish(shard) {
		return film.FinishCommand(shard)
	}
	main, err := rendering.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	return rendering.Command(shard, main, python.Environment(nil), sourcesOf(main)...)
}

// sourcesOf are what a program imports beside the film's: the viewer's, or this engine's own and the tracer's.
func sourcesOf(main string) []python.Source {
	if main == programExport {
		return []python.Source{{Files: viewer.Programs}}
	}
	return []python.Source{{Files: programs, From: "programs"}, {Files: tracer.Programs}}
}

// Explain reads the failure that a program has written, and knows how a worker runs out of memory while it renders.
func (Cycles) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	return rendering.Explain(dir, exitCode, logTail)
}
