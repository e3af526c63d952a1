package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// TestFramesOfATask: a file that shows a frame keeps its number, and a task says how much it works on.
func TestFramesOfATask(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	jobID := b.submit(b.account(), 2)
	prepare := b.dispatch(1)["receptor"]
	event := success(prepare)
	for _, frame := range []int64{7, -5, 0} {
		file := event.Result.Artifacts[0]
		file.Name, file.Role, file.Frame = fmt.Sprintf("frame_%04d.png", frame), engines.RoleFrame, &frame
		file.StorageKey = prepare.OutputPrefix + file.Name
		event.Result.Artifacts = append(event.Result.Artifacts, file)
	}
	b.say(prepare, *event)
	b.expect("frames", b.column(`SELECT name || ':' || coalesce(frame::text, 'none') FROM artifacts WHERE job_id = $1
		ORDER BY frame NULLS FIRST`, jobID),
		"out:none frame_-005.png:-5 frame_0000.png:0 frame_0007.png:7")
	b.expect("items", b.column(`SELECT sum(items) FILTER (WHERE status = 'SUCCEEDED') || ' of ' || sum(items) FROM tasks
		WHERE job_id = $1`, jobID), "1 of 4")
}
