package director

import (
	"slices"
	"strings"
)

// limits reads what limits a noun phrase behind its head: "of chain A", "within 5 Å of the ligand", "except the waters".
func (p *parser) limits(f phrase) phrase {
	for range maxDepth {
		start := p.mark()
		limited, ok := p.limit(f)
		if !ok {
			p.back(start)
			return f
		}
		f = limited
	}
	return f
}

// limit reads one limit.
func (p *parser) limit(f phrase) (phrase, bool) {
	x := p.at(0)
	if joined, ok := p.adjacent(f, x); ok {
		return joined, true
	}
	if x.text == "s" && x.has("prep", "of") {
		p.pos++
		return p.possessed(f)
	}
	if f.kind == "interface" {
		return p.interfaceLimit(f, x)
	}
	if limited, ok := p.spatial(f); ok {
		return limited, true
	}
	if limited, ok := p.bound(f, x); ok {
		return limited, true
	}
	if limited, ok := p.besideIt(f, x); ok {
		return limited, true
	}
	if f.generic && f.kind == "residue" && x.is("prep") && p.beforeInterface() {
		p.pos++ // "residues at the A/B interface"
		return p.phrase()
	}
	if ahead := p.onlyAhead(); ahead > 0 && p.depth == 1 {
		p.pos += ahead // "but only in chain E"
		preposition := p.at(0)
		p.pos++
		return p.belonging(f, preposition)
	}
	switch {
	case x.is("except") || x.is("but") && (f.kind == "all" || f.plural):
		p.pos++
		p.takes("neg", "not")
		less, ok := p.phraseList()
		return without(f, less), ok
	case (x.has("prep", "of") || x.has("prep", "in")) && p.isChainLetter(p.at(1)) &&
		oneOf(f.kind, "residue", "atom", "ligand", "element", "ion"):
		p.letters = true // "ASP25 CG in A"
		p.pos++
		return p.belonging(f, x)
	case x.has("prep", "of") || x.has("prep", "in") || x.has("prep", "on") || x.has("prep", "from") || x.has("prep", "within"):
		p.pos++
		return p.belonging(f, x)
	}
	return f, false
}

// onlyAhead is where the preposition of "but only in chain E" and ", only those of chain E" stands, from here; 0 for none.
func (p *parser) onlyAhead() int {
	ahead := 0
	for p.at(ahead).is("but") || p.at(ahead).is("conj") && p.at(ahead).text == "," {
		ahead++
	}
	if !p.at(ahead).is("quant") || p.at(ahead).has("quant", "both") {
		return 0
	}
	ahead++
	for p.at(ahead).is("ref") || p.at(ahead).is("article") || p.at(ahead).has("word", "copy") {
		ahead++
	}
	if x := p.at(ahead); x.has("prep", "in") || x.has("prep", "of") || x.has("prep", "from") {
		return ahead
	}
	return 0
}

// possessed reads what stands behind "'s": "the ligand's carbons", "Asp25's OD1".
func (p *parser) possessed(f phrase) (phrase, bool) {
	if owned, ok := p.adjacent(f, p.at(0)); ok {
		return owned, true
	}
	inner, ok := p.phrase()
	return both(inner, f), ok && inner.kind != "all" && inner.kind != "structure"
}

// phraseList reads noun phrases joined by "and".
func (p *parser) phraseList() (phrase, bool) {
	f, ok := p.phrase()
	for ok {
		start := p.mark()
		if !p.at(0).is("conj") {
			return f, true
		}
		p.skip("conj")
		next, more := p.phrase()
		if !more || p.takesOwnLook() {
			p.back(start)
			return f, true
		}
		f = either(p.shared(f, next), next)
	}
	return f, ok
}

// takesOwnLook tells whether the phrase just read has a look of its own behind it, and so begins a clause.
func (p *parser) takesOwnLook() bool {
	x := p.at(0)
	return x.is("color") || x.is("verb") || (x.has("prep", "as") || x.has("prep", "in")) && !p.at(1).has("word", "chain")
}

// adjacent reads a second noun right behind the first: "chain A residue 25", "Asp25 OD1", "ligand oxygens", "pocket residues".
func (p *parser) adjacent(f phrase, x lexeme) (phrase, bool) {
	if f.kind == "chain" && x.is("conj") && p.at(1).has("word", "residue") && x.text == "," {
		p.pos++
		x = p.at(0)
	}
	switch {
	case f.kind == "chain" && (x.has("word", "residue") || p.isResidue(x) || x.is("aa")):
		inner, ok := p.phrase()
		if ok && inner.generic {
			f.parts[0].base = union(f.parts[0].base, []string{"polymer"})
			f.kind = "residue"
			return f, true
		}
		return both(inner, f), ok && inner.kind == "residue"
	case x.has("word", "chain") && f.kind != "chain" && f.kind != "chains" && f.kind != "all" && len(p.at(1).raw()) <= 2 &&
		!p.at(1).is("prep"):
		p.pos++
		ids := p.chainList()
		return both(f, phrase{parts: []part{{chain: ids}}}), len(ids) > 0
	case oneResidue(f) && isAtomName(x) && !p.isChainLetter(x):
		p.pos++
		p.takes("word", "atom")
		f.kind = "atom"
		return both(f, phrase{parts: []part{{name: []string{strings.ToUpper(x.raw())}}}}), true
	case f.kind == "ligand" && p.hasAtom(f, x):
		p.pos++
		f.kind = "atom"
		return both(f, phrase{parts: []part{{name: []string{strings.ToUpper(x.raw())}}}}), true
	case oneResidue(f) && !p.hasVerb("name") && (x.is("region") || x.is("article") && p.at(1).is("region")):
		p.skip("article", "region") // "residues 10-17 (the P-loop)"
		return f, true
	case oneResidue(f) && x.is("named"):
		p.pos++
		f.kind = "atom"
		return both(f, phrase{parts: []part{{name: []string{"CA"}}}}), true
	case x.is("element") && oneOf(f.kind, "ligand", "residue", "protein", "chain", "ref"):
		symbol, _ := p.take("element")
		p.skipWords("atom", "residue")
		head := phrase{kind: "element", plural: strings.HasSuffix(x.text, "s"), parts: []part{{elem: []string{symbol}}}}
		return both(head, f), true
	case x.is("moiety") && f.kind == "ligand" && !p.ctx.hasNucleic():
		return both(p.moietyHead(x), f), true
	case x.is("pocket") && f.kind == "ligand":
		return p.pocketAround(f, x), true
	case x.has("word", "atom") && f.kind != "chain" && !f.generic:
		p.pos++
		return f, true
	case isPartOf(x) && oneOf(f.kind, "chain", "residue", "pocket", "site", "protein", "ligand", "interface") && !f.generic:
		inner, ok := p.head(determiner{})
		return both(inner, f), ok
	}
	return f, false
}

// hasVerb tells whether the message has a verb.
func (p *parser) hasVerb(verb string) bool {
	return slices.ContainsFunc(p.lex, func(x lexeme) bool { return x.has("verb", verb) })
}

// isPartOf tells the words that limit what stands before them: "lysine side chains", "chain A helices".
func isPartOf(x lexeme) bool {
	value, _ := x.value("noun")
	return slices.Contains([]string{"backbone", "sidechain", "helix", "sheet", "loop", "hydrogen", "ligand", "ion", "water"}, value)
}

// oneResidue tells whether a phrase is of residues by number, so that an atom may be named.
func oneResidue(f phrase) bool {
	return f.kind == "residue" && len(f.parts) == 1 && len(f.parts[0].resi) > 0 && len(f.parts[0].name) == 0
}

// belonging joins a head with what it belongs to. What the whole structure is adds nothing.
func (p *parser) belonging(f phrase, preposition lexeme) (phrase, bool) {
	next := p.at(0)
	if next.is("rep") || next.is("color") && !next.is("element") || next.is("coloradj") {
		return f, false
	}
	first := p.pos
	before := p.flat
	if f.kind == "residue" {
		p.flat = p.depth + 1 // "residues of chain E within 4 Å of chain I" are residues within 4 Å
	}
	inner, ok := p.phrase()
	p.flat = before
	if !ok || inner.role != "" {
		return f, false
	}
	if oneOf(f.kind, "sidechain", "backbone", "hydrogen") || f.kind == "element" && f.plural {
		inner = p.moreOwners(inner)
	}
	located := !preposition.has("prep", "of")
	if preposition.has("prep", "from") && inner.kind != "chain" && inner.kind != "chains" {
		return f, false
	}
	switch {
	case inner.kind == "all" || inner.kind == "chains" || inner.kind == "structure":
		f.plural = f.plural || inner.kind == "chains"
		return f, f.kind != "ref"
	case inner.kind == "protein" && (f.kind == "ligand" || f.generic && f.kind == "residue" || f.kind == "water"):
		return f, true
	case located && inner.kind != "chain" && inner.kind != "pocket" && inner.kind != "site" && inner.kind != "ref" &&
		inner.kind != "residue" &&
		inner.kind != "ligand" && inner.kind != "helix":
		return f, false
	case f.generic:
		if f.kind == "residue" && inner.kind == "chain" {
			inner = both(inner, of("", "polymer"))
		}
		inner.kind = f.kind
		inner.plural = true
		return inner, true
	case f.kind == "chain":
		return f, false
	}
	if len(f.parts) == 1 && len(inner.parts) == 1 && len(f.parts[0].chain) > 0 && len(inner.parts[0].chain) > 0 &&
		!slices.Equal(f.parts[0].chain, inner.parts[0].chain) {
		return f, false
	}
	p.letters = p.letters || strings.Contains(p.quote(first, p.pos), "chain")
	joined := both(f, inner)
	joined.plural = f.plural && f.kind != "residue" || inner.plural
	return joined, true
}

// moreOwners reads on in "the side chains of Leu8, Ile44 and Val70", as long as residues without a look of their own follow.
func (p *parser) moreOwners(owners phrase) phrase {
	owns := func(f phrase) bool { return oneResidue(f) || f.kind == "ligand" }
	for owns(owners) || owners.kind == "mixed" {
		start := p.mark()
		p.skip("conj")
		if p.pos == start.pos {
			return owners
		}
		next, ok := p.phrase()
		if !ok || !owns(next) || p.at(0).is("verb") {
			p.back(start)
			return owners
		}
		owners = either(owners, next)
	}
	return owners
}

// spatial reads "within 5 Å of …", "around …", "5 Å from …".
func (p *parser) spatial(f phrase) (phrase, bool) {
	if p.flat == p.depth && p.flat > 0 {
		return f, false
	}
	start := p.mark()
	p.skip("filler", "article")
	if p.at(0).has("prep", "in") && (p.at(1).kind() == number || p.at(1).is("article") && p.at(2).kind() == number) {
		p.pos++ // "in a 4 Å shell around"
		p.skip("article")
	}
	x := p.at(0)
	var radius string
	var ok, implied bool
	switch {
	case x.has("prep", "within"):
		p.pos++
		p.skip("article", "filler")
		if radius, ok = p.length(); ok && !p.skipOf() {
			return around(f, radius, of("ref", p.recent)), f.generic && p.recent != ""
		}
	case x.has("prep", "around") && p.canSurround():
		p.pos++
		radius, ok, implied = "5", true, true
		if value, given := p.length(); given {
			radius, implied = value, false
			ok = p.skipOf()
		}
	default:
		if radius, ok = p.length(); ok {
			if oneOf(p.at(0).text, "shell", "sphere", "neighborhood", "zone", "range") {
				p.pos++
			}
			ok = p.skipOf()
		}
	}
	if !ok {
		p.back(start)
		return f, false
	}
	centre, found := p.phrase()
	if !found {
		p.back(start)
		return f, false
	}
	if value, given := p.reach(); given {
		radius, implied = value, false
	}
	if implied && f.generic && oneOf(centre.kind, "pocket", "site") {
		centre.kind, centre.centre = "residue", nil // "the residues lining the pocket" are the pocket
		return centre, true
	}
	return around(f, radius, centre), true
}

// besideIt reads "the haem next to it" behind another thing of the same clause; else such words mean "as well".
func (p *parser) besideIt(f phrase, x lexeme) (phrase, bool) {
	beside := strings.HasPrefix(x.text, "next to") || strings.HasPrefix(x.text, "beside") || strings.HasPrefix(x.text, "close to")
	if !beside || !x.is("also") || p.recent == "" || !oneOf(f.kind, "ligand", "ion", "metal", "water", "residue", "branched") {
		return f, false
	}
	p.pos++
	return around(f, "5", of("ref", p.recent)), true
}

// canSurround tells whether "around" is followed by a thing and not by an axis.
func (p *parser) canSurround() bool {
	for ahead := 1; ahead < 3; ahead++ {
		x := p.at(ahead)
		if x.is("axis") || x.kind() == number && p.at(ahead+1).has("unit", "degrees") {
			return false
		}
	}
	return true
}

// skipOf passes over the prepositions between a distance and its centre.
func (p *parser) skipOf() bool {
	start := p.pos
	p.takes("also", "also")
	for p.at(0).has("prep", "of") || p.at(0).has("prep", "from") || p.at(0).has("prep", "around") || p.at(0).has("prep", "to") ||
		p.at(0).has("off", "off") {
		p.pos++
	}
	return p.pos > start
}

// around limits a head to what is near a centre. Residues count whole; the rest by atoms.
func around(f phrase, radius string, centre phrase) phrase {
	switch {
	case f.kind == "residue" && f.generic, f.kind == "protein", f.kind == "all" && strings.Contains(f.text(), "residue"):
		return near(radius, centre)
	case oneOf(f.kind, "residue", "helix", "sheet", "loop", "ligand"):
		text := f.text()
		whole := "byres (" + group(text) + " and within " + radius + " of " + operand(centre.text()) + ")"
		if f.kind != "ligand" {
			f.kind = "residue"
		}
		return phrase{kind: f.kind, plural: true, parts: []part{{base: []string{whole}}}}
	case oneOf(f.kind, "sidechain", "backbone"):
		whole := "byres (" + group(f.text()) + " and within " + radius + " of " + operand(centre.text()) + ")"
		f.plural = true
		return both(f, phrase{parts: []part{{base: []string{whole}}}}) // a side chain is near or not, never half of it
	case f.kind == "all" || f.generic:
		return phrase{kind: "atom", plural: true,
			parts: []part{{base: []string{"within " + radius + " of " + operand(centre.text())}}}}
	}
	f.plural = true
	return both(f, phrase{parts: []part{{base: []string{"within " + radius + " of " + operand(centre.text())}}}})
}

// interfaceLimit reads which chains an interface is between.
func (p *parser) interfaceLimit(f phrase, x lexeme) (phrase, bool) {
	if !(x.has("prep", "between") || x.has("prep", "of")) || len(f.parts[0].chain) > 0 {
		return f, false
	}
	p.pos++
	p.letters = p.letters || p.isChainLetter(p.at(0))
	chains, ok := p.phraseList()
	if start := p.mark(); ok && p.takes("conj", "and") {
		if other, read := p.phrase(); read && other.kind == "chain" {
			chains = either(chains, other) // "between A and B as sticks"
		} else {
			p.back(start)
		}
	}
	if !ok || chains.kind != "chain" && chains.kind != "chains" {
		return f, false
	}
	ids := []string{}
	for _, q := range chains.parts {
		ids = union(ids, q.chain)
	}
	f.parts = []part{{base: []string{"polymer"}, chain: ids}}
	return f, true
}

// reference reads "it", "that residue", "the rest": what was spoken of.
func (p *parser) reference(x lexeme) (phrase, bool) {
	switch {
	case x.is("selected"):
		p.pos++
		p.skipWords("residue", "atom", "chain", "copy")
		return p.pointed(p.ctx.Selected)
	case x.is("rest"):
		p.pos++
		return p.remainder(), true
	}
	next := p.at(1)
	kind, _ := next.value("word")
	if x.text == "selection" && p.ctx.Selected != "" {
		p.pos++
		return p.pointed(p.ctx.Selected)
	}
	if kind == "" && startsNoun(next) || kind == "chain" && len(p.at(2).raw()) == 1 {
		return phrase{}, false // "that ligand" is the ligand
	}
	p.pos++
	if kind != "" && kind != "copy" {
		p.pos++
	}
	if strings.HasPrefix(x.text, "this") && p.ctx.Selected != "" {
		return p.pointed(p.ctx.Selected)
	}
	if p.depth > 1 && p.recent != "" {
		return p.pointed(p.recent)
	}
	if sel := p.ctx.LastOf[kind]; sel != "" && len(p.mentioned) == 0 {
		return p.pointed(sel)
	}
	if whole := p.wholes[p.last]; whole != "" && x.text == "it" {
		return p.pointed(whole)
	}
	return p.pointed(p.last)
}

// pointed is the phrase for a selection that was spoken of or picked. Without one the structure as a whole is meant, where that
// makes sense.
func (p *parser) pointed(sel string) (phrase, bool) {
	if sel == "" {
		return phrase{kind: "nothing", parts: []part{{base: []string{"polymer"}}}}, true
	}
	f := of("ref", sel)
	f.plural = true
	return f, true
}

// remainder is all but what this message, or else the last one, has spoken of.
func (p *parser) remainder() phrase {
	if start := p.pos; p.takes("prep", "of") {
		if f, ok := p.phrase(); ok {
			if p.last == "" && len(p.mentioned) == 0 {
				return f
			}
			return without(f, of("", p.spokenOf()))
		}
		p.pos = start
	}
	if p.spokenOf() == "" {
		p.halt(question("target", nil))
		return of("rest", "all")
	}
	f := of("rest", "not "+operand(p.spokenOf()))
	f.plural = true
	return f
}

func (p *parser) spokenOf() string {
	if p.hidden != "" && p.hidden == p.last {
		return p.hidden // what is left of what has been hidden
	}
	if len(p.mentioned) == 0 {
		return p.last
	}
	return strings.Join(p.mentioned, " or ")
}
