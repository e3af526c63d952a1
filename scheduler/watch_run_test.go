package scheduler_test

import (
	"testing"

	"github.com/molfabric/molfabric/internal/queue"
)

// TestProgressIsToldUntilItIsStored: a heartbeat may come before the start that it tells of is recorded, and its worker may have
// nothing newer to say for hours.
func TestProgressIsToldUntilItIsStored(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.submit(b.account(), 1)
	order := b.dispatch(1)["receptor"]
	held := queue.Held{Ref: order.Ref(), JobID: order.JobID, Phase: queue.Running, Progress: 0.5, Message: "half way"}
	self := newClaim(t)
	held = held.Proven(order.Claim, self)
	beat := queue.Heartbeat{WorkerID: "wrk_1", Queues: []string{cpuQueue}, Slots: 1, Held: []queue.Held{held}}
	if _, err := b.queue.Beat(t.Context(), beat.Signed(self)); err != nil {
		t.Fatal(err)
	}
	told := func() string {
		if err := b.leader.Watch(t.Context()); err != nil {
			t.Fatal(err)
		}
		return b.column(`SELECT t.status || ' ' || t.progress || ' ' || coalesce(d.message, '') FROM tasks t LEFT
			JOIN task_details d ON d.task_id = t.id WHERE t.id = $1`, order.TaskID) +
			b.column(`SELECT ' ' || count(*) FROM job_events WHERE job_id = $1 AND kind = 'progress'`, order.JobID)
	}
	b.expect("before the start is recorded", told(), "QUEUED 0  0")
	if err := b.leader.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.expect("after it", told(), "RUNNING 0.5 half way 1")
	b.db.MustExec(`UPDATE tasks SET progress = 0.25`)
	b.expect("told once", told(), "RUNNING 0.25 half way 1")
}
