package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// verdict compares what is stored at the end of a history with what its clients and workers know. Every job has ended by then.
func (h *history) verdict() {
	if len(h.violations) > 0 {
		return
	}
	charged := map[string]int64{}
	owners := map[string]*submitted{}
	for _, j := range h.jobs {
		if j.id != "" {
			owners[j.id] = j
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.memory.jobs)) {
		owner := h.memory.jobs[id]
		charged[owner.AccountID] += h.verdictOnMoney(owner)
		h.verdictOnJob(owner, owners[id])
	}
	for _, j := range h.jobs {
		if _, stored := h.memory.jobs[j.id]; j.id != "" && !stored {
			h.violate("job %s was acknowledged and is not stored", j.id)
		}
	}
	h.verdictOnKeys()
	for _, c := range h.clients {
		h.verdictOnAccount(c, charged[c.id])
	}
	for _, key := range slices.Sorted(maps.Keys(h.memory.locks)) {
		h.violate("%s is still locked", key)
	}
}

// verdictOnKeys checks that a key stands for one job, and a job for one key.
func (h *history) verdictOnKeys() {
	if answers, jobs := len(h.memory.answers), len(h.memory.jobs); answers != jobs {
		h.violate("%d keys stand for %d jobs", answers, jobs)
	}
	for _, key := range slices.Sorted(maps.Keys(h.memory.answers)) {
		id := h.memory.answers[key].response
		if !slices.ContainsFunc(slices.Collect(maps.Keys(h.memory.jobs)),
			func(job string) bool { return strings.Contains(id, `"`+job+`"`) }) {
			h.violate("the key %s stands for no job: %s", key, id)
		}
	}
}

// verdictOnJob checks that a job's state follows from its tasks', theirs from the attempts, and that its owner got what he was
// told.
func (h *history) verdictOnJob(owner jobState, j *submitted) {
	ended, items, all := map[job.TaskStatus]int{}, false, len(owner.TaskIDs)
	for _, id := range owner.TaskIDs {
		t := h.memory.tasks[id]
		ended[t.Status]++
		items = items || t.Status == job.TaskSucceeded && t.Items != ""
		h.verdictOnTask(t)
	}
	cancelled := owner.Status == job.Cancelled
	switch {
	case !owner.Status.Terminal() || !owner.FinishedAt.Valid:
		h.violate("job %s is %s at the end", owner.ID, owner.Status)
	case cancelled && j != nil && !j.triedToCancel:
		h.violate("job %s is cancelled, and nobody wanted that", owner.ID)
	case (owner.Status == job.Completed) != (ended[job.TaskSucceeded] == all && !items && !cancelled):
		h.violate("job %s is %s with %v of %d tasks, failed items: %v", owner.ID, owner.Status, ended, all, items)
	case owner.Status == job.Failed && ended[job.TaskFailed] == 0 && !strings.Contains(owner.StatusReason.String,
		"times what was set aside"):
		h.violate("job %s is %s and no task failed: %v", owner.ID, owner.Status, ended)
	}
	if j != nil {
		for _, run := range slices.Sorted(maps.Keys(j.cancels)) {
			if got := h.seen.endings[owner.ID][run]; got.Status != job.Cancelled {
				h.violate("a cancel of run %d of job %s was accepted, and the run ended as %q", run, owner.ID, got.Status)
			}
		}
		for _, run := range slices.Sorted(maps.Keys(j.begun)) {
			if run > owner.Run {
				h.violate("run %d of job %s was acknowledged, and its last one is %d", run, owner.ID, owner.Run)
			}
		}
	}
	if last := owner.History[len(owner.History)-1].Status; last != owner.Status || len(h.seen.endings[owner.ID]) != owner.Run {
		h.violate("job %s is %s in run %d, its history ends with %s and %d runs have ended", owner.ID, owner.Status, owner.Run,
			last, len(h.seen.endings[owner.ID]))
	}
}

// verdictOnTask checks that every attempt was settled but those given back and the last of each run, which may never have started,
// and that exactly the current attempt of a task that succeeded is its success.
func (h *history) verdictOnTask(t taskState) {
	attempts := slices.SortedFunc(slices.Values(t.Attempts), func(a, b settled) int { return a.Attempt - b.Attempt })
	counted, before := 0, settled{}
	before.Run = 1
	for _, a := range attempts {
		unsettled := a.Attempt - before.Attempt - 1
		if unsettled < 0 || unsettled > a.Run-before.Run+h.givenBackBetween(t.ID, before.Attempt, a.Attempt) ||
			a.Attempt > t.Attempt || a.Run > t.Run {
			h.violate("task %s in attempt %d, run %d has settled attempts %+v", t.ID, t.Attempt, t.Run, attempts)
		}
		if before.Outcome == "SUCCEEDED" && before.Run == a.Run {
			h.violate("task %s was started again in run %d, in which it had succeeded: %+v", t.ID, a.Run, attempts)
		}
		if before = a; a.Outcome == "SUCCEEDED" && a.Run == t.Run {
			counted++
			if a.Attempt != t.Attempt {
				h.violate("task %s in attempt %d counts the success of attempt %d", t.ID, t.Attempt, a.Attempt)
			}
		}
	}
	files, others := 0, 0
	prefix := "/" + t.ID + "/"
	for _, file := range t.Files {
		_, below, _ := strings.Cut(file.StorageKey, prefix)
		if attempt, _, _ := strings.Cut(below, "/"); attempt == strconv.Itoa(t.Attempt) {
			files++
		} else {
			others++
		}
	}
	succeeded := t.Status == job.TaskSucceeded
	if succeeded != (counted == 1) || succeeded != (files == 1) || others != 0 {
		h.violate("task %s is %s with %d successes, %d files and %d foreign ones", t.ID, t.Status, counted, files, others)
	}
	if succeeded && (len(t.Checkpoints) > 0 || len(t.Kept) > 0) || !succeeded && (t.Summary != "" || t.Programs != "") {
		h.violate("task %s is %s with %d checkpoints, %d kept attempts, summary %q", t.ID, t.Status, len(t.Checkpoints),
			len(t.Kept), t.Summary)
	}
	if limit := t.Run*(1+job.MaxRetries+job.MaxInterruptions) + h.givenBackBetween(t.ID, 0, t.Attempt); t.Attempt > limit {
		h.violate("task %s was started %d times", t.ID, t.Attempt)
	}
}

// givenBackBetween counts the attempts of a task after one and up to another that were given back unstarted.
func (h *history) givenBackBetween(taskID string, after, upTo int) int {
	n := 0
	for attempt := after + 1; attempt <= upTo; attempt++ {
		if slices.ContainsFunc(h.runs[queue.Ref{TaskID: taskID, Attempt: attempt}],
			func(r *run) bool { return r.end != nil && r.end.GivenBack }) {
			n++
		}
	}
	return n
}

// verdictOnAccount checks that an account's balance is what it had less what its jobs were charged, that its entries and its
// postings add up to it, and that nothing is held.
func (h *history) verdictOnAccount(c *client, charged int64) {
	a := h.memory.accounts[c.id]
	balances, postings := map[billing.Bucket]int64{}, map[string]int64{}
	granted := int64(0)
	for _, e := range a.Entries {
		if e.BeforePence != balances[e.Bucket] {
			h.violate("account %s: entry %s starts at %d, the one before ended at %d", c.id, e.ID, e.BeforePence,
				balances[e.Bucket])
		}
		balances[e.Bucket] = e.AfterPence
		if e.Type == billing.EntryMonthlyGrant || e.Type == billing.EntryMonthlyExpiry {
			granted += e.AmountPence
		}
		for _, p := range e.Postings(c.id) {
			postings[p.Account] += p.AmountPence
		}
	}
	total := int64(0)
	for _, pence := range postings {
		total += pence
	}
	switch {
	case a.MonthlyPence+a.WalletPence != granted-charged:
		h.violate("account %s has %d and %d pence, was granted %d and charged %d", c.id, a.MonthlyPence, a.WalletPence, granted,
			charged)
	case a.MonthlyHeldPence != 0 || a.WalletHeldPence != 0:
		h.violate("account %s holds %d and %d pence for jobs that have ended", c.id, a.MonthlyHeldPence, a.WalletHeldPence)
	case total != 0 || postings["monthly:"+c.id] != a.MonthlyPence || postings["wallet:"+c.id] != a.WalletPence ||
		postings["monthly_held:"+c.id] != 0 || postings["wallet_held:"+c.id] != 0:
		h.violate("account %s: postings %v for %+v", c.id, postings, a.AccountRow)
	case balances[billing.Monthly] != a.MonthlyPence || balances[billing.Wallet] != a.WalletPence:
		h.violate("account %s: entries end at %v, the account at %+v", c.id, balances, a.AccountRow)
	}
}
