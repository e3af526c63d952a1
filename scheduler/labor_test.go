package scheduler_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
)

// laborer is a worker.
type laborer struct {
	id     string
	seq    int64
	dead   bool        // kill -9: it does nothing any more, but what it sent may still arrive
	silent bool        // its heartbeats do not arrive
	self   queue.Claim // signs its heartbeats
	held   []*run
	outbox []queue.Event // not acknowledged
}

// run is one attempt. end is what its worker says about its end, nil until then.
type run struct {
	queue.WorkOrder
	worker *laborer
	end    *queue.Event
	broken bool // end cannot be stored
	begun  bool // it has said something
	redone bool // it could not have all the work of those before
	used   int64
	kept   []queue.Usage // what it said that finished work had used
	saves  int64         // reports of what was saved
}

func (w *world) hire() {
	if len(w.living()) < 4 {
		w.workers = append(w.workers, &laborer{id: id.New("wrk_"), self: newClaim(w.f.t)})
	}
}

func (w *world) living() []*laborer {
	return slices.DeleteFunc(slices.Clone(w.workers), func(l *laborer) bool { return l.dead })
}

// claim lets a worker take an attempt out of the queue, as a current one or as one that nobody needs any more.
func (w *world) claim() {
	unclaimed := slices.DeleteFunc(slices.Clone(w.order), func(r *run) bool { return r.worker != nil })
	if len(unclaimed) == 0 || len(w.living()) == 0 {
		return
	}
	w.claimBy(pick(w, "worker", w.living()), pick(w, "attempt", unclaimed))
}

func (w *world) claimBy(l *laborer, r *run) {
	waiting, err := w.f.queue.Remove(r.Queue, r.Ref())
	w.must(err)
	if !waiting {
		return
	}
	r.worker, r.redone = l, r.Attempt > 1 && rapid.IntRange(0, 5).Draw(w.t, "loss") == 0
	l.held = append(l.held, r)
	if stopped, err := w.f.queue.Stopped(w.ctx, r.Ref()); err == nil && stopped {
		w.endAs(r, &queue.Event{Kind: queue.Cancelled})
	}
}

// busy are the attempts that living workers hold and have not ended.
func (w *world) busy() []*run {
	var out []*run
	for _, l := range w.living() {
		out = append(out, slices.DeleteFunc(slices.Clone(l.held), func(r *run) bool { return r.end != nil })...)
	}
	return out
}

func (w *world) start() {
	if busy := w.busy(); len(busy) > 0 {
		r := pick(w, "attempt", busy)
		w.report(r, queue.Event{Kind: queue.Started})
	}
}

// giveBack lets a worker return an attempt that it has not begun.
func (w *world) giveBack() {
	unbegun := slices.DeleteFunc(w.busy(), func(r *run) bool { return r.begun })
	if len(unbegun) > 0 {
		event := failure(engines.System)
		event.GivenBack, event.Usage = true, queue.Usage{}
		w.endAs(pick(w, "attempt", unbegun), event)
	}
}

// save lets the program of an attempt save something, now and then again under the same name.
func (w *world) save() {
	if busy := w.busy(); len(busy) > 0 {
		r := pick(w, "attempt", busy)
		name := rapid.SampledFrom([]string{"a", "b", "deep/c", "preview.jpg"}).Draw(w.t, "name")
		event := saving(r.WorkOrder, rapid.IntRange(1, 9).Draw(w.t, "version"), name)
		r.used += int64(rapid.IntRange(0, 90).Draw(w.t, "cpu seconds")) * 1_000_000
		event.Usage.CPUMicroseconds = r.used
		r.saves++
		event.Seq = r.saves
		if name != "preview.jpg" {
			r.kept = append(r.kept, event.Usage)
		}
		w.report(r, event)
	}
}

func (w *world) end() {
	if busy := w.busy(); len(busy) > 0 {
		w.endSomehow(pick(w, "attempt", busy))
	}
}

// endSomehow lets an attempt end in one of all the ways there are.
func (w *world) endSomehow(r *run) {
	used := queue.Usage{CPUMicroseconds: int64(rapid.IntRange(0, 300).Draw(w.t, "cpu seconds")) * 1_000_000, BytesOut: 100}
	if queue.Class(r.Queue).Hardware == engines.HardwareGPU {
		used.GPUMicroseconds = int64(rapid.IntRange(0, 300_000_000).Draw(w.t, "device microseconds"))
	}
	event := success(r.WorkOrder)
	switch rapid.SampledFrom([]string{"success", "success", "success", "items", "failure", "unusable"}).Draw(w.t, "end") {
	case "items":
		event.Result.Failures = []engines.ItemFailure{{Item: "ligand", Step: "parse", Message: "unreadable"}}
	case "failure":
		event = failure(rapid.SampledFrom([]engines.FailureClass{engines.UserInput, engines.Executor, engines.System,
			engines.Timeout}).Draw(w.t, "class"))
	case "unusable":
		r.broken = true
		if rapid.Bool().Draw(w.t, "foreign file") {
			event.Result.Artifacts[0].StorageKey = "accounts/another/file"
		} else {
			event.Result.Summary = json.RawMessage(`{"name":"\u0000"}`)
		}
	}
	event.Usage = used
	w.endAs(r, event)
}

func (w *world) endAs(r *run, event *queue.Event) {
	r.end = event
	w.report(r, *event)
}

// report puts an event into the outbox of the attempt's worker.
func (w *world) report(r *run, event queue.Event) {
	event.ID, event.Ref, event.JobID, event.WorkerID, event.Engine = id.New("evt_"), r.Ref(), r.JobID, r.worker.id, r.Engine
	event.Claim = r.Claim
	event.Redone, r.begun = r.redone, true
	r.worker.outbox = append(r.worker.outbox, event)
}

// deliver lets any report that has not been acknowledged arrive, in any order, also of workers that have died meanwhile.
func (w *world) deliver() {
	var waiting []queue.Event
	for _, l := range w.workers {
		waiting = append(waiting, l.outbox...)
	}
	if len(waiting) > 0 {
		w.send(pick(w, "report", waiting))
	}
}

// deliverTwice repeats a report that has arrived before, acknowledged or not.
func (w *world) deliverTwice() {
	if len(w.said) > 0 {
		w.send(pick(w, "report", w.said))
	}
}

func (w *world) send(event queue.Event) {
	_, err := w.f.queue.Report(w.ctx, []queue.Event{event})
	w.must(err)
	w.said = append(w.said, event)
}

func (w *world) beatAll() {
	for _, l := range w.living() {
		if !l.silent {
			w.beat(l)
		}
	}
}

// beat shows that a worker lives, and lets it learn what has been committed and what must stop.
func (w *world) beat(l *laborer) {
	l.seq++
	hb := queue.Heartbeat{WorkerID: l.id, Seq: l.seq, Queues: []string{cpuQueue, gpuQueue}, Slots: 2,
		Devices: queue.Devices{Total: 2, Slots: 2}}
	for _, r := range l.held {
		phase := queue.Running
		if r.end != nil {
			phase = queue.Reporting
		}
		held := queue.Held{Ref: r.Ref(), JobID: r.JobID, Phase: phase, Progress: 0.5, Message: fmt.Sprintf("beat %d\x00", l.seq)}
		hb.Held = append(hb.Held, held.Proven(r.Claim, l.self))
	}
	orders, err := w.f.queue.Beat(w.ctx, hb.Signed(l.self))
	w.must(err)
	for _, r := range slices.Clone(l.held) {
		if orders.Stop[r.Ref()] && r.end == nil {
			w.endAs(r, &queue.Event{Kind: queue.Cancelled, Usage: queue.Usage{CPUMicroseconds: 60_000_000}})
		}
	}
	for _, e := range l.outbox {
		acked := slices.Contains(orders.Acked, e.ID)
		if acked && e.Kind != queue.Started && e.Kind != queue.Checkpointed && !e.GivenBack && w.f.count(`SELECT count(*)
			FROM task_attempts WHERE task_id = $1 AND attempt = $2`, e.Ref.TaskID, e.Ref.Attempt) != 1 {
			w.t.Errorf("the end of %s was acknowledged and is not stored", e.Ref)
		}
	}
	l.outbox = slices.DeleteFunc(l.outbox, func(e queue.Event) bool { return slices.Contains(orders.Acked, e.ID) })
	l.held = slices.DeleteFunc(l.held, func(r *run) bool {
		return r.end != nil && !slices.ContainsFunc(l.outbox, func(e queue.Event) bool { return e.Ref == r.Ref() })
	})
}

func (w *world) kill() {
	if living := w.living(); len(living) > 0 {
		pick(w, "worker", living).dead = true
	}
}

// silence cuts a worker off, or lets it be heard again: then it is a zombie if it was declared lost meanwhile.
func (w *world) silence() {
	if living := w.living(); len(living) > 0 {
		l := pick(w, "worker", living)
		l.silent = !l.silent
	}
}
