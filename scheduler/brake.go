package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// maxOverrun is how many times its hold a run may use before it is stopped. A job is never charged more than its hold, and
	// expectations are guesses: what they were wrong by is the fabric's to bear, up to here.
	maxOverrun = 10
	// leastPaidTime is for how long a task may keep its cores and devices busy however little of that is left: less would end it
	// while it starts.
	leastPaidTime = time.Minute
)

// overspent tells whether the current run has used more than the fabric gives away, or is being stopped for it.
func (r *JobRow) overspent() bool { return r.Overspent || r.overspentWith(0) }

// overspentWith tells whether it has with what its running tasks have used until now.
func (r *JobRow) overspentWith(live billing.Micropence) bool { return r.unspent() < live }

// unspent is what the current run may use yet before it is stopped; negative once it has used more.
func (r *JobRow) unspent() billing.Micropence {
	used, holdPence := r.runMoney()
	if holdPence > billing.MaxPence/maxOverrun { // which no sum of tasks comes to
		holdPence = billing.MaxPence / maxOverrun
	}
	return maxOverrun*billing.FromPence(holdPence) - used
}

// paidUse is what an attempt of a shard may use of what its job's hold pays for, maxOverrun times over; zero where the shard cannot
// use as much within its time limit. Workers that nobody hears from would let a program run on to that limit.
func (s *Scheduler) paidUse(owner *JobRow, task TaskRow, shard engines.Shard) queue.Use {
	cores, devices := int64(max(shard.Needs.CPUs, 1)+shard.Needs.MoreCPUs), int64(shard.Needs.GPUs)
	paid := queue.Use{
		CPUMicroseconds: s.bought(owner, task, queue.Use{CPUMicroseconds: cores * leastPaidTime.Microseconds()}),
		GPUMicroseconds: s.bought(owner, task, queue.Use{GPUMicroseconds: devices * leastPaidTime.Microseconds()}),
	}
	most := queue.Use{CPUMicroseconds: cores * shard.Needs.TimeLimit.Microseconds(),
		GPUMicroseconds: devices * shard.Needs.TimeLimit.Microseconds()}
	if !most.Beyond(paid) {
		return queue.Use{}
	}
	return paid
}

// bought is how much of one thing what the run may use yet pays for, in microseconds, and no less than least asks for; 0 where it
// costs nothing.
func (s *Scheduler) bought(owner *JobRow, task TaskRow, least queue.Use) int64 {
	amount := max(least.CPUMicroseconds, least.GPUMicroseconds)
	price, err := s.priceOf(owner, task, least)
	if err != nil || price == 0 { // what is not for sale any more is settled when it ends
		return 0
	}
	times := float64(max(owner.unspent(), 0)) / float64(price)
	return int64(math.Min(math.Max(times, 1)*float64(amount), math.MaxInt64/2))
}

// priceOf prices what a running attempt of a task has used.
func (s *Scheduler) priceOf(owner *JobRow, task TaskRow, used queue.Use) (billing.Micropence, error) {
	return s.meter(owner, task, queue.Usage{CPUMicroseconds: used.CPUMicroseconds, GPUMicroseconds: used.GPUMicroseconds})
}

// spending is a running task and what its worker says that it has used.
type spending struct {
	task TaskRow
	used queue.Use
}

// brake stops the jobs that have used more than the fabric gives away, what their running tasks have used until now included. What
// only ended tasks had reported would let the first of them run on.
func (s *Scheduler) brake(ctx context.Context, w *watch, inFlight []TaskRow) error {
	jobs := w.spending(inFlight)
	if len(jobs) == 0 {
		return nil
	}
	owners, err := s.store.Spenders(ctx, sortedKeys(jobs))
	if err != nil {
		return err
	}
	var errs []error
	for i := range owners {
		owner, running := &owners[i], jobs[owners[i].ID]
		if !owner.overspentWith(s.liveUse(owner, running)) {
			continue
		}
		believed, err := s.plausible(ctx, w, running)
		if err == nil {
			jobs[owner.ID] = believed // what was cut is news in the next round again: it may have become true
			err = s.stopSpender(ctx, owner.ID, believed)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("weigh what %s uses: %w", owner.ID, err))
		}
	}
	if len(errs) == 0 {
		for _, running := range jobs {
			for _, r := range running {
				w.weighed[queue.Ref{TaskID: r.task.ID, Attempt: r.task.Attempt}] = r.used
			}
		}
	}
	return errors.Join(errs...)
}

// liveUse is the price of what the running tasks of a job have used until now. What has left the price book counts nothing, and a
// figure beyond all prices as the highest: one such task must not let its whole job run on.
func (s *Scheduler) liveUse(owner *JobRow, running []spending) billing.Micropence {
	sum := billing.Micropence(0)
	for _, r := range running {
		price, err := s.priceOf(owner, r.task, r.used)
		switch {
		case fault.Is(err, fault.UnsupportedSimulator):
			continue
		case err != nil:
			price = billing.FromPence(billing.MaxTaskPence)
		}
		sum += price
	}
	return sum
}

// stopSpender looks again under the job's lock, where tasks that have ended meanwhile are in what it has accrued, and stops it.
func (s *Scheduler) stopSpender(ctx context.Context, jobID string, running []spending) error {
	return s.change(ctx, []string{jobID}, func(c *change) error {
		owner := c.jobs[jobID]
		if owner == nil || owner.Status.Terminal() || owner.Stopping {
			return nil
		}
		var still []spending
		for _, r := range running {
			task, err := c.tx.ReadTask(ctx, jobID, r.task.ID)
			if err != nil {
				return err
			}
			if task != nil && task.Attempt == r.task.Attempt && task.Status == job.TaskRunning {
				still = append(still, r)
			}
		}
		live := s.liveUse(owner, still)
		if !owner.overspentWith(live) {
			return nil
		}
		owner.Overspent = true
		c.then(func(context.Context) {
			s.Log.Warn("job stopped for what it uses", "job", jobID, "run", owner.Run,
				"running_pence", live.CeilPence(), "held_pence", owner.HeldPence)
		})
		return nil
	})
}

// spending is, by job, what its running tasks have used, of the jobs of which there is news. Of two workers that tell of an attempt
// the one that it was started on is believed, as long as it lives.
func (w *watch) spending(inFlight []TaskRow) map[string][]spending {
	jobs, news := map[string][]spending{}, map[string]bool{}
	for _, task := range inFlight {
		ref := queue.Ref{TaskID: task.ID, Attempt: task.Attempt}
		held := w.held[ref]
		if held == nil || task.Status != job.TaskRunning || held.Used == (queue.Use{}) || task.Witness == nil {
			// also where nobody can prove what he says: the release before handed such attempts out, and its workers say nothing
			continue
		}
		if _, heard := w.seen[task.WorkerID.String]; heard && held.workerID != task.WorkerID.String {
			continue
		}
		jobs[task.JobID] = append(jobs[task.JobID], spending{task, held.Used})
		news[task.JobID] = news[task.JobID] || w.weighed[ref] != held.Used
	}
	for jobID := range jobs {
		if !news[jobID] {
			delete(jobs, jobID)
		}
	}
	return jobs
}
