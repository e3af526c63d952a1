package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/internal/fleet"
)

const example = `
fleet: lab
demand: http://127.0.0.1:9090/fleet/demand
maxCores: 64
worker:
  program: /opt/molfabric/bin/molfabric
pools:
  - name: cpu
    classes: ["cpu.*"]
    cores: 16
    memoryMiB: 32768
    walltime: 4h
    max: 4
`

// TestFile: what is left out has its default, and what is wrong is named with its field.
func TestFile(t *testing.T) {
	t.Parallel()
	f, err := parse([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	p := f.Pools[0]
	if f.Every != 30*time.Second || f.Listen != "127.0.0.1:9191" || p.IdleExit != 5*time.Minute || p.MaxQueued != 2 ||
		p.Target != 10*time.Minute || p.Longest() != 4*time.Hour-150*time.Second {
		t.Errorf("the defaults are %+v, and tasks fit of %s", f, p.Longest())
	}
	for change, want := range map[string]string{
		"fleet: lab → fleet: Lab_1":                      "fleet: ",
		"demand: http → demand: ftp":                     "demand: ",
		"maxCores: 64 → maxCores: 0":                     "maxCores: 0",
		"maxCores: 64 → maxCors: 64":                     "maxCors",
		"maxCores: 64 → maxCores: 8":                     "pools[0].cores: 16, but maxCores is 8",
		"maxCores: 64 → maxCores: 64\nevery: 1h":         "every: 1h0m0s",
		"maxCores: 64 → maxCores: 64\nlisten: here":      "listen: ",
		"maxCores: 64 → maxCores: 64\nmaxPencePerDay: 5": "maxPencePerDay: goes with pencePerCoreHour",
		"maxCores: 64 → maxCores: 64\nmaxCoreHoursPerDay: 63": "pools[0].walltime: one allocation may use 64.0 core-hours, and a " +
			"day has 63.0",
		"program: /opt → program: opt":                                                     "worker.program: ",
		"name: cpu → name: cpu.1":                                                          "pools[0].name: ",
		"cores: 16 → cores: 0":                                                             "pools[0].cores: 0",
		"memoryMiB: 32768 → memoryMiB: 32":                                                 "pools[0].memoryMiB: 32",
		"walltime: 4h → walltime: 4m":                                                      "pools[0].walltime: 4m0s",
		"walltime: 4h → walltime: 4h\n    drainGrace: 3h":                                  "pools[0].drainGrace: 3h0m0s",
		"walltime: 4h → walltime: 4h\n    idleExit: 5h":                                    "pools[0].idleExit: 5h0m0s",
		"max: 4 → max: 4\n    min: 5":                                                      "pools[0].max: 4, min: 5",
		"max: 4 → max: 4\n    maxQueued: 1000":                                             "pools[0].maxQueued: 1000",
		"max: 4 → max: 4\n    target: 1m":                                                  "pools[0].target: 1m0s",
		"max: 4 → max: 4\n    gpus: -1":                                                    "pools[0].gpus: -1",
		"max: 4 → max: 4\n    partition: a b":                                              "pools[0].partition: ",
		"max: 4 → max: 4\n    options: [-n4]":                                              "pools[0].options[0]: ",
		"max: 4 → max: 4\n    options: [\"--requeue\"]":                                    "pools[0].options[0]: --requeue is",
		`["cpu.*"] → ["["]`:                                                                "pools[0].classes[0]: ",
		"max: 4 → max: 4\n  - {name: cpu, cores: 1, memoryMiB: 512, walltime: 1h, max: 1}": "pools[1].name: ",
	} {
		from, to, _ := strings.Cut(change, " → ")
		text := strings.Replace(example, from, to, 1)
		if text == example {
			t.Fatalf("%q changes nothing", change)
		}
		if _, err := parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", change, err, want)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	pending := func(ids ...string) (found []Allocation) {
		for _, id := range ids {
			found = append(found, Allocation{ID: id, State: Pending})
		}
		return found
	}
	p := Pool{Cores: 4, Walltime: time.Hour, Max: 10, MaxQueued: 3}
	least, device := p, p
	least.Min, device.GPUs = 2, 1
	for name, c := range map[string]struct {
		pool   Pool
		sight  sight
		start  int
		cancel []string
		held   string
	}{
		"nothing wanted":           {p, sight{cores: 100}, 0, nil, ""},
		"some wanted":              {p, sight{wanted: 2, cores: 100}, 2, nil, ""},
		"no more than may wait":    {p, sight{wanted: 9, cores: 100}, 3, nil, "maxQueued"},
		"some wait already":        {p, sight{wanted: 9, cores: 100, pending: pending("1", "2")}, 1, nil, "maxQueued"},
		"unanswered starts count":  {p, sight{wanted: 9, cores: 100, unsure: 3}, 0, nil, "maxQueued"},
		"enough run":               {p, sight{wanted: 3, running: 3, cores: 100}, 0, nil, ""},
		"too many run":             {p, sight{wanted: 1, running: 3, cores: 100, surplusy: true}, 0, nil, ""},
		"the pool's most":          {p, sight{wanted: 50, running: 9, cores: 100}, 1, nil, ""},
		"those that leave count":   {p, sight{wanted: 10, running: 8, leaving: 2, cores: 100}, 0, nil, "max:"},
		"a leaving one's place":    {p, sight{wanted: 2, running: 1, leaving: 1, cores: 100}, 1, nil, ""},
		"the fleet's cores":        {p, sight{wanted: 3, cores: 7}, 1, nil, "maxCores"},
		"no cores":                 {p, sight{wanted: 3, cores: -2}, 0, nil, "maxCores"},
		"the budget":               {p, sight{wanted: 3, cores: 100, bounded: true, seconds: 2*4*3600 + 1}, 2, nil, "budget"},
		"the budget is overdrawn":  {p, sight{wanted: 3, cores: 100, bounded: true, seconds: -5}, 0, nil, "budget"},
		"others do it":             {p, sight{wanted: 3, others: 12, cores: 100}, 0, nil, ""},
		"others do some of it":     {p, sight{wanted: 3, others: 7, cores: 100}, 2, nil, ""},
		"others' devices":          {device, sight{wanted: 3, others: 2, cores: 100}, 1, nil, ""},
		"the least, others or not": {least, sight{others: 100, cores: 100}, 2, nil, ""},
		"paused":                   {p, sight{wanted: 3, cores: 100, paused: "why"}, 0, nil, "paused: why"},
		"one try after a pause":    {p, sight{wanted: 3, cores: 100, probing: true}, 1, nil, "after a pause"},
		"the try is on its way":    {p, sight{wanted: 3, cores: 100, probing: true, unsure: 1}, 0, nil, "after a pause"},
		"too many wait, just now":  {p, sight{wanted: 1, cores: 100, pending: pending("1", "2")}, 0, nil, ""},
		"too many wait": {p, sight{wanted: 1, cores: 100, pending: pending("9", "11", "10"), surplusy: true}, 0,
			[]string{"11", "10"}, ""},
		"none of those that run": {p, sight{running: 2, cores: 100, pending: pending("9"), surplusy: true}, 0, []string{"9"}, ""},
	} {
		d := decide(c.pool, c.sight)
		held := strings.Contains(d.held, c.held) && (c.held == "") == (d.held == "")
		if d.start != c.start || !slices.Equal(d.cancel, c.cancel) || !held {
			t.Errorf("%s: starts %d, cancels %q, held by %q; want %d, %q, %q", name, d.start, d.cancel, d.held, c.start, c.cancel,
				c.held)
		}
	}
}

// TestBreaker: three failures in a row pause, each pause is longer, and one success ends it all.
func TestBreaker(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	var b breaker
	b.fail(now, "one")
	b.fail(now, "two")
	if b.paused(now) || b.probing(now) {
		t.Error("two failures pause")
	}
	for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		b.fail(now, "again")
		if !b.paused(now.Add(want-time.Second)) || b.paused(now.Add(want)) || !b.probing(now.Add(want)) {
			t.Errorf("paused until %s, want for %s", b.until, want)
		}
		now = now.Add(want)
	}
	for range 20 {
		b.fail(now, "again")
		now = b.until
	}
	if b.fail(now, "again"); b.until.Sub(now) != time.Hour {
		t.Errorf("the longest pause is %s", b.until.Sub(now))
	}
	if b.succeed(); b.paused(now) || b.probing(now) {
		t.Error("a success does not end the pause")
	}
}

// TestUsage: the day slides, what runs is set aside to its end, and what is not found any more counts until it was missed.
func TestUsage(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "usage.json")
	u, err := openUsage(path)
	if err != nil {
		t.Fatal(err)
	}
	hours := func(at time.Time) (spent, reserved float64) {
		spent, reserved = u.spent(at)
		return spent / 3600, reserved / 3600
	}
	walltime := func(string) time.Duration { return 4 * time.Hour }
	u.observe(now, []Allocation{
		{Token: "runs", State: Running, Cores: 2, Since: now.Add(-time.Hour), Until: now.Add(3 * time.Hour)},
		{Token: "ended", State: Ended, Cores: 4, Since: now.Add(-25 * time.Hour), Until: now.Add(-23 * time.Hour)},
		{Token: "waits", State: Pending, Cores: 8}}, walltime)
	if spent, reserved := hours(now); spent != 2+4 || reserved != 6 {
		t.Errorf("spent %g and set aside %g core-hours, want 6 and 6", spent, reserved)
	}
	if err := u.save(); err != nil {
		t.Fatal(err)
	}
	if u, err = openUsage(path); err != nil {
		t.Fatal(err)
	}
	later := now.Add(time.Hour)
	u.observe(later, nil, walltime)
	if spent, reserved := hours(later); spent != 4 || reserved != 0 {
		t.Errorf("after an hour spent %g and set aside %g core-hours, want 4 and 0", spent, reserved)
	}
	if u.observe(now.Add(26*time.Hour), nil, walltime); len(u.records) != 0 {
		t.Errorf("after a day %v is remembered", u.records)
	}
	if err := os.WriteFile(path, []byte("{half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openUsage(path); err == nil || !strings.Contains(err.Error(), "usage: ") {
		t.Errorf("half a file gives %v", err)
	}
}

// machine is a driver over a list. It can be away, and take starts without saying so.
type machine struct {
	found     []Allocation
	started   int
	cancelled []string
	away      error // of List
	refuses   error // of Start
	loses     bool  // a refused start has happened all the same, and is found later
}

func (*machine) Check(context.Context, Pool) error { return nil }
func (m *machine) Start(_ context.Context, p Pool, token string) error {
	if m.refuses == nil || m.loses {
		m.started++
		id := fmt.Sprint(m.started)
		m.found = append(m.found, Allocation{ID: id, Pool: p.Name, Token: token, Worker: "w" + id, State: Pending, Cores: p.Cores})
	}
	return m.refuses
}
func (m *machine) List(context.Context) ([]Allocation, error) { return slices.Clone(m.found), m.away }
func (m *machine) Cancel(_ context.Context, ids []string) error {
	m.cancelled = append(m.cancelled, ids...)
	m.found = slices.DeleteFunc(m.found, func(a Allocation) bool { return slices.Contains(ids, a.ID) })
	return nil
}

// lab is a keeper over a machine, and the demand that it is told.
type lab struct {
	*Keeper
	machine *machine
	demand  fleet.Demand
	status  int
	now     time.Time
}

func newLab(t *testing.T, more string) *lab {
	t.Helper()
	l := &lab{machine: &machine{}, status: http.StatusOK, now: time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("walltime"); got != "14250" {
			t.Errorf("asked for tasks of up to %s s, want 14250", got)
		}
		w.WriteHeader(l.status)
		_ = json.NewEncoder(w).Encode(l.demand)
	}))
	t.Cleanup(server.Close)
	f, err := parse([]byte(strings.Replace(example, "http://127.0.0.1:9090", server.URL, 1) + more))
	if err != nil {
		t.Fatal(err)
	}
	f.Usage = filepath.Join(t.TempDir(), "usage.json")
	if l.Keeper, err = New(f, l.machine, slog.New(slog.DiscardHandler), prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	l.Now = func() time.Time { return l.now }
	return l
}

// round is a look half a minute later.
func (l *lab) round() PoolStatus {
	l.now = l.now.Add(30 * time.Second)
	l.Round(context.Background())
	return l.Status().Pools[0]
}

// run starts all that waits, and has the workers say hello.
func (l *lab) run() {
	for i := range l.machine.found {
		a := &l.machine.found[i]
		if a.State == Pending {
			a.State, a.Since, a.Until = Running, l.now, l.now.Add(4*time.Hour)
			l.demand.Workers = append(l.demand.Workers, fleet.Worker{Name: a.Worker, Slots: 16, Classes: []string{"cpu.openmm"}})
		}
	}
}

// TestRounds: a fleet grows to what is wanted, within its bounds, stays as it is when nobody knows anything, and takes back only
// what waits.
func TestRounds(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	if p := l.round(); p.Started != 0 {
		t.Errorf("without demand: %+v", p)
	}
	l.demand.Wanted = 9
	if p := l.round(); p.Started != 2 || p.Held == "" {
		t.Errorf("of nine wanted: %+v, want 2 started", p)
	}
	if p := l.round(); p.Started != 0 || p.Pending != 2 {
		t.Errorf("while two wait: %+v", p)
	}
	l.run()
	l.round()
	l.run()
	if p := l.round(); p.Running != 4 || p.Started != 0 || l.Status().Cores != 64 {
		t.Errorf("at the pool's most: %+v with %d cores", p, l.Status().Cores)
	}
	l.status = http.StatusServiceUnavailable
	if p := l.round(); p.Error == "" || p.Started != 0 || len(l.machine.cancelled) != 0 {
		t.Errorf("with the demand away: %+v", p)
	}
	l.status, l.machine.away = http.StatusOK, errors.New("slurmctld is away")
	if l.round(); l.machine.started != 4 || l.Status().Error == "" {
		t.Errorf("with the machine away: %+v", l.Status())
	}
	l.machine.away = nil
	l.demand.Workers[0].Draining = true
	l.machine.found = l.machine.found[:3]
	if p := l.round(); p.Leaving != 1 || p.Running != 2 || p.Started != 1 {
		t.Errorf("one leaves and one has left: %+v, want 1 started: four is the most", p)
	}
	l.demand.Wanted = 0
	l.round()
	if p := l.round(); len(l.machine.cancelled) != 1 || l.machine.cancelled[0] != "5" || p.Running != 2 {
		t.Errorf("with nothing wanted %q were taken back, want the one that waits; %+v", l.machine.cancelled, p)
	}
}

// TestOthersCount: workers that somebody else has started, and serve the same, are not started twice; those of other classes do not
// count.
func TestOthersCount(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	l.demand = fleet.Demand{Wanted: 2, Workers: []fleet.Worker{{ID: "a", Slots: 16, Classes: []string{"cpu.openmm"}},
		{ID: "b", Slots: 64, Classes: []string{"gpu.openmm"}},
		{ID: "c", Slots: 64, Draining: true, Classes: []string{"cpu.openmm"}}}}
	if p := l.round(); p.Started != 1 || p.Others != 16 {
		t.Errorf("%+v, want 1 started beside 16 cores of others", p)
	}
}

// TestTwoPools: what one pool is about to have is not started by another that serves the same.
func TestTwoPools(t *testing.T) {
	t.Parallel()
	l := newLab(t, "  - {name: spare, classes: [\"cpu.*\"], cores: 16, memoryMiB: 512, walltime: 4h, max: 4}\n")
	l.demand = fleet.Demand{Wanted: 2, Classes: []fleet.Backlog{{Class: "cpu.openmm", Waiting: 1}}}
	l.round()
	if s := l.Status(); s.Pools[0].Started != 2 || s.Pools[1].Started != 0 {
		t.Errorf("the pools are %+v, want the first alone to start", s.Pools)
	}
}

// TestUnansweredStart: a start that failed may have happened: it counts until it is found, or is too late.
func TestUnansweredStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		loses bool
		after int
	}{"it had happened": {true, 1}, "it had not": {false, 0}} {
		l := newLab(t, "")
		l.demand.Wanted = 1
		l.machine.refuses, l.machine.loses = errors.New("socket timed out"), c.loses
		l.round()
		l.machine.refuses = nil
		if l.round(); l.machine.started != c.after {
			t.Errorf("%s: %d started, want %d", name, l.machine.started, c.after)
		}
		l.now = l.now.Add(2 * time.Minute)
		if l.round(); l.machine.started != 1 {
			t.Errorf("%s: %d started in the end, want 1", name, l.machine.started)
		}
	}
}

// TestBudget: with what runs set aside to its end, a day's core-hours are never passed.
func TestBudget(t *testing.T) {
	t.Parallel()
	l := newLab(t, "maxCoreHoursPerDay: 150\n")
	l.demand.Wanted = 4
	if p := l.round(); p.Started != 2 || l.Status().CoreHours != 128 {
		t.Errorf("%+v, %g core-hours, want 2 started and 128 set aside", p, l.Status().CoreHours)
	}
	l.run()
	if p := l.round(); p.Started != 0 || !strings.Contains(p.Held, "budget") {
		t.Errorf("with 22 core-hours left: %+v", p)
	}
	l.now = l.now.Add(time.Hour)
	for i := range l.machine.found {
		l.machine.found[i].State, l.machine.found[i].Until = Ended, l.now
	}
	l.demand.Workers = nil
	if p := l.round(); p.Started != 1 {
		t.Errorf("two have used an hour each, about 32 core-hours: %+v, want 1 started", p)
	}
}

// TestPauses: allocations that fail at once, and such that no worker is heard of, pause the pool, and show why.
func TestPauses(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	l.demand.Wanted = 1
	for range 3 {
		l.round()
		for i := range l.machine.found {
			if a := &l.machine.found[i]; a.State == Pending {
				a.State, a.Reason, a.Since, a.Until = Failed, "F NonZeroExitCode", l.now, l.now.Add(time.Second)
			}
		}
	}
	p := l.round()
	if len(p.Paused) != 1 || p.Paused[0].Kind != "short" || p.Started != 0 ||
		!strings.Contains(p.Paused[0].Last, "NonZeroExitCode") {
		t.Errorf("after three short lives: %+v", p)
	}
	l.now = l.now.Add(time.Minute)
	if p := l.round(); p.Started != 1 {
		t.Errorf("after the pause: %+v, want one try", p)
	}
	l.run()
	l.now = l.now.Add(time.Minute)
	if l.round(); l.pools[0].breakers["short"].pauses != 0 {
		t.Error("a worker that works does not end the pause")
	}
	silentLab := newLab(t, "")
	silentLab.demand.Wanted = 4
	for range 2 {
		silentLab.round()
		silentLab.run()
	}
	silentLab.demand.Workers = nil
	silentLab.now = silentLab.now.Add(4 * time.Minute)
	if p := silentLab.round(); len(p.Paused) != 1 || p.Paused[0].Kind != "silent" {
		t.Errorf("with four silent workers: %+v", p)
	}
}
