package scheduler

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/internal/job"
)

// TestFirstOfAKindIsAnIncrease wants zeros of what has not happened yet.
func TestFirstOfAKindIsAnIncrease(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := NewMetrics(registry)
	m.expect([]string{"autodock-vina", "fpocket"})
	m.captured(job.Failed, 0)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown, sums := map[string]int{}, map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			shown[family.GetName()]++
			sums[family.GetName()] += metric.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]int{
		"molfabric_jobs_submitted_total": 2, "molfabric_attempts_finished_total": 2 * 3, "molfabric_ledger_captures_total": 4,
		"molfabric_jobs_retried_total": 2 * len(RetryScopes), "molfabric_repeats_total": 2 * len(repeatVerdicts),
	} {
		if shown[name] != want {
			t.Errorf("%s: got %d counters, want %d", name, shown[name], want)
		}
	}
	if sums["molfabric_ledger_captures_total"] != 1 || sums["molfabric_attempts_finished_total"] != 0 {
		t.Errorf("got %v, want one bill and no attempt", sums)
	}
}
