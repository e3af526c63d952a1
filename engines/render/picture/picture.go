// Package picture reads what a job says of its pictures: size, format, background, animation, frames, film, and what renders
// them. Both tiers of rendering plan from it. It is pure; it draws nothing and knows no program.
package picture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/frames"
)

// Bounds on what may be asked for. The API has them too; jobs also come from elsewhere.
const (
	// The edges of a picture: below, nothing can be seen; above, the software rasteriser has no texture that large.
	MinEdgePixels = 16
	MaxEdgePixels = 8192
	// MaxFrames bounds an animation: more than an hour of film.
	MaxFrames = 100_000
	// MaxFPS is twice what any display shows.
	MaxFPS = 240
	// MinFPS is a frame in ten minutes, so that a film's time stamps stay small.
	MinFPS = 1.0 / 600
	// MaxSamples is the most that Cycles itself offers with its slider.
	MaxSamples = 1 << 24
	// A turntable of one frame would not turn; a tenth of a degree is the finest step.
	MinTurntableFrames = 2
	MaxTurntableFrames = 3600
	// maxFrameMinutes bounds metadata.renderTimeMinutes: a week for one frame.
	maxFrameMinutes = 7 * 24 * 60
	// maxCameraBytes is the longest name that Blender gives an object.
	maxCameraBytes = 255
)

// Defaults of a molecular job.
const (
	DefaultWidthPixels     = 1920
	DefaultHeightPixels    = 1080
	DefaultFPS             = 24
	DefaultSamples         = 64 // with denoising
	DefaultTurntableFrames = 48
)

// Formats of a frame. Those of a molecular job that names none are PNG.
const (
	PNG  = "PNG"
	JPEG = "JPEG"
	EXR  = "EXR"
)

// Films.
const (
	NoVideo = "none"
	MP4     = "mp4"
	WebM    = "webm"
)

// What a molecule stands on.
const (
	NoFloor     = "none"
	ShadowFloor = "shadow" // nothing is seen of it but the shadows on it
)

// What renders.
const (
	DeviceCPU   = "cpu"
	DeviceCUDA  = "cuda"
	DeviceOptiX = "optix"
	DeviceHIP   = "hip"
)

// Options are what a job says of its pictures, completed with the defaults that do not depend on its scene.
type Options struct {
	// WidthPixels and HeightPixels are 0 in a render job that leaves them to its scene; so is Samples.
	WidthPixels, HeightPixels int
	Samples                   int
	FPS                       float64
	// FrameSeconds is the wall time that the caller expects of a frame; 0 when not given.
	FrameSeconds float64
	Format       string // PNG, JPEG or EXR
	Transparent  bool
	Background   string // "#rrggbb" in lower case; "" leaves it to the scene
	// Outline, AmbientOcclusion and DepthCue are nil where the scene decides.
	Outline, AmbientOcclusion, DepthCue *bool
	Floor                               string // NoFloor or ShadowFloor; of the ray-traced tier
	Caps                                bool   // sections are closed; of the ray-traced tier
	Denoise                             bool
	Device                              string // cpu, cuda, optix or hip
	Camera                              string // of a render job: an object of the scene; "" for its active one

	animation       string         // as asked; "" for the scene's own
	turntableFrames int            // as asked; 0 when not given
	video           string         // as asked; "" when not given
	asked           []frames.Range // nil when not given
	askedBy         string         // the member that names them
}

// Parse reads the options of a molecular job. A member that is wrong is an *engines.InvalidError, which says what is allowed.
func Parse(r engines.Request) (Options, error) {
	o := Options{
		WidthPixels: DefaultWidthPixels, HeightPixels: DefaultHeightPixels, Samples: DefaultSamples, FPS: DefaultFPS,
		Format: PNG, Denoise: true, Device: DeviceCPU, Floor: NoFloor, Caps: true,
	}
	err := o.read(r, []reader{
		{"Animation", (*Options).readAnimation}, {"TurntableFrames", (*Options).readTurntableFrames},
		{"Transparent", func(o *Options, name, text string) error { return readBool(name, text, &o.Transparent) }},
		{"Background", (*Options).readBackground}, {"ImageFormat", (*Options).readFormat},
		{"Outline", func(o *Options, name, text string) error { return readOptional(name, text, &o.Outline) }},
		{"AmbientOcclusion", func(o *Options, name, text string) error { return readOptional(name, text, &o.AmbientOcclusion) }},
		{"DepthCue", func(o *Options, name, text string) error { return readOptional(name, text, &o.DepthCue) }},
		{"Floor", (*Options).readFloor},
		{"Caps", func(o *Options, name, text string) error { return readBool(name, text, &o.Caps) }},
		{"Video", (*Options).readVideo}, {"Device", (*Options).readDevice},
		{"Denoise", func(o *Options, name, text string) error { return readBool(name, text, &o.Denoise) }},
	})
	return o, err
}

// ParseFilm reads the options of a render job. Size, samples and camera stay those of its scene where it names none. Errors are
// those of Parse.
func ParseFilm(r engines.Request) (Options, error) {
	o := Options{FPS: DefaultFPS, Format: PNG, Denoise: true, Device: DeviceCPU}
	if r.OutputFormat != "" {
		if err := o.readFormat("outputFormat", r.OutputFormat); err != nil {
			return o, err
		}
	}
	err := o.read(r, []reader{
		{"Video", (*Options).readVideo}, {"Device", (*Options).readDevice}, {"Camera", (*Options).readCamera},
		{"Denoise", func(o *Options, name, text string) error { return readBool(name, text, &o.Denoise) }},
	})
	return o, err
}

// reader reads one parameter, whose name in messages is given to it.
type reader struct {
	name string
	read func(o *Options, name, text string) error
}

func (o *Options) read(r engines.Request, readers []reader) error {
	if err := o.readMetadata(r.Metadata); err != nil {
		return err
	}
	for _, parameter := range readers {
		if text, given := r.Parameters[parameter.name]; given {
			if err := parameter.read(o, "parameters."+parameter.name, strings.TrimSpace(text)); err != nil {
				return err
			}
		}
	}
	o.asked, o.askedBy = r.Frames, framesMember(r.Parameters)
	if frames.Count(o.asked) > MaxFrames {
		return invalid(o.askedBy, "is more than %d frames; submit them as several jobs", MaxFrames)
	}
	if o.Transparent && o.Format == JPEG {
		return invalid("parameters.Transparent", "is true, but JPEG has no transparency; ask for ImageFormat PNG")
	}
	if o.Transparent && o.video == MP4 {
		return invalid("parameters.Video", "is mp4, which has no transparency; a transparent film is webm")
	}
	return nil
}

// framesMember is the member that names frames, for a message about them.
func framesMember(parameters map[string]string) string {
	for _, name := range []string{"Frames", "FrameRange"} {
		if _, given := parameters[name]; given {
			return "parameters." + name
		}
	}
	return "frameStart"
}

// members are those of metadata that a picture is made from.
type members struct {
	Resolution        *string  `json:"resolution"`
	FPS               *float64 `json:"fps"`
	Samples           *float64 `json:"samples"`
	RenderTimeMinutes *float64 `json:"renderTimeMinutes"`
}

func (o *Options) readMetadata(text json.RawMessage) error {
	m, err := membersOf(text)
	if err != nil {
		return err
	}
	if m.Resolution != nil && *m.Resolution != "" {
		if o.WidthPixels, o.HeightPixels, err = size(*m.Resolution); err != nil {
			return err
		}
	}
	if m.FPS != nil {
		if *m.FPS < MinFPS || *m.FPS > MaxFPS {
			return invalid("metadata.fps", "must be %.4f to %d frames a second", MinFPS, MaxFPS)
		}
		o.FPS = *m.FPS
	}
	if m.Samples != nil {
		if *m.Samples < 1 || *m.Samples > MaxSamples || *m.Samples != math.Trunc(*m.Samples) {
			return invalid("metadata.samples", "must be a whole number of 1 to %d", MaxSamples)
		}
		o.Samples = int(*m.Samples)
	}
	if m.RenderTimeMinutes != nil {
		if *m.RenderTimeMinutes <= 0 || *m.RenderTimeMinutes > maxFrameMinutes {
			return invalid("metadata.renderTimeMinutes", "must be more than 0 and at most %d minutes a frame", maxFrameMinutes)
		}
		o.FrameSeconds = *m.RenderTimeMinutes * 60
	}
	return nil
}

// membersOf reads metadata. Names are taken as they are written: a member "FPS" is somebody else's.
func membersOf(text json.RawMessage) (members, error) {
	var m members
	if len(text) == 0 {
		return m, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return m, invalid("metadata", "must be an object")
	}
	for name, target := range map[string]any{"resolution": &m.Resolution, "fps": &m.FPS, "samples": &m.Samples,
		"renderTimeMinutes": &m.RenderTimeMinutes} {
		if value, given := all[name]; given && json.Unmarshal(value, target) != nil {
			want := "a number"
			if name == "resolution" {
				want = "a text such as 1920x1080"
			}
			return m, invalid("metadata."+name, "must be %s", want)
		}
	}
	return m, nil
}

func size(resolution string) (width, height int, err error) {
	first, second, _ := strings.Cut(resolution, "x")
	width, errWidth := strconv.Atoi(first)
	height, errHeight := strconv.Atoi(second)
	for _, edge := range []int{width, height} {
		if errors.Join(errWidth, errHeight) != nil || edge < MinEdgePixels || edge > MaxEdgePixels {
			return 0, 0, invalid("metadata.resolution", "must have a width and a height of %d to %d pixels each, as in 1920x1080",
				MinEdgePixels, MaxEdgePixels)
		}
	}
	return width, height, nil
}

// Pixels of a picture; those of the default size where the scene decides.
func (o Options) Pixels() int64 {
	if o.WidthPixels == 0 {
		return DefaultWidthPixels * DefaultHeightPixels
	}
	return int64(o.WidthPixels) * int64(o.HeightPixels)
}

// GPU reports whether a device renders.
func (o Options) GPU() bool { return o.Device != DeviceCPU }

// invalid is the refusal of a member.
func invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// quoted is a foreign text for a message: short, on one line.
func quoted(text string) string {
	const most = 40
	if len(text) > most {
		text = string(bytes.ToValidUTF8([]byte(text[:most]), nil)) + "…"
	}
	return strconv.Quote(text)
}
