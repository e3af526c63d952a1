package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// storeFaults lists the rows in which a store loses its data, goes away or is stopped hard.
func storeFaults() []Test {
	return []Test{
		{ID: "R3", Fault: "FLUSHALL on Redis, three times in a job", Short: true, Run: redisFlushed,
			Passes: "nothing lost; work goes on within 10 s"},
		{ID: "R4", Fault: "Redis away for 60 s", Short: true, Run: redisAway,
			Passes: "submit is accepted or a clean 503; the backlog drains afterwards"},
		{ID: "R5", Fault: "Postgres stopped hard (immediate) in a job", Short: true, Run: postgresStopped,
			Passes: "no acknowledged write lost; results delivered again"},
	}
}

const (
	// onWithin is how soon work goes on after Redis has lost its data.
	onWithin = 10 * time.Second
	// submitEvery is the pause between two submissions while a store is away.
	submitEvery = 200 * time.Millisecond
	// answeredWithin bounds an answer while Redis is away, dead or silent: nothing that a submission needs lies there.
	answeredWithin = 5 * time.Second
)

// redisFlushed is R3: Redis loses everything, at random moments of a job.
func redisFlushed(ctx context.Context, w *World, rng *rand.Rand) error {
	tasks := 120
	if w.Short {
		tasks = 60
	}
	if err := w.Start(ctx, 1, 1, 2); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	jobID, err := account.Submit(ctx, Probe{Tasks: tasks, Seconds: 0.3, OutputBytes: 100}, "")
	if err != nil {
		return err
	}
	var longest time.Duration
	const flushes = 3
	for i := range flushes {
		third := tasks * 7 / 10 / flushes
		if err := w.AwaitEnded(ctx, jobID, i*third+rng.IntN(third)); err != nil {
			return err
		}
		flushed := time.Now()
		if err := w.rdb.FlushAll(ctx).Err(); err != nil {
			return fmt.Errorf("flush Redis: %w", err)
		}
		err := w.Eventually(ctx, "a task starts that was not in flight", w.Bound(onWithin),
			func(ctx context.Context) (bool, error) {
				n, err := w.startedSince(ctx, jobID, flushed)
				return n > 0, err
			})
		if err != nil {
			return err
		}
		longest = max(longest, time.Since(flushed))
	}
	w.Figure("longest_pause_seconds", longest.Seconds())
	return w.AwaitCompleted(ctx, jobID)
}

// redisAway is R4: Redis is killed in a job and comes back later, and then falls silent: connections stay, and nothing comes. Jobs
// are submitted all the while.
func redisAway(ctx context.Context, w *World, _ *rand.Rand) error {
	away, silent := time.Minute, 30*time.Second
	if w.Short {
		away, silent = 10*time.Second, 5*time.Second
	}
	if err := w.Start(ctx, 2, 1, 2); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	for _, absence := range []struct {
		name  string
		span  time.Duration
		begin func() error
		end   func(context.Context) error
	}{
		{"dead", away, w.KillRedis, w.StartRedis},
		{"silent", silent, func() error { w.RedisLine.Hold(); return nil },
			func(context.Context) error { w.RedisLine.Mend(); return nil }},
	} {
		jobID, err := account.Submit(ctx, Probe{Tasks: 30, Seconds: 0.5}, "")
		if err == nil {
			err = w.AwaitEnded(ctx, jobID, 5)
		}
		if err == nil {
			err = absence.begin()
		}
		if err != nil {
			return err
		}
		asked, err := w.submitFor(ctx, account, absence.span, submitEvery)
		if err == nil {
			err = absence.end(ctx)
		}
		if err == nil {
			err = w.drained(ctx, absence.name, asked)
		}
		if err != nil {
			return fmt.Errorf("Redis %s: %w", absence.name, err)
		}
	}
	return nil
}

// drained waits until every job has ended after an absence of Redis, and expects those that were accepted meanwhile among them.
func (w *World) drained(ctx context.Context, absence string, asked submissions) error {
	back := time.Now()
	if err := w.awaitEnds(ctx); err != nil {
		return err
	}
	w.Figure(absence+"_drained_seconds", time.Since(back).Seconds())
	w.Figure(absence+"_accepted_jobs", float64(len(asked.accepted)))
	w.Figure(absence+"_refused_jobs", float64(asked.refused))
	w.Figure(absence+"_slowest_answer_seconds", asked.slowest.Seconds())
	if asked.slowest > w.Bound(answeredWithin) {
		return fmt.Errorf("a submission was answered after %s, at most %s are allowed", asked.slowest.Round(time.Millisecond),
			w.Bound(answeredWithin))
	}
	return w.expectStored(ctx, asked.accepted)
}

// submissions are what came of those that were sent while something was broken.
type submissions struct {
	accepted []string // ids of jobs
	refused  int      // with a clean 503
	silent   int      // without an answer
	slowest  time.Duration
}

// submitFor submits a small job every so often, to the APIs in turn. Each must be accepted or refused cleanly.
func (w *World) submitFor(ctx context.Context, a *Account, span, every time.Duration) (s submissions, err error) {
	apis := w.APIs()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for i, end := 0, time.Now().Add(span); time.Now().Before(end); i++ {
		began := time.Now()
		answer, err := a.Send(ctx, apis[i%len(apis)], http.MethodPost, "/v1/jobs/submit", a.Request(Probe{}), "Idempotency-Key",
			id.New("key_"))
		if err != nil {
			return s, fmt.Errorf("a submission was not answered: %w", err)
		}
		s.slowest = max(s.slowest, time.Since(began))
		if err := s.take(answer); err != nil {
			return s, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return s, ctx.Err()
		}
	}
	return s, nil
}

// take expects a receipt, or a refusal that is in the API's envelope and says when to come again.
func (s *submissions) take(answer Answer) error {
	var body struct {
		JobID string     `json:"jobId"`
		Code  fault.Code `json:"code"`
	}
	err := json.Unmarshal(answer.Body, &body)
	switch {
	case err == nil && answer.Status/100 == 2 && body.JobID != "":
		s.accepted = append(s.accepted, body.JobID)
	case err == nil && answer.Status == http.StatusServiceUnavailable && body.Code == fault.ProviderUnavailable &&
		answer.Header.Get("Retry-After") != "":
		s.refused++
	default:
		return fmt.Errorf("a submission was answered with %d %s, want a receipt or a clean 503", answer.Status, answer.Body)
	}
	return nil
}

// expectStored expects that every acknowledged job is there.
func (w *World) expectStored(ctx context.Context, jobs []string) error {
	missing, err := w.missingJobs(ctx, jobs)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("%d of %d acknowledged jobs are lost, such as %s", len(missing), len(jobs), missing[0])
	}
	return err
}

// postgresStopped is R5: Postgres is stopped in its immediate mode, again and again, while tasks end and jobs are submitted.
func postgresStopped(ctx context.Context, w *World, rng *rand.Rand) error {
	tasks, stops := 200, 3
	if w.Short {
		tasks, stops = 60, 1
	}
	if err := w.Start(ctx, 2, 1, 3); err != nil {
		return err
	}
	account, err := w.Account(ctx, plentyPence)
	if err != nil {
		return err
	}
	jobID, err := account.Submit(ctx, Probe{Tasks: tasks, Seconds: 0.3, OutputBytes: 100}, "")
	if err != nil {
		return err
	}
	busy, stop := context.WithCancel(ctx)
	defer stop()
	var submitters sync.WaitGroup
	results := make([]submissions, len(w.APIs()))
	failures := make([]error, len(w.APIs()))
	for i, api := range w.APIs() {
		submitters.Go(func() { results[i], failures[i] = w.submitUntil(busy, account, api) })
	}
	for i := range stops {
		part := tasks * 8 / 10 / stops
		if err = w.AwaitEnded(ctx, jobID, i*part+rng.IntN(part)); err != nil {
			break
		}
		if err = w.restartPostgres(ctx, time.Duration(1+rng.IntN(3))*time.Second); err != nil {
			break
		}
	}
	stop()
	submitters.Wait()
	var all submissions
	for i, result := range results {
		if err == nil {
			err = failures[i]
		}
		all.accepted = append(all.accepted, result.accepted...)
		all.refused, all.silent = all.refused+result.refused, all.silent+result.silent
	}
	if err != nil {
		return err
	}
	w.Figure("accepted_jobs", float64(len(all.accepted)))
	w.Figure("refused_jobs", float64(all.refused))
	w.Figure("unanswered_jobs", float64(all.silent))
	if err := w.AwaitCompleted(ctx, jobID); err != nil {
		return err
	}
	return w.expectStored(ctx, all.accepted)
}

// restartPostgres stops Postgres hard, in the middle of whatever it does, and starts it again after a while.
func (w *World) restartPostgres(ctx context.Context, after time.Duration) error {
	if err := w.StopPostgres(); err != nil {
		return err
	}
	<-time.After(after)
	return w.StartPostgres(ctx)
}

// submitUntil submits small jobs to an API one after the other until the context ends. A connection that breaks off is an answer
// that never came.
func (w *World) submitUntil(ctx context.Context, a *Account, api *Process) (s submissions, err error) {
	for ctx.Err() == nil {
		answer, err := a.Send(context.WithoutCancel(ctx), api, http.MethodPost, "/v1/jobs/submit", a.Request(Probe{}),
			"Idempotency-Key", id.New("key_"))
		if err != nil {
			s.silent++
		} else if err := s.take(answer); err != nil {
			return s, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(submitEvery):
		}
	}
	return s, nil
}
