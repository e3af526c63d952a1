package docking_test

import (
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

// A run that is ranked by the network shows its ligands and poses so, wherever places are told; Vina's ranks stay readable.
func TestRunsRankByWhatTheySay(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon,
		ligand{name: "strong", score: -9, poses: 1}, ligand{name: "native", score: -7, poses: 2}, ligand{name: "unseen", score: -8,
			poses: 1})
	for i, score := range map[int]float64{0: 0.25, 1: 0.75} {
		l.exec(`UPDATE docking_results SET cnn_score = $2, cnn_affinity_pk = 6.5 WHERE id = $1`, d.results[i], score)
	}
	l.exec(`UPDATE docking_poses SET vina_rank = 3 - rank, cnn_score = 1 - rank * 0.25, cnn_affinity_pk = 6.5
		WHERE result_id = $1`, d.results[1])
	places := func(rankBy string, want ...string) {
		t.Helper()
		l.exec(`UPDATE docking_runs SET rank_by = $2 WHERE id = $1`, d.run, rankBy)
		if run := get[contract.DockingRun](c, "/runs/"+d.run); run.RankBy != rankBy {
			t.Errorf("the run says that it ranks by %q, want %s", run.RankBy, rankBy)
		}
		batch := get[contract.DockingBatch](c, "/batches/"+d.batch)
		for place, name := range want {
			if top := batch.TopResults[place]; top.LigandID != name || top.Rank != place+1 {
				t.Errorf("by %s: the batch's place %d is %s, want %s", rankBy, place+1, top.LigandID, name)
			}
			for i, id := range d.results {
				if one := get[contract.DockingResult](c, "/results/"+id); one.LigandID == name &&
					(one.Rank == nil || *one.Rank != place+1) {
					t.Errorf("by %s: result %d, %s, has the rank %v, want %d", rankBy, i, name, one.Rank, place+1)
				}
			}
		}
	}
	places("vina", "strong", "unseen", "native")
	places("cnn", "native", "strong", "unseen")
	for _, of := range []string{"/runs/" + d.run, "/batches/" + d.batch} {
		if first := get[contract.DockingResultList](c, of+"/results?limit=1").Results[0].LigandID; first != "native" {
			t.Errorf("%s: %s comes first, want native", of, first)
		}
	}
	sorted := get[contract.DockingResultList](c, "/runs/"+d.run+"/results?sort=cnnScore&limit=2").Results
	if sorted[0].LigandID != "native" || *sorted[0].CNNScore != 0.75 || *sorted[0].CNNAffinityPk != 6.5 ||
		sorted[1].LigandID != "strong" {
		t.Errorf("sorted by cnnScore: got %+v", sorted)
	}
	if pose := get[contract.DockingPose](c, "/poses/"+d.poses[1][0]); pose.Rank != 1 || pose.VinaRank != 2 ||
		*pose.CNNScore != 0.75 || *pose.CNNAffinityPk != 6.5 {
		t.Errorf("got the pose %+v", pose)
	}
	if pose := get[contract.DockingPose](c, "/poses/"+d.poses[0][0]); pose.VinaRank != 1 || pose.CNNScore != nil {
		t.Errorf("a pose from before: got %+v", pose)
	}
	table := c.Send("GET", base+"/results/"+d.results[1]+"/poses", "", "Accept", "text/csv").Text
	if got := column(t, table, "vinaRank"); got[0] != "2" || got[1] != "1" {
		t.Errorf("got the column vinaRank %q", got)
	}
}
