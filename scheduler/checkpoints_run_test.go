package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
	"github.com/molfabric/molfabric/scheduler"
)

// digit is a digest that tells versions apart.
func digit(version int) string { return fmt.Sprintf("%064x", version) }

// saving is the report of checkpoints that an attempt has stored, in one version.
func saving(order queue.WorkOrder, version int, names ...string) queue.Event {
	event := queue.Event{Kind: queue.Checkpointed}
	for _, name := range names {
		event.Checkpoints = append(event.Checkpoints, queue.StoredArtifact{
			Artifact: engines.Artifact{Name: "checkpoint/" + name, Role: engines.RoleCheckpoint},
			Object: engines.Object{StorageKey: fmt.Sprintf("%scheckpoint/%06d/%s", order.OutputPrefix, version, name),
				SHA256: digit(version), ByteSize: int64(version)}})
	}
	return event
}

// bureau is a leader one step at a time, with the only worker.
type bureau struct {
	*fabric
	leader  *scheduler.Leader
	worker  *hand
	claimed chan queue.WorkOrder
}

func newBureau(t *testing.T, change ...func(*scheduler.Deps)) *bureau {
	t.Helper()
	rdb, _, prefix := redistest.New(t)
	b := &bureau{fabric: newFabric(t, rdb, prefix, change...), claimed: make(chan queue.WorkOrder, 100)}
	b.leader = scheduler.NewLeader(b.Scheduler, "alone")
	b.worker = b.hire(4, func(order queue.WorkOrder) *queue.Event { b.claimed <- order; return nil })
	t.Cleanup(b.worker.kill)
	return b
}

// dispatch returns the next n orders, as their worker gets them, by the names of their shards.
func (b *bureau) dispatch(n int) map[string]queue.WorkOrder {
	b.t.Helper()
	if err := b.leader.Dispatch(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	orders := map[string]queue.WorkOrder{}
	for range n {
		order := <-b.claimed
		orders[order.Shard.Name] = order
	}
	return orders
}

// say reports an event and has everything collected that is in the stream.
func (b *bureau) say(order queue.WorkOrder, event queue.Event) {
	b.t.Helper()
	event.ID, event.Ref, event.JobID, event.WorkerID, event.Engine = id.New("evt_"), order.Ref(), order.JobID, "wrk_1", order.Engine
	event.Claim = order.Claim
	if _, err := b.queue.Report(context.Background(), []queue.Event{event}); err != nil {
		b.t.Fatal(err)
	}
	if err := b.leader.Collect(context.Background()); err != nil {
		b.t.Fatal(err)
	}
}

// interrupted ends an attempt by the fabric's fault and returns the task's next.
func (b *bureau) interrupted(order queue.WorkOrder) queue.WorkOrder {
	b.t.Helper()
	b.say(order, *failure(engines.System))
	b.db.MustExec(`UPDATE tasks SET not_before = NULL`) // its back-off
	next := b.dispatch(1)[order.Shard.Name]
	if next.Attempt != order.Attempt+1 {
		b.t.Fatalf("got %s, want the next attempt of %s", next.Ref(), order.Ref())
	}
	return next
}

// rows are a task's checkpoints: name, version and attempt.
func (b *bureau) rows(order queue.WorkOrder) string {
	return b.column(`SELECT substr(name, 12) || ':' || byte_size || ':' || attempt FROM task_checkpoints WHERE task_id = $1
		ORDER BY name COLLATE "C"`, order.TaskID)
}

// resumed are what an order resumes from: name and version.
func resumed(order queue.WorkOrder) string {
	var out []string
	for _, input := range order.Inputs {
		if input.Resume {
			out = append(out, fmt.Sprintf("%s:%d", input.Name, input.Object.ByteSize))
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (b *bureau) expect(what, got, want string) {
	b.t.Helper()
	if got != want {
		b.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestNextAttemptGetsTheCheckpointsOfThoseBefore(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	jobID := b.submit(b.account(), 1)
	prepare := b.dispatch(1)["receptor"]
	b.say(prepare, *success(prepare))
	dock := b.dispatch(1)["dock-000"]
	b.expect("the first attempt resumes", resumed(dock), "")

	b.say(dock, saving(dock, 1, "a", "deep/b"))
	b.say(dock, saving(dock, 2, "a"))
	b.say(dock, saving(dock, 2, "a")) // told again
	b.expect("rows", b.rows(dock), "a:2:1 deep/b:1:1")
	second := b.interrupted(dock)
	b.expect("the second attempt resumes", resumed(second), "resume/a:2 resume/deep/b:1")
	if inputs := second.Inputs; len(inputs) != 3 || inputs[0].Name != "receptor" || inputs[0].Resume {
		t.Errorf("inputs %+v, want its receptor and two checkpoints", inputs)
	}
	for _, input := range second.Inputs {
		if input.Resume && (!strings.HasPrefix(input.Object.StorageKey, dock.OutputPrefix) ||
			input.Object.SHA256 != digit(int(input.Object.ByteSize))) {
			t.Errorf("resumes from %+v, which the first attempt did not store", input.Object)
		}
	}

	b.say(dock, saving(dock, 9, "a", "late")) // the zombie speaks
	b.expect("rows after a late report", b.rows(dock), "a:2:1 deep/b:1:1")
	b.say(second, saving(second, 3, "c", "a"))
	b.expect("rows of two attempts", b.rows(dock), "a:3:2 c:3:2 deep/b:1:1")
	foreign := saving(second, 4, "good", "bad")
	foreign.Checkpoints[1].StorageKey = strings.Replace(foreign.Checkpoints[1].StorageKey, "/2/", "/1/", 1)
	b.say(second, foreign)
	b.expect("rows after a file of another attempt", b.rows(dock), "a:3:2 c:3:2 deep/b:1:1 good:4:2")
	if n := b.count(`SELECT count(*) FROM tasks WHERE id = $1 AND status IN ('QUEUED', 'RUNNING') AND attempt = 2`,
		dock.TaskID); n != 1 {
		t.Error("a bad checkpoint ended its attempt")
	}
	third := b.interrupted(second)
	b.expect("the third attempt resumes", resumed(third), "resume/a:3 resume/c:3 resume/deep/b:1 resume/good:4")

	b.say(third, *success(third))
	b.expect("rows after the success", b.rows(dock), "")
	b.say(third, saving(third, 5, "a"))
	b.expect("rows after a report that came too late", b.rows(dock), "")
	rank := b.dispatch(1)["rank"]
	b.expect("the ranking resumes", resumed(rank), "")
	b.say(rank, *success(rank))
	b.awaitStatus(jobID, job.Completed)
	if n := b.count(`SELECT count(*) FROM artifacts WHERE role = 'checkpoint'`); n != 0 {
		t.Errorf("%d checkpoints are outputs", n)
	}
	b.audit()
}

func TestCheckpointsOfATaskAreBounded(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	b.submit(b.account(), 1)
	prepare := b.dispatch(1)["receptor"]
	names := make([]string, queue.MaxCheckpoints-1)
	for i := range names {
		names[i] = fmt.Sprintf("n%04d", i)
	}
	b.say(prepare, saving(prepare, 1, names...))
	b.say(prepare, saving(prepare, 2, "x", "y", "n0000", "z"))
	got := b.column(`SELECT count(*) || ' ' || string_agg(substr(name, 12), ' ' ORDER BY name) FILTER (WHERE byte_size = 2)
		FROM task_checkpoints`)
	b.expect("kept", got, fmt.Sprintf("%d n0000 x", queue.MaxCheckpoints))
	next := b.interrupted(prepare)
	if n := len(next.Inputs); n != 1+queue.MaxCheckpoints {
		t.Errorf("%d inputs of the next attempt, want the scene and %d checkpoints", n, queue.MaxCheckpoints)
	}
}

// A retry of what failed goes on from what it had saved, one of all starts anew, and neither resumes from what was saved of
// other inputs.
func TestRetryAndCheckpoints(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scope      scheduler.RetryScope
		dock, rank string // what they resume from
	}{
		{scheduler.RetryFailed, "resume/a:1", ""},
		{scheduler.RetryAll, "", ""},
	} {
		t.Run(string(test.scope), func(t *testing.T) {
			t.Parallel()
			b := newBureau(t)
			accountID := b.account()
			jobID := b.submit(accountID, 2)
			prepare := b.dispatch(1)["receptor"]
			b.say(prepare, *success(prepare))
			docks := b.dispatch(2)
			failing, other := docks["dock-000"], docks["dock-001"]
			b.say(failing, saving(failing, 1, "a"))
			b.say(failing, *failure(engines.License))
			b.say(other, *success(other))
			rank := b.dispatch(1)["rank"]
			b.say(rank, saving(rank, 1, "of-one"))
			b.say(rank, *failure(engines.License))
			b.awaitStatus(jobID, job.Failed)
			b.expect("the failed tasks keep", b.rows(failing)+" "+b.rows(rank), "a:1:1 of-one:1:1")

			b.retry(accountID, jobID, test.scope, 2)
			if test.scope == scheduler.RetryAll {
				prepare = b.dispatch(1)["receptor"]
				b.say(prepare, *success(prepare))
				docks = b.dispatch(2)
				other = docks["dock-001"]
				b.say(other, *success(other))
			} else {
				docks = b.dispatch(1)
			}
			failing = docks["dock-000"]
			b.expect("the search resumes", resumed(failing), test.dock)
			b.say(failing, *success(failing))
			rank = b.dispatch(1)["rank"]
			b.expect("the ranking resumes", resumed(rank), test.rank)
			b.say(rank, *success(rank))
			b.awaitStatus(jobID, job.Completed)
			if n := b.count(`SELECT count(*) FROM task_checkpoints`); n != 0 {
				t.Errorf("%d checkpoints are left", n)
			}
			b.audit()
		})
	}
}

func TestCancelledTaskKeepsItsCheckpoints(t *testing.T) {
	t.Parallel()
	b := newBureau(t)
	accountID := b.account()
	jobID := b.submit(accountID, 1)
	prepare := b.dispatch(1)["receptor"]
	if _, err := b.Cancel(context.Background(), accountID, jobID, ""); err != nil {
		t.Fatal(err)
	}
	b.say(prepare, saving(prepare, 1, "last"))
	b.say(prepare, queue.Event{Kind: queue.Cancelled})
	b.awaitStatus(jobID, job.Cancelled)
	b.retry(accountID, jobID, scheduler.RetryFailed, 2)
	b.expect("the retry resumes", resumed(b.dispatch(1)["receptor"]), "resume/last:1")
}
