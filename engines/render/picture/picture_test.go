package picture

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/frames"
)

// job is a request with metadata, parameters as "Name=value" and frames as an expression.
func job(t *testing.T, metadata, asked string, parameters ...string) engines.Request {
	t.Helper()
	request := engines.Request{JobType: engines.JobTypeMolecular, Metadata: json.RawMessage(metadata),
		Parameters: map[string]string{}}
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		request.Parameters[name] = value
	}
	if asked != "" {
		var err error
		if request.Frames, err = frames.Parse(asked); err != nil {
			t.Fatal(err)
		}
	}
	return request
}

func wantRefused(t *testing.T, name string, err error, field, part string) {
	t.Helper()
	var refused *engines.InvalidError
	if !errors.As(err, &refused) || refused.Field != field || !strings.Contains(refused.Message, part) {
		t.Errorf("%s: got %v, want a refusal of %s with %q", name, err, field, part)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	molecular, err := Parse(engines.Request{})
	want := Options{WidthPixels: 1920, HeightPixels: 1080, Samples: 64, FPS: 24, Format: PNG, Denoise: true, Device: DeviceCPU,
		Floor: NoFloor, Caps: true, askedBy: "frameStart"}
	if err != nil || !reflect.DeepEqual(molecular, want) {
		t.Errorf("a molecular job: got %+v, %v; want %+v", molecular, err, want)
	}
	render, err := ParseFilm(engines.Request{})
	want.WidthPixels, want.HeightPixels, want.Samples, want.Floor, want.Caps = 0, 0, 0, "", false
	if err != nil || !reflect.DeepEqual(render, want) {
		t.Errorf("a render job: got %+v, %v; want %+v", render, err, want)
	}
	if molecular.Pixels() != render.Pixels() || molecular.GPU() {
		t.Errorf("got %d and %d pixels, GPU %v", molecular.Pixels(), render.Pixels(), molecular.GPU())
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	on, off := true, false
	for _, c := range []struct {
		name, metadata string
		parameters     []string
		change         func(*Options)
	}{
		{"size", `{"resolution":"3840x2160","fps":23.976,"samples":128,"renderTimeMinutes":0.5}`, nil, func(o *Options) {
			o.WidthPixels, o.HeightPixels, o.FPS, o.Samples, o.FrameSeconds = 3840, 2160, 23.976, 128, 30
		}},
		{"null members", `{"resolution":null,"fps":null}`, nil, func(*Options) {}},
		{"unknown names", `{"FPS":"fast","other":1}`, []string{"Quality=best", "animation=spin"}, func(*Options) {}},
		{"transparent", `{}`, []string{"Transparent=True"}, func(o *Options) { o.Transparent = true }},
		{"looks", `{}`, []string{"Background= #FFeedd ", "Outline=true", "AmbientOcclusion=false", "ImageFormat=jpeg"},
			func(o *Options) {
				o.Background, o.Outline, o.AmbientOcclusion, o.Format = "#ffeedd", &on, &off, JPEG
			}},
		{"light", `{}`, []string{"DepthCue=true", "Floor=Shadow", "Caps=false"}, func(o *Options) {
			o.DepthCue, o.Floor, o.Caps = &on, ShadowFloor, false
		}},
		{"turntable", `{}`, []string{"Animation=Turntable", "TurntableFrames=72", "Video=webm"}, func(o *Options) {
			o.animation, o.turntableFrames, o.video = Turntable, 72, WebM
		}},
		{"device", `{}`, []string{"Device=OptiX", "Denoise=false", "ImageFormat=EXR"}, func(o *Options) {
			o.Device, o.Denoise, o.Format = DeviceOptiX, false, EXR
		}},
	} {
		want, _ := Parse(engines.Request{})
		c.change(&want)
		got, err := Parse(job(t, c.metadata, "", c.parameters...))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ metadata, parameter, field, part string }{
		{`{"resolution":"4K"}`, "", "metadata.resolution", "16 to 8192"},
		{`{"resolution":"8193x1080"}`, "", "metadata.resolution", "16 to 8192"},
		{`{"resolution":"1920x15"}`, "", "metadata.resolution", "16 to 8192"},
		{`{"resolution":"1920x1080x3"}`, "", "metadata.resolution", "1920x1080"},
		{`{"resolution":1080}`, "", "metadata.resolution", "text"},
		{`{"fps":0}`, "", "metadata.fps", "240"},
		{`{"fps":241}`, "", "metadata.fps", "240"},
		{`{"fps":"24"}`, "", "metadata.fps", "number"},
		{`{"samples":0}`, "", "metadata.samples", "1 to"},
		{`{"samples":1.5}`, "", "metadata.samples", "whole"},
		{`{"samples":1e300}`, "", "metadata.samples", "1 to"},
		{`{"renderTimeMinutes":0}`, "", "metadata.renderTimeMinutes", "more than 0"},
		{`{"renderTimeMinutes":1e300}`, "", "metadata.renderTimeMinutes", "10080"},
		{`[]`, "", "metadata", "object"},
		{`{}`, "Animation=spin", "parameters.Animation", "none, states, timeline or turntable"},
		{`{}`, "Animation=", "parameters.Animation", "none, states"},
		{`{}`, "TurntableFrames=1", "parameters.TurntableFrames", "2 to 3600"},
		{`{}`, "TurntableFrames=3601", "parameters.TurntableFrames", "2 to 3600"},
		{`{}`, "TurntableFrames=ten", "parameters.TurntableFrames", "whole"},
		{`{}`, "Transparent=yes", "parameters.Transparent", "true or false"},
		{`{}`, "Outline=1", "parameters.Outline", "true or false"},
		{`{}`, "AmbientOcclusion=on", "parameters.AmbientOcclusion", "true or false"},
		{`{}`, "Background=white", "parameters.Background", "#rrggbb"},
		{`{}`, "Background=" + strings.Repeat("#", 1000), "parameters.Background", "…"},
		{`{}`, "ImageFormat=TIFF", "parameters.ImageFormat", "PNG, JPEG or EXR"},
		{`{}`, "Video=avi", "parameters.Video", "none, mp4 or webm"},
		{`{}`, "Floor=marble", "parameters.Floor", "none or shadow"},
		{`{}`, "DepthCue=far", "parameters.DepthCue", "true or false"},
		{`{}`, "Device=metal", "parameters.Device", "cpu, cuda, optix or hip"},
		{`{}`, "Denoise=", "parameters.Denoise", "true or false"},
	} {
		_, err := Parse(job(t, c.metadata, "", c.parameter))
		wantRefused(t, c.metadata+" "+c.parameter, err, c.field, c.part)
	}
	_, err := Parse(job(t, `{}`, "", "Transparent=true", "ImageFormat=JPEG"))
	wantRefused(t, "transparent JPEG", err, "parameters.Transparent", "PNG")
	_, err = Parse(job(t, `{}`, "", "Transparent=true", "Video=mp4"))
	wantRefused(t, "transparent MP4", err, "parameters.Video", "webm")
	_, err = Parse(job(t, `{}`, "1-100001", "FrameRange=1-100001"))
	wantRefused(t, "too many frames", err, "parameters.FrameRange", "100000")
	_, err = ParseFilm(job(t, `{}`, "", "Camera=a\nb"))
	wantRefused(t, "camera", err, "parameters.Camera", "camera")
	_, err = ParseFilm(engines.Request{OutputFormat: "GIF"})
	wantRefused(t, "output format", err, "outputFormat", "EXR")
}

func TestParseFilm(t *testing.T) {
	t.Parallel()
	request := job(t, `{"resolution":"640x360","samples":16}`, "-3-3", "Camera=Camera.001", "Video=mp4", "Transparent=maybe")
	request.OutputFormat = EXR
	o, err := ParseFilm(request)
	if err != nil || o.WidthPixels != 640 || o.Samples != 16 || o.Format != EXR || o.Camera != "Camera.001" || o.Transparent {
		t.Errorf("got %+v, %v", o, err)
	}
	if film, err := o.Film(None, 7); film != MP4 || err != nil {
		t.Errorf("got the film %q, %v; want mp4", film, err)
	}
}

// scene has states of so many seconds; a negative one is not animated.
func scene(seconds ...float64) *engines.Scene {
	found := &engines.Scene{Format: engines.SceneMVSJ}
	for _, s := range seconds {
		state := engines.SceneState{Animated: s > 0}
		state.Duration = time.Duration(max(s, -s) * float64(time.Second))
		found.States = append(found.States, state)
	}
	return found
}

func TestTimeLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		scene      *engines.Scene
		asked      string
		parameters []string
		kind       string
		length     int64
		count      int    // frames to render
		film       string // made by itself
	}{
		{"still", scene(0), "", nil, None, 1, 1, ""},
		{"still that is shown for a while", scene(-5), "", nil, None, 1, 1, ""},
		{"still by its number", scene(0), "1", nil, None, 1, 1, ""},
		{"states", scene(-5, -5, 0), "", nil, States, 3, 3, ""},
		{"some states", scene(-5, -5, 0), "2-3", nil, States, 3, 2, ""},
		{"states as a still", scene(-5, -5, 0), "", []string{"Animation=none"}, None, 1, 1, ""},
		{"animated", scene(2), "", nil, Timeline, 48, 48, MP4},
		{"animated among others", scene(0, 2, -0.5), "", nil, Timeline, 61, 61, MP4},
		{"some of it", scene(2), "1-48:12", nil, Timeline, 48, 4, MP4},
		{"one of it", scene(2), "7", nil, Timeline, 48, 1, ""},
		{"without a film", scene(2), "", []string{"Video=none"}, Timeline, 48, 48, ""},
		{"transparent", scene(2), "", []string{"Transparent=true"}, Timeline, 48, 48, WebM},
		{"turntable", scene(0, 0), "", []string{"Animation=turntable"}, Turntable, 48, 48, MP4},
		{"turntable of so many", scene(0), "", []string{"Animation=turntable", "TurntableFrames=90"}, Turntable, 90, 90, MP4},
		{"turntable by its frames", scene(0), "1-36", []string{"Animation=turntable"}, Turntable, 36, 36, MP4},
		{"turntable of one frame", scene(0), "1", []string{"Animation=turntable"}, Turntable, 2, 1, ""},
		{"film of states", scene(0, 0), "", []string{"Video=webm"}, States, 2, 2, WebM},
		{"estimate", nil, "", nil, None, 1, 1, ""},
		{"estimate of frames", nil, "1-100:10", nil, None, 10, 10, ""},
		{"estimate of a turntable", nil, "", []string{"TurntableFrames=24"}, Turntable, 24, 24, MP4},
		{"estimate of an animation", nil, "10-20", []string{"Animation=timeline"}, Timeline, 11, 11, MP4},
	} {
		o, err := Parse(job(t, `{}`, c.asked, c.parameters...))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		line, err := o.TimeLine(c.scene)
		if err != nil || line.Kind != c.kind || line.Frames != c.length || line.FPS != 24 {
			t.Errorf("%s: got %+v, %v; want %s of %d frames", c.name, line, err, c.kind, c.length)
			continue
		}
		asked, err := line.Asked(o.asked)
		if err != nil || len(asked) != c.count {
			t.Errorf("%s: got %d frames, %v; want %d", c.name, len(asked), err, c.count)
		}
		if film, err := o.Film(line.Kind, len(asked)); err != nil || film != c.film {
			t.Errorf("%s: got the film %q, %v; want %q", c.name, film, err, c.film)
		}
	}
}

func TestTimeLineRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		scene       *engines.Scene
		asked       string
		parameters  []string
		field, part string
	}{
		{"beyond a still", scene(0), "1-2", []string{"Frames=1-2"}, "parameters.Frames", "turntable"},
		{"beyond the states", scene(0, 0), "3", nil, "frameStart", "1 to 2"},
		{"beyond the timeline", scene(2), "49", []string{"FrameRange=49"}, "parameters.FrameRange", "1 to 48"},
		{"beyond the turn", scene(0), "49", []string{"Animation=turntable", "TurntableFrames=48"}, "frameStart", "1 to 48"},
		{"beyond any turn", scene(0), "3601", []string{"Animation=turntable"}, "frameStart", "1 to 3600"},
		{"before the first", scene(2), "0-5", nil, "frameStart", "from 1"},
		{"before the first, estimated", nil, "-1", []string{"Animation=timeline"}, "frameStart", "from 1"},
		{"too long", scene(4000, 4000), "", nil, "metadata.fps", "100000"},
		{"a film of one frame", scene(0), "", []string{"Video=mp4"}, "parameters.Video", "2 frames"},
	} {
		o, err := Parse(job(t, `{}`, c.asked, c.parameters...))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		line, err := o.TimeLine(c.scene)
		if err == nil {
			var asked []int64
			if asked, err = line.Asked(o.asked); err == nil {
				_, err = o.Film(line.Kind, len(asked))
			}
		}
		wantRefused(t, c.name, err, c.field, c.part)
	}
}
