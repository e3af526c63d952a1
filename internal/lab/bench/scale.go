package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The work of B12: every worker has the same number of tasks to do, which sleep.
const (
	scaleTasks   = 10 // a worker
	scaleSeconds = 2.0
	scaleGoal    = 0.95
)

// scaleWorkers are the fleets of B12, the first of which is the measure of the others.
var scaleWorkers = []int{1, 2, 4, 8, 16, 32, 64}

// measureScale measures B12 on a deployment of its own: how well N workers do N times the work of one.
func (o Options) measureScale(ctx context.Context, _ *system, scratch string) (results []Result, err error) {
	d, err := o.deployBelow(ctx, scratch, "scale")
	if err != nil {
		return nil, fmt.Errorf("B12: %w", err)
	}
	defer func() { err = errors.Join(err, d.stop(ctx)) }()
	told := o.told("B12")
	seconds := map[int][]float64{}
	for round := range max(o.Pairs, MinPairs) {
		order := slices.Clone(scaleWorkers)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, workers := range order {
			took, err := d.fleetSeconds(ctx, workers)
			if err != nil {
				return nil, fmt.Errorf("B12: %d workers: %w", workers, err)
			}
			told(fmt.Sprintf("round %d: %d workers, %.2f s", round+1, workers, took))
			seconds[workers] = append(seconds[workers], took)
		}
	}
	return []Result{scaled(seconds)}, nil
}

// deployBelow starts a deployment in a directory of its own.
func (o Options) deployBelow(ctx context.Context, scratch, name string) (*deployment, error) {
	home := filepath.Join(scratch, name)
	if err := os.Mkdir(home, 0o755); err != nil {
		return nil, err
	}
	return deploy(ctx, home, o.Program, o.Log)
}

// fleetSeconds hires so many workers of one slot, gives each its share of one job, and returns the time from the job's commit to
// the end of its last task.
func (d *deployment) fleetSeconds(ctx context.Context, workers int) (seconds float64, err error) {
	f, err := d.hire(ctx, workers, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.dismiss()) }()
	jobID, err := d.submit(ctx, scaleTasks*workers, scaleSeconds)
	if err != nil {
		return 0, err
	}
	if err := d.awaitEnd(ctx, jobID); err != nil {
		return 0, err
	}
	commits, err := readCommits(ctx, d.db, []string{jobID})
	if err != nil {
		return 0, err
	}
	spans := f.spans()
	last := slices.MaxFunc(spans, func(a, b span) int { return a.Ended.Compare(b.Ended) })
	return last.Ended.Sub(commits[last.Task].Accepted).Seconds(), nil
}

// scaled is B12 from the seconds that each fleet took, round by round. Its comparison is of the largest fleet; the figures have
// all.
func scaled(seconds map[int][]float64) Result {
	one, most := seconds[scaleWorkers[0]], scaleWorkers[len(scaleWorkers)-1]
	result := Result{
		ID: "B12", Name: "scale", Peer: "one worker with one share of the work",
		Goal: fmt.Sprintf("≥ %.2f to %d workers", scaleGoal, most), Met: true,
		Workload: fmt.Sprintf("%d workers with %d tasks of %g s each, from the commit to the last end", most, scaleTasks,
			scaleSeconds), Figures: map[string]float64{}, MeasuredAt: time.Now().UTC(),
		Notes: []string{"the efficiency at N is the time of one worker ÷ the time of N workers with N times its work"},
	}
	for _, workers := range scaleWorkers[1:] {
		c := Comparison{Unit: "s", Ours: seconds[workers], Peer: one}.judged(equalArms(one))
		result.Figures[efficiencyAt+fmt.Sprintf("%02d", workers)] = c.Median
		result.Met = result.Met && c.Median >= scaleGoal
		result.Comparison = c
	}
	return result
}

// The work of the thousand: first a steady stream that keeps most of them busy, then a burst.
const (
	thousandWorkers = 1000
	thousandSeconds = 5.0
	thousandBusy    = 0.8 // of the slots
	steadyFor       = time.Minute
	burstTasks      = 10_000
	burstSeconds    = 1.0
	binSeconds      = 1.0
)

// thousand is what a fleet of a thousand workers has shown, second by second.
type thousand struct {
	Workers       int          `json:"workers"`
	StartSeconds  float64      `json:"startSeconds"`  // until all of them had said hello
	Steady        []latencyBin `json:"steady"`        // from the commit of the job to the start, while most are busy
	Burst         []latencyBin `json:"burst"`         // from the commit of the dispatch to the start, of one large job
	SteadyRate    float64      `json:"steadyRate"`    // tasks a second
	BurstRate     float64      `json:"burstRate"`     // the same, of the burst
	IdleRedisRate float64      `json:"idleRedisRate"` // commands a second while nobody has work
}

// measureThousand runs a thousand workers against a real scheduler, and writes what they have waited beside the report.
func (o Options) measureThousand(ctx context.Context, _ *system, scratch string) (results []Result, err error) {
	d, err := o.deployBelow(ctx, scratch, "thousand")
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	defer func() { err = errors.Join(err, d.stop(ctx)) }()
	told := o.told("fleet")
	began := time.Now()
	f, err := d.hire(ctx, thousandWorkers, 1)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	defer func() { err = errors.Join(err, f.dismiss()) }()
	seen := thousand{Workers: thousandWorkers, StartSeconds: time.Since(began).Seconds()}
	told(fmt.Sprintf("%d workers have said hello after %.1f s", seen.Workers, seen.StartSeconds))
	if seen.IdleRedisRate, err = d.idleRedisRate(ctx); err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	told(fmt.Sprintf("idle, they send Redis %.0f commands a second", seen.IdleRedisRate))
	steady, err := d.steady(ctx, f, told)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	burst, err := d.burst(ctx, f, told)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	accepted, handed := func(l latency) float64 { return l.Accepted }, func(l latency) float64 { return l.Handed }
	seen.Steady, seen.SteadyRate = binned(steady, binSeconds, accepted), rate(steady)
	seen.Burst, seen.BurstRate = binned(burst, binSeconds, handed), rate(burst)
	if err := seen.write(filepath.Dir(o.Output)); err != nil {
		return nil, err
	}
	return []Result{seen.result(values(steady, accepted), values(burst, handed))}, nil
}

// idleSpan is how long an idle deployment is watched.
const idleSpan = 10 * time.Second

func (d *deployment) idleRedisRate(ctx context.Context) (float64, error) {
	spent, err := d.idle(ctx, idleSpan)
	return float64(spent.RedisCommands) / idleSpan.Seconds(), err
}

// idle is what the deployment uses in a span of time without any work.
func (d *deployment) idle(ctx context.Context, span time.Duration) (use, error) {
	before, err := d.used(ctx)
	if err != nil {
		return use{}, err
	}
	if err := pause(ctx, span); err != nil {
		return use{}, err
	}
	after, err := d.used(ctx)
	return after.since(before), err
}

func pause(ctx context.Context, span time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(span):
		return nil
	}
}

// steady submits a job a second whose tasks keep the most part of the workers busy, and returns how long they have waited.
func (d *deployment) steady(ctx context.Context, f *fleet, told func(string)) ([]latency, error) {
	tasks := int(thousandWorkers * thousandBusy / thousandSeconds)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var jobs []string
	for range int(steadyFor.Seconds()) {
		jobID, err := d.submit(ctx, tasks, thousandSeconds)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, jobID)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-ticker.C:
		}
	}
	return d.waits(ctx, f, fmt.Sprintf("steady: %d tasks of %g s a second", tasks, thousandSeconds), told, jobs...)
}

// burst submits one large job, and returns how long its tasks have waited.
func (d *deployment) burst(ctx context.Context, f *fleet, told func(string)) ([]latency, error) {
	jobID, err := d.submit(ctx, burstTasks, burstSeconds)
	if err != nil {
		return nil, err
	}
	return d.waits(ctx, f, fmt.Sprintf("burst: %d tasks of %g s", burstTasks, burstSeconds), told, jobID)
}

// waits returns how long the tasks of jobs had waited, when all of them have ended.
func (d *deployment) waits(ctx context.Context, f *fleet, what string, told func(string), jobs ...string) ([]latency, error) {
	if err := d.awaitEnd(ctx, jobs...); err != nil {
		return nil, err
	}
	commits, err := readCommits(ctx, d.db, jobs)
	if err != nil {
		return nil, err
	}
	waits := latencies(f.spans(), commits)
	if len(waits) != len(commits) {
		return nil, fmt.Errorf("%s: %d of %d tasks were run", what, len(waits), len(commits))
	}
	for name, of := range map[string]func(latency) float64{"accepted": func(l latency) float64 { return l.Accepted },
		"handed over": func(l latency) float64 { return l.Handed }} {
		told(fmt.Sprintf("%s: from %s to started p50 %.3f s, p99 %.3f s", what, name, quantile(values(waits, of), 0.5),
			quantile(values(waits, of), 0.99)))
	}
	return waits, nil
}

func values(waits []latency, of func(latency) float64) []float64 {
	all := make([]float64, len(waits))
	for i, w := range waits {
		all[i] = of(w)
	}
	return all
}

// rate is how many tasks a second were started, from the first start to the last.
func rate(waits []latency) float64 { return float64(len(waits)) / waits[len(waits)-1].At }

// write writes fleet.json and its plots into a folder.
func (t thousand) write(folder string) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "fleet.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	steady := fmt.Sprintf("%d workers, %.0f %% busy: from the commit of a job to the start of its tasks", t.Workers,
		100*thousandBusy)
	if err := plotWaits(filepath.Join(folder, "fleet-steady.svg"), steady, t.Steady); err != nil {
		return err
	}
	burst := fmt.Sprintf("%d workers, %d tasks at once: from the commit of a dispatch to the start", t.Workers, burstTasks)
	return plotWaits(filepath.Join(folder, "fleet-burst.svg"), burst, t.Burst)
}

// plotWaits draws waits over time.
func plotWaits(path, title string, bins []latencyBin) error {
	curves := []curve{{name: "p99"}, {name: "p95"}, {name: "p50"}}
	for _, bin := range bins {
		for i, ms := range []float64{bin.P99Ms, bin.P95Ms, bin.P50Ms} {
			curves[i].points = append(curves[i].points, point{X: bin.AtSeconds, Y: ms})
		}
	}
	return plotCurves(path, title, "seconds since the first start", "wait in ms", false, curves...)
}

func (t thousand) result(steady, burst []float64) Result {
	ms := func(waits []float64, share float64) float64 { return 1000 * quantile(waits, share) }
	return Result{
		ID: "fleet", Name: fmt.Sprintf("%d workers", t.Workers), Goal: "for the record", Met: true, MeasuredAt: time.Now().UTC(),
		Workload: fmt.Sprintf("a job a second that keeps %.0f %% of %d workers busy with tasks of %g s; then %d tasks of %g s "+
			"at once",
			100*thousandBusy, t.Workers, thousandSeconds, burstTasks, burstSeconds),
		Figures: map[string]float64{
			"steadyP50Ms": ms(steady, 0.5), "steadyP95Ms": ms(steady, 0.95), "steadyP99Ms": ms(steady, 0.99),
			"steadyTasksPerSecond": t.SteadyRate, "burstHandedP50Ms": ms(burst, 0.5), "burstHandedP95Ms": ms(burst, 0.95),
			"burstHandedP99Ms": ms(burst, 0.99), "burstTasksPerSecond": t.BurstRate, "startSeconds": t.StartSeconds,
			"idleRedisCommandsPerSecond": t.IdleRedisRate,
		},
		Notes: []string{"steady: from the commit of the job to the start of the program; burst: from the commit of the dispatch"},
	}
}
