package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/proc"
)

const (
	lostWorkers = 4
	// lostSlots of each worker are more than its tasks, so that the others have room for those of the lost one.
	lostSlots = 2
	// lostTaskSeconds is how long a task waits: longer than everything here takes.
	lostTaskSeconds = 3600
	// lostPairs suffice, and the control may differ by a half: the peer recovers after its lease of 30 s, another 30 s of grace,
	// the next of its rounds a minute apart and a random pause, so that its own times differ by that much, and the ratio is beyond
	// 20.
	lostPairs, lostControlRuns            = 3, 2
	lowestLostControl, highestLostControl = 0.5, 2.0
	lostPoll                              = 20 * time.Millisecond
	lostTimeout                           = 5 * time.Minute
	// leastLost is the goal: the peer's time by the fabric's.
	leastLost = 20.0
)

// lost is the workload B7: one of four workers is killed, and its task starts again elsewhere.
type lost struct {
	deployment      *deployment
	program, python string
	runs            int
}

// runFabric kills a worker with a task and returns the seconds until that task's next attempt has started.
func (w *lost) runFabric(ctx context.Context) (took float64, err error) {
	var workers []*role
	defer func() {
		for _, worker := range workers {
			err = errors.Join(err, killRole(ctx, worker))
		}
	}()
	for range lostWorkers {
		worker, err := w.deployment.startWorker(w.program, w.python, lostSlots)
		if err != nil {
			return 0, err
		}
		workers = append(workers, worker)
	}
	if err := w.deployment.awaitWorkers(ctx, lostWorkers); err != nil {
		return 0, err
	}
	jobID, err := w.deployment.submit(ctx, lostWorkers, lostTaskSeconds)
	if err != nil {
		return 0, err
	}
	defer func() {
		_, cancelErr := w.deployment.client.Cancel(ctx, jobID, "measured")
		err = errors.Join(err, cancelErr, w.awaitCancelled(ctx, jobID))
	}()
	var running []runningTask
	if err := poll(ctx, lostTimeout, lostPoll, func() (bool, error) {
		running, err = readRunning(ctx, w.deployment.db, jobID)
		return len(running) == lostWorkers, err
	}); err != nil {
		return 0, fmt.Errorf("start %d tasks: %w", lostWorkers, err)
	}
	pid, err := w.pidOf(ctx, running[0].WorkerID)
	if err != nil {
		return 0, err
	}
	killed := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return 0, err
	}
	return w.awaitRestart(ctx, running[0], killed)
}

// pidOf finds the process of a worker by its heartbeat.
func (w *lost) pidOf(ctx context.Context, workerID string) (int, error) {
	heartbeats, err := w.deployment.queue().Workers(ctx)
	if err != nil {
		return 0, err
	}
	for _, hb := range heartbeats {
		if hb.WorkerID == workerID {
			return hb.PID, nil
		}
	}
	return 0, fmt.Errorf("worker %s has no heartbeat", workerID)
}

// awaitRestart waits until another worker has reported the task's start.
func (w *lost) awaitRestart(ctx context.Context, task runningTask, killed time.Time) (float64, error) {
	err := poll(ctx, lostTimeout, lostPoll, func() (bool, error) {
		now, err := readRunning(ctx, w.deployment.db, task.JobID)
		return slices.ContainsFunc(now, func(r runningTask) bool { return r.ID == task.ID && r.Attempt > task.Attempt }), err
	})
	if err != nil {
		return 0, fmt.Errorf("task %s does not start again: %w", task.ID, err)
	}
	return time.Since(killed).Seconds(), nil
}

// awaitCancelled waits for the end of a job, so that no task of it is in the way of the next run.
func (w *lost) awaitCancelled(ctx context.Context, jobID string) error {
	return poll(ctx, lostTimeout, lostPoll, func() (bool, error) {
		open, _, err := countEnds(ctx, w.deployment.db, []string{jobID})
		return open == 0, err
	})
}

// stockFleet are four stock workers with a task each.
type stockFleet struct {
	order   peerOrder
	rdb     redis.UniversalClient
	workers []*role
	starts  []stockStart
}

// startStockTasks starts stock workers and waits until they have started their tasks. The caller kills them, also after an error.
func (w *lost) startStockTasks(ctx context.Context) (*stockFleet, error) {
	w.runs++
	f := &stockFleet{rdb: w.deployment.rdb, order: peerOrder{RedisURL: w.deployment.redis.URL(),
		Queue: fmt.Sprintf("lost-%d", w.runs), Started: fmt.Sprintf("bench:lost-%d", w.runs), Slots: lostSlots}}
	for range lostWorkers {
		worker, err := startStock(f.order)
		if err != nil {
			return f, err
		}
		f.workers = append(f.workers, worker)
	}
	client := asynq.NewClientFromRedisClient(f.rdb)
	for i := range lostWorkers {
		_, err := client.EnqueueContext(ctx, asynq.NewTask(peerTask, []byte(strconv.Itoa(i))), asynq.Queue(f.order.Queue),
			asynq.Timeout(lostTaskSeconds*time.Second))
		if err != nil {
			return f, err
		}
	}
	err := f.awaitStarts(ctx, lostWorkers)
	return f, err
}

// awaitStarts waits until the workers have started so many tasks in all.
func (f *stockFleet) awaitStarts(ctx context.Context, n int) error {
	err := poll(ctx, lostTimeout, lostPoll, func() (done bool, err error) {
		f.starts, err = stockStarts(ctx, f.rdb, f.order.Started)
		return len(f.starts) >= n, err
	})
	if err != nil {
		return fmt.Errorf("stock asynq has started %d of %d tasks: %w", len(f.starts), n, err)
	}
	return nil
}

func (f *stockFleet) kill(ctx context.Context) error {
	var err error
	for _, worker := range f.workers {
		err = errors.Join(err, killRole(ctx, worker))
	}
	return err
}

// killRole ends a process as a crash does.
func killRole(ctx context.Context, r *role) error {
	if err := proc.Stop(context.WithoutCancel(ctx), r.pid, r.exited, syscall.SIGKILL, stopGrace); err != nil {
		return fmt.Errorf("kill process %d: %w", r.pid, err)
	}
	return nil
}

// runPeer does the same to stock asynq.
func (w *lost) runPeer(ctx context.Context) (took float64, err error) {
	f, err := w.startStockTasks(ctx)
	defer func() { err = errors.Join(err, f.kill(ctx)) }()
	if err != nil {
		return 0, err
	}
	killed := time.Now()
	if err := syscall.Kill(f.starts[0].pid, syscall.SIGKILL); err != nil {
		return 0, err
	}
	if err := f.awaitStarts(ctx, lostWorkers+1); err != nil {
		return 0, err
	}
	return f.starts[lostWorkers].at.Sub(killed).Seconds(), nil
}

func (o Options) measureLost(ctx context.Context, d *deployment) ([]Result, error) {
	w := &lost{deployment: d, program: o.Program, python: o.Python}
	result := Result{
		ID: "B7", Name: "lost worker", Peer: "stock asynq, four processes",
		Workload: fmt.Sprintf("one of %d workers with a task each is killed with SIGKILL; from there to the start of its task "+
			"elsewhere", lostWorkers),
		Goal: "≥ 20", MeasuredAt: time.Now().UTC(),
	}
	var err error
	if result.Comparison, err = compareBy(ctx, "s", rules{pairs: lostPairs, controlRuns: lostControlRuns, lowest: lowestLostControl,
		highest: highestLostControl}, w.runFabric, w.runPeer, o.told("B7")); err != nil {
		return nil, err
	}
	c := result.Comparison
	result.Met = c.Median >= leastLost
	result.Figures = map[string]float64{"restartSeconds": median(c.Ours), "peerRestartSeconds": median(c.Peer)}
	result.Notes = []string{fmt.Sprintf("%d pairs, and a control that may be %g to %g: the peer waits for a lease of 30 s, 30 s "+
		"more, the next of its rounds a minute apart and a random pause, so its own times differ that much", lostPairs,
		lowestLostControl, highestLostControl)}
	return []Result{result}, nil
}
