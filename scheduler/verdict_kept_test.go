package scheduler_test

import (
	"slices"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/queue"
)

// noteKept notes the work that is kept and not charged yet.
func (w *world) noteKept() {
	var rows []struct {
		TaskID  string `db:"task_id"`
		Attempt int    `db:"attempt"`
		CPU     int64  `db:"cpu_us"`
	}
	w.must(w.f.db.Select(&rows, `SELECT task_id, attempt, cpu_us FROM kept_work`))
	for _, row := range rows {
		ref := queue.Ref{TaskID: row.TaskID, Attempt: row.Attempt}
		if row.CPU < w.kept[ref] {
			w.t.Errorf("the kept work of %s fell from %d to %d µs", ref, w.kept[ref], row.CPU)
		}
		w.kept[ref] = row.CPU
	}
}

// nextBilled is the next attempt of the same task and run that was charged as a whole and for something, or nil. later are the
// settled attempts that follow.
func (w *world) nextBilled(j *submitted, later []attemptRow, a attemptRow) *attemptRow {
	for i, b := range later {
		if b.TaskID != a.TaskID || b.Run != a.Run {
			continue
		}
		if price, billed := w.price(j, b); billed && price > 0 {
			return &later[i]
		}
	}
	return nil
}

// keptPrice is what an attempt costs that is not charged as a whole: the work that it had saved, once somebody who went on from it
// has been charged. A history does not show which of its saves came in time; the price must be that of one of them.
func (w *world) keptPrice(j *submitted, a attemptRow, heir *attemptRow) billing.Micropence {
	ref := queue.Ref{TaskID: a.TaskID, Attempt: a.Attempt}
	r := w.runs[ref]
	if heir == nil || r == nil || w.redone(a.TaskID, heir.Attempt-1, heir.Attempt) {
		return 0
	}
	if seen := w.kept[ref]; seen > 0 && a.Price == 0 && !w.redone(a.TaskID, a.Attempt, heir.Attempt) {
		w.t.Errorf("attempt %s had kept %d µs of work, attempt %d went on from it and it is free", ref, seen, heir.Attempt)
	}
	for _, used := range r.kept {
		if price := w.meter(j, r, used); price == billing.Micropence(a.Price) && used.CPUMicroseconds >= w.kept[ref] {
			return price
		}
	}
	return 0
}

// redone reports whether one of a task's attempts after one and up to another had to do kept work again.
func (w *world) redone(taskID string, after, upTo int) bool {
	return slices.ContainsFunc(w.order, func(r *run) bool {
		return r.TaskID == taskID && r.Attempt > after && r.Attempt <= upTo && r.redone
	})
}

// givenBack counts the attempts of a task after one and up to another that were given back unstarted.
func (w *world) givenBack(taskID string, after, upTo int) int {
	n := 0
	for _, r := range w.order {
		if r.TaskID == taskID && r.Attempt > after && r.Attempt <= upTo && r.end != nil && r.end.GivenBack {
			n++
		}
	}
	return n
}

func (w *world) meter(j *submitted, r *run, used queue.Usage) billing.Micropence {
	price, err := w.f.Prices.Meter(billing.Usage{Engine: "autodock-vina", Hardware: queue.Class(r.Queue).Hardware,
		CPUMicros: used.CPUMicroseconds, GPUMicros: used.GPUMicroseconds, OutputBytes: used.BytesOut,
		SoftwarePencePerCoreHour: j.fee})
	w.must(err)
	return price
}
