package docking

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/contract"
)

// How a ligand ends: docked, or with the reason why it cannot be.
const statusCompleted, statusFailed = "COMPLETED", "FAILED"

const (
	// scoreSteps is how finely differences of scores are told, in steps a kcal/mol: far finer than a score's last digit, so that
	// 0.1 apart is within, however binary numbers round it.
	scoreSteps = 1e6
	// maxNamedLigands bounds the ligands that the reasons name one by one.
	maxNamedLigands = 10
)

// outcome is what became of a ligand of a run.
type outcome struct {
	LigandIndex      int      `db:"ligand_index"`
	LigandID         string   `db:"ligand_id"`
	Status           string   `db:"status"`
	FailureStage     string   `db:"failure_stage"` // "" when it did not fail
	BestScoreKcalMol *float64 `db:"best_score_kcal_mol"`
	PDBQTSHA256      string   `db:"pdbqt_sha256"` // of the poses; "" when there are none
}

// facts are what two runs are compared by.
type facts struct {
	RunID    string
	Ended    bool
	Settings map[string]string // what the results follow from, by a name for people; what is not known is left out
	Outcomes []outcome         // by LigandIndex, ascending
}

// compare holds the repetition of a run against the run.
func compare(of, again facts) contract.DockingReproduction {
	verdict := contract.DockingReproduction{OfRunID: of.RunID, Verdict: contract.VerdictPending,
		Tolerance: contract.DockingTolerance{ScoreKcalMol: contract.ScoreToleranceKcalMol}, Reasons: []string{}}
	if !of.Ended || !again.Ended {
		return verdict
	}
	verdict.Verdict = contract.VerdictIdentical
	verdict.Reasons = append(verdict.Reasons, settingsApart(of.Settings, again.Settings)...)
	var apart []string
	second := map[int]outcome{}
	for _, o := range again.Outcomes {
		second[o.LigandIndex] = o
	}
	for _, a := range of.Outcomes {
		b, both := second[a.LigandIndex]
		delete(second, a.LigandIndex)
		if !both || a.LigandID != b.LigandID {
			verdict.Verdict = contract.VerdictDifferent
			apart = append(apart, fmt.Sprintf("ligand %s: only one of the runs has it at place %d", a.LigandID, a.LigandIndex+1))
			continue
		}
		count(&verdict.Compared, a, b)
		found, reason := comparePair(a, b)
		verdict.Verdict = worse(verdict.Verdict, found)
		if reason != "" {
			apart = append(apart, reason)
		}
	}
	for _, index := range slices.Sorted(maps.Keys(second)) {
		verdict.Verdict = contract.VerdictDifferent
		apart = append(apart, fmt.Sprintf("ligand %s: only one of the runs has it at place %d", second[index].LigandID, index+1))
	}
	if more := len(apart) - maxNamedLigands; more > 0 {
		apart = append(apart[:maxNamedLigands], fmt.Sprintf("and %d more ligands", more))
	}
	verdict.Reasons = append(verdict.Reasons, apart...)
	return verdict
}

// count counts two outcomes of one ligand.
func count(c *contract.DockingComparedLigands, a, b outcome) {
	c.Ligands++
	if same(a, b) {
		c.Identical++
	}
	if a.BestScoreKcalMol == nil || b.BestScoreKcalMol == nil {
		return
	}
	apart := scoresApart(a, b)
	if c.ScoreDifferenceMaxKcalMol == nil || apart > *c.ScoreDifferenceMaxKcalMol {
		c.ScoreDifferenceMaxKcalMol = &apart
	}
}

// scoresApart is the difference of two scores, which are there, in kcal/mol.
func scoresApart(a, b outcome) float64 {
	return math.Round(math.Abs(*a.BestScoreKcalMol-*b.BestScoreKcalMol)*scoreSteps) / scoreSteps
}

// same tells whether two outcomes of a ligand are the same to the byte. Without poses the same failure is all there is; a ligand
// whose job ended before it was docked has failed at no stage and is the same as nothing.
func same(a, b outcome) bool {
	if a.Status != b.Status || a.PDBQTSHA256 != b.PDBQTSHA256 {
		return false
	}
	return a.PDBQTSHA256 != "" || a.Status == statusFailed && a.FailureStage != "" && a.FailureStage == b.FailureStage
}

// comparePair judges two outcomes of one ligand; reason is "" when they are the same to the byte.
func comparePair(a, b outcome) (verdict, reason string) {
	switch {
	case same(a, b):
		return contract.VerdictIdentical, ""
	case a.Status != b.Status || a.FailureStage != b.FailureStage:
		return contract.VerdictDifferent, fmt.Sprintf("ligand %s: %s, then %s", a.LigandID, a.fate(), b.fate())
	case a.BestScoreKcalMol == nil || b.BestScoreKcalMol == nil:
		return contract.VerdictDifferent, fmt.Sprintf("ligand %s: has no score in one of the runs, or in both", a.LigandID)
	case scoresApart(a, b) <= contract.ScoreToleranceKcalMol:
		return contract.VerdictWithinTolerance, fmt.Sprintf("ligand %s: other poses; score %.3f, then %.3f kcal/mol", a.LigandID,
			*a.BestScoreKcalMol,
			*b.BestScoreKcalMol)
	}
	return contract.VerdictDifferent, fmt.Sprintf("ligand %s: score %.3f, then %.3f kcal/mol", a.LigandID, *a.BestScoreKcalMol,
		*b.BestScoreKcalMol)
}

// fate is how a ligand ended, in words.
func (o outcome) fate() string {
	if o.FailureStage == "" {
		return o.Status
	}
	return o.Status + " at " + o.FailureStage
}

func worse(a, b string) string {
	order := []string{contract.VerdictIdentical, contract.VerdictWithinTolerance, contract.VerdictDifferent}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// settingsApart names the settings that differ, in order.
func settingsApart(of, again map[string]string) []string {
	names := map[string]bool{}
	for name := range of {
		names[name] = true
	}
	for name := range again {
		names[name] = true
	}
	var apart []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if of[name] != again[name] {
			apart = append(apart, fmt.Sprintf("%s: %s, then %s", name, orUnknown(of[name]), orUnknown(again[name])))
		}
	}
	return apart
}

func orUnknown(text string) string {
	if strings.TrimSpace(text) == "" {
		return "not known"
	}
	return text
}
