package public

import (
	"context"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/scheduler"
)

const (
	// countEvery bounds how often repetitions are counted, however many people look.
	countEvery = 10 * time.Second
	// recentRepeats is the time that is counted beside all of it.
	recentRepeats = 90 * 24 * time.Hour
)

// Repeats is how often running tasks again made the same. Errors: those of the store.
func (s *Service) Repeats(ctx context.Context) (contract.RepeatReport, error) {
	s.counting.Lock()
	defer s.counting.Unlock()
	now := s.deps.Now().UTC()
	if !s.repeats.CountedAt.IsZero() && now.Sub(s.repeats.CountedAt) < countEvery {
		return s.repeats, nil
	}
	var counts []scheduler.RepeatCount
	if s.deps.Repeats != nil {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		var err error
		if counts, err = s.deps.Repeats(ctx, now.Add(-recentRepeats)); err != nil {
			return contract.RepeatReport{}, err
		}
	}
	s.repeats = reportRepeats(counts, s.deps.RepeatRate, now)
	return s.repeats, nil
}

// reportRepeats adds counts up, which come by engine.
func reportRepeats(counts []scheduler.RepeatCount, chance float64, now time.Time) contract.RepeatReport {
	report := contract.RepeatReport{Chance: chance, CountedAt: now, Simulators: []contract.SimulatorRepeats{}}
	for _, c := range counts {
		last := len(report.Simulators) - 1
		if last < 0 || report.Simulators[last].Simulator != c.Engine {
			report.Simulators = append(report.Simulators, contract.SimulatorRepeats{Simulator: c.Engine})
			last++
		}
		if c.Verdict == "" {
			report.Open += c.All
			report.Simulators[last].Open += c.All
			continue
		}
		for tally, n := range map[*contract.RepeatTally]int{&report.AllTime: c.All, &report.Recent: c.Recent,
			&report.Simulators[last].AllTime: c.All, &report.Simulators[last].Recent: c.Recent} {
			add(tally, scheduler.RepeatVerdict(c.Verdict), n)
		}
	}
	return report
}

func add(tally *contract.RepeatTally, verdict scheduler.RepeatVerdict, n int) {
	tally.Repeated += n
	switch verdict {
	case scheduler.RepeatSame:
		tally.Same += n
	case scheduler.RepeatDifferent:
		tally.Different += n
	default:
		tally.NotComparable += n
	}
	if compared := tally.Same + tally.Different; compared > 0 {
		rate := float64(tally.Same) / float64(compared)
		tally.SameRate = &rate
	}
}
