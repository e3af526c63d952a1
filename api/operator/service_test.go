package operator

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/queue"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) sql.NullTime { return sql.NullTime{Time: noon.Add(-d), Valid: true} }

func TestQueues(t *testing.T) {
	t.Parallel()
	living := []queue.Heartbeat{
		{WorkerID: "wrk_1", Queues: []string{"cpu.fpocket", "cpu.autodock-vina"}}, {WorkerID: "wrk_2", Queues: []string{"cpu.fpocket"}},
		{WorkerID: "wrk_3", Queues: []string{"cpu.molstar"}, Draining: true},
	}
	open := []openTasks{{Queue: "cpu.autodock-vina", Waiting: 7, Running: 2, Since: ago(time.Minute)},
		{Queue: "gpu.openmm", Waiting: 1, Since: ago(time.Hour)}}
	var got []string
	for _, one := range queues(living, open) {
		got = append(got, fmt.Sprint(one.Class, " ", one.Waiting, one.Running, one.Workers, one.OldestWaitsSince != nil))
	}
	want := []string{"cpu.autodock-vina 7 2 1 true", "cpu.fpocket 0 0 2 false", "cpu.molstar 0 0 0 false", "gpu.openmm 1 0 0 true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	since := func(d time.Duration) *time.Time { at := noon.Add(-d); return &at }
	for name, c := range map[string]struct {
		led    bool
		queues []contract.WorkQueue
		failed []failure
		want   []string
	}{
		"all is well":     {led: true, queues: []contract.WorkQueue{{Class: "a", Waiting: 3, Workers: 1, OldestWaitsSince: since(time.Minute)}}},
		"nobody leads":    {want: []string{"NoSchedulerLeads  0"}},
		"nobody takes it": {led: true, queues: []contract.WorkQueue{{Class: "a", Waiting: 3}}, want: []string{"NoWorkers a 3"}},
		"it waits long": {led: true, queues: []contract.WorkQueue{{Class: "a", Waiting: 3, Workers: 1,
			OldestWaitsSince: since(11 * time.Minute)}}, want: []string{"WorkWaits a 3"}},
		"only running": {led: true, queues: []contract.WorkQueue{{Class: "a", Running: 3}}},
		"jobs fail": {led: true, failed: []failure{{"TIMEOUT", 4}, {"ENGINE_FAILED", 1}}, want: []string{"JobsFail TIMEOUT 4",
			"JobsFail ENGINE_FAILED 1"}},
	} {
		var got []string
		for _, one := range alerts(c.led, c.queues, c.failed, noon) {
			got = append(got, fmt.Sprint(one.Name, " ", one.Subject, " ", one.Count))
			if one.Message == "" {
				t.Errorf("%s: %s has no words", name, one.Name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
