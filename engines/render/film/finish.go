package film

import (
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// programFinish is the program of the last shard.
const programFinish = "finish.py"

// finishing is the last shard's program.
var finishing = python.Program{Engine: "film", Sources: []python.Source{{Files: Programs}}, Mains: []string{programFinish}}

// The files that film.py and finish.py leave beside the frames, by their names below out/.
const (
	framesFile     = "frames.json"
	previewFile    = "preview.jpg"
	thumbnailsFile = "thumbnails.tar"
	sheetFile      = "contact-sheet.jpg"
	tableFile      = "frames.csv"
)

// finishParams are the parameters of the shard "film", as finish.py reads them.
type finishParams struct {
	Program string            `json:"program"`
	Title   string            `json:"title"`
	Chunks  map[string]string `json:"chunks"` // frames of each render shard, as ranges
	Sheet   []int64           `json:"sheet"`
	Format  string            `json:"format"`
	Video   *string           `json:"video"`
	FPS     float64           `json:"fps"`
	// Provenance asks for provenance.json.
	Provenance *Origin `json:"provenance,omitempty"`
}

// FinishShard is the shard that ends a job of several frames, whose chunks have been rendered by the shards of their names. It is
// essential: when no frame could be rendered at all the job has failed.
func (j Job) FinishShard(chunks [][]int64, stageIndex int) (engines.Shard, error) {
	texts, err := chunkTexts(chunks)
	if err != nil {
		return engines.Shard{}, err
	}
	params := finishParams{Program: programFinish, Title: j.Title, Chunks: texts, Sheet: j.sheet(), Format: j.Format,
		Video: j.video(), FPS: j.FPS, Provenance: j.origin}
	text, err := json.Marshal(params)
	if err != nil {
		return engines.Shard{}, fmt.Errorf("film: writing the parameters of shard %s: %w", ShardFilm, err)
	}
	inputs := []engines.Input{fromRender("frames", framesFile), fromRender("thumbnails", thumbnailsFile)}
	if j.Video != "" {
		inputs = append(inputs, fromRender("segments", segmentFile(j.Video)))
	}
	expected := j.finishCPUSeconds(len(chunks))
	return engines.Shard{
		Stage: StageFinish, StageIndex: stageIndex, Name: ShardFilm, Params: text, Inputs: inputs, Needs: j.finishNeeds(expected),
		Essential: true, Items: 1, ExpectedCPUSeconds: expected,
	}, nil
}

// fromRender is an output of every render shard that has succeeded.
func fromRender(name, output string) engines.Input {
	return engines.Input{Name: name, From: &engines.From{Stage: StageRender, Output: output}}
}

func segmentFile(video string) string { return "segment." + video }

func filmFile(video string) string { return "film." + video }

// IsFinish reports whether a shard is that of FinishShard.
func IsFinish(shard engines.Shard) bool { return shard.Stage == StageFinish }

// FinishCommand runs the last shard.
func FinishCommand(shard engines.Shard) (engines.Command, error) {
	main, err := finishing.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	return finishing.Command(shard, main, python.Environment(nil))
}

// CollectFinish checks that the last shard has left everything, or says of the film why not. p are the engine's words.
func CollectFinish(p python.Program, shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	var params finishParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return engines.Result{}, fmt.Errorf("film: reading the parameters of shard %s: %w", shard.Name, err)
	}
	result, err := p.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	artifacts := []engines.Artifact{
		{Name: sheetFile, Role: engines.RoleResult, MediaType: mediaJPEG, Format: "jpeg"},
		{Name: tableFile, Role: engines.RoleResult, MediaType: "text/csv", Format: "csv"},
		{Name: previewFile, Role: engines.RolePreview, MediaType: mediaJPEG, Format: "jpeg"},
	}
	if params.Video != nil {
		name := filmFile(*params.Video)
		if result.Files[name] != "" {
			artifacts = append(artifacts, engines.Artifact{Name: name, Role: engines.RoleResult,
				MediaType: "video/" + *params.Video, Format: *params.Video})
		} else if len(result.Failures) == 0 {
			return engines.Result{}, p.BadOutput("%s is missing, and nothing says why", name)
		}
	}
	if params.Provenance != nil {
		if err := checkProvenance(p, dir, artifacts); err != nil {
			return engines.Result{}, err
		}
		artifacts = append(artifacts, provenanceArtifact)
	}
	if err := p.CheckStated(dir, result.Files, artifacts); err != nil {
		return engines.Result{}, err
	}
	return result.With(artifacts), nil
}
