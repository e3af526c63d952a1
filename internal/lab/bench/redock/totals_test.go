package redock

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func poses(rmsd ...float64) Poses { return Poses{RMSDAngstrom: rmsd, CPUSeconds: 10} }

// record is a case with these poses of the two arms.
func record(name string, ours, bare Poses) Record {
	return Record{Case: Case{Name: name, Ligand: "LIG"}, Fabric: &Fabric{Poses: ours}, Bare: &Bare{Poses: bare}}
}

func TestTotals(t *testing.T) {
	t.Parallel()
	byCNN := poses(2.5, 1.9, 4)
	byCNN.CNNScores = []float64{0.2, 0.9, 0.5}
	records := []Record{
		record("first", poses(2.0, 5), poses(1, 2)), record("closest", byCNN, poses(3)), record("none", Poses{}, poses(1.5)),
		{Case: Case{Name: "unread"}, Problem: "the entry has no LIG"},
	}
	got := totalsOf(records)
	ours, bare := Tally{Prepared: 2, First: 1, Closest: 2}, Tally{Prepared: 3, First: 2, Closest: 2}
	if got.Cases != 3 || got.Fabric != ours || *got.Bare != bare {
		t.Errorf("got %+v, bare %+v", got, *got.Bare)
	}
	if got.FabricCNN == nil || *got.FabricCNN != (Tally{Prepared: 1, First: 1, Closest: 1}) {
		t.Errorf("by the CNN's score: %+v", got.FabricCNN)
	}
	if len(got.Unmeasured) != 1 || got.CPUSeconds != 20 || got.BareCPU != 30 {
		t.Errorf("got %+v", got)
	}
	met := []bool{false, false, false, true}
	for i, verdict := range got.Verdicts {
		if verdict.Met != met[i] {
			t.Errorf("%s: %s: got %v, want %v", verdict.Goal, verdict.Found, verdict.Met, met[i])
		}
	}
	behind := totalsOf([]Record{record("a", poses(9), poses(1)), record("b", poses(9), poses(1))})
	if last := behind.Verdicts[3]; last.Met {
		t.Errorf("two cases behind: %+v", last)
	}
	if alone := totalsOf([]Record{{Fabric: &Fabric{Poses: poses(1)}}}); alone.Bare != nil || len(alone.Verdicts) != 3 {
		t.Errorf("without a peer: %+v", alone)
	}
}

func TestReportForPeople(t *testing.T) {
	t.Parallel()
	good := record("1abc", poses(0.58, 0.5), poses(6.1, 1.2))
	good.Case.Why, good.Fabric.Convergence, good.Fabric.Kept = "kinase", &Convergence{Exhaustiveness: 24}, []string{"MG A 301"}
	good.Fabric.Repaired = []string{"one side chain was rebuilt: LEU A 4"}
	good.Fabric.Poses.ScoresKcalMol, good.Fabric.Poses.CNNScores = []float64{-9.55, -8}, []float64{0.4, 0.8}
	good.Fabric.Poses.DockCPUSeconds, good.Fabric.Poses.WallSeconds, good.Bare.Hydrogens = 7, 12.4, "PDB2PQR"
	bad := record("2abc", Poses{}, Poses{})
	bad.Fabric.Failure, bad.Bare.Failure = "RECEPTOR_UNREADABLE: no atoms", "chains: none"
	records := []Record{good, bad, {Case: Case{Name: "3abc", Ligand: "LIG"}, Problem: "the entry has no LIG A 1"}}
	report := Report{
		Version: "v1", Machine: "a machine", Cores: 4, Jobs: 1, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Setup: Setup{Seed: 42}, Records: records, Totals: totalsOf(records),
	}
	folder := t.TempDir()
	if err := report.write(folder); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(folder, reportText))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "report.golden")
	if flag.Lookup("update").Value.String() == "true" { // enginestest's
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(got) != string(want) {
		t.Errorf("got\n%s\nwant, %v\n%s", got, err, want)
	}
	var shown strings.Builder
	report.show(&shown)
	for _, line := range []string{"molfabric, by CNN score", "missed  every case is prepared and docked: 1 of 2 (50 %)"} {
		if !strings.Contains(shown.String(), line) {
			t.Errorf("%q is not in\n%s", line, shown.String())
		}
	}
}
