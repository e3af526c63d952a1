package picture

import (
	"math"
	"slices"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/frames"
)

// Kinds of animation.
const (
	None      = "none"      // a still of the first state
	States    = "states"    // one frame a state
	Timeline  = "timeline"  // all states, each for as long as it is shown, at the frame rate
	Turntable = "turntable" // the camera goes round the first state
)

// TimeLine is the whole animation of a scene, of which a job renders some frames or all.
type TimeLine struct {
	Kind   string
	Frames int64 // length, at least 1; numbered from 1
	FPS    float64

	askedBy string // the member that names frames
	unknown bool   // there is no scene yet: any frame may exist
}

// TimeLine lays the animation out. scene is nil in an estimate: then it is as long as the frames that are asked for. Errors are
// *engines.InvalidError.
func (o Options) TimeLine(scene *engines.Scene) (TimeLine, error) {
	line := TimeLine{Kind: o.kind(scene), Frames: 1, FPS: o.FPS, askedBy: o.askedBy, unknown: scene == nil}
	switch {
	case line.Kind == Turntable:
		line.Frames, line.unknown = o.turn(), false
	case scene == nil:
		line.Frames = max(frames.Count(o.asked), 1)
	case line.Kind == States:
		line.Frames = max(int64(len(scene.States)), 1)
	case line.Kind == Timeline:
		line.Frames = o.length(scene.States)
	}
	if line.Frames > MaxFrames {
		return TimeLine{}, invalid("metadata.fps", "is %g, at which the scene has %d frames; at most %d are allowed: take a "+
			"lower rate", o.FPS, line.Frames, MaxFrames)
	}
	return line, nil
}

// kind is the animation that is asked for, or that the scene suggests.
func (o Options) kind(scene *engines.Scene) string {
	animated := func(s engines.SceneState) bool { return s.Animated }
	switch {
	case o.animation != "":
		return o.animation
	case scene == nil && o.turntableFrames > 0:
		return Turntable
	case scene == nil:
		return None
	case slices.ContainsFunc(scene.States, animated):
		return Timeline
	case len(scene.States) > 1:
		return States
	}
	return None
}

// turn is how many frames a whole turn has.
func (o Options) turn() int64 {
	if o.turntableFrames > 0 {
		return int64(o.turntableFrames)
	}
	if len(o.asked) > 0 {
		return min(max(o.asked[len(o.asked)-1].Last, MinTurntableFrames), MaxTurntableFrames)
	}
	return DefaultTurntableFrames
}

// length is that of all states in frames, one after the other. It stops growing beyond what is allowed.
func (o Options) length(states []engines.SceneState) int64 {
	sum := int64(0)
	for _, state := range states {
		one := min(math.Round(state.Duration.Seconds()*o.FPS), MaxFrames+1)
		sum = min(sum+max(int64(one), 1), MaxFrames+1)
	}
	return max(sum, 1)
}

// Asked are the frames to render, ascending: those of the ranges, or all when there are none. A frame beyond the animation is an
// *engines.InvalidError of the member that names the frames.
func (t TimeLine) Asked(ranges []frames.Range) ([]int64, error) {
	if len(ranges) == 0 {
		ranges = []frames.Range{{First: 1, Last: t.Frames, Step: 1}}
	}
	if frames.Count(ranges) > MaxFrames {
		return nil, invalid(t.askedBy, "is more than %d frames; submit them as several jobs", MaxFrames)
	}
	first, last := ranges[0].First, ranges[len(ranges)-1].Last
	switch {
	case first < 1:
		return nil, invalid(t.askedBy, "names frame %d; frames of a scene are numbered from 1", first)
	case t.unknown:
	case last > t.Frames && t.Kind == None:
		return nil, invalid(t.askedBy, "names frame %d of a scene that does not move; leave it out, or ask for "+
			"parameters.Animation turntable", last)
	case last > t.Frames:
		return nil, invalid(t.askedBy, "names frame %d; the animation (%s) has the frames 1 to %d", last, t.Kind, t.Frames)
	}
	return slices.AppendSeq(make([]int64, 0, frames.Count(ranges)), frames.All(ranges)), nil
}

// Film is the film to be made of so many frames: MP4, WebM, or "" for none. It is made by itself of what moves. kind is that of the
// time line; a render job, which has none, says None. The error is an *engines.InvalidError.
func (o Options) Film(kind string, count int) (string, error) {
	switch {
	case o.video == NoVideo:
		return "", nil
	case o.video != "" && count < 2:
		return "", invalid("parameters.Video", "is %s, but a film needs at least 2 frames; ask for more, or for none", o.video)
	case o.video != "":
		return o.video, nil
	case count < 2 || kind != Timeline && kind != Turntable:
		return "", nil
	case o.Transparent:
		return WebM, nil
	}
	return MP4, nil
}
