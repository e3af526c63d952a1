package cli

import (
	"fmt"
	"io"
	"math"
	"path"
	"slices"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/receipt"
)

// verdictUndecided is of files that other programs have made, where nothing else is known to compare.
const verdictUndecided = "UNDECIDED"

// scoreSteps is how finely differences of scores are told, in steps a kcal/mol: 0.1 apart is within 0.1, however binary numbers
// round it.
const scoreSteps = 1e6

// sampling is what running a part of a job again has found.
type sampling struct {
	Seed          int64           `json:"seed"`  // 0 where the whole job is run
	Drawn         int             `json:"drawn"` // parts that are compared
	Of            int             `json:"of"`    // parts that could be drawn
	Whole         bool            `json:"whole"` // nothing is drawn: all of the job is run again
	EstimatedCost contract.Pounds `json:"estimatedCost"`
	Currency      string          `json:"currency"`
	JobID         string          `json:"jobId,omitempty"` // that ran them; "" where only the price was asked for
	Compared      []compared      `json:"compared"`
	Notes         []string        `json:"notes"`
}

// compared is a file of the receipt, held against what was made here.
type compared struct {
	Name          string   `json:"name"` // in the receipt
	LigandID      string   `json:"ligandId,omitempty"`
	Verdict       string   `json:"verdict" enum:"IDENTICAL,WITHIN_TOLERANCE,DIFFERENT,UNDECIDED"`
	SHA256        string   `json:"sha256"`               // that the receipt states
	SHA256Here    string   `json:"sha256Here,omitempty"` // "" where nothing was made
	ScoreKcalMol  *float64 `json:"scoreKcalMol,omitempty"`
	ScoreHere     *float64 `json:"scoreHereKcalMol,omitempty"`
	ToolchainHere string   `json:"toolchainHere,omitempty"`
	Reason        string   `json:"reason,omitempty"`
}

// compareParts holds parts of a receipt against the receipt of the job that made them again. Poses are found by the ligands' places
// among the drawn ones, other files by their task and name. scores, which may be nil, are for what other programs have made.
func compareParts(parts []part, made receipt.Statement, docked bool, scores *bothScores) []compared {
	tasks, files, together := tasksOf(made), map[string]receipt.Output{}, map[int]int{}
	for _, output := range made.Subject {
		files[madeName(output, docked)] = output
		if _, isPose := placeOf(output.Annotations.FileName); isPose {
			together[output.Annotations.TaskIndex]++
		}
	}
	all := make([]compared, len(parts))
	for i, p := range parts {
		wanted := madeName(p.Output, docked)
		if docked {
			wanted = fmt.Sprintf("poses/%05d.pdbqt", i+1)
		}
		file := files[wanted]
		p.shared = p.shared || docked && together[file.Annotations.TaskIndex] > 1
		all[i] = compareOne(p, file, tasks[file.Annotations.TaskIndex])
		if docked && all[i].Verdict == verdictUndecided {
			all[i].takeScores(scores)
		}
	}
	return all
}

// madeName tells the files of a job apart.
func madeName(o receipt.Output, docked bool) string {
	if docked {
		return o.Annotations.FileName // poses of one place are there once
	}
	return path.Join(o.Annotations.Task, o.Annotations.FileName)
}

// compareOne compares by digest. file has none where nothing was made.
func compareOne(p part, file receipt.Output, task receipt.Task) compared {
	c := compared{Name: p.Name, LigandID: p.ligand, SHA256: p.Digest.SHA256, SHA256Here: file.Digest.SHA256,
		Verdict: contract.VerdictDifferent}
	if file.Digest.SHA256 == "" {
		c.Reason = "it was not made here"
		return c
	}
	c.ToolchainHere = task.Toolchain
	switch {
	case c.SHA256 == c.SHA256Here:
		c.Verdict = contract.VerdictIdentical
	case task.Toolchain == "" || task.Toolchain != p.task.Toolchain:
		c.Verdict, c.Reason = verdictUndecided, "other programs, other bytes"
	default:
		c.Reason = "the same programs, other bytes"
		if task.Identity != p.task.Identity && !p.shared {
			c.Reason += "; the task's identity is another too: something that it was given was not the same"
		}
	}
	return c
}

// takeScores decides by the scores, where both are known.
func (c *compared) takeScores(scores *bothScores) {
	if scores == nil {
		return
	}
	was, before := scores.was[c.LigandID]
	is, here := scores.is[c.LigandID]
	if !before || !here {
		return
	}
	c.ScoreKcalMol, c.ScoreHere = &was, &is
	apart := math.Round(math.Abs(was-is)*scoreSteps) / scoreSteps
	c.Verdict = contract.VerdictWithinTolerance
	if apart > contract.ScoreToleranceKcalMol {
		c.Verdict = contract.VerdictDifferent
	}
	c.Reason = fmt.Sprintf("other programs, other bytes; the scores are %g kcal/mol apart, and may be %g", apart,
		contract.ScoreToleranceKcalMol)
}

// inputsApart are the files that the submission names of which the server has read other bytes than the receipt states. keys are
// their keys there.
func inputsApart(of, made receipt.Statement, keys map[string]string) []compared {
	read := map[string]string{}
	for _, input := range made.Predicate.Inputs {
		if input.Digest != nil {
			read[input.Name] = input.Digest.SHA256
		}
	}
	apart := []compared{}
	for _, input := range of.Predicate.Inputs {
		key, named := keys[input.Name]
		if !named || input.Digest == nil || read[key] == input.Digest.SHA256 {
			continue
		}
		apart = append(apart, compared{Name: input.Name, Verdict: contract.VerdictDifferent, SHA256: input.Digest.SHA256,
			SHA256Here: read[key], Reason: "the input that was read here is another"})
	}
	return apart
}

func (s *sampling) has(verdict string) bool {
	return slices.ContainsFunc(s.Compared, func(c compared) bool { return c.Verdict == verdict })
}

// noteToolchains says where the programs that made the sample are others than those of the receipt.
func (s *sampling) noteToolchains(parts []part, made receipt.Statement) {
	stated := map[string]bool{}
	for _, p := range parts {
		stated[p.task.Toolchain] = true
	}
	others := []string{}
	for _, task := range made.Predicate.Tasks {
		if task.Identity != "" && task.Toolchain != "" && !stated[task.Toolchain] && !slices.Contains(others, task.Toolchain) {
			others = append(others, task.Toolchain)
		}
	}
	switch {
	case stated[""]:
		s.Notes = append(s.Notes, "the receipt does not state which programs made all of it, so other bytes alone are no "+
			"difference")
	case len(others) > 0:
		s.Notes = append(s.Notes, fmt.Sprintf("the programs here are others than the receipt's (toolchain %s), so other bytes "+
			"alone are no difference: where bytes differ, scores of a docking are compared, and may be %g kcal/mol apart",
			named(others), contract.ScoreToleranceKcalMol))
	}
}

// verdict is an error for what is different, and for what could not be decided.
func (s *sampling) verdict() error {
	var different, undecided []string
	for _, c := range s.Compared {
		switch c.Verdict {
		case contract.VerdictDifferent:
			different = append(different, c.called())
		case verdictUndecided:
			undecided = append(undecided, c.called())
		}
	}
	switch {
	case len(different) > 0:
		return unverified(fmt.Errorf("run again, it is different: %s", named(different)))
	case len(undecided) > 0:
		return unverified(fmt.Errorf("not decided, since other programs ran it: %s; a worker with the receipt's toolchain decides "+
			"it", named(undecided)))
	}
	return nil
}

// called names a file, and the ligand whose poses it has.
func (c compared) called() string {
	if c.LigandID == "" {
		return labelOf(c.Name)
	}
	return fmt.Sprintf("%s (%s)", labelOf(c.LigandID), labelOf(c.Name))
}

// verdictWords are the verdicts for people.
var verdictWords = map[string]string{
	contract.VerdictIdentical: "the same bytes", contract.VerdictWithinTolerance: "within tolerance",
	contract.VerdictDifferent: "different", verdictUndecided: "not decided",
}

// show prints what was compared, the worst first and not more than people read.
func (s *sampling) show(w io.Writer) error {
	if s.JobID == "" { // only the price was asked for
		return nil
	}
	p := painter(w)
	shown := slices.Clone(s.Compared)
	order := []string{contract.VerdictDifferent, verdictUndecided, contract.VerdictWithinTolerance, contract.VerdictIdentical}
	slices.SortStableFunc(shown, func(a, b compared) int {
		return slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict)
	})
	t := newTable(p, nil, "ligand", "file", "run again", "why")
	for _, c := range shown[:min(len(shown), maxNamed)] {
		t.AppendRow(table.Row{labelOf(c.LigandID), shorten(labelOf(c.Name), labelChars),
			p.good(c.Verdict == contract.VerdictIdentical || c.Verdict == contract.VerdictWithinTolerance, verdictWords[c.Verdict]),
			c.Reason})
	}
	if err := render(w, t); err != nil {
		return err
	}
	if more := len(shown) - maxNamed; more > 0 {
		fmt.Fprintf(w, "and %d more; --json has all\n", more)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(w, "%s\n", note)
	}
	counts := map[string]int{}
	for _, c := range s.Compared {
		counts[c.Verdict]++
	}
	_, err := fmt.Fprintf(w, "run again: %d the same to the byte, %d within tolerance, %d different, %d not decided\n",
		counts[contract.VerdictIdentical], counts[contract.VerdictWithinTolerance], counts[contract.VerdictDifferent],
		counts[verdictUndecided])
	return err
}
