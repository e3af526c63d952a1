package docking_test

import (
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

// A run says that it leaves the length of its searches to them, and each result how its search has ended.
func TestResultsSayWhetherSearchesAgree(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", false, noon, screen()...)
	l.exec(`UPDATE docking_runs SET exhaustiveness = 32, exhaustiveness_auto = true, native_component_id = 'STI',
		validation = '{"rmsdAngstrom":0.5,"passed":true,"cnnScore":0.75,"convergence":{"converged":false}}' WHERE id = $1`, d.run)
	l.exec(`UPDATE docking_results SET convergence =
		'{"converged":false,"exhaustiveness":32,"agreeingRounds":1,"scoreSpreadKcalMol":0.75,
		"poseSpreadAngstrom":6.5,"rounds":[{"seed":7,"exhaustiveness":32,"bestScoreKcalMol":-9.5,"rmsdToBestAngstrom":0,"foundBest":true}]}' WHERE id = $1`, d.results[0])
	run := get[contract.DockingRun](c, "/runs/"+d.run)
	if !run.ExhaustivenessAuto || run.Exhaustiveness != 32 {
		t.Errorf("got an exhaustiveness of %d, auto %v; want at most 32", run.Exhaustiveness, run.ExhaustivenessAuto)
	}
	if v := run.Validation; v == nil || v.Converged == nil || *v.Converged || v.CNNScore == nil || *v.CNNScore != 0.75 {
		t.Errorf("got the validation %+v, want a search that has not converged", v)
	}
	got := get[contract.DockingResult](c, "/results/"+d.results[0]).Convergence
	if got == nil || got.Converged || got.Exhaustiveness != 32 || got.AgreeingRounds != 1 || got.PoseSpreadAngstrom != 6.5 ||
		len(got.Rounds) != 1 ||
		got.Rounds[0].Seed != 7 || got.Rounds[0].BestScoreKcalMol == nil || *got.Rounds[0].BestScoreKcalMol != -9.5 {
		t.Errorf("got %+v, want what was stored", got)
	}
	if other := get[contract.DockingResult](c, "/results/"+d.results[1]).Convergence; other != nil {
		t.Errorf("a search of a fixed length says %+v", other)
	}
	table := c.Send("GET", base+"/runs/"+d.run+"/results", "", "Accept", "text/csv").Text
	if said := column(t, table, "converged"); said[0] != "false" || said[1] != "" {
		t.Errorf("got the column converged %q", said)
	}
	if used := column(t, table, "exhaustivenessUsed"); used[0] != "32" || used[1] != "" {
		t.Errorf("got the column exhaustivenessUsed %q", used)
	}
}
