// Package bench measures molfabric against peers on the same machine in the same run. Absolute times mean nothing on a shared
// machine, so every figure is a ratio of two arms that take turns; a control of two equal arms tells whether the machine was
// quiet enough for the ratio to mean something.
package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// MinPairs is how often the two arms are compared at least.
const MinPairs = 5

// A control outside these bounds voids a benchmark: equal work took unequal time.
const (
	lowestControl  = 0.95
	highestControl = 1.05
)

// controlRuns of the peer give three ratios of neighbours, whose median is judged as the median of the pairs is: a single ratio
// would void a run for one hiccup, or pass it by luck.
const controlRuns = 4

// Arm is one way of doing a workload. It returns what is compared, in its unit; less is better.
type Arm func(ctx context.Context) (float64, error)

// Comparison is peer ÷ ours over pairs of runs: above 1, ours needs less.
type Comparison struct {
	Unit    string    `json:"unit"`
	Ours    []float64 `json:"ours"`
	Peer    []float64 `json:"peer"`
	Ratios  []float64 `json:"ratios"` // peer ÷ ours, of each pair
	Median  float64   `json:"median"`
	Lowest  float64   `json:"lowest"`
	Highest float64   `json:"highest"`
	Control float64   `json:"control"` // peer ÷ peer, median of three
	Void    bool      `json:"void"`    // the control is outside 0.95 to 1.05
}

// Result is one line of the report.
type Result struct {
	ID         string             `json:"id"` // as in the list of benchmarks: "B1"
	Name       string             `json:"name"`
	Workload   string             `json:"workload"`
	Peer       string             `json:"peer"`
	Comparison Comparison         `json:"comparison"`
	Goal       string             `json:"goal"`
	Met        bool               `json:"met"`
	Figures    map[string]float64 `json:"figures,omitempty"` // beside the ratio, with their units in their names
	Notes      []string           `json:"notes,omitempty"`
	MeasuredAt time.Time          `json:"measuredAt"`
}

// compare lets the arms begin by turns, so that a drift of the machine hits both alike, and runs the peer some times more for the
// control. told is called before each run.
func compare(ctx context.Context, unit string, pairs int, ours, peer Arm, told func(what string)) (Comparison, error) {
	return compareBy(ctx, unit, usualRules(pairs), ours, peer, told)
}

// rules say how often arms are compared, and which control voids the comparison.
type rules struct {
	pairs           int
	controlRuns     int     // at least 2
	lowest, highest float64 // of the control
}

func usualRules(pairs int) rules {
	return rules{pairs: max(pairs, MinPairs), controlRuns: controlRuns, lowest: lowestControl, highest: highestControl}
}

// compareBy is compare by other rules than everybody's, for a workload that gives its reason.
func compareBy(ctx context.Context, unit string, by rules, ours, peer Arm, told func(what string)) (Comparison, error) {
	c := Comparison{Unit: unit}
	for pair := range by.pairs {
		order := []bool{true, false}
		if pair%2 == 1 {
			order = []bool{false, true}
		}
		for _, mine := range order {
			arm, name, into := peer, "peer", &c.Peer
			if mine {
				arm, name, into = ours, "molfabric", &c.Ours
			}
			told(fmt.Sprintf("pair %d: %s", pair+1, name))
			figure, err := arm(ctx)
			if err != nil {
				return c, fmt.Errorf("pair %d, %s: %w", pair+1, name, err)
			}
			*into = append(*into, figure)
		}
	}
	var control []float64
	for range by.controlRuns {
		told("control: peer")
		figure, err := peer(ctx)
		if err != nil {
			return c, fmt.Errorf("control: %w", err)
		}
		control = append(control, figure)
	}
	return c.judgedBy(equalArms(control), by), nil
}

// equalArms is the median ratio of neighbouring runs of one arm, which take the two sides by turns so that a drift cancels out.
func equalArms(runs []float64) float64 {
	var ratios []float64
	for i := range len(runs) - 1 {
		ratio := runs[i] / runs[i+1]
		if i%2 == 1 {
			ratio = 1 / ratio
		}
		ratios = append(ratios, ratio)
	}
	return median(ratios)
}

// repeated makes an arm of n runs of another, whose median it returns: for workloads that are short beside what disturbs them.
func repeated(n int, arm Arm) Arm {
	return func(ctx context.Context) (float64, error) {
		figures := make([]float64, 0, n)
		for range n {
			figure, err := arm(ctx)
			if err != nil {
				return 0, err
			}
			figures = append(figures, figure)
		}
		return median(figures), nil
	}
}

// judged fills in what follows from the runs.
func (c Comparison) judged(control float64) Comparison {
	return c.judgedBy(control, usualRules(0))
}

func (c Comparison) judgedBy(control float64, by rules) Comparison {
	c.Ratios = nil
	for i := range c.Ours {
		c.Ratios = append(c.Ratios, c.Peer[i]/c.Ours[i])
	}
	c.Median, c.Lowest, c.Highest = median(c.Ratios), slices.Min(c.Ratios), slices.Max(c.Ratios)
	c.Control = control
	c.Void = control < by.lowest || control > by.highest
	return c
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
