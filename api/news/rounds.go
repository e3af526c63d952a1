package news

import (
	"context"
	"time"
)

const (
	// recent is how far back every round looks for what has happened, and horizon how far the first one does and one in
	// wholeInterval: what happened while no instance ran.
	recent, horizon = 10 * time.Minute, 3 * 24 * time.Hour
	wholeInterval   = 10 * time.Minute
	// keep is how long it is known what was told. It is longer than horizon, so that nothing is told again.
	keep = 30 * 24 * time.Hour
)

// Work is what a way of telling does in each round.
type Work struct {
	Note   func(ctx context.Context, since, now time.Time) error // writes down what happened since a moment and is to be told
	Send   func(context.Context) error                           // sends what is due
	Forget func(ctx context.Context, before time.Time) error     // removes what was told before a moment
}

// Rounds says when a teller looks how far. It is for one goroutine; its zero value is ready.
type Rounds struct {
	whole   time.Time // when news were last looked for as far back as horizon
	cleared time.Time
}

// Round notes, sends and forgets what is to be at this time.
func (r *Rounds) Round(ctx context.Context, work Work, now time.Time) error {
	since := now.Add(-recent)
	whole := now.Sub(r.whole) >= wholeInterval
	if whole {
		since = now.Add(-horizon)
	}
	if err := work.Note(ctx, since, now); err != nil {
		return err
	}
	if whole {
		r.whole = now
	}
	if err := work.Send(ctx); err != nil {
		return err
	}
	if now.Sub(r.cleared) < wholeInterval {
		return nil
	}
	r.cleared = now
	return work.Forget(ctx, now.Add(-keep))
}

// Run calls pass at once and then after each interval, until the context ends, and tells failed of its errors.
func Run(ctx context.Context, interval time.Duration, pass func(context.Context) error, failed func(error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := pass(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
