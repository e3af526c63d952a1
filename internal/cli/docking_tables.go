package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/mol"
)

const (
	// maxFailuresShown bounds the failed ligands that are listed; results.csv names all.
	maxFailuresShown = 20
	// maxNotesShown bounds the notes on a receptor or a box; report.html has all.
	maxNotesShown = 5
	// labelChars is how much of a ligand's name a table shows, and noteChars how much of a note.
	labelChars = 40
	noteChars  = 200
	// contactsShown bounds the residues in the table's last column.
	contactsShown = 4
)

// dockingTable prints the best ligands, at most top of them.
func dockingTable(w io.Writer, end dockingEnd, cpuSeconds map[string]float64, top int) error {
	checked, looked, scored := false, false, false
	for _, r := range end.Results {
		checked, looked, scored = checked || r.PassedChecks != nil, looked || r.Interactions != nil, scored || r.CNNScore != nil
	}
	header := []string{"rank", "ligand", "best score (kcal/mol)", "efficiency", "poses", "CPU seconds"}
	right := []int{1, 3, 4, 5, 6}
	if scored {
		header, right = append(header, "CNN score"), append(right, len(header)+1)
	}
	if checked {
		header = append(header, "checks")
	}
	if looked {
		header = append(header, "key contacts")
	}
	p := painter(w)
	t := newTable(p, right, header...)
	ranked := 0
	for _, r := range end.Results {
		if r.Rank == nil || r.BestScoreKcalMol == nil {
			continue
		}
		if ranked++; ranked > top {
			continue
		}
		row := table.Row{
			*r.Rank, shorten(labelOf(r.Label), labelChars), fmt.Sprintf("%.2f", *r.BestScoreKcalMol),
			decimals(r.LigandEfficiency, 3), r.PoseCount, secondsText(cpuSeconds, r.LigandID),
		}
		if scored {
			row = append(row, decimals(r.CNNScore, 2))
		}
		if checked {
			row = append(row, end.checksText(p, r))
		}
		if looked {
			row = append(row, contactsText(r.Interactions))
		}
		t.AppendRow(row)
	}
	if _, err := fmt.Fprintf(w, "\n%s\n", t.Render()); err != nil {
		return err
	}
	if ranked > top {
		_, err := fmt.Fprintf(w, "… and %d more; results.csv holds all\n", ranked-top)
		return err
	}
	return nil
}

// checksText says whether a ligand's best pose is sound.
func (d dockingEnd) checksText(p paint, r contract.DockingResult) string {
	if r.PassedChecks == nil {
		return "–"
	}
	return verdictText(p, *r.PassedChecks, d.Flaws[r.ResultID])
}

func verdictText(p paint, passed bool, flaws int) string {
	switch {
	case passed:
		return p.good(true, "passed")
	case flaws == 1:
		return p.good(false, "1 flaw")
	}
	return p.good(false, fmt.Sprintf("%d flaws", flaws))
}

// contactKinds are the kinds of contact in the order in which a chemist reads them, by their short names.
var contactKinds = []struct{ kind, short string }{
	{"hydrogen_bond", "H-bond"}, {"salt_bridge", "salt"}, {"metal_complex", "metal"}, {"halogen_bond", "halogen"},
	{"water_bridge", "water"}, {"pi_cation", "π–cation"}, {"pi_stacking", "π"}, {"hydrophobic", "hydrophobic"},
}

// contactsText shortens contacts, chain:residueName:residue:type, to the most telling ones: "H-bond MET318 ASP381, π PHE382, +6".
func contactsText(contacts []string) string {
	if contacts == nil {
		return "–"
	}
	var groups []string
	shown, total := 0, 0
	for _, kind := range contactKinds {
		var residues []string
		for _, contact := range contacts {
			parts := strings.Split(contact, ":")
			if len(parts) != 4 || parts[3] != kind.kind {
				continue
			}
			total++
			if shown < contactsShown {
				shown++
				residues = append(residues, parts[1]+parts[2])
			}
		}
		if len(residues) > 0 {
			groups = append(groups, kind.short+" "+strings.Join(residues, " "))
		}
	}
	switch {
	case total == 0:
		return "none"
	case total > shown:
		groups = append(groups, fmt.Sprintf("+%d", total-shown))
	}
	return harmless(strings.Join(groups, ", "))
}

// formatNames for people.
var formatNames = map[string]string{mol.FormatPDB: "PDB", mol.FormatMMCIF: "mmCIF", mol.FormatPDBQT: "PDBQT"}

// boxSources for people.
var boxSources = map[string]string{
	"explicit": "as given", "ligandFile": "around the ligand in a file", "pocketLigand": "around a ligand of the structure",
	"pocketResidues": "around the named residues", "fpocket": "around fpocket's best pocket",
}

// showSetting prints what the scores rest on: the redocking, the receptor and the box.
func showSetting(w io.Writer, end dockingEnd) {
	p := painter(w)
	var lines [][2]string
	if v := end.Validation; v != nil && v.RMSDAngstrom != nil {
		lines = append(lines, [2]string{"redocking", v.text(p)})
	}
	if r := end.Receptor; r.Format != "" {
		text := fmt.Sprintf("%s, %d atoms; %s", first(formatNames[r.Format], labelOf(r.Format)), r.AtomCount,
			first(labelOf(r.Protonation), "protonation as given"))
		if r.PDBID != nil {
			text = labelOf(*r.PDBID) + ", " + text
		}
		if r.Reused {
			text += "; an earlier preparation was taken over"
		} else {
			text += "; prepared for this job"
		}
		lines = append(lines, [2]string{"receptor", text})
		lines = append(lines, notes(without(r.Notes, end.Box.Notes))...)
		lines = append(lines, siteLines(r.Site)...)
		if w := r.Waters; w.Kept+w.Removed > 0 {
			lines = append(lines, [2]string{"waters", fmt.Sprintf("%d stayed, %d went%s", w.Kept, w.Removed, changedBy(w.Option))})
		}
	}
	if b := end.Box; b.Source != "" {
		lines = append(lines, [2]string{"box", boxText(b.Source, b.CenterAngstrom, b.SizeAngstrom)})
		lines = append(lines, notes(b.Notes)...)
	}
	if search := end.searchText(p); search != "" {
		lines = append(lines, [2]string{"search", search})
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\n%s\n", p.bold("What the scores rest on"))
	}
	for _, line := range lines {
		fmt.Fprintf(w, "  %-10s %s\n", line[0], line[1])
	}
}

// searchText says whether independent searches agree, on which ligands they do not, and what to do about it; "" for searches of a
// fixed length.
func (d dockingEnd) searchText(p paint) string {
	judged := 0
	var open []string
	for _, r := range d.Results {
		if r.Convergence == nil {
			continue
		}
		if judged++; !r.Convergence.Converged {
			open = append(open, shorten(labelOf(r.Label), labelChars))
		}
	}
	switch {
	case judged == 0:
		return ""
	case len(open) == 0 && judged == 1:
		return p.good(true, "converged") + ": independent searches found the same best pose"
	case len(open) == 0:
		return p.good(true, "converged") + ": independent searches found the same best pose of every ligand"
	}
	named := open[:min(len(open), maxNotesShown)]
	which := strings.Join(named, ", ")
	if more := len(open) - len(named); more > 0 {
		which += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s for %d of %d ligands: independent searches disagree on %s. Dock again with --exhaustiveness 64",
		p.good(false, "not converged"), len(open), judged, which)
}

// without are the notes that are not told elsewhere.
func without(said, elsewhere []string) []string {
	return slices.DeleteFunc(slices.Clone(said), func(note string) bool { return slices.Contains(elsewhere, note) })
}

// boxText describes a box in Å and where it comes from.
func boxText(source string, center, size []float64) string {
	return fmt.Sprintf("%s Å, centred at %s Å, %s", triple(size, " × "), triple(center, ", "),
		first(boxSources[source], labelOf(source)))
}

// text says how near the structure's own ligand came to its crystal pose.
func (v *redocking) text(p paint) string {
	verdict := p.good(true, "found again")
	if !v.Passed {
		verdict = p.good(false, "not found again")
	}
	said := fmt.Sprintf("%s %s: %.2f Å from the crystal pose (at most %g Å is good)", labelOf(v.ComponentID), verdict,
		*v.RMSDAngstrom, v.ThresholdAngstrom)
	if !v.Passed && v.ClosestRMSDAngstrom != nil {
		said += fmt.Sprintf("; its nearest pose %.2f Å. Distrust the scores, or look at box and protonation",
			*v.ClosestRMSDAngstrom)
	}
	return said
}

func notes(said []string) [][2]string {
	var lines [][2]string
	for i, note := range said {
		if i == maxNotesShown {
			lines = append(lines, [2]string{"", fmt.Sprintf("… and %d more notes in %s", len(said)-i, reportFile)})
			break
		}
		lines = append(lines, [2]string{"", shorten(labelOf(note), noteChars)})
	}
	return lines
}

func triple(numbers []float64, between string) string {
	texts := make([]string, len(numbers))
	for i, number := range numbers {
		texts[i] = fmt.Sprintf("%.1f", number)
	}
	return strings.Join(texts, between)
}

// stages of a ligand in which it may fail, in their order.
var stages = []string{"parse", "protonate", "embed", "dock", "parse_output"}

// showFailedLigands names every ligand without a result and why, by the step that failed, and returns their number in words.
func showFailedLigands(w io.Writer, results []contract.DockingResult) (detail string) {
	byStage := map[string][]contract.DockingResult{}
	order := slices.Clone(stages)
	failed := 0
	for _, ligand := range results {
		if ligand.Status != ligandFailed {
			continue
		}
		failed++
		stage := orText(ligand.FailureStage, "an unknown step")
		if !slices.Contains(order, stage) {
			order = append(order, stage)
		}
		byStage[stage] = append(byStage[stage], ligand)
	}
	if failed == 0 {
		return ""
	}
	fmt.Fprintf(w, "\n%s\n", painter(w).bold("Failed ligands"))
	shown := 0
	for _, stage := range order {
		if len(byStage[stage]) == 0 {
			continue
		}
		fmt.Fprintf(w, "  at %s: %d\n", stage, len(byStage[stage]))
		for _, ligand := range byStage[stage] {
			if shown++; shown <= maxFailuresShown {
				fmt.Fprintf(w, "    %s  %s\n", shorten(labelOf(ligand.Label), labelChars),
					labelOf(orText(ligand.Error, "no reason given")))
			}
		}
	}
	if failed > maxFailuresShown {
		fmt.Fprintf(w, "  … and %d more; results.csv names all\n", failed-maxFailuresShown)
	}
	return fmt.Sprintf("%d of %d ligands have no result", failed, len(results))
}

func orText(s *string, otherwise string) string {
	if s == nil || *s == "" {
		return otherwise
	}
	return *s
}

func decimals(value *float64, places int) string {
	if value == nil {
		return "–"
	}
	return fmt.Sprintf("%.*f", places, *value)
}

func secondsText(spent map[string]float64, ligandID string) string {
	seconds, known := spent[ligandID]
	if !known {
		return "–"
	}
	return fmt.Sprintf("%.1f", seconds)
}
