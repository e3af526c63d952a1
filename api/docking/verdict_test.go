package docking

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

// ended is a run that has ended with these outcomes.
func ended(settings map[string]string, outcomes ...outcome) facts {
	for i := range outcomes {
		outcomes[i].LigandIndex = i
		if outcomes[i].LigandID == "" {
			outcomes[i].LigandID = fmt.Sprint("l", i)
		}
		if outcomes[i].Status == "" {
			outcomes[i].Status = "COMPLETED"
		}
	}
	return facts{RunID: "run_1", Ended: true, Settings: settings, Outcomes: outcomes}
}

func scored(score float64, pdbqt string) outcome {
	return outcome{BestScoreKcalMol: &score, PDBQTSHA256: pdbqt}
}

func compared(ligands, identical int, difference *float64) contract.DockingComparedLigands {
	return contract.DockingComparedLigands{Ligands: ligands, Identical: identical, ScoreDifferenceMaxKcalMol: difference}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	broken := outcome{Status: statusFailed, FailureStage: "parse"}
	cancelled := outcome{Status: statusFailed}
	vina := func(version, seed string) map[string]string {
		return map[string]string{"version of vina": version, "seed": seed}
	}
	one := func(value float64) *float64 { return &value }
	running := ended(nil, scored(-9, "a"))
	running.Ended = false
	for _, c := range []struct {
		name      string
		of, again facts
		verdict   string
		compared  contract.DockingComparedLigands
		reasons   []string
	}{
		{"the repetition runs", ended(nil, scored(-9, "a")), running, contract.VerdictPending, contract.DockingComparedLigands{}, []string{}},
		{"the first run runs", running, ended(nil, scored(-9, "a")), contract.VerdictPending, contract.DockingComparedLigands{}, []string{}},
		{"the same bytes", ended(vina("1", "7"), scored(-9, "a"), broken), ended(vina("1", "7"), scored(-9, "a"), broken),
			contract.VerdictIdentical, compared(2, 2, one(0)), []string{}},
		{
			"the same bytes by another version", ended(vina("1.2.6", "7"), scored(-9, "a")),
			ended(vina("1.2.7", "7"), scored(-9, "a")), contract.VerdictIdentical, compared(1, 1, one(0)),
			[]string{"version of vina: 1.2.6, then 1.2.7"},
		},
		{
			"just within", ended(nil, scored(-9, "a"), scored(-5, "x")), ended(nil, scored(-9.1, "b"), scored(-5, "x")),
			contract.VerdictWithinTolerance, compared(2, 1, one(0.1)),
			[]string{"ligand l0: other poses; score -9.000, then -9.100 kcal/mol"},
		},
		{
			"just beyond", ended(nil, scored(-9, "a")), ended(nil, scored(-8.899, "b")), contract.VerdictDifferent,
			compared(1, 0, one(0.101)), []string{"ligand l0: score -9.000, then -8.899 kcal/mol"},
		},
		{
			"poses whose bytes are not known", ended(nil, scored(-9, "")), ended(nil, scored(-9, "")), contract.VerdictWithinTolerance,
			compared(1, 0, one(0)), []string{"ligand l0: other poses; score -9.000, then -9.000 kcal/mol"},
		},
		{
			"another end", ended(nil, scored(-9, "a")), ended(nil, broken), contract.VerdictDifferent,
			compared(1, 0, nil), []string{"ligand l0: COMPLETED, then FAILED at parse"},
		},
		{
			"another failure", ended(nil, broken), ended(nil, outcome{Status: statusFailed, FailureStage: "embed"}),
			contract.VerdictDifferent, compared(1, 0, nil), []string{"ligand l0: FAILED at parse, then FAILED at embed"},
		},
		{
			"nothing was docked", ended(nil, cancelled), ended(nil, cancelled), contract.VerdictDifferent,
			compared(1, 0, nil), []string{"ligand l0: has no score in one of the runs, or in both"},
		},
		{
			"one within and one beyond", ended(nil, scored(-9, "a"), scored(-9, "a")),
			ended(nil, scored(-7, "b"), scored(-9.05, "b")), contract.VerdictDifferent, compared(2, 0, one(2)),
			[]string{"ligand l0: score -9.000, then -7.000 kcal/mol", "ligand l1: other poses; score -9.000, then -9.050 kcal/mol"},
		},
		{
			"another ligand", ended(nil, scored(-9, "a")),
			ended(nil, outcome{LigandID: "other", BestScoreKcalMol: one(-9), PDBQTSHA256: "a"}), contract.VerdictDifferent,
			contract.DockingComparedLigands{}, []string{"ligand l0: only one of the runs has it at place 1"},
		},
		{
			"one ligand more", ended(nil, scored(-9, "a")), ended(nil, scored(-9, "a"), scored(-8, "b")), contract.VerdictDifferent,
			compared(1, 1, one(0)), []string{"ligand l1: only one of the runs has it at place 2"},
		},
		{
			"another seed, and a version that one does not know", ended(map[string]string{"seed": "7"}, scored(-9, "a")),
			ended(vina("1", "8"), scored(-9, "a")), contract.VerdictIdentical, compared(1, 1, one(0)),
			[]string{"seed: 7, then 8", "version of vina: not known, then 1"},
		},
	} {
		got := compare(c.of, c.again)
		if got.Verdict != c.verdict || !reflect.DeepEqual(got.Compared, c.compared) || !slices.Equal(got.Reasons, c.reasons) ||
			got.OfRunID != "run_1" || got.Tolerance.ScoreKcalMol != 0.1 {
			t.Errorf("%s: got %+v, want %s %+v %q", c.name, got, c.verdict, c.compared, c.reasons)
		}
	}
}

func TestCompareNamesTenLigands(t *testing.T) {
	t.Parallel()
	var of, again []outcome
	for range 25 {
		of, again = append(of, scored(-9, "a")), append(again, scored(-1, "b"))
	}
	got := compare(ended(nil, of...), ended(nil, again...))
	if len(got.Reasons) != 11 || got.Reasons[10] != "and 15 more ligands" || !strings.HasPrefix(got.Reasons[9], "ligand l9:") {
		t.Errorf("got %q", got.Reasons)
	}
}

func TestPatternOf(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string]bool{
		"A:ASP:381:hydrogen_bond": true, "*:*:*:*": true, ":HOH:-5B:water_bridge": true, "AA-2:ZN:1:metal_complex": true,
		"A:ASP:381": false, "A:ASP:381:hydrogen_bond:x": false, "A:ASP:381:bond": false, "A:A P:381:*": false,
		"A:ASP:381a2345:*": false, "A:ASP::*": false, "A*:ASP:1:*": false,
	} {
		if _, ok := patternOf(text); ok != wanted {
			t.Errorf("%q: got %v, want %v", text, ok, wanted)
		}
	}
}
