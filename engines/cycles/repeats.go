package cycles

import (
	"encoding/json"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/engines/render/tracer"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

var ownPrograms = rendering.Digest() + " " + engines.DigestOf(viewer.Programs, tracer.Programs, programs)

// Programs implements engines.Repeater.
func (Cycles) Programs() string { return ownPrograms }

// Repeats implements engines.Repeater: the scene decides the noise of a frame, and on another processor it is no better and no
// worse. When a frame is taken for hung does not decide what it looks like.
func (Cycles) Repeats(plan []engines.Shard) []engines.Repeat {
	repeats := engines.RepeatAll(plan)
	for i, shard := range plan {
		if shard.Stage != film.StageRender {
			continue
		}
		var params renderParams
		if json.Unmarshal(shard.Params, &params) != nil {
			continue
		}
		params.FrameLimitSeconds = 0
		if text, err := json.Marshal(params); err == nil {
			repeats[i].Decides = text
		}
	}
	return repeats
}

// SameBytes implements engines.Uneven: processors of different makes round differently, and tables tell what frames have taken.
func (Cycles) SameBytes(string) bool { return false }
