package cycles

import (
	"encoding/json"
	"fmt"
	"path"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

// Stages before the frames, and the one shard of each; the others are film's.
const (
	stageCheck, shardCheck = "check", "check"
	stageScene, shardScene = "scene", "scene"
)

// Inputs of the shards, below in/.
const (
	inputBlend = "scene.blend"
	inputStage = "stage.tar"
)

// Kinds of a scene that render.py opens.
const (
	kindBlend = "blend"
	kindStage = "stage"
)

// blendParams are the parameters of a shard that opens an artist's scene, as check.py reads them; render.py reads renderParams.
type blendParams struct {
	Program          string        `json:"program"`
	Scene            sceneParams   `json:"scene"`
	Ranges           [][3]int64    `json:"ranges"` // first, last and step of the job's frames
	Picture          pictureParams `json:"picture"`
	Film             film.Making   `json:"film"`
	Threads          int           `json:"threads"`
	OpenLimitSeconds float64       `json:"openLimitSeconds"`
}

// renderParams are the parameters of a render shard, as render.py reads them.
type renderParams struct {
	Program           string        `json:"program"`
	Scene             sceneParams   `json:"scene"`
	Frames            []int64       `json:"frames"`
	Picture           pictureParams `json:"picture"`
	Film              film.Making   `json:"film"`
	Resumable         bool          `json:"resumable"`
	Threads           int           `json:"threads"`
	OpenLimitSeconds  float64       `json:"openLimitSeconds"`
	FrameLimitSeconds float64       `json:"frameLimitSeconds"`
	Only              bool          `json:"only"` // no shard comes after it
	// Provenance asks for provenance.json.
	Provenance *film.Origin `json:"provenance,omitempty"`
}

// sceneParams say what is opened. Path and Project are those of a blend: where the scene and the files beside it lie in their
// project.
type sceneParams struct {
	Kind    string       `json:"kind"`
	File    string       `json:"file"`
	Path    string       `json:"path,omitempty"`
	Project []fileParams `json:"project,omitempty"`
}

type fileParams struct {
	File string `json:"file"`
	Path string `json:"path"`
}

// pictureParams say how a frame is rendered; null leaves a blend's own.
type pictureParams struct {
	WidthPixels  *int    `json:"widthPixels"`
	HeightPixels *int    `json:"heightPixels"`
	Samples      *int    `json:"samples"`
	Format       string  `json:"format"`
	Transparent  bool    `json:"transparent"`
	Background   *string `json:"background"`
	Denoise      *bool   `json:"denoise"`
	Camera       *string `json:"camera"`
	Device       string  `json:"device"`
	Floor        string  `json:"floor,omitempty"` // of a molecule, as is Caps
	Caps         *bool   `json:"caps,omitempty"`
}

// exportParams are the parameters of the shard "scene", as the viewer's export.py reads them.
type exportParams struct {
	Program   string           `json:"program"`
	Scene     viewer.Scene     `json:"scene"`
	Frames    []int64          `json:"frames"`
	Animation viewer.Animation `json:"animation"`
	Picture   viewer.Picture   `json:"picture"`
	Threads   int              `json:"threads"`
}

// Plan gives the shard that opens the scene, one for each chunk of frames, and one that joins them where there are several. The
// chunks are not essential unless there is only one: frames that were rendered are worth keeping without the others.
func (Cycles) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	if err := q.setOrigin(); err != nil {
		return nil, err
	}
	open, inputs, scene := q.checkShard, q.blendInputs(), q.blendScene()
	if q.molecular {
		open, inputs, scene = q.sceneShard, stageInputs(), sceneParams{Kind: kindStage, File: "in/" + inputStage}
	}
	first, params := open()
	if first, err = written(first, params); err != nil {
		return nil, err
	}
	shards := []engines.Shard{first}
	frameless, err := written(q.renderShard(nil, inputs, scene))
	if err != nil {
		return nil, err
	}
	before := q.before[film.Likeness(frameless.Params, len(q.Frames))]
	chunks := film.Chunks(q.Frames, q.chunkFrameSeconds(), q.loadCPUSeconds(), before)
	if !q.molecular && q.Video == "" {
		chunks = film.Deal(chunks)
	}
	for i, chunk := range chunks {
		shard, params := q.renderShard(chunk, inputs, scene)
		shard.Name, shard.Essential = film.ShardName(i), len(chunks) == 1
		if shard, err = written(shard, params); err != nil {
			return nil, err
		}
		shards = append(shards, shard)
	}
	if len(q.Frames) == 1 {
		return shards, nil
	}
	last, err := q.FinishShard(chunks, 2)
	if err != nil {
		return nil, err
	}
	return append(shards, last), nil
}

// written puts its parameters into a shard. Long names of many files may be more than travels with it.
func written(shard engines.Shard, params any) (engines.Shard, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return shard, fmt.Errorf("cycles: writing the parameters of shard %s: %w", shard.Name, err)
	}
	if len(text) > engines.MaxShardParamsBytes {
		return shard, invalid("attachments", "have names that are too long together; at most %d bytes are allowed for them and "+
			"the frames", engines.MaxShardParamsBytes)
	}
	shard.Params = text
	return shard, nil
}

func (q request) checkShard() (engines.Shard, any) {
	params := blendParams{
		Program: programCheck, Scene: q.blendScene(), Picture: q.pictureParams(), Film: q.Making(nil), Threads: 1,
		OpenLimitSeconds: openLimit.Seconds(),
	}
	for _, r := range q.ranges {
		params.Ranges = append(params.Ranges, [3]int64{r.First, r.Last, r.Step})
	}
	params.Picture.Device = "cpu" // it renders nothing, and need not wait for a device
	return engines.Shard{
		Stage: stageCheck, StageIndex: 0, Name: shardCheck, Essential: true, Inputs: q.blendInputs(), Needs: q.checkNeeds(),
		Items:              1,
		ExpectedCPUSeconds: round(checkCPUSeconds + q.loadCPUSeconds()),
	}, params
}

func (q request) sceneShard() (engines.Shard, any) {
	scene, inputs := viewer.Stage(q.scene, q.shown)
	params := exportParams{
		Program: programExport, Scene: scene, Frames: q.Frames, Threads: threads, Animation: viewer.AnimationOf(q.line),
		Picture: viewer.PictureOf(q.Options, q.Job.Format),
	}
	return engines.Shard{
		Stage: stageScene, StageIndex: 0, Name: shardScene, Essential: true, Inputs: inputs, Needs: q.viewerNeeds(), Items: 1,
		ExpectedCPUSeconds: q.viewerCPUSeconds(),
	}, params
}

func (q request) renderShard(chunk []int64, inputs []engines.Input, scene sceneParams) (engines.Shard, renderParams) {
	params := renderParams{
		Program: programRender, Scene: scene, Frames: chunk, Picture: q.pictureParams(), Film: q.Making(chunk),
		Resumable: q.resumable, Threads: threads, OpenLimitSeconds: openLimit.Seconds(),
		FrameLimitSeconds: q.frameLimit().Seconds(), Only: len(q.Frames) == 1,
		Provenance: q.OnlyOrigin(),
	}
	cpu, gpu := q.shardSeconds(len(chunk))
	return engines.Shard{
		Stage: film.StageRender, StageIndex: 1, Inputs: inputs, Needs: q.renderNeeds(len(chunk)), Items: len(chunk),
		ExpectedCPUSeconds: cpu, ExpectedGPUSeconds: gpu,
	}, params
}

// setOrigin tells the job's last shard what its provenance.json is to say. The programs that read molecules are cited for
// molecules.
func (q *request) setOrigin() error {
	origin := film.Origin{Engine: ID, Parameters: film.Parameters{Picture: q.pictureParams()},
		Citations: New().Spec().Citations[:1]}
	files := make([]engines.Object, 0, len(q.project)+len(q.shown.References))
	for _, file := range q.project {
		files = append(files, file.object)
	}
	if q.molecular {
		origin.Parameters.Animation, origin.Citations = viewer.AnimationOf(q.line), New().Spec().Citations
		for _, reference := range q.shown.References {
			files = append(files, reference.Object)
		}
	}
	if err := q.SetOrigin(origin, q.scene, files); err != nil {
		return fmt.Errorf("cycles: %w", err)
	}
	return nil
}

func (q request) pictureParams() pictureParams {
	params := pictureParams{
		WidthPixels: optional(q.WidthPixels), HeightPixels: optional(q.HeightPixels), Samples: optional(q.Samples),
		Format: q.Job.Format, Transparent: q.Transparent, Background: optional(q.Background), Camera: optional(q.Camera),
		Device: q.Device, Denoise: q.denoise,
	}
	if q.molecular {
		params.Denoise, params.Floor, params.Caps = &q.Denoise, q.Floor, &q.Caps
	}
	return params
}

// optional is nil where the scene decides.
func optional[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}

func stageInputs() []engines.Input {
	return []engines.Input{{Name: inputStage, From: &engines.From{Stage: stageScene, Shard: shardScene, Output: stageFile}}}
}

func (q request) blendInputs() []engines.Input {
	inputs := make([]engines.Input, 0, 1+len(q.project))
	inputs = append(inputs, engines.Input{Name: inputBlend, Object: &q.scene})
	for i, file := range q.project {
		inputs = append(inputs, engines.Input{Name: projectInput(i), Object: &file.object})
	}
	return inputs
}

// blendScene says where the scene and its files lie in their project. A scene whose path leads elsewhere lies at its top.
func (q request) blendScene() sceneParams {
	scene := sceneParams{Kind: kindBlend, File: "in/" + inputBlend, Path: logicalPath(q.scene.StorageKey)}
	if !withinProject(scene.Path) {
		scene.Path = inputBlend
	}
	if path.Ext(scene.Path) == "" {
		scene.Path += ".blend"
	}
	for i, file := range q.project {
		scene.Project = append(scene.Project, fileParams{File: "in/" + projectInput(i), Path: file.path})
	}
	return scene
}

func projectInput(number int) string { return fmt.Sprintf("project/%05d", number) }
