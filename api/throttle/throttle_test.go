package throttle

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/internal/redistest"
)

// TestInstancesShareOneCount: two limiters over one Redis together allow what one may.
func TestInstancesShareOneCount(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	limit := Limit{Rate: 1, Period: time.Hour, Burst: 5}
	instances := []*Limiter{limiter(rdb, prefix, time.Now), limiter(rdb, prefix, time.Now)}
	for i := range 7 {
		got := instances[i%2].Take(t.Context(), "key:a", limit)
		if got.Allowed != (i < 5) || got.Limit != 5 || got.Remaining != max(4-i, 0) {
			t.Errorf("event %d: %+v", i, got)
		}
		if got.Allowed != (got.RetryAfter == 0) {
			t.Errorf("event %d: RetryAfter %s", i, got.RetryAfter)
		}
	}
	if other := instances[0].Take(t.Context(), "key:b", limit); !other.Allowed {
		t.Errorf("another key is limited too: %+v", other)
	}
}

// TestLocalCountsAsRedisDoes: without Redis an instance gives the same verdicts for its own events.
func TestLocalCountsAsRedisDoes(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	shared, alone := limiter(rdb, prefix, time.Now), newLocal()
	limit := Limit{Rate: 1, Period: time.Hour, Burst: 3}
	for i := range 5 {
		want, got := shared.Take(t.Context(), "key", limit), alone.take("key", limit, time.Now())
		if got.Allowed != want.Allowed || got.Remaining != want.Remaining || got.Limit != want.Limit ||
			(got.ResetAfter-want.ResetAfter).Abs() > time.Minute || (got.RetryAfter-want.RetryAfter).Abs() > time.Minute {
			t.Errorf("event %d: got %+v, want %+v", i, got, want)
		}
	}
}

// TestLocalKeepsToTheLimit: in no window of time are more events allowed than the burst and what the rate adds in it.
func TestLocalKeepsToTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := Limit{Rate: rapid.IntRange(1, 50).Draw(t, "rate"), Period: time.Second,
			Burst: rapid.IntRange(1, 20).Draw(t, "burst")}
		counter, start, allowed := newLocal(), time.Unix(1_700_000_000, 0), 0
		now := start
		for _, gapMs := range rapid.SliceOfN(rapid.IntRange(0, 200), 1, 100).Draw(t, "gapMs") {
			now = now.Add(time.Duration(gapMs) * time.Millisecond)
			verdict := counter.take("key", limit, now)
			if verdict.Allowed {
				allowed++
				continue
			}
			if retry := counter.take("key", limit, now.Add(verdict.RetryAfter)); !retry.Allowed {
				t.Fatalf("refused after the wait that was asked for: %+v, then %+v", verdict, retry)
			}
			now = now.Add(verdict.RetryAfter)
			allowed++
		}
		each := time.Second / time.Duration(limit.Rate)
		if most := limit.Burst + int(now.Sub(start)/each); allowed > most {
			t.Fatalf("%d events allowed in %s, at most %d may be", allowed, now.Sub(start), most)
		}
	})
}

func TestLocalIsBounded(t *testing.T) {
	t.Parallel()
	counter, now := newLocal(), time.Unix(1_700_000_000, 0)
	limit := Limit{Rate: 1, Period: time.Second, Burst: 1}
	for i := range maxLocal + 10 {
		counter.take(string(rune(i)), limit, now)
	}
	if len(counter.fullAt) > maxLocal {
		t.Errorf("%d keys are kept", len(counter.fullAt))
	}
}

func limiter(rdb redis.UniversalClient, prefix string, now func() time.Time) *Limiter {
	return New(rdb, prefix, slog.New(slog.NewTextHandler(io.Discard, nil)), now)
}
