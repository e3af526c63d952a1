package cycles

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/render/picture"
	"github.com/molfabric/molfabric/internal/frames"
)

// blend is a render job of an artist's scene; change adapts it.
func blend(change func(*engines.Request)) engines.Request {
	r := engines.Request{
		JobID: "job_test", JobName: "A shot", JobType: engines.JobTypeRender,
		SceneFile: engines.Object{StorageKey: "accounts/a/uploads/u/shot.blend", ByteSize: 1_000_000},
		Params:    json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`), Frames: []frames.Range{{First: 1, Last: 3, Step: 1}},
		Recovery: "standard",
	}
	change(&r)
	return r
}

// molecule is a molecular job of a scene with one still state.
func molecule(change func(*engines.Request)) engines.Request {
	r := blend(func(r *engines.Request) {
		r.JobType, r.Frames, r.SceneFile.StorageKey = engines.JobTypeMolecular, nil, "accounts/a/uploads/u/scene.mvsj"
		r.Found.Scene = &engines.Scene{
			Format: engines.SceneMVSJ, States: []engines.SceneState{{Key: "a"}},
			References: []engines.SceneReference{{URL: "1cbs.cif",
				Object: engines.Object{StorageKey: "accounts/a/uploads/v/1cbs.cif", ByteSize: 200_000}}},
		}
	})
	change(&r)
	return r
}

func unchanged(*engines.Request) {}

// project is a package of a shot, a texture and a linked prop, rendered as EXR to a film.
func project(r *engines.Request) {
	const folder = "accounts/a/uploads/projects/00000000-0000-4000-8000-000000000000/"
	r.SceneFile.StorageKey = folder + "shots/shot.blend"
	r.Attachments = []engines.Object{{StorageKey: folder + "textures/wood.png", ByteSize: 1000},
		{StorageKey: folder + "props/prop.blend", ByteSize: 1000}, {StorageKey: "accounts/a/uploads/w/sky.hdr", ByteSize: 1000}}
	r.OutputFormat, r.Recovery = "EXR", recoveryResumable
	r.Metadata = json.RawMessage(`{"resolution":"1280x720","samples":32,"fps":25,"renderTimeMinutes":0.75}`)
	r.Parameters = map[string]string{"Video": "mp4", "Camera": "Camera.001", "Denoise": "false"}
}

func onGPU(r *engines.Request) { r.Parameters = map[string]string{"Device": "optix"} }

func planCases() []enginestest.PlanCase {
	return []enginestest.PlanCase{
		{Name: "project", Golden: true, Request: blend(project)},
		{Name: "turntable", Golden: true, Request: molecule(func(r *engines.Request) {
			r.Parameters = map[string]string{"Animation": "turntable", "TurntableFrames": "4", "Background": "#102030",
				"Floor": "shadow", "Caps": "false"}
			r.Metadata = json.RawMessage(`{"resolution":"640x360","samples":16}`)
		})},
		{Name: "still", Request: molecule(unchanged)},
		{Name: "estimate", Request: molecule(func(r *engines.Request) { r.Found.Scene = nil })},
		{Name: "estimate-of-no-frames", Request: blend(func(r *engines.Request) { r.Frames = nil })},
		{Name: "device", Request: blend(onGPU)},
		{Name: "molecule-on-a-device", Request: molecule(onGPU)},
		{Name: "largest", Request: blend(func(r *engines.Request) {
			r.Frames = []frames.Range{{First: -maxTimelineFrame, Last: -maxTimelineFrame + 99_999, Step: 1}}
			r.Metadata = json.RawMessage(`{"resolution":"8192x8192","samples":16777216,"renderTimeMinutes":10080}`)
			r.SceneFile.ByteSize = 1 << 60
		})},
		{Name: "measured", Request: blend(func(r *engines.Request) {
			r.Found.Rendered = &engines.RenderCost{LoadCPUSeconds: 100, FrameCPUSeconds: 0.01}
		})},
	}
}

func refusedCases() []enginestest.RefusedCase {
	parameter := func(name, value string) func(*engines.Request) {
		return func(r *engines.Request) { r.Parameters = map[string]string{name: value} }
	}
	attached := func(key string) func(*engines.Request) {
		return func(r *engines.Request) { r.Attachments = []engines.Object{{StorageKey: key}} }
	}
	const folder = "accounts/a/uploads/projects/p/"
	return []enginestest.RefusedCase{
		{Name: "format", Field: "outputFormat", Request: blend(func(r *engines.Request) { r.OutputFormat = "TIFF" })},
		{Name: "device", Field: "parameters.Device", Request: blend(parameter("Device", "metal"))},
		{Name: "film of one frame", Field: "parameters.Video", Request: blend(func(r *engines.Request) {
			r.Frames = []frames.Range{{First: 1, Last: 1, Step: 1}}
			parameter("Video", "mp4")(r)
		})},
		{Name: "beyond the time line", Field: "parameters.Frames", Request: blend(func(r *engines.Request) {
			r.Frames = []frames.Range{{First: 1, Last: maxTimelineFrame + 1, Step: maxTimelineFrame}}
			parameter("Frames", "1-1048575:1048574")(r)
		})},
		{Name: "out of the project", Field: "attachments", Request: blend(attached(folder + "../../x"))},
		{Name: "empty folder", Field: "attachments", Request: blend(attached(folder + "a//b"))},
		{Name: "long path", Field: "attachments", Request: blend(attached(folder + strings.Repeat("a/", 2000) + "b"))},
		{Name: "too many files", Field: "attachments",
			Request: blend(func(r *engines.Request) { r.Attachments = make([]engines.Object, maxAttachments+1) })},
		{Name: "names too long together", Field: "attachments", Request: blend(func(r *engines.Request) {
			for range 1000 {
				r.Attachments = append(r.Attachments, engines.Object{StorageKey: folder + strings.Repeat("a", 2000)})
			}
		})},
		{Name: "frame of a still", Field: "frameStart",
			Request: molecule(func(r *engines.Request) { r.Frames = []frames.Range{{First: 2, Last: 2, Step: 1}} })},
	}
}

func progressCases() []enginestest.ProgressCase {
	return []enginestest.ProgressCase{
		{Line: `{"progress": 0.475, "message": "frame 7 (2 of 4): sample 32 of 64"}`, Fraction: 0.475, OK: true},
		{Line: `{"progress": 1.0, "message": "done"}`, Fraction: 1, OK: true},
		{Line: `{"progress": "half"}`},
		{Line: "Fra:1 Mem:8.62M (Peak 8.62M) | Time:00:00.00 | Mem:0.00M, Peak:0.00M | Scene, ViewLayer | Sample 1/32"},
		{Line: "Saved: 'frame_0001.png'"},
		{Line: ""},
	}
}

func TestEngine(t *testing.T) {
	t.Parallel()
	enginestest.Run(t, New(), enginestest.Cases{Plans: planCases(), Refused: refusedCases(), Progress: progressCases(),
		Live: liveCases(t)})
}

func TestLogicalPath(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"accounts/a/uploads/projects/p/textures/wood.png": "textures/wood.png",
		"accounts/a/uploads/projects/p/shot.blend":        "shot.blend",
		"accounts/a/uploads/u/shot.blend":                 "shot.blend",
		"jobs/j/outputs/stage/projects/p/x.blend":         "x.blend",
		"accounts/a/uploads/projects/p":                   "p",
	} {
		if got := logicalPath(key); got != want {
			t.Errorf("logicalPath(%q) is %q, want %q", key, got, want)
		}
	}
}

// TestMeasuredCost wants what earlier frames took to decide the chunks: a long opening is not repeated for a few cheap frames.
func TestMeasuredCost(t *testing.T) {
	t.Parallel()
	count := func(load, frame float64) int {
		shards, err := New().Plan(blend(func(r *engines.Request) {
			r.Frames = []frames.Range{{First: 1, Last: 100, Step: 1}}
			r.Found.Rendered = &engines.RenderCost{LoadCPUSeconds: load, FrameCPUSeconds: frame}
		}))
		if err != nil {
			t.Fatal(err)
		}
		return len(shards) - 2
	}
	if quick, slow, heavy := count(1, 0.1), count(1, 600), count(3000, 600); quick != 2 || slow != 100 || heavy >= slow {
		t.Errorf("got %d chunks of cheap frames, %d of dear ones and %d where opening is dear too", quick, slow, heavy)
	}
}

// TestFramesAreDealtOut wants shards that take the same time, and runs of consecutive frames where a film is joined from them.
func TestFramesAreDealtOut(t *testing.T) {
	t.Parallel()
	for video, want := range map[string]string{picture.None: "[1 3 5] [2 4 6]", "mp4": "[1 2 3] [4 5 6]"} {
		shards, err := New().Plan(blend(func(r *engines.Request) {
			r.Frames = []frames.Range{{First: 1, Last: 6, Step: 1}}
			r.Parameters = map[string]string{"Video": video}
			r.Found.Rendered = &engines.RenderCost{LoadCPUSeconds: 1, FrameCPUSeconds: 30}
		}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, shard := range shards[1 : len(shards)-1] {
			var params renderParams
			if err := json.Unmarshal(shard.Params, &params); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(params.Frames))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("video %s: shards render %v, want %s", video, got, want)
		}
	}
}

func TestLimitsHold(t *testing.T) {
	t.Parallel()
	for _, seconds := range []float64{0, 1e3, 1e300} {
		if got := limited(seconds, time.Minute, time.Hour); got < time.Minute || got > time.Hour {
			t.Errorf("limited(%g) is %v", seconds, got)
		}
	}
}

// TestMeasuredFrames holds what a frame is expected to take against what frames of the scene took before: a small preview must not
// make a large picture cheap.
func TestMeasuredFrames(t *testing.T) {
	t.Parallel()
	own := engines.RenderCost{FrameCPUSeconds: 10, Pixels: 1000, Samples: 100}
	stated := own
	stated.Stated = true
	for _, c := range []struct {
		name                   string
		width, height, samples int
		measured               engines.RenderCost
		want                   float64
	}{
		{"the scene's own, twice", 0, 0, 0, own, 10},
		{"a larger picture", 100, 40, 0, own, 40},
		{"more samples", 0, 0, 300, own, 30},
		{"smaller and finer", 50, 10, 200, own, 10},
		{"the scene's own after a preview", 0, 0, 0, stated,
			10.0 * picture.DefaultWidthPixels * picture.DefaultHeightPixels / 1000 * assumedSamples / 100},
		{"the same as stated before", 100, 10, 100, stated, 10},
		{"measured by an older program", 100, 10, 100, engines.RenderCost{FrameCPUSeconds: 10}, 10},
	} {
		q := request{Options: picture.Options{WidthPixels: c.width, HeightPixels: c.height, Samples: c.samples},
			rendered: &c.measured}
		q.Job.Pixels = q.Options.Pixels()
		if got := q.frameCPUSeconds(); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%s: got %g s, want %g", c.name, got, c.want)
		}
	}
}
