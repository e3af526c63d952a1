package sim

import (
	"slices"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// verdictOnMoney checks that what a job was charged is the price of what its attempts used, run by run, and returns the sum.
func (h *history) verdictOnMoney(owner jobState) int64 {
	used, begun := map[int]billing.Micropence{}, map[int]bool{} // by run
	for _, id := range owner.TaskIDs {
		t := h.memory.tasks[id]
		attempts := slices.SortedFunc(slices.Values(t.Attempts), func(a, b settled) int { return a.Attempt - b.Attempt })
		for i, a := range attempts {
			h.verdictOnPrice(owner, t, a, attempts[i+1:])
			used[a.Run] += a.Price
			begun[a.Run] = begun[a.Run] || a.Price > 0 && t.StageIndex > 0
		}
	}
	total := int64(0)
	for run := 1; run <= owner.Run; run++ {
		last := h.seen.endings[owner.ID][run]
		holds := slices.DeleteFunc(slices.Clone(h.memory.holds[owner.ID]),
			func(hold billing.HoldRow) bool { return hold.Run != run })
		if len(holds) != 1 || holds[0].Status == billing.HoldOpen {
			h.violate("run %d of job %s has the holds %+v", run, owner.ID, holds)
			continue
		}
		hold := holds[0]
		held := hold.MonthlyPence + hold.WalletPence
		want, err := h.prices.Capture(billing.Accrual{Engine: engineID, Used: used[run], HoldPence: held, StartFeePaid: total > 0,
			SystemFailure: last.Status == job.Failed && last.Class == string(engines.System),
			InputFailure:  last.Status == job.Failed && last.Class == string(engines.UserInput) && !begun[run]})
		h.must(err)
		total += want
		if hold.CapturedPence != want || last.Charged != total || last.Held-held != total-want || h.chargedFor(owner, run) != want {
			h.violate("job %s, run %d, %+v: charged %d of %d pence, its entries %d, want %d and %d in all", owner.ID, run, last,
				hold.CapturedPence, held, h.chargedFor(owner, run), want, total)
		}
	}
	if n := len(h.memory.holds[owner.ID]); n != owner.Run {
		h.violate("job %s: %d holds for %d runs", owner.ID, n, owner.Run)
	}
	return total
}

// chargedFor is what the ledger says that a run was charged.
func (h *history) chargedFor(owner jobState, run int) (pence int64) {
	for _, e := range h.memory.accounts[owner.AccountID].Entries {
		if e.Type == billing.EntryCharge && e.JobID == owner.ID && e.Run == run {
			pence -= e.AmountPence
		}
	}
	return pence
}

// verdictOnPrice checks that an attempt's price is that of what its worker said, as far as that can be. later are the settled
// attempts that follow.
func (h *history) verdictOnPrice(owner jobState, t taskState, a settled, later []settled) {
	price, whole := h.wholePrice(owner, t, a)
	if whole {
		if a.Price != price {
			h.violate("attempt %s.%d, %s: priced at %d micropence, want %d", t.ID, a.Attempt, a.Outcome, a.Price, price)
		}
		return
	}
	if allowed := h.keptPrices(owner, t, a, later); !slices.Contains(allowed, a.Price) {
		h.violate("attempt %s.%d, %s: priced at %d micropence, want one of %v", t.ID, a.Attempt, a.Outcome, a.Price, allowed)
	}
}

// said is what the worker of a settled attempt said about its end; nil when it has said nothing.
func (h *history) said(t taskState, a settled) *run {
	for _, r := range h.runs[queue.Ref{TaskID: t.ID, Attempt: a.Attempt}] {
		if r.worker.id == a.WorkerID && r.end != nil {
			return r
		}
	}
	return nil
}

// wholePrice is what an attempt costs that is charged as a whole, from what its worker said and the rules of billing. It checks
// that the worker said what was settled.
func (h *history) wholePrice(owner jobState, t taskState, a settled) (price billing.Micropence, whole bool) {
	if a.Outcome == "LOST" {
		return 0, false
	}
	r := h.said(t, a)
	if r == nil {
		// The report of one that cannot be stored names no worker.
		if a.Outcome == "FAILED" && a.WorkerID == "" && slices.ContainsFunc(h.runs[queue.Ref{TaskID: t.ID, Attempt: a.Attempt}],
			func(r *run) bool { return r.broken }) {
			return 0, false
		}
		h.violate("attempt %s.%d was settled as %s of %q, which has not said so", t.ID, a.Attempt, a.Outcome, a.WorkerID)
		return 0, false
	}
	bill := false
	switch {
	case a.Outcome == "SUCCEEDED" && r.end.Kind == queue.Succeeded && !r.broken:
		bill = true
	case a.Outcome == "FAILED" && r.broken, a.Outcome == "FAILED" && r.end.Kind == queue.Cancelled:
	case a.Outcome == "FAILED" && r.end.Kind == queue.Failed:
		bill = r.end.Failure.Class == engines.UserInput || r.end.Failure.Class == engines.Timeout
	case a.Outcome == "CANCELLED" && r.end.Kind == queue.Cancelled:
		bill = h.seen.cancelling[queue.Ref{TaskID: t.ID, Attempt: a.Attempt}]
	default:
		h.violate("attempt %s.%d was settled as %s, its worker said %s", t.ID, a.Attempt, a.Outcome, r.end.Kind)
	}
	if !bill {
		return 0, false
	}
	return h.meter(owner, t, believed(t, a.QueuedAt, a.At, r.end.Usage)), true
}

// keptPrices are what an attempt may cost that is not charged as a whole: the work that it had saved, once somebody who went on
// from it has been charged, and nothing otherwise.
func (h *history) keptPrices(owner jobState, t taskState, a settled, later []settled) []billing.Micropence {
	heir := -1
	for i, b := range later {
		if price, whole := h.wholePrice(owner, t, b); b.Run == a.Run && whole && price > 0 {
			heir = i
			break
		}
	}
	ref := queue.Ref{TaskID: t.ID, Attempt: a.Attempt}
	allowed := []billing.Micropence{}
	if heir < 0 || h.redoneBetween(t.ID, a.Attempt, later[heir].Attempt) || h.seen.kept[ref] == 0 {
		allowed = append(allowed, 0)
	}
	if heir < 0 || h.saidRedone(t, later[heir]) {
		return []billing.Micropence{0}
	}
	for _, used := range h.seen.saves[ref] {
		if used.CPUMicroseconds >= h.seen.kept[ref] {
			allowed = append(allowed, h.meter(owner, t, used))
		}
	}
	return allowed
}

// saidRedone tells whether the worker of a settled attempt had to do kept work again.
func (h *history) saidRedone(t taskState, a settled) bool {
	r := h.said(t, a)
	return r != nil && r.redone
}

// redoneBetween reports whether one of a task's attempts after one and up to another had to do kept work again.
func (h *history) redoneBetween(taskID string, after, upTo int) bool {
	return slices.ContainsFunc(h.order, func(r *run) bool {
		return r.TaskID == taskID && r.Attempt > after && r.Attempt <= upTo && r.redone
	})
}

func (h *history) meter(owner jobState, t taskState, used queue.Usage) billing.Micropence {
	price, err := h.prices.Meter(billing.Usage{Engine: engineID, Hardware: queue.Class(t.Queue).Hardware,
		CPUMicros: used.CPUMicroseconds, GPUMicros: used.GPUMicroseconds, OutputBytes: used.BytesOut,
		SoftwarePencePerCoreHour: billing.Micropence(owner.SoftwareFee)})
	h.must(err)
	return price
}
