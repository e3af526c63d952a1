package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
)

// racing lists the rows in which two callers want different things of one job.
func racing() []Test {
	return []Test{{ID: "R10", Fault: "cancel races completion, 500 times", Short: true, Run: cancelRaces,
		Passes: "one terminal state; the charge is the metered use"}}
}

const (
	// raceSeconds is what the task of a race waits.
	raceSeconds = 0.2
	// racesAtOnce keep the workers busy without a queue: a task that waits long is cancelled before it starts.
	racesAtOnce = 4
)

// cancelRaces is R10: jobs of one task are cancelled about when they complete.
func cancelRaces(ctx context.Context, w *World, rng *rand.Rand) error {
	races := 500
	if w.Short {
		races = 50
	}
	if err := w.Start(ctx, 2, 1, 2); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	usual, err := w.usualRun(ctx, account)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	ends, failures, center := map[job.Status]int{}, []error(nil), usual.Seconds()
	spreads := make(chan float64)
	var racers sync.WaitGroup
	for i := range racesAtOnce {
		api := w.APIs()[i%2]
		racers.Go(func() {
			for spread := range spreads {
				mu.Lock()
				moment := center * spread
				mu.Unlock()
				status, err := w.race(ctx, account, api, time.Duration(moment*float64(time.Second)))
				mu.Lock()
				ends[status]++
				failures = append(failures, err)
				center *= correction(status)
				mu.Unlock()
			}
		})
	}
	for range races {
		spreads <- 0.85 + 0.3*rng.Float64()
	}
	close(spreads)
	racers.Wait()
	if err := w.noteCloseRaces(ctx); err != nil {
		return err
	}
	w.Figure("usual_run_seconds", usual.Seconds())
	w.Figure("completed_jobs", float64(ends[job.Completed]))
	w.Figure("cancelled_jobs", float64(ends[job.Cancelled]))
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if ends[job.Completed] == 0 || ends[job.Cancelled] == 0 {
		return fmt.Errorf("the ends are %v: one side has won every race, so none was close", ends)
	}
	return nil
}

// correction moves the middle of the moments at which jobs are cancelled towards where both sides win.
func correction(ended job.Status) float64 {
	if ended == job.Completed {
		return 0.97
	}
	return 1.03
}

// usualRun is how long a job of a race takes that nobody cancels.
func (w *World) usualRun(ctx context.Context, a *Account) (usual time.Duration, err error) {
	const tries = 5
	for range tries {
		began := time.Now()
		jobID, err := a.Submit(ctx, Probe{Seconds: raceSeconds}, "")
		if err == nil {
			err = w.AwaitCompleted(ctx, jobID)
		}
		if err != nil {
			return 0, err
		}
		usual += time.Since(began) / tries
	}
	return usual, nil
}

// race submits a job, cancels it after a while, and expects that its end is what the canceller was told.
func (w *World) race(ctx context.Context, a *Account, api *Process, after time.Duration) (job.Status, error) {
	jobID, err := a.Submit(ctx, Probe{Seconds: raceSeconds}, "")
	if err != nil {
		return "", err
	}
	select {
	case <-time.After(after):
	case <-ctx.Done():
	}
	answer, err := a.Send(ctx, api, http.MethodPost, "/v1/jobs/"+jobID+"/cancel", []byte("{}"))
	if err != nil {
		return "", fmt.Errorf("cancel %s: %w", jobID, err)
	}
	var said struct {
		Code fault.Code `json:"code"`
	}
	if err := json.Unmarshal(answer.Body, &said); err != nil {
		return "", fmt.Errorf("cancel %s: %d %s: %w", jobID, answer.Status, answer.Body, err)
	}
	want := job.Cancelled
	switch {
	case answer.Status == http.StatusConflict && said.Code == fault.JobNotCancellable:
		want = job.Completed
	case answer.Status/100 != 2:
		return "", fmt.Errorf("cancel %s: %d %s", jobID, answer.Status, answer.Body)
	}
	status, err := w.Await(ctx, jobID)
	if err == nil && status != want {
		err = fmt.Errorf("job %s ended as %s, and its canceller was told %d %s", jobID, status, answer.Status, said.Code)
	}
	return status, err
}
