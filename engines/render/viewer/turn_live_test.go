package viewer_test

import (
	"fmt"
	"image"
	"os"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/engines/render/viewer/viewertest"
)

const turnFrames = 8

// helix is a file of a helix that is ten times as long as it is wide.
func helix(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "helix.pdb")
	if err := os.WriteFile(path, []byte(viewertest.Helix(60)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// turning is a turntable of a scene, all of its frames.
func turning(scene, format string) job {
	j := job{scene: scene, format: format, kind: "turntable", length: turnFrames}
	for frame := range turnFrames {
		j.frames = append(j.frames, frame+1)
	}
	return j
}

// cutOff counts the pixels at the edge of a picture that are unlike its upper left corner.
func cutOff(picture image.Image) (count int) {
	corner := picture.At(0, 0)
	for x := range width {
		for y := range height {
			if edge := x == 0 || y == 0 || x == width-1 || y == height-1; edge && picture.At(x, y) != corner {
				count++
			}
		}
	}
	return count
}

// TestTurntableHoldsTheWholeTurn turns a long helix, as it stands and lying in a scene whose camera is given: what comes towards
// the viewer grows, and must not leave the picture.
func TestTurntableHoldsTheWholeTurn(t *testing.T) {
	t.Parallel()
	long := helix(t)
	ribbon := node("representation", map[string]any{"type": "cartoon"}, node("color", map[string]any{"color": "#1a7f37"}))
	lying := node("download", map[string]any{"url": "helix.pdb"}, node("parse", map[string]any{"format": "pdb"},
		node("structure", map[string]any{"type": "model"}, node("component", map[string]any{"selector": "polymer"}, ribbon))))
	camera := func(distance float64) map[string]any {
		return node("camera", map[string]any{"target": []float64{0, 0, 44}, "position": []float64{0, distance, 44},
			"up": []float64{1, 0, 0}})
	}
	scene := func(distance float64) job {
		j := turning(single(t, lying, camera(distance), canvas("white")), "")
		j.references = map[string]string{"helix.pdb": long}
		return j
	}
	for name, j := range map[string]job{"structure": turning(long, "pdb"), "scene": scene(60)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, failure := j.run(t)
			if failure != nil {
				t.Fatal(failure)
			}
			for frame := 1; frame <= turnFrames; frame++ {
				picture := pictureOf(t, folder, frame)
				if count := cutOff(picture); count > 0 {
					t.Errorf("frame %d is cut off at %d pixels", frame, count)
				}
				if covered(picture) < 0.005 {
					t.Errorf("frame %d shows nothing", frame)
				}
			}
		})
	}
	t.Run("close-up", func(t *testing.T) {
		t.Parallel()
		j := scene(15)
		turned := j.rendered(t, 1)
		j.kind, j.frames = "none", nil
		if still := j.rendered(t, 1); !alike(turned, still) || cutOff(still) == 0 {
			t.Errorf("a camera that shows a part on purpose was moved for the turn, or shows the whole (%d pixels at its edge)",
				cutOff(still))
		}
	})
}

// TestDepthCue fades what is far away where the request says so, whatever the scene says.
func TestDepthCue(t *testing.T) {
	t.Parallel()
	shades := map[string]float64{}
	for name, cue := range map[string]any{"on": true, "off": false} {
		picture := job{scene: helix(t), format: "pdb", depthCue: cue}.turned(t)
		shades[name] = lightness(picture)
	}
	if shades["on"] < shades["off"]+2 {
		t.Errorf("with depth cue the picture is %.1f light, without it %.1f; want what is far to fade into the white", shades["on"],
			shades["off"])
	}
}

// turned is the picture of a quarter of a turn, in which one end is far.
func (j job) turned(t *testing.T) image.Image {
	t.Helper()
	j.kind, j.length, j.frames = "turntable", 4, []int{2}
	return j.rendered(t, 2)
}

// lightness is the mean of what a picture shows beside its background, of 255.
func lightness(picture image.Image) float64 {
	corner, sum, count := fmt.Sprint(picture.At(0, 0)), 0.0, 0
	for x := range width {
		for y := range height {
			if at := picture.At(x, y); fmt.Sprint(at) != corner {
				r, g, b, _ := at.RGBA()
				sum += float64(r+g+b) / 3 / 257
				count++
			}
		}
	}
	return sum / float64(max(count, 1))
}
