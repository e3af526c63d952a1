package viewer

import (
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/picture"
)

// Scene is a molecular scene as the programs read it.
type Scene struct {
	File   string `json:"file"`
	Format string `json:"format"`
	// References are the staged files by the references of the scene, letter by letter.
	References map[string]string `json:"references"`
}

// Stage lays a scene and the files that it refers to into a task. What nobody refers to is left where it is.
func Stage(file engines.Object, shown engines.Scene) (Scene, []engines.Input) {
	name := "scene." + shown.Format
	scene := Scene{File: "in/" + name, Format: shown.Format, References: make(map[string]string, len(shown.References))}
	inputs := []engines.Input{{Name: name, Object: &file}}
	for i, reference := range shown.References {
		asset := fmt.Sprintf("assets/%05d", i)
		inputs = append(inputs, engines.Input{Name: asset, Object: &reference.Object})
		scene.References[reference.URL] = "in/" + asset
	}
	return scene, inputs
}

// Animation is what the frames are taken from, as the programs read it.
type Animation struct {
	Kind   string  `json:"kind"`
	Frames int64   `json:"frames"` // of the whole animation
	FPS    float64 `json:"fps"`
}

// AnimationOf is a time line as the programs read it.
func AnimationOf(line picture.TimeLine) Animation {
	return Animation{Kind: line.Kind, Frames: line.Frames, FPS: line.FPS}
}

// Picture says how a frame is drawn, as the programs read it; null leaves it to the scene.
type Picture struct {
	WidthPixels      int     `json:"widthPixels"`
	HeightPixels     int     `json:"heightPixels"`
	Format           string  `json:"format"`
	Transparent      bool    `json:"transparent"`
	Background       *string `json:"background"` // "#rrggbb"
	Outline          *bool   `json:"outline"`
	AmbientOcclusion *bool   `json:"ambientOcclusion"`
	DepthCue         *bool   `json:"depthCue"`
}

// PictureOf is what a job says of its pictures as the programs read it. format is that of the frames.
func PictureOf(o picture.Options, format string) Picture {
	p := Picture{WidthPixels: o.WidthPixels, HeightPixels: o.HeightPixels, Format: format, Transparent: o.Transparent,
		Outline: o.Outline, AmbientOcclusion: o.AmbientOcclusion, DepthCue: o.DepthCue}
	if o.Background != "" {
		p.Background = &o.Background
	}
	return p
}
