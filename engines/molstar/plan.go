package molstar

import (
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

// renderParams are the parameters of a render shard, as render.py reads them.
type renderParams struct {
	Program   string           `json:"program"`
	Scene     viewer.Scene     `json:"scene"`
	Frames    []int64          `json:"frames"`
	Animation viewer.Animation `json:"animation"`
	Picture   viewer.Picture   `json:"picture"`
	Film      film.Making      `json:"film"`
	Resumable bool             `json:"resumable"`
	Threads   int              `json:"threads"`
	// Provenance asks for provenance.json.
	Provenance *film.Origin `json:"provenance,omitempty"`
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
	scene, inputs := viewer.Stage(q.scene, q.shown)
	frameless, err := q.renderShard(nil, inputs, scene)
	if err != nil {
		return nil, err
	}
	before := q.before[film.Likeness(frameless.Params, len(q.Frames))]
	chunks := film.Chunks(q.Frames, q.frameCPUSeconds()/threads, q.loadCPUSeconds()/threads, before)
	shards := make([]engines.Shard, 0, len(chunks)+1)
	for i, chunk := range chunks {
		shard, err := q.renderShard(chunk, inputs, scene)
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
	origin := film.Origin{Engine: ID, Parameters: film.Parameters{Picture: viewer.PictureOf(q.Options, q.Job.Format),
		Animation: viewer.AnimationOf(q.line)}, Citations: New().Spec().Citations}
	if err := q.SetOrigin(origin, q.scene, files); err != nil {
		return fmt.Errorf("molstar: %w", err)
	}
	return nil
}

func (q request) renderShard(chunk []int64, inputs []engines.Input, scene viewer.Scene) (engines.Shard, error) {
	params := renderParams{
		Program: programRender, Frames: chunk, Film: q.Making(chunk), Resumable: q.resumable, Threads: threads,
		Scene: scene, Animation: viewer.AnimationOf(q.line), Picture: viewer.PictureOf(q.Options, q.Job.Format),
		Provenance: q.OnlyOrigin(),
	}
	text, err := json.Marshal(params)
	if err != nil {
		return engines.Shard{}, fmt.Errorf("molstar: writing the parameters of a shard: %w", err)
	}
	if len(text) > engines.MaxShardParamsBytes {
		return engines.Shard{}, invalid("sceneFile", "refers to %d files by names that are too long together; at most %d bytes "+
			"are allowed", len(scene.References), engines.MaxShardParamsBytes)
	}
	expected := q.shardCPUSeconds(len(chunk))
	return engines.Shard{
		Stage: film.StageRender, StageIndex: 0, Params: text, Inputs: inputs, Needs: q.renderNeeds(len(chunk), expected),
		Items: len(chunk), ExpectedCPUSeconds: expected,
	}, nil
}
