package scheduler

import (
	"context"
	"slices"
	"sync"

	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// maxFaults is how many attempts of a job a worker may fail or be lost with: the next one is another's, while there is another.
	// One may be the program's, two may be chance.
	maxFaults = 3
	// maxAvoided bounds the workers that an order names. A job that fails on more of them is to blame itself.
	maxAvoided = 100
	// maxKeptWaiting is how many times in a row a task may be given back before any worker may have it.
	maxKeptWaiting = maxGivenBack * 2 / 3
	// lostCode says that a worker was lost with what it held.
	lostCode = "WORKER_LOST"
)

// blame counts an attempt that a worker failed, or was lost with, against the worker in the task's job.
func (s *Scheduler) blame(ctx context.Context, c *change, task TaskRow, workerID, code string) error {
	if workerID == "" {
		return nil
	}
	faults, err := c.tx.AddFault(ctx, task.JobID, workerID, code, c.now)
	if err != nil || faults != maxFaults {
		return err
	}
	c.then(func(context.Context) {
		s.Metrics.keptOff.WithLabelValues(task.Queue).Inc()
		s.Log.Warn("worker kept off a job while another serves it", "job", task.JobID, "worker", workerID, "failed", faults,
			"last_task", task.ID, "last_code", code)
	})
	return nil
}

// avoidance says which workers must not have the tasks of which jobs.
type avoidance map[string][]string

// withinReach leaves out the tasks whose jobs keep workers off and which those that may have them have no room for just now: in the
// queue they would only go round among the others. Everybody else goes first.
func (s *Scheduler) withinReach(
	ctx context.Context, c *change, queueName string, picked Candidates,
) (Candidates, avoidance, error) {
	faulty, err := c.tx.Faulty(ctx, picked.jobIDs(), maxFaults)
	if err != nil || len(faulty) == 0 {
		return picked, nil, err
	}
	avoid := avoidance{}
	for jobID, workers := range faulty {
		avoid[jobID] = s.fleet.avoidable(queueName, workers)
	}
	var reachable Candidates
	for _, task := range picked {
		avoided := avoid[task.JobID]
		if len(avoided) == 0 || task.GivenBack >= maxKeptWaiting || s.fleet.takePlace(queueName, task, avoided) {
			reachable = append(reachable, task)
		}
	}
	return reachable, avoid, nil
}

// of are the workers that must give a task back; none for one that has been given back too often.
func (a avoidance) of(task TaskRow) []string {
	if task.GivenBack >= maxKeptWaiting {
		return nil
	}
	return a[task.JobID]
}

// livingFleet is what the living workers said last, as the watch saw it, and what has been handed out since.
type livingFleet struct {
	mu      sync.Mutex
	workers []queue.Heartbeat
	taken   map[string]int      // places, by worker
	meant   map[string]string   // the worker whose place a task was given, by task
	full    map[string][]string // jobs that wait for a place on the workers that they do not avoid, by queue
}

// see takes the heartbeats of the workers that live.
func (f *livingFleet) see(living []queue.Heartbeat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workers, f.taken, f.meant, f.full = living, map[string]int{}, map[string]string{}, map[string][]string{}
	for _, hb := range living {
		for _, held := range hb.Held {
			if held.Phase != queue.Reporting {
				f.taken[hb.WorkerID]++
			}
		}
	}
}

// ended frees the place of an attempt that has just ended, or was given back by another worker: that need not show in a heartbeat
// first.
func (f *livingFleet) ended(event queue.Event) {
	if event.Kind == queue.Started || event.Kind == queue.Checkpointed {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	workerID := event.WorkerID
	if event.GivenBack {
		workerID = f.meant[event.Ref.TaskID]
	}
	if f.taken[workerID] > 0 {
		f.taken[workerID]--
		clear(f.full)
	}
}

// waitingFor are the jobs of a queue that found no place since the workers were last seen.
func (f *livingFleet) waitingFor(queueName string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.full[queueName])
}

// avoidable are those of the workers that live and can do without a queue's tasks: none when no other worker is there to have them.
func (f *livingFleet) avoidable(queueName string, workers []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var avoidable []string
	others := 0
	for _, hb := range f.workers {
		switch {
		case hb.Draining || !slices.Contains(hb.Queues, queueName):
		case slices.Contains(workers, hb.WorkerID):
			avoidable = append(avoidable, hb.WorkerID)
		default:
			others++
		}
	}
	if others == 0 || len(avoidable) > maxAvoided {
		return nil
	}
	return avoidable
}

// takePlace takes a free place of a worker that serves a queue and is not avoided, for a task. It reports whether there was one;
// otherwise the task's job waits for the next look at the workers. What a worker holds may need more than one place, and be told up
// to a heartbeat late: then the task waits in the queue, or comes back.
func (f *livingFleet) takePlace(queueName string, task Candidate, avoided []string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, hb := range f.workers {
		serves := !hb.Draining && slices.Contains(hb.Queues, queueName) && !slices.Contains(avoided, hb.WorkerID)
		if serves && f.taken[hb.WorkerID] < hb.SlotsOf(queueName) {
			f.taken[hb.WorkerID]++
			f.meant[task.TaskID] = hb.WorkerID
			return true
		}
	}
	if !slices.Contains(f.full[queueName], task.JobID) {
		f.full[queueName] = append(f.full[queueName], task.JobID)
	}
	return false
}
