package cli

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/molfabric/molfabric/internal/frames"
)

// Bounds of what a rendering may ask for; they are the service's own.
const (
	maxRenderedFrames = 100_000
	minEdgePixels     = 16
	maxEdgePixels     = 8192
	minFPS            = 1.0 / 600
	maxFPS            = 240
	maxSamples        = 1 << 24
	// maxFrameMinutes is a week: no frame that anybody waits for takes longer.
	maxFrameMinutes = 7 * 24 * 60
)

// The parameters of a rendering.
const (
	paramAnimation        = "Animation"
	paramTurntableFrames  = "TurntableFrames"
	paramFrames           = "Frames"
	paramTransparent      = "Transparent"
	paramBackground       = "Background"
	paramImageFormat      = "ImageFormat"
	paramOutline          = "Outline"
	paramAmbientOcclusion = "AmbientOcclusion"
	paramDepthCue         = "DepthCue"
	paramFloor            = "Floor"
	paramCaps             = "Caps"
	paramVideo            = "Video"
	paramDevice           = "Device"
	paramDenoise          = "Denoise"
	paramCamera           = "Camera"
)

const (
	formatPNG  = "PNG"
	formatJPEG = "JPEG"
	formatEXR  = "EXR"

	videoNone = "none"
	videoMP4  = "mp4"
	videoWebM = "webm"

	deviceCPU = "cpu"
)

var (
	renderDevices = []string{deviceCPU, "cuda", "optix", "hip"}
	filmFormats   = []string{videoMP4, videoWebM, videoNone}
	sizeForm      = regexp.MustCompile(`^([0-9]{1,5})[xX×]([0-9]{1,5})$`)
)

// renderRequest is a rendering as POST /v1/jobs/submit and /estimate take it; the latter as quoted makes it.
type renderRequest struct {
	JobType      string            `json:"jobType"`
	SceneFile    string            `json:"sceneFile,omitempty"`
	JobName      string            `json:"jobName,omitempty"`
	Attachments  []string          `json:"attachments,omitempty"`
	FrameStart   *int64            `json:"frameStart,omitempty"`
	FrameEnd     *int64            `json:"frameEnd,omitempty"`
	FrameStep    *int64            `json:"frameStep,omitempty"`
	OutputFormat string            `json:"outputFormat,omitempty"`
	Parameters   map[string]string `json:"parameters,omitempty"`
	Metadata     pictureMetadata   `json:"metadata"`
	Recovery     recoveryChoice    `json:"recovery"`
}

type pictureMetadata struct {
	Software          string   `json:"software,omitempty"`
	RenderEngine      string   `json:"renderEngine,omitempty"`
	Resolution        string   `json:"resolution,omitempty"`
	FPS               *float64 `json:"fps,omitempty"`
	Samples           *int64   `json:"samples,omitempty"`
	RenderTimeMinutes *float64 `json:"renderTimeMinutes,omitempty"`
}

// quoted is the request in the shape of an estimate, which knows no files and no names.
func (r renderRequest) quoted() renderRequest {
	r.SceneFile, r.JobName, r.OutputFormat, r.Attachments = "", "", "", nil
	return r
}

// put sets a parameter that is not "".
func (r *renderRequest) put(name, value string) {
	if value == "" {
		return
	}
	if r.Parameters == nil {
		r.Parameters = map[string]string{}
	}
	r.Parameters[name] = value
}

func recoveryOf(resumable bool) recoveryChoice {
	if resumable {
		return recoveryChoice{Mode: "resumable"}
	}
	return recoveryChoice{Mode: "standard"}
}

// parseFrames reads --frames, which may be given several times; nil when it is not.
func parseFrames(given []string) ([]frames.Range, error) {
	if len(given) == 0 {
		return nil, nil
	}
	ranges, err := frames.Parse(strings.Join(given, ","))
	if err != nil {
		return nil, usage("--frames %s: %v; write frames like 1-48, 1-100:10 or 1,3,5-9", strings.Join(given, ","), err)
	}
	if count := frames.Count(ranges); count > maxRenderedFrames {
		return nil, usage("--frames %s: are %d frames; a job renders at most %d: submit them as several jobs",
			strings.Join(given, ","), count, maxRenderedFrames)
	}
	return ranges, nil
}

// parseResolution reads WIDTHxHEIGHT and writes it as the service does; "" stays "".
func parseResolution(size string) (string, error) {
	if size == "" {
		return "", nil
	}
	parts := sizeForm.FindStringSubmatch(size)
	if parts == nil {
		return "", usage("--size %q: write WIDTHxHEIGHT in pixels, such as 1920x1080", size)
	}
	for i, edge := range parts[1:] {
		n, err := strconv.Atoi(edge)
		if err != nil || n < minEdgePixels || n > maxEdgePixels {
			return "", usage("--size %s: width and height must be %d to %d pixels each, as in 3840x2160", size, minEdgePixels,
				maxEdgePixels)
		}
		parts[i+1] = strconv.Itoa(n)
	}
	return parts[1] + "x" + parts[2], nil
}

// parseFormat reads the name of a picture's format; "" stays "".
func parseFormat(name string) (string, error) {
	switch strings.ToUpper(name) {
	case "":
		return "", nil
	case formatPNG:
		return formatPNG, nil
	case formatJPEG, "JPG":
		return formatJPEG, nil
	case formatEXR, "OPENEXR", "OPEN_EXR":
		return formatEXR, nil
	}
	return "", usage("--format %q: must be PNG, JPEG or EXR", name)
}

// pictureFlags are the flags that both kinds of rendering have, as they are written.
type pictureFlags struct {
	changed                                   func(flag string) bool
	frames                                    []string
	size, format, video, device, name, output string
	samples                                   int64
	fps                                       float64
	denoise, resumable                        bool
	estimate, watch, detach                   bool
}

// define adds those that say how a job is run; the others' texts are the commands' own.
func (f *pictureFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.device, "device", deviceCPU, "what Cycles computes on: "+orList(renderDevices)+
		"; all but cpu need a worker with such a GPU")
	flags.BoolVar(&f.denoise, "denoise", true, "remove the noise that few samples leave, with Cycles")
	flags.BoolVar(&f.resumable, "resumable", false, "keep each finished frame, so that a machine that fails costs none of them")
	flags.StringVar(&f.name, "name", "", "name of the job (default: made from the file)")
	flags.BoolVar(&f.estimate, "estimate", false, "show the price, and do nothing else")
	flags.BoolVar(&f.watch, "watch", true, "stay, and show progress and result")
	flags.BoolVar(&f.detach, "detach", false, "submit, and do not stay")
	offerNoReuse(cmd)
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "out" {
			name = "output"
		}
		return pflag.NormalizedName(name)
	})
	f.changed = flags.Changed
	// the flag exists
	_ = cmd.RegisterFlagCompletionFunc("device", cobra.FixedCompletions(renderDevices, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("video", cobra.FixedCompletions(filmFormats, cobra.ShellCompDirectiveNoFileComp))
}

// check checks them; those that were not given are right.
func (f *pictureFlags) check() error {
	switch {
	case f.device != "" && !slices.Contains(renderDevices, f.device):
		return usage("--device %q: must be %s", f.device, orList(renderDevices))
	case f.video != "" && !slices.Contains(filmFormats, f.video):
		return usage("--video %q: must be %s", f.video, orList(filmFormats))
	case f.changed("samples") && (f.samples < 1 || f.samples > maxSamples):
		return usage("--samples %d: must be 1 to %d; 64 is usual", f.samples, maxSamples)
	case f.changed("fps") && !(f.fps >= minFPS && f.fps <= maxFPS):
		return usage("--fps %g: must be %.4f to %d; 24 is usual", f.fps, minFPS, maxFPS)
	}
	return f.checkLeaving()
}

// checkLeaving checks what is done with the job.
func (f *pictureFlags) checkLeaving() error {
	leaves := f.detach || f.changed("watch") && !f.watch
	switch {
	case f.detach && f.changed("watch") && f.watch:
		return usage("--watch and --detach exclude each other")
	case f.estimate && leaves || f.output != "" && (f.estimate || leaves):
		return usage("--estimate, --detach and --output exclude each other")
	}
	return nil
}

// metadata is what they say of the picture.
func (f *pictureFlags) metadata() (pictureMetadata, error) {
	resolution, err := parseResolution(f.size)
	return pictureMetadata{Resolution: resolution, FPS: given(f.changed("fps"), f.fps),
		Samples: given(f.changed("samples"), f.samples)}, err
}

// tier puts what they say of Cycles into the request.
func (f *pictureFlags) tier(request *renderRequest) {
	if f.changed("device") {
		request.put(paramDevice, f.device)
	}
	if f.changed("denoise") {
		request.put(paramDenoise, strconv.FormatBool(f.denoise))
	}
	request.Recovery = recoveryOf(f.resumable)
}

// orList is "a, b or c".
func orList(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
