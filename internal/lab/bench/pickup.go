package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
)

const (
	pickupTasks = 10
	// pickupPause lies between two tasks, pickupSettle before the first: so long does a worker that has just started need to become
	// idle.
	pickupPause  = 3 * time.Second
	pickupSettle = 1500 * time.Millisecond
	// The control may differ by a half: stock asynq sleeps for half a second to one and a half, by chance, and the ratio is beyond
	// 20.
	lowestPickupControl  = 0.5
	highestPickupControl = 2.0
	// leastPickup is the goal: the peer's p50 by the fabric's.
	leastPickup   = 20
	pickupTimeout = time.Minute
)

// pickup is the workload B6: now and then a task for workers that have nothing to do.
type pickup struct {
	deployment *deployment
	tasks      int
	runs       int
}

// atIntervals calls send for every task of a run.
func (w *pickup) atIntervals(ctx context.Context, send func(i int) error) error {
	began := time.Now()
	for i := range w.tasks {
		timer := time.NewTimer(time.Until(began.Add(pickupSettle + time.Duration(i)*pickupPause)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		if err := send(i); err != nil {
			return err
		}
	}
	return nil
}

// runFabric returns the median of the seconds from a job's acceptance to the start of its program.
func (w *pickup) runFabric(ctx context.Context) (float64, error) {
	var jobs []string
	err := w.atIntervals(ctx, func(int) error {
		jobID, err := w.deployment.submit(ctx, 1, 0)
		jobs = append(jobs, jobID)
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := w.deployment.awaitEnd(ctx, jobs...); err != nil {
		return 0, err
	}
	waits, err := readPickups(ctx, w.deployment.db, jobs)
	if err != nil {
		return 0, err
	}
	return median(waits), nil
}

// runPeer returns the same of a stock asynq server: from just before a task is stored to its handler.
func (w *pickup) runPeer(ctx context.Context) (float64, error) {
	w.runs++
	queueName := fmt.Sprintf("pickup-%d", w.runs)
	started := make(chan int64, w.tasks) // Unix nanoseconds, in the order of the tasks: each ends before the next comes
	server, err := stockServer(w.deployment.rdb, queueName, 1, func(context.Context, []byte) error {
		started <- time.Now().UnixNano()
		return nil
	})
	if err != nil {
		return 0, err
	}
	defer server.Shutdown()
	client := asynq.NewClientFromRedisClient(w.deployment.rdb)
	var waits []float64
	err = w.atIntervals(ctx, func(i int) error {
		began := time.Now()
		if _, err := client.EnqueueContext(ctx, asynq.NewTask(peerTask, []byte(strconv.Itoa(i))),
			asynq.Queue(queueName)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pickupTimeout):
			return errors.New("stock asynq does not start a task")
		case at := <-started:
			waits = append(waits, time.Unix(0, at).Sub(began).Seconds())
			return nil
		}
	})
	if err != nil {
		return 0, err
	}
	return median(waits), nil
}

func (o Options) measurePickup(ctx context.Context, d *deployment) ([]Result, error) {
	w := &pickup{deployment: d, tasks: pickupTasks}
	result := Result{
		ID: "B6", Name: "idle pickup", Peer: "stock asynq, one server",
		Workload: fmt.Sprintf("%d tasks, one every 3 s, for one idle worker; p50 from before the job's commit to the start of "+
			"its program", w.tasks),
		Goal: "≥ 20", MeasuredAt: time.Now().UTC(),
	}
	if _, err := d.startWorker(o.Program, o.Python, 1); err != nil {
		return nil, err
	}
	if err := d.awaitWorkers(ctx, 1); err != nil {
		return nil, err
	}
	by := usualRules(o.Pairs)
	by.lowest, by.highest = lowestPickupControl, highestPickupControl
	var err error
	if result.Comparison, err = compareBy(ctx, "s of p50", by, w.runFabric, w.runPeer, o.told("B6")); err != nil {
		return nil, err
	}
	c := result.Comparison
	result.Met = c.Median >= leastPickup
	result.Figures = map[string]float64{"p50Ms": 1000 * median(c.Ours), "peerP50Ms": 1000 * median(c.Peer)}
	result.Notes = []string{"the fabric's time holds the transaction that accepts the job, its dispatch, the claim and the " +
		"making of the task's directory; asynq's the hand-over to Redis and the claim",
		fmt.Sprintf("the control may be %g to %g: stock asynq sleeps for a time by chance", lowestPickupControl,
			highestPickupControl)}
	return []Result{result}, nil
}
