package sim

import (
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// mostOverrun is how many times what is set aside for a run it may use: the promise of doc/decisions/0050-limits-of-use.md.
	mostOverrun = 10
	// leastPaid is for how long a task may keep its cores busy however little of that is left.
	leastPaid = time.Minute
)

// allowance is what a job's current run may use yet.
func allowance(owner jobState) billing.Micropence {
	return mostOverrun*billing.FromPence(owner.HeldPence-owner.SettledPence) - billing.Micropence(owner.AccruedMicropence) +
		billing.FromPence(owner.SettledPence)
}

const (
	// useSlack and useLag are how much an attempt is believed to have used: so many times its elapsed time on its one core,
	// and that of so much more.
	useSlack = 2
	useLag   = 30 * time.Second
	// mostSkew is how far the clocks of two leaders may be apart.
	mostSkew = 2 * maxSkewMs * time.Millisecond
)

// liveUse is the price of what the running tasks of a job can have used, of what is said of them: give is added to their
// time.
func (h *history) liveUse(jobID string, runs []*run, give time.Duration) billing.Micropence {
	sum, told := billing.Micropence(0), map[queue.Ref]int64{}
	for _, r := range runs {
		told[r.Ref()] = max(told[r.Ref()], r.told)
	}
	for _, id := range h.memory.jobs[jobID].TaskIDs {
		task := h.memory.tasks[id]
		if task.Status != job.TaskRunning {
			continue
		}
		most := useSlack * max(h.clock.Sub(task.StartedAt)+useLag+give, 0).Microseconds()
		sum += h.meter(h.memory.jobs[jobID], task, queue.Usage{CPUMicroseconds: min(told[task.ref()], most)})
	}
	return sum
}

// believed is what can be of what was said of an attempt, at a time: what its cores and devices can have done since it was handed
// out.
func believed(t taskState, queuedAt, at time.Time, said queue.Usage) queue.Usage {
	elapsed := min(max(at.Sub(queuedAt), 0), t.shard.Needs.TimeLimit)
	most := useSlack * (elapsed + useLag).Microseconds()
	said.CPUMicroseconds = min(said.CPUMicroseconds, most)
	said.GPUMicroseconds = min(said.GPUMicroseconds, int64(t.shard.Needs.GPUs)*most)
	return said
}

// observeKept holds whoever keeps an attempt's work to what its workers said, as far as that can be.
func (h *history) observeKept(t taskState, used queue.Usage, at time.Time) {
	ref := t.ref()
	h.seen.saves[ref] = append(h.seen.saves[ref], used)
	for _, r := range h.runs[ref] {
		for _, said := range r.kept {
			if believed(t, t.QueuedAt.Time, at, said) == used {
				return
			}
		}
	}
	h.violate("%d CPU-microseconds are kept of %s: nobody said so, or it cannot be", used.CPUMicroseconds, ref)
}

// observeStopped holds the brake to its other promise: nobody's word alone stops a job. What its tasks can have used does.
func (h *history) observeStopped(before, after jobState) {
	if before.Overspent || !after.Overspent {
		return
	}
	if can, may := h.liveUse(after.ID, h.order, mostSkew), allowance(after); can <= may {
		h.violate("job %s was stopped for its use: its running tasks can have used %d micropence, and it may use %d", after.ID, can,
			may)
	}
}

// observeBrake holds the watch to its promise: when it has looked, no job goes on whose tasks are known to have used more than it
// may, those that run included.
func (h *history) observeBrake() {
	known := map[string][]*run{}
	for _, r := range h.busy() {
		if task := h.memory.tasks[r.TaskID]; task.WorkerID.String == r.worker.id && len(h.runs[r.Ref()]) == 1 {
			known[r.JobID] = append(known[r.JobID], r)
		}
	}
	for id, runs := range known {
		price := h.liveUse(id, runs, -mostSkew)
		if owner := h.memory.jobs[id]; !owner.Stopping && !owner.Status.Terminal() && price > allowance(owner) {
			h.violate("job %s goes on: its running tasks have used %d micropence, and it may use %d", id, price, allowance(owner))
		}
	}
}

// observePaid holds the dispatch to its promise: an attempt may use what its job's money buys, or a minute of its cores, and no
// more.
func (h *history) observePaid(order queue.WorkOrder) {
	owner, known := h.memory.jobs[order.JobID]
	task := h.memory.tasks[order.TaskID]
	if !known || owner.Status.Terminal() || task.ref() != order.Ref() || task.Status != job.TaskQueued &&
		task.Status != job.TaskRunning {
		return // an order that has outlived its job, or the run that it was part of
	}
	may := order.Paid.CPUMicroseconds
	if order.Paid == (queue.Use{}) { // nothing but the time limit holds it back
		may = int64(cores(order)) * order.Shard.Needs.TimeLimit.Microseconds()
	}
	if may <= int64(cores(order))*leastPaid.Microseconds() {
		return
	}
	price := h.meter(owner, task, queue.Usage{CPUMicroseconds: may})
	if most := mostOverrun * billing.FromPence(owner.HeldPence-owner.SettledPence); price > most {
		h.violate("task %s may use %d CPU-microseconds, which cost %d micropence, and its job may use %d", order.TaskID, may, price,
			most)
	}
}

func cores(order queue.WorkOrder) int {
	return max(order.Shard.Needs.CPUs, 1) + order.Shard.Needs.MoreCPUs
}
