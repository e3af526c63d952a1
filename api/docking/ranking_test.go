package docking_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/docking"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/tenant"
)

// ranking reads the ranking of a job as a language model gets it.
func (c chemist) ranking(jobID string, limit int) (found docking.Ranking, said string) {
	c.t.Helper()
	got, err := c.dockings.Ranking(tenant.With(c.t.Context(), c.AccountID), c.AccountID, jobID, limit)
	if err != nil || got == nil {
		c.t.Fatalf("got %v, %v", got, err)
	}
	text, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return found, got.String()
}

// A ranking has the same order as the list of results, and names the files of the poses.
func TestRanking(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED_WITH_FAILURES", true, noon, screen()...)
	whole, _ := c.ranking(d.job, 500)
	var order []string
	for i, ligand := range whole.Ligands {
		order = append(order, ligand.LigandID)
		if ligand.Rank != i+1 {
			t.Errorf("%s has rank %d, want %d", ligand.LigandID, ligand.Rank, i+1)
		}
	}
	listed := get[contract.DockingResultList](c, "/runs/"+d.run+"/results?status=COMPLETED")
	for i, result := range listed.Results {
		if i >= len(order) || order[i] != result.LigandID {
			t.Errorf("place %d of the list has %s, the ranking is %v", i+1, result.LigandID, order)
		}
	}
	if len(order) != 4 || !whole.Complete || whole.Seed != 7 || whole.Counts != (contract.DockingCounts{Total: 7, Completed: 4,
		Failed: 1}) || whole.Box == nil || *whole.Engine.Version != "1.2.7" {
		t.Errorf("got %+v", whole)
	}
	best, last := whole.Ligands[0], whole.Ligands[2]
	if best.Files["sdf"] != "poses/00001.sdf" || len(best.Files) != 1 || best.PoseCount != 3 || len(last.Files) != 0 {
		t.Errorf("got %+v and %+v", best, last)
	}
	few, said := c.ranking(d.job, 1)
	if len(few.Ligands) != 1 || len(few.Failures) != 1 || few.Failures[0].FailureStage != "parse" {
		t.Errorf("got %+v", few)
	}
	for _, want := range []string{"4 of 7 ligands", "1 | Imatinib (imatinib) | -13.25 | 3", "… and 3 more\n",
		"failed: broken (broken) at parse"} {
		if !strings.Contains(said, want) {
			t.Errorf("the text lacks %q:\n%s", want, said)
		}
	}
	for _, foreign := range []string{"job_unknown", l.dock(l.account().AccountID, "COMPLETED", false, noon).job} {
		found, err := l.dockings.Ranking(tenant.With(t.Context(), c.AccountID), c.AccountID, foreign, 1)
		if found != nil || err != nil {
			t.Errorf("%s: got %v, %v, want nothing", foreign, found, err)
		}
	}
	waiting := l.dock(c.AccountID, "RUNNING", false, noon, ligand{name: "waiting", status: "PENDING"})
	if early, _ := c.ranking(waiting.job, 5); early.Complete || early.Ligands == nil || len(early.Ligands) > 0 {
		t.Errorf("a run without a result: %+v", early)
	}
}
