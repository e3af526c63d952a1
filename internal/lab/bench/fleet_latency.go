package bench

import (
	"math"
	"slices"
	"time"
)

// latency is one task's wait in seconds: At is when its program started, counted from the first start.
type latency struct {
	At       float64
	Accepted float64 // from the commit of its job to the start
	Handed   float64 // from the commit of its dispatch to the start
}

// latencies tells how long the spans' tasks have waited, in the order of their starts. Of a task that was run again the last run
// counts, as its dispatch does.
func latencies(spans []span, commits map[string]commitTimes) []latency {
	last := map[string]time.Time{}
	for _, s := range spans {
		last[s.Task] = s.Started
	}
	var waits []latency
	for _, s := range spans {
		commit, known := commits[s.Task]
		if !known || !s.Started.Equal(last[s.Task]) {
			continue
		}
		waits = append(waits, latency{At: s.Started.Sub(spans[0].Started).Seconds(),
			Accepted: s.Started.Sub(commit.Accepted).Seconds(),
			Handed:   s.Started.Sub(commit.Dispatched).Seconds()})
	}
	return waits
}

// quantile is the smallest value that a share of the values does not exceed. There must be some.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// latencyBin is how long the tasks waited that started in one span of time.
type latencyBin struct {
	AtSeconds float64 `json:"atSeconds"` // middle of the bin, from the first start
	Tasks     int     `json:"tasks"`
	P50Ms     float64 `json:"p50Ms"`
	P95Ms     float64 `json:"p95Ms"`
	P99Ms     float64 `json:"p99Ms"`
}

// binned sorts waits into bins of so many seconds; those without any are left out.
func binned(waits []latency, seconds float64, of func(latency) float64) []latencyBin {
	byBin := map[int][]float64{}
	for _, w := range waits {
		bin := int(w.At / seconds)
		byBin[bin] = append(byBin[bin], 1000*of(w))
	}
	var bins []latencyBin
	for bin, values := range byBin {
		bins = append(bins, latencyBin{AtSeconds: (float64(bin) + 0.5) * seconds, Tasks: len(values),
			P50Ms: quantile(values, 0.5), P95Ms: quantile(values, 0.95), P99Ms: quantile(values, 0.99)})
	}
	slices.SortFunc(bins, func(a, b latencyBin) int { return int(math.Copysign(1, a.AtSeconds-b.AtSeconds)) })
	return bins
}
