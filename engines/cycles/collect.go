package cycles

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program"
	"github.com/molfabric/molfabric/engines/program/film"
)

// The files that the programs leave beside the frames, by their names below out/.
const (
	sceneFile  = "scene.json"
	stageFile  = "stage.tar"
	resultFile = "result.json"

	sceneSchema = "molfabric.blend/v1"
	// maxDocumentBytes bounds each JSON document: they hold no series.
	maxDocumentBytes = 16 << 20
)

// rendering is this engine's programs in its words.
var rendering = program.Program{
	Name: "The rendering program", Requirements: "engines/cycles/requirements.lock", LessMemory: "a smaller resolution or a lighter scene",
}

// Collect checks that what the shard was to leave is there and complete, and lists it.
func (Cycles) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	switch shard.Stage {
	case film.StageFinish:
		return film.CollectFinish(rendering, shard, dir)
	case film.StageRender:
		return collectFrames(shard, dir)
	case stageCheck:
		return collectFile(dir, engines.Artifact{Name: sceneFile, Role: engines.RoleResult, MediaType: "application/json", Format: "json"}, checkScene)
	case stageScene:
		return collectFile(dir, engines.Artifact{Name: stageFile, Role: engines.RoleIntermediate, MediaType: "application/x-tar", Format: "tar"}, nil)
	}
	return engines.Result{}, fmt.Errorf("cycles: shard %s is of the unknown stage %q", shard.Name, shard.Stage)
}

// collectFrames wants pictures of the size that was asked for, but of an artist's scene, which may render a part of it.
func collectFrames(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	var params renderParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return engines.Result{}, fmt.Errorf("cycles: reading the parameters of shard %s: %w", shard.Name, err)
	}
	want := film.Wanted{Frames: params.Frames, Format: params.Picture.Format, Film: params.Film, Only: params.Only, Provenance: params.Provenance != nil}
	if size := params.Picture; params.Scene.Kind == kindStage && size.WidthPixels != nil && size.HeightPixels != nil {
		want.WidthPixels, want.HeightPixels = *size.WidthPixels, *size.HeightPixels
	}
	return film.CollectFrames(rendering, dir, want)
}

// collectFile is the result of a shard that leaves one file, which check looks into.
func collectFile(dir engines.Dir, artifact engines.Artifact, check func(engines.Dir) error) (engines.Result, error) {
	var result struct {
		Summary  json.RawMessage   `json:"summary"`
		Programs map[string]string `json:"programs"`
		Files    map[string]string `json:"files"`
	}
	if err := rendering.ReadDocument(dir, resultFile, maxDocumentBytes, &result); err != nil {
		return engines.Result{}, err
	}
	if len(result.Summary) > engines.MaxSummaryBytes || len(result.Programs) == 0 {
		return engines.Result{}, rendering.BadOutput("%s is larger than it can be, or names no programs", resultFile)
	}
	artifacts := []engines.Artifact{artifact}
	if err := rendering.CheckStated(dir, result.Files, artifacts); err != nil {
		return engines.Result{}, err
	}
	if check != nil {
		if err := check(dir); err != nil {
			return engines.Result{}, err
		}
	}
	return engines.Result{Summary: result.Summary, Artifacts: artifacts, Programs: result.Programs}, nil
}

func checkScene(dir engines.Dir) error {
	var document struct {
		Schema string `json:"schema"`
		Engine string `json:"engine"`
	}
	if err := rendering.ReadDocument(dir, sceneFile, maxDocumentBytes, &document); err != nil {
		return err
	}
	if document.Schema != sceneSchema || document.Engine == "" {
		return rendering.BadOutput("%s is no document of %s", sceneFile, sceneSchema)
	}
	return nil
}

// Progress reads the programs' progress lines; what Blender prints goes elsewhere.
func (Cycles) Progress(line string) (float64, string, bool) { return program.Progress(line) }

// Checkpoint reads which frames are finished, and which preview is the newest.
func (Cycles) Checkpoint(line string) ([]string, bool) { return program.Checkpoint(line) }

// Explain reads the failure that a program has written, and knows how a worker runs out of memory while it renders.
func (Cycles) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	if failure := rendering.Explain(dir, exitCode, logTail); failure != nil {
		return failure
	}
	if strings.Contains(logTail, "Cannot allocate memory") || strings.Contains(logTail, "Malloc returns null") {
		return &engines.Failure{Class: engines.Executor, Code: "OUT_OF_MEMORY", Message: "The task ran out of memory; give " + rendering.LessMemory + "."}
	}
	return nil
}
