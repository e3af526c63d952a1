package sim

import (
	"maps"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// sightings is what only the moment of a commit shows.
type sightings struct {
	byProcess  map[*process]map[string]int
	endings    map[string]map[int]ending   // of the runs of jobs
	kept       map[queue.Ref]int64         // processor time of work that was seen to be kept
	saves      map[queue.Ref][]queue.Usage // what was to be kept, also by transactions that were undone
	cancelling map[queue.Ref]bool          // attempts that were settled while their job was being cancelled or stopped for its use
}

// ending is how a run of a job ended.
type ending struct {
	Status  job.Status
	Class   string
	Held    int64 // of all runs
	Charged int64 // of all runs
}

func newSightings() sightings {
	return sightings{byProcess: map[*process]map[string]int{}, endings: map[string]map[int]ending{},
		kept: map[queue.Ref]int64{}, saves: map[queue.Ref][]queue.Usage{}, cancelling: map[queue.Ref]bool{}}
}

// lockedRun is the run in which a job was when a process last had its lock; 0 for a process that never had.
func (s *sightings) lockedRun(p *process, jobID string) int { return s.byProcess[p][jobID] }

// observe looks at a transaction at the moment of its commit: what it changes must be legal, whatever happens beside it.
func (h *history) observe(tx *transaction) {
	for _, key := range tx.locked {
		if id, isJob := strings.CutPrefix(key, "job/"); isJob {
			h.noteLocked(tx.process, id, tx.jobs.get(id).Run)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tx.jobs.written)) {
		if before, known := h.memory.jobs[id]; known {
			h.observeJob(before, tx.jobs.written[id])
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tx.tasks.written)) {
		if before, known := h.memory.tasks[id]; known {
			h.observeTask(tx, before, tx.tasks.written[id])
		}
	}
	if len(tx.tasks.written) > 0 {
		h.observeSeats(tx)
	}
}

func (h *history) noteLocked(p *process, jobID string, run int) {
	if h.seen.byProcess[p] == nil {
		h.seen.byProcess[p] = map[string]int{}
	}
	h.seen.byProcess[p][jobID] = run
}

// observeJob checks a job's move.
func (h *history) observeJob(before, after jobState) {
	h.observeStopped(before, after)
	retried := after.Run == before.Run+1
	moved := after.Status != before.Status
	switch {
	case retried && !before.Status.CanRetry(job.Submitted):
		h.violate("job %s was retried while it was %s", after.ID, before.Status)
	case !retried && after.Run != before.Run:
		h.violate("job %s went from run %d to %d", after.ID, before.Run, after.Run)
	case !retried && moved && !legalPath(before, after):
		h.violate("job %s moved from %s to %s", after.ID, before.Status, after.Status)
	case !retried && before.Status.Terminal() && moved:
		h.violate("job %s had ended as %s and is %s", after.ID, before.Status, after.Status)
	case !retried && after.StageIndex < before.StageIndex:
		h.violate("job %s went back from stage %d to %d", after.ID, before.StageIndex, after.StageIndex)
	case !retried && after.AccruedMicropence < before.AccruedMicropence:
		h.violate("the bill of job %s fell", after.ID)
	}
	if moved && after.Status.Terminal() {
		if h.seen.endings[after.ID] == nil {
			h.seen.endings[after.ID] = map[int]ending{}
		}
		if _, again := h.seen.endings[after.ID][after.Run]; again {
			h.violate("run %d of job %s ended twice", after.Run, after.ID)
		}
		h.seen.endings[after.ID][after.Run] = ending{Status: after.Status, Class: after.FailureClass.String, Held: after.HeldPence,
			Charged: after.ChargedPence.Int64}
	}
}

// legalPath follows the history that a change has added: one commit may move a job several times.
func legalPath(before, after jobState) bool {
	at := before.Status
	for _, line := range after.History[min(len(before.History), len(after.History)):] {
		if !at.CanMove(line.Status) {
			return false
		}
		at = line.Status
	}
	return at == after.Status
}

// observeTask checks a task's move, and what becomes of the attempt that it leaves.
func (h *history) observeTask(tx *transaction, before, after taskState) {
	for _, k := range after.Kept {
		ref := queue.Ref{TaskID: after.ID, Attempt: k.Attempt}
		if k.CPUMicroseconds < h.seen.kept[ref] {
			h.violate("the kept work of %s fell", ref)
		}
		h.seen.kept[ref] = k.CPUMicroseconds
	}
	h.observeSaved(before, after)
	owner := h.memory.jobs[after.JobID]
	for _, a := range after.Attempts[min(len(before.Attempts), len(after.Attempts)):] {
		h.seen.cancelling[queue.Ref{TaskID: after.ID, Attempt: a.Attempt}] = owner.Status == job.Cancelling || owner.Overspent
	}
	retried := after.Run != before.Run
	switch {
	case after.Attempt != before.Attempt && (after.Attempt != before.Attempt+1 || before.Status != job.TaskPending &&
		!(retried && before.Status.Terminal())):
		h.violate("task %s was started as attempt %d while attempt %d was %s", after.ID, after.Attempt, before.Attempt,
			before.Status)
	case !retried && after.Status != before.Status && !legalTaskPath(before.Status, after.Status):
		h.violate("task %s moved from %s to %s", after.ID, before.Status, after.Status)
	case retried && !before.Status.CanRetry(job.TaskPending):
		h.violate("task %s was run again while it was %s", after.ID, before.Status)
	}
	if before.inFlight() && !(after.inFlight() && after.Attempt == before.Attempt) {
		h.observeLeft(before, after)
	}
	if after.Attempt != before.Attempt {
		h.observeStart(tx, after)
	}
}

// observeSaved checks that finished work is not set back to what it was before.
func (h *history) observeSaved(before, after taskState) {
	was := map[string]checkpointLine{}
	for _, c := range before.Checkpoints {
		was[c.Name] = c
	}
	for _, c := range after.Checkpoints {
		if b, known := was[c.Name]; known && b.Attempt == c.Attempt && c.Seq < b.Seq {
			h.violate("%s of %s was saved in report %d and is set back to that of report %d", c.Name, after.ref(), b.Seq, c.Seq)
		}
	}
}

// legalTaskPath allows for a commit that moves a task twice: a task that can never run is queued and fails, and one that is
// returned may be cancelled at once.
func legalTaskPath(from, to job.TaskStatus) bool {
	if from.CanMove(to) {
		return true
	}
	for _, between := range job.TaskStatuses {
		if from.CanMove(between) && between.CanMove(to) {
			return !from.Terminal()
		}
	}
	return false
}

// observeLeft checks that an attempt which is over has been settled, unless it never began.
func (h *history) observeLeft(before, after taskState) {
	isSettled := slices.ContainsFunc(after.Attempts, func(a settled) bool { return a.Attempt == before.Attempt })
	unbegun := after.GivenBack > before.GivenBack || before.Status == job.TaskQueued && after.Status == job.TaskCancelled
	if !isSettled && !unbegun {
		h.violate("attempt %s was given up unsettled: task is %s in attempt %d", before.ref(), after.Status, after.Attempt)
	}
}

// observeStart checks that an attempt begins when its stage may.
func (h *history) observeStart(tx *transaction, t taskState) {
	tx.ofJob(t.JobID, func(other taskState) {
		if other.StageIndex < t.StageIndex && !other.Status.Terminal() {
			h.violate("task %s of stage %d was started while %s of stage %d was %s", t.ID, t.StageIndex, other.ID, other.StageIndex,
				other.Status)
		}
	})
	if owner := tx.jobs.get(t.JobID); owner.Status.Terminal() && t.inFlight() {
		h.violate("task %s of job %s, which is %s, was started", t.ID, owner.ID, owner.Status)
	}
}

// observeSeats holds the dispatch to its promise: tasks that held a seat keep it when seats are taken away, and none starts beyond
// what there is.
func (h *history) observeSeats(tx *transaction) {
	account := h.clients[0].id
	before, inUse := 0, 0
	for id, t := range h.memory.tasks {
		if t.AccountID != account || t.LicenseKey == "" {
			continue
		}
		if t.inFlight() {
			before++
		}
		if tx.tasks.get(id).inFlight() {
			inUse++
		}
	}
	server := h.memory.servers[account]
	seats := server.Seats
	switch {
	case !server.serves():
		seats = 0
	case server.Enforcement == "ADVISORY":
		seats = inUse
	}
	if inUse > max(seats, before) {
		h.violate("%d tasks hold a licence, %d did before, and there are %d seats", inUse, before, seats)
	}
}
