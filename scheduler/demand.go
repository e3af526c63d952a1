package scheduler

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/fleet"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/internal/tenant"
)

// Demand is what waits for workers and which there are, for whoever sizes a fleet. Of the waiting tasks those are left out that
// nine times in ten would take longer than longest; 0 for none. Any instance can say it. An error means that nothing is known:
// neither that nothing waits nor that nobody works.
func (s *Scheduler) Demand(ctx context.Context, longest time.Duration) (fleet.Demand, error) {
	ctx = tenant.Everyone(ctx, "a fleet is sized by the tasks of all accounts")
	demand := fleet.Demand{At: s.Now().UTC(), Workers: []fleet.Worker{}}
	var err error
	if demand.Classes, err = s.backlogs(ctx, longest); err != nil {
		return fleet.Demand{}, err
	}
	heartbeats, err := s.Queue.Workers(ctx)
	if err != nil {
		return fleet.Demand{}, fmt.Errorf("ask which workers live: %w", err)
	}
	for _, hb := range heartbeats {
		demand.Workers = append(demand.Workers, workerOf(hb))
	}
	slices.SortFunc(demand.Workers, func(a, b fleet.Worker) int { return strings.Compare(a.ID, b.ID) })
	return demand, nil
}

func workerOf(hb queue.Heartbeat) fleet.Worker {
	w := fleet.Worker{ID: hb.WorkerID, Host: hb.Host, Version: hb.Version, Classes: hb.Queues, Slots: hb.Slots,
		Devices: hb.Devices.Total, Draining: hb.Draining, StartedAt: hb.StartedAt,
		Name: hb.Name, Until: hb.Until}
	for _, held := range hb.Held {
		if held.Phase != queue.Reporting {
			w.Held++
		}
	}
	return w
}

// backlogs is what waits and runs, by class, corrected by how well the expectations of the class were met.
func (s *Scheduler) backlogs(ctx context.Context, longest time.Duration) ([]fleet.Backlog, error) {
	names := s.queueNames()
	likely, longestOf := make([]float64, len(names)), make([]float64, len(names))
	for i, name := range names {
		ratios, err := s.ratios(ctx, name)
		if err != nil {
			return nil, err
		}
		likely[i], longestOf[i] = ratios.likely, math.MaxFloat64
		if longest > 0 {
			longestOf[i] = longest.Seconds() / ratios.high
		}
	}
	rows, err := s.store.Backlogs(ctx, names, longestOf)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	out := make([]fleet.Backlog, len(rows))
	for i, row := range rows {
		out[i] = fleet.Backlog{Class: row.Queue, Waiting: row.Waiting, Running: row.Running, Places: int(math.Round(row.Places)),
			CPUSeconds: row.CPUSeconds * likely[i], GPUSeconds: row.GPUSeconds * likely[i], RunningSeconds: row.Left * likely[i]}
		if row.OldestAt.Valid {
			out[i].OldestSeconds = max(now.Sub(row.OldestAt.Time).Seconds(), 0)
		}
	}
	return out, nil
}

// ratios are what tasks of a class use of what was expected of them.
type ratios struct{ likely, high float64 }

// ratios of a class of which too few tasks have ended are 1.
func (s *Scheduler) ratios(ctx context.Context, queueName string) (ratios, error) {
	spread, err := s.spread(ctx, queue.Class(queueName))
	if err != nil || spread == nil {
		return ratios{1, 1}, err
	}
	return ratios{spread.Likely, spread.High}, nil
}
