package sim

import (
	"math"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// mostOverrun is how many times what is set aside for a run it may use: the promise of doc/decisions/0050-limits-of-use.md.
	mostOverrun = 10
	// leastLimit is what a task may run for however little of that is left.
	leastLimit = time.Minute
)

// allowance is what a job's current run may use yet.
func allowance(owner jobState) billing.Micropence {
	return mostOverrun*billing.FromPence(owner.HeldPence-owner.SettledPence) - billing.Micropence(owner.AccruedMicropence) + billing.FromPence(owner.SettledPence)
}

// observeBrake holds the watch to its promise: when it has looked, no job goes on whose tasks are known to have used more than it
// may, those that run included.
func (h *history) observeBrake() {
	live := map[string]billing.Micropence{}
	for _, r := range h.busy() {
		task, known := h.memory.tasks[r.TaskID]
		if known && task.Attempt == r.Attempt && task.Status == job.TaskRunning && task.WorkerID.String == r.worker.id && len(h.runs[r.Ref()]) == 1 {
			live[r.JobID] += h.meter(h.memory.jobs[r.JobID], task, queue.Usage{CPUMicroseconds: r.told})
		}
	}
	for id, price := range live {
		if owner := h.memory.jobs[id]; !owner.Stopping && !owner.Status.Terminal() && price > allowance(owner) {
			h.violate("job %s goes on: its running tasks have used %d micropence, and it may use %d", id, price, allowance(owner))
		}
	}
}

// observeLimit holds the dispatch to its promise: a task's time ends where its job's money does.
func (h *history) observeLimit(order queue.WorkOrder) {
	owner, known := h.memory.jobs[order.JobID]
	if !known || owner.Status.Terminal() {
		return // an order that has outlived its job
	}
	task := h.memory.tasks[order.TaskID]
	hours := order.Shard.Needs.TimeLimit.Hours()
	hour := h.meter(owner, task, queue.Usage{CPUMicroseconds: time.Hour.Microseconds(), GPUMicroseconds: int64(order.Shard.Needs.GPUs) * time.Hour.Microseconds()})
	most := float64(mostOverrun * billing.FromPence(owner.HeldPence-owner.SettledPence))
	second := float64(hour) / time.Hour.Seconds()
	if order.Shard.Needs.TimeLimit > leastLimit && math.Floor(hours*float64(hour)) > most+second {
		h.violate("task %s may run %s, which costs %.0f micropence, and its job may use %.0f", order.TaskID, order.Shard.Needs.TimeLimit, hours*float64(hour), most)
	}
}
