package sim

import (
	"bytes"
	"slices"
	"testing"
)

// histories is how many a test run simulates; `molfabric-lab sim` does the rest.
const histories = 300

func TestHistories(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	report, err := Run(t.Context(), Options{Histories: histories, Seed: 1, Out: &out})
	if err != nil || report.Histories != histories {
		t.Errorf("%d of %d histories: %v\n%s", report.Histories, histories, err, out.String())
	}
}

// TestASeedIsAHistory replays histories, which must be the same step by step.
func TestASeedIsAHistory(t *testing.T) {
	t.Parallel()
	shared := setUp(t)
	for seed := range uint64(20) {
		first, again := played(shared, script{seed: seed, traced: true}), played(shared, script{seed: seed, traced: true})
		if first.digest != again.digest || !slices.Equal(first.trace, again.trace) {
			t.Errorf("seed %d: digests %016x and %016x of %d and %d steps", seed, first.digest, again.digest, len(first.trace),
				len(again.trace))
		}
		if other := played(shared, script{seed: seed + 1000}); other.digest == first.digest {
			t.Errorf("seeds %d and %d have the same history", seed, seed+1000)
		}
	}
}

// TestPlantedBugsAreFound shows that the simulation can fail: each of the bugs is found.
func TestPlantedBugsAreFound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	report, err := Run(t.Context(), Options{Histories: 1, Seed: 1, Planted: []string{"all"}, Out: &out})
	if err != nil || len(report.Planted) != len(Bugs()) {
		t.Errorf("%d planted bugs: %v\n%s", len(report.Planted), err, out.String())
	}
	t.Log("\n" + out.String())
}

// TestAFailureCanBeSeenAgain makes a failed history small, and what is left fails again with the same trace.
func TestAFailureCanBeSeenAgain(t *testing.T) {
	t.Parallel()
	shared := setUp(t)
	bug := Bugs()[2] // found soonest
	s := script{planted: &bug, without: map[string]bool{}}
	failed := played(shared, s)
	for len(failed.violations) == 0 && s.seed < histories {
		s.seed++
		failed = played(shared, s)
	}
	small := shrink(shared, s, failed)
	s.steps, s.traced = small.Steps, true
	for _, name := range small.Without {
		s.without[name] = true
	}
	again := played(shared, s)
	if len(again.violations) == 0 || !slices.Equal(again.trace, small.Trace) {
		t.Errorf("%s\nfails again with %v", small, again.violations)
	}
	if len(small.Without) == 0 || small.Steps == 0 || small.Steps >= maxSteps {
		t.Errorf("nothing was left out: %d steps without %v", small.Steps, small.Without)
	}
}

func setUp(t *testing.T) *setting {
	t.Helper()
	shared, err := newSetting()
	if err != nil {
		t.Fatal(err)
	}
	return shared
}

func played(shared *setting, s script) *history {
	h := newHistory(shared, s)
	h.play()
	return h
}
