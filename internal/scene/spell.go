package scene

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// run is a stretch of residues that are all in a set: those of a chain with numbers from one to the other. Where only some of the
// residues of a number are in the set, the run is one residue, told by its code and its name.
type run struct {
	chain    string // or the subchain, as was asked
	from, to int
	whole    bool // all residues of the chain
	single   *Residue
}

// runs are the fewest stretches that hold these residues of a table and no other; by says which chain a residue belongs to.
func (t *Table) runs(residues []int, by func(Residue) string) []run {
	wanted := make([]bool, len(t.Residues))
	chains := map[string]bool{}
	for _, i := range residues {
		wanted[i] = true
		chains[by(t.Residues[i])] = true
	}
	members := map[string][]int{}
	var order []string
	for i, r := range t.Residues {
		chain := by(r)
		if !chains[chain] {
			continue
		}
		if members[chain] == nil {
			order = append(order, chain)
		}
		members[chain] = append(members[chain], i)
	}
	var found []run
	for _, chain := range order {
		found = append(found, t.runsOfChain(chain, members[chain], wanted)...)
	}
	return found
}

func (t *Table) runsOfChain(chain string, members []int, wanted []bool) []run {
	slices.SortStableFunc(members, func(a, b int) int { return cmp.Compare(t.Residues[a].Number, t.Residues[b].Number) })
	if !slices.ContainsFunc(members, func(i int) bool { return !wanted[i] }) {
		low, high := t.Residues[members[0]].Number, t.Residues[members[len(members)-1]].Number
		return []run{{chain: chain, from: low, to: high, whole: true}}
	}
	var found []run
	open := false // the last run may go on
	for i := 0; i < len(members); {
		number, end, in := t.Residues[members[i]].Number, i, 0
		for ; end < len(members) && t.Residues[members[end]].Number == number; end++ {
			if wanted[members[end]] {
				in++
			}
		}
		switch {
		case in == 0:
			open = false
		case in < end-i:
			open = false
			for _, residue := range members[i:end] {
				if wanted[residue] {
					found = append(found, run{chain: chain, from: number, to: number, single: &t.Residues[residue]})
				}
			}
		case open:
			found[len(found)-1].to = number
		default:
			open = true
			found = append(found, run{chain: chain, from: number, to: number})
		}
		i = end
	}
	return found
}

func byChain(r Residue) string    { return r.Chain }
func bySubchain(r Residue) string { return r.Subchain }

// parts are what a set is made of: residues that are in it as a whole, and by the names of their atoms those that are not.
type parts struct {
	whole   []int
	partial map[string][]int // residues by the names that are in the set, joined by +
	names   []string         // the keys of partial, in the order of the table
}

func (t *Table) partsOf(s Set) parts {
	p := parts{partial: map[string][]int{}}
	for _, residue := range t.touched(s) {
		r := t.Residues[residue]
		var names []string
		whole := true
		for i := r.first; i < r.last; i++ {
			if s.has(i) {
				names = append(names, t.Atoms[i].Name)
			} else {
				whole = false
			}
		}
		if whole {
			p.whole = append(p.whole, residue)
			continue
		}
		slices.Sort(names)
		key := strings.Join(slices.Compact(names), "+")
		if p.partial[key] == nil {
			p.names = append(p.names, key)
		}
		p.partial[key] = append(p.partial[key], residue)
	}
	return p
}

// spell is a selection that means the atoms of a set, in words where there is one for them, else by chains, numbers and names.
func (t *Table) spell(s Set) string {
	for _, name := range []string{"protein", "nucleic", "polymer", "ligand", "ion", "branched", "water", "all"} {
		of := t.resolveWord(name)
		if name == "all" {
			of = of.less(t.ofKind(Water))
		}
		if of.equal(s) {
			return name
		}
	}
	wet := t.ofKind(Water)
	dry, water := t.partsOf(s.less(wet)), t.partsOf(s.and(wet))
	alone := water.whole == nil && water.names == nil
	texts := t.spellRuns("", dry.whole, "", alone)
	for _, names := range dry.names {
		texts = append(texts, t.spellRuns("", dry.partial[names], names, alone)...)
	}
	texts = append(texts, t.spellRuns("water", water.whole, "", false)...)
	for _, names := range water.names {
		texts = append(texts, t.spellRuns("water", water.partial[names], names, false)...)
	}
	return canonical(strings.Join(texts, " or "))
}

// spellRuns spells residues chain by chain. Where no water is meant anywhere in the selection, a chain stands for its residues but
// waters (dry).
func (t *Table) spellRuns(kind string, residues []int, names string, dry bool) []string {
	var texts, numbers []string
	chain := ""
	finish := func() {
		if len(numbers) > 0 {
			texts = append(texts, phrase(kind, chain, "resi "+strings.Join(numbers, "+"), names, ""))
		}
		numbers = nil
	}
	wanted := residues
	if dry {
		wanted = t.withWaters(residues)
	}
	for _, r := range t.runs(wanted, byChain) {
		if r.chain != chain {
			finish()
			chain = r.chain
		}
		switch {
		case r.whole && kind == "" && dry && r.chain != "":
			texts = append(texts, phrase(kind, chain, "", names, ""))
		case r.single != nil:
			texts = append(texts, phrase(kind, chain, "resi "+strconv.Itoa(r.from)+r.single.InsertionCode, names, r.single.Name))
		default:
			numbers = append(numbers, t.spanTexts(r)...)
		}
	}
	finish()
	return texts
}

// withWaters adds the waters of chains of which all else is wanted: a chain alone does not mean them.
func (t *Table) withWaters(residues []int) []int {
	left := map[string]int{}
	for _, r := range t.Residues {
		if r.Kind != Water {
			left[r.Chain]++
		}
	}
	for _, i := range residues {
		left[t.Residues[i].Chain]--
	}
	all := slices.Clone(residues)
	for i, r := range t.Residues {
		if n, known := left[r.Chain]; known && n == 0 && r.Kind == Water {
			all = append(all, i)
		}
	}
	return all
}

// spanTexts are a run's numbers: of one number alone, each of its codes.
func (t *Table) spanTexts(r run) []string {
	if r.from != r.to {
		return []string{strconv.Itoa(r.from) + "-" + strconv.Itoa(r.to)}
	}
	var texts []string
	for _, other := range t.Residues {
		if other.Chain == r.chain && other.Number == r.from {
			texts = append(texts, strconv.Itoa(r.from)+other.InsertionCode)
		}
	}
	return slices.Compact(texts)
}

func phrase(kind, chain, numbers, names, component string) string {
	var words []string
	for _, one := range []struct{ keyword, value string }{
		{"", kind}, {"chain ", chain}, {"", numbers}, {"resn ", component}, {"name ", names},
	} {
		if one.value != "" {
			words = append(words, one.keyword+one.value)
		}
	}
	return strings.Join(words, " and ")
}

// canonical is a selection in its canonical form; what cannot be read stays as it is.
func canonical(text string) string {
	s, err := ParseSelection(text)
	if err != nil {
		return text
	}
	return s.String()
}
