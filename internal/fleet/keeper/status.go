package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Status is what a keeper saw and did at its last look.
type Status struct {
	Fleet string    `json:"fleet"`
	At    time.Time `json:"at"`
	// Error says why nothing was done; "" when something could be.
	Error    string       `json:"error,omitempty"`
	Cores    int          `json:"cores"` // of what waits and runs
	MaxCores int          `json:"maxCores"`
	Pools    []PoolStatus `json:"pools"`
	// CoreHours are those of the last 24 hours, with what the allocations that wait and run may still use; 0 where they are not
	// bounded.
	CoreHours    float64 `json:"coreHours"`
	MaxCoreHours float64 `json:"maxCoreHours"`
}

// PoolStatus is one pool of a Status.
type PoolStatus struct {
	Name    string `json:"name"`
	Wanted  int    `json:"wanted"`
	Running int    `json:"running"`
	Leaving int    `json:"leaving"`
	Pending int    `json:"pending"` // starts that were not answered included
	Others  int    `json:"others"`  // cores, or devices, of other workers that serve the same
	Started int    `json:"started"` // at the last look
	// Held says what keeps more from being started.
	Held string `json:"held,omitempty"`
	// Paused are the kinds of failure that pause the pool, with when that ends and the last message.
	Paused []Pause `json:"paused,omitempty"`
	// Error says why the demand is not known.
	Error       string       `json:"error,omitempty"`
	Allocations []Allocation `json:"allocations"` // that wait and run
}

// Pause is why a pool starts nothing for a while.
type Pause struct {
	Kind  string    `json:"kind"` // submit, short or silent
	Until time.Time `json:"until"`
	Last  string    `json:"last"`
}

func (l *look) status(now time.Time) PoolStatus {
	s := PoolStatus{Name: l.p.Name, Wanted: l.decided.wanted, Running: l.sight.running, Leaving: l.sight.leaving,
		Pending: len(l.sight.pending) + l.sight.unsure, Others: l.sight.others, Started: l.decided.start, Held: l.decided.held,
		Allocations: slices.DeleteFunc(slices.Clone(l.own), func(a Allocation) bool { return !a.live() })}
	if l.err != nil {
		s.Error = l.err.Error()
	}
	for _, kind := range []string{refused, shortly, silent} {
		if b := l.p.breakers[kind]; b.paused(now) {
			s.Paused = append(s.Paused, Pause{kind, b.until.UTC(), b.last})
		}
	}
	return s
}

// last are the pools as they were last seen.
func (k *Keeper) last() []PoolStatus { return k.Status().Pools }

// Status is what the keeper saw and did at its last look.
func (k *Keeper) Status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

func (k *Keeper) show(s Status) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state = s
	k.metrics.show(s)
}

type metrics struct {
	wanted, running, pending, paused *prometheus.GaugeVec
	failures                         *prometheus.CounterVec
	cores, coreHours, known          prometheus.Gauge
}

func newMetrics(registry prometheus.Registerer) *metrics {
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &metrics{
		wanted:  gauges("molfabric_fleet_wanted", "Workers that a pool is to have.", "pool"),
		running: gauges("molfabric_fleet_running", "Allocations of a pool that run.", "pool"),
		pending: gauges("molfabric_fleet_pending", "Allocations of a pool that wait for their start.", "pool"),
		paused: gauges("molfabric_fleet_paused",
			"1 while a pool starts nothing, because of failures of a kind: submit, short or silent.", "pool", "kind"),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "molfabric_fleet_start_failures_total",
			Help: "Starts that failed, allocations that failed within a minute, and such whose worker never said hello."},
			[]string{"pool", "kind"}),
		cores:     gauge("molfabric_fleet_cores", "Cores of the fleet's allocations, those that wait included."),
		coreHours: gauge("molfabric_fleet_core_hours", "Core-hours of the last 24 hours, and such that are set aside."),
		known:     gauge("molfabric_fleet_known", "1 when the last look could tell what was started and what waits, else 0."),
	}
	registry.MustRegister(m.wanted, m.running, m.pending, m.paused, m.failures, m.cores, m.coreHours, m.known)
	return m
}

func (m *metrics) show(s Status) {
	known := s.Error == ""
	for _, p := range s.Pools {
		known = known && p.Error == ""
		m.running.WithLabelValues(p.Name).Set(float64(p.Running + p.Leaving))
		m.pending.WithLabelValues(p.Name).Set(float64(p.Pending))
		if p.Error == "" {
			m.wanted.WithLabelValues(p.Name).Set(float64(p.Wanted))
		}
		for _, kind := range []string{refused, shortly, silent} {
			paused := slices.ContainsFunc(p.Paused, func(pause Pause) bool { return pause.Kind == kind })
			m.paused.WithLabelValues(p.Name, kind).Set(one(paused))
		}
	}
	m.known.Set(one(known))
	if s.Error == "" {
		m.cores.Set(float64(s.Cores))
		m.coreHours.Set(s.CoreHours)
	}
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// headerPatience is how long a scrape may take to say what it wants.
const headerPatience = 5 * time.Second

// Serve shows /metrics, /fleet/status and /healthz at the file's address until the context ends. It returns once the address is
// open.
func (k *Keeper) Serve(ctx context.Context, gatherer prometheus.Gatherer) (wait func() error, err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", k.File.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen: another keeper may run here with the same pools file: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"alive":true}`) })
	mux.HandleFunc("GET /fleet/status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(k.Status()) // who has gone needs no answer
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerPatience}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	return func() error {
		err := errors.Join(server.Close(), <-failed)
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}, nil
}

// AskStatus asks the keeper of a pools file for its state.
func AskStatus(ctx context.Context, f File) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, demandPatience)
	defer cancel()
	var s Status
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.Listen+"/fleet/status", nil)
	if err != nil {
		return s, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return s, fmt.Errorf("no keeper answers at %s, the pools file's listen; `molfabric fleet slurm` or "+
			"`molfabric fleet local` starts one: %w", f.Listen, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxDemandBytes)).Decode(&s); err != nil {
		return s, fmt.Errorf("read what the keeper at %s says: %w", f.Listen, err)
	}
	if s.Fleet != f.Fleet {
		return s, fmt.Errorf("at %s answers the keeper of the fleet %q, and not of %q", f.Listen, s.Fleet, f.Fleet)
	}
	return s, nil
}
