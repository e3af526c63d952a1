package molstar

import (
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
	"github.com/molfabric/molfabric/engines/program/film"
)

// drawing is this engine's programs in its words.
var drawing = program.Program{
	Name: "The drawing program", Requirements: "engines/molstar/requirements.lock", LessMemory: "a smaller resolution or a smaller scene",
}

// Collect checks that every frame of the shard, or the film, is there and complete, and lists what there is.
func (Molstar) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	if film.IsFinish(shard) {
		return film.CollectFinish(drawing, shard, dir)
	}
	params, err := paramsOf(shard)
	if err != nil {
		return engines.Result{}, err
	}
	return film.CollectFrames(drawing, dir, film.Wanted{
		Frames: params.Frames, Format: params.Picture.Format, WidthPixels: params.Picture.WidthPixels, HeightPixels: params.Picture.HeightPixels,
		Film: params.Film, Only: params.only(), Provenance: params.Provenance != nil,
	})
}

// only reports whether no shard comes after this one: it renders a still, which has neither film nor contact sheet.
func (p renderParams) only() bool {
	return len(p.Frames) == 1 && p.Film.Video == nil && len(p.Film.Sheet) == 0
}

// Progress reads the programs' progress lines; what Chromium prints goes elsewhere.
func (Molstar) Progress(line string) (float64, string, bool) { return program.Progress(line) }

// Checkpoint reads which frames are finished, and which preview is the newest.
func (Molstar) Checkpoint(line string) ([]string, bool) { return program.Checkpoint(line) }

// Explain reads the failure that a program has written, and knows how a worker runs out of memory while it draws.
func (Molstar) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	if failure := drawing.Explain(dir, exitCode, logTail); failure != nil {
		return failure
	}
	if strings.Contains(logTail, "Cannot allocate memory") || strings.Contains(logTail, "Out of memory") {
		return &engines.Failure{Class: engines.Executor, Code: "OUT_OF_MEMORY", Message: "The task ran out of memory; give " + drawing.LessMemory + "."}
	}
	return nil
}
