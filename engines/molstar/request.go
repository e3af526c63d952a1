package molstar

import (
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/picture"
)

// recoveryResumable is the recovery mode of a job that skips frames which an interrupted attempt has finished.
const recoveryResumable = "resumable"

// request is a job as this engine understands it.
type request struct {
	picture.Options
	film.Job
	line      picture.TimeLine
	scene     engines.Object
	shown     engines.Scene // Format and References only, in an estimate
	rendered  *engines.RenderCost
	before    map[string]int // shards, by film.Likeness
	resumable bool
}

// resolve reads a request. Errors are *engines.InvalidError.
func resolve(r engines.Request) (request, error) {
	options, err := picture.Parse(r)
	if err != nil {
		return request{}, err
	}
	if options.Format == picture.EXR {
		return request{}, invalid("parameters.ImageFormat", "is EXR; the raster tier writes PNG or JPEG, metadata.renderEngine "+
			"cycles writes EXR")
	}
	if options.GPU() {
		return request{}, invalid("parameters.Device", "is %s; the raster tier draws on the CPU: leave it out, or ask for "+
			"metadata.renderEngine cycles", options.Device)
	}
	if options.Floor != picture.NoFloor {
		return request{}, invalid("parameters.Floor", "is %s; the raster tier casts no shadows: leave it out, or ask for "+
			"metadata.renderEngine cycles", options.Floor)
	}
	q := request{Options: options, scene: r.SceneFile, shown: engines.Scene{Format: engines.SceneMVSJ}, rendered: r.Found.Rendered,
		before: r.Found.RenderShards, resumable: r.Recovery == recoveryResumable}
	if r.Found.Scene != nil {
		q.shown = *r.Found.Scene
	}
	if q.line, err = options.TimeLine(r.Found.Scene); err != nil {
		return request{}, err
	}
	asked, err := q.line.Asked(r.Frames)
	if err != nil {
		return request{}, err
	}
	video, err := options.Film(q.line.Kind, len(asked))
	if err != nil {
		return request{}, err
	}
	q.Job = film.Job{Title: r.JobName, Frames: asked, Format: options.Format, Video: video, FPS: options.FPS,
		Pixels: options.Pixels()}
	return q, nil
}

func invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}
