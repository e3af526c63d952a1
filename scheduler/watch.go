package scheduler

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// maxMessageRunes bounds what is kept of an engine's progress message: a line for people.
const maxMessageRunes = 200

// sweepEvery is how many watch rounds pass between two sweeps of what lost workers left in the queues.
const sweepEvery = 60

// watchLoop compares the tasks in flight with what the workers say they hold, and repairs what differs: lost workers, lost
// queue entries, lost stop orders. It is what makes Redis expendable.
func (s *Scheduler) watchLoop(ctx context.Context) {
	w := newWatch(id.New("epoch_"))
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for round := 0; ctx.Err() == nil; round++ {
		s.logLoopError(ctx, "watch", s.watchOnce(ctx, w))
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
	inFlight, err := s.look(ctx, w)
	if err != nil {
		// A store did not answer; while it was away nobody could report.
		w.forgive(s.Now())
		return err
	}
	// What goes wrong for one task or one purpose must not keep the rest from being done.
	var errs []error
	for _, task := range inFlight {
		errs = append(errs, s.account(ctx, w, task))
	}
	w.keepOnly(inFlight)
	tasks := onlyTasks(inFlight)
	errs = append(errs, s.pursueStops(ctx), s.stopStale(ctx, w), s.followProgress(ctx, w, tasks), s.brake(ctx, w, tasks),
		s.renewPermits(ctx, w, inFlight))
	return errors.Join(errs...)
}

// look reads the tasks and repetitions in flight and then the heartbeats, in this order: a task that is reported and acknowledged
// in between is found ended when it is looked at again.
func (s *Scheduler) look(ctx context.Context, w *watch) ([]TaskRow, error) {
	marked, err := s.Queue.IsMarked(ctx, w.epoch)
	if err != nil {
		return nil, err
	}
	if !marked {
		// Redis is new, has lost its data, or was another leader's: everybody gets time to report.
		w.forgive(s.Now())
		if err := s.Queue.Mark(ctx, w.epoch); err != nil {
			return nil, err
		}
	}
	inFlight, err := s.inFlight(ctx)
	if err != nil {
		return nil, err
	}
	heartbeats, err := s.Queue.Workers(ctx)
	if err != nil {
		return nil, err
	}
	now := s.Now() // one moment for both: who was heard in this round is not lost in it, however long the proofs take
	for _, forged := range w.hear(heartbeats, witnesses(inFlight), now) {
		s.Metrics.forged.WithLabelValues(forgedHold).Inc()
		if w.accuse(forged) {
			s.Log.Warn("passed over an attempt in heartbeats that prove no claim", "task", forged.TaskID, "attempt", forged.Attempt,
				"worker", forged.workerID)
		}
	}
	buried := w.bury(now)
	s.Metrics.fleet(w.living())
	s.slots.Store(w.slots())
	s.fleet.see(w.living())
	for _, dead := range buried {
		if dead.Draining && len(dead.Held) == 0 {
			s.Log.Info("worker left", "worker", dead.WorkerID, "host", dead.Host)
		} else {
			s.Metrics.lostWorkers.Inc()
			s.Log.Warn("worker lost", "worker", dead.WorkerID, "host", dead.Host, "held", len(dead.Held))
		}
		if err := s.Queue.Forget(ctx, dead.WorkerID); err != nil {
			return nil, err
		}
	}
	return inFlight, s.lookIntoQueues(w, inFlight)
}

// lookIntoQueues finds which of the queued tasks that no worker answers for still wait to be claimed.
func (s *Scheduler) lookIntoQueues(w *watch, inFlight []TaskRow) error {
	clear(w.waiting)
	for _, task := range inFlight {
		ref := queue.Ref{TaskID: task.ID, Attempt: task.Attempt}
		if task.Status != job.TaskQueued || w.held[ref] != nil || w.diedHolding[ref] {
			continue
		}
		waiting, err := s.Queue.Waiting(task.Queue, ref)
		if err != nil {
			return err
		}
		w.waiting[ref] = waiting
	}
	return nil
}

// account takes a task in flight back when nobody has answered for it long enough.
func (s *Scheduler) account(ctx context.Context, w *watch, task TaskRow) error {
	ref := queue.Ref{TaskID: task.ID, Attempt: task.Attempt}
	if w.held[ref] != nil || w.waiting[ref] {
		w.found(ref)
		return nil
	}
	if !w.lost(ref, task.WorkerID.String, s.Now()) {
		return nil
	}
	taken, err := s.takeBackFrom(ctx, task)
	if err != nil {
		return err
	}
	w.found(ref)
	if !taken { // it has just been started or ended: its attempt may be current still, and is left alone
		return nil
	}
	s.wakeUp()
	return s.Queue.StopAttempts(ctx, ref)
}

// inFlight are the tasks in flight, and the repetitions as if they were tasks.
func (s *Scheduler) inFlight(ctx context.Context) ([]TaskRow, error) {
	tasks, err := s.store.TasksInFlight(ctx)
	if err != nil || s.repeats == nil {
		return tasks, err
	}
	repeats, err := s.repeats.inFlight(ctx)
	for _, r := range repeats {
		tasks = append(tasks, r.task())
	}
	return tasks, err
}

// takeBackFrom ends a lost attempt of a task or a repetition. It reports whether that was the current one still.
func (s *Scheduler) takeBackFrom(ctx context.Context, seen TaskRow) (taken bool, err error) {
	if isRepeat(seen.ID) {
		return s.takeBackRepeat(ctx, seen)
	}
	return s.changeTask(ctx, seen, s.takeBack)
}

// takeBack ends a lost attempt: the task waits for its next one, or ends when its job is being stopped or it has been
// interrupted too often.
func (s *Scheduler) takeBack(ctx context.Context, c *change, owner *JobRow, task TaskRow) error {
	if err := s.settleLost(ctx, c, task); err != nil {
		return err
	}
	c.then(func(context.Context) {
		s.Metrics.lostTasks.Inc()
		s.Log.Warn("task lost", "job", task.JobID, "task", task.ID, "attempt", task.Attempt, "worker", task.WorkerID.String)
	})
	switch afterFailure(engines.System, lostCode, task.Retries, task.Interruptions, owner.Stopping) {
	case againFree:
		return c.returnTask(ctx, task, false, c.now)
	case drop:
		return c.endTask(ctx, task, job.TaskCancelled, nil)
	}
	return c.endTask(ctx, task, job.TaskFailed, &engines.Failure{Class: engines.System, Code: lostCode,
		Message: fmt.Sprintf("the task was interrupted %d times, the last time by the loss of its worker", task.Interruptions+1)})
}

// followProgress stores the progress that has changed since the last round and tells the watchers of those jobs.
func (s *Scheduler) followProgress(ctx context.Context, w *watch, inFlight []TaskRow) error {
	var news []queue.Held
	jobOf, messages := map[queue.Ref]string{}, map[queue.Ref]string{}
	for _, task := range inFlight {
		held := w.held[queue.Ref{TaskID: task.ID, Attempt: task.Attempt}]
		if held == nil || held.Phase != queue.Running || w.told[held.Ref] == progressLine(held.Held) {
			continue
		}
		report := held.Held
		report.Message = truncate(strings.ReplaceAll(report.Message, "\x00", ""), maxMessageRunes) // Postgres' text has no NUL
		news = append(news, report)
		jobOf[report.Ref], messages[report.Ref] = task.JobID, report.Message
	}
	if len(news) == 0 {
		return nil
	}
	saved, err := s.store.SaveProgress(ctx, news)
	if err != nil {
		return err
	}
	jobs := map[string]string{} // job → a message
	for _, ref := range saved {
		jobs[jobOf[ref]] = messages[ref]
	}
	for _, jobID := range sortedKeys(jobs) {
		percent, err := s.store.Percent(ctx, jobID)
		if err != nil {
			return err
		}
		body, err := progressEvent(percent, jobs[jobID])
		if err != nil {
			return fmt.Errorf("encode progress event: %w", err)
		}
		if err := s.store.TellProgress(ctx, jobID, body, s.Now().UTC()); err != nil {
			return err
		}
	}
	// What was not stored is told again in the next round: its start is recorded only now, or another transaction has the task.
	for _, ref := range saved {
		w.told[ref] = progressLine(w.held[ref].Held)
	}
	return nil
}

// stopStale tells workers that hold attempts which are no longer current to end them.
func (s *Scheduler) stopStale(ctx context.Context, w *watch) error {
	var tasks, repeats []queue.Ref
	for _, ref := range w.runningRefs() {
		if isRepeat(ref.TaskID) && s.repeats != nil {
			repeats = append(repeats, ref)
		} else {
			tasks = append(tasks, ref)
		}
	}
	stale, err := s.store.StaleRefs(ctx, tasks)
	if err == nil && len(repeats) > 0 {
		var more []queue.Ref
		more, err = s.repeats.stale(ctx, repeats)
		stale = append(stale, more...)
	}
	if err != nil {
		return err
	}
	return s.Queue.StopAttempts(ctx, stale...)
}

// sweep removes dead entries from the queues and expired idempotency keys.
func (s *Scheduler) sweep(ctx context.Context) error {
	for _, name := range s.queueNames() {
		if err := s.Queue.Sweep(name); err != nil {
			return err
		}
	}
	return s.store.ForgetAnswers(ctx, s.Now().UTC())
}

// watch is what the leader remembers between rounds. It is pure: it reads no clock and no store. Workers and attempts are taken in
// the order of their names, so that the same heartbeats always lead to the same decisions.
type watch struct {
	epoch        string
	seen         map[string]sighting     // by worker
	dead         map[string]bool         // workers declared lost, while tasks in flight are theirs
	held         map[queue.Ref]*heldBy   // by living workers
	waiting      map[queue.Ref]bool      // in their queues, unclaimed
	diedHolding  map[queue.Ref]bool      // in the last heartbeat of a lost worker
	missingSince map[queue.Ref]time.Time // attempts that nobody answers for
	told         map[queue.Ref]string    // progress last stored
	weighed      map[queue.Ref]queue.Use // use last held against what is set aside
	holders      map[queue.Ref]holder    // of attempts in flight
	doubted      map[queue.Ref]bool      // attempts whose use was cut
	accused      map[accusation]bool     // what has been logged of living workers and attempts in flight
	renewed      map[queue.Ref]time.Time // when their permits were
}

// accusation is that a worker says to hold an attempt and does not prove it.
type accusation struct {
	workerID string
	ref      queue.Ref
}

// sighting is a worker's newest heartbeat and when it was first seen here.
type sighting struct {
	queue.Heartbeat
	at time.Time
	// proven says of attempts in flight that it names whether they are the worker's. It is found out once for each heartbeat, as is
	// whether that is signed.
	proven map[queue.Ref]bool
	signed func() bool
}

// holder is who has proven to have claimed an attempt, and in which heartbeat he last said that he holds it.
type holder struct {
	key string
	seq int64
}

type heldBy struct {
	queue.Held
	workerID string
}

func newWatch(epoch string) *watch {
	return &watch{epoch: epoch, seen: map[string]sighting{}, dead: map[string]bool{}, held: map[queue.Ref]*heldBy{},
		waiting: map[queue.Ref]bool{}, diedHolding: map[queue.Ref]bool{}, missingSince: map[queue.Ref]time.Time{},
		told: map[queue.Ref]string{}, weighed: map[queue.Ref]queue.Use{}, holders: map[queue.Ref]holder{},
		accused: map[accusation]bool{}, doubted: map[queue.Ref]bool{},
		renewed: map[queue.Ref]time.Time{}}
}

// witnesses are those of the attempts in flight. One without is there with nil.
func witnesses(inFlight []TaskRow) map[queue.Ref][]byte {
	out := make(map[queue.Ref][]byte, len(inFlight))
	for _, task := range inFlight {
		out[queue.Ref{TaskID: task.ID, Attempt: task.Attempt}] = task.Witness
	}
	return out
}

// hear takes note of heartbeats. A worker lives as long as its sequence number rises. It answers only for attempts whose claims it
// proves; hear returns those of attempts in flight that it did not, each once a heartbeat.
func (w *watch) hear(heartbeats []queue.Heartbeat, inFlight map[queue.Ref][]byte, now time.Time) (forged []heldBy) {
	for _, hb := range heartbeats {
		before, known := w.seen[hb.WorkerID]
		if !known || hb.Seq != before.Seq {
			w.seen[hb.WorkerID] = sighting{Heartbeat: hb, at: now, proven: map[queue.Ref]bool{}, signed: sync.OnceValue(hb.Genuine)}
			delete(w.dead, hb.WorkerID)
		}
	}
	clear(w.held)
	for _, worker := range sortedKeys(w.seen) {
		for _, h := range w.seen[worker].Held {
			proven, isNew := w.prove(w.seen[worker], h, inFlight)
			switch by := (heldBy{Held: h, workerID: worker}); {
			case proven:
				w.held[h.Ref] = &by
				delete(w.diedHolding, h.Ref)
			case isNew:
				forged = append(forged, by)
			}
		}
	}
	return forged
}

// prove reports whether a worker answers for an attempt, and whether that has been found out just now. An old heartbeat that
// somebody sends again proves nothing. Whoever holds an attempt that is not in flight need prove nothing: he is told to stop.
func (w *watch) prove(s sighting, h queue.Held, inFlight map[queue.Ref][]byte) (proven, isNew bool) {
	if known, ok := s.proven[h.Ref]; ok {
		return known, false
	}
	witness, ok := inFlight[h.Ref]
	if !ok || witness == nil {
		return true, false
	}
	before, key := w.holders[h.Ref], string(s.Key)
	if before.key == key && key != "" {
		proven = s.Seq > before.seq && s.signed()
	} else {
		proven = s.signed() && h.ProvenBy(witness, s.Key)
	}
	if proven {
		w.holders[h.Ref] = holder{key, s.Seq}
	}
	s.proven[h.Ref] = proven
	return proven, true
}

// accuse reports whether that a worker says to hold an attempt is news: it says so again in every heartbeat.
func (w *watch) accuse(forged heldBy) bool {
	a := accusation{forged.workerID, forged.Ref}
	known := w.accused[a]
	w.accused[a] = true
	return !known
}

// bury removes the workers that have been silent for too long and returns them.
func (w *watch) bury(now time.Time) []queue.Heartbeat {
	var buried []queue.Heartbeat
	for _, worker := range sortedKeys(w.seen) {
		s := w.seen[worker]
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

// keepOnly forgets what concerns no task in flight.
func (w *watch) keepOnly(inFlight []TaskRow) {
	current, workers := make(map[queue.Ref]bool, len(inFlight)), map[string]bool{}
	for _, task := range inFlight {
		current[queue.Ref{TaskID: task.ID, Attempt: task.Attempt}] = true
		workers[task.WorkerID.String] = true
	}
	maps.DeleteFunc(w.missingSince, func(ref queue.Ref, _ time.Time) bool { return !current[ref] })
	maps.DeleteFunc(w.diedHolding, func(ref queue.Ref, _ bool) bool { return !current[ref] })
	maps.DeleteFunc(w.holders, func(ref queue.Ref, _ holder) bool { return !current[ref] })
	maps.DeleteFunc(w.accused, func(a accusation, _ bool) bool { _, lives := w.seen[a.workerID]; return !lives || !current[a.ref] })
	maps.DeleteFunc(w.doubted, func(ref queue.Ref, _ bool) bool { return !current[ref] })
	maps.DeleteFunc(w.renewed, func(ref queue.Ref, _ time.Time) bool { return !current[ref] })
	maps.DeleteFunc(w.told, func(ref queue.Ref, _ string) bool { return !current[ref] })
	maps.DeleteFunc(w.weighed, func(ref queue.Ref, _ queue.Use) bool { return !current[ref] })
	maps.DeleteFunc(w.dead, func(worker string, _ bool) bool { return !workers[worker] })
}

// progressLine is what of an attempt's progress is told to people: two reports with the same line are the same news.
func progressLine(held queue.Held) string {
	return fmt.Sprintf("%.3f %s", held.Progress, held.Message)
}

// living returns the workers that are alive.
func (w *watch) living() []queue.Heartbeat {
	out := make([]queue.Heartbeat, 0, len(w.seen))
	for _, worker := range sortedKeys(w.seen) {
		out = append(out, w.seen[worker].Heartbeat)
	}
	return out
}

// slots counts, by queue, the slots of living workers that still take work.
func (w *watch) slots() *map[string]int {
	slots := map[string]int{}
	for _, s := range w.seen {
		for _, name := range s.Queues {
			if !s.Draining {
				slots[name] += s.SlotsOf(name)
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
	slices.SortFunc(refs, func(a, b queue.Ref) int {
		return cmp.Or(cmp.Compare(a.TaskID, b.TaskID), cmp.Compare(a.Attempt, b.Attempt))
	})
	return refs
}

// maxOpenPercent is the most that a job which has not ended shows, as in its status.
const maxOpenPercent = 99.9

// progressEvent is the body of a "progress" event for watchers: percent with one decimal, rounded down.
func progressEvent(percent float64, message string) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"percent": min(math.Floor(percent*10)/10, maxOpenPercent), "message": message})
}
