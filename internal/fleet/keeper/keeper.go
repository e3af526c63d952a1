package keeper

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/molfabric/molfabric/internal/fleet"
)

const (
	// callPatience bounds one call of a driver: a batch system that is away takes ten seconds to say so.
	callPatience = 45 * time.Second
	// unsureFor is how long a start that was not answered counts as one: a busy batch system may list a job later.
	unsureFor = 2 * time.Minute
	// shortLife is what an allocation that failed has not even lived.
	shortLife = time.Minute
	// helloPatience is how long an allocation may run before its worker is known to the fabric.
	helloPatience = 3 * time.Minute
)

// The kinds of failure that pause a pool.
const (
	refused = "submit" // starts failed
	shortly = "short"  // allocations failed within a minute
	silent  = "silent" // no worker said hello
)

// Keeper keeps a fleet. Make one with New and call Run once.
type Keeper struct {
	File   File
	Driver Driver
	Log    *slog.Logger
	Now    func() time.Time

	pools   []*pool
	usage   *usage // nil: the use of a day is not bounded
	metrics *metrics

	mu    sync.Mutex
	state Status
}

// pool is what the keeper knows of a pool between two looks. It may all be lost.
type pool struct {
	Pool
	breakers map[string]*breaker
	unsure   map[string]time.Time // tokens of starts of which nobody knows what became, with when they count no more
	judged   map[string]bool      // ids of ended or silent allocations that have been judged
	surplus  bool
}

// New prepares a keeper; nothing is started yet.
func New(file File, driver Driver, log *slog.Logger, registry prometheus.Registerer) (*Keeper, error) {
	k := &Keeper{File: file, Driver: driver, Log: log, Now: time.Now, metrics: newMetrics(registry)}
	for _, p := range file.Pools {
		k.pools = append(k.pools, &pool{Pool: p, unsure: map[string]time.Time{}, judged: map[string]bool{},
			breakers: map[string]*breaker{refused: {}, shortly: {}, silent: {}}})
	}
	if file.coreSecondsPerDay() > 0 {
		var err error
		if k.usage, err = openUsage(file.Usage); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// Run looks and acts until the context ends. What it has started goes on.
func (k *Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(k.File.Every)
	defer ticker.Stop()
	for {
		k.Round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Round looks once, and starts and takes back what is to be.
func (k *Keeper) Round(ctx context.Context) {
	status := Status{Fleet: k.File.Fleet, At: k.Now().UTC(), MaxCores: k.File.MaxCores}
	defer func() { k.show(status) }()
	found, err := k.list(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.Log.Warn("what was started is not known; nothing is done", "error", err)
		}
		status.Error = "what was started is not known: " + err.Error()
		status.Pools = k.last()
		return
	}
	room, err := k.room(found)
	if err != nil {
		k.Log.Error("nothing is started", "error", err)
		status.Error = err.Error()
	}
	var before []*look // of the pools that come first
	for _, p := range k.pools {
		l := k.look(ctx, p, found, before)
		before = append(before, l)
		if err == nil && l.err == nil {
			k.act(ctx, l, &room)
		}
		status.Pools = append(status.Pools, l.status(k.Now()))
	}
	status.Cores = k.File.MaxCores - room.cores
	status.CoreHours, status.MaxCoreHours = room.used/time.Hour.Seconds(), k.File.coreSecondsPerDay()/time.Hour.Seconds()
}

func (k *Keeper) list(ctx context.Context) ([]Allocation, error) {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	return k.Driver.List(ctx)
}

// room is what the whole fleet may still have.
type room struct {
	cores   int
	seconds float64 // core-seconds of the day
	bounded bool
	used    float64 // or set aside
}

// take takes one allocation out of the room.
func (r *room) take(p Pool) {
	r.cores -= p.Cores
	r.seconds -= p.coreSeconds()
	r.used += p.coreSeconds()
}

// room counts what all allocations have and may use. It fails when what is used cannot be remembered.
func (k *Keeper) room(found []Allocation) (room, error) {
	r := room{cores: k.File.MaxCores}
	walltimes := map[string]time.Duration{}
	for _, p := range k.pools {
		walltimes[p.Name] = p.Walltime
		for range p.forgetSure(found, k.Now()) {
			r.take(p.Pool)
		}
	}
	for _, a := range found {
		if !a.live() {
			continue
		}
		r.cores -= a.Cores
		if a.State == Pending {
			r.used += float64(a.Cores) * walltimes[a.Pool].Seconds()
		}
	}
	if k.usage == nil {
		r.seconds, r.used = 0, 0
		return r, nil
	}
	k.usage.observe(k.Now(), found, func(name string) time.Duration { return walltimes[name] })
	spent, reserved := k.usage.spent(k.Now())
	r.used += spent + reserved
	r.bounded, r.seconds = true, k.File.coreSecondsPerDay()-r.used
	return r, k.usage.save()
}

// forgetSure lets go of unanswered starts that were found, or are too old to come, and returns the others.
func (p *pool) forgetSure(found []Allocation, now time.Time) map[string]time.Time {
	for _, a := range found {
		delete(p.unsure, a.Token)
	}
	for token, until := range p.unsure {
		if now.After(until) {
			delete(p.unsure, token)
		}
	}
	return p.unsure
}

// look is what was seen of a pool in a round.
type look struct {
	p       *pool
	demand  fleet.Demand
	err     error // the demand is not known
	sight   sight
	own     []Allocation
	unheard int // running allocations whose workers have not said hello
	decided decision
}

// look asks for the demand of a pool and counts what serves it. before are the pools that were looked at first: what they are about
// to have counts as others' workers.
func (k *Keeper) look(ctx context.Context, p *pool, found []Allocation, before []*look) *look {
	l := &look{p: p}
	for _, a := range found {
		if a.Pool == p.Name {
			l.own = append(l.own, a)
		}
	}
	l.demand, l.err = k.ask(ctx, p.Pool)
	if l.err != nil && ctx.Err() == nil {
		k.Log.Warn("what waits is not known; the pool stays as it is", "pool", p.Name, "error", l.err)
	}
	l.count()
	for _, other := range before {
		l.sight.others += other.coming(l)
	}
	k.judge(l)
	return l
}

// count tells the workers of the pool from others that serve its classes.
func (l *look) count() {
	p, s := l.p, &l.sight
	s.wanted, s.unsure, s.surplusy = l.demand.Wanted, len(p.unsure), p.surplus
	workers := map[string]fleet.Worker{}
	for _, w := range l.demand.Workers {
		if w.Name != "" {
			workers[w.Name] = w
		}
	}
	mine := map[string]bool{}
	for _, a := range l.own {
		mine[a.Worker] = true
		w, known := workers[a.Worker]
		switch {
		case a.State == Pending:
			s.pending = append(s.pending, a)
		case a.State == Running && w.Draining:
			s.leaving++
		case a.State == Running:
			s.running++
			if !known {
				l.unheard++
			}
		}
	}
	asked := p.asked()
	for _, w := range l.demand.Workers {
		if !mine[w.Name] && !w.Draining && slices.ContainsFunc(w.Classes, asked.Serves) {
			s.others += places(p.Pool, w.Slots, w.Devices)
		}
	}
}

// places are those that count for a pool: devices for one that has some, cores otherwise.
func places(p Pool, cores, devices int) int {
	if p.GPUs > 0 {
		return devices
	}
	return cores
}

// coming are the places that a pool is about to have for the work of another one.
func (l *look) coming(other *look) int {
	mine, theirs := l.p.asked(), other.p.asked()
	common := slices.ContainsFunc(other.demand.Classes, func(b fleet.Backlog) bool {
		return b.Waiting+b.Running > 0 && mine.Serves(b.Class) && theirs.Serves(b.Class)
	})
	if !common {
		return 0
	}
	n := len(l.sight.pending) + l.sight.unsure + l.unheard + l.decided.start
	return n * places(other.p.Pool, l.p.Cores, l.p.GPUs)
}

// judge learns from what has happened to the pool's allocations since the last look.
func (k *Keeper) judge(l *look) {
	now, listed := k.Now(), map[string]bool{}
	for _, a := range l.own {
		listed[a.ID] = true
		heard := slices.ContainsFunc(l.demand.Workers, func(w fleet.Worker) bool { return w.Name == a.Worker })
		switch {
		case l.p.judged[a.ID]:
		case a.State == Failed && a.Until.Sub(a.Since) < shortLife:
			k.fail(l.p, shortly, a, fmt.Sprintf("%s failed within a minute: %s", a.ID, a.Reason))
		case a.State == Running && heard:
			l.p.breakers[silent].succeed()
			if now.Sub(a.Since) >= shortLife {
				l.p.breakers[shortly].succeed()
			}
		case a.State == Running && l.err == nil && now.Sub(a.Since) > helloPatience:
			k.fail(l.p, silent, a, a.ID+" runs, and no worker has said hello")
		}
	}
	for id := range l.p.judged {
		if !listed[id] {
			delete(l.p.judged, id)
		}
	}
	for kind, b := range l.p.breakers {
		if b.paused(now) {
			l.sight.paused = fmt.Sprintf("%s until %s: %s", kind, b.until.UTC().Format(time.RFC3339), b.last)
		}
		l.sight.probing = l.sight.probing || b.probing(now)
	}
}

func (k *Keeper) fail(p *pool, kind string, a Allocation, why string) {
	if a.ID != "" {
		p.judged[a.ID] = true
	}
	p.breakers[kind].fail(k.Now(), why)
	k.metrics.failures.WithLabelValues(p.Name, kind).Inc()
	k.Log.Warn("an allocation has failed", "pool", p.Name, "kind", kind, "why", why, "in_a_row", p.breakers[kind].failures)
}

// act does what is decided for a pool. The first start that fails is the round's last: a batch system that is busy is left alone.
func (k *Keeper) act(ctx context.Context, l *look, r *room) {
	s := l.sight
	s.cores, s.seconds, s.bounded = r.cores, r.seconds, r.bounded
	l.decided = decide(l.p.Pool, s)
	l.p.surplus = l.decided.wanted < s.running+len(s.pending)+s.unsure
	for range l.decided.start {
		token := newToken()
		l.p.unsure[token] = k.Now().Add(unsureFor)
		r.take(l.p.Pool)
		if err := k.start(ctx, l.p.Pool, token); err != nil {
			k.fail(l.p, refused, Allocation{}, err.Error())
			break
		}
		l.p.breakers[refused].succeed()
		k.Log.Info("started an allocation", "pool", l.p.Name, "token", token, "wanted", l.decided.wanted)
	}
	if len(l.decided.cancel) > 0 {
		k.Log.Info("takes waiting allocations back", "pool", l.p.Name, "ids", l.decided.cancel, "wanted", l.decided.wanted)
		ctx, cancel := context.WithTimeout(ctx, callPatience)
		defer cancel()
		if err := k.Driver.Cancel(ctx, l.decided.cancel); err != nil {
			k.Log.Warn("waiting allocations were not taken back", "pool", l.p.Name, "error", err)
		}
	}
}

func (k *Keeper) start(ctx context.Context, p Pool, token string) error {
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	return k.Driver.Start(ctx, p, token)
}

// Check tries every pool, starts nothing, and says which would not be started.
func (k *Keeper) Check(ctx context.Context) map[string]error {
	wrong := map[string]error{}
	for _, p := range k.pools {
		ctx, cancel := context.WithTimeout(ctx, callPatience)
		if err := k.Driver.Check(ctx, p.Pool); err != nil {
			wrong[p.Name] = err
		}
		cancel()
	}
	return wrong
}
