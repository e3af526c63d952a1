package sim

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

const (
	// minSteps and maxSteps bound the actions of a history before it heals: enough for a few jobs to meet a few faults.
	minSteps = 60
	maxSteps = 240
	// maxJobs and maxWorkers keep a history small, so that its jobs and faults meet.
	maxJobs    = 6
	maxWorkers = 4
	// maxSlices bounds how often the processes that are under way at the end are given their turn; a few thousand are enough.
	maxSlices = 100_000
	// maxSkewMs is how wrong a clock may be: more than a heartbeat, less than what makes a worker lost.
	maxSkewMs = 2000
	// maxTrace bounds what is remembered of a history for its report.
	maxTrace = 20_000
)

// ground is the store under a history: memory, or Postgres in a test that compares the two.
type ground interface {
	scheduler.Store
	// OpenAccount opens an account of a plan of the price book.
	OpenAccount(ctx context.Context, ledger *billing.Ledger, accountID, plan string, now time.Time) error
	// Seat sets up an account's licence server.
	Seat(ctx context.Context, accountID string, seats seating) error
	// Statuses are those of all jobs, by id.
	Statuses(ctx context.Context) (map[string]job.Status, error)
}

// setting is what all histories of a run share.
type setting struct {
	prices  *billing.Book
	metrics *scheduler.Metrics
	engines *engines.Registry
	log     *slog.Logger
}

// newSetting reads the price book that comes with the program, and adds a plan that can pay for a job or two.
func newSetting() (*setting, error) {
	prices, err := billing.LoadBook("")
	if err != nil {
		return nil, err
	}
	prices.Plans[poorPlan] = billing.Plan{MonthlyPence: 12}
	return &setting{prices: prices, metrics: scheduler.NewMetrics(nil), engines: engines.NewRegistry(threeStages{}),
		log: slog.New(slog.DiscardHandler)}, nil
}

// script says which history happens: the seed decides everything that the others leave open.
type script struct {
	seed    uint64
	steps   int             // at most so many actions; 0 for as many as the seed says
	without map[string]bool // actions that do not happen
	planted *Bug
	traced  bool
	serial  bool   // one operation happens after the other
	ground  ground // nil for memory
}

// history is one simulated life of a deployment: two leaders, an API, clients, workers, their transport, and a clock that only its
// actions turn. Everything happens on one goroutine at a time, in an order that the seed decides.
type history struct {
	script
	*setting
	rng *rand.Rand
	// secrets are the claims' own random numbers, so that what they are does not decide what happens.
	secrets *rand.ChaCha8
	forged  int64 // heartbeats
	hours   int   // that have passed at once
	clock   time.Time
	memory  *memory
	ground  ground
	ledger  *billing.Ledger
	// store and queue are what the product sees: the ground and the transport, or a planted bug around them.
	store     scheduler.Store
	queue     scheduler.Queue
	transport *transport
	instances []*instance
	made      map[string]int // ids, by prefix

	processes []*process
	current   *process
	scratch   []*process
	healing   bool    // nothing goes wrong any more
	skewed    bool    // the clocks of the instances differ
	eager     float64 // how likely processes go on rather than something new happens

	clients []*client
	jobs    []*submitted
	workers []*laborer
	runs    map[queue.Ref][]*run // who ever claimed an attempt
	order   []*run               // the same, in the order of the claims
	seen    sightings

	violations []string
	digest     uint64
	trace      []string
}

// client is an account and what it owns at first.
type client struct {
	id, plan string
	pence    int64
}

const poorPlan = "poor"

// instance is a process of the operating system: what it remembers dies with it.
type instance struct {
	name   string
	born   int
	skew   time.Duration // of its clock
	s      *scheduler.Scheduler
	leader *scheduler.Leader
	ctx    context.Context //nolint:containedctx // the life of the instance's operations, which a crash ends
	cancel context.CancelFunc
	busy   map[string]bool
}

func newHistory(shared *setting, s script) *history {
	h := &history{script: s, setting: shared, rng: rand.New(rand.NewPCG(s.seed, historySalt)), //nolint:gosec // G404: a seed is to give the same history
		secrets: rand.NewChaCha8([32]byte{byte(s.seed)}),
		made:    map[string]int{}, runs: map[queue.Ref][]*run{}, digest: fnvOffset, seen: newSightings()}
	h.memory = newMemory(h)
	h.transport = newTransport(h)
	h.ground, h.store, h.queue = h.memory, h.memory, h.transport
	if s.ground != nil {
		h.ground, h.store = s.ground, s.ground
	}
	if s.planted != nil {
		h.store, h.queue = s.planted.around(h)
	}
	h.clock = time.Date(2026, time.January, 15, 12, 0, 0, 0, time.UTC)
	if h.chance(1, 4) { // a month ends in it
		h.clock = time.Date(2026, time.January, 31, 23, 59, 40, 0, time.UTC)
	}
	h.skewed = h.chance(1, 3)
	h.eager = []float64{0.4, 0.7, 0.85, 0.95}[h.rng.IntN(4)]
	h.ledger = billing.NewLedger(shared.prices, h.newID)
	return h
}

// historySalt makes the random numbers of a history those of no other program with the same seed.
const historySalt = 0x6d6f6c666162

// threads tells whether several processes are under way at once.
func (h *history) threads() bool { return !h.serial }

// newID makes ids that sort by the moment of their making.
func (h *history) newID(prefix string) string {
	h.made[prefix]++
	return fmt.Sprintf("%s%06d", prefix, h.made[prefix])
}

// chance is true n times in of.
func (h *history) chance(n, of int) bool { return h.rng.IntN(of) < n }

// between is a number from low to high.
func (h *history) between(low, high int) int { return low + h.rng.IntN(high-low+1) }

func pick[T any](h *history, from []T) T { return from[h.rng.IntN(len(from))] }

// violate notes that something does not hold that must.
func (h *history) violate(format string, args ...any) {
	if len(h.violations) < 20 { // the first tell most
		h.violations = append(h.violations, fmt.Sprintf(format, args...))
		h.note("VIOLATION", h.violations[len(h.violations)-1])
	}
}

// FNV-1a, 64 bits.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// note adds a line to the trace of the history, and to its digest.
func (h *history) note(words ...string) {
	for _, word := range words {
		for i := range len(word) {
			h.digest = (h.digest ^ uint64(word[i])) * fnvPrime
		}
		h.digest = (h.digest ^ ' ') * fnvPrime
	}
	if h.traced && len(h.trace) < maxTrace {
		line := h.clock.Format("15:04:05.000")
		for _, word := range words {
			line += " " + word
		}
		h.trace = append(h.trace, line)
	}
}

// open begins a history: two accounts with credit for everything and one that can pay for a job or two, two leaders and an API.
func (h *history) open() {
	for i, plan := range []string{"free", "free", poorPlan} {
		c := &client{id: "acct_" + strconv.Itoa(i), plan: plan, pence: h.prices.Plans[plan].MonthlyPence}
		h.must(h.ground.OpenAccount(context.Background(), h.ledger, c.id, plan, h.clock))
		h.clients = append(h.clients, c)
	}
	seats := seating{Key: licenseKey, Seats: 2, Enforcement: "ENFORCED", Enabled: true}
	h.must(h.ground.Seat(context.Background(), h.clients[0].id, seats))
	for _, name := range []string{"A", "B", "C"} {
		h.instances = append(h.instances, h.boot(name, 1))
	}
	h.hire()
	h.hire()
}

// boot starts an instance that remembers nothing.
func (h *history) boot(name string, born int) *instance {
	i := &instance{name: name, born: born, busy: map[string]bool{}}
	if h.skewed {
		i.skew = time.Duration(h.between(-maxSkewMs, maxSkewMs)) * time.Millisecond
	}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	i.s = scheduler.NewOver(h.store, scheduler.Deps{Queue: h.queue, Engines: h.engines, Prices: h.prices, Ledger: h.ledger,
		Log: h.log, Metrics: h.metrics, Now: func() time.Time { return h.clock.Add(i.skew) }, NewID: h.newID, Random: h.secrets})
	i.leader = scheduler.NewLeader(i.s, name+strconv.Itoa(born))
	return i
}

func (h *history) must(err error) {
	if err != nil {
		h.violate("the simulation itself failed: %v", err)
	}
}

// operate starts an operation, or runs it to its end where nothing happens beside it.
func (h *history) operate(home *instance, name string, do func(ctx context.Context) error, ended func(*process, error)) {
	if !h.threads() {
		p := &process{name: name, home: home}
		h.note("start", name, home.name)
		p.err = do(home.ctx)
		p.ended = func(err error) { ended(p, err) }
		h.finished(p)
		return
	}
	p := h.start(home, name, do, nil)
	p.ended = func(err error) { ended(p, err) }
}

// step is a leader's: it ends without an error, unless something was in its way.
func (h *history) step(i *instance, name string, do func(context.Context) error) {
	if i.busy[name] {
		return
	}
	i.busy[name] = true
	h.operate(i, name, do, func(p *process, err error) {
		delete(i.busy, name)
		if err != nil && !p.excused && !h.transport.away {
			h.violate("%s at %s failed although nothing was in its way: %v", name, i.name, err)
		}
	})
}

// play lets a history happen and then come to its end.
func (h *history) play() {
	h.open()
	h.submit()
	steps := h.between(minSteps, maxSteps)
	if h.steps > 0 {
		steps = min(steps, h.steps)
	}
	h.happen(steps)
	h.heal()
	for range h.between(0, 2) {
		if len(h.violations) > 0 {
			break
		}
		h.retry()
		h.happen(h.between(1, 30))
		h.heal()
	}
	if h.script.ground == nil {
		h.verdict()
	}
	h.drop()
}

// happen lets so many actions happen, and the processes go on between them.
func (h *history) happen(steps int) {
	for step := 0; step < steps && len(h.violations) == 0; {
		if ready := h.runnable(); len(ready) > 0 && h.rng.Float64() < h.eager {
			h.resume(pick(h, ready))
			continue
		}
		a := h.draw()
		step++
		for _, p := range h.processes {
			p.stalled = max(p.stalled-1, 0)
		}
		if h.without[a.name] {
			continue
		}
		h.note("do", a.name)
		a.do(h)
	}
}

// settle lets everything that is under way come to its end.
func (h *history) settle() {
	for range maxSlices {
		ready := h.runnable()
		if len(ready) == 0 || len(h.violations) > 0 {
			break
		}
		h.resume(pick(h, ready))
	}
	if len(h.processes) > 0 && len(h.violations) == 0 {
		h.violate("%s never ends: it is at %s", h.processes[0].name, h.processes[0].at)
	}
}

// alone runs an operation to its end while nothing else happens.
func (h *history) alone(i *instance, name string, do func(context.Context) error) {
	h.step(i, name, do)
	h.settle()
}

// drop ends what is left of a history, so that no coroutine stays.
func (h *history) drop() {
	for len(h.processes) > 0 {
		h.kill(h.processes[0])
	}
}
