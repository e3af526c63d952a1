package vina

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// planWith is the plan of a small library whose report shows a picture.
func planWith(t *testing.T, picture string, change func(*Params)) []engines.Shard {
	t.Helper()
	shards, err := New().Plan(requestFor(params(func(p *Params) {
		library(smiles("a", "CCO"), smiles("b", "CCN"))(p)
		p.DockingReport = &DockingReport{Picture: &picture}
		if change != nil {
			change(p)
		}
	})))
	if err != nil {
		t.Fatal(err)
	}
	return shards
}

// TestPictureIsPlanned draws before the ranking, once, and what is drawn is no condition of the ranking.
func TestPictureIsPlanned(t *testing.T) {
	t.Parallel()
	native := func(p *Params) {
		p.DockingValidation = &DockingValidation{NativeReference: &NativeReference{ComponentID: "STI", Chain: "A", Residue: 201}}
	}
	for _, c := range []struct {
		picture string
		change  func(*Params)
		inputs  []string
	}{
		{PictureMolstar, nil, []string{outputReceptorPDB, outputSerials, outputBox, "ligands", "analysed"}},
		{PictureCycles, native, []string{outputReceptorPDB, outputSerials, outputBox, "ligands", "analysed", outputNative,
			"redocked.sdf"}},
	} {
		shards := planWith(t, c.picture, c.change)
		rank, drawn := shards[len(shards)-1], shards[len(shards)-2]
		if drawn.Name != shardPicture || drawn.Essential || drawn.StageIndex+1 != rank.StageIndex ||
			KindOf(drawn.Stage, drawn.Name) != KindOther {
			t.Fatalf("%s: got %+v before the ranking %+v", c.picture, drawn, rank)
		}
		var got []string
		for _, input := range drawn.Inputs {
			got = append(got, input.Name)
		}
		if !slices.Equal(got, c.inputs) {
			t.Errorf("%s: the pictures are drawn from %v, want %v", c.picture, got, c.inputs)
		}
		var optional []string
		for _, input := range rank.Inputs {
			if strings.HasPrefix(input.Name, stagePicture+"/") && input.From != nil && input.From.Optional {
				optional = append(optional, input.From.Output)
			}
		}
		if want := []string{outputPicture, "best.webp", "box.webp", "redock.webp"}; !slices.Equal(optional, want) {
			t.Errorf("%s: the ranking may take %v, want %v", c.picture, optional, want)
		}
	}
}

// TestPictureCosts is what a picture adds to an estimate, and that none costs nothing.
func TestPictureCosts(t *testing.T) {
	t.Parallel()
	seconds := map[string]float64{}
	for _, picture := range []string{PictureNone, PictureMolstar, PictureCycles} {
		for _, shard := range planWith(t, picture, nil) {
			seconds[picture] += shard.ExpectedCPUSeconds
		}
	}
	raster, traced := seconds[PictureMolstar]-seconds[PictureNone], seconds[PictureCycles]-seconds[PictureNone]
	if raster < 10 || raster > 40 || traced < 60 || traced > 200 {
		t.Errorf("a picture adds %.1f CPU seconds, a ray-traced one %.1f", raster, traced)
	}
	var asked, left Params
	if err := json.Unmarshal([]byte(`{"dockingReport":{}}`), &asked); err != nil {
		t.Fatal(err)
	}
	if want := (DockingReport{Picture: ptr(PictureMolstar)}); !reflect.DeepEqual(asked.DockingReport.Completed(), want) ||
		!reflect.DeepEqual(left.DockingReport.Completed(), want) {
		t.Errorf("the picture of a request that does not say is %+v and %+v, want %+v", asked.DockingReport.Completed(),
			left.DockingReport.Completed(), want)
	}
}
