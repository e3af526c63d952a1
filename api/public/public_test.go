package public

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/alphafold"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/engines/wavewatch3"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

// world is what the service asks, and how often it was asked.
type world struct {
	now     time.Time
	asked   atomic.Int32
	workers []queue.Heartbeat
	broken  error
}

func (w *world) service(t *testing.T) *Service {
	t.Helper()
	book, err := billing.LoadBook("")
	if err != nil {
		t.Fatal(err)
	}
	return New(Deps{
		Engines: engines.NewRegistry(vina.New()), Prices: book, Version: "test", Log: slog.New(slog.DiscardHandler),
		Workers: func(context.Context) ([]queue.Heartbeat, error) { w.asked.Add(1); return w.workers, nil },
		Parts:   []Part{{Name: "jobs", Ask: func(context.Context) error { return w.broken }}},
		Now:     func() time.Time { return w.now },
	})
}

func worker(draining bool, queues ...string) queue.Heartbeat {
	return queue.Heartbeat{Queues: queues, Slots: 4, Draining: draining}
}

// TestStatusOfWhatIsBrought misses no helper, and no engine that an operator would have to build.
func TestStatusOfWhatIsBrought(t *testing.T) {
	t.Parallel()
	mine := queue.Name(engines.WorkerClass{Hardware: engines.HardwareCPU, Engine: vina.ID})
	w := &world{now: time.Unix(1e9, 0), workers: []queue.Heartbeat{worker(false, mine)}}
	s := w.service(t)
	s.deps.Engines = engines.NewRegistry(vina.New(), alphafold.NewAligner(), wavewatch3.New())
	if got := s.Status(t.Context()); got.Status != "operational" || len(got.Workers) != 3 {
		t.Errorf("got %s %+v", got.Status, got.Workers)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	mine := queue.Name(engines.WorkerClass{Hardware: engines.HardwareCPU, Engine: vina.ID})
	for _, c := range []struct {
		name    string
		workers []queue.Heartbeat
		broken  error
		status  string
		counted int
		slots   int
	}{
		{"two workers", []queue.Heartbeat{worker(false, mine), worker(false, "gpu.other", mine)}, nil, "operational",
			2, 8},
		{"no worker", nil, nil, "degraded", 0, 0},
		{"workers of another engine", []queue.Heartbeat{worker(false, "gpu.other")}, nil, "degraded", 0, 0},
		{"a worker that drains", []queue.Heartbeat{worker(true, mine)}, nil, "degraded", 0, 0},
		{"a part that is away", []queue.Heartbeat{worker(false, mine)}, errors.New("away"), "degraded", 1, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := &world{now: time.Unix(1e9, 0), workers: c.workers, broken: c.broken}
			got := w.service(t).Status(t.Context())
			want := contract.WorkerCount{Simulator: vina.ID, Workers: c.counted, Slots: c.slots}
			if got.Status != c.status || len(got.Workers) != 1 || got.Workers[0] != want {
				t.Errorf("got %s %+v, want %s %+v", got.Status, got.Workers, c.status, want)
			}
			if len(got.Parts) != 2 || got.Parts[1].Operational != (c.broken == nil) {
				t.Errorf("parts %+v", got.Parts)
			}
		})
	}
}

// TestEngineWithoutWeights: nobody offers what the operator has put no weights in for, and the service is whole all the same.
func TestEngineWithoutWeights(t *testing.T) {
	t.Parallel()
	w := &world{now: time.Unix(1e9, 0)}
	s := w.service(t)
	s.deps.Unready = func(context.Context) ([]string, error) { return []string{vina.ID}, nil }
	if got := s.Status(t.Context()); got.Status != "operational" || got.Workers[0].Workers != 0 {
		t.Errorf("got %s %+v, want it operational without a worker", got.Status, got.Workers)
	}
}

// TestManyAskOnce keeps a crowd of visitors from becoming a crowd of questions to the stores.
func TestManyAskOnce(t *testing.T) {
	t.Parallel()
	w := &world{now: time.Unix(1e9, 0)}
	s := w.service(t)
	for range 10 {
		s.Status(t.Context())
		s.Simulators(t.Context())
	}
	if n := w.asked.Load(); n != 1 {
		t.Errorf("asked %d times within one moment, want once", n)
	}
	w.now = w.now.Add(lookEvery)
	s.Status(t.Context())
	if n := w.asked.Load(); n != 2 {
		t.Errorf("asked %d times, want again after %v", n, lookEvery)
	}
}

func TestSimulators(t *testing.T) {
	t.Parallel()
	w := &world{now: time.Unix(1e9, 0), workers: []queue.Heartbeat{worker(false,
		queue.Name(engines.WorkerClass{Hardware: engines.HardwareCPU, Engine: vina.ID}))}}
	list := w.service(t).Simulators(t.Context())
	if len(list) != len(engines.Simulators) {
		t.Fatalf("%d simulators, want the %d of the contract", len(list), len(engines.Simulators))
	}
	for _, s := range list {
		here := s.ID == vina.ID
		if s.Accepted != here || s.Available != here || (s.Hardware != "") != here || s.Title == "" || s.Aliases == nil ||
			s.Citations == nil {
			t.Errorf("%+v", s)
		}
		if want := []contract.SimulatorClass{{Class: "cpu", Available: true}}; here && !slices.Equal(s.Classes, want) || !here &&
			(s.Classes == nil || len(s.Classes) > 0) {
			t.Errorf("%s: classes %+v", s.ID, s.Classes)
		}
	}
}

func TestPricing(t *testing.T) {
	t.Parallel()
	w := &world{now: time.Unix(1e9, 0)}
	p := w.service(t).Pricing()
	if p.Currency != "GBP" || len(p.Plans) < 2 || p.Plans[0].MonthlyCreditsPence > p.Plans[1].MonthlyCreditsPence {
		t.Errorf("plans %+v", p.Plans)
	}
	if len(p.Tiers) != len(contract.TierIDs) || p.Tiers[0].ID != "topup-10" || p.Tiers[0].PricePence != 1000 {
		t.Errorf("tiers %+v", p.Tiers)
	}
	if len(p.Hardware) == 0 || p.Hardware[0].PencePerCoreHour <= 0 || len(p.Simulators) != 1 || p.Simulators[0].ID != vina.ID {
		t.Errorf("hardware %+v, simulators %+v", p.Hardware, p.Simulators)
	}
	if gpu := p.Hardware[len(p.Hardware)-1]; p.Hardware[0].PencePerDeviceHour != nil || gpu.Class != "gpu" ||
		gpu.PencePerDeviceHour == nil || *gpu.PencePerDeviceHour != 120 {
		t.Errorf("hardware %+v, want a price of devices for the class gpu alone", p.Hardware)
	}
}

// onDevices is an engine whose tasks may ask for a device.
type onDevices struct{ engines.Engine }

func (e onDevices) Spec() engines.Spec {
	spec := e.Engine.Spec()
	spec.GPU = true
	return spec
}

// TestSimulatorsOnDevices: a simulator shows the classes that the price book sells, and which of them a worker offers.
func TestSimulatorsOnDevices(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		queues []string
		want   []contract.SimulatorClass
	}{
		"no worker":       {nil, []contract.SimulatorClass{{Class: "cpu"}, {Class: "gpu"}}},
		"without devices": {[]string{"cpu." + vina.ID}, []contract.SimulatorClass{{Class: "cpu", Available: true}, {Class: "gpu"}}},
		"with devices": {[]string{"cpu." + vina.ID, "gpu." + vina.ID},
			[]contract.SimulatorClass{{Class: "cpu", Available: true}, {Class: "gpu", Available: true}}},
	} {
		w := &world{now: time.Unix(1e9, 0), workers: []queue.Heartbeat{worker(false, tt.queues...)}}
		s := w.service(t)
		s.deps.Engines = engines.NewRegistry(onDevices{vina.New()})
		for _, got := range s.Simulators(t.Context()) {
			if got.ID == vina.ID && !slices.Equal(got.Classes, tt.want) {
				t.Errorf("%s: classes %+v, want %+v", name, got.Classes, tt.want)
			}
		}
		if count := s.Status(t.Context()).Workers[0].Workers; count != min(len(tt.queues), 1) {
			t.Errorf("%s: %d workers, want one that serves any queue of it counted once", name, count)
		}
	}
}

// TestRepeats adds up what the store counts, once a while.
func TestRepeats(t *testing.T) {
	t.Parallel()
	w := &world{now: time.Unix(1e9, 0)}
	s, asked := w.service(t), 0
	s.deps.RepeatRate = 0.25
	s.deps.Repeats = func(_ context.Context, since time.Time) ([]scheduler.RepeatCount, error) {
		asked++
		if !since.Equal(w.now.Add(-recentRepeats)) {
			t.Errorf("counts since %s", since)
		}
		return []scheduler.RepeatCount{{Engine: "blastp", Verdict: "SAME", All: 9, Recent: 4},
			{Engine: "blastp", All: 2},
			{Engine: "swan", Verdict: "DIFFERENT", All: 1}, {Engine: "swan", Verdict: "NOT_COMPARABLE", All: 3, Recent: 3}}, nil
	}
	for range 2 {
		got, err := s.Repeats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.AllTime.Repeated != 13 || got.AllTime.Same != 9 || got.AllTime.Different != 1 || got.AllTime.NotComparable != 3 ||
			got.AllTime.SameRate == nil || *got.AllTime.SameRate != 0.9 || got.Open != 2 || got.Chance != 0.25 {
			t.Errorf("all time: %+v, %+v", got, got.AllTime)
		}
		if got.Recent.Repeated != 7 || *got.Recent.SameRate != 1 || len(got.Simulators) != 2 || got.Simulators[0].Open != 2 ||
			got.Simulators[1].Recent.SameRate != nil || *got.Simulators[1].AllTime.SameRate != 0 {
			t.Errorf("the rest: %+v", got)
		}
	}
	if asked != 1 {
		t.Errorf("counted %d times within a moment", asked)
	}
}
