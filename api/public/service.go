// Package public answers what anybody may know without an account: prices, simulators, and how the service is doing. It
// stores nothing and shows nothing of any account. The public estimate is the jobs group's.
package public

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/scheduler"
)

const (
	// lookEvery bounds how often the parts and the workers are asked, however many people look.
	lookEvery = 5 * time.Second
	// askTimeout bounds one look: a part that needs longer is as good as away.
	askTimeout = 2 * time.Second
)

// Part is a part of the service that can be asked whether it answers.
type Part struct {
	Name string // for people, never an address
	Ask  func(context.Context) error
}

// Deps is what a Service needs; all are required, Parts may be empty.
type Deps struct {
	Engines *engines.Registry // those that this deployment lists
	Prices  *billing.Book
	Workers func(context.Context) ([]queue.Heartbeat, error)
	Parts   []Part
	// Unready are the engines, by id, that lack something which workers do not bring, as the weights of a model. It may be nil.
	Unready func(context.Context) ([]string, error)
	// Repeats counts the tasks that were run again, those that have ended since a moment apart. It may be nil: there are none.
	Repeats func(ctx context.Context, since time.Time) ([]scheduler.RepeatCount, error)
	// RepeatRate is the chance with which a task is run again.
	RepeatRate float64
	Version    string
	Log        *slog.Logger
	Now        func() time.Time
}

// Service is safe for concurrent use.
type Service struct {
	deps Deps

	mu   sync.Mutex
	last look

	counting sync.Mutex
	repeats  contract.RepeatReport // as last counted
}

// look is what was found when the parts and the workers were asked last.
type look struct {
	at      time.Time
	parts   []contract.ServicePart
	workers map[string]contract.WorkerCount // by canonical id
	unready []string                        // engines, by canonical id
	served  map[string]bool                 // the queues that workers serve
}

// New returns a Service. It asks nobody yet.
func New(deps Deps) *Service { return &Service{deps: deps} }

// Pricing is the price book of this deployment.
func (s *Service) Pricing() contract.Pricing {
	book := s.deps.Prices
	p := contract.Pricing{
		Currency: book.Currency, MinimumChargePence: book.MinimumChargePence, HoldFactor: book.HoldFactor,
		StoragePencePerGBMonth: book.StoragePencePerGBMonth.Pence(), StorageRetentionMonths: book.StorageRetentionMonths,
		EgressPencePerGB: book.EgressPencePerGB.Pence(), Plans: []contract.PricedPlan{}, Hardware: []contract.HardwareRate{},
		Simulators: []contract.SimulatorRate{}, Software: []contract.SoftwareRate{}, Tiers: []contract.TopUpTier{},
	}
	for name, plan := range book.Plans {
		p.Plans = append(p.Plans, contract.PricedPlan{
			Name: name, MonthlyCreditsPence: plan.MonthlyPence, QueuePriority: plan.QueuePriority,
		})
	}
	slices.SortFunc(p.Plans, func(a, b contract.PricedPlan) int {
		return cmp.Or(cmp.Compare(a.MonthlyCreditsPence, b.MonthlyCreditsPence), cmp.Compare(a.Name, b.Name))
	})
	for _, class := range slices.Sorted(maps.Keys(book.Hardware)) {
		price := book.Hardware[class]
		rate := contract.HardwareRate{Class: class, PencePerCoreHour: price.PencePerCoreHour.Pence()}
		if price.PencePerDeviceHour != nil {
			pence := price.PencePerDeviceHour.Pence()
			rate.PencePerDeviceHour = &pence
		}
		p.Hardware = append(p.Hardware, rate)
	}
	for _, id := range s.deps.Engines.IDs() {
		price := book.Engines[id]
		p.Simulators = append(p.Simulators, contract.SimulatorRate{
			ID: id, StartFeePence: price.StartFeePence.Pence(), SoftwarePencePerCoreHour: price.SoftwarePencePerCoreHour.Pence(),
		})
	}
	for _, name := range slices.Sorted(maps.Keys(book.Software)) {
		price := book.Software[name]
		p.Software = append(p.Software, contract.SoftwareRate{
			Name: name, LicenseName: price.LicenseName, Vendor: price.Vendor, Product: price.Product,
			PencePerCoreHour: price.PencePerCoreHour.Pence(),
		})
	}
	for id, tier := range book.Tiers {
		p.Tiers = append(p.Tiers, contract.TopUpTier{ID: id, PricePence: tier.PricePence, BonusPence: tier.BonusPence})
	}
	slices.SortFunc(p.Tiers, func(a, b contract.TopUpTier) int { return cmp.Compare(a.PricePence, b.PricePence) })
	return p
}

// Simulators are those of the contract and then any further engine of this deployment.
func (s *Service) Simulators(ctx context.Context) []contract.PublicSimulator {
	found := s.look(ctx)
	var list []contract.PublicSimulator
	seen := map[string]bool{}
	for _, known := range engines.Simulators {
		seen[known.ID] = true
		list = append(list, s.simulator(known, found))
	}
	for _, id := range s.deps.Engines.IDs() {
		engine, _ := s.deps.Engines.Lookup(id)
		if spec := engine.Spec(); !seen[id] && spec.Serves(engines.JobTypeSimulation) {
			list = append(list, s.simulator(engines.Simulator{ID: id, Aliases: spec.Aliases, Title: spec.Title}, found))
		}
	}
	return list
}

func (s *Service) simulator(known engines.Simulator, found look) contract.PublicSimulator {
	p := contract.PublicSimulator{ID: known.ID, Title: known.Title, Aliases: append([]string{}, known.Aliases...),
		Classes: []contract.SimulatorClass{}, Citations: []contract.PublicCitation{}}
	engine, listed := s.deps.Engines.Lookup(known.ID)
	if !listed {
		return p
	}
	spec := engine.Spec()
	p.Accepted, p.Available, p.Hardware = true, found.workers[known.ID].Workers > 0 &&
		!slices.Contains(found.unready, known.ID), spec.Hardware
	for _, class := range spec.Classes() {
		if _, sold := s.deps.Prices.Hardware[class.Hardware]; sold {
			p.Classes = append(p.Classes, contract.SimulatorClass{Class: class.Hardware,
				Available: found.served[queue.Name(class)]})
		}
	}
	for _, citation := range spec.Citations {
		p.Citations = append(p.Citations, contract.PublicCitation{Text: citation.Text, DOI: citation.DOI})
	}
	return p
}

// Status asks every part, at most every lookEvery.
func (s *Service) Status(ctx context.Context) contract.ServiceStatus {
	found := s.look(ctx)
	status := contract.ServiceStatus{Status: "operational", Version: s.deps.Version, Parts: found.parts,
		Workers: []contract.WorkerCount{}, CheckedAt: found.at}
	for _, part := range found.parts {
		if !part.Operational {
			status.Status = "degraded"
		}
	}
	for _, id := range s.deps.Engines.IDs() {
		count := found.workers[id]
		count.Simulator = id
		if count.Workers == 0 && s.expected(id, found) {
			status.Status = "degraded"
		}
		status.Workers = append(status.Workers, count)
	}
	return status
}

// expected tells whether something is wrong where no worker serves an engine. What the operator has put no weights in for, or has
// not built, is not served, and a helper is no engine that anybody asks for.
func (s *Service) expected(id string, found look) bool {
	engine, _ := s.deps.Engines.Lookup(id)
	spec := engine.Spec()
	return !spec.Helper && !spec.Brought && !slices.Contains(found.unready, id)
}

// look returns the last look, or a new one when that is too old. Only one caller looks at a time; the others wait for it.
func (s *Service) look(ctx context.Context) look {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.deps.Now().UTC()
	if !s.last.at.IsZero() && now.Sub(s.last.at) < lookEvery {
		return s.last
	}
	// Whoever asked first may leave; the answer is for the others too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
	defer cancel()
	found := look{at: now.Truncate(time.Microsecond), workers: map[string]contract.WorkerCount{}, served: map[string]bool{},
		parts: make([]contract.ServicePart, len(s.deps.Parts)+1)}
	var asked sync.WaitGroup
	for i, part := range s.deps.Parts {
		asked.Go(func() {
			found.parts[i+1] = contract.ServicePart{Name: part.Name, Operational: s.answers(part.Name, part.Ask(ctx))}
		})
	}
	if s.deps.Unready != nil {
		var err error
		if found.unready, err = s.deps.Unready(ctx); err != nil {
			s.deps.Log.WarnContext(ctx, "engines were not asked for their weights", "error", err)
		}
	}
	beats, err := s.deps.Workers(ctx)
	found.parts[0] = contract.ServicePart{Name: "workers", Operational: s.answers("workers", err)}
	for _, beat := range beats {
		if !beat.Draining {
			s.count(found, beat)
		}
	}
	asked.Wait()
	s.last = found
	return found
}

// count adds a worker to every engine that it serves.
func (s *Service) count(found look, beat queue.Heartbeat) {
	for _, name := range beat.Queues {
		found.served[name] = true
	}
	for _, id := range s.deps.Engines.IDs() {
		engine, _ := s.deps.Engines.Lookup(id)
		serves := func(class engines.WorkerClass) bool { return slices.Contains(beat.Queues, queue.Name(class)) }
		if slices.ContainsFunc(engine.Spec().Classes(), serves) {
			count := found.workers[id]
			count.Workers++
			count.Slots += beat.Slots
			found.workers[id] = count
		}
	}
}

func (s *Service) answers(name string, err error) bool {
	if err != nil {
		s.deps.Log.Warn("a part of the service does not answer", "part", name, "error", err)
	}
	return err == nil
}
