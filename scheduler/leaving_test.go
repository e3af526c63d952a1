package scheduler_test

import (
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// TestATaskForWhichWorkersHaveNoTimeWaits: however often it is handed back for that, it counts for nothing, each time it is left
// alone for ten seconds, and the first worker that stays completes it.
func TestATaskForWhichWorkersHaveNoTimeWaits(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	jobID := b.submit(b.account(), 1)
	const times = 40 // more than a task may be given back in a row
	for i := range times {
		order := b.dispatch(1)["receptor"]
		if i == 0 && order.ExpectedSeconds != 60 {
			t.Errorf("the order expects %g s, want its plan's 60", order.ExpectedSeconds)
		}
		if err := b.leader.Collect(t.Context()); err != nil { // its hand says that it starts
			t.Fatal(err)
		}
		b.db.MustExec(`UPDATE tasks SET status = 'QUEUED' WHERE id = $1`, order.TaskID)
		before := time.Now()
		back := failure(engines.System)
		back.GivenBack, back.Failure.Code, back.Usage = true, queue.LeavesSoon, queue.Usage{}
		b.say(order, *back)
		var row struct {
			Status        job.TaskStatus
			Interruptions int
			GivenBack     int       `db:"given_back"`
			NotBefore     time.Time `db:"not_before"`
		}
		if err := b.db.Get(&row, `SELECT status, interruptions, given_back, not_before FROM tasks WHERE id = $1`,
			order.TaskID); err != nil {
			t.Fatal(err)
		}
		if pause := row.NotBefore.Sub(before); row.Status != job.TaskPending || row.Interruptions != 0 || row.GivenBack != 0 ||
			pause < 9*time.Second || pause > 10*time.Second+deadline {
			t.Fatalf("handed back %d times: %+v, a pause of %s; want it to wait for 10 s uncounted", i+1, row, pause)
		}
		if n := b.count(`SELECT count(*) FROM task_attempts WHERE task_id = $1`, order.TaskID); n != 0 {
			t.Fatalf("%d attempts are recorded, want none", n)
		}
		if err := b.leader.Dispatch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := b.count(`SELECT count(*) FROM tasks WHERE job_id = $1 AND status = 'QUEUED'`, jobID); n != 0 {
			t.Fatal("it was handed out again within its pause")
		}
		b.db.MustExec(`UPDATE tasks SET not_before = NULL WHERE id = $1`, order.TaskID)
	}
	for range 3 { // prepare, dock, rank
		for _, order := range b.dispatch(1) {
			b.say(order, *success(order))
		}
	}
	b.awaitStatus(jobID, job.Completed)
}
