// Package renders keeps what frames of a scene have taken to render, and how they were cut into shards, for the account's next
// plan of the same scene: its chunks and its price are then those of this scene and not of a guess, and frames that were rendered
// before are known again. It writes in the scheduler's transactions and reads no file: what a
// shard has measured comes with its summary. The newest measurement of a scene and an engine is kept, and nobody but the account
// sees it.
package renders

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler"
)

// The engines whose jobs are recorded.
const (
	EngineRaster = "molstar"
	EngineTraced = "cycles"
)

// Bounds of a measurement that is believed: a year of one core, and a picture that no engine makes.
const (
	maxCPUSeconds = 365 * 24 * 3600
	maxPixels     = 1 << 32
	maxSamples    = 1 << 24
)

// Recorder implements scheduler.Recorder. Its zero value is ready; it has no state.
type Recorder struct{}

var _ scheduler.Recorder = Recorder{}

// Submitted keeps which scene the job draws, and in how many shards.
func (Recorder) Submitted(ctx context.Context, tx *sqlx.Tx, accepted scheduler.Accepted) error {
	return insertRender(ctx, tx, accepted)
}

// Moved keeps what a task that has rendered frames has measured.
func (Recorder) Moved(ctx context.Context, tx *sqlx.Tx, move scheduler.TaskMove) error {
	if move.To != job.TaskSucceeded || move.Stage != film.StageRender || move.Result == nil {
		return nil
	}
	found, err := readMeasured(move.Result.Summary)
	if err != nil {
		return fmt.Errorf("record %s of %s: %w", move.Name, move.JobID, err)
	}
	if !found.usable() {
		return nil
	}
	return upsertCost(ctx, tx, move.JobID, found, move.At)
}

// Restarted keeps what was measured: it is true however often the frames are rendered.
func (Recorder) Restarted(context.Context, *sqlx.Tx, string, []string, time.Time) error { return nil }

// Ended has nothing to keep.
func (Recorder) Ended(context.Context, *sqlx.Tx, string, job.Status, string, time.Time) error {
	return nil
}

// measured is what the recorder reads of the summary of a shard of frames. What is nil was not said.
type measured struct {
	LoadCPUSeconds  *float64 `json:"loadCpuSeconds"`  // to open the scene
	FrameCPUSeconds *float64 `json:"frameCpuSeconds"` // of one frame, on average
	// that the shard leaves; of those taken over from an earlier attempt no time is told
	Frames  int    `json:"frames"`
	Pixels  *int64 `json:"pixels"`  // of a frame
	Samples *int64 `json:"samples"` // of a pixel
	Stated  bool   `json:"stated"`  // size or samples were the request's, and not the scene's own
}

func readMeasured(summary json.RawMessage) (found measured, err error) {
	if len(summary) == 0 {
		return found, nil
	}
	if err := json.Unmarshal(summary, &found); err != nil {
		return found, fmt.Errorf("read the summary: %w", err)
	}
	if found.Pixels != nil && (*found.Pixels < 1 || *found.Pixels > maxPixels) {
		found.Pixels = nil
	}
	if found.Samples != nil && (*found.Samples < 1 || *found.Samples > maxSamples) {
		found.Samples = nil
	}
	return found, nil
}

// usable reports whether a plan can be made with the measurement: a shard that rendered nothing itself has none.
func (m measured) usable() bool {
	believable := func(seconds *float64) bool { return seconds != nil && *seconds >= 0 && *seconds <= maxCPUSeconds }
	return m.Frames > 0 && believable(m.LoadCPUSeconds) && believable(m.FrameCPUSeconds) && *m.FrameCPUSeconds > 0
}

// sceneName is how a scene is known again: by its content, or by the stored object where nobody stated a digest.
func sceneName(scene engines.Object) string {
	if scene.SHA256 != "" {
		return "sha256:" + scene.SHA256
	}
	return fmt.Sprintf("key:%s:%d", scene.StorageKey, scene.ByteSize)
}
