package scene

import (
	"maps"
	"slices"
	"strings"
)

// expression is a component expression of MolViewSpec: atoms that have all of these.
type expression map[string]any

// staticWords are the selectors of MolViewSpec that are words, in the order in which they are tried.
var staticWords = []string{"all", "polymer", "protein", "nucleic", "ligand", "ion", "branched", "water"}

// selector is the shortest selector of MolViewSpec that means a set: a word, one expression, or a list.
func (t *Table) selector(s Set) any {
	for _, name := range staticWords {
		if of := t.resolveWord(name); of.equal(s) && (name != "ligand" || len(t.Components(Additive)) == 0) {
			return name
		}
	}
	list := t.expressionsOf(s)
	if len(list) == 1 {
		return list[0]
	}
	return list
}

// expressionsOf are the expressions that mean a set.
func (t *Table) expressionsOf(s Set) []expression {
	p := t.partsOf(s)
	list := t.expressions(p.whole)
	if len(p.names) > 0 {
		list = append(list, t.partialExpressions(s, p)...)
	}
	return list
}

// expressions are those of whole residues: all of some components, or stretches of chains, whichever are fewer.
func (t *Table) expressions(residues []int) []expression {
	if len(residues) == 0 {
		return nil
	}
	runs := t.runExpressions(residues)
	if components := t.wholeComponents(residues); components != nil && (len(components) < len(runs) ||
		len(components) == len(runs) && !t.Residues[residues[0]].Kind.inChain()) {
		list := make([]expression, len(components))
		for i, name := range components {
			list[i] = expression{"auth_comp_id": name}
		}
		return list
	}
	return runs
}

// wholeComponents are the components of which these residues are all there are; nil where others are left.
func (t *Table) wholeComponents(residues []int) []string {
	count := map[string]int{}
	for _, i := range residues {
		count[t.Residues[i].Name]++
	}
	for _, r := range t.Residues {
		if _, ok := count[r.Name]; ok {
			count[r.Name]--
		}
	}
	for _, left := range count {
		if left != 0 {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(count))
}

// runExpressions uses the authors' chains, and the file's own where waters and ligands share numbers with a chain.
func (t *Table) runExpressions(residues []int) []expression {
	runs, id := t.runs(residues, byChain), "auth_asym_id"
	shared := func(r run) bool { return r.single != nil }
	if slices.ContainsFunc(runs, shared) && t.Residues[residues[0]].Subchain != "" {
		if own := t.runs(residues, bySubchain); len(own) < len(runs) {
			runs, id = own, "label_asym_id"
		}
	}
	list := make([]expression, len(runs))
	for i, r := range runs {
		list[i] = r.expression(id)
	}
	return list
}

func (r run) expression(id string) expression {
	e := expression{id: r.chain}
	switch {
	case r.whole:
	case r.single != nil:
		e["auth_seq_id"], e["auth_comp_id"] = r.from, r.single.Name
		if r.single.InsertionCode != "" {
			e["pdbx_PDB_ins_code"] = r.single.InsertionCode
		}
	case r.from == r.to:
		e["auth_seq_id"] = r.from
	default:
		e["beg_auth_seq_id"], e["end_auth_seq_id"] = r.from, r.to
	}
	return e
}

// partialExpressions are those of residues of which only some atoms are meant: by elements where these tell the atoms, else by
// names.
func (t *Table) partialExpressions(s Set, p parts) []expression {
	var residues []int
	for _, names := range p.names {
		residues = append(residues, p.partial[names]...)
	}
	slices.Sort(residues)
	if elements := t.wholeElements(s, residues); elements != nil {
		return product(t.expressions(residues), "type_symbol", elements)
	}
	if names := t.wholeNames(s, residues); names != nil {
		return product(t.expressions(residues), "auth_atom_id", names)
	}
	var list []expression
	for _, names := range p.names {
		list = append(list, product(t.expressions(p.partial[names]), "auth_atom_id", strings.Split(names, "+"))...)
	}
	return list
}

// wholeElements are the elements whose atoms in these residues are all in a set, when they are all of it; nil else.
func (t *Table) wholeElements(s Set, residues []int) []string {
	return t.wholeBy(s, residues, func(a Atom) string { return a.Element })
}

func (t *Table) wholeNames(s Set, residues []int) []string {
	return t.wholeBy(s, residues, func(a Atom) string { return a.Name })
}

func (t *Table) wholeBy(s Set, residues []int, key func(Atom) string) []string {
	in, out := map[string]bool{}, map[string]bool{}
	for _, residue := range residues {
		r := t.Residues[residue]
		for i := r.first; i < r.last; i++ {
			if s.has(i) {
				in[key(t.Atoms[i])] = true
			} else {
				out[key(t.Atoms[i])] = true
			}
		}
	}
	for one := range in {
		if out[one] {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(in))
}

// product restricts each expression to each of the values.
func product(list []expression, member string, values []string) []expression {
	var made []expression
	for _, e := range list {
		for _, value := range values {
			one := maps.Clone(e)
			one[member] = value
			made = append(made, one)
		}
	}
	return made
}
