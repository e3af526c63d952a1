package docking

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// The verdicts of a reproduction.
const (
	verdictPending   = "PENDING"
	verdictIdentical = "IDENTICAL"
	verdictWithin    = "WITHIN_TOLERANCE"
	verdictDifferent = "DIFFERENT"
)

// statusFailed is how a ligand ends that cannot be docked.
const statusFailed = "FAILED"

const (
	// toleranceKcalMol is how far two scores of a ligand may be apart: far less than Vina's scores are off by themselves
	// (standard error 2.85 kcal/mol against measured affinities, Trott and Olson 2010, doi:10.1002/jcc.21334).
	toleranceKcalMol = 0.1
	// scoreSteps is how finely differences of scores are told, in steps a kcal/mol: far finer than a score's last digit, so that
	// 0.1 apart is within, however binary numbers round it.
	scoreSteps = 1e6
	// maxNamedLigands bounds the ligands that the reasons name one by one.
	maxNamedLigands = 10
)

// DockingReproduction is what the repetition of a run found.
type DockingReproduction struct {
	_         struct{}               `nullable:"true"`
	OfRunID   string                 `json:"ofRunId" doc:"The run that was repeated."`
	Verdict   string                 `json:"verdict" enum:"PENDING,IDENTICAL,WITHIN_TOLERANCE,DIFFERENT" doc:"PENDING until both runs have ended. IDENTICAL: every ligand has the same poses to the byte. WITHIN_TOLERANCE: every ligand ended alike, with scores no further apart than the tolerance."`
	Tolerance DockingTolerance       `json:"tolerance" doc:"How far apart scores may be."`
	Reasons   []string               `json:"reasons" doc:"What differs: programs, receptor, box and search first, then up to ten ligands."`
	Compared  DockingComparedLigands `json:"compared" doc:"What was compared."`
}

// DockingTolerance is how far apart two runs may be.
type DockingTolerance struct {
	ScoreKcalMol float64 `json:"scoreKcalMol" doc:"Of two scores of a ligand, in kcal/mol."`
}

// DockingComparedLigands is what a comparison of two runs has counted.
type DockingComparedLigands struct {
	Ligands                   int      `json:"ligands" doc:"Ligands that both runs have."`
	Identical                 int      `json:"identical" doc:"Of these, ligands with the same poses to the byte, or the same failure."`
	ScoreDifferenceMaxKcalMol *float64 `json:"scoreDifferenceMaxKcalMol" doc:"The largest difference of two scores of a ligand; null when no ligand has two."`
}

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
func compare(of, again facts) DockingReproduction {
	verdict := DockingReproduction{OfRunID: of.RunID, Verdict: verdictPending, Tolerance: DockingTolerance{ScoreKcalMol: toleranceKcalMol}, Reasons: []string{}}
	if !of.Ended || !again.Ended {
		return verdict
	}
	verdict.Verdict = verdictIdentical
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
			verdict.Verdict = verdictDifferent
			apart = append(apart, fmt.Sprintf("ligand %s: only one of the runs has it at place %d", a.LigandID, a.LigandIndex+1))
			continue
		}
		verdict.Compared.add(a, b)
		found, reason := comparePair(a, b)
		verdict.Verdict = worse(verdict.Verdict, found)
		if reason != "" {
			apart = append(apart, reason)
		}
	}
	for _, index := range slices.Sorted(maps.Keys(second)) {
		verdict.Verdict = verdictDifferent
		apart = append(apart, fmt.Sprintf("ligand %s: only one of the runs has it at place %d", second[index].LigandID, index+1))
	}
	if more := len(apart) - maxNamedLigands; more > 0 {
		apart = append(apart[:maxNamedLigands], fmt.Sprintf("and %d more ligands", more))
	}
	verdict.Reasons = append(verdict.Reasons, apart...)
	return verdict
}

// add counts two outcomes of one ligand.
func (c *DockingComparedLigands) add(a, b outcome) {
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
		return verdictIdentical, ""
	case a.Status != b.Status || a.FailureStage != b.FailureStage:
		return verdictDifferent, fmt.Sprintf("ligand %s: %s, then %s", a.LigandID, a.fate(), b.fate())
	case a.BestScoreKcalMol == nil || b.BestScoreKcalMol == nil:
		return verdictDifferent, fmt.Sprintf("ligand %s: has no score in one of the runs, or in both", a.LigandID)
	case scoresApart(a, b) <= toleranceKcalMol:
		return verdictWithin, fmt.Sprintf("ligand %s: other poses; score %.3f, then %.3f kcal/mol", a.LigandID, *a.BestScoreKcalMol, *b.BestScoreKcalMol)
	}
	return verdictDifferent, fmt.Sprintf("ligand %s: score %.3f, then %.3f kcal/mol", a.LigandID, *a.BestScoreKcalMol, *b.BestScoreKcalMol)
}

// fate is how a ligand ended, in words.
func (o outcome) fate() string {
	if o.FailureStage == "" {
		return o.Status
	}
	return o.Status + " at " + o.FailureStage
}

func worse(a, b string) string {
	order := []string{verdictIdentical, verdictWithin, verdictDifferent}
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
