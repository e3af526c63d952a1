package scene

import (
	"strconv"
	"strings"
)

// labelOf is one text and the atoms that it stands at.
type labelOf struct {
	text string
	set  Set
}

// labelled are the labels of atoms: one for each atom, residue or chain, or one for all ("component").
func (t *Table) labelled(set Set, level string) []labelOf {
	var labels []labelOf
	switch level {
	case "atom":
		set.each(func(i int) {
			one := newSet(len(t.Atoms))
			one.add(i)
			labels = append(labels, labelOf{t.residueName(t.Atoms[i].Residue) + " " + t.Atoms[i].Name, one})
		})
	case "residue":
		for _, residue := range t.touched(set) {
			r := t.Residues[residue]
			one := newSet(len(t.Atoms))
			for i := r.first; i < r.last; i++ {
				if set.has(i) {
					one.add(i)
				}
			}
			labels = append(labels, labelOf{t.residueName(residue), one})
		}
	case "chain":
		for _, chain := range t.Chains() {
			if one := set.and(t.residues(func(r Residue) bool { return r.Chain == chain })); !one.isEmpty() {
				labels = append(labels, labelOf{"Chain " + chain, one})
			}
		}
	default:
		labels = []labelOf{{t.nameOf(set), set}}
	}
	return labels
}

// labelCount is how many labels there would be.
func (t *Table) labelCount(set Set, level string) int {
	switch level {
	case "atom":
		return set.Count()
	case "residue":
		return len(t.touched(set))
	}
	return len(t.Chains())
}

// nameOf is a text for atoms together: of one residue its name, of one component the component's, else their kind.
func (t *Table) nameOf(set Set) string {
	residues := t.touched(set)
	if len(residues) == 1 {
		return t.residueName(residues[0])
	}
	if spelled := t.spell(set); len(spelled) <= 40 {
		return strings.ToUpper(spelled[:1]) + spelled[1:]
	}
	return strconv.Itoa(len(residues)) + " residues"
}

// residueName is a residue as people write it: Thr315, and other components by their ids, "STI 201".
func (t *Table) residueName(residue int) string {
	r := t.Residues[residue]
	number := strconv.Itoa(r.Number) + r.InsertionCode
	if oneLetter[r.Name] != 0 {
		return r.Name[:1] + strings.ToLower(r.Name[1:]) + number
	}
	return r.Name + " " + number
}
