package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/billing"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/queue"
)

// reachingHistories are enough for what is rare: a leader that dies between storing an attempt and queueing it.
const reachingHistories = 4 * histories

// TestHistoriesReachEverything shows that the histories are not harmless: what the scheduler is made for happens in some of them.
func TestHistoriesReachEverything(t *testing.T) {
	t.Parallel()
	shared := setUp(t)
	times := map[string]int{}
	for seed := range uint64(reachingHistories) {
		for _, what := range reached(played(shared, script{seed: seed, traced: true})) {
			times[what]++
		}
	}
	for _, what := range wanted() {
		if times[what] == 0 {
			t.Errorf("in none of %d histories: %s", reachingHistories, what)
		}
	}
	t.Log(times)
}

// wanted is what must happen in some history.
func wanted() []string {
	all := []string{"a second run", "kept work charged", "a worker kept off", "overspent", "a month ended", "killed at commit",
		"killed at committed", "killed at enqueue", "cut at committed", "waited for a lock", "a transaction undone and run again",
		"a credit refused", "given back", "an account at nought"}
	for _, status := range []job.Status{job.Completed, job.CompletedWithFailures, job.Failed, job.Cancelled} {
		all = append(all, "job "+string(status))
	}
	for _, outcome := range []string{"SUCCEEDED", "FAILED", "CANCELLED", "LOST"} {
		all = append(all, "attempt "+outcome)
	}
	for _, a := range alphabet {
		all = append(all, "do "+a.name)
	}
	return all
}

// reached lists what happened in a history, each once.
func reached(h *history) []string {
	var found []string
	add := func(what string) {
		if !slices.Contains(found, what) {
			found = append(found, what)
		}
	}
	for _, owner := range h.memory.jobs {
		add("job " + string(owner.Status))
		if owner.Run > 1 {
			add("a second run")
		}
		if owner.ErrorCode.String == "COST_LIMIT_EXCEEDED" {
			add("overspent")
		}
		for _, f := range owner.Faults {
			if f.Attempts >= 3 {
				add("a worker kept off")
			}
		}
	}
	for _, task := range h.memory.tasks {
		for _, a := range task.Attempts {
			add("attempt " + a.Outcome)
			if a.Price > 0 && (a.Outcome == "LOST" || a.Outcome == "FAILED" &&
				len(h.runs[queue.Ref{TaskID: task.ID, Attempt: a.Attempt}]) > 0 && a.WorkerID != "") {
				add("kept work charged")
			}
		}
	}
	for _, a := range h.memory.accounts {
		for _, e := range a.Entries {
			if e.Type == billing.EntryMonthlyExpiry {
				add("a month ended")
			}
		}
		if a.MonthlyPence < 3 {
			add("an account at nought")
		}
	}
	for _, line := range h.trace {
		_, what, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(what, "do "):
			add(what)
		case strings.HasPrefix(what, "given up "):
			add("a transaction undone and run again")
		case strings.Contains(what, " lock ") && strings.HasPrefix(what, "run "):
			add("waited for a lock")
		case strings.HasPrefix(what, "killed "), strings.HasPrefix(what, "cut "):
			words := strings.Fields(what)
			add(words[0] + " at " + words[len(words)-1])
		case strings.HasPrefix(what, "failed submit") && strings.Contains(what, "set aside"):
			add("a credit refused")
		case strings.HasPrefix(what, "says") && strings.HasSuffix(what, "given back"):
			add("given back")
		}
	}
	return found
}
