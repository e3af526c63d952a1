package jobs

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/frames"
)

const (
	// maxFrames bounds a job: more than an hour of film, and few enough to plan in memory.
	maxFrames = 100_000
	// The edges of a picture, in pixels: below, nothing can be seen; above, the software rasteriser has no texture that large.
	minEdgePixels = 16
	maxEdgePixels = 8192
	// maxFPS is twice what any display shows.
	maxFPS = 240
	// maxSamples is the most that Cycles itself offers with its slider.
	maxSamples = 1 << 24
	// defaultFrame is what a render job renders that names no frame: a still, at the number at which every new scene begins.
	defaultFrame = 1
)

// checkMembers refuses members of a submission that belong to other job types, with fault.Validation: whoever
// sends one expects frames or tasks that the job would not have (doc/contract.md §2.1). A pipeline is both. In an estimate, what
// does not apply is ignored. simulationParams and dockingRequest are for whom they concern, and may stand everywhere.
func checkMembers(r SubmitRequest) error {
	jobType := valueOr(r.JobType, engines.JobTypeRender)
	for _, member := range []struct {
		name  string
		given bool
		only  string
	}{
		{"frameStart", r.FrameStart != nil, engines.JobTypeRender},
		{"frameEnd", r.FrameEnd != nil, engines.JobTypeRender},
		{"frameStep", r.FrameStep != nil, engines.JobTypeRender},
		{"outputFormat", r.OutputFormat != "", engines.JobTypeRender},
		{"simulator", r.Simulator != "", engines.JobTypeSimulation},
		{"taskCount", r.TaskCount != nil, engines.JobTypeSimulation},
	} {
		if member.given && jobType != member.only && jobType != engines.JobTypePipeline {
			return fault.New(fault.Validation, "%s: is for %s jobs only; leave it out of a %s job", member.name, member.only,
				jobType)
		}
	}
	return nil
}

// checkTaskCount bounds what an engine may be asked to plan.
func checkTaskCount(count *int) error {
	if valueOr(count, 1) > engines.MaxShards {
		return fault.New(fault.Validation, "taskCount: at most %d", engines.MaxShards)
	}
	return nil
}

// framesOf says which frames a request asks for: frameStart, frameEnd and frameStep, or the parameters Frames or FrameRange in
// the range syntax of Open Job Description. given is false when it names none. Errors: fault.Validation, also when two places
// name different frames.
func framesOf(r SubmitRequest) (asked []frames.Range, given bool, err error) {
	where := ""
	take := func(name string, ranges []frames.Range, err error) error {
		switch {
		case err != nil:
			return fault.New(fault.Validation, "%s: %s", name, err)
		case frames.Count(ranges) > maxFrames:
			return fault.New(fault.Validation, "%s: is more than %d frames; submit them as several jobs", name, maxFrames)
		case where != "" && !frames.Equal(asked, ranges):
			return fault.New(fault.Validation, "%s: names other frames than %s; give one of them, or the same frames in both", name,
				where)
		}
		asked, where = ranges, name
		return nil
	}
	if r.FrameStart != nil || r.FrameEnd != nil {
		span, name, err := frameSpan(r)
		if err := take(name, span, err); err != nil {
			return nil, false, err
		}
	} else if valueOr(r.FrameStep, 1) != 1 {
		return nil, false, fault.New(fault.Validation, "frameStep: needs frameStart and frameEnd; in parameters the step stands "+
			"behind a colon, as in 1-100:10")
	}
	for _, name := range []string{"Frames", "FrameRange"} {
		text, ok := r.Parameters[name]
		if !ok {
			continue
		}
		ranges, err := frames.Parse(text)
		if err := take("parameters."+name, ranges, err); err != nil {
			return nil, false, err
		}
	}
	return asked, where != "", nil
}

// frameSpan reads frameStart, frameEnd and frameStep. name is the member at fault, or frameEnd.
func frameSpan(r SubmitRequest) (span []frames.Range, name string, err error) {
	switch {
	case r.FrameStart == nil:
		return nil, "frameStart", errRule("is required beside frameEnd")
	case r.FrameEnd == nil:
		return nil, "frameEnd", errRule("is required beside frameStart; a single frame has both the same")
	case *r.FrameEnd < *r.FrameStart:
		return nil, "frameEnd", errRule("must not be less than frameStart")
	case *r.FrameStart < -frames.MaxNumber:
		return nil, "frameStart", errRule("must be at least " + strconv.Itoa(-frames.MaxNumber))
	case *r.FrameEnd > frames.MaxNumber:
		return nil, "frameEnd", errRule("must be at most " + strconv.Itoa(frames.MaxNumber))
	}
	// A step beyond the range leaves its first frame, however great it is.
	step := min(valueOr(r.FrameStep, 1), frames.MaxNumber)
	one, err := frames.Span(*r.FrameStart, *r.FrameEnd, step)
	return []frames.Range{one}, "frameEnd", err
}

// errRule is a rule that a member breaks.
type errRule string

func (e errRule) Error() string { return string(e) }

// picture is what metadata says about a rendering and who makes it, of the members of doc/contract.md §2.3. Texts are "" and
// numbers nil when they are left out.
type picture struct {
	Software, Renderer, RenderEngine, Resolution string
	FPS, Samples                                 *float64
}

// pictureOf reads metadata that the schema has checked. Names are taken as they are written: a member "Software" is somebody
// else's.
func pictureOf(metadata Metadata) (picture, error) {
	var members map[string]json.RawMessage
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &members); err != nil {
			return picture{}, fault.Wrap(err, fault.Validation, "metadata: expected object")
		}
	}
	var p picture
	for name, target := range map[string]any{
		"software": &p.Software, "renderer": &p.Renderer, "renderEngine": &p.RenderEngine, "resolution": &p.Resolution,
		"fps": &p.FPS, "samples": &p.Samples,
	} {
		if text, ok := members[name]; ok {
			if err := json.Unmarshal(text, target); err != nil {
				return picture{}, fault.Wrap(err, fault.Validation, "metadata.%s: the value has the wrong type", name)
			}
		}
	}
	return p, nil
}

// check bounds the picture of a molecular job. Errors: fault.Validation.
func (p picture) check() error {
	if p.Resolution != "" {
		width, height, _ := strings.Cut(p.Resolution, "x")
		for _, edge := range []string{width, height} {
			if n, err := strconv.Atoi(edge); err != nil || n < minEdgePixels || n > maxEdgePixels {
				return fault.New(fault.Validation, "metadata.resolution: width and height are %d to %d pixels each, as in "+
					"1920x1080", minEdgePixels, maxEdgePixels)
			}
		}
	}
	if fps := valueOr(p.FPS, 1); fps <= 0 || fps > maxFPS {
		return fault.New(fault.Validation, "metadata.fps: more than 0 and at most %d frames a second", maxFPS)
	}
	if samples := valueOr(p.Samples, 1); samples < 1 || samples > maxSamples {
		return fault.New(fault.Validation, "metadata.samples: 1 to %d", maxSamples)
	}
	return nil
}

// software is the program that a render job names, and the member that names it: software, or renderer where that is unset; ""
// for neither.
func (p picture) software() (name, member string) {
	switch {
	case p.Software != "":
		return p.Software, "metadata.software"
	case p.Renderer != "":
		return p.Renderer, "metadata.renderer"
	}
	return "", ""
}

// listed is names for a message.
func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}
