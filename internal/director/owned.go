package director

import (
	"maps"
	"slices"
)

// ownerOf is what the parts that a sentence goes on to name belong to: a phrase without the atoms that it was limited to. "The
// carbons of ATP" leave ATP. False for what has no parts of its own.
func ownerOf(f phrase) (phrase, bool) {
	if f.generic || len(f.parts) == 0 || oneOf(f.kind, "nothing", "interface", "rest", "copy") {
		return phrase{}, false
	}
	owner := f
	owner.parts = slices.Clone(f.parts)
	for i := range owner.parts {
		q := &owner.parts[i]
		alone := len(q.resn)+len(q.chain)+len(q.resi) == 0
		if alone && (len(q.base) == 0 || slices.ContainsFunc(q.base, isPartName) && len(q.base) == 1 ||
			f.kind == "atom" && slices.Equal(q.base, []string{"polymer"})) {
			return phrase{}, false
		}
		if isPart(f) {
			owner.kind = "residue"
			if len(q.resn) > 0 && len(q.resi) == 0 || slices.Contains(q.base, "ligand") {
				owner.kind = "ligand"
			}
		}
		q.name, q.elem = nil, nil
	}
	owner.role, owner.plural, owner.expected = "", true, nil
	return owner, true
}

// partOf is a part of what was spoken of. The carbons of a side chain are its own; its backbone is that of the residue.
func partOf(f, owner phrase) phrase {
	if !oneOf(f.kind, "element", "atom", "hydrogen") {
		owner.parts = slices.Clone(owner.parts)
		for i := range owner.parts {
			owner.parts[i].base = slices.DeleteFunc(slices.Clone(owner.parts[i].base), isPartName)
		}
	}
	f = both(f, owner)
	f.limited = true
	return f
}

// isPartName tells the terms of a selection that name a part of what they are joined with.
func isPartName(term string) bool { return oneOf(term, "sidechain", "backbone", "hydrogen") }

// isPart tells whether a phrase names atoms that something has: carbons, a side chain, alpha carbons.
func isPart(f phrase) bool {
	return !f.generic && oneOf(f.kind, "element", "atom", "sidechain", "backbone", "hydrogen")
}

// isSort tells whether a phrase names a sort of residues or regions: hydrophobic residues, helices.
func isSort(f phrase) bool {
	ofKind := f.kind == "residue" && len(f.parts) == 1 && len(f.parts[0].resn) > 0 && len(f.parts[0].resi) == 0
	return ofKind || oneOf(f.kind, "helix", "sheet", "loop")
}

// hasParts tells whether something of a kind has such parts. A ligand has no side chain; everything has all there are.
func hasParts(owner, part phrase) bool {
	if oneOf(owner.kind, "all", "structure") {
		return false
	}
	polymeric := oneOf(part.kind, "sidechain", "backbone") || isSort(part) ||
		part.kind == "atom" && slices.Equal(part.parts[0].base, []string{"polymer"})
	return !(polymeric && oneOf(owner.kind, "ligand", "ion", "water", "metal", "branched"))
}

// its gives a part that stands behind "its" or "their" to what was spoken of last. Without that, it is a question.
func (p *parser) its(f phrase) phrase {
	owner, ok := p.spokenOwner()
	switch {
	case ok && hasParts(owner, f):
		f = partOf(f, owner)
		p.wholes[f.text()] = owner.text()
	case !ok && isPart(f) && p.ctx.Structure != "":
		p.askTarget(f.text())
	}
	return f
}

// spokenOwner is what "its" means: of this message, or else of the last one.
func (p *parser) spokenOwner() (phrase, bool) {
	if p.owner != nil {
		return *p.owner, true
	}
	if p.last == "" {
		return phrase{}, false
	}
	return of("ref", group(p.last)), true
}

// bareParts gives parts that are named alone, behind a clause that spoke of something, to that: "show Lys72 as sticks, carbons
// yellow" and "select the ligand, colour the oxygens red". Hydrogens alone are mostly those of everything.
func (p *parser) bareParts(f *frame, read phrase) phrase {
	if p.owner == nil || read.limited || !isPart(read) || read.kind == "hydrogen" || p.owner.text() == p.hidden ||
		!hasParts(*p.owner, read) || read.role != "" && read.role != "with" || f.verb == "measure" || f.names("distance") {
		return read
	}
	if last := len(f.objects) - 1; last >= 0 {
		if before := f.objects[last]; !(isPart(before) && before.limited) && read.role != "with" {
			return read // "the ligand and the side chains" are two things
		}
	}
	part := partOf(read, *p.owner)
	p.wholes[part.text()] = p.owner.text()
	return part
}

// own remembers whose parts may be spoken of next.
func (p *parser) own(f phrase) {
	if owner, ok := ownerOf(f); ok {
		p.owner = &owner
	}
}

// shared gives what stands before "and" the limit that stands behind both: "arginine and lysine in chain E". Things of different
// sorts keep apart, and so does what has a limit of its own.
func (p *parser) shared(before, read phrase) phrase {
	if before.limited || !read.limited || read.limitsAt == 0 || !sameSort(before, read) {
		return before
	}
	here := p.mark()
	defer p.back(here)
	p.pos = read.limitsAt
	if x := p.at(0); !(x.has("prep", "of") || x.has("prep", "in")) {
		for _, q := range slices.Concat(before.parts, read.parts) {
			if len(q.resi) > 0 {
				return before // "Arg132 and Lys40 near it"
			}
		}
		if !before.plural || !read.plural {
			return before
		}
	}
	limited := p.limits(before)
	limited.plural = before.plural
	if p.stop != here.stop {
		return before
	}
	return limited
}

// sameSort tells whether two phrases name things that one limit may be meant for.
func sameSort(a, b phrase) bool {
	if slices.ContainsFunc(a.parts, func(q part) bool { return len(q.chain) > 0 }) || a.generic || b.generic {
		return false
	}
	for _, sort := range [][]string{
		{"helix", "sheet", "loop"}, {"element", "atom"}, {"sidechain", "backbone"}, {"ligand", "ion", "water", "branched"},
	} {
		if slices.Contains(sort, b.kind) {
			return slices.Contains(sort, a.kind) || a.kind == "mixed" && slices.Contains(sort, a.sort)
		}
	}
	return a.kind == "residue" && b.kind == "residue"
}

// neighbours reads "its neighbours within 6 Å", "the neighbours of Lys72": residues around what was spoken of.
func (p *parser) neighbours() phrase {
	p.pos++
	p.skipWords("residue")
	radius, given := p.reach()
	centre, ok := p.spokenOwner()
	if start := p.mark(); p.takes("prep", "of") || p.takes("prep", "to") {
		if f, read := p.phrase(); read {
			centre, ok = f, true
		} else {
			p.back(start)
		}
	}
	if !given {
		if radius, given = p.reach(); !given {
			radius = "5"
		}
	}
	if !ok {
		p.askTarget("protein")
		return of("residue", "protein")
	}
	return near(radius, centre)
}

// askNamed asks which of the session's names is meant; where there are none, the answer has to say it in other words.
func (p *parser) askNamed(sel string) {
	var choices []Choice
	for _, name := range slices.Sorted(maps.Keys(p.ctx.Named)) {
		choices = append(choices, Choice{name, p.ctx.Named[name]})
	}
	p.ask("target", choices, sel)
}

// askTarget asks what is meant, among the ligands and chains of the structure and what the session has named.
func (p *parser) askTarget(sel string) {
	choices := choicesOf(p.ctx.mainLigands())
	for _, id := range p.ctx.chainIDs() {
		choices = append(choices, Choice{id, "chain " + id})
	}
	p.ask("target", choices, sel)
}
