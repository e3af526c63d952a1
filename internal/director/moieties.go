package director

import (
	"slices"
	"strings"
)

// moieties are the atoms of the parts of nucleotides, as the chemical component dictionary names them in ATP, GTP and their like. A
// component that lacks one of the first list has no such part; those of the second are taken where they are.
var moieties = map[string][2][]string{
	"adenine":    {strings.Fields("N1 C2 N3 C4 C5 C6 N6 N7 C8 N9")},
	"guanine":    {strings.Fields("N1 C2 N2 N3 C4 C5 C6 O6 N7 C8 N9")},
	"base":       {strings.Fields("N1 C2 N3 C4 C5 C6 N7 C8 N9"), strings.Fields("N2 N6 O6")},
	"ribose":     {strings.Fields("C1' C2' C3' C4' O4'"), strings.Fields("C5' O2' O3'")},
	"alpha":      {strings.Fields("PA O1A O2A")},
	"beta":       {strings.Fields("PB O1B O2B")},
	"gamma":      {strings.Fields("PG O1G O2G O3G")},
	"phosphates": {strings.Fields("PA O1A O2A"), strings.Fields("O3A N3A C3A PB O1B O2B O3B N3B C3B PG O1G O2G O3G S1G")},
}

// moietyHead reads a part of a nucleotide: "the adenine ring", "the gamma phosphate of GTP". What has other names for its atoms is
// refused, since a guess would show others.
func (p *parser) moietyHead(x lexeme) phrase {
	value, _ := p.take("moiety")
	f := phrase{kind: "atom", plural: true}
	for _, ligand := range p.ctx.mainLigands() {
		names := p.atomsOfMoiety(ligand.Name, value)
		known := slices.ContainsFunc(f.parts, func(q part) bool { return slices.Equal(q.resn, []string{ligand.Name}) })
		if len(names) > 0 && !known {
			f.parts = append(f.parts, part{resn: []string{ligand.Name}, name: names})
		}
	}
	if len(f.parts) == 0 {
		p.halt(refusal("unsupported", "the "+x.raw()+" by its name", "name its atoms, such as N1 of the ligand"))
		return of("atom", "ligand")
	}
	return f
}

// atomsOfMoiety are the atoms of a part of a component; none where it has no such part.
func (p *parser) atomsOfMoiety(component, value string) []string {
	if p.ctx.Atoms == nil {
		return nil
	}
	has := func(name string) bool { return slices.Contains(p.ctx.Atoms(component, name[:1]), name) }
	var names []string
	for _, name := range moieties[value][0] {
		if !has(name) {
			return nil
		}
		names = append(names, name)
	}
	for _, name := range moieties[value][1] {
		if has(name) {
			names = append(names, name)
		}
	}
	return names
}
