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

	"github.com/molfabric/molfabric/internal/id"
)

// inFlight submissions are on their way at once when the API is killed at a random instant.
const inFlight = 16

// crashPoint is a place in a submission at which the API can be held, to be killed there.
type crashPoint struct {
	name string
	// hold makes submissions wait at the place; release lets them go on, and is called when the API is dead.
	hold func(ctx context.Context, w *World, a *Account) (release func() error, err error)
	// then takes a submission that waits further, to a place that cannot be held from the start; it may be nil.
	then func(ctx context.Context, w *World, a *Account, name string) error
	// stored says that the submission is stored although its API dies without an answer.
	stored bool
}

// crashPoints are the places in the order in which a submission passes them.
func crashPoints() []crashPoint {
	table := func(name string) func(context.Context, *World, *Account) (func() error, error) {
		return func(ctx context.Context, w *World, _ *Account) (func() error, error) { return w.lockTable(ctx, name) }
	}
	points := []crashPoint{
		{name: "before it looks for the key", hold: table("idempotency_keys")},
		{name: "before it holds the money", hold: func(ctx context.Context, w *World, a *Account) (func() error, error) {
			return w.lockCredit(ctx, a.ID)
		}},
	}
	for _, name := range []string{"holds", "ledger_entries", "jobs", "tasks", "plan_blocks"} {
		points = append(points, crashPoint{name: "before it writes " + name, hold: table(name)})
	}
	return append(points,
		crashPoint{name: "in its commit", hold: func(ctx context.Context, w *World, _ *Account) (func() error, error) {
			return func() error { return w.holdCommits(context.WithoutCancel(ctx), false) }, w.holdCommits(ctx, true)
		}, stored: true},
		crashPoint{name: "between its commit and its answer", hold: table("plan_blocks"), then: pastCommit, stored: true})
}

// apiKilled is R2: the first API is killed at each place, and at random instants; the second one answers the repetitions.
func apiKilled(ctx context.Context, w *World, rng *rand.Rand) error {
	if err := w.Start(ctx, 2, 0, 0); err != nil { // without a scheduler nobody else waits for the locks
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	points, instants := crashPoints(), 3
	if w.Short {
		rng.Shuffle(len(points)-2, func(i, j int) { points[i], points[j] = points[j], points[i] })
		points, instants = points[len(points)-4:], 1
	}
	for _, point := range points {
		if err := w.crashAt(ctx, account, point); err != nil {
			return fmt.Errorf("killed %s: %w", point.name, err)
		}
	}
	for range instants {
		flight := w.undisturbed(ctx, account)
		if err := w.crashAmong(ctx, account, flight/10+time.Duration(rng.Int64N(int64(flight*8/10)))); err != nil {
			return err
		}
	}
	w.Figure("crash_points", float64(len(points)+instants))
	return w.Start(ctx, 0, 1, 1) // what was stored is run
}

// crashAt kills the API while it is held at a place, and repeats the submission.
func (w *World) crashAt(ctx context.Context, a *Account, point crashPoint) error {
	first := w.APIs()[0]
	key := id.New("key_")
	release, err := point.hold(ctx, w, a)
	if err != nil {
		return err
	}
	answered := make(chan sent, 1)
	go func() { answered <- a.submitOnce(ctx, first, key) }()
	err = w.Eventually(ctx, "the submission waits there", patience, func(ctx context.Context) (bool, error) {
		n, err := w.blocked(ctx)
		return n > 0, err
	})
	if err == nil && point.then != nil {
		w.RedisLine.Hold()
		err = errors.Join(release(), point.then(ctx, w, a, key))
		release = func() error { return nil }
	}
	err = errors.Join(err, first.Kill(), release())
	w.RedisLine.Mend()
	if err != nil {
		return err
	}
	lost := <-answered
	if lost.jobID != "" {
		return fmt.Errorf("it was answered with %s, although it was held", lost.jobID)
	}
	if err := first.Start(ctx); err != nil {
		return err
	}
	return w.repeat(ctx, a, key, "", point.stored)
}

// pastCommit waits until a submission is stored; its API then waits for Redis, which it tells of the job before it answers.
func pastCommit(ctx context.Context, w *World, a *Account, name string) error {
	return w.Eventually(ctx, "the submission is stored", patience, func(ctx context.Context) (bool, error) {
		jobs, err := w.jobsNamed(ctx, a.ID, name)
		return len(jobs) > 0, err
	})
}

// repeat sends a submission again to both APIs and expects one job of its key: want, unless that is "", and one that was there
// before when it must have been stored.
func (w *World) repeat(ctx context.Context, a *Account, key, want string, stored bool) error {
	before, err := w.jobsNamed(ctx, a.ID, key)
	if err != nil {
		return err
	}
	switch {
	case stored && len(before) != 1:
		return fmt.Errorf("after the crash there are %d jobs of the key, want the one that was committed", len(before))
	case len(before) == 1 && want == "":
		want = before[0]
	}
	for _, api := range []int{1, 0, 1} {
		again, err := a.submitAgain(ctx, w.APIs()[api], key)
		if err != nil {
			return err
		}
		if want == "" {
			want = again
		}
		if again != want {
			return fmt.Errorf("the key %s gave %s, and again %s", key, want, again)
		}
	}
	jobs, err := w.jobsNamed(ctx, a.ID, key)
	if err == nil && len(jobs) != 1 {
		err = fmt.Errorf("there are %d jobs of the key %s, want one", len(jobs), key)
	}
	return err
}

// fly sends many submissions at once to the first API; wait returns them when all have come back, one way or the other.
func (w *World) fly(ctx context.Context, a *Account) (wait func() []sent) {
	submissions := make([]sent, inFlight)
	var flying sync.WaitGroup
	for i := range submissions {
		flying.Go(func() { submissions[i] = a.submitOnce(ctx, w.APIs()[0], id.New("key_")) })
	}
	return func() []sent {
		flying.Wait()
		return submissions
	}
}

// undisturbed is how long it takes until many submissions are answered when nobody is killed.
func (w *World) undisturbed(ctx context.Context, a *Account) time.Duration {
	began := time.Now()
	w.fly(ctx, a)()
	return time.Since(began)
}

// crashAmong kills the API an instant after many submissions have been sent, and repeats all of them.
func (w *World) crashAmong(ctx context.Context, a *Account, after time.Duration) error {
	first := w.APIs()[0]
	wait := w.fly(ctx, a)
	<-time.After(after)
	if err := first.Kill(); err != nil {
		return err
	}
	submissions := wait()
	if err := first.Start(ctx); err != nil {
		return err
	}
	acknowledged := 0
	for _, s := range submissions {
		if s.jobID != "" {
			acknowledged++
		}
		if err := w.repeat(ctx, a, s.key, s.jobID, s.jobID != ""); err != nil {
			return fmt.Errorf("killed after %s: %w", after, err)
		}
	}
	w.Notef("killed after %s: %d of %d were acknowledged", after.Round(time.Millisecond), acknowledged, inFlight)
	return nil
}

// sent is a submission that was sent once. jobID is "" when no answer came.
type sent struct{ key, jobID string }

// submitOnce sends a job of one task, named after its key, and takes what comes.
func (a *Account) submitOnce(ctx context.Context, api *Process, key string) sent {
	answer, err := a.Send(ctx, api, http.MethodPost, "/v1/jobs/submit", a.Request(Probe{Name: key}), "Idempotency-Key", key)
	var receipt struct {
		JobID string `json:"jobId"`
	}
	if err != nil || answer.Status/100 != 2 || json.Unmarshal(answer.Body, &receipt) != nil {
		return sent{key: key}
	}
	return sent{key: key, jobID: receipt.JobID}
}

// submitAgain sends the same with a client's patience: what the dead API had begun may take a moment to be given up.
func (a *Account) submitAgain(ctx context.Context, api *Process, key string) (string, error) {
	c, err := a.At(api)
	if err != nil {
		return "", err
	}
	defer c.Close()
	receipt, err := c.Submit(ctx, a.Request(Probe{Name: key}), key)
	if err != nil {
		return "", fmt.Errorf("the same key again: %w", err)
	}
	return receipt.Body.JobID, nil
}
