package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// The work whose cost is measured, on a fleet of costWorkers.
const (
	costWorkers = 64
	backlogJobs = 10
	backlogSize = 1000 // tasks of each
	singleJobs  = 500  // of one task
	singleRate  = 50   // a second
	costWarmUp  = 200  // tasks before anything is measured
	// settling is how long Postgres' sessions may take to publish what they have counted.
	settling = 2 * time.Second
)

// costs are what a deployment uses: at rest, a task of a large job, and a job of one task.
type costs struct {
	Resting cost // a second, without workers
	Idle    cost // a second, with the fleet and no work
	Task    cost // a task of a backlog, beyond what the idle deployment uses
	Single  cost // a job of one task, beyond what the idle deployment uses
	// Rate is how many tasks a second the backlog was worked off at.
	Rate float64
}

// measureCosts measures what a task costs, part by part, and prints the table that doc/scale.md quotes.
func (o Options) measureCosts(ctx context.Context, _ *system, scratch string) (results []Result, err error) {
	d, err := o.deployBelow(ctx, scratch, "costs")
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	defer func() { err = errors.Join(err, d.stop(ctx)) }()
	c, err := d.costs(ctx, o.told("scale"))
	if err != nil {
		return nil, fmt.Errorf("scale: %w", err)
	}
	c.print(o.Out)
	return []Result{c.result()}, nil
}

func (d *deployment) costs(ctx context.Context, told func(string)) (c costs, err error) {
	told("at rest, without workers")
	if c.Resting, err = d.idleSecond(ctx); err != nil {
		return c, err
	}
	f, err := d.hire(ctx, costWorkers, 1)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, f.dismiss()) }()
	if _, _, err := d.backlog(ctx, 1, costWarmUp); err != nil {
		return c, err
	}
	told(fmt.Sprintf("idle, with %d workers", costWorkers))
	if c.Idle, err = d.idleSecond(ctx); err != nil {
		return c, err
	}
	told(fmt.Sprintf("%d jobs of %d tasks at once", backlogJobs, backlogSize))
	spent, took, err := d.backlog(ctx, backlogJobs, backlogSize)
	if err != nil {
		return c, err
	}
	c.Task, c.Rate = spent.beyond(c.Idle, took).each(backlogJobs*backlogSize), backlogJobs*backlogSize/took.Seconds()
	told(fmt.Sprintf("%d jobs of one task, %d a second", singleJobs, singleRate))
	if spent, took, err = d.trickle(ctx); err != nil {
		return c, err
	}
	c.Single = spent.beyond(c.Idle, took).each(singleJobs)
	return c, nil
}

func (d *deployment) idleSecond(ctx context.Context) (cost, error) {
	if err := pause(ctx, settling); err != nil {
		return cost{}, err
	}
	spent, err := d.idle(ctx, idleSpan)
	return spent.over(idleSpan.Seconds()), err
}

// backlog submits jobs of tasks that do nothing, and returns what was used until the last of them had ended, and when that was.
func (d *deployment) backlog(ctx context.Context, jobs, tasks int) (use, time.Duration, error) {
	return d.spend(ctx, func() (ids []string, err error) {
		for range jobs {
			jobID, err := d.submit(ctx, tasks, 0)
			if err != nil {
				return nil, err
			}
			ids = append(ids, jobID)
		}
		return ids, nil
	})
}

// trickle submits jobs of one task at a steady rate.
func (d *deployment) trickle(ctx context.Context) (use, time.Duration, error) {
	return d.spend(ctx, func() (ids []string, err error) {
		ticker := time.NewTicker(time.Second / singleRate)
		defer ticker.Stop()
		for range singleJobs {
			jobID, err := d.submit(ctx, 1, 0)
			if err != nil {
				return nil, err
			}
			ids = append(ids, jobID)
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-ticker.C:
			}
		}
		return ids, nil
	})
}

// spend returns what is used from the first submission until the counters of the stores have settled, and how long the work took.
func (d *deployment) spend(ctx context.Context, submit func() ([]string, error)) (spent use, took time.Duration, err error) {
	before, err := d.used(ctx)
	if err != nil {
		return use{}, 0, err
	}
	jobs, err := submit()
	if err != nil {
		return use{}, 0, err
	}
	if err := d.awaitEnd(ctx, jobs...); err != nil {
		return use{}, 0, err
	}
	took = time.Since(before.At)
	if err := pause(ctx, settling); err != nil {
		return use{}, 0, err
	}
	after, err := d.used(ctx)
	return after.since(before), took, err
}

// cost is what something uses: a task, a job, a second.
type cost struct {
	CPUMicros     map[string]float64 // by part
	RedisCommands float64
	RedisBytes    float64
	Transactions  float64 // of Postgres
	WALBytes      float64 // of its log
	StoreBytes    float64 // by which the database has grown
}

// over divides what was used by a number of tasks or seconds.
func (u use) over(n float64) cost {
	c := cost{CPUMicros: map[string]float64{}, RedisCommands: float64(u.RedisCommands) / n, RedisBytes: float64(u.RedisBytes) / n,
		Transactions: float64(u.Store.Transactions) / n, WALBytes: float64(u.Store.WALBytes) / n,
		StoreBytes: float64(u.Store.Bytes) / n}
	for part, cpu := range u.CPU {
		c.CPUMicros[part] = float64(cpu.Microseconds()) / n
	}
	return c
}

// beyond is what was used beside what the idle deployment uses in the same time, given its cost a second. What is not more than
// that is nothing.
func (u use) beyond(idle cost, took time.Duration) cost {
	seconds := (took + settling).Seconds()
	c := u.over(1)
	rest := func(all, idle float64) float64 { return max(all-seconds*idle, 0) }
	for part := range c.CPUMicros {
		c.CPUMicros[part] = rest(c.CPUMicros[part], idle.CPUMicros[part])
	}
	c.RedisCommands, c.RedisBytes = rest(c.RedisCommands, idle.RedisCommands), rest(c.RedisBytes, idle.RedisBytes)
	c.Transactions, c.WALBytes = rest(c.Transactions, idle.Transactions), rest(c.WALBytes, idle.WALBytes)
	return c
}

// each divides a cost.
func (c cost) each(n float64) cost {
	part := cost{CPUMicros: map[string]float64{}, RedisCommands: c.RedisCommands / n, RedisBytes: c.RedisBytes / n,
		Transactions: c.Transactions / n,
		WALBytes:     c.WALBytes / n, StoreBytes: c.StoreBytes / n}
	for name, micros := range c.CPUMicros {
		part.CPUMicros[name] = micros / n
	}
	return part
}

// rows are the lines of the table: what is counted, and how much of it a cost has.
func (c cost) rows() []costRow {
	var rows []costRow
	for _, part := range parts {
		rows = append(rows, costRow{part + "CPUMicros", c.CPUMicros[part]})
	}
	return append(rows, costRow{"redisCommands", c.RedisCommands}, costRow{"redisBytes", c.RedisBytes},
		costRow{"postgresTransactions", c.Transactions}, costRow{"postgresWALBytes", c.WALBytes},
		costRow{"postgresStoredBytes", c.StoreBytes})
}

type costRow struct {
	name  string
	value float64
}

// print writes the table of doc/scale.md.
func (c costs) print(w io.Writer) {
	fmt.Fprintf(w, "\n%-22s  %14s  %14s  %14s  %14s\n", "", "a task", "a job of one", fmt.Sprintf("idle, %d wrk/s", costWorkers),
		"at rest/s")
	task, single, idle, resting := c.Task.rows(), c.Single.rows(), c.Idle.rows(), c.Resting.rows()
	for i := range task {
		fmt.Fprintf(w, "%-22s  %14.4g  %14.4g  %14.4g  %14.4g\n", task[i].name, task[i].value, single[i].value, idle[i].value,
			resting[i].value)
	}
	fmt.Fprintf(w, "a backlog of %d tasks was worked off at %.0f tasks/s by %d workers\n", backlogJobs*backlogSize, c.Rate,
		costWorkers)
}

// result is the table as figures.
func (c costs) result() Result {
	result := Result{
		ID: "scale", Name: "cost of a task", Goal: "for the record", Met: true, MeasuredAt: time.Now().UTC(),
		Workload: fmt.Sprintf("%d jobs of %d tasks that do nothing, then %d jobs of one task, %d a second, on %d workers",
			backlogJobs, backlogSize, singleJobs, singleRate, costWorkers),
		Figures: map[string]float64{"backlogTasksPerSecond": c.Rate},
		Notes: []string{"a task of a large job, and a job of one task, beyond what the idle deployment uses; the fleet's share " +
			"includes what it takes to measure"},
	}
	for of, cost := range map[string]cost{"PerTask": c.Task, "PerJobOfOne": c.Single, "PerIdleSecond": c.Idle,
		"PerSecondAtRest": c.Resting} {
		for _, row := range cost.rows() {
			result.Figures[row.name+of] = row.value
		}
	}
	return result
}
