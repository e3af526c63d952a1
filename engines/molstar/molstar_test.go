package molstar

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/viewer"
	"github.com/molfabric/molfabric/internal/frames"
)

// requestFor is a job for a plain structure of one still, with parameters as "Name=value"; change adapts it.
func requestFor(change func(*engines.Request), parameters ...string) engines.Request {
	r := engines.Request{
		JobID: "job_test", JobName: "Heat shock protein 90", JobType: engines.JobTypeMolecular, Recovery: "standard",
		SceneFile: engines.Object{StorageKey: "scene", SHA256: strings.Repeat("a", 64), ByteSize: 22_530},
		Params:    json.RawMessage(`{}`),
		Metadata:  json.RawMessage(`{"resolution":"320x180"}`), Parameters: map[string]string{},
		Found: engines.Found{Scene: &engines.Scene{Format: "pdb", States: []engines.SceneState{{}}}},
	}
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		r.Parameters[name] = value
	}
	change(&r)
	return r
}

func unchanged(*engines.Request) {}

// animated is a scene of two states, of which the second moves for two seconds, and the structure that both refer to.
func animated(r *engines.Request) {
	r.Found.Scene = &engines.Scene{
		Format: engines.SceneMVSJ,
		States: []engines.SceneState{{Key: "a"}, {Key: "b", Duration: 2 * time.Second, Animated: true}},
		References: []engines.SceneReference{{URL: "./structures/../1uyd.pdb",
			Object: engines.Object{StorageKey: "structure", SHA256: strings.Repeat("b", 64), ByteSize: 22_530}}},
	}
	r.Attachments = []engines.Object{{StorageKey: "structure", ByteSize: 22_530}, {StorageKey: "notes", ByteSize: 5}}
}

// slow frames have been measured before.
func slow(r *engines.Request) {
	animated(r)
	r.Recovery = recoveryResumable
	r.Found.Rendered = &engines.RenderCost{LoadCPUSeconds: 10, FrameCPUSeconds: 20}
}

func asking(expression string) func(*engines.Request) {
	return func(r *engines.Request) {
		animated(r)
		var err error
		if r.Frames, err = frames.Parse(expression); err != nil {
			panic(err)
		}
	}
}

func estimate(r *engines.Request) {
	r.Found, r.SceneFile = engines.Found{}, engines.Object{StorageKey: "estimate"}
}

func metadata(text string) func(*engines.Request) {
	return func(r *engines.Request) { r.Metadata = json.RawMessage(text) }
}

func planCases() []enginestest.PlanCase {
	return []enginestest.PlanCase{
		{Name: "still", Golden: true, Request: requestFor(unchanged, "Transparent=true", "Outline=true", "DepthCue=false")},
		{Name: "timeline", Golden: true, Request: requestFor(slow, "Background=#ffffff")},
		{Name: "turntable", Request: requestFor(unchanged, "Animation=turntable", "ImageFormat=JPEG", "Video=webm")},
		{Name: "some-frames", Request: requestFor(asking("1-49:7"))},
		{Name: "estimate", Request: requestFor(estimate)},
		{Name: "largest-picture", Request: requestFor(metadata(`{"resolution":"8192x8192","renderTimeMinutes":10080}`))},
		{Name: "longest-film", Request: requestFor(func(r *engines.Request) {
			animated(r)
			r.Found.Scene.States[1].Duration = 99_999 * time.Second
			r.Metadata = json.RawMessage(`{"fps":1,"resolution":"7680x4320"}`)
		})},
	}
}

func refusedCases() []enginestest.RefusedCase {
	return []enginestest.RefusedCase{
		{Name: "EXR", Field: "parameters.ImageFormat", Request: requestFor(unchanged, "ImageFormat=EXR")},
		{Name: "a device", Field: "parameters.Device", Request: requestFor(unchanged, "Device=cuda")},
		{Name: "a floor", Field: "parameters.Floor", Request: requestFor(unchanged, "Floor=shadow")},
		{Name: "an unknown animation", Field: "parameters.Animation", Request: requestFor(unchanged, "Animation=spin")},
		{Name: "a size", Field: "metadata.resolution", Request: requestFor(metadata(`{"resolution":"9000x10"}`))},
		{Name: "a frame too many", Field: "parameters.Frames", Request: requestFor(asking("1-50"), "Frames=1-50")},
		{Name: "a film of one frame", Field: "parameters.Video", Request: requestFor(unchanged, "Video=mp4")},
		{Name: "references without end", Field: "sceneFile", Request: requestFor(func(r *engines.Request) {
			animated(r)
			r.Found.Scene.References[0].URL = strings.Repeat("x", engines.MaxShardParamsBytes)
		})},
	}
}

func progressCases() []enginestest.ProgressCase {
	return []enginestest.ProgressCase{
		{Line: `{"progress": 0.42, "message": "frame 7 of 16"}`, Fraction: 0.42, OK: true},
		{Line: `{"progress": 1.0, "message": "done"}`, Fraction: 1, OK: true},
		{Line: `{"progress": "half"}`},
		{Line: `[0101/000000.000:ERROR:gpu_init.cc(1)] Passthrough is not supported`},
		{Line: ""},
	}
}

func TestEngine(t *testing.T) {
	t.Parallel()
	enginestest.Run(t, New(), enginestest.Cases{Plans: planCases(), Refused: refusedCases(), Progress: progressCases(),
		Live: liveCases(t)})
}

// TestPlan looks at what the shards of an animation are told.
func TestPlan(t *testing.T) {
	t.Parallel()
	shards, err := New().Plan(requestFor(slow))
	if err != nil {
		t.Fatal(err)
	}
	if len(shards) != 11 || shards[0].Essential || !shards[10].Essential || shards[10].Stage != film.StageFinish {
		t.Fatalf("got %d shards, want 10 that render 49 frames of 10 s, and one that joins them", len(shards))
	}
	var all []int64
	for _, shard := range shards[:10] {
		params, err := paramsOf(shard)
		if err != nil || !params.Resumable || shard.Items != len(params.Frames) || shard.Needs.CPUs != params.Threads {
			t.Errorf("shard %s: got %+v, %v", shard.Name, params, err)
		}
		if want := (viewer.Animation{Kind: "timeline", Frames: 49, FPS: 24}); params.Animation != want {
			t.Errorf("shard %s: got %+v, want %+v", shard.Name, params.Animation, want)
		}
		if got := params.Scene.References["./structures/../1uyd.pdb"]; got != "in/assets/00000" || len(shard.Inputs) != 2 ||
			shard.Inputs[1].Object.StorageKey != "structure" {
			t.Errorf("shard %s: the reference is %q, the inputs %+v", shard.Name, got, shard.Inputs)
		}
		all = append(all, params.Frames...)
	}
	if len(all) != 49 || !slices.IsSorted(all) || all[0] != 1 || all[48] != 49 {
		t.Errorf("the shards render %v", all)
	}
}

// TestCost wants larger pictures to cost more, and what was measured or stated to be believed.
func TestCost(t *testing.T) {
	t.Parallel()
	cost := func(change func(*engines.Request)) engines.Shard {
		shards, err := New().Plan(requestFor(change))
		if err != nil {
			t.Fatal(err)
		}
		return shards[0]
	}
	small, large := cost(unchanged), cost(metadata(`{"resolution":"3840x2160"}`))
	if small.ExpectedCPUSeconds >= large.ExpectedCPUSeconds || small.Needs.MemoryBytes >= large.Needs.MemoryBytes {
		t.Errorf("320x180 takes %v s and %d bytes, 3840x2160 %v s and %d bytes", small.ExpectedCPUSeconds, small.Needs.MemoryBytes,
			large.ExpectedCPUSeconds, large.Needs.MemoryBytes)
	}
	stated := cost(metadata(`{"resolution":"320x180","renderTimeMinutes":1}`))
	tiny := cost(metadata(`{"resolution":"320x180","renderTimeMinutes":0.000001}`))
	if tiny.ExpectedCPUSeconds < small.ExpectedCPUSeconds/uncertainty {
		t.Errorf("a statement makes %v s of %v s, want no less than the guess may be wrong by", tiny.ExpectedCPUSeconds,
			small.ExpectedCPUSeconds)
	}
	measured := cost(func(r *engines.Request) {
		r.Found.Rendered = &engines.RenderCost{LoadCPUSeconds: 30, FrameCPUSeconds: 70}
	})
	for name, got := range map[string]float64{"stated": stated.ExpectedCPUSeconds - threads*60 - startCPUSeconds,
		"measured": measured.ExpectedCPUSeconds - 100} {
		if got < 0 || got > 1 {
			t.Errorf("%s: %v s beside what was told", name, got)
		}
	}
}

func TestProbeNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	check := New().Spec().Probe.Check
	for text, want := range map[string]string{
		"noise\n{\"chromium\":\"156.0\",\"ffmpeg\":\"5.1.9\",\"viewer\":\"installed\",\"pillow\":\"13.0.0\"}\n": "",
		`{"ffmpeg":"5.1.9","viewer":"installed","pillow":"13.0.0"}`:                                             "Chromium is missing",
		`{"chromium":"156.0","ffmpeg":"5.1.9","pillow":"13.0.0"}`:                                               "share/molfabric/viewer",
		`{"chromium":"156.0","viewer":"installed","pillow":"13.0.0"}`:                                           "ffmpeg is missing",
		`{"chromium":"156.0","ffmpeg":"5.1.9","viewer":"installed"}`:                                            "pillow",
		"Traceback": "no versions",
	} {
		_, err := check([]byte(text))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		"ModuleNotFoundError: No module named 'PIL'":             "PROGRAM_MISSING",
		"OSError: [Errno 12] Cannot allocate memory":             "OUT_OF_MEMORY",
		"Traceback (most recent call last):\nKeyError: 'frames'": "PROGRAM_ERROR",
		"nothing known": "",
	} {
		got := New().Explain(engines.Shard{}, engines.Dir(t.TempDir()), 1, log)
		if (got == nil) != (want == "") || got != nil && got.Code != want {
			t.Errorf("%q: got %v, want %q", log, got, want)
		}
	}
}
