package cycles

import (
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
)

// The files that the programs leave beside the frames, by their names below out/.
const (
	sceneFile = "scene.json"
	stageFile = "stage.tar"

	sceneSchema = "molfabric.blend/v1"
	// maxDocumentBytes bounds each JSON document: they hold no series.
	maxDocumentBytes = 16 << 20
)

// Collect checks that what the shard was to leave is there and complete, and lists it.
func (Cycles) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	switch shard.Stage {
	case film.StageFinish:
		return film.CollectFinish(rendering, shard, dir)
	case film.StageRender:
		return collectFrames(shard, dir)
	case stageCheck:
		return collectFile(dir, engines.Artifact{Name: sceneFile, Role: engines.RoleResult, MediaType: "application/json",
			Format: "json"}, checkScene)
	case stageScene:
		return collectFile(dir, engines.Artifact{Name: stageFile, Role: engines.RoleIntermediate, MediaType: "application/x-tar",
			Format: "tar"}, nil)
	}
	return engines.Result{}, fmt.Errorf("cycles: shard %s is of the unknown stage %q", shard.Name, shard.Stage)
}

// collectFrames wants pictures of the size that was asked for, but of an artist's scene, which may render a part of it.
func collectFrames(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	var params renderParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return engines.Result{}, fmt.Errorf("cycles: reading the parameters of shard %s: %w", shard.Name, err)
	}
	want := film.Wanted{Frames: params.Frames, Format: params.Picture.Format, Film: params.Film, Only: params.Only,
		Provenance: params.Provenance != nil}
	if size := params.Picture; params.Scene.Kind == kindStage && size.WidthPixels != nil && size.HeightPixels != nil {
		want.WidthPixels, want.HeightPixels = *size.WidthPixels, *size.HeightPixels
	}
	return film.CollectFrames(rendering, dir, want)
}

// collectFile is the result of a shard that leaves one file, which check looks into.
func collectFile(dir engines.Dir, artifact engines.Artifact, check func(engines.Dir) error) (engines.Result, error) {
	result, err := rendering.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
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
	return result.With(artifacts), nil
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
