package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

// TestASearchThatConverges docks with the command line's defaults, ranked by the CNN: the table, the report and the resources say
// that independent searches agree and what the network thinks, and the poses stand in its order.
func TestASearchThatConverges(t *testing.T) {
	t.Parallel()
	sh := withPublicData(t)
	out, _ := sh.want(0, "", "dock", "--receptor", "1UYD", "--pocket-ligand", "PU8", "--ligand",
		"benzamidine="+smiles["benzamidine"], "--seed", "7", "--rank-by", "cnn", "--out", "results")
	sh.contains(out, "CNN score", "converged: independent searches found the same best pose")
	report, err := os.ReadFile(filepath.Join(sh.dir, "results", "report.html"))
	if err != nil || !strings.Contains(string(report), "independent searches found the best pose") {
		t.Errorf("the report does not say that the search has converged (%v)", err)
	}
	runs := reads[contract.DockingRunList](sh, "runs").Runs
	if len(runs) != 1 || !runs[0].ExhaustivenessAuto || runs[0].RankBy != "cnn" {
		t.Fatalf("got the runs %+v, want one whose searches end by themselves, ranked by the CNN", runs)
	}
	results := reads[contract.DockingResultList](sh, "results", runs[0].RunID).Results
	if c := results[0].Convergence; c == nil || !c.Converged || c.Exhaustiveness < 8 || c.Exhaustiveness > 16 || len(c.Rounds) < 2 {
		t.Errorf("got the convergence %+v, want two rounds of 4 or three", c)
	}
	poses := reads[contract.DockingPoseList](sh, "poses", results[0].ResultID).Poses
	merit := func(p contract.DockingPose) float64 { return *p.CNNScore - 0.05*p.ScoreKcalMol }
	for i, pose := range poses {
		if pose.CNNScore == nil || pose.Rank != i+1 || i > 0 && merit(pose) > merit(poses[i-1])+1e-9 {
			t.Fatalf("pose %d: got %+v, want the network's order, with 0.05 for each kcal/mol of Vina's", i+1, pose)
		}
	}
	if results[0].CNNScore == nil || *results[0].CNNScore != *poses[0].CNNScore ||
		*results[0].BestScoreKcalMol != poses[0].ScoreKcalMol {
		t.Errorf("the result has %v and %v, its best pose %v and %g", results[0].CNNScore, results[0].BestScoreKcalMol,
			poses[0].CNNScore, poses[0].ScoreKcalMol)
	}
}
