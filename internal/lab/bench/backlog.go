package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"
)

const (
	// backlogAccounts wait, each with an equal part of the backlog.
	backlogAccounts = 4
	largeBacklog    = 1_000_000
	// backlogWindow is how many tasks a round dispatches: all of the small backlog, in batches of the scheduler's.
	backlogWindow = 1000
	// backlogRounds of an arm give one figure.
	backlogRounds = 9
	// backlogJobTasks are those of one job at most.
	backlogJobTasks = 10_000
	// leastBacklog is the goal: the rate beside the large backlog by that beside the small one.
	leastBacklog = 0.95
	backlogPoll  = 20 * time.Millisecond
	roundTimeout = time.Minute
)

// backlog is one arm of the workload B5: a deployment in which so many tasks wait.
type backlog struct {
	*deployment
	tasks     int
	templates []template
	refill    int // tasks of each account that are added before a round: the small backlog is dispatched whole
	fake      *announced
}

// newBacklog deploys, and lets a real job of each account be the pattern of those that wait.
func newBacklog(ctx context.Context, home, program string, tasks int, log *slog.Logger) (*backlog, error) {
	d, err := deploy(ctx, home, program, log)
	if err != nil {
		return nil, err
	}
	b := &backlog{deployment: d, tasks: tasks}
	for range backlogAccounts {
		t, err := b.newTemplate(ctx)
		if err != nil {
			return nil, errors.Join(err, d.stop(ctx))
		}
		b.templates = append(b.templates, t)
	}
	return b, nil
}

func (b *backlog) newTemplate(ctx context.Context) (template, error) {
	u, err := b.newCustomer(ctx)
	if err != nil {
		return template{}, err
	}
	jobID, err := u.submit(ctx, 1, 0)
	if err != nil {
		return template{}, err
	}
	return readTemplate(ctx, b.db, jobID)
}

// fill lets the whole backlog wait, and has Postgres know what it holds, as it does after a while by itself.
func (b *backlog) fill(ctx context.Context) error {
	for _, t := range b.templates {
		for left := b.tasks / backlogAccounts; left > 0; left -= backlogJobTasks {
			if err := copyJob(ctx, b.db, t, min(left, backlogJobTasks)); err != nil {
				return err
			}
		}
	}
	return analyzeTasks(ctx, b.db)
}

// round ends what is in flight and returns the seconds that the scheduler then takes to dispatch a thousand tasks.
func (b *backlog) round(ctx context.Context) (float64, error) {
	if err := endInFlight(ctx, b.db, b.templates, b.refill); err != nil {
		return 0, err
	}
	var seconds float64
	err := poll(ctx, roundTimeout, backlogPoll, func() (done bool, err error) {
		done, seconds, err = dispatchTime(ctx, b.db, backlogWindow)
		return done, err
	})
	if err != nil {
		return 0, fmt.Errorf("dispatch beside %d waiting tasks: %w", b.tasks, err)
	}
	return seconds, nil
}

// startBacklog deploys an arm, writes its backlog and lets the scheduler hear of its slots.
func (o Options) startBacklog(ctx context.Context, scratch string, tasks int, large bool) (b *backlog, err error) {
	if b, err = newBacklog(ctx, filepath.Join(scratch, fmt.Sprintf("backlog-%d", tasks)), o.Program, tasks, o.Log); err != nil {
		return nil, err
	}
	if large {
		o.told("B5")(fmt.Sprintf("%d tasks are written", tasks))
		err = b.fill(ctx)
	} else {
		b.refill = tasks / backlogAccounts
	}
	if err == nil {
		b.fake, err = announce(ctx, b.queue(), backlogWindow/windowFactor)
	}
	if err == nil {
		_, err = b.round(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.end(ctx))
	}
	return b, nil
}

// end ends the arm.
func (b *backlog) end(ctx context.Context) error {
	var err error
	if b.fake != nil {
		err = b.fake.silence(ctx)
	}
	return errors.Join(err, b.stop(ctx))
}

func (o Options) measureBacklog(ctx context.Context, scratch string) (results []Result, err error) {
	result := Result{
		ID: "B5", Name: "backlog", Peer: fmt.Sprintf("itself, with %d tasks waiting", backlogWindow),
		Workload: fmt.Sprintf("dispatch of %d tasks in batches of 200 to workers that claim none, with %d tasks of %d accounts "+
			"waiting; median of %d", backlogWindow, largeBacklog, backlogAccounts, backlogRounds),
		Goal: "≥ 0.95", MeasuredAt: time.Now().UTC(),
	}
	large, err := o.startBacklog(ctx, scratch, largeBacklog, true)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, large.end(ctx)) }()
	small, err := o.startBacklog(ctx, scratch, backlogWindow, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, small.end(ctx)) }()
	result.Comparison, err = compare(ctx, "s a thousand tasks", o.Pairs, repeated(backlogRounds, large.round),
		repeated(backlogRounds, small.round), o.told("B5"))
	if err != nil {
		return nil, err
	}
	result.Met = result.Comparison.Median >= leastBacklog
	result.Figures = map[string]float64{"tasksPerSecond": 1000 / median(result.Comparison.Ours),
		"peerTasksPerSecond": 1000 / median(result.Comparison.Peer)}
	result.Notes = []string{"from the first batch's pick to the last batch's: a batch is picked, committed as QUEUED and handed " +
		"to Redis"}
	return []Result{result}, nil
}

// windowFactor is the scheduler's: attempts in flight for each slot.
const windowFactor = 2
