package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/molfabric/molfabric/internal/audit"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/scheduler/erasure"
)

const (
	// maxFindings bounds what an error lists of one check.
	maxFindings = 5
	// leavingPatience bounds the wait for processes that have just been told to end.
	leavingPatience = 10 * time.Second
)

// Finding is something that should not be.
type Finding = audit.Finding

// Judge is the oracle: it makes the World whole again, waits until every job has ended, and looks for what should not be, in the
// tables, the object store, the processes, the control groups and the directories. It stops the APIs, schedulers and workers on its
// way. The error lists what it found.
func (w *World) Judge(ctx context.Context) error {
	if err := w.heal(ctx); err != nil {
		return fmt.Errorf("oracle: make the world whole: %w", err)
	}
	if err := w.awaitEnds(ctx); err != nil {
		w.Logf("oracle: %v", err) // the first check names the jobs
	}
	findings, err := judgeTables(ctx, w.db)
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	stored, err := w.judgeObjects(ctx)
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	findings = append(append(findings, stored...), w.judgeStops(ctx)...)
	left, err := w.judgeLeftovers(ctx)
	if err != nil {
		return fmt.Errorf("oracle: %w", err)
	}
	return verdict(append(findings, left...))
}

// verdict is an error that lists findings, the first ones of each check; nil without any.
func verdict(findings []Finding) error {
	counts := map[string]int{}
	var lines []string
	for _, f := range findings {
		if counts[f.Check]++; counts[f.Check] <= maxFindings {
			lines = append(lines, f.String())
		}
	}
	for check, n := range counts {
		if n > maxFindings {
			lines = append(lines, fmt.Sprintf("%s: %d in all", check, n))
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New("oracle: " + strings.Join(lines, "\noracle: "))
}

// heal mends the lines, starts stores that were left stopped, lets paused processes go on, and sees to it that every role that was
// started once has a process.
func (w *World) heal(ctx context.Context) error {
	for _, store := range []struct {
		line    *Line
		running bool
		start   func(context.Context) error
	}{{w.PostgresLine, w.postgres != nil, w.StartPostgres}, {w.RedisLine, w.redis != nil, w.StartRedis},
		{w.S3Line, w.s3 != nil, w.StartS3}} {
		if store.running {
			store.line.Mend()
		} else if err := store.start(ctx); err != nil {
			return err
		}
	}
	for _, p := range w.Processes() {
		if p.Running() && p.isPaused() {
			if err := p.Continue(); err != nil {
				return err
			}
		}
	}
	for _, role := range []string{roleAPI, roleScheduler, roleWorker} {
		if err := w.healRole(ctx, role); err != nil {
			return err
		}
	}
	return w.Eventually(ctx, "Postgres answers", patience, func(ctx context.Context) (bool,
		error) {
		return w.db.PingContext(ctx) == nil, nil
	})
}

// healRole starts the first process of a role again when none of it runs.
func (w *World) healRole(ctx context.Context, role string) error {
	processes := w.of(role)
	for _, p := range processes {
		if p.Running() {
			return nil
		}
	}
	if len(processes) == 0 {
		return nil
	}
	return processes[0].Start(ctx)
}

// awaitEnds waits until every job has ended.
func (w *World) awaitEnds(ctx context.Context) error {
	return w.Eventually(ctx, "every accepted job has ended", w.Bound(patience), func(ctx context.Context) (bool, error) {
		open, err := openJobs(ctx, w.db)
		if away(err) {
			return false, nil
		}
		return err == nil && open == 0, err
	})
}

// judgeStops stops the processes, workers first, and finds those that do not end cleanly or have ended by themselves. A worker that
// was killed leaves a directory and control groups, which the next one of its machine sweeps: where none has come since, one does
// now.
func (w *World) judgeStops(ctx context.Context) []Finding {
	const check = "processes end when asked, and only then"
	var findings []Finding
	if !w.isSwept() {
		for _, p := range w.Workers() {
			if p.Running() {
				continue
			}
			if err := p.Start(ctx); err != nil {
				findings = append(findings, Finding{Check: check, Subject: p.Name, Detail: err.Error()})
			}
			break
		}
	}
	for _, role := range []string{roleWorker, roleScheduler, roleAPI} {
		for _, p := range w.of(role) {
			if err := p.Stop(ctx); err != nil {
				findings = append(findings, Finding{Check: check, Subject: p.Name, Detail: err.Error()})
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, death := range w.deaths {
		name, detail, _ := strings.Cut(death, " ")
		findings = append(findings, Finding{Check: check, Subject: name, Detail: detail})
	}
	return findings
}

func (w *World) isSwept() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.swept
}

// illegalMoves finds steps of jobs' histories that the table of moves does not hold.
func illegalMoves(history []historyRow) []Finding {
	var findings []Finding
	for i, row := range history {
		from := job.Status("")
		if i > 0 && history[i-1].JobID == row.JobID {
			from = history[i-1].Status
		}
		deleted := from.Terminal() && row.Status == from && row.Reason == erasure.Reason
		legal := from.CanMove(row.Status) || from.CanRetry(row.Status) || deleted
		if from == "" {
			legal = row.Status == job.Submitted
		}
		if !legal {
			findings = append(findings, Finding{Check: "every step of a job is legal", Subject: row.JobID,
				Detail: fmt.Sprintf("step %d goes from %q to %q", row.Seq, from, row.Status)})
		}
	}
	return findings
}
