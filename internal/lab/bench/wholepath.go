package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

const (
	wholePathTasks = 20_000
	// wholePathJobs share them: a probe has at most 19,999.
	wholePathJobs = 2
	// wholePathWorkers of each arm are in this process, each with connections of its own.
	wholePathWorkers = 4
	// wholePathSlots keep a few hundred tasks of each worker on their way, so that neither arm waits for a single one.
	wholePathSlots = 128
	// leastWholePath is the goal: the peer's time by the fabric's.
	leastWholePath = 0.7
	wholePathPoll  = 10 * time.Millisecond
	wholePathLimit = 10 * time.Minute
)

// wholePath is the workload B2: tasks that do nothing, so that what is left is the fabric.
type wholePath struct {
	deployment *deployment
	tasks      int
	runs       int

	cpu, peerCPU []float64 // microseconds a task, of each run
	parts        map[string][]float64
}

// memoryDisk is a file system in memory, where there is one.
const memoryDisk = "/dev/shm"

// hire starts the workers, with their scratch directories in memory: a task that does nothing is not to wait for a disk.
func (w *wholePath) hire(ctx context.Context, workers, slots int) (dismiss func() error, err error) {
	var f *fleet
	scratch, noMemory := os.MkdirTemp(memoryDisk, "molfabric-bench-")
	if noMemory != nil {
		f, err = w.deployment.hire(ctx, workers, slots)
	} else {
		f, err = hire(ctx, fleetOptions{Workers: workers, Slots: slots, RedisURL: w.deployment.redis.URL(), Scratch: scratch,
			Log: slog.New(slog.DiscardHandler)})
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	return func() error { return errors.Join(f.dismiss(), os.RemoveAll(scratch)) }, nil
}

// runFabric submits the jobs and returns the seconds until the last has ended, its bill included.
func (w *wholePath) runFabric(ctx context.Context) (float64, error) {
	before, err := w.deployment.used(ctx)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	var jobs []string
	for range wholePathJobs {
		jobID, err := w.deployment.submit(ctx, w.tasks/wholePathJobs, 0)
		if err != nil {
			return 0, err
		}
		jobs = append(jobs, jobID)
	}
	err = poll(ctx, wholePathLimit, wholePathPoll, func() (bool, error) {
		open, failed, err := countEnds(ctx, w.deployment.db, jobs)
		if failed > 0 {
			return false, errors.Join(err, fmt.Errorf("%d of %d jobs have not succeeded", failed, len(jobs)))
		}
		return open == 0, err
	})
	took := time.Since(began).Seconds()
	if err != nil {
		return 0, err
	}
	after, err := w.deployment.used(ctx)
	if err != nil {
		return 0, err
	}
	spent := after.since(before)
	var all time.Duration
	for part, cpu := range spent.CPU {
		w.parts[part] = append(w.parts[part], w.each(cpu))
		all += cpu
	}
	w.cpu = append(w.cpu, w.each(all))
	return took, nil
}

// each is a task's part, in microseconds.
func (w *wholePath) each(cpu time.Duration) float64 {
	return float64(cpu.Microseconds()) / float64(w.tasks)
}

// runPeer hands as many tasks to bare asynq and returns the seconds until the last has been handled.
func (w *wholePath) runPeer(ctx context.Context) (float64, error) {
	w.runs++
	queueName := fmt.Sprintf("peer-%d", w.runs)
	servers, err := startCounting(w.deployment.redis.URL(), queueName, wholePathWorkers, wholePathSlots)
	if err != nil {
		return 0, err
	}
	before, err := w.deployment.used(ctx)
	if err != nil {
		return 0, errors.Join(err, servers.stop())
	}
	began := time.Now()
	err = servers.process(ctx, w.deployment.rdb, queueName, w.tasks)
	took := time.Since(began).Seconds()
	after, usedErr := w.deployment.used(ctx)
	if err := errors.Join(err, usedErr, servers.stop()); err != nil {
		return 0, err
	}
	spent := after.since(before)
	w.peerCPU = append(w.peerCPU, w.each(spent.CPU[partRedis]+spent.CPU[partFleet]))
	return took, nil
}

func (o Options) measureWholePath(ctx context.Context, d *deployment) (results []Result, err error) {
	w := &wholePath{deployment: d, tasks: wholePathTasks, parts: map[string][]float64{}}
	result := Result{
		ID: "B2", Name: "whole path", Peer: fmt.Sprintf("bare asynq: %d servers with %d slots each, the same Redis",
			wholePathWorkers, wholePathSlots),
		Workload: fmt.Sprintf("%d tasks that do nothing, %d jobs, from the submission to the bill; %d workers with %d slots each",
			w.tasks, wholePathJobs, wholePathWorkers, wholePathSlots),
		Goal: "≥ 0.7", MeasuredAt: time.Now().UTC(),
	}
	dismiss, err := w.hire(ctx, wholePathWorkers, wholePathSlots)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dismiss()) }()
	for _, warmUp := range []Arm{w.runFabric, w.runPeer} {
		if _, err := warmUp(ctx); err != nil {
			return nil, err
		}
	}
	w.cpu, w.peerCPU, w.parts = nil, nil, map[string][]float64{}
	if result.Comparison, err = compare(ctx, fmt.Sprintf("s of %d tasks", w.tasks), o.Pairs, w.runFabric, w.runPeer,
		o.told("B2")); err != nil {
		return nil, err
	}
	c := result.Comparison
	result.Met = c.Median >= leastWholePath
	result.Figures = map[string]float64{
		"tasksPerSecond": float64(w.tasks) / median(c.Ours), "peerTasksPerSecond": float64(w.tasks) / median(c.Peer),
		"cpuMicrosecondsATask": median(w.cpu), "peerCPUMicrosecondsATask": median(w.peerCPU),
	}
	for part, cpu := range w.parts {
		result.Figures["cpuMicrosecondsATask/"+part] = median(cpu)
	}
	result.Notes = []string{"the fabric's tasks go through the API, Postgres with fsync, the queue, a whole worker with its " +
		"scratch directory, and metering into the bill; asynq's go through Redis, and what has been acknowledged may be lost " +
		"with it"}
	return []Result{result}, nil
}
