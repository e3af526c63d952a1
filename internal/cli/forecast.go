package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/molfabric/molfabric/internal/contract"
)

// maxFatesShown bounds the components that a forecast names.
const maxFatesShown = 8

// componentOptions are the flags that change what becomes of a component, by the members of the request.
var componentOptions = map[string]string{"retainComponents": "--keep", "removeComponents": "--remove"}

// showForecast prints what would be docked into: the box, what else the structure holds and what changes that.
func showForecast(w io.Writer, f *contract.Forecast) {
	if f == nil {
		return
	}
	lines := [][2]string{{"box", forecastBox(f)}}
	lines = append(lines, notes(f.Notes)...)
	for _, status := range []string{"kept", "removed"} {
		lines = append(lines, fateLines(f.Components, status)...)
	}
	fmt.Fprintf(w, "%s\n", painter(w).bold("What is docked into"))
	for _, line := range lines {
		fmt.Fprintf(w, "  %-10s %s\n", line[0], line[1])
	}
}

// forecastBox says where the box will be.
func forecastBox(f *contract.Forecast) string {
	b := f.Box
	text := first(boxSources[b.Source], labelOf(b.Source))
	if l := b.Ligand; l != nil {
		text = fmt.Sprintf("around %s %s:%d%s of the structure", labelOf(l.ComponentID), labelOf(l.Chain), l.Residue,
			labelOf(l.InsertionCode))
	}
	if b.CenterAngstrom != nil && b.SizeAngstrom != nil {
		return fmt.Sprintf("%s Å, centred at %s Å, %s", triple(b.SizeAngstrom[:], " × "), triple(b.CenterAngstrom[:], ", "), text)
	}
	return text
}

// fateLines are a line a component that stays, or goes, with what changes that. Waters stand for themselves at the end of a list.
func fateLines(fates []contract.ComponentFate, status string) [][2]string {
	label, shown := map[string]string{"kept": "stays", "removed": "goes"}[status], 0
	var lines [][2]string
	for _, fate := range fates {
		if fate.Status != status {
			continue
		}
		if shown++; shown > maxFatesShown {
			continue
		}
		lines = append(lines, [2]string{label, fateText(fate)})
		label = ""
	}
	if more := shown - maxFatesShown; more > 0 {
		lines = append(lines, [2]string{"", fmt.Sprintf("and %d more components", more)})
	}
	return lines
}

func fateText(fate contract.ComponentFate) string {
	text := labelOf(fate.Component)
	if fate.Name != "" {
		text += " (" + labelOf(fate.Name) + ")"
	}
	switch {
	case len(fate.Residues) == 1 && fate.Count == 1:
		text += " " + labelOf(fate.Residues[0])
	case fate.Count > 1:
		text += fmt.Sprintf(", %d of them", fate.Count)
	}
	text += ": " + labelOf(fate.Why)
	if fate.Option == "waters" {
		text += "; --waters structural keeps those that hold the site together"
	} else if option := componentOptions[fate.Option]; option != "" {
		text += "; " + option + " " + labelOf(fate.Component) + map[bool]string{true: " keeps it",
			false: " removes it"}[strings.HasSuffix(option, "keep")]
	}
	return shorten(text, noteChars)
}

// siteEntry is a molecule of a receptor's structure that is no standard residue of a chain, and what its preparation made of it.
type siteEntry struct {
	Chain         string  `json:"chain"`
	Residue       int     `json:"residue"`
	InsertionCode string  `json:"insertionCode"`
	ResidueName   string  `json:"residueName"`
	Name          string  `json:"name"`
	Status        string  `json:"status"` // kept, converted or removed
	Why           string  `json:"why"`
	Option        string  `json:"option"` // that changes it, with the request's member in brackets; "" where none does
	Distance      float64 `json:"distanceToBoxAngstrom"`
}

// siteAngstrom is how near to the box a molecule takes part in the docking: Vina's interaction cutoff.
const siteAngstrom = 8.0

// siteLines say what of the structure stayed in or near the box, and what went, and what changes that.
func siteLines(entries []siteEntry) [][2]string {
	var lines [][2]string
	farther := 0
	for _, of := range []struct {
		label   string
		removed bool
	}{{"stayed", false}, {"went", true}} {
		label, shown := of.label, 0
		for _, e := range entries {
			switch {
			case (e.Status == "removed") != of.removed:
				continue
			case e.Distance > siteAngstrom:
				farther++
				continue
			}
			if shown++; shown <= maxFatesShown {
				lines = append(lines, [2]string{label, e.text()})
				label = ""
			}
		}
		if more := shown - maxFatesShown; more > 0 {
			lines = append(lines, [2]string{"", fmt.Sprintf("and %d more; %s names them", more, receptorFile)})
		}
	}
	if len(lines) > 0 && farther > 0 {
		lines = append(lines, [2]string{"", fmt.Sprintf("farther than %g Å from the box: %d more molecules; %s names them",
			siteAngstrom, farther, receptorFile)})
	}
	return lines
}

func (e siteEntry) text() string {
	text := labelOf(e.ResidueName)
	if e.Name != "" {
		text += " (" + labelOf(e.Name) + ")"
	}
	return shorten(fmt.Sprintf("%s %s:%d%s: %s%s", text, first(labelOf(e.Chain), "(blank)"), e.Residue, labelOf(e.InsertionCode),
		labelOf(e.Why), changedBy(e.Option)), noteChars)
}

// changedBy is the option of the command line that changes what became of a molecule.
func changedBy(option string) string {
	flag, _, _ := strings.Cut(option, " (")
	if flag == "" {
		return ""
	}
	return "; " + labelOf(flag) + " changes that"
}
