package molviewspec

import (
	"math"
	"time"
)

// frameTimeMs is how long a frame of an animation lasts that does not say it (animation-tree.ts).
const frameTimeMs = 1000.0 / 60

// state reads one snapshot's metadata and how long it is shown. before is the time of the transition that leads to it; the second
// result is that of the transition that leads on.
//
// The renderer shows a snapshot for linger_duration_ms and the transition from the one before (molstarTreeToEntry, load.ts); it
// goes round, while a film begins at the first, to which no transition leads. duration_ms is what newer writers state instead.
func (c *checker) state(snapshot map[string]any, before time.Duration, at *place) (State, time.Duration) {
	at = member(at, "metadata")
	metadata, ok := snapshot["metadata"].(map[string]any)
	if !ok {
		c.refuse(at, "expected an object, which may hold key, title and duration_ms, got %s", gotMember(snapshot, "metadata"))
		return State{}, 0
	}
	state := State{Key: c.text(metadata, "key", at), Title: c.text(metadata, "title", at)}
	transition := c.milliseconds(metadata, "transition_duration_ms", at)
	shown := c.milliseconds(metadata, "linger_duration_ms", at) + before
	stated := c.milliseconds(metadata, "duration_ms", at)
	end := c.animationEnd(snapshot["animation"], member(at.up, "animation"))
	state.Duration = max(shown, stated, end)
	state.Animated = end > 0
	return state, transition
}

// animationEnd is where a snapshot's animation ends: its stated duration or the end of its last interpolation, whichever is
// later, and 0 where there is none (generateStateTransition, animation.ts). The tree itself has been checked before.
func (c *checker) animationEnd(value any, at *place) time.Duration {
	animation, _ := value.(map[string]any)
	children, _ := animation["children"].([]any)
	if len(children) == 0 {
		return 0
	}
	params, _ := animation["params"].(map[string]any)
	end := c.milliseconds(params, "duration_ms", member(at, "params"))
	for i, child := range children {
		interpolation, _ := child.(map[string]any)
		values, _ := interpolation["params"].(map[string]any)
		at := member(entry(member(at, "children"), i), "params")
		end = max(end, c.milliseconds(values, "start_ms", at)+c.milliseconds(values, "duration_ms", at))
	}
	c.animationFrames(params, end, member(at, "params"))
	return end
}

// animationFrames bounds the frames that the renderer makes of an animation.
func (c *checker) animationFrames(params map[string]any, end time.Duration, at *place) {
	frameMs, stated := params["frame_time_ms"].(float64)
	if !stated {
		frameMs = frameTimeMs
	}
	at = member(at, "frame_time_ms")
	if frameMs <= 0 {
		c.refuse(at, "expected more than 0 milliseconds, got %s", got(frameMs))
		return
	}
	if frames := float64(end) / float64(time.Millisecond) / frameMs; frames > MaxAnimationFrames {
		c.refuse(at, "an animation of %s has at most %d frames; at %s milliseconds each it would have %.0f", end,
			MaxAnimationFrames, got(frameMs), math.Ceil(frames))
	}
}

// milliseconds is an optional member that is a time, or null.
func (c *checker) milliseconds(members map[string]any, name string, at *place) time.Duration {
	value, ok := members[name]
	if !ok || value == nil {
		return 0
	}
	ms, ok := value.(float64)
	if limit := float64(MaxStateDuration / time.Millisecond); !ok || ms < 0 || ms > limit {
		c.refuse(member(at, name), "expected 0 to %.0f milliseconds, got %s", limit, got(value))
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}
