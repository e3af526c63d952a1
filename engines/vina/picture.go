package vina

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/tracer"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

// What draws the report's pictures.
const (
	PictureNone    = "none"
	PictureMolstar = "molstar"
	PictureCycles  = "cycles"
)

// The stage that draws the best pose before the ranking puts it into the report, and its one shard.
const (
	stagePicture   = "picture"
	shardPicture   = "picture"
	programPicture = "picture.py"
	pictureSchema  = "molfabric.docking.picture/v1"

	outputPicture = "picture.json"
	outputScene   = "best.mvsx"
	outputBestPNG = "best.png"
	outputBoxPNG  = "box.png"
	mediaPNG      = "image/png"
	mediaWebP     = "image/webp"
	mediaMVSX     = "application/zip"
)

// reportImages are the small copies of the pictures that the report holds.
var reportImages = []string{"best.webp", "box.webp", "redock.webp"}

// The pictures: the best pose fills a page twice as finely as a screen shows it.
const (
	pictureWidthPixels, pictureHeightPixels = 1600, 1000
	pictureSmaller                          = 0.6
	pictureSamples                          = 64
)

// rendererFolder is where picture_drawing.py expects the programs of rendering, below the others.
const rendererFolder = "renderer"

// Cost and caps of the shard. Measured with Chromium 156, Mol* 5.11 and Blender 4.5 on 1IEP with imatinib: 17 CPU seconds for
// 1600x1000 and 960x600, of which 5 start the browser and 6 make its shaders; 85 more for rays at 64 samples with denoising.
const (
	pictureCPUSeconds       = 20.0
	tracedCPUSeconds        = 95.0
	pictureCPUSecondsPerMB  = 2.0 // of the receptor
	pictureThreads          = 2
	pictureProcesses        = 600 // Chromium has 125 threads here, and more on machines of more cores
	pictureMemoryBytes      = 3 * gibibyte
	tracedMemoryBytes       = 5 * gibibyte
	pictureBytesPerByte     = 40       // of memory for a byte of the receptor
	pictureFileBytes        = gibibyte // of Chromium's shared memory, which lies in /tmp
	pictureTime, tracedTime = time.Hour, 4 * time.Hour
)

// pictureParams are the parameters of the shard, as picture.py reads them.
type pictureParams struct {
	Program      string  `json:"program"`
	Picture      string  `json:"picture"`
	RankBy       string  `json:"rankBy"`
	WidthPixels  int     `json:"widthPixels"`
	HeightPixels int     `json:"heightPixels"`
	Smaller      float64 `json:"smaller"` // of the other pictures' edges to these
	Samples      int     `json:"samples"` // of Cycles
	Threads      int     `json:"threads"`
}

// pictureShard draws what the report shows. Whatever goes wrong there, the ranking goes on without it.
func (p *planner) pictureShard() {
	if p.picture == PictureNone {
		return
	}
	inputs := []engines.Input{
		fromReceptor(outputReceptorPDB), fromReceptor(outputSerials), fromReceptor(outputBox),
		{Name: "ligands", From: &engines.From{Stage: p.ligandStage(), Output: outputLigands}},
		{Name: "analysed", From: &engines.From{Stage: stageAnalyse, Output: outputAnalysis}},
	}
	if p.native != nil {
		inputs = append(inputs, fromReceptor(outputNative),
			engines.Input{Name: "redocked.sdf", From: &engines.From{Stage: p.redockStage(), Shard: shardRedock,
				Output: outputRedockedSDF, Optional: true}})
	}
	p.add(engines.Shard{
		Stage: stagePicture, Name: shardPicture, Items: 1, Inputs: inputs, Needs: pictureNeeds(p.picture, p.receptor.ByteSize),
		ExpectedCPUSeconds: pictureSeconds(p.picture, p.receptor.ByteSize, len(p.ligands)),
	}, pictureParams{
		Program: programPicture, Picture: p.picture, RankBy: p.rankBy, WidthPixels: pictureWidthPixels,
		HeightPixels: pictureHeightPixels, Smaller: pictureSmaller, Samples: pictureSamples, Threads: pictureThreads,
	})
	p.stage++
}

// pictureInputs are what the ranking takes of the pictures; the report does without those that are missing.
func (p *planner) pictureInputs() []engines.Input {
	if p.picture == PictureNone {
		return nil
	}
	inputs := make([]engines.Input, 0, 1+len(reportImages))
	for _, name := range append([]string{outputPicture}, reportImages...) {
		inputs = append(inputs, engines.Input{
			Name: stagePicture + "/" + name, From: &engines.From{Stage: stagePicture, Shard: shardPicture, Output: name,
				Optional: true},
		})
	}
	return inputs
}

func pictureSeconds(picture string, receptorBytes int64, ligands int) float64 {
	seconds := pictureCPUSeconds + pictureCPUSecondsPerMB*float64(receptorBytes)/1e6 + float64(ligands)*rankCPUSeconds/2
	if picture == PictureCycles {
		seconds += tracedCPUSeconds
	}
	return roundCPUSeconds(seconds)
}

// pictureNeeds are one core and another that is free: a picture that insists on two waits, where there are just two, until the
// dockings of all other jobs have ended.
func pictureNeeds(picture string, receptorBytes int64) engines.Resources {
	needs := engines.Resources{
		CPUs: 1, MoreCPUs: pictureThreads - 1, MemoryBytes: pictureMemoryBytes, ReservedBytes: viewer.ReservedBytes,
		FileBytes: pictureFileBytes, Processes: pictureProcesses, TimeLimit: pictureTime, MaxLogBytes: maxLogBytes,
		ScratchBytes: gibibyte,
	}
	if picture == PictureCycles {
		needs.MemoryBytes, needs.TimeLimit = tracedMemoryBytes, tracedTime
	}
	needs.MemoryBytes += pictureBytesPerByte * receptorBytes
	return needs
}

// renderers are the programs that draw.
var renderers = []python.Source{
	{Files: film.Programs, Into: rendererFolder}, {Files: viewer.Programs, Into: rendererFolder},
	{Files: tracer.Programs, Into: rendererFolder},
}

// collectPicture takes what was drawn, which may be nothing: then picture.json says why.
func collectPicture(shard engines.Shard, dir engines.Dir, result *engines.Result) error {
	var params pictureParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return fmt.Errorf("vina: reading the parameters of shard %s: %w", shard.Name, err)
	}
	var told struct {
		Schema string                     `json:"schema"`
		Tier   string                     `json:"tier"` // null is read as ""
		Notes  []string                   `json:"notes"`
		Seen   json.RawMessage            `json:"seen"`
		Images map[string]json.RawMessage `json:"images"`
	}
	if err := docking.ReadDocument(dir, outputPicture, maxOutputBytes, &told); err != nil {
		return err
	}
	switch {
	case told.Schema != pictureSchema:
		return docking.BadOutput("%s is no document of %s", outputPicture, pictureSchema)
	case told.Tier == "" && len(told.Notes) == 0:
		return docking.BadOutput("%s says neither what was drawn nor why nothing was", outputPicture)
	}
	result.Artifacts = []engines.Artifact{{Name: outputPicture, Role: engines.RoleIntermediate, MediaType: mediaTypes["json"],
		Format: "json"}}
	if string(orNull(told.Seen)) != "null" { // there was something to draw
		result.Artifacts = append(result.Artifacts, engines.Artifact{Name: outputScene, Role: engines.RoleResult,
			MediaType: mediaMVSX, Format: "mvsx"})
	}
	if told.Tier == "" {
		return nil
	}
	result.Artifacts = append(result.Artifacts,
		engines.Artifact{Name: outputBestPNG, Role: engines.RolePreview, MediaType: mediaPNG, Format: "png"},
		engines.Artifact{Name: outputBoxPNG, Role: engines.RoleResult, MediaType: mediaPNG, Format: "png"})
	for _, name := range reportImages {
		if _, drawn := told.Images[strings.TrimSuffix(name, path.Ext(name))]; drawn {
			result.Artifacts = append(result.Artifacts, engines.Artifact{Name: name, Role: engines.RoleIntermediate,
				MediaType: mediaWebP, Format: "webp"})
		}
	}
	return nil
}
