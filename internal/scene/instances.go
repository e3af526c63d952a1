package scene

import (
	"fmt"
	"slices"
	"strings"
)

// instance is one of several things that a selection fits.
type instance struct {
	choice string // for people: STI/A/201, or a chain
	sel    string
	about  string
	table  int
	set    Set
}

// one makes sure that a selection means one thing: one ligand or ion, or residues of one chain where several chains have residues
// of those numbers. Of several the one that was in focus is meant, else *QuestionError asks.
func (a *applier) one(query string, sets []Set) (string, []Set, error) {
	var all []instance
	for i, set := range sets {
		if !set.isEmpty() {
			all = append(all, a.instances(i, query, set)...)
		}
	}
	if len(all) < 2 {
		return query, sets, nil
	}
	chosen := all
	if a.Camera.Sel != "" {
		looked := a.resolve(a.Camera.Sel)
		chosen = slices.DeleteFunc(slices.Clone(all), func(one instance) bool { return !one.set.meets(looked[one.table]) })
	}
	if len(chosen) != 1 {
		question := &QuestionError{About: all[0].about, Query: query}
		for _, one := range all[:min(len(all), maxChoices)] {
			question.Choices, question.Selections = append(question.Choices, one.choice), append(question.Selections, one.sel)
		}
		return "", nil, question
	}
	a.warn("of %d the one in focus is meant: %s", len(all), chosen[0].choice)
	only := make([]Set, len(sets))
	for i, set := range sets {
		only[i] = newSet(len(a.tables[i].Atoms))
		if i == chosen[0].table {
			only[i] = set.and(chosen[0].set)
		}
	}
	a.tell(chosen[0].sel, only)
	a.Last = chosen[0].sel
	return chosen[0].sel, only, nil
}

// instances are the things that a selection fits in one structure.
func (a *applier) instances(table int, query string, set Set) []instance {
	t := a.tables[table]
	residues := t.touched(set)
	small := func(i int) bool {
		kind := t.Residues[i].Kind
		return kind == Ligand || kind == Additive || kind == Ion
	}
	var found []instance
	if !slices.ContainsFunc(residues, func(i int) bool { return !small(i) }) {
		for _, i := range residues {
			found = append(found, a.molecule(table, query, i, set))
		}
		return found
	}
	for _, chain := range t.copies(query, residues) {
		of := set.and(t.residues(func(r Residue) bool { return r.Chain == chain }))
		sel := a.compose(table, "chain "+chain+" and ("+query+")", of)
		found = append(found, instance{chain, sel, "chain", table, of})
	}
	if found == nil {
		found = []instance{{query, query, "target", table, set}}
	}
	return found
}

// molecule is a ligand or an ion among those of a selection.
func (a *applier) molecule(table int, query string, residue int, set Set) instance {
	t := a.tables[table]
	r := t.Residues[residue]
	one := newSet(len(t.Atoms))
	for i := r.first; i < r.last; i++ {
		if set.has(i) {
			one.add(i)
		}
	}
	made := instance{fmt.Sprintf("%s/%s/%d%s", r.Name, r.Chain, r.Number, r.InsertionCode), "", "ligand", table, one}
	for _, sel := range []string{
		fmt.Sprintf("resn %s and chain %s", r.Name, r.Chain),
		fmt.Sprintf("resn %s and chain %s and resi %d%s", r.Name, r.Chain, r.Number, r.InsertionCode),
		fmt.Sprintf("(%s) and chain %s and resi %d%s", query, r.Chain, r.Number, r.InsertionCode),
	} {
		if sel = canonical(sel); a.set(table, sel).equal(one) {
			made.sel = sel
			return made
		}
	}
	made.sel = t.spell(one)
	return made
}

// copies are the chains of which a selection means residues of the same numbers, where it names no chain and means no chain as a
// whole; nil where there are not several.
func (t *Table) copies(query string, residues []int) []string {
	s, err := ParseSelection(query)
	if err != nil || anywhere(s.root, isChain) {
		return nil
	}
	if !anywhere(s.root, func(n node) bool { _, ok := n.(numbers); return ok }) {
		return nil
	}
	numbers := map[string][]string{}
	var chains []string
	for _, i := range residues {
		r := t.Residues[i]
		if !r.Kind.inChain() {
			return nil
		}
		if numbers[r.Chain] == nil {
			chains = append(chains, r.Chain)
		}
		numbers[r.Chain] = append(numbers[r.Chain], fmt.Sprint(r.Number, r.InsertionCode))
	}
	for _, chain := range chains {
		if strings.Join(numbers[chain], " ") != strings.Join(numbers[chains[0]], " ") {
			return nil
		}
	}
	if len(chains) < 2 {
		return nil
	}
	return chains
}

func isChain(n node) bool {
	list, ok := n.(names)
	return ok && list.field == "chain"
}
