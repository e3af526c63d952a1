package scheduler

import (
	"context"
	"encoding/json"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

// Whoever has claimed an attempt says what it uses, and may lie: a job could be stopped, and charged, for use that nobody
// can have had. So a job is stopped only for what its attempts can have used on the cores and devices of their plan, in the
// time since they were started; and it is charged only for what they can have used since they were handed out.

const (
	// useSlack is how many times that is believed: where no control group holds a task to its cores, it may keep more of them
	// busy.
	useSlack = 2
	// useLag is added to that time: a start is noted when its report is committed, by another clock perhaps.
	useLag = 30 * time.Second
)

// Running is an attempt that runs: since when, and on how many cores and devices it may.
type Running struct {
	Since      time.Time
	CPUs, GPUs int
	Limit      time.Duration // of its time; 0 for none
}

// runningOn is an attempt that has been started on what its shard may take.
func runningOn(since time.Time, needs engines.Resources) Running {
	return Running{Since: since, CPUs: max(needs.CPUs, 1) + needs.MoreCPUs, GPUs: needs.GPUs}
}

// most is the most that the attempt can have used until now.
func (r Running) most(now time.Time) queue.Use {
	elapsed := max(now.Sub(r.Since), 0)
	if r.Limit > 0 {
		elapsed = min(elapsed, r.Limit)
	}
	micros := useSlack * (elapsed + useLag).Microseconds()
	return queue.Use{CPUMicroseconds: int64(r.CPUs) * micros, GPUMicroseconds: int64(r.GPUs) * micros}
}

// plausible cuts what running tasks are said to have used down to what they can have used, and tells of each attempt once.
func (s *Scheduler) plausible(ctx context.Context, w *watch, said []spending) ([]spending, error) {
	tasks := make([]TaskRow, len(said))
	for i, r := range said {
		tasks[i] = r.task
	}
	running, err := s.store.Running(ctx, tasks)
	if err != nil {
		return nil, err
	}
	now, believed := s.Now(), make([]spending, len(said))
	for i, r := range said {
		believed[i] = r
		ref := queue.Ref{TaskID: r.task.ID, Attempt: r.task.Attempt}
		known, found := running[ref]
		if !found { // it has just ended, or its plan cannot be read any more
			continue
		}
		most := known.most(now)
		believed[i].used = queue.Use{CPUMicroseconds: min(r.used.CPUMicroseconds, most.CPUMicroseconds),
			GPUMicroseconds: min(r.used.GPUMicroseconds, most.GPUMicroseconds)}
		if believed[i].used != r.used && !w.doubted[ref] {
			w.doubted[ref] = true
			s.Metrics.doubted.Inc()
			s.Log.Warn("cut what an attempt is said to use: it cannot have used that since it was started",
				"job", r.task.JobID, "task", r.task.ID, "attempt", r.task.Attempt, "worker", r.task.WorkerID.String, "said", r.used,
				"most", most)
		}
	}
	return believed, nil
}

// leastOutputBytes is what any attempt is believed to have stored, without a look at its plan.
const leastOutputBytes = 1 << 20

// doubts are the attempts of a batch of reports that may say too much, and what their plans let them use.
type doubts map[queue.Ref]engines.Resources

// doubt finds the attempts that are said to have used more than one core, no device and a little room, and reads their plans.
func (s *Scheduler) doubt(ctx context.Context, c *change, deliveries []queue.Delivery) error {
	c.doubts = doubts{}
	var tasks []TaskRow
	for i := range deliveries {
		event := deliveries[i].Event
		if c.jobs[event.JobID] == nil || !nameable(event) {
			continue
		}
		task, err := c.tx.ReadTask(ctx, event.JobID, event.Ref.TaskID)
		if err != nil {
			return err
		}
		if task == nil || task.Attempt != event.Ref.Attempt || !task.QueuedAt.Valid {
			continue
		}
		least := runningOn(task.QueuedAt.Time, engines.Resources{}).most(c.now)
		if used := event.Usage; used.CPUMicroseconds > least.CPUMicroseconds || used.GPUMicroseconds > 0 ||
			used.BytesOut > leastOutputBytes {
			tasks = append(tasks, *task)
		}
	}
	if len(tasks) == 0 {
		return nil
	}
	if err := c.tx.ReadShards(ctx, tasks); err != nil {
		return err
	}
	for _, task := range tasks {
		var shard engines.Shard
		if json.Unmarshal(task.Shard, &shard) == nil {
			c.doubts[queue.Ref{TaskID: task.ID, Attempt: task.Attempt}] = shard.Needs
		}
	}
	return nil
}

// believe cuts what a report says that its attempt has used down to what it can have used since it was handed out: when it was
// started is another report's word, which may have been late. The time that it may take bounds that, and its scratch what it
// stored.
func (s *Scheduler) believe(c *change, task TaskRow, event queue.Event) queue.Usage {
	needs, doubted := c.doubts[event.Ref]
	if !doubted {
		return event.Usage
	}
	running := runningOn(task.QueuedAt.Time, needs)
	running.Limit = needs.TimeLimit
	most, used := running.most(c.now), event.Usage
	used.CPUMicroseconds = min(used.CPUMicroseconds, most.CPUMicroseconds)
	used.GPUMicroseconds = min(used.GPUMicroseconds, most.GPUMicroseconds)
	used.BytesOut = min(used.BytesOut, needs.ScratchBytes+needs.MaxLogBytes+logSlackBytes)
	if used != event.Usage {
		c.then(func(context.Context) {
			s.Metrics.doubted.Inc()
			s.Log.Warn("cut what a report says that its attempt has used: it cannot have used that since it was handed out",
				"job", task.JobID, "task", task.ID, "attempt", task.Attempt, "worker", event.WorkerID, "kind", event.Kind,
				"said", event.Usage, "believed", used)
		})
	}
	return used
}
