package throttle

import (
	"sync"
	"time"
)

// maxLocal bounds how many keys one instance counts by itself: a few MB. Beyond, counting starts anew.
const maxLocal = 50_000

// local counts in this process alone, by the same algorithm: for every key it keeps the time at which its bucket is full again
// (the theoretical arrival time of the cell rate algorithm, ITU-T I.371).
type local struct {
	mu     sync.Mutex
	fullAt map[string]time.Time
}

func newLocal() *local { return &local{fullAt: map[string]time.Time{}} }

func (l *local) take(key string, limit Limit, now time.Time) Verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	each := limit.Period / time.Duration(limit.Rate)
	before := l.fullAt[key]
	if before.Before(now) {
		before = now
	}
	after := before.Add(each)
	room := now.Add(each * time.Duration(limit.Burst)).Sub(after)
	if room < 0 {
		return Verdict{Limit: limit.Burst, ResetAfter: before.Sub(now), RetryAfter: -room}
	}
	if _, known := l.fullAt[key]; !known && len(l.fullAt) >= maxLocal {
		l.forgetFull(now)
	}
	l.fullAt[key] = after
	return Verdict{Allowed: true, Limit: limit.Burst, Remaining: int(room / each), ResetAfter: after.Sub(now)}
}

// forgetFull drops the keys whose buckets are full again, or all when none is.
func (l *local) forgetFull(now time.Time) {
	for key, at := range l.fullAt {
		if !at.After(now) {
			delete(l.fullAt, key)
		}
	}
	if len(l.fullAt) >= maxLocal {
		clear(l.fullAt)
	}
}
