package bench

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// drawnPNG is a picture of one colour, but for its first pixel.
func drawnPNG(t *testing.T, width, height int, all, first color.NRGBA) []byte {
	t.Helper()
	drawn := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			drawn.SetNRGBA(x, y, all)
		}
	}
	drawn.SetNRGBA(0, 0, first)
	var content bytes.Buffer
	if err := png.Encode(&content, drawn); err != nil {
		t.Fatal(err)
	}
	return content.Bytes()
}

func TestFramesDifferByTheirPixels(t *testing.T) {
	t.Parallel()
	grey, other := color.NRGBA{R: 100, G: 100, B: 100, A: 255}, color.NRGBA{R: 116, G: 84, B: 100, A: 255}
	wanted := drawnPNG(t, 4, 2, grey, grey)
	for name, c := range map[string]struct {
		drawn []byte
		want  float64
	}{
		"the same":  {drawnPNG(t, 4, 2, grey, grey), 0},
		"one pixel": {drawnPNG(t, 4, 2, grey, other), 1}, // 32 over 8 pixels of 4 channels
	} {
		if got, err := meanDifference(c.drawn, wanted); err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, c.want)
		}
	}
	for name, drawn := range map[string][]byte{"another size": drawnPNG(t, 2, 4, grey, grey), "no picture": []byte("P6")} {
		if _, err := meanDifference(drawn, wanted); err == nil {
			t.Errorf("%s: is compared", name)
		}
	}
}

// TestBareTurntable wants the peer to draw what the job does, in one process with all cores and nothing beside the frames.
func TestBareTurntable(t *testing.T) {
	t.Parallel()
	const frames, threads = 120, 4 // more frames than a task has
	command, err := bareTurntable(turntableRequest(frames), "pdbqt", threads)
	if err != nil {
		t.Fatal(err)
	}
	var request struct {
		Frames    []int64
		Threads   int
		Scene     struct{ File string }
		Film      struct{ Video *string }
		Animation struct{ Frames int }
		Picture   struct{ WidthPixels int }
	}
	if err := json.Unmarshal(command.Files["request.json"], &request); err != nil {
		t.Fatal(err)
	}
	if n := len(request.Frames); n != frames || !slices.IsSorted(request.Frames) || request.Frames[0] != 1 ||
		request.Frames[n-1] != frames {
		t.Errorf("the frames are %v, want 1 to %d", request.Frames, frames)
	}
	if request.Threads != threads || request.Film.Video != nil || request.Animation.Frames != frames ||
		request.Picture.WidthPixels != 1280 || request.Scene.File != "in/scene.pdbqt" {
		t.Errorf("got %+v", request)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := place(folder, map[string][]byte{"in/scene.pdb": []byte("END\n"), "request.json": []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(folder, "in", "*"))
	if err != nil || len(found) != 1 {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"--frames": {Frames: 1}, "(--frames) of B11": {Frames: mostFrames + 1},
		"B11/eevee": {Only: []string{"B11/eevee"}}} {
		if err := o.check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%+v: got %v, want a refusal that names %s", o, err, name)
		}
	}
	whole := Options{Only: []string{"B11", "B1"}}
	if err := whole.check(); err != nil || whole.Frames != filmFrames || !whole.wants("B11/cycles") || !whole.wants("B1/10") ||
		whole.wants("B9") {
		t.Errorf("got %+v, %v", whole, err)
	}
}
