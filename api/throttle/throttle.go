// Package throttle limits how often something may happen, by the generic cell rate algorithm in Redis, so that all instances
// share one count. While Redis is away each instance counts for itself, and the log says so once: callers are still served,
// and passwords can still not be guessed at any pace. It knows neither HTTP nor what is being limited.
package throttle

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

const (
	// askTimeout bounds what a limit may cost a request when Redis hangs.
	askTimeout = 250 * time.Millisecond
	// pauseAfterFailure spares every request of an outage that wait.
	pauseAfterFailure = time.Second
)

// Limit allows Rate events a Period on average and Burst at once.
type Limit struct {
	Rate   int
	Period time.Duration
	Burst  int
}

// Verdict is the answer for one event.
type Verdict struct {
	Allowed    bool
	Limit      int           // events allowed at once
	Remaining  int           // events allowed right now after this one
	ResetAfter time.Duration // until Remaining is Limit again
	RetryAfter time.Duration // when refused: until the next event is allowed
}

// Exceeded is the error of an event that is not allowed.
type Exceeded struct {
	What       string // e.g. "too many requests"
	RetryAfter time.Duration
}

func (e *Exceeded) Error() string { return e.What + ": wait as long as the header Retry-After says" }

// Exceeded is the error of a refusing verdict. Within the same second nobody is asked back.
func (v Verdict) Exceeded(what string) *Exceeded {
	return &Exceeded{What: what, RetryAfter: max(v.RetryAfter, time.Second)}
}

// Limiter is safe for concurrent use.
type Limiter struct {
	rate   *redis_rate.Limiter
	alone  *local // counts while Redis is away
	prefix string
	log    *slog.Logger
	now    func() time.Time

	mu       sync.Mutex
	away     bool
	tryAgain time.Time
}

// New returns a limiter whose keys start with prefix.
func New(rdb redis.UniversalClient, prefix string, log *slog.Logger, now func() time.Time) *Limiter {
	return &Limiter{rate: redis_rate.NewLimiter(rdb), alone: newLocal(), prefix: prefix, log: log, now: now}
}

// Take counts one event under key and tells whether it is allowed. It never fails.
func (l *Limiter) Take(ctx context.Context, key string, limit Limit) Verdict {
	if l.paused() {
		return l.alone.take(key, limit, l.now())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	r, err := l.rate.Allow(ctx, l.prefix+key, redis_rate.Limit{Rate: limit.Rate, Burst: limit.Burst, Period: limit.Period})
	l.note(err)
	if err != nil {
		return l.alone.take(key, limit, l.now())
	}
	return Verdict{
		Allowed: r.Allowed > 0, Limit: limit.Burst, Remaining: r.Remaining,
		ResetAfter: r.ResetAfter, RetryAfter: max(r.RetryAfter, 0),
	}
}

// Look tells what Take would find, and counts nothing. While Redis is away it knows of no events.
func (l *Limiter) Look(ctx context.Context, key string, limit Limit) Verdict {
	unused := Verdict{Allowed: true, Limit: limit.Burst, Remaining: limit.Burst}
	if l.paused() {
		return unused
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	r, err := l.rate.AllowN(ctx, l.prefix+key, redis_rate.Limit{Rate: limit.Rate, Burst: limit.Burst, Period: limit.Period}, 0)
	l.note(err)
	if err != nil {
		return unused
	}
	return Verdict{Allowed: r.Remaining > 0, Limit: limit.Burst, Remaining: r.Remaining, ResetAfter: max(r.ResetAfter, 0)}
}

func (l *Limiter) paused() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.away && l.now().Before(l.tryAgain)
}

// note remembers whether Redis answered and logs each change once.
func (l *Limiter) note(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		if !l.away {
			l.log.Warn("each instance counts rate limits for itself: Redis does not answer", "error", err)
		}
		l.away, l.tryAgain = true, l.now().Add(pauseAfterFailure)
	case l.away:
		l.away = false
		l.log.Info("instances count rate limits together again")
	}
}
