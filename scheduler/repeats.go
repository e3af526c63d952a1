package scheduler

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// Some tasks that have ended well are run again by chance, so that anybody can be told how often that makes the same. A
// repetition is none of its job's tasks. It has a row of its own, reads what the task read, and stores its outputs below a prefix
// of its own, where they are removed once they have been compared. No job, hold, seat or turn of an account knows of it: nothing
// that it does can be charged, or change a result. Its attempts have claims and permits as those of tasks, and are watched with
// them.

// repeatPrefix begins the ids of repetitions, which stand where a task's id does in orders and reports.
const repeatPrefix = "repeat_"

const (
	// repeatInterval is how often tasks are drawn and handed out. Nobody waits for them.
	repeatInterval = time.Second
	// drawLag leaves jobs time to be committed that ended before one that has been drawn from.
	drawLag = time.Second
	// drawBack is how far back tasks are drawn from where nobody has drawn for long: later, more of them can be compared no more.
	drawBack = 24 * time.Hour
	// drawJobs and drawTasks bound the jobs that one transaction draws from, and their tasks, but for a single job.
	drawJobs, drawTasks = 50, 20_000
	// repeatsAtOnce bounds what one look hands out.
	repeatsAtOnce = 20
	// repeatShare is the part of a queue's slots that repetitions may take: one in so many, and at least one.
	repeatShare = 10
	// repeatPatience is how long a repetition waits for a fabric with nothing else to do.
	repeatPatience = 14 * 24 * time.Hour
	// maxRepeatLosses is how many attempts of a repetition may be lost or fail.
	maxRepeatLosses = 3
)

// RepeatVerdict is how a repetition has ended.
type RepeatVerdict string

// The verdicts.
const (
	RepeatSame          RepeatVerdict = "SAME"
	RepeatDifferent     RepeatVerdict = "DIFFERENT"
	RepeatNotComparable RepeatVerdict = "NOT_COMPARABLE"
)

var repeatVerdicts = []RepeatVerdict{RepeatSame, RepeatDifferent, RepeatNotComparable}

// Why a repetition cannot be compared; the code of a failure stands behind repeatFailed.
const (
	repeatFilesDeleted  = "FILES_DELETED"  // of the job, by its owner
	repeatInputsDeleted = "INPUTS_DELETED" // with another job that had made them
	repeatSuperseded    = "RUN_ANEW"       // its owner has had the task run anew
	repeatProgramsGone  = "PROGRAMS_GONE"  // no living worker has the programs of the first run
	repeatOtherPrograms = "OTHER_PROGRAMS" // they made other bytes, which says nothing
	repeatNoRoom        = "NO_ROOM"        // users' work left none for repeatPatience
	repeatUnreadable    = "UNREADABLE"     // the plan, or the report
	repeatFailed        = "FAILED"
)

// repeatEnd is a verdict with what led to it.
type repeatEnd struct {
	verdict            RepeatVerdict
	reason             string // of RepeatNotComparable
	file               string // of RepeatDifferent: the first that differs
	sha256, sha256Then string // then is of the repetition; "" for a file that is not there
}

func notComparable(reason string) repeatEnd {
	return repeatEnd{verdict: RepeatNotComparable, reason: reason}
}

// isDrawn tells whether an attempt is run again, by a digest under a secret of the deployment: all schedulers choose alike, at any
// time, and no worker knows which of its attempts others will make again.
func isDrawn(seed []byte, chance float64, taskID string, attempt int) bool {
	digest := hmac.New(sha256.New, seed)
	fmt.Fprintf(digest, "%s.%d", taskID, attempt)
	const bits = 53 // a float64 holds so many
	return float64(binary.BigEndian.Uint64(digest.Sum(nil))>>(64-bits))/(1<<bits) < chance
}

// isRepeat tells a repetition from a task.
func isRepeat(taskID string) bool { return strings.HasPrefix(taskID, repeatPrefix) }

// onlyTasks leaves out repetitions.
func onlyTasks(inFlight []TaskRow) []TaskRow {
	return slices.DeleteFunc(slices.Clone(inFlight), func(task TaskRow) bool { return isRepeat(task.ID) })
}

// repeatLoop draws tasks and has them run again while nothing else waits.
func (s *Scheduler) repeatLoop(ctx context.Context) {
	ticker := time.NewTicker(repeatInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s.logLoopError(ctx, "repeat", s.repeatOnce(ctx))
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// repeatOnce ends the repetitions that cannot be compared any more, draws, and hands out. Without a chance it does the first alone.
func (s *Scheduler) repeatOnce(ctx context.Context) error {
	if s.repeats == nil {
		return nil
	}
	void, err := s.repeats.void(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range void {
		errs = append(errs, s.voidRepeat(ctx, r))
	}
	if s.RepeatRate > 0 {
		errs = append(errs, s.drawRepeats(ctx), s.handOutRepeats(ctx))
	}
	return errors.Join(errs...)
}

// voidRepeat ends a repetition that has nothing to be compared with any more, and its attempt.
func (s *Scheduler) voidRepeat(ctx context.Context, seen repeatRow) error {
	err := s.changeRepeat(ctx, seen.ID, func(c *repeatChange, r repeatRow) error {
		if r.Void == "" {
			return nil
		}
		return c.end(ctx, r, notComparable(r.Void))
	})
	if err != nil || !seen.inFlight() {
		return err
	}
	return s.Queue.StopAttempts(ctx, queue.Ref{TaskID: seen.ID, Attempt: seen.Attempt})
}

// drawRepeats draws from the jobs that have ended since it did so last.
func (s *Scheduler) drawRepeats(ctx context.Context) error {
	seed := make([]byte, sha256.Size) // of the first draw alone
	if _, err := io.ReadFull(s.Random, seed); err != nil {
		return fmt.Errorf("make the secret that tasks are drawn by: %w", err)
	}
	drawn, err := s.repeats.draw(ctx, draw{seed: seed, chance: s.RepeatRate, until: s.Now().UTC().Add(-drawLag),
		from: s.Now().UTC().Add(-drawBack), at: s.Now().UTC(), newID: func() string { return s.NewID(repeatPrefix) },
		compares: func(queueName string, file engines.Artifact) bool {
			engine, known := s.Engines.Lookup(queue.Class(queueName).Engine)
			return known && engines.SameBytes(engine, file)
		}})
	if drawn > 0 {
		s.Log.Info("tasks drawn to be run again", "tasks", drawn)
	}
	return err
}

// handOutRepeats hands out repetitions while cores are idle and no task of an account waits for one.
func (s *Scheduler) handOutRepeats(ctx context.Context) error {
	names := s.servedQueues()
	waiting, err := s.repeats.waiting(ctx, names, s.Now().UTC(), repeatsAtOnce)
	if err != nil || len(waiting) == 0 {
		return err
	}
	room, err := s.roomForRepeats(ctx)
	if err != nil {
		return err
	}
	var orders []queue.WorkOrder
	var errs []error
	for _, r := range waiting {
		late := s.Now().Sub(r.ChosenAt) > repeatPatience
		if !late && !room.take(r.Queue) {
			continue
		}
		order, err := s.handOutRepeat(ctx, r, late)
		if errs = append(errs, err); order != nil {
			orders = append(orders, *order)
		}
	}
	if len(orders) > 0 {
		s.permit(context.WithoutCancel(ctx), orders)
		handOver, cancel := context.WithTimeout(context.WithoutCancel(ctx), handOverGrace)
		defer cancel()
		errs = append(errs, s.Queue.Enqueue(handOver, orders...))
	}
	return errors.Join(errs...)
}

// servedQueues are those that living workers have slots for.
func (s *Scheduler) servedQueues() []string {
	return slices.DeleteFunc(s.queueNames(), func(name string) bool { return s.slots.of(name) == 0 })
}

// repeatRoom is what repetitions may take of the fleet.
type repeatRoom struct {
	slots   func(queueName string) int
	busy    int            // attempts that run, and repetitions in flight
	repeats map[string]int // of them, by queue
}

// roomForRepeats is none while a task waits for a worker that lives.
func (s *Scheduler) roomForRepeats(ctx context.Context) (repeatRoom, error) {
	room := repeatRoom{slots: s.slots.of, repeats: map[string]int{}}
	open, err := s.store.CountOpenTasks(ctx)
	if err != nil {
		return room, err
	}
	for _, tasks := range open {
		switch {
		case tasks.Status == job.TaskRunning:
			room.busy += tasks.N
		case tasks.N > 0 && s.slots.of(tasks.Queue) > 0:
			room.slots = func(string) int { return 0 }
			return room, nil
		}
	}
	inFlight, err := s.repeats.inFlight(ctx)
	if err != nil {
		return room, err
	}
	room.busy += len(inFlight)
	for _, r := range inFlight {
		room.repeats[r.Queue]++
	}
	return room, nil
}

// take takes an idle slot of a queue, if there is one for repetitions.
func (r *repeatRoom) take(queueName string) bool {
	slots := r.slots(queueName)
	if r.busy >= slots || r.repeats[queueName] >= max(slots/repeatShare, 1) {
		return false
	}
	r.busy++
	r.repeats[queueName]++
	return true
}

// handOutRepeat begins the next attempt of a repetition; late ends it instead. The order is nil where there is none to give.
func (s *Scheduler) handOutRepeat(ctx context.Context, seen repeatRow, late bool) (order *queue.WorkOrder, err error) {
	ratios, err := s.ratios(ctx, seen.Queue)
	if err != nil {
		return nil, err
	}
	err = s.changeRepeat(ctx, seen.ID, func(c *repeatChange, r repeatRow) error {
		order = nil
		engineID := queue.Class(r.Queue).Engine
		switch {
		case r.Status != repeatWaiting:
			return nil
		case r.Void != "":
			return c.end(ctx, r, notComparable(r.Void))
		case late:
			return c.end(ctx, r, notComparable(repeatNoRoom))
		case r.Toolchain != "" && !s.fleet.has(s.Engines, engineID, r.Toolchain):
			return c.end(ctx, r, notComparable(repeatProgramsGone))
		}
		shard, inputs, known, err := c.tx.shardOf(ctx, r)
		if err != nil {
			return err
		}
		if !known {
			return c.end(ctx, r, notComparable(repeatUnreadable))
		}
		claim, err := queue.NewClaim(s.Random)
		if err != nil {
			return err
		}
		if r, err = c.tx.queueRepeat(ctx, r, claim.Witness()); err != nil {
			return err
		}
		order = &queue.WorkOrder{TaskID: r.ID, Attempt: r.Attempt, JobID: r.JobID, AccountID: r.AccountID, Engine: engineID,
			Queue: r.Queue, Shard: shard, Inputs: inputs, OutputPrefix: outputPrefix(r.task()), CommittedAt: c.now,
			Avoid: s.othersThan(r), Paid: r.mayUse(shard), Claim: claim,
			ExpectedSeconds: shard.ExpectedWallSeconds() * ratios.high}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("hand out %s: %w", seen.ID, err)
	}
	return order, nil
}

// othersThan keeps a repetition off the worker of the first run while another one is there: a worker that computes wrongly, or
// lies, may well do so twice.
func (s *Scheduler) othersThan(r repeatRow) []string {
	if r.GivenBack >= maxKeptWaiting || r.FirstWorker == "" {
		return nil
	}
	return s.fleet.avoidable(r.Queue, []string{r.FirstWorker})
}

// mayUse is what a repetition may use before it is ended: some times what the first run used.
func (r repeatRow) mayUse(shard engines.Shard) queue.Use {
	cores := int64(max(shard.Needs.CPUs, 1) + shard.Needs.MoreCPUs)
	return queue.Use{CPUMicroseconds: max(maxOverrun*r.FirstCPUMicros, cores*leastPaidTime.Microseconds())}
}

// takeBackRepeat ends a lost attempt of a repetition. It reports whether that was the current one still.
func (s *Scheduler) takeBackRepeat(ctx context.Context, seen TaskRow) (taken bool, err error) {
	err = s.changeRepeat(ctx, seen.ID, func(c *repeatChange, r repeatRow) error {
		if taken = r.inFlight() && r.Attempt == seen.Attempt && r.Status == string(seen.Status); !taken {
			return nil
		}
		return c.again(ctx, r, lostCode)
	})
	return taken && err == nil, err
}
