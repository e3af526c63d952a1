package molstar

import (
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program/film"
)

// renderParams are the parameters of a render shard, as render.py reads them.
type renderParams struct {
	Program   string          `json:"program"`
	Scene     sceneParams     `json:"scene"`
	Frames    []int64         `json:"frames"`
	Animation animationParams `json:"animation"`
	Picture   pictureParams   `json:"picture"`
	Film      film.Making     `json:"film"`
	Resumable bool            `json:"resumable"`
	Threads   int             `json:"threads"`
	// Provenance asks for provenance.json.
	Provenance *film.Origin `json:"provenance,omitempty"`
}

type sceneParams struct {
	File   string `json:"file"`
	Format string `json:"format"`
	// References are the staged files by the references of the scene, letter by letter.
	References map[string]string `json:"references"`
}

type animationParams struct {
	Kind   string  `json:"kind"`
	Frames int64   `json:"frames"` // of the whole animation
	FPS    float64 `json:"fps"`
}

type pictureParams struct {
	WidthPixels      int     `json:"widthPixels"`
	HeightPixels     int     `json:"heightPixels"`
	Format           string  `json:"format"`
	Transparent      bool    `json:"transparent"`
	Background       *string `json:"background"` // "#rrggbb"; null leaves it to the scene
	Outline          *bool   `json:"outline"`
	AmbientOcclusion *bool   `json:"ambientOcclusion"`
	DepthCue         *bool   `json:"depthCue"`
}

// Plan cuts the frames into shards of about a minute and joins them in a last one. The stage render is not essential unless it is
// one shard: frames that were rendered are worth keeping without the others.
func (Molstar) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	if err := q.setOrigin(); err != nil {
		return nil, err
	}
	chunks := film.Chunks(q.Frames, q.frameCPUSeconds()/threads, q.loadCPUSeconds()/threads)
	shards := make([]engines.Shard, 0, len(chunks)+1)
	inputs, references := q.inputs()
	for i, chunk := range chunks {
		shard, err := q.renderShard(chunk, inputs, references)
		if err != nil {
			return nil, err
		}
		shard.Name, shard.Essential = film.ShardName(i), len(chunks) == 1
		shards = append(shards, shard)
	}
	if len(q.Frames) == 1 {
		return shards, nil
	}
	last, err := q.FinishShard(chunks, 1)
	if err != nil {
		return nil, err
	}
	return append(shards, last), nil
}

// setOrigin tells the job's last shard what its provenance.json is to say.
func (q *request) setOrigin() error {
	files := make([]engines.Object, 0, len(q.shown.References))
	for _, reference := range q.shown.References {
		files = append(files, reference.Object)
	}
	origin := film.Origin{Engine: ID, Parameters: film.Parameters{Picture: q.pictureParams(), Animation: q.animationParams()}, Citations: New().Spec().Citations}
	if err := q.SetOrigin(origin, q.scene, files); err != nil {
		return fmt.Errorf("molstar: %w", err)
	}
	return nil
}

func (q request) animationParams() animationParams {
	return animationParams{Kind: q.line.Kind, Frames: q.line.Frames, FPS: q.line.FPS}
}

func (q request) pictureParams() pictureParams {
	params := pictureParams{
		WidthPixels: q.WidthPixels, HeightPixels: q.HeightPixels, Format: q.Job.Format, Transparent: q.Transparent,
		Outline: q.Outline, AmbientOcclusion: q.AmbientOcclusion, DepthCue: q.DepthCue,
	}
	if q.Background != "" {
		params.Background = &q.Background
	}
	return params
}

// inputs are the scene and the files that it refers to. What nobody refers to is left where it is.
func (q request) inputs() (inputs []engines.Input, references map[string]string) {
	inputs = []engines.Input{{Name: q.sceneInput(), Object: &q.scene}}
	references = make(map[string]string, len(q.shown.References))
	for i, reference := range q.shown.References {
		name := fmt.Sprintf("assets/%05d", i)
		inputs = append(inputs, engines.Input{Name: name, Object: &reference.Object})
		references[reference.URL] = "in/" + name
	}
	return inputs, references
}

func (q request) sceneInput() string { return "scene." + q.shown.Format }

func (q request) renderShard(chunk []int64, inputs []engines.Input, references map[string]string) (engines.Shard, error) {
	params := renderParams{
		Program: programRender, Frames: chunk, Film: q.Making(chunk), Resumable: q.resumable, Threads: threads,
		Scene:     sceneParams{File: "in/" + q.sceneInput(), Format: q.shown.Format, References: references},
		Animation: q.animationParams(), Picture: q.pictureParams(), Provenance: q.OnlyOrigin(),
	}
	text, err := json.Marshal(params)
	if err != nil {
		return engines.Shard{}, fmt.Errorf("molstar: writing the parameters of a shard: %w", err)
	}
	if len(text) > engines.MaxShardParamsBytes {
		return engines.Shard{}, invalid("sceneFile", "refers to %d files by names that are too long together; at most %d bytes are allowed", len(references), engines.MaxShardParamsBytes)
	}
	expected := q.shardCPUSeconds(len(chunk))
	return engines.Shard{
		Stage: film.StageRender, StageIndex: 0, Params: text, Written: params, Inputs: inputs, Needs: q.renderNeeds(len(chunk), expected),
		Items: len(chunk), ExpectedCPUSeconds: expected,
	}, nil
}
