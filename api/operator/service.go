// Package operator shows those who run a deployment how it does: its workers, what waits and runs, and what is wrong. Whom it shows
// is the guard's business. It changes nothing, and shows nothing of what an account has.
package operator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/tenant"
)

const (
	// waitsLong is a wait that somebody should know of: with a worker for the class, most tasks start within seconds.
	waitsLong = 10 * time.Minute
	// failuresWithin is how far back failed jobs are counted.
	failuresWithin = time.Hour
)

// Deps is what a Service needs; all are required.
type Deps struct {
	DB      *sqlx.DB
	Workers func(context.Context) ([]queue.Heartbeat, error)
	Led     func(context.Context) (bool, error) // whether a scheduler leads
	Now     func() time.Time
}

// Service is safe for concurrent use.
type Service struct {
	deps  Deps
	store store
}

// New returns a Service. It asks nobody yet.
func New(deps Deps) *Service { return &Service{deps: deps, store: store{deps.DB}} }

// Fleet reads the living workers.
func (s *Service) Fleet(ctx context.Context) (contract.Fleet, error) {
	living, err := s.deps.Workers(ctx)
	if err != nil {
		return contract.Fleet{}, err
	}
	fleet := contract.Fleet{Workers: make([]contract.FleetWorker, len(living))}
	for i, hb := range living {
		fleet.Workers[i] = contract.FleetWorker{WorkerID: hb.WorkerID, Host: hb.Host, Version: hb.Version,
			Classes: slices.Sorted(slices.Values(hb.Queues)), Slots: hb.Slots, Running: len(hb.Held), Devices: hb.Devices.Total,
			DevicesFree: hb.Devices.Free, Draining: hb.Draining, Sandbox: hb.Sandbox, StartedAt: hb.StartedAt.UTC()}
	}
	slices.SortFunc(fleet.Workers, func(a, b contract.FleetWorker) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.WorkerID, b.WorkerID))
	})
	return fleet, nil
}

// Queues reads what waits and runs.
func (s *Service) Queues(ctx context.Context) (contract.WorkQueues, error) {
	living, err := s.deps.Workers(ctx)
	if err != nil {
		return contract.WorkQueues{}, err
	}
	open, err := s.store.openTasks(everyone(ctx))
	if err != nil {
		return contract.WorkQueues{}, err
	}
	return contract.WorkQueues{Queues: queues(living, open)}, nil
}

// Alerts reads what an operator should look at.
func (s *Service) Alerts(ctx context.Context) (contract.Alerts, error) {
	led, err := s.deps.Led(everyone(ctx))
	if err != nil {
		return contract.Alerts{}, err
	}
	found, err := s.Queues(ctx)
	if err != nil {
		return contract.Alerts{}, err
	}
	now := s.deps.Now()
	failed, err := s.store.failures(everyone(ctx), now.Add(-failuresWithin))
	if err != nil {
		return contract.Alerts{}, err
	}
	return contract.Alerts{Alerts: alerts(led, found.Queues, failed, now)}, nil
}

func everyone(ctx context.Context) context.Context {
	return tenant.Everyone(ctx, "an operator sees how many tasks and jobs of all accounts there are, and nothing else of them")
}

// queues brings together what waits, what runs and who takes it, by class.
func queues(living []queue.Heartbeat, open []openTasks) []contract.WorkQueue {
	found := map[string]contract.WorkQueue{}
	for _, hb := range living {
		for _, class := range hb.Queues {
			one := found[class]
			if !hb.Draining {
				one.Workers++
			}
			found[class] = one
		}
	}
	for _, tasks := range open {
		one := found[tasks.Queue]
		one.Waiting, one.Running = tasks.Waiting, tasks.Running
		if tasks.Since.Valid {
			since := tasks.Since.Time.UTC()
			one.OldestWaitsSince = &since
		}
		found[tasks.Queue] = one
	}
	list := []contract.WorkQueue{}
	for _, class := range slices.Sorted(maps.Keys(found)) {
		one := found[class]
		one.Class = class
		list = append(list, one)
	}
	return list
}

// alerts says what is wrong, the worst first.
func alerts(led bool, found []contract.WorkQueue, failed []failure, now time.Time) []contract.Alert {
	list := []contract.Alert{}
	if !led {
		list = append(list, contract.Alert{Name: contract.AlertNoScheduler, Message: "No scheduler leads: nothing is handed out " +
			"and nothing is collected. Start one, or look into the logs of those that run."})
	}
	for _, one := range found {
		switch {
		case one.Waiting == 0:
		case one.Workers == 0:
			list = append(list, contract.Alert{Name: contract.AlertNoWorkers, Subject: one.Class, Count: one.Waiting,
				Message: fmt.Sprintf("%d tasks wait for %s, and no living worker takes them. Start a worker that has the "+
					"engine and the hardware.", one.Waiting, one.Class)})
		case one.OldestWaitsSince != nil && now.Sub(*one.OldestWaitsSince) > waitsLong:
			list = append(list, contract.Alert{Name: contract.AlertWorkWaits, Subject: one.Class, Count: one.Waiting,
				Message: fmt.Sprintf("%d tasks wait for %s, the oldest of a job that was submitted %s ago. %d workers take "+
					"them: add some if that is too long.", one.Waiting, one.Class,
					now.Sub(*one.OldestWaitsSince).Round(time.Minute), one.Workers)})
		}
	}
	for _, one := range failed {
		list = append(list, contract.Alert{Name: contract.AlertJobsFail, Subject: one.Code, Count: one.Jobs,
			Message: fmt.Sprintf("%d jobs failed with %s within the last hour.", one.Jobs, one.Code)})
	}
	return list
}
