package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

// laborer is a worker. It keeps the promises of real ones and no others: it answers for what it holds, keeps a report until it is
// acknowledged, and may die, fall silent or come back at any moment.
type laborer struct {
	id     string
	self   queue.Claim // signs its heartbeats
	seq    int64
	dead   bool // kill -9: it does nothing any more, but what it sent may still arrive
	silent bool // its heartbeats do not arrive
	faulty bool // programs fail on it
	held   []*run
	outbox []queue.Event // not acknowledged
}

// run is one attempt at one worker. end is what the worker says about its end, nil until then.
type run struct {
	queue.WorkOrder
	worker *laborer
	end    *queue.Event
	broken bool // end cannot be stored
	begun  bool // it has said something
	runs   bool // it has said that its program runs
	redone bool // it could not have all the work of those before
	greedy bool // its program never ends by itself, and keeps its core busy
	liar   bool // its worker says that it uses more than anybody can
	since  time.Time
	used   int64
	told   int64         // use, by its last heartbeat
	kept   []queue.Usage // what it said that finished work had used
	saves  int64         // reports of what was saved
}

func (h *history) hire() {
	if len(h.living()) < maxWorkers {
		self, err := queue.NewClaim(h.secrets)
		h.must(err)
		h.workers = append(h.workers, &laborer{id: h.newID("wrk_"), self: self, faulty: h.chance(1, 6)})
	}
}

func (h *history) living() []*laborer {
	return slices.DeleteFunc(slices.Clone(h.workers), func(l *laborer) bool { return l.dead })
}

// claim lets a worker take an attempt out of the queue, as a current one or as one that nobody needs any more.
func (h *history) claim() {
	waiting, living := h.transport.unclaimed(), h.living()
	if h.transport.away || len(waiting) == 0 || len(living) == 0 {
		return
	}
	h.claimBy(pick(h, living), pick(h, waiting))
}

// claimTwice hands an attempt over a second time, to another worker.
func (h *history) claimTwice() {
	claimed, living := h.transport.claimedOrders(), h.living()
	if h.transport.away || len(claimed) == 0 || len(living) == 0 {
		return
	}
	order, l := pick(h, claimed), pick(h, living)
	if slices.ContainsFunc(h.runs[order.Ref()], func(r *run) bool { return r.worker == l }) {
		return
	}
	h.claimBy(l, order)
}

func (h *history) claimBy(l *laborer, order queue.WorkOrder) {
	h.note("claim", order.Ref().String(), l.id)
	h.transport.claim(order.Ref())
	h.observePaid(order)
	r := &run{WorkOrder: order, worker: l, redone: order.Attempt > 1 && h.chance(1, 6), greedy: h.chance(1, 30),
		liar: h.chance(1, 30), since: h.clock}
	h.runs[order.Ref()] = append(h.runs[order.Ref()], r)
	h.order = append(h.order, r)
	l.held = append(l.held, r)
	switch {
	case h.transport.stops[order.Ref()]:
		h.endAs(r, &queue.Event{Kind: queue.Cancelled})
	case slices.Contains(order.Avoid, l.id):
		h.endAs(r, givenBack("WORKER_KEPT_OFF"))
	}
}

// givenBack is the end of an attempt that was never started.
func givenBack(code string) *queue.Event {
	return &queue.Event{Kind: queue.Failed, GivenBack: true, Failure: &engines.Failure{Class: engines.System, Code: code,
		Message: "not here"}}
}

// busy are the attempts that living workers hold and have not ended.
func (h *history) busy() []*run {
	var out []*run
	for _, l := range h.living() {
		out = append(out, slices.DeleteFunc(slices.Clone(l.held), func(r *run) bool { return r.end != nil })...)
	}
	return out
}

func (h *history) startSome() {
	if busy := h.busy(); len(busy) > 0 {
		h.report(pick(h, busy), queue.Event{Kind: queue.Started})
	}
}

// giveBack lets a worker return an attempt that it has not begun.
func (h *history) giveBack() {
	unbegun := slices.DeleteFunc(h.busy(), func(r *run) bool { return r.begun })
	if len(unbegun) > 0 {
		h.endAs(pick(h, unbegun), givenBack("NO_ROOM"))
	}
}

// save lets the program of an attempt save something, now and then again under the same name.
func (h *history) save() {
	busy := h.busy()
	if len(busy) == 0 {
		return
	}
	r := pick(h, busy)
	name := pick(h, []string{"checkpoint/a", "checkpoint/b", "checkpoint/deep/c", "checkpoint/preview.jpg"})
	key := fmt.Sprintf("%s%s/%d", r.OutputPrefix, name, h.between(1, 9))
	r.used += int64(h.between(0, 90)) * 1_000_000
	r.saves++
	event := queue.Event{Kind: queue.Checkpointed, Seq: r.saves, Usage: queue.Usage{CPUMicroseconds: r.used},
		Checkpoints: []queue.StoredArtifact{{
			Artifact: engines.Artifact{Name: name}, Object: engines.Object{StorageKey: key, SHA256: strings.Repeat("0", 64),
				ByteSize: 10}}}}
	if queue.KeepsWork(name) {
		r.kept = append(r.kept, event.Usage)
	}
	h.report(r, event)
}

// lie is what a worker that lies says that an attempt has used.
const lie = 1 << 50

func (h *history) endSome() {
	if busy := h.busy(); len(busy) > 0 {
		h.endSomehow(pick(h, busy))
	}
}

// endSomehow lets an attempt end in one of all the ways there are.
func (h *history) endSomehow(r *run) {
	used := queue.Usage{CPUMicroseconds: int64(h.between(0, 300)) * 1_000_000, BytesOut: 100}
	if queue.Class(r.Queue).Hardware == engines.HardwareGPU {
		used.GPUMicroseconds = int64(h.between(0, 300_000_000))
	}
	if h.chance(1, 20) { // a program that runs away: the job is stopped
		used.CPUMicroseconds *= 200
	}
	event := success(r.WorkOrder)
	way := h.rng.IntN(6)
	if r.worker.faulty && h.chance(2, 3) {
		way = 6
	}
	switch way {
	case 0, 1, 2:
	case 3:
		event.Result.Failures = []engines.ItemFailure{{Item: "ligand", Step: "parse", Message: "unreadable"}}
	case 4:
		event = broke(pick(h, []engines.FailureClass{engines.UserInput, engines.Executor, engines.System, engines.Timeout}))
	case 5:
		r.broken = true
		if h.chance(1, 2) {
			event.Result.Artifacts[0].StorageKey = "accounts/another/file"
		} else {
			event.Result.Summary = json.RawMessage(`{"name":"\u0000"}`)
		}
	case 6:
		event = broke(engines.Executor)
	}
	event.Usage = used
	h.endAs(r, event)
}

// broke is the failure of a program.
func broke(class engines.FailureClass) *queue.Event {
	return &queue.Event{Kind: queue.Failed, Failure: &engines.Failure{Class: class, Code: "BROKEN", Message: "it broke"}}
}

// success is the end of an attempt that used ten CPU seconds and left one output.
func success(order queue.WorkOrder) *queue.Event {
	return &queue.Event{Kind: queue.Succeeded, Usage: queue.Usage{CPUMicroseconds: 10_000_000, WallMs: 10_000, BytesOut: 100},
		Result: &queue.Result{Summary: []byte(`{"ok": true}`), Artifacts: []queue.StoredArtifact{{
			Artifact: engines.Artifact{Name: "out", Role: engines.RoleResult, MediaType: "text/plain", Format: "log"},
			Object:   engines.Object{StorageKey: order.OutputPrefix + "out", SHA256: "00", ByteSize: 100}}}}}
}

func (h *history) endAs(r *run, event *queue.Event) {
	if !event.GivenBack {
		event.Usage.CPUMicroseconds = max(event.Usage.CPUMicroseconds, r.used)
	}
	r.end = event
	h.transport.done(r.Ref())
	h.report(r, *event)
}

// report puts an event into the outbox of the attempt's worker.
func (h *history) report(r *run, event queue.Event) {
	event.ID, event.Ref, event.JobID, event.WorkerID, event.Engine = h.newID("evt_"), r.Ref(), r.JobID, r.worker.id, r.Engine
	event.Redone, event.Claim, r.begun = r.redone, r.Claim, true
	r.runs = r.runs || event.Kind == queue.Started
	what := string(event.Kind)
	if event.GivenBack {
		what = "given back"
	}
	h.note("says", r.worker.id, r.Ref().String(), what)
	r.worker.outbox = append(r.worker.outbox, event)
}

// deliver lets any report that has not been acknowledged arrive, in any order, also of workers that have died meanwhile.
func (h *history) deliver() {
	var waiting []queue.Event
	for _, l := range h.workers {
		waiting = append(waiting, l.outbox...)
	}
	if len(waiting) > 0 && !h.transport.away {
		event := pick(h, waiting)
		h.note("arrives", event.ID, event.Ref.String())
		h.transport.arrive(event)
	}
}

// deliverTwice repeats a report that has arrived before, acknowledged or not.
func (h *history) deliverTwice() {
	if len(h.transport.said) > 0 && !h.transport.away {
		event := pick(h, h.transport.said)
		h.note("arrives again", event.ID, event.Ref.String())
		h.transport.arrive(event)
	}
}

func (h *history) beatAll() {
	for _, l := range h.living() {
		if !l.silent && !h.transport.away {
			h.beat(l)
		}
	}
}

// beat shows that a worker lives, and lets it learn what has been committed and what must stop.
func (h *history) beat(l *laborer) {
	l.seq++
	hb := queue.Heartbeat{WorkerID: l.id, Seq: l.seq, Queues: []string{cpuQueue, gpuQueue}, Slots: 2,
		Devices: queue.Devices{Total: 2, Slots: 2}}
	for _, r := range l.held {
		phase := queue.Running
		if r.end != nil {
			phase = queue.Reporting
		}
		held := queue.Held{Ref: r.Ref(), JobID: r.JobID, Phase: phase, Progress: 0.5, Message: fmt.Sprintf("beat %d\x00", l.seq)}
		if r.end == nil {
			if r.greedy {
				r.used = max(r.used, h.clock.Sub(r.since).Microseconds())
			}
			if r.told = r.used; r.liar {
				r.told = lie
			}
			held.Used.CPUMicroseconds = r.told
		}
		hb.Held = append(hb.Held, held.Proven(r.Claim, l.self))
	}
	acked, stop := h.transport.beat(hb.Signed(l.self))
	for _, r := range slices.Clone(l.held) {
		if stop[r.Ref()] && r.end == nil {
			h.endAs(r, &queue.Event{Kind: queue.Cancelled, Usage: queue.Usage{CPUMicroseconds: 60_000_000}})
		}
	}
	for _, e := range l.outbox {
		if slices.Contains(acked, e.ID) {
			h.acknowledgedIsStored(e)
		}
	}
	l.outbox = slices.DeleteFunc(l.outbox, func(e queue.Event) bool { return slices.Contains(acked, e.ID) })
	l.held = slices.DeleteFunc(l.held, func(r *run) bool {
		return r.end != nil && !slices.ContainsFunc(l.outbox, func(e queue.Event) bool { return e.Ref == r.Ref() })
	})
}

// acknowledgedIsStored holds the leader to what it tells a worker: the end of an attempt is stored, or another's is.
func (h *history) acknowledgedIsStored(e queue.Event) {
	if h.script.ground != nil || e.Kind == queue.Started || e.Kind == queue.Checkpointed || e.GivenBack {
		return
	}
	if slices.ContainsFunc(h.runs[e.Ref], func(r *run) bool { return r.end != nil && r.end.GivenBack }) {
		return // it was handed over twice, and the other worker has given it back
	}
	stored := slices.ContainsFunc(h.memory.tasks[e.Ref.TaskID].Attempts, func(a settled) bool { return a.Attempt == e.Ref.Attempt })
	if !stored {
		h.violate("the end of %s was acknowledged to %s and is not stored", e.Ref, e.WorkerID)
	}
}

// killWorker is kill -9 of a worker.
func (h *history) killWorker() {
	if living := h.living(); len(living) > 0 {
		l := pick(h, living)
		h.note("dies", l.id)
		l.dead = true
	}
}

// forger writes to the transport as workers do, and has claimed nothing.
const forger = "wrk_forger"

// forge lets the forger end an attempt that waits or runs, or answer for all of them.
func (h *history) forge() {
	if len(h.transport.orders) == 0 || h.transport.away {
		return
	}
	orders := append(h.transport.unclaimed(), h.transport.claimedOrders()...)
	claim, err := queue.NewClaim(h.secrets)
	h.must(err)
	if h.chance(1, 2) {
		order := pick(h, orders)
		event := pick(h, []*queue.Event{{Kind: queue.Started}, {Kind: queue.Cancelled}, success(order), broke(engines.UserInput),
			givenBack("NO_ROOM")})
		event.ID, event.Ref, event.JobID, event.WorkerID, event.Engine, event.Claim = h.newID("evt_"), order.Ref(), order.JobID,
			forger, order.Engine, claim
		h.note("forges", order.Ref().String(), string(event.Kind))
		h.transport.put(*event)
		return
	}
	h.forged++
	hb := queue.Heartbeat{WorkerID: forger, Seq: h.forged}
	for _, order := range orders {
		held := queue.Held{Ref: order.Ref(), JobID: order.JobID, Phase: queue.Running, Progress: 0.9}
		hb.Held = append(hb.Held, held.Proven(claim, claim))
	}
	h.note("forges a heartbeat")
	h.transport.beat(hb.Signed(claim))
}

// silence cuts a worker off, or lets it be heard again: then it is a zombie if it was declared lost meanwhile.
func (h *history) silence() {
	if living := h.living(); len(living) > 0 {
		l := pick(h, living)
		l.silent = !l.silent
		h.note("silence", l.id)
	}
}
