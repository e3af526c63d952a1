package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/internal/client"
)

// A history weighs on the work of today, or does not: the same work on two deployments, one of which is young.
const (
	historyID       = "history"
	defaultFinished = 10_000_000
	youngJobs       = 10 // a thousand tasks
	historyWorkers  = 8  // of four slots
	historySlots    = 4
	historyJobs     = 16
	historySize     = 500 // tasks of each
	historyCalls    = 100 // of each reading of the API
	historyGoal     = 0.9
)

// aged is a deployment with a history, and its fleet.
type aged struct {
	*deployment
	fleet *fleet
	calls map[string][]float64 // seconds of the API's readings, by name
	jobs  []string             // of today
}

// measureHistory compares a deployment in which so many tasks have ended within a year with one in which a thousand have. It is run
// only when it is asked for by its name: ten million tasks take a quarter of an hour to make, and 14 GB.
func (o Options) measureHistory(ctx context.Context, _ *system, scratch string) (results []Result, err error) {
	if o.Finished == 0 {
		o.Finished = defaultFinished
	}
	told := o.told(historyID)
	old, err := o.age(ctx, scratch, "old", max(o.Finished/pastJobTasks, youngJobs), told)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer func() { err = errors.Join(err, old.end(ctx)) }()
	young, err := o.age(ctx, scratch, "young", youngJobs, told)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer func() { err = errors.Join(err, young.end(ctx)) }()
	for _, d := range []*aged{old, young} { // warms the caches up
		if _, err := d.work(ctx); err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		d.calls = map[string][]float64{}
	}
	c, err := compare(ctx, "CPU s", o.Pairs, old.work, young.work, told)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	result := Result{
		ID: historyID, Name: "a year of finished tasks", Peer: fmt.Sprintf("the same with %d finished tasks",
			youngJobs*pastJobTasks), Comparison: c,
		Workload: fmt.Sprintf("%d jobs of %d tasks, with %d finished tasks in the database: processor time of Postgres and the "+
			"scheduler", historyJobs, historySize, o.Finished),
		Goal: fmt.Sprintf("≥ %.1f", historyGoal), Met: c.Median >= historyGoal, Figures: map[string]float64{},
		MeasuredAt: time.Now().UTC(),
	}
	for name, seconds := range old.calls {
		result.Figures[name+"OldP50Ms"], result.Figures[name+"YoungP50Ms"] = 1000*quantile(seconds, 0.5),
			1000*quantile(young.calls[name], 0.5)
	}
	return []Result{result}, nil
}

// age starts a deployment in which so many jobs have ended.
func (o Options) age(ctx context.Context, scratch, name string, jobs int, told func(string)) (*aged, error) {
	d, err := o.deployBelow(ctx, scratch, name)
	if err != nil {
		return nil, err
	}
	a := &aged{deployment: d, calls: map[string][]float64{}}
	err = makePast(ctx, d.db, jobs, func(made int) { told(fmt.Sprintf("%s: %d of %d jobs of the past", name, made, jobs)) })
	if err == nil {
		a.fleet, err = d.hire(ctx, historyWorkers, historySlots)
	}
	if err != nil {
		return nil, errors.Join(err, d.stop(ctx))
	}
	return a, nil
}

// work is the work of today: jobs through the whole fabric, whose processor seconds it returns, and what people look at meanwhile.
func (a *aged) work(ctx context.Context) (float64, error) {
	spent, _, err := a.spend(ctx, func() (ids []string, err error) {
		for range historyJobs {
			jobID, err := a.submit(ctx, historySize, 0)
			if err != nil {
				return nil, err
			}
			ids = append(ids, jobID)
		}
		a.jobs = ids
		return ids, nil
	})
	if err != nil {
		return 0, err
	}
	return (spent.CPU[partPostgres] + spent.CPU[partScheduler]).Seconds(), a.read(ctx)
}

// read times the readings of the API that people make all day.
func (a *aged) read(ctx context.Context) error {
	for name, call := range map[string]func() error{
		"job":     func() error { _, err := a.client.Job(ctx, a.jobs[0]); return err },
		"jobs":    func() error { _, err := a.client.Jobs(ctx, client.JobFilter{}); return err },
		"running": func() error { _, err := a.client.Jobs(ctx, client.JobFilter{Status: []string{"RUNNING"}}); return err },
		"outputs": func() error { _, err := a.client.Outputs(ctx, a.jobs[0], client.Page{}); return err },
	} {
		for range historyCalls {
			began := time.Now()
			if err := call(); err != nil {
				return fmt.Errorf("read %s: %w", name, err)
			}
			a.calls[name] = append(a.calls[name], time.Since(began).Seconds())
		}
	}
	return nil
}

func (a *aged) end(ctx context.Context) error {
	return errors.Join(a.fleet.dismiss(), a.stop(ctx))
}
