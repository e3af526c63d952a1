package chaos

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// largeTasks and smallTasks are what the two tenants ask for.
	largeTasks, smallTasks = 10_000, 10
	// fairFactor is how much longer a small tenant may wait beside a large one than alone.
	fairFactor = 2
	// smallJobs is how many jobs of the small tenant are measured each way, in the whole form and in the short one.
	smallJobs, shortSmallJobs = 10, 3
	// taskSeconds and shortTaskSeconds are how long a task takes: long beside its start, so that waits are made of other tasks.
	taskSeconds, shortTaskSeconds = 1, 0.4
	// percentile is the share of waits that the bound is about.
	percentile = 0.95
)

// besideACrowd is R18: it measures a small tenant's waits, alone and beside a large one.
func besideACrowd(ctx context.Context, w *World, _ *rand.Rand) error {
	if err := w.Start(ctx, 1, 1, 2); err != nil {
		return err
	}
	large, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	small, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	idle, err := w.smallWaits(ctx, small)
	if err != nil {
		return err
	}
	crowd, err := w.crowd(ctx, large)
	if err != nil {
		return err
	}
	beside, err := w.smallWaits(ctx, small)
	if err != nil {
		return err
	}
	if _, err := large.Client.Cancel(ctx, crowd, "measured"); err != nil {
		return err
	}
	return w.fair(quantile(idle, percentile), quantile(beside, percentile))
}

// crowd submits the large tenant's job and returns when it fills the workers and their queue.
func (w *World) crowd(ctx context.Context, large *Account) (jobID string, err error) {
	began := time.Now()
	jobID, err = large.Submit(ctx, w.jobOf("large", largeTasks), "")
	if err != nil {
		return "", err
	}
	w.Figure("large_submit_seconds", time.Since(began).Seconds())
	slots := 2 * len(w.Workers())
	return jobID, w.Eventually(ctx, "the large job fills the workers", patience, func(ctx context.Context) (bool, error) {
		n, err := tasksInFlight(ctx, w.db, jobID)
		return n >= 2*slots, err
	})
}

// jobOf is a tenant's job.
func (w *World) jobOf(name string, tasks int) Probe {
	if w.Short {
		return Probe{Name: name, Tasks: tasks, Seconds: shortTaskSeconds}
	}
	return Probe{Name: name, Tasks: tasks, Seconds: taskSeconds}
}

// smallWaits runs the small tenant's jobs, one after the other, and returns how long each task waited from the submission to its
// start, in seconds.
func (w *World) smallWaits(ctx context.Context, small *Account) (all []float64, err error) {
	jobs := smallJobs
	if w.Short {
		jobs = shortSmallJobs
	}
	for range jobs {
		jobID, err := small.Submit(ctx, w.jobOf("small", smallTasks), "")
		if err != nil {
			return nil, err
		}
		if err := w.AwaitCompleted(ctx, jobID); err != nil {
			return nil, err
		}
		waited, err := waits(ctx, w.db, jobID)
		if err != nil {
			return nil, err
		}
		if len(waited) != smallTasks {
			return nil, fmt.Errorf("%d of %d tasks have a start", len(waited), smallTasks)
		}
		all = append(all, waited...)
	}
	return all, nil
}

// quantile is the smallest of the values that the given share of them does not pass (nearest rank).
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(share*float64(len(sorted))))-1, 0)]
}

// fair compares the waits, in seconds.
func (w *World) fair(idle, beside float64) error {
	w.Figure("idle_p95_seconds", idle)
	w.Figure("beside_p95_seconds", beside)
	w.Figure("ratio", beside/idle)
	if bound := fairFactor * w.Bound(time.Second).Seconds() * idle; beside > bound {
		return fmt.Errorf("the small tenant's tasks wait %.2f s (p95) beside the large one's, and %.2f s alone; at most %.2f s "+
			"is fair", beside, idle, bound)
	}
	return nil
}
