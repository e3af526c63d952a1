package redock

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// told prints a line about a case that has ended: how far the measurement is, and what was found.
func (s *suite) told(r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	const width = 20
	filled := width * s.ended / s.wanted
	passed := time.Since(s.began)
	times := passed.Round(time.Second).String()
	if left := s.wanted - s.ended; left > 0 {
		times += fmt.Sprintf(", about %s left", (passed / time.Duration(s.ended) * time.Duration(left)).Round(time.Second))
	}
	fmt.Fprintf(s.Out, "▕%s%s▏ %d of %d  %s  %s  (%s)\n",
		strings.Repeat("█", filled), strings.Repeat("░", width-filled), s.ended, s.wanted, r.Case.Name, r.line(), times)
}

// line is a record in a few words.
func (r Record) line() string {
	if r.Problem != "" {
		return "cannot be measured: " + r.Problem
	}
	var parts []string
	if f := r.Fabric; f != nil {
		parts = append(parts, "molfabric "+outcome(f.Poses, f.Failure))
	}
	if b := r.Bare; b != nil {
		parts = append(parts, "bare Vina "+outcome(b.Poses, b.Failure))
	}
	return strings.Join(parts, "; ")
}

func outcome(p Poses, failure string) string {
	first, ok := p.first()
	if !ok {
		return "failed: " + failure
	}
	return fmt.Sprintf("%.2f Å, nearest pose %.2f Å, %.0f CPU-s", first, p.closest(), p.CPUSeconds)
}

// write writes the report for programs and for people.
func (r Report) write(folder string) error {
	var text strings.Builder
	r.markdown(&text)
	return errors.Join(writeJSON(filepath.Join(folder, reportJSON), r),
		writeWhole(filepath.Join(folder, reportText), []byte(text.String())))
}

// show prints the totals.
func (r Report) show(w io.Writer) {
	fmt.Fprintf(w, "\n%d cases, molfabric %s, seed %d\n\n", r.Totals.Cases, r.Version, r.Setup.Seed)
	for _, row := range r.Totals.rows() {
		fmt.Fprintf(w, "  %-28s  %-10s  %-18s  %s\n", row[0], row[1], row[2], row[3])
	}
	fmt.Fprintln(w)
	for _, v := range r.Totals.Verdicts {
		fmt.Fprintf(w, "  %-6s  %s: %s\n", v.word(), v.Goal, v.Found)
	}
}

func (v Verdict) word() string {
	if v.Met {
		return "met"
	}
	return "missed"
}

// rows are the totals as a table; the first row names the columns.
func (t Totals) rows() [][4]string {
	row := func(name string, tally Tally) [4]string {
		prepared := fmt.Sprintf("%d of %d", tally.Prepared, t.Cases)
		return [4]string{name, prepared, part(tally.First, t.Cases), part(tally.Closest, t.Cases)}
	}
	rows := [][4]string{
		{"", "prepared", "first pose < 2 Å", "any pose < 2 Å"},
		row("molfabric", t.Fabric),
	}
	if t.FabricCNN != nil {
		rows = append(rows, row("molfabric, by CNN score", *t.FabricCNN))
	}
	if t.Bare != nil {
		rows = append(rows, row("bare Vina", *t.Bare))
	}
	return rows
}

// markdown writes the report for people.
func (r Report) markdown(w io.Writer) {
	t := r.Totals
	fmt.Fprintf(w, "# Redocking of %d ligands into their own structures\n\n", t.Cases)
	fmt.Fprintf(w, "molfabric %s, seed %d, %s, on %s with %d cores, %d at once, %s.\n\n",
		r.Version, r.Setup.Seed, r.Setup.words(), r.Machine, r.Cores, r.Jobs, r.At.Format(time.DateOnly))
	fmt.Fprint(w, "Distances are from the crystal pose in Å: heavy atoms, symmetry-corrected, in place. "+
		"`first` is the best-scored pose, `best` the nearest of all that were kept. `converged` says whether independent searches "+
		"agreed, and the exhaustiveness of all of them together.\n\n")
	writeRows(w, t.rows())
	fmt.Fprintln(w)
	for _, v := range t.Verdicts {
		fmt.Fprintf(w, "- %s: %s, **%s**\n", v.Goal, v.Found, v.word())
	}
	fmt.Fprintf(w, "\nmolfabric used %.0f CPU-seconds, bare Vina %.0f.\n", t.CPUSeconds, t.BareCPU)
	fmt.Fprint(w, "\n| case | ligand | first | best | score | CNN | first by CNN | converged | CPU-s | of it search | wall s "+
		"| bare first | bare best | bare CPU-s |\n|---|---|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|--:|--:|\n")
	for _, record := range r.Records {
		record.row(w)
	}
	fmt.Fprint(w, "\n## What was done to each\n\n")
	for _, record := range r.Records {
		record.story(w)
	}
}

func (s Setup) words() string {
	if s.Exhaustiveness == 0 {
		return "each arm's default exhaustiveness"
	}
	return fmt.Sprintf("exhaustiveness %d", s.Exhaustiveness)
}

func writeRows(w io.Writer, rows [][4]string) {
	for i, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row[:], " | "))
		if i == 0 {
			fmt.Fprintln(w, "|---|---|---|---|")
		}
	}
}

// row is the record's line of the table; what is not known is a dash.
func (r Record) row(w io.Writer) {
	cells := []string{r.Case.Name, r.Case.Ligand}
	if r.Fabric != nil {
		cells = append(cells, r.Fabric.cells()...)
	} else {
		cells = append(cells, make([]string, fabricCells)...)
	}
	if r.Bare != nil {
		cells = append(cells, deviations(r.Bare.Poses)...)
		cells = append(cells, whole(r.Bare.Poses.CPUSeconds))
	} else {
		cells = append(cells, "", "", "")
	}
	for i := range cells {
		if cells[i] == "" {
			cells[i] = "–"
		}
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}

// fabricCells is how many cells of a row are the fabric's.
const fabricCells = 9

func (f Fabric) cells() []string {
	cells := deviations(f.Poses)
	if len(f.Poses.ScoresKcalMol) > 0 {
		cells = append(cells, fmt.Sprintf("%.2f", f.Poses.ScoresKcalMol[0]))
	} else {
		cells = append(cells, "")
	}
	if byCNN, ok := f.Poses.firstByCNN(); ok {
		cells = append(cells, fmt.Sprintf("%.2f", f.Poses.CNNScores[0]), distance(byCNN))
	} else {
		cells = append(cells, "", "")
	}
	return append(cells, f.Convergence.cell(), whole(f.Poses.CPUSeconds), whole(f.Poses.DockCPUSeconds), whole(f.Poses.WallSeconds))
}

// cell says whether the searches agreed, and how much was searched.
func (c *Convergence) cell() string {
	switch {
	case c == nil:
		return ""
	case c.Converged:
		return fmt.Sprintf("yes, %d", c.Exhaustiveness)
	}
	return fmt.Sprintf("no, %d", c.Exhaustiveness)
}

// deviations are the cells of the first pose and of the nearest one.
func deviations(p Poses) []string {
	first, ok := p.first()
	if !ok {
		return []string{"failed", ""}
	}
	return []string{distance(first), distance(p.closest())}
}

// distance is in bold where it is good.
func distance(rmsd float64) string {
	if rmsd <= goodAngstrom {
		return fmt.Sprintf("**%.2f**", rmsd)
	}
	return fmt.Sprintf("%.2f", rmsd)
}

// whole is a number of seconds without its fraction; 0 is one that nobody knows.
func whole(seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", seconds)
}

// story says what both arms did to the structure, and why one failed.
func (r Record) story(w io.Writer) {
	fmt.Fprintf(w, "- **%s** %s", r.Case.Name, r.Case.Ligand)
	if r.Case.Why != "" {
		fmt.Fprintf(w, " (%s)", r.Case.Why)
	}
	fmt.Fprintln(w)
	item := func(what, text string) {
		if text != "" {
			fmt.Fprintf(w, "  - %s: %s\n", what, text)
		}
	}
	item("cannot be measured", r.Problem)
	if f := r.Fabric; f != nil {
		item("failed", f.Failure)
		item("kept", strings.Join(f.Kept, ", "))
		item("preparation", strings.Join(f.Repaired, "; "))
	}
	if b := r.Bare; b != nil {
		item("bare failed", b.Failure)
		item("bare kept", strings.Join(b.Kept, ", "))
		item("bare hydrogens", b.Hydrogens)
	}
}
