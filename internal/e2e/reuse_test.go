package e2e

import (
	"testing"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// TestNothingIsPaidTwice docks a library, and then a larger one in another order under other names: what was docked before is not
// docked again, costs nothing, and has the very poses. It stays when the first job's files go.
func TestNothingIsPaidTwice(t *testing.T) {
	t.Parallel()
	s := start(t)
	c := s.chemist(t)
	c.api = s.client(client.Options{Server: s.url, APIKey: c.key})
	scene := c.pocket()
	dock := func(ligands ...map[string]any) (contract.SubmitResponse, map[string]string) {
		t.Helper()
		receipt, err := c.api.Submit(t.Context(), submission(scene, ligands, pocketBox), "")
		if err != nil {
			t.Fatal(err)
		}
		found, ok, err := c.api.RunOfJob(t.Context(), receipt.Body.JobID)
		if err != nil || !ok {
			t.Fatalf("job %s has no run (%v)", receipt.Body.JobID, err)
		}
		run := c.ended(runView{RunID: found.RunID, JobID: receipt.Body.JobID}, job.Completed)
		return receipt.Body, c.digests(run)
	}
	first, before := dock(ligand("aspirin", smiles["aspirin"]), ligand("caffeine", smiles["caffeine"]))
	larger := []map[string]any{ligand("new", smiles["benzamidine"]), ligand("coffee", smiles["caffeine"]),
		ligand("pain", smiles["aspirin"])}
	price := func(noReuse bool) contract.EstimateResponse {
		t.Helper()
		asking := s.client(client.Options{Server: s.url, APIKey: c.key, NoReuse: noReuse})
		estimate, err := asking.Estimate(t.Context(), submission(scene, larger, pocketBox))
		if err != nil {
			t.Fatal(err)
		}
		return estimate.Body
	}
	known, all := price(false), price(true)
	if known.KnownTasks != 3 || all.KnownTasks != 0 || known.Breakdown.Compute >= all.Breakdown.Compute {
		t.Errorf("an estimate knows %d tasks and says %v of compute, one of running everything %d and %v; want 3 for less, and 0",
			known.KnownTasks, known.Breakdown.Compute, all.KnownTasks, all.Breakdown.Compute)
	}
	second, after := dock(larger...)
	if first.KnownTasks != 0 || second.KnownTasks != 3 { // the receptor and two dockings
		t.Errorf("%d tasks of the first job and %d of the second were known before, want 0 and 3", first.KnownTasks,
			second.KnownTasks)
	}
	for was, is := range map[string]string{"aspirin": "pain", "caffeine": "coffee"} {
		if before[was] == "" || before[was] != after[is] {
			t.Errorf("%s had the poses %s, now as %s %s", was, before[was], is, after[is])
		}
	}
	tasks, err := c.api.Tasks(t.Context(), second.JobID, client.TaskFilter{})
	if err != nil {
		t.Fatal(err)
	}
	reused := 0
	for _, task := range tasks.Body.Tasks {
		if !task.Reused {
			continue
		}
		reused++
		last := task.Attempts[len(task.Attempts)-1]
		if last.ReusedFrom.JobID != first.JobID || last.Usage.CPUSeconds != 0 || last.Cost != "0.00" {
			t.Errorf("task %s was reused as %+v", task.Name, last)
		}
	}
	if reused != 3 {
		t.Errorf("%d tasks were reused, want 3", reused)
	}
	if _, err := c.api.DeleteFiles(t.Context(), first.JobID); err != nil {
		t.Fatal(err)
	}
	if third, _ := dock(ligand("again", smiles["aspirin"])); third.KnownTasks < 1 {
		t.Error("the copies of the second job are not known when the first job's files have gone")
	}
}
