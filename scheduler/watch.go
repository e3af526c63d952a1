package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// sweepEvery is how many watch rounds pass between two sweeps of what lost workers left in the queues.
const sweepEvery = 60

// taskChange changes one task under its job's lock.
type taskChange func(ctx context.Context, tx *sqlx.Tx, owner *jobRow, task taskRow, now time.Time) error

// watchLoop compares the tasks in flight with what the workers say they hold, and repairs what differs: lost workers, lost
// queue entries, lost stop orders. It is what makes Redis expendable.
func (s *Scheduler) watchLoop(ctx context.Context) {
	w := newWatch(id.New("epoch_"))
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for round := 0; ctx.Err() == nil; round++ {
		if err := s.watchOnce(ctx, w); err != nil {
			w.forgive(s.Now())
			s.logLoopError(ctx, "watch", err)
		}
		if round%sweepEvery == 0 {
			s.logLoopError(ctx, "sweep", s.sweep(ctx))
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// watchOnce is one round of the watch.
func (s *Scheduler) watchOnce(ctx context.Context, w *watch) error {
	same, err := s.Queue.Same(ctx, w.epoch)
	if err != nil {
		return err
	}
	if !same {
		// Redis is new, has lost its data, or was another leader's: everybody gets time to report.
		w.forgive(s.Now())
		if err := s.Queue.Mark(ctx, w.epoch); err != nil {
			return err
		}
	}
	inFlight, err := tasksInFlight(ctx, s.DB)
	if err != nil {
		return err
	}
	heartbeats, err := s.Queue.Workers(ctx)
	if err != nil {
		return err
	}
	w.hear(heartbeats, s.Now())
	s.Metrics.fleet(w.living())
	s.slots.Store(w.slots())
	for _, dead := range w.bury(s.Now()) {
		if dead.Draining && len(dead.Held) == 0 {
			s.Log.Info("worker left", "worker", dead.WorkerID, "host", dead.Host)
		} else {
			s.Metrics.lostWorkers.Inc()
			s.Log.Warn("worker lost", "worker", dead.WorkerID, "host", dead.Host, "held", len(dead.Held))
		}
		if err := s.Queue.Forget(ctx, dead.WorkerID); err != nil {
			return err
		}
	}
	for _, task := range inFlight {
		if err := s.account(ctx, w, task); err != nil {
			return err
		}
	}
	w.keepOnly(inFlight)
	if err := s.followProgress(ctx, w, inFlight); err != nil {
		return err
	}
	if err := s.stopStale(ctx, w); err != nil {
		return err
	}
	return s.pursueCancels(ctx)
}

// account asks where a task in flight is, and takes it back when nobody has answered for it long enough.
func (s *Scheduler) account(ctx context.Context, w *watch, task taskRow) error {
	ref := queue.Ref{TaskID: task.ID, Attempt: task.Attempt}
	if w.held[ref] != nil {
		w.found(ref)
		return nil
	}
	if task.Status == job.TaskQueued && !w.diedHolding[ref] {
		waiting, err := s.Queue.Waiting(task.Queue, ref)
		if err != nil {
			return err
		}
		if waiting {
			w.found(ref)
			return nil
		}
	}
	if !w.lost(ref, task.WorkerID.String, s.Now()) {
		return nil
	}
	s.Metrics.lostTasks.Inc()
	s.Log.Warn("task lost; starting it again", "job", task.JobID, "task", task.ID, "attempt", task.Attempt, "worker", task.WorkerID.String)
	if err := s.withTask(ctx, task, s.takeBack); err != nil {
		return err
	}
	if err := s.Queue.StopAttempt(ctx, ref); err != nil {
		return err
	}
	w.found(ref)
	s.wakeUp()
	return nil
}

// takeBack ends a lost attempt: the task waits for its next one, or ends when its job is being cancelled or it has been lost
// too often.
func (s *Scheduler) takeBack(ctx context.Context, tx *sqlx.Tx, owner *jobRow, task taskRow, now time.Time) error {
	event := queue.Event{WorkerID: task.WorkerID.String, Ref: queue.Ref{TaskID: task.ID, Attempt: task.Attempt}, Usage: queue.Usage{FinishedAt: now}}
	if err := insertAttempt(ctx, tx, task, event, "LOST", billing.Micropence(0), now); err != nil {
		return err
	}
	if owner.Status == job.Cancelling {
		return endTask(ctx, tx, task.ID, job.TaskCancelled, nil, now)
	}
	if afterFailure(engines.System, task.Retries, task.Interruptions, owner.Status) == againFree {
		return returnTask(ctx, tx, task.ID, false, now)
	}
	return endTask(ctx, tx, task.ID, job.TaskFailed, &engines.Failure{Class: engines.System, Code: "WORKER_LOST",
		Message: fmt.Sprintf("every one of %d attempts lost its worker", task.Attempt)}, now)
}

// dropUnstarted ends a queued task of a cancelling job.
func (s *Scheduler) dropUnstarted(ctx context.Context, tx *sqlx.Tx, _ *jobRow, task taskRow, now time.Time) error {
	return endTask(ctx, tx, task.ID, job.TaskCancelled, nil, now)
}

// followProgress stores the progress that has changed since the last round and tells the watchers of those jobs.
func (s *Scheduler) followProgress(ctx context.Context, w *watch, inFlight []taskRow) error {
	var news []queue.Held
	jobs := map[string]string{} // job → newest message
	for _, task := range inFlight {
		held := w.held[queue.Ref{TaskID: task.ID, Attempt: task.Attempt}]
		if held == nil || held.Phase != queue.Running || !w.changed(*held) {
			continue
		}
		news = append(news, held.Held)
		jobs[task.JobID] = held.Message
	}
	if len(news) == 0 {
		return nil
	}
	return storeProgress(ctx, s.DB, news, jobs, s.Now().UTC())
}

// stopStale tells workers that hold attempts which are no longer current to end them.
func (s *Scheduler) stopStale(ctx context.Context, w *watch) error {
	stale, err := staleRefs(ctx, s.DB, w.runningRefs())
	if err != nil {
		return err
	}
	for _, ref := range stale {
		if err := s.Queue.StopAttempt(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

// sweep removes dead entries from the queues and expired idempotency keys.
func (s *Scheduler) sweep(ctx context.Context) error {
	for _, name := range s.queueNames() {
		if err := s.Queue.Sweep(name); err != nil {
			return err
		}
	}
	return deleteExpiredKeys(ctx, s.DB, s.Now().UTC())
}

// watch is what the leader remembers between rounds. It is pure: it reads no clock and no store.
type watch struct {
	epoch        string
	seen         map[string]sighting     // by worker
	dead         map[string]bool         // workers declared lost, for as long as the leader lives
	held         map[queue.Ref]*heldBy   // by living workers
	diedHolding  map[queue.Ref]bool      // in the last heartbeat of a lost worker
	missingSince map[queue.Ref]time.Time // attempts that nobody answers for
	told         map[queue.Ref]string    // progress last stored
}

// sighting is a worker's newest heartbeat and when it was first seen here.
type sighting struct {
	queue.Heartbeat
	at time.Time
}

type heldBy struct {
	queue.Held
	workerID string
}

func newWatch(epoch string) *watch {
	return &watch{epoch: epoch, seen: map[string]sighting{}, dead: map[string]bool{}, held: map[queue.Ref]*heldBy{},
		diedHolding: map[queue.Ref]bool{}, missingSince: map[queue.Ref]time.Time{}, told: map[queue.Ref]string{}}
}

// hear takes note of heartbeats. A worker lives as long as its sequence number rises.
func (w *watch) hear(heartbeats []queue.Heartbeat, now time.Time) {
	for _, hb := range heartbeats {
		before, known := w.seen[hb.WorkerID]
		if !known || hb.Seq != before.Seq {
			w.seen[hb.WorkerID] = sighting{Heartbeat: hb, at: now}
			delete(w.dead, hb.WorkerID)
		}
	}
	clear(w.held)
	for worker, s := range w.seen {
		for _, h := range s.Held {
			w.held[h.Ref] = &heldBy{Held: h, workerID: worker}
			delete(w.diedHolding, h.Ref)
		}
	}
}

// bury removes the workers that have been silent for too long and returns them.
func (w *watch) bury(now time.Time) []queue.Heartbeat {
	var buried []queue.Heartbeat
	for worker, s := range w.seen {
		if now.Sub(s.at) < lostAfter {
			continue
		}
		buried = append(buried, s.Heartbeat)
		delete(w.seen, worker)
		w.dead[worker] = true
		for _, h := range s.Held {
			if by := w.held[h.Ref]; by != nil && by.workerID == worker {
				delete(w.held, h.Ref)
				w.diedHolding[h.Ref] = true
			}
		}
	}
	return buried
}

// lost decides whether an attempt that nobody answers for is to be taken back: at once when the worker it was with is
// dead, otherwise after a while.
func (w *watch) lost(ref queue.Ref, workerID string, now time.Time) bool {
	if w.dead[workerID] || w.diedHolding[ref] {
		return true
	}
	since, known := w.missingSince[ref]
	if !known {
		w.missingSince[ref] = now
		return false
	}
	return now.Sub(since) >= lostAfter
}

// found ends the count against an attempt.
func (w *watch) found(ref queue.Ref) {
	delete(w.missingSince, ref)
	delete(w.diedHolding, ref)
}

// forgive starts every count anew: while Redis was away nobody could report.
func (w *watch) forgive(now time.Time) {
	for worker, s := range w.seen {
		s.at = now
		w.seen[worker] = s
	}
	clear(w.missingSince)
}

// keepOnly forgets attempts that are no longer in flight.
func (w *watch) keepOnly(inFlight []taskRow) {
	current := make(map[queue.Ref]bool, len(inFlight))
	for _, task := range inFlight {
		current[queue.Ref{TaskID: task.ID, Attempt: task.Attempt}] = true
	}
	for ref := range w.missingSince {
		if !current[ref] {
			delete(w.missingSince, ref)
		}
	}
	for ref := range w.diedHolding {
		if !current[ref] {
			delete(w.diedHolding, ref)
		}
	}
	for ref := range w.told {
		if !current[ref] {
			delete(w.told, ref)
		}
	}
}

// changed reports whether an attempt's progress differs from what was last stored, and takes note of it.
func (w *watch) changed(held heldBy) bool {
	now := fmt.Sprintf("%.3f %s", held.Progress, held.Message)
	if w.told[held.Ref] == now {
		return false
	}
	w.told[held.Ref] = now
	return true
}

// living returns the workers that are alive.
func (w *watch) living() []queue.Heartbeat {
	out := make([]queue.Heartbeat, 0, len(w.seen))
	for _, s := range w.seen {
		out = append(out, s.Heartbeat)
	}
	return out
}

// slots counts, by queue, the slots of living workers that still take work.
func (w *watch) slots() *map[string]int {
	slots := map[string]int{}
	for _, s := range w.seen {
		for _, name := range s.Queues {
			if !s.Draining {
				slots[name] += s.Slots
			}
		}
	}
	return &slots
}

// runningRefs are the attempts that living workers hold and have not finished.
func (w *watch) runningRefs() []queue.Ref {
	var refs []queue.Ref
	for ref, h := range w.held {
		if h.Phase != queue.Reporting {
			refs = append(refs, ref)
		}
	}
	return refs
}

// maxOpenPercent is the most that a job which has not ended shows, as in its status.
const maxOpenPercent = 99.9

// progressEvent is the body of a "progress" event for watchers: percent with one decimal, rounded down.
func progressEvent(percent float64, message string) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"percent": min(math.Floor(percent*10)/10, maxOpenPercent), "message": message})
}
