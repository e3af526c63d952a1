package keeper

import (
	"fmt"
	"slices"
	"time"

	"github.com/molfabric/molfabric/internal/fleet"
)

// sight is what is known of a pool when it is decided about.
type sight struct {
	wanted   int // workers that the formula wants in all
	others   int // places of workers that serve the same and are not the pool's: cores, or devices of a pool with devices
	running  int // allocations whose workers take tasks, or are about to say hello
	leaving  int // allocations whose workers take no more
	pending  []Allocation
	unsure   int // starts of which nobody knows what became
	cores    int // that the fleet may still have
	seconds  float64
	bounded  bool // whether seconds, what may still be used in core-seconds, is a bound
	paused   string
	probing  bool // a pause has ended; the next start shows whether its reason has
	surplusy bool // there were too many waiting ones before, too
}

// decision is what is to be done for a pool.
type decision struct {
	wanted int // of the pool's own
	start  int
	cancel []string
	held   string // what keeps more from being started; "" where nothing does
}

// decide compares what is wanted with what is there. What runs is never touched; what waits and is wanted no more is taken back
// when it was so before.
func decide(p Pool, s sight) decision {
	places := p.Cores
	if p.GPUs > 0 {
		places = p.GPUs
	}
	d := decision{wanted: min(max(s.wanted-s.others/places, p.Min), p.Max)}
	starting := len(s.pending) + s.unsure
	missing := d.wanted - s.running - starting
	if missing < 0 && s.surplusy {
		d.cancel = newest(s.pending, -missing)
	}
	if missing <= 0 {
		return d
	}
	if s.paused != "" {
		d.held = "paused: " + s.paused
		return d
	}
	d.start = missing
	bound := func(n int, why string) {
		if n = max(n, 0); n < d.start {
			d.start, d.held = n, why
		}
	}
	bound(p.Max-s.running-s.leaving-starting, fmt.Sprintf("max: %d workers, of which %d leave", p.Max, s.leaving))
	bound(s.cores/p.Cores, "maxCores: the fleet has its cores")
	if s.bounded {
		bound(int(min(max(s.seconds, 0)/p.coreSeconds(), fleet.MaxWorkers)), "budget: the day's core-hours are used or set aside")
	}
	bound(p.MaxQueued-starting, fmt.Sprintf("maxQueued: %d wait for their start", starting))
	if s.probing {
		bound(1-starting, "one is tried after a pause")
	}
	return d
}

// newest are the ids of the waiting allocations that were asked for last, as their ids count up.
func newest(pending []Allocation, n int) []string {
	ids := make([]string, len(pending))
	for i, a := range pending {
		ids[i] = a.ID
	}
	slices.SortFunc(ids, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return -1 * compare(a, b)
	})
	return ids[:min(n, len(ids))]
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

const (
	// failuresToPause in a row pause a pool: one is chance.
	failuresToPause = 3
	firstPause      = time.Minute
	longestPause    = time.Hour
)

// breaker pauses a pool after repeated failures of one kind, for longer each time, until something has gone well.
type breaker struct {
	failures int
	pauses   int
	until    time.Time
	last     string
}

func (b *breaker) fail(now time.Time, why string) {
	b.failures, b.last = b.failures+1, why
	if b.failures < failuresToPause || now.Before(b.until) {
		return
	}
	b.until = now.Add(min(firstPause<<min(b.pauses, 10), longestPause))
	b.pauses++
}

func (b *breaker) succeed() { *b = breaker{} }

func (b *breaker) paused(now time.Time) bool { return now.Before(b.until) }

// probing tells that the pause is over and nothing has gone well yet.
func (b *breaker) probing(now time.Time) bool { return b.pauses > 0 && !b.paused(now) }
