package scene

import (
	"slices"

	"github.com/molfabric/molfabric/internal/coordinates"
)

// Resolve finds the atoms of a selection. Water is left out unless the selection says it.
func (t *Table) Resolve(s Selection) Set {
	found := t.resolve(s.root)
	if saysWater(s.root) {
		return found
	}
	dry := found.less(t.ofKind(Water))
	if dry.isEmpty() && namesAlone(s.root) {
		return found
	}
	return dry
}

// ResolveWet is Resolve with waters, for what is to be taken away.
func (t *Table) ResolveWet(s Selection) Set { return t.resolve(s.root) }

// saysWater tells whether water stands in a selection, by its word or its name.
func saysWater(n node) bool {
	return anywhere(n, func(n node) bool {
		switch n := n.(type) {
		case word:
			return n.name == "water"
		case names:
			return n.field == "resn" && slices.ContainsFunc(n.list, func(name string) bool { return waters[name] })
		}
		return false
	})
}

// namesAlone tells whether a selection is made of nothing but chains, numbers and names, of which one is a residue's number.
func namesAlone(n node) bool {
	numbered := anywhere(n, func(n node) bool { _, ok := n.(numbers); return ok })
	return numbered && !anywhere(n, func(n node) bool {
		switch n.(type) {
		case prefix, nearby, word:
			return true
		}
		return false
	})
}

// anywhere tells whether a part of a selection is as asked.
func anywhere(n node, as func(node) bool) bool {
	if as(n) {
		return true
	}
	inside := func(n node) bool { return anywhere(n, as) }
	switch n := n.(type) {
	case either:
		return slices.ContainsFunc(n.parts, inside)
	case both:
		return slices.ContainsFunc(n.parts, inside)
	case prefix:
		return inside(n.of)
	case nearby:
		return inside(n.of)
	}
	return false
}

func (t *Table) resolve(n node) Set {
	switch n := n.(type) {
	case either:
		return t.join(n.parts, Set.or)
	case both:
		return t.join(n.parts, Set.and)
	case prefix:
		of := t.resolve(n.of)
		if n.word == "not" {
			return t.all().less(of)
		}
		return t.wholeResidues(of)
	case nearby:
		return t.resolveNearby(n)
	case word:
		return t.resolveWord(n.name)
	case numbers:
		return t.residues(func(r Residue) bool {
			return slices.ContainsFunc(n.list, func(s span) bool { return s.holds(r.Place) })
		})
	case names:
		return t.resolveNames(n)
	}
	return newSet(len(t.Atoms))
}

func (t *Table) join(parts []node, by func(Set, Set) Set) Set {
	found := t.resolve(parts[0])
	for _, part := range parts[1:] {
		found = by(found, t.resolve(part))
	}
	return found
}

// resolveNearby measures from what is meant without waters that nobody asked for.
func (t *Table) resolveNearby(n nearby) Set {
	of := t.resolve(n.of)
	if !saysWater(n.of) {
		of = of.less(t.ofKind(Water))
	}
	return t.within(n.radius, of)
}

func (t *Table) resolveNames(n names) Set {
	switch n.field {
	case "chain":
		return t.residues(func(r Residue) bool { return slices.Contains(n.list, r.Chain) })
	case "resn":
		return t.residues(func(r Residue) bool { return slices.Contains(n.list, r.Name) })
	case "name":
		return t.atomsThat(func(a Atom) bool { return slices.Contains(n.list, a.Name) })
	}
	return t.atomsThat(func(a Atom) bool { return slices.Contains(n.list, a.Element) })
}

func (t *Table) resolveWord(name string) Set {
	switch name {
	case "all":
		return t.all()
	case "backbone":
		return t.backbone()
	case "sidechain":
		return t.ofKind(Protein, Nucleic).less(t.backbone())
	case "helix":
		return t.residues(func(r Residue) bool { return r.Secondary == Helix })
	case "sheet":
		return t.residues(func(r Residue) bool { return r.Secondary == Strand })
	case "loop":
		return t.residues(func(r Residue) bool { return r.Kind == Protein && r.Secondary == Loop })
	case "hydrogen":
		return t.atomsThat(func(a Atom) bool { return a.Element == "H" || a.Element == "D" })
	case "metal":
		return t.atomsThat(func(a Atom) bool { return coordinates.IsMetal(a.Element) })
	}
	return t.ofKind(kindsOf[name]...)
}

// kindsOf are the kinds that words mean. No file of atoms holds coarse spheres.
var kindsOf = map[string][]Kind{
	"polymer": {Protein, Nucleic, Polymer}, "protein": {Protein}, "nucleic": {Nucleic}, "branched": {Branched}, "ligand": {Ligand},
	"ion": {Ion}, "water": {Water}, "coarse": {},
}

func (t *Table) ofKind(kinds ...Kind) Set {
	return t.residues(func(r Residue) bool { return slices.Contains(kinds, r.Kind) })
}

func (t *Table) all() Set { return t.residues(func(Residue) bool { return true }) }

func (t *Table) backbone() Set {
	return t.atomsThat(func(a Atom) bool {
		switch t.Residues[a.Residue].Kind {
		case Protein:
			return proteinBackbone[a.Name]
		case Nucleic:
			return nucleicBackbone[a.Name]
		}
		return false
	})
}

func (t *Table) residues(that func(Residue) bool) Set {
	found := newSet(len(t.Atoms))
	for _, r := range t.Residues {
		if that(r) {
			for i := r.first; i < r.last; i++ {
				found.add(i)
			}
		}
	}
	return found
}

func (t *Table) atomsThat(are func(Atom) bool) Set {
	found := newSet(len(t.Atoms))
	for i, a := range t.Atoms {
		if are(a) {
			found.add(i)
		}
	}
	return found
}

func (t *Table) wholeResidues(of Set) Set {
	touched := t.touched(of)
	found := newSet(len(t.Atoms))
	for _, residue := range touched {
		for i := t.Residues[residue].first; i < t.Residues[residue].last; i++ {
			found.add(i)
		}
	}
	return found
}

// touched are the residues of which at least one atom is in a set, in their order.
func (t *Table) touched(by Set) []int {
	var found []int
	by.each(func(i int) {
		if r := t.Atoms[i].Residue; len(found) == 0 || found[len(found)-1] != r {
			found = append(found, r)
		}
	})
	return found
}

// holds tells whether a residue is one of the span's. A code at an end counts there alone; a single number without one is the
// residue without one, as people write it.
func (s span) holds(p Place) bool {
	if s.from == s.to && s.fromCode == s.toCode {
		return p.Number == s.from && p.InsertionCode == s.fromCode
	}
	afterBegin := p.Number > s.from || p.Number == s.from && p.InsertionCode >= s.fromCode
	beforeEnd := p.Number < s.to || p.Number == s.to && (s.toCode == "" || p.InsertionCode <= s.toCode)
	return afterBegin && beforeEnd
}
