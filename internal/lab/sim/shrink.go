package sim

import (
	"maps"
	"slices"
)

// shrink makes a failed history smaller: first without whole kinds of action, then with fewer of the rest. What is left fails too,
// if not always in the same way.
func shrink(shared *setting, s script, failed *history) Failure {
	f := Failure{Seed: s.seed, Violations: failed.violations}
	fails := func(s script) *history {
		h := newHistory(shared, s)
		h.play()
		if len(h.violations) == 0 {
			return nil
		}
		return h
	}
	names := []string{giveUp}
	for _, a := range alphabet {
		names = append(names, a.name)
	}
	for _, name := range names {
		smaller := s
		smaller.without = maps.Clone(s.without)
		smaller.without[name] = true
		if !s.without[name] && fails(smaller) != nil {
			s = smaller
		}
	}
	low, high := 1, maxSteps // fewer steps do not always fail where more do, so this finds a small number, not the smallest
	for low < high {
		s.steps = (low + high) / 2
		if fails(s) != nil {
			high = s.steps
		} else {
			low = s.steps + 1
		}
	}
	s.steps, s.traced = high, true
	f.Steps, f.Without = s.steps, slices.Sorted(maps.Keys(s.without))
	if h := fails(s); h != nil {
		f.Trace = h.trace
		return f
	}
	s.steps, s.without = 0, nil
	f.Steps, f.Without = 0, nil
	if h := fails(s); h != nil {
		f.Trace = h.trace
	}
	return f
}
