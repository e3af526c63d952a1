package scene

import (
	"fmt"
	"slices"
	"sync"

	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// deposited is what brings the atoms back as the file has them, where an assembly is named.
const deposited = "deposited"

// placedTables are the tables of assemblies that were asked for.
type placedTables struct {
	sync.Mutex
	made map[placedTable]*Table
}

type placedTable struct {
	assembly string
	model    int
}

// maxPlacedTables bounds them: a scene shows few, and what is dropped is made again.
const maxPlacedTables = 8

// shown is the table of a model, from 1, of the structure as it is shown: in an assembly the residues of its chains, where the
// first copy of each chain lies. nil where there is no such model.
func (s *Structure) shown(as Shown, model int) *Table {
	t := s.Table(model)
	if t == nil || s.copies[as.Assembly] == nil {
		return t
	}
	s.placed.Lock()
	defer s.placed.Unlock()
	k := placedTable{as.Assembly, max(model, 1)}
	if made := s.placed.made[k]; made != nil {
		return made
	}
	if len(s.placed.made) >= maxPlacedTables || s.placed.made == nil {
		s.placed.made = map[placedTable]*Table{}
	}
	made := t.placed(s.copies[as.Assembly], s.Format == mol.FormatMMCIF)
	s.placed.made[k] = made
	return made
}

// placed are the residues of the chains that copies are made of, moved to where the first of them lies. Chains are subchains where
// the file is mmCIF.
func (t *Table) placed(copies map[string]coordinates.Copies, subchains bool) *Table {
	made := &Table{Model: t.Model}
	for _, r := range t.Residues {
		chain := r.Chain
		if subchains {
			chain = r.Subchain
		}
		of, ok := copies[chain]
		if !ok {
			continue
		}
		atoms := t.Atoms[r.first:r.last]
		r.first = len(made.Atoms)
		for _, a := range atoms {
			a.Residue = len(made.Residues)
			if !of.First.IsStill() {
				a.Position = of.First.Of(a.Position)
			}
			made.Atoms = append(made.Atoms, a)
		}
		r.last = len(made.Atoms)
		made.Residues = append(made.Residues, r)
		made.operators = append(made.operators, of.Operators)
		made.mostCopies = max(made.mostCopies, of.Count)
	}
	if len(made.Residues) == 0 { // the file names chains that it does not have
		return t
	}
	return made
}

// repeated tells whether the viewer draws some atoms of a table more than once.
func (t *Table) repeated() bool { return t.mostCopies > 1 }

// firstSelector is the selector of a set in the first copies alone: what is looked at is in one place.
func (t *Table) firstSelector(s Set) any {
	if !t.repeated() {
		return t.selector(s)
	}
	var list []expression
	var done []string
	for _, residue := range t.touched(s) {
		operators := t.operators[residue]
		if slices.Contains(done, operators) {
			continue
		}
		done = append(done, operators)
		here := newSet(len(t.Atoms))
		for i, r := range t.Residues {
			for k := r.first; k < r.last && t.operators[i] == operators; k++ {
				here.add(k)
			}
		}
		for _, e := range t.expressionsOf(s.and(here)) {
			e["instance_id"] = "ASM-" + operators
			list = append(list, e)
		}
	}
	return list
}

// assembled says what an assembly is made of.
func (a *applier) assembled(i int) string {
	t := a.tables[i]
	var chains []string
	for _, r := range t.Residues {
		if r.Kind.inChain() && !slices.Contains(chains, r.Chain) {
			chains = append(chains, r.Chain)
		}
	}
	text := fmt.Sprintf("Assembly %s has %s", a.Structures[i].Assembly, counted(len(chains), "chain"))
	text += ": " + shortened(chains)
	if t.repeated() {
		text += fmt.Sprintf(", in up to %d copies. Labels, measurements and contacts are those of the first", t.mostCopies)
	}
	return text + "."
}
