package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	chargeTasks = 5000
	// chargeConnections charge at once in the peer; they wait for one row.
	chargeConnections = 8
	// chargeCPU is what each task has used: twice what the probe is expected to, so that every charge is above nothing and the job
	// stays far from its limit.
	chargeCPU = 40 * time.Millisecond
	// reportBatch of the events go to Redis in one message, as a worker sends what it has.
	reportBatch   = 500
	chargePoll    = 5 * time.Millisecond
	chargeTimeout = 5 * time.Minute
	// leastCharges is the goal: the peer's time by the fabric's.
	leastCharges = 10
)

// charging is the workload B8: many charges on one account.
type charging struct {
	deployment *deployment
	customer   *customer
	tasks      int
	drift      int64 // micropence, of all jobs so far
}

// chargeFabric lets a job's tasks be dispatched, and returns the seconds from the report of their ends to the commit of the job's.
func (w *charging) chargeFabric(ctx context.Context) (float64, error) {
	q := w.deployment.queue()
	fake, err := announce(ctx, q, w.tasks/windowFactor)
	if err != nil {
		return 0, err
	}
	jobID, err := w.customer.submit(ctx, w.tasks, 0)
	if err != nil {
		return 0, errors.Join(err, fake.silence(ctx))
	}
	var refs []queue.Ref
	err = poll(ctx, chargeTimeout, chargePoll*10, func() (bool, error) {
		refs, err = readQueued(ctx, w.deployment.db, jobID)
		return len(refs) == w.tasks, err
	})
	if err != nil {
		return 0, errors.Join(fmt.Errorf("dispatch %d tasks: %w", w.tasks, err), fake.silence(ctx))
	}
	claims, err := claim(ctx, q, refs)
	if err != nil {
		return 0, errors.Join(err, fake.silence(ctx))
	}
	began := time.Now()
	if err := report(ctx, q, fake.id, jobID, claims); err != nil {
		return 0, errors.Join(err, fake.silence(ctx))
	}
	err = poll(ctx, chargeTimeout, chargePoll, func() (bool, error) {
		open, failed, err := countEnds(ctx, w.deployment.db, []string{jobID})
		if failed > 0 {
			return false, errors.Join(err, fmt.Errorf("job %s has not succeeded", jobID))
		}
		return open == 0, err
	})
	took := time.Since(began).Seconds()
	if err := errors.Join(err, fake.silence(ctx)); err != nil {
		return 0, err
	}
	return took, w.audit(ctx, jobID)
}

// claimed is an attempt with the secret that its report is proven with.
type claimed struct {
	queue.Ref
	claim queue.Claim
}

// claim takes the secrets of attempts out of Redis, as their worker does when it claims them. They may come a moment after the
// database says that their tasks wait.
func claim(ctx context.Context, q *queue.Queue, refs []queue.Ref) ([]claimed, error) {
	attempts := make([]claimed, 0, len(refs))
	for _, ref := range refs {
		var secret queue.Claim
		err := poll(ctx, chargeTimeout, chargePoll, func() (bool, error) {
			var err error
			secret, _, err = q.TakeClaim(ctx, probeQueue, ref)
			return !secret.IsZero(), err
		})
		if err != nil {
			return nil, fmt.Errorf("claim %s: %w", ref, err)
		}
		attempts = append(attempts, claimed{ref, secret})
	}
	return attempts, nil
}

// report sends the successes of attempts as their worker does.
func report(ctx context.Context, q *queue.Queue, workerID, jobID string, attempts []claimed) error {
	for len(attempts) > 0 {
		var events []queue.Event
		for _, a := range attempts[:min(reportBatch, len(attempts))] {
			now := time.Now().UTC()
			events = append(events, queue.Event{
				ID: id.New("evt_"), Kind: queue.Succeeded, Ref: a.Ref, JobID: jobID, WorkerID: workerID, Engine: probe.ID, At: now,
				Result: &queue.Result{Summary: json.RawMessage(`{}`), Programs: map[string]string{"sh": "POSIX"}},
				Usage: queue.Usage{CPUMicroseconds: chargeCPU.Microseconds(), WallMs: chargeCPU.Milliseconds(), StartedAt: now,
					FinishedAt: now},
				Claim: a.claim,
			})
		}
		if _, err := q.Report(ctx, events); err != nil {
			return err
		}
		attempts = attempts[len(events):]
	}
	return nil
}

// audit wants every attempt to be charged once, the job's bill to be their sum and the ledger to hold together.
func (w *charging) audit(ctx context.Context, jobID string) error {
	found, err := readCharges(ctx, w.deployment.db, jobID)
	if err != nil {
		return err
	}
	w.drift += found.AccruedMicropence - found.SumMicropence
	if found.Charged != w.tasks || found.Violations > 0 {
		return fmt.Errorf("job %s: %d of %d tasks are charged, %d violations in the ledger", jobID, found.Charged, w.tasks,
			found.Violations)
	}
	return nil
}

// chargePeer charges as often, each time with the account's row locked, and returns the seconds that it took.
func (w *charging) chargePeer(ctx context.Context) (float64, error) {
	if err := makeChargeTables(ctx, w.deployment.db); err != nil {
		return 0, err
	}
	began := time.Now()
	workers, chargeCtx := errgroup.WithContext(ctx)
	for i := range chargeConnections {
		workers.Go(func() error {
			for n := i; n < w.tasks; n += chargeConnections {
				if err := chargeOnce(chargeCtx, w.deployment.db, 1); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return 0, err
	}
	return time.Since(began).Seconds(), nil
}

func (o Options) measureCharges(ctx context.Context, d *deployment) ([]Result, error) {
	tasks := chargeTasks
	result := Result{
		ID: "B8", Name: "hot account", Peer: fmt.Sprintf("a transaction a charge that locks the account by SELECT … FOR UPDATE, "+
			"on %d connections", chargeConnections),
		Workload: fmt.Sprintf("%d charges on one account: from the reports of the tasks' ends to the commit of the job's", tasks),
		Goal:     "≥ 10, drift 0", MeasuredAt: time.Now().UTC(),
	}
	customer, err := d.newCustomer(ctx)
	if err != nil {
		return nil, err
	}
	w := &charging{deployment: d, customer: customer, tasks: tasks}
	if _, err := w.chargeFabric(ctx); err != nil {
		return nil, err
	}
	if result.Comparison, err = compare(ctx, fmt.Sprintf("s of %d charges", tasks), o.Pairs, w.chargeFabric, w.chargePeer,
		o.told("B8")); err != nil {
		return nil, err
	}
	result.Met = result.Comparison.Median >= leastCharges && w.drift == 0
	result.Figures = map[string]float64{
		"chargesPerSecond":     float64(tasks) / median(result.Comparison.Ours),
		"peerChargesPerSecond": float64(tasks) / median(result.Comparison.Peer),
		"driftMicropence":      float64(w.drift),
	}
	result.Notes = []string{"with every charge the fabric stores the task's end, its result and what it used; the account's own " +
		"row is written once a job",
		"after every job each attempt has one charge, the job's bill is their sum and the audit of the ledger finds nothing"}
	return []Result{result}, nil
}
