package sim

import (
	"context"
	"slices"
	"time"

	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

const (
	// healRounds bounds the seconds within which every job must end once nothing is in its way any more.
	healRounds = 300
	// failingRounds is how long programs go on failing then.
	failingRounds = 10
	// longestBackOff lets a task begin that waits for the end of its pause, when nothing else happens.
	longestBackOff = 10 * time.Second
)

// heal ends all faults and lets every job come to its end. Attempts of a cancelled job run on until they are told to stop.
func (h *history) heal() {
	h.transport.away = false
	for _, p := range h.processes {
		p.stalled, p.fate = 0, untroubled
	}
	h.healing = true
	defer func() { h.healing = false }()
	h.settle()
	h.drop()
	if h.chance(1, 2) {
		h.note("flush at last")
		h.transport.flush()
	}
	for _, l := range h.workers {
		l.silent = false
	}
	h.setSeats(seating{Key: licenseKey, Seats: 1, Enforcement: "ENFORCED", Enabled: true})
	h.settle()
	self, err := queue.NewClaim(h.secrets)
	h.must(err)
	healthy := &laborer{id: h.newID("wrk_"), self: self}
	h.workers = append(h.workers, healthy)
	for round := range healRounds {
		if len(h.violations) > 0 || h.healRound(round, healthy) {
			return
		}
	}
	h.violate("a job never ended: %v", h.unended())
}

// healRound is a second of a healthy deployment. It reports whether every job has ended.
func (h *history) healRound(round int, healthy *laborer) bool {
	i := h.instances[0]
	h.clock = h.clock.Add(time.Second)
	if slices.ContainsFunc(h.busy(), func(r *run) bool { return r.greedy && r.runs }) {
		h.clock = h.clock.Add(time.Hour)
	}
	h.beatAll()
	h.alone(i, "dispatch", i.leader.Dispatch)
	for _, order := range h.transport.unclaimed() {
		h.claimBy(healthy, order)
	}
	statuses := h.statuses()
	for _, r := range h.busy() {
		switch {
		case statuses[r.JobID] == job.Cancelling:
		case r.greedy && !r.runs:
			h.report(r, queue.Event{Kind: queue.Started})
		case r.greedy: // it is stopped
		case round < failingRounds:
			h.endSomehow(r)
		default:
			h.endAs(r, success(r.WorkOrder))
		}
	}
	for _, l := range h.living() {
		for _, event := range slices.Clone(l.outbox) {
			h.transport.arrive(event)
		}
	}
	h.alone(i, "collect", i.leader.Collect)
	h.alone(i, "watch", i.leader.Watch)
	h.observeBrake()
	for _, status := range h.statuses() {
		if !status.Terminal() {
			if h.idle() {
				h.clock = h.clock.Add(longestBackOff)
			}
			return false
		}
	}
	return true
}

// idle tells that no task is in a queue or with a worker.
func (h *history) idle() bool {
	tasks, err := h.ground.TasksInFlight(context.Background())
	h.must(err)
	return len(tasks) == 0
}

func (h *history) statuses() map[string]job.Status {
	statuses, err := h.ground.Statuses(context.Background())
	h.must(err)
	return statuses
}

// unended names the jobs that have not ended.
func (h *history) unended() []string {
	var open []string
	for id, status := range h.statuses() {
		if !status.Terminal() {
			open = append(open, id+" "+string(status))
		}
	}
	slices.Sort(open)
	return open
}
