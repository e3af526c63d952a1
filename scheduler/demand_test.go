package scheduler_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/molfabric/molfabric/internal/fleet"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/redistest"
)

// waits is what is said of one class.
func (f *fabric) waits(class string, longest time.Duration) fleet.Backlog {
	f.t.Helper()
	demand, err := f.Demand(f.t.Context(), longest)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, b := range demand.Classes {
		if b.Class == class {
			return b
		}
	}
	f.t.Fatalf("no class %s in %+v", class, demand.Classes)
	return fleet.Backlog{}
}

// TestDemandCountsWhatTheStoreHolds: tasks count from their submission on, before anybody leads and while no worker lives, from the
// moment that their stage is open, and by what is expected of them.
func TestDemandCountsWhatTheStoreHolds(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	if got := f.waits(cpuQueue, 0); got != (fleet.Backlog{Class: cpuQueue}) {
		t.Errorf("of nothing: %+v", got)
	}
	jobID := f.submit(f.account(), 40)
	f.db.MustExec(`UPDATE jobs SET created_at = created_at - interval '1 hour'`)
	got := f.waits(cpuQueue, 0)
	if got.OldestSeconds < 3600 || got.OldestSeconds > 3600+deadline.Seconds() {
		t.Errorf("the oldest waits for %g s, want an hour", got.OldestSeconds)
	}
	got.OldestSeconds = 0
	if want := (fleet.Backlog{Class: cpuQueue, Waiting: 1, Places: 1, CPUSeconds: 60}); got != want {
		t.Errorf("of a preparation that waits: %+v, want %+v", got, want)
	}

	f.lead()
	goOn := make(chan struct{})
	f.hire(1, func(order queue.WorkOrder) *queue.Event {
		if order.Shard.Stage == "dock" {
			<-goOn
		}
		return success(order)
	})
	f.eventually("the stage is open and one task of it runs", func() bool {
		got := f.waits(cpuQueue, 0)
		return got.Running == 1 && got.Waiting == 39
	})
	f.eventually("the progress of the one is known", func() bool { return f.waits(cpuQueue, 0).RunningSeconds == 30 })
	got = f.waits(cpuQueue, 0)
	if got.OldestSeconds > deadline.Seconds() {
		t.Errorf("the oldest waits for %g s, want what has passed since its stage was opened", got.OldestSeconds)
	}
	got.OldestSeconds = 0
	want := fleet.Backlog{Class: cpuQueue, Waiting: 39, Running: 1, Places: 40, CPUSeconds: 39 * 60, RunningSeconds: 30}
	if got != want {
		t.Errorf("of an open stage: %+v, want %+v", got, want)
	}
	if got := f.waits(cpuQueue, 59*time.Second); got.Waiting != 0 || got.Running != 1 || got.OldestSeconds != 0 {
		t.Errorf("what fits 59 s: %+v, want the running one alone", got)
	}
	if got := f.waits(cpuQueue, time.Minute); got.Waiting != 39 {
		t.Errorf("what fits 60 s: %+v, want 39", got)
	}
	close(goOn)
	f.awaitStatus(jobID, job.Completed)
	if got := f.waits(cpuQueue, 0); got != (fleet.Backlog{Class: cpuQueue}) {
		t.Errorf("after the end: %+v", got)
	}
}

// TestDemandOfDevices: tasks on devices are those of another class, by their device time.
func TestDemandOfDevices(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	sub := submission(f.account(), 5, "")
	sub.Params = json.RawMessage(`{"shards":5,"gpus":2}`)
	if _, err := f.Submit(t.Context(), sub); err != nil {
		t.Fatal(err)
	}
	f.db.MustExec(`UPDATE tasks SET ready = true`)
	got := f.waits(gpuQueue, 0)
	got.OldestSeconds = 0
	want := fleet.Backlog{Class: gpuQueue, Waiting: 5, Places: 5, CPUSeconds: 300, GPUSeconds: 600}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := f.waits(gpuQueue, 59*time.Second).Waiting + f.waits(gpuQueue, time.Minute).Waiting; got != 5 {
		t.Errorf("two devices take a minute each: %d tasks fit 59 s and 60 s together, want 5", got)
	}
}

// TestDemandIsCorrectedByExperience: where tasks have used twice what was expected, those that wait count twice, and one in ten
// that used three times as much keeps tasks from workers that live too short.
func TestDemandIsCorrectedByExperience(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	f.finished(100, func(i int) (weight, used float64) {
		if i >= 85 {
			return 10, 30
		}
		return 10, 20
	})
	got := f.waits(cpuQueue, 0)
	if got.Waiting != 1 || got.CPUSeconds != 120 {
		t.Errorf("got %+v, want 120 s for one task of 60", got)
	}
	if short, long := f.waits(cpuQueue, 179*time.Second).Waiting, f.waits(cpuQueue, 181*time.Second).Waiting; short != 0 ||
		long != 1 {
		t.Errorf("fits 179 s: %d, fits 181 s: %d, want 0 and 1", short, long)
	}
}

// TestTasksOfTheReleaseBefore have no wall time, and are taken for one core's.
func TestTasksOfTheReleaseBefore(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	f.submit(f.account(), 1)
	f.db.MustExec(`UPDATE tasks SET wall = 0, weight = 600`)
	if got := f.waits(cpuQueue, 0); got.Places != 1 || got.CPUSeconds != 600 {
		t.Errorf("got %+v, want 600 s on one core", got)
	}
	if got := f.waits(cpuQueue, 599*time.Second); got.Waiting != 0 {
		t.Errorf("fits 599 s: %+v, want none", got)
	}
}

// TestDemandIsUnknownWithoutAStore: nobody is told that nothing waits.
func TestDemandIsUnknownWithoutAStore(t *testing.T) {
	t.Parallel()
	server, _ := redistest.Private(t)
	options, err := redis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { client.Close() })
	f := newFabric(t, client, "")
	if _, err := f.Demand(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Demand(t.Context(), 0); err == nil {
		t.Errorf("without Redis: %+v, want an error", got)
	}
}

// TestBacklogMetrics: every class has its figures, those without work a zero.
func TestBacklogMetrics(t *testing.T) {
	t.Parallel()
	rdb, _, prefix := redistest.New(t)
	f := newFabric(t, rdb, prefix)
	f.submit(f.account(), 3)
	registry := prometheus.NewRegistry()
	registry.MustRegister(f.Scheduler)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			if strings.HasPrefix(name, "molfabric_backlog_") && name != "molfabric_backlog_oldest_seconds" {
				got[name+" "+m.GetLabel()[0].GetName()+"="+m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	want := map[string]float64{
		"molfabric_backlog_tasks queue=cpu.autodock-vina": 1, "molfabric_backlog_cpu_seconds queue=cpu.autodock-vina": 60,
		"molfabric_backlog_tasks queue=gpu.autodock-vina": 0, "molfabric_backlog_cpu_seconds queue=gpu.autodock-vina": 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
