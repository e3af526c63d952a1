package director

import (
	"slices"
	"strings"
)

const (
	// metalReach is how far, in Å, an atom that coordinates a metal is from it: bonds end below 2.6 Å, the next shell is beyond 3.
	metalReach = "2.8"
	// waterReach is how far a water that is bound to something is from it: a hydrogen bond.
	waterReach = "3.5"
	// touchReach is how far residues are from what they touch.
	touchReach = "5"
)

// metals are the components and elements that are one atom of a metal.
var metals = wordSet(`LI NA MG AL K CA V CR MN MN3 FE FE2 CO 3CO NI CU CU1 ZN GA RB SR Y MO RU RH PD AG CD IN CS BA LA EU GD TB HO
YB LU W OS IR PT AU HG TL PB U1`)

// bound reads "coordinating Mn 351", "that bind the zinc", "bound to the ligand": what limits a phrase to the atoms that are bound.
func (p *parser) bound(f phrase, x lexeme) (phrase, bool) {
	finite := x.has("bonding", "coordinate")
	fits := f.kind == "residue" || oneOf(f.kind, "water", "all", "sidechain", "atom", "element", "ion")
	located := oneOf(f.kind, "ligand", "ion", "branched") && !finite
	if !x.is("bonding") || !fits && !located || finite && f.kind != "water" || p.flat == p.depth && p.flat > 0 {
		return f, false
	}
	start := p.mark()
	p.pos++
	p.takes("prep", "to")
	centre, ok := p.phrase()
	if !ok || oneOf(centre.kind, "nothing", "all", "structure") || centre.generic {
		p.back(start)
		return f, false
	}
	if located && centre.kind == "chain" {
		return both(f, centre), true // "the haem bound to chain C"
	}
	switch {
	case !fits:
		p.back(start)
		return f, false
	case isMetal(centre) && f.kind == "all":
		whole := "byres (within " + metalReach + " of " + operand(centre.text()) + ")"
		return phrase{kind: "residue", plural: true, parts: []part{{base: []string{whole}}}}, true
	case isMetal(centre):
		return around(f, metalReach, centre), true
	case f.kind == "water":
		return around(f, waterReach, centre), true
	}
	return around(f, touchReach, centre), true
}

// coordinators reads "its coordinating residues", "the coordination sphere of the zinc": residues around a metal.
func (p *parser) coordinators() phrase {
	p.pos++
	centre, ok := p.spokenOwner()
	if start := p.mark(); p.takes("prep", "of") || p.takes("prep", "around") {
		if f, read := p.phrase(); read {
			centre, ok = f, true
		} else {
			p.back(start)
		}
	}
	if !ok || !isMetal(centre) {
		centre = of("metal", "metal")
	}
	return near(metalReach, centre)
}

// coordinates tells "coordinating histidines": residues at a metal.
func (p *parser) coordinates(x, next lexeme) bool {
	return x.is("bonding") && strings.HasSuffix(x.text, "ing") && next.is("aa")
}

// metalSpokenOf is the metal that was spoken of, that of the ligand that was, or any.
func (p *parser) metalSpokenOf() phrase {
	owner, ok := p.spokenOwner()
	switch {
	case ok && isMetal(owner):
		return owner
	case ok && strings.Contains(owner.text(), "resn "):
		return both(of("metal", "metal"), owner)
	}
	return of("metal", "metal")
}

// isMetal tells whether a phrase is of metals and nothing else.
func isMetal(f phrase) bool {
	return f.kind == "metal" || !slices.ContainsFunc(f.parts, func(q part) bool {
		names := slices.Concat(q.resn, q.elem)
		if len(q.elem) > 0 {
			names = q.elem
		}
		if len(names) == 0 && f.kind == "ref" {
			names = namesIn(q.text())
		}
		return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return !metals[name] })
	})
}

// namesIn are the components or elements that a selection is made of; none where it is of anything else.
func namesIn(sel string) []string {
	var names []string
	fields := strings.Fields(strings.NewReplacer("(", " ", ")", " ").Replace(sel))
	for i, field := range fields {
		switch {
		case oneOf(field, "within", "not", "byres", "polymer", "protein"):
			return nil
		case oneOf(field, "resn", "elem") && i+1 < len(fields):
			names = append(names, strings.Split(fields[i+1], "+")...)
		}
	}
	return names
}

// phosphorylated are the short names of phosphorylated residues: pT197, pSer338.
var phosphorylated = map[string][]string{"TPO": {"PT", "PTHR"}, "SEP": {"PS", "PSER"}, "PTR": {"PY", "PTYR"}}

// runTogether reads an instance of a component whose name and number have no space between: "TPO197", "pT197", "MN351".
func (p *parser) runTogether(x lexeme) (phrase, bool) {
	if x.kind() != code || len(x.tokens) != 1 || p.isResidue(x) && !strings.HasPrefix(x.text, "p") {
		return phrase{}, false
	}
	text := strings.ToUpper(strings.ReplaceAll(x.text, "-", ""))
	f := phrase{kind: "ligand", parts: []part{{}}}
	for sort, list := range map[string][]Component{"ligand": p.ctx.Ligands, "ion": p.ctx.Ions, "residue": p.ctx.Modified} {
		for _, c := range list {
			names := append([]string{c.Name}, phosphorylated[c.Name]...)
			if slices.ContainsFunc(names, func(name string) bool { return name+c.Number == text }) {
				f.kind, f.parts[0] = sort, part{resn: []string{c.Name}, resi: []string{c.Number}}
			}
		}
	}
	if len(f.parts[0].resn) == 0 {
		return phrase{}, false
	}
	p.pos++
	return f, true
}

// adorns tells whether the words here only adorn a residue by number, or a chain by its letter: "the proximal His87".
func (p *parser) adorns() bool {
	ahead := 1
	for p.at(ahead).is("epithet") {
		ahead++
	}
	x, next := p.at(ahead), p.at(ahead+1)
	switch {
	case p.isResidue(x):
		return true
	case x.is("aa"), x.has("word", "residue"):
		return isNumberLike(next)
	}
	return x.has("word", "chain") && p.isChainLetter(next)
}

// numberedHere reads the residues that say which ones a place has: "the active site residues His57 and Asp102".
func (p *parser) numberedHere() (phrase, bool) {
	x := p.at(0)
	numbers := p.at(-1).has("word", "residue") && p.startsNumbers()
	if !numbers && !p.isResidue(x) && !(x.is("aa") && isNumberLike(p.at(1))) {
		return phrase{}, false
	}
	if numbers {
		return p.numbered()
	}
	return p.residueHead(determiner{}, x)
}

// betweenAtoms reads the atoms of "the CA-CA distance", and stops before the distance.
func (p *parser) betweenAtoms(x lexeme) (string, bool) {
	name := strings.ToUpper(x.raw())
	if x.is("named") {
		name = "CA"
	} else if !isAtomName(x) {
		return "", false
	}
	ahead := 1
	for p.at(ahead).is("prep") && p.at(ahead).text == "to" {
		ahead++
	}
	if p.at(ahead).text != x.text || !p.at(ahead+1).has("thing", "distance") {
		return "", false
	}
	p.pos += ahead + 1
	p.numbers = true
	return name, true
}

// sizesLook tells whether a word such as "thick" stands before a representation, whose size is not a matter of the scene.
func (p *parser) sizesLook() bool {
	for ahead := 1; ahead < 3; ahead++ {
		if x := p.at(ahead); x.is("rep") || !x.is("color") && !x.is("size") {
			return x.is("rep")
		}
	}
	return p.at(3).is("rep")
}

// upon tells "on" before the colour of the background, behind what is the whole: "put it on white".
func (p *parser) upon(f *frame) bool {
	return f.verb == "put" && len(f.objects) == 1 && p.onWhole(f) && len(f.attributes) == 0 && p.at(0).has("prep", "on") &&
		p.at(1).is("color") && !p.at(1).is("thing") && (p.pos+2 == len(p.lex) || p.at(2).is("conj"))
}

// beforeBackground tells a preposition behind which only the background has a colour: "spin it on a black background".
func (p *parser) beforeBackground(f *frame) bool {
	x := p.at(0)
	if !(x.has("prep", "with") || x.has("prep", "on")) || f.empty() || f.hasHead() || f.verb == "render" {
		return false
	}
	ahead := 1
	for p.at(ahead).is("article") {
		ahead++
	}
	colors := ahead
	if p.at(ahead).has("thing", "background") && p.at(ahead+1).is("color") {
		return true
	}
	for p.at(ahead).is("color") && !p.at(ahead).is("thing") {
		ahead++
	}
	return ahead > colors && p.at(ahead).has("thing", "background")
}

// locates tells a chain behind the attributes of a clause, to which its one object is limited: "strands yellow in chain E".
func (f *frame) locates(read phrase) bool {
	if read.kind != "chain" || !oneOf(read.role, "in", "of", "from", "on") || !f.closed || f.joined || len(f.objects) != 1 ||
		f.hasHead() || !f.acts("", "show", "color", "put", "hide", "colored") {
		return false
	}
	object := f.objects[0]
	elsewhere := func(q part) bool { return len(q.chain) > 0 && !slices.Equal(q.chain, read.parts[0].chain) }
	return oneOf(object.kind, "helix", "sheet", "loop", "residue", "ligand", "ion", "water", "sidechain", "backbone", "element") &&
		!slices.ContainsFunc(object.parts, elsewhere)
}

// shareChain limits the clause before to the chain that stood behind both: "helices red and strands yellow in chain E".
func (f *frame) shareChain(before *frame) {
	if f.located == nil || before == nil || !f.carried || len(before.objects) != 1 || !sameSort(before.objects[0], f.objects[0]) {
		return
	}
	whole := before.objects[0].text()
	for _, operation := range before.built {
		if operation.Args["sel"] == whole {
			operation.Args["sel"] = both(before.objects[0], *f.located).text()
		}
	}
}
