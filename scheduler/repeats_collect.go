package scheduler

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

// maxRepeatMicros bounds what one attempt is believed to have used, which is shown and not charged: ten years of a core.
const maxRepeatMicros = 10 * 365 * 24 * 3600 * 1_000_000

// repeatChange is one transaction that changes a repetition, and what follows its commit.
type repeatChange struct {
	s     *Scheduler
	tx    repeatTx
	now   time.Time
	after []func()
}

// changeRepeat runs do on a repetition while nobody else changes it or its job; not at all on one that is unknown. do may run more
// than once.
func (s *Scheduler) changeRepeat(ctx context.Context, id string, do func(*repeatChange, repeatRow) error) error {
	var c *repeatChange
	err := s.repeats.change(ctx, id, func(tx repeatTx, r repeatRow) error {
		c = &repeatChange{s: s, tx: tx, now: s.Now().UTC()}
		return do(c, r)
	})
	if err != nil || c == nil {
		return err
	}
	for _, do := range c.after {
		do()
	}
	return nil
}

// end gives a repetition its verdict, and has its outputs removed.
func (c *repeatChange) end(ctx context.Context, r repeatRow, end repeatEnd) error {
	if err := c.tx.endRepeat(ctx, r, end, c.now); err != nil {
		return err
	}
	c.after = append(c.after, func() {
		c.s.Metrics.repeats.WithLabelValues(r.Engine, end.verdict.label()).Inc()
		log := c.s.Log.With("repeat", r.ID, "job", r.JobID, "task", r.TaskID, "attempt", r.TaskAttempt, "verdict", end.verdict)
		if end.verdict == RepeatDifferent {
			log.Error("run again, a task has made something else", "file", end.file, "sha256", end.sha256, "again", end.sha256Then,
				"first_worker", r.FirstWorker, "worker", r.WorkerID.String)
			return
		}
		log.Info("task run again", "reason", end.reason)
	})
	return nil
}

// label is a verdict in the metric.
func (v RepeatVerdict) label() string { return strings.ToLower(string(v)) }

// again lets a repetition wait for its next attempt after one that was lost or has failed, or ends it after too many.
func (c *repeatChange) again(ctx context.Context, r repeatRow, code string) error {
	if r.Losses+1 >= maxRepeatLosses {
		return c.end(ctx, r, notComparable(repeatFailed+": "+code))
	}
	return c.tx.returnRepeat(ctx, r, 1, 0, c.now.Add(backoff(r.Losses)))
}

// collectRepeats applies the reports on repetitions and acknowledges them. What cannot be applied now stays in the stream.
func (s *Scheduler) collectRepeats(ctx context.Context, deliveries []queue.Delivery) error {
	var errs []error
	for i := range deliveries {
		err := s.applyRepeat(ctx, &deliveries[i])
		if err == nil {
			err = s.finishCollect(ctx, deliveries[i:i+1])
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// applyRepeat applies one report. That of another attempt than the current one is dropped, as is one that proves no claim.
func (s *Scheduler) applyRepeat(ctx context.Context, delivery *queue.Delivery) error {
	event, current := delivery.Event, false
	if !nameable(event) {
		return nil
	}
	event.Usage.CPUMicroseconds = min(max(event.Usage.CPUMicroseconds, 0), maxRepeatMicros)
	err := s.changeRepeat(ctx, event.Ref.TaskID, func(c *repeatChange, r repeatRow) error {
		if current = r.inFlight() && r.Attempt == event.Ref.Attempt; !current {
			return nil
		}
		if !delivery.ProvenBy(r.Witness) {
			c.after = append(c.after, func() {
				delivery.Disown()
				s.Metrics.forged.WithLabelValues(forgedReport).Inc()
				s.Log.Warn("dropped a report that proves no claim", "attempt", event.Ref, "kind", event.Kind, "worker",
					event.WorkerID)
			})
			return nil
		}
		c.after = append(c.after, func() {
			s.Metrics.observe(event)
			s.fleet.ended(event)
		})
		return c.apply(ctx, r, event)
	})
	if err == nil && !current {
		s.Metrics.fenced.Inc()
	}
	return err
}

// apply applies a report on the current attempt.
func (c *repeatChange) apply(ctx context.Context, r repeatRow, event queue.Event) error {
	switch event.Kind {
	case queue.Started:
		return c.tx.startRepeat(ctx, r, storable(event.WorkerID))
	case queue.Checkpointed: // nobody goes on from there
		return nil
	}
	if event.GivenBack {
		return c.tx.returnRepeat(ctx, r, 0, 1, c.now.Add(givenBackPause(r.GivenBack)))
	}
	used := event.Usage.CPUMicroseconds
	if err := c.tx.addRepeatUse(ctx, r, used); err != nil {
		return err
	}
	c.after = append(c.after, func() { c.s.Metrics.repeatCPU.WithLabelValues(r.Engine).Add(float64(used) / 1e6) })
	switch {
	case r.Void != "":
		return c.end(ctx, r, notComparable(r.Void))
	case event.Kind == queue.Succeeded && event.Result != nil && event.Reused == nil:
		return c.compare(ctx, r, event)
	case event.Kind == queue.Succeeded:
		return c.end(ctx, r, notComparable(repeatUnreadable))
	}
	return c.failed(ctx, r, event)
}

// failed decides between another attempt and the end of a repetition that was stopped or has failed.
func (c *repeatChange) failed(ctx context.Context, r repeatRow, event queue.Event) error {
	failure := event.Failure
	if failure == nil {
		failure = &engines.Failure{Class: engines.System, Code: "STOPPED"}
	}
	code := storable(failure.Code)
	switch {
	case code == queue.InputLost:
		return c.end(ctx, r, notComparable(repeatInputsDeleted))
	case failure.Class == engines.System, failure.Class == engines.Executor:
		return c.again(ctx, r, code)
	}
	return c.end(ctx, r, notComparable(repeatFailed+": "+code))
}

// compare holds what a repetition has made against what its task has left.
func (c *repeatChange) compare(ctx context.Context, r repeatRow, event queue.Event) error {
	engine, known := c.s.Engines.Lookup(r.Engine)
	if !known {
		return c.end(ctx, r, notComparable(repeatProgramsGone))
	}
	before, err := c.tx.madeBy(ctx, r)
	if err != nil {
		return err
	}
	end := compareRepeat(engine, before, event.Result.Artifacts)
	if end.verdict == RepeatDifferent && (r.Toolchain == "" || r.Toolchain != believable(event.Toolchain)) {
		end = notComparable(repeatOtherPrograms)
	}
	return c.end(ctx, r, end)
}

// compareRepeat compares the files that an engine makes the same each time, by their digests.
func compareRepeat(engine engines.Engine, before, again []queue.StoredArtifact) repeatEnd {
	was, is := digests(engine, before), digests(engine, again)
	if len(was) == 0 {
		return notComparable(repeatFilesDeleted)
	}
	names := slices.Sorted(maps.Keys(was))
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if _, known := was[name]; !known {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if was[name] != is[name] {
			return repeatEnd{verdict: RepeatDifferent, file: storable(name), sha256: was[name], sha256Then: storable(is[name])}
		}
	}
	return repeatEnd{verdict: RepeatSame}
}

// storable is a text of a worker's as Postgres takes it: of no great length, and without what it refuses.
func storable(text string) string {
	return truncate(strings.ReplaceAll(strings.ToValidUTF8(text, "?"), "\x00", "?"), maxMessageRunes)
}

func digests(engine engines.Engine, files []queue.StoredArtifact) map[string]string {
	found := map[string]string{}
	for _, file := range files {
		if engines.SameBytes(engine, file.Artifact) {
			found[file.Name] = file.SHA256
		}
	}
	return found
}
