package molstar

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
)

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
		Frames: params.Frames, Format: params.Picture.Format, WidthPixels: params.Picture.WidthPixels,
		HeightPixels: params.Picture.HeightPixels, Film: params.Film, Only: params.only(), Provenance: params.Provenance != nil,
	})
}

// only reports whether no shard comes after this one: it renders a still, which has neither film nor contact sheet.
func (p renderParams) only() bool {
	return len(p.Frames) == 1 && p.Film.Video == nil && len(p.Film.Sheet) == 0
}
