package job

import (
	"testing"

	"pgregory.net/rapid"
)

func TestOnlyARetryLeavesATerminalState(t *testing.T) {
	for _, from := range Statuses {
		for _, to := range Statuses {
			if from.Terminal() && from.CanMove(to) {
				t.Errorf("job: %s → %s is legal, but %s is terminal", from, to, from)
			}
			if want := from.Terminal() && to == Submitted; from.CanRetry(to) != want {
				t.Errorf("job: a retry may go %s → %s: %v, want %v", from, to, !want, want)
			}
		}
	}
	for _, from := range TaskStatuses {
		for _, to := range TaskStatuses {
			if from.Terminal() && from.CanMove(to) {
				t.Errorf("task: %s → %s is legal, but %s is terminal", from, to, from)
			}
			if want := from.Terminal() && to == TaskPending; from.CanRetry(to) != want {
				t.Errorf("task: a retry may go %s → %s: %v, want %v", from, to, !want, want)
			}
		}
	}
}

func TestEveryOpenStateReachesATerminalOne(t *testing.T) {
	for _, from := range Statuses {
		if !from.Terminal() && !from.CanMove(Cancelled) {
			t.Errorf("job: %s cannot be cancelled", from)
		}
	}
	for _, from := range TaskStatuses {
		if !from.Terminal() && (!from.CanMove(TaskCancelled) || !from.CanMove(TaskFailed)) {
			t.Errorf("task: %s cannot be ended", from)
		}
	}
}

func TestRollup(t *testing.T) {
	two := func(c Counts) Snapshot { return Snapshot{Status: Running, StageCount: 2, All: c, Stage: c} }
	tests := []struct {
		name string
		in   Snapshot
		want Decision
	}{
		{"nothing dispatched", Snapshot{Status: Submitted, StageCount: 1, All: Counts{Pending: 3}, Stage: Counts{Pending: 3}},
			Decision{Status: Submitted}},
		{"first task queued", Snapshot{Status: Submitted, StageCount: 1, All: Counts{Pending: 2, Queued: 1},
			Stage: Counts{Pending: 2, Queued: 1}}, Decision{Status: Queued}},
		{"first task running", Snapshot{Status: Queued, StageCount: 1, Started: true, All: Counts{Pending: 2, Running: 1},
			Stage: Counts{Pending: 2, Running: 1}}, Decision{Status: Running}},
		{"a retry waits beside what it keeps", Snapshot{Status: Submitted, StageCount: 1,
			All: Counts{Pending: 1, Succeeded: 2, Failed: 1}, Stage: Counts{Pending: 1, Succeeded: 2, Failed: 1}},
			Decision{Status: Submitted}},
		{"a retry passes a stage that it keeps", Snapshot{Status: Running, StageIndex: 1, StageCount: 3,
			All: Counts{Pending: 1, Succeeded: 3}, Stage: Counts{Succeeded: 2}}, Decision{Status: Running, AdvanceStage: true}},
		{"a lost task does not take the job back", two(Counts{Pending: 1}), Decision{Status: Running}},
		{"stage ended", Snapshot{Status: Running, StageCount: 2, All: Counts{Pending: 4, Succeeded: 2},
			Stage: Counts{Succeeded: 2}}, Decision{Status: Running, AdvanceStage: true}},
		{"stage ended with some failures", Snapshot{Status: Running, StageCount: 2,
			All: Counts{Pending: 4, Succeeded: 1, Failed: 1}, Stage: Counts{Succeeded: 1, Failed: 1}},
			Decision{Status: Running, AdvanceStage: true}},
		{"stage failed whole", Snapshot{Status: Running, StageCount: 2, All: Counts{Pending: 4, Failed: 2},
			Stage: Counts{Failed: 2}}, Decision{Status: Running, CancelRest: true}},
		{"essential failed", Snapshot{Status: Running, StageCount: 2, All: Counts{Pending: 4, Running: 1, Failed: 1},
			Stage: Counts{Running: 1, Failed: 1}, EssentialFailed: true},
			Decision{Status: Running, CancelRest: true, StopRest: true}},
		{"essential failed, all ended", Snapshot{Status: Running, StageCount: 2, All: Counts{Cancelled: 4, Succeeded: 1, Failed: 1},
			Stage: Counts{Succeeded: 1, Failed: 1}, EssentialFailed: true}, Decision{Status: Failed}},
		{"overspent", Snapshot{Status: Running, StageCount: 2, All: Counts{Pending: 4, Running: 1, Succeeded: 1},
			Stage: Counts{Running: 1, Succeeded: 1}, Overspent: true}, Decision{Status: Running, CancelRest: true, StopRest: true}},
		{"overspent, rest cancelled", Snapshot{Status: Running, StageIndex: 1, StageCount: 2,
			All: Counts{Succeeded: 3, Cancelled: 1}, Stage: Counts{Succeeded: 2, Cancelled: 1}, Overspent: true},
			Decision{Status: Failed}},
		{"overspent with the last task", Snapshot{Status: Running, StageIndex: 1, StageCount: 2, All: Counts{Succeeded: 5},
			Stage: Counts{Succeeded: 3}, Overspent: true}, Decision{Status: Completed}},
		{"all succeeded", Snapshot{Status: Running, StageIndex: 1, StageCount: 2, All: Counts{Succeeded: 5},
			Stage: Counts{Succeeded: 3}}, Decision{Status: Completed}},
		{"some failed", Snapshot{Status: Running, StageIndex: 1, StageCount: 2, All: Counts{Succeeded: 5, Failed: 1},
			Stage: Counts{Succeeded: 1}}, Decision{Status: CompletedWithFailures}},
		{"items failed", Snapshot{Status: Running, StageIndex: 1, StageCount: 2, All: Counts{Succeeded: 5},
			Stage: Counts{Succeeded: 1}, ItemFailures: true}, Decision{Status: CompletedWithFailures}},
		{"cancelling waits for running tasks", Snapshot{Status: Cancelling, StageCount: 1, All: Counts{Running: 1, Cancelled: 3},
			Stage: Counts{Running: 1, Cancelled: 3}}, Decision{Status: Cancelling, StopRest: true}},
		{"cancelled", Snapshot{Status: Cancelling, StageCount: 1, All: Counts{Succeeded: 1, Cancelled: 3},
			Stage: Counts{Succeeded: 1, Cancelled: 3}}, Decision{Status: Cancelled}},
		{"a terminal job stays", Snapshot{Status: Cancelled, StageCount: 1, All: Counts{Succeeded: 1}},
			Decision{Status: Cancelled}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Rollup(test.in); got != test.want {
				t.Errorf("Rollup(%+v) = %+v, want %+v", test.in, got, test.want)
			}
		})
	}
}

// Any interleaving of legal task moves, with a cancel at any moment, ends in exactly one terminal job state through legal
// job moves, and so does every retry of any of the tasks that have ended.
func TestAnyHistoryEndsInOneTerminalState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHistory(t)
		for range rapid.IntRange(1, 3).Draw(t, "runs") {
			h.run(t)
			h.retry(t)
		}
		h.run(t)
	})
}

// run moves a job until it ends.
func (h *history) run(t *rapid.T) {
	for step := 0; !h.status.Terminal(); step++ {
		if step > 2000 {
			t.Fatalf("job never ended: %+v", h)
		}
		h.move(t)
		h.settle(t)
	}
	for i, s := range h.tasks {
		if !s.Terminal() {
			t.Fatalf("job ended as %s with task %d still %s", h.status, i, s)
		}
	}
}

// retry begins another run of any of the tasks, those of essential failures among them.
func (h *history) retry(t *rapid.T) {
	if !h.status.CanRetry(Submitted) {
		t.Fatalf("a job that ended as %s cannot be retried", h.status)
	}
	h.status, h.stage, h.started, h.failed = Submitted, h.stages[len(h.stages)-1], false, false
	again := rapid.IntRange(0, len(h.tasks)-1).Draw(t, "runs again for certain")
	for i, s := range h.tasks {
		if i == again || s == TaskFailed && h.essential[i] || rapid.Bool().Draw(t, "runs again") {
			h.tasks[i], h.starts[i] = TaskPending, 0
			h.stage = min(h.stage, h.stages[i])
		}
	}
	h.settle(t)
}

// history is a job with its tasks, driven at random.
type history struct {
	status    Status
	stage     int
	stages    []int // stage of each task
	tasks     []TaskStatus
	essential []bool
	starts    []int
	started   bool
	failed    bool
}

func newHistory(t *rapid.T) *history {
	h := &history{status: Submitted}
	for stage := range rapid.IntRange(1, 3).Draw(t, "stages") {
		for range rapid.IntRange(1, 4).Draw(t, "tasks") {
			h.stages = append(h.stages, stage)
			h.tasks = append(h.tasks, TaskPending)
			h.essential = append(h.essential, rapid.Bool().Draw(t, "essential"))
			h.starts = append(h.starts, 0)
		}
	}
	return h
}

// move makes one random legal move of a task that may run now, or cancels the job.
func (h *history) move(t *rapid.T) {
	if h.status != Cancelling && rapid.IntRange(0, 40).Draw(t, "cancel") == 0 {
		h.become(t, Cancelling)
		return
	}
	var movable []int
	for i, s := range h.tasks {
		if !s.Terminal() && h.stages[i] <= h.stage {
			movable = append(movable, i)
		}
	}
	if len(movable) == 0 {
		return
	}
	i := rapid.SampledFrom(movable).Draw(t, "task")
	to := rapid.SampledFrom(TaskStatuses).Draw(t, "to")
	if to == TaskCancelled && h.status != Cancelling || !h.tasks[i].CanMove(to) {
		return
	}
	if to == TaskPending {
		if h.starts[i]++; h.starts[i] > MaxRetries {
			to = TaskFailed
		}
	}
	h.tasks[i] = to
	h.started = h.started || to == TaskRunning || to == TaskSucceeded || to == TaskFailed
	h.failed = h.failed || to == TaskFailed && h.essential[i]
}

// settle applies the roll-up until it changes nothing.
func (h *history) settle(t *rapid.T) {
	for range 10 {
		d := Rollup(h.snapshot())
		changed := d.Status != h.status || d.AdvanceStage
		h.become(t, d.Status)
		if d.AdvanceStage {
			h.stage++
		}
		for i, s := range h.tasks {
			if d.CancelRest && s == TaskPending {
				h.tasks[i], changed = TaskCancelled, true
			}
		}
		if !changed {
			return
		}
	}
	t.Fatalf("roll-up does not come to rest: %+v", h)
}

func (h *history) become(t *rapid.T, to Status) {
	if to != h.status && !h.status.CanMove(to) {
		t.Fatalf("illegal job move %s → %s", h.status, to)
	}
	h.status = to
}

func (h *history) snapshot() Snapshot {
	s := Snapshot{Status: h.status, Started: h.started, StageIndex: h.stage, StageCount: h.stages[len(h.stages)-1] + 1,
		EssentialFailed: h.failed}
	for i, status := range h.tasks {
		s.All.Add(status, 1)
		if h.stages[i] == h.stage {
			s.Stage.Add(status, 1)
		}
	}
	return s
}
