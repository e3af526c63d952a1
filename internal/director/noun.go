package director

import (
	"slices"
	"strings"
)

// determiner is what stands before a noun.
type determiner struct {
	plural, both, only bool
	ordinal            string
	superlative        string
	count              string
	possessive         bool
	// nearby tells "surrounding" before the noun, coordinating the same of a metal.
	nearby, coordinating bool
}

// phrase reads a noun phrase: determiner, head, what limits it. False when none stands here; the place is then unchanged.
func (p *parser) phrase() (phrase, bool) {
	if p.depth >= maxDepth || p.tries >= maxTries {
		return phrase{}, false
	}
	p.tries++
	p.depth++
	defer func() { p.depth-- }()
	start := p.mark()
	d := p.determiner()
	f, ok := p.head(d)
	if !ok && d.both && p.last != "" {
		return p.pointed(p.bothSpokenOf()) // "label both"
	}
	if !ok {
		p.back(start)
		return phrase{}, false
	}
	f.plural = f.plural || d.plural
	switch {
	case d.nearby:
		f = p.nearIt(f)
	case d.coordinating:
		f = around(f, metalReach, p.metalSpokenOf())
	}
	head := f.text()
	limitsAt := p.pos
	f = p.limits(f)
	f.limited, f.limitsAt = f.text() != head, limitsAt
	switch {
	case d.nearby || d.coordinating:
	case d.possessive && (isPart(f) || isSort(f)):
		f = p.its(f)
	case d.possessive && len(p.recentChains) > 0 && f.kind != "chain" && !strings.Contains(f.text(), "within "):
		f = both(f, phrase{parts: []part{{chain: p.recentChains}}})
	}
	p.check(&f)
	p.own(f)
	if !f.generic && f.kind != "nothing" && len(f.parts) > 0 {
		p.recent, p.recentChains = f.text(), f.parts[0].chain
	}
	return f, true
}

// bothSpokenOf is what "both" means: the two things of this message, or else what the last step was about.
func (p *parser) bothSpokenOf() string {
	if len(p.mentioned) == 2 {
		return strings.Join(p.mentioned, " or ")
	}
	return p.last
}

// isNearby tells "surrounding" and "nearby" before a noun.
func (p *parser) isNearby(x, next lexeme) bool {
	adjective := strings.HasSuffix(x.text, "ing") && x.text != "lining" || x.text == "nearby"
	return x.has("prep", "around") && adjective && startsNoun(next)
}

// nearIt limits "its surrounding waters" to what lies near what was spoken of, or else near the ligand.
func (p *parser) nearIt(f phrase) phrase {
	centre := of("ref", p.recent)
	switch {
	case p.recent != "":
	case p.last != "":
		centre = of("ref", p.last)
	case f.kind == "ligand":
		p.askTarget(f.text())
		return f
	default:
		centre = p.ligandHead(determiner{}, of("ligand", "ligand"))
	}
	return around(f, "5", centre)
}

// determiner reads what stands before a noun.
func (p *parser) determiner() determiner {
	var d determiner
	for !p.ended() {
		x := p.at(0)
		next := p.at(1)
		switch {
		case p.isChainLetter(x) && (next.has("word", "chain") || p.letters && !startsNoun(next)) || p.isBareChain(x):
			return d
		case (x.has("noun", "protein") || x.has("noun", "nucleic")) && next.has("word", "chain"): // "both protease chains"
		case x.text == "every" && (next.is("ordinal") || next.has("superlative", "other")) && p.ctx.Structure != "":
			p.halt(refusal("unsupported", "every so many residues", "name the residues by their numbers"))
		case x.text == "one" && next.has("prep", "of") && p.at(2).is("article") && startsNoun(p.at(3)) &&
			!p.at(3).has("word", "chain"):
			d.count = "1" // "one of the haems"
			p.pos++
		case p.isNearby(x, next):
			d.nearby = true
		case p.coordinates(x, next):
			d.coordinating = true
		case x.is("epithet") && p.adorns():
		case x.is("quant"):
			d.both = d.both || x.has("quant", "both")
			d.only = d.only || x.has("quant", "only")
			d.plural = d.plural || d.both
		case x.is("poss") && x.text != "it s":
			d.possessive = true
		case x.is("article") && !(x.is("ref") && !startsNoun(next)):
			d.plural = d.plural || slices.Contains([]string{"all the", "all of the", "every", "each", "all", "both"}, x.text)
			if x.is("ref") {
				return d
			}
		case x.text == "all" && (startsNoun(next) || (next.kind() == number || next.is("number")) && countable(p.at(2))):
			d.plural = true
		case x.is("ordinal") && (startsNoun(next) || next.kind() == number || next.is("number")) && !x.is("unit"):
			d.ordinal, _ = x.value("ordinal")
		case x.has("ordinal", "second") && startsNoun(next):
			d.ordinal = "second"
		case x.is("superlative") && startsNoun(next):
			d.superlative, _ = x.value("superlative")
		case (x.kind() == number || x.is("number")) && countable(next):
			d.count, _ = p.number()
			d.plural = d.plural || d.ordinal == ""
			continue
		default:
			return d
		}
		p.pos++
	}
	return d
}

// startsNoun tells whether a lexeme can be the head of a noun phrase, or stand before one.
func startsNoun(x lexeme) bool {
	return slices.ContainsFunc([]string{"noun", "word", "aa", "nucleotide", "group", "pocket",
		"element", "component", "components", "mine",
		"region", "named", "molecule", "moiety", "terminus", "oligomer"}, x.is)
}

// countable tells whether "two" before a lexeme counts what it names.
func countable(x lexeme) bool {
	return (x.is("noun") || x.is("element") || x.is("components") || x.is("component") || x.is("aa") || x.has("word", "chain") ||
		x.has("word", "residue")) &&
		!x.is("unit")
}

// head reads the head of a noun phrase.
func (p *parser) head(d determiner) (phrase, bool) {
	x := p.at(0)
	if x.is("ref") || x.is("selected") || x.is("rest") {
		if f, ok := p.reference(x); ok {
			return f, true
		}
	}
	if f, ok := p.atomOfLigand(x); ok {
		return f, true
	}
	if x.is("moiety") && !p.ctx.hasNucleic() {
		return p.moietyHead(x), true
	}
	if f, ok := p.residueHead(d, x); ok {
		return f, true
	}
	switch {
	case x.is("mine"):
		name, _ := p.take("mine")
		p.skipWords("residue")
		return of("residue", group(p.ctx.Named[name])), true
	case p.namesInterface():
		ids := []string{p.chainID(x), p.chainID(p.at(2))} // "the A/B interface"
		p.pos += 4
		return phrase{kind: "interface", plural: true, parts: []part{{base: []string{"polymer"}, chain: ids}}}, true
	case p.isChainLetter(x) && (p.at(1).has("word", "chain") || p.letters) || p.isBareChain(x):
		p.pos++
		p.takes("word", "chain")
		p.letters = true
		return phrase{kind: "chain", parts: []part{{chain: []string{p.chainID(x)}}}}, true
	case x.has("word", "chain"), p.isNucleicStrand(x), p.isCopy(d, x):
		return p.chainHead(d), true
	case x.is("component") || x.is("components"):
		return p.componentHead(d), true
	case x.has("word", "neighbor"), x.has("word", "coordinator"), x.has("word", "peptide"):
		return p.relatedHead(x)
	case x.has("word", "interface"):
		p.pos++
		return phrase{kind: "interface", plural: true, parts: []part{{base: []string{"polymer"}}}}, true
	case x.is("question") && (x.text == "what s" || x.text == "what is" || x.text == "what") &&
		(p.at(1).has("prep", "within") || p.at(1).has("prep", "around")):
		p.pos++
		return phrase{kind: "residue", plural: true, generic: true, parts: []part{{base: []string{"protein"}}}}, true
	case (x.text == "one" || x.text == "ones") && p.depth > 1 && (p.at(1).has("prep", "in") || p.at(1).has("prep", "of")):
		p.pos++
		return phrase{kind: "copy", parts: []part{{}}}, true
	case x.is("region"):
		return p.regionHead(x)
	case x.is("pocket"):
		return p.pocketHead(d, x), true
	case x.is("group"):
		value, _ := p.take("group")
		if strings.HasSuffix(x.text, "side chains") {
			return phrase{kind: "sidechain", plural: true,
				parts: []part{{base: []string{"sidechain"}, resn: strings.Split(value, "+")}}}, true
		}
		p.skipWords("residue", "copy")
		return phrase{kind: "residue", plural: true, parts: []part{{resn: strings.Split(value, "+")}}}, true
	case x.is("element"):
		return p.elementHead(x)
	case x.is("named"):
		p.pos++
		return phrase{kind: "atom", plural: true, parts: []part{{base: []string{"polymer"}, name: []string{"CA"}}}}, true
	case x.is("noun"):
		return p.nounHead(d, x)
	case x.is("oligomer") && p.isOfChains(x):
		p.pos++
		return phrase{kind: "polymer", plural: true, parts: []part{{base: []string{"polymer"}}}}, true
	case x.is("molecule"):
		return p.moleculeHead(x), true
	}
	return p.atomsHead(x)
}

// isCopy tells "the second copy" and "copy B" of a structure of several chains.
func (p *parser) isCopy(d determiner, x lexeme) bool {
	if len(p.ctx.Chains) < 2 || !oneOf(x.text, "copy", "copies", "molecule") {
		return false
	}
	return d.ordinal != "" || d.superlative == "other" || p.isChainLetter(p.at(1))
}

// relatedHead reads what is what it is beside something else: neighbours, what coordinates a metal, the peptide of a protein.
func (p *parser) relatedHead(x lexeme) (phrase, bool) {
	switch {
	case x.has("word", "neighbor"):
		return p.neighbours(), true
	case x.has("word", "coordinator"):
		return p.coordinators(), true
	}
	return p.peptideHead()
}

// atomsHead reads a head that means atoms by their names, or atoms at all.
func (p *parser) atomsHead(x lexeme) (phrase, bool) {
	switch {
	case x.has("word", "atom"):
		return p.atomHead()
	case isAtomName(x) && (p.at(1).has("word", "atom") || p.at(1).has("prep", "of")):
		p.numbers = p.numbers || p.at(1).has("prep", "of") && p.at(2).kind() == number // "CA of 10"
		many := p.at(1).text == "atoms"                                                // of each of what follows
		p.pos++
		p.takes("word", "atom")
		return phrase{kind: "atom", plural: many, parts: []part{{name: []string{x.raw()}}}}, true
	}
	return phrase{}, false
}

// whatThereIs names the components of the structure, as an alternative to one that it lacks.
func (p *parser) whatThereIs() string {
	var names []string
	for _, list := range [][]Component{p.ctx.mainLigands(), p.ctx.Ions} {
		for _, component := range list {
			if !slices.Contains(names, component.Name) {
				names = append(names, component.Name)
			}
		}
	}
	if len(names) == 0 {
		return p.ctx.chainNames()
	}
	return "the structure holds " + strings.Join(names, ", ")
}

// skipWords passes over heads that add nothing: "residues" in "pocket residues".
func (p *parser) skipWords(values ...string) {
	for _, value := range values {
		p.takes("word", value)
	}
}

// nounHead reads one of the language's own words. "All" before another noun was read as a determiner.
func (p *parser) nounHead(d determiner, x lexeme) (phrase, bool) {
	value, _ := p.take("noun")
	if strings.HasPrefix(x.text, "nucleotide") && !p.ctx.hasNucleic() {
		value = "ligand" // GTP, and no nucleic acid
	}
	f := of(value, value)
	f.plural = d.plural || strings.HasSuffix(x.text, "s") || strings.HasSuffix(x.text, "ces")
	if value == "protein" && !f.plural {
		f = p.besidePeptide(f, x)
	}
	if value == "ligand" {
		return p.ligandHead(d, f), true
	}
	if value == "all" {
		f.plural = true
		if !strings.HasPrefix(x.text, "every") && !strings.HasPrefix(x.text, "all") {
			f.kind = "structure"
		}
	}
	if d.ordinal != "" || d.superlative != "" {
		p.halt(question("target", nil))
	}
	return f, true
}

// besidePeptide keeps the short peptide out of the looks of "the kinase", and of "the protein" where the message has spoken of the
// peptide.
func (p *parser) besidePeptide(f phrase, x lexeme) phrase {
	peptide, ok := p.ctx.peptide()
	if !ok {
		return f
	}
	only := "chain " + peptide.ID
	spoken := slices.ContainsFunc(p.mentioned, func(sel string) bool { return strings.Contains(sel, only) })
	if !spoken && !oneOf(x.text, "kinase", "enzyme", "receptor", "protease", "target protein", "receptor protein") {
		return f
	}
	f.beside = only
	return f
}

// ligandHead is what "the ligand" means: the ligands that are no solvent, or the short peptide where there is none.
func (p *parser) ligandHead(d determiner, f phrase) phrase {
	p.skipWords("atom", "copy")
	main := p.ctx.mainLigands()
	if len(main) == 0 {
		if peptide, ok := p.ctx.peptide(); ok {
			return phrase{kind: "chain", parts: []part{{chain: []string{peptide.ID}}}}
		}
		if p.ctx.Structure != "" {
			p.halt(refusal("not_found", "ligand", p.ctx.chainNames()))
		}
		return f
	}
	if len(main) < len(p.ctx.Ligands) {
		var names []string
		for _, ligand := range main {
			names = union(names, []string{ligand.Name})
		}
		f.parts = []part{{resn: names}}
	}
	return p.picked(d, f, main)
}

// picked limits a phrase to the instance that an ordinal or a superlative means; sizes are not known, so those are a question.
func (p *parser) picked(d determiner, f phrase, instances []Component) phrase {
	ordinals := map[string]int{"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "sixth": 5, "last": len(instances) - 1}
	index, ok := ordinals[d.ordinal]
	switch {
	case ok && index < len(instances):
		one := instances[index]
		f.parts = []part{{resn: []string{one.Name}, chain: []string{one.Chain}, resi: []string{one.Number}}}
		f.plural = false
	case ok:
		p.halt(refusal("not_found", d.ordinal+" "+f.kind, p.whatThereIs()))
	case d.superlative != "" && len(instances) > 1 || d.superlative == "other", d.count == "1" && len(instances) > 1:
		p.ask("ligand", choicesOf(instances), f.text())
	}
	return f
}

func choicesOf(instances []Component) []Choice {
	choices := make([]Choice, len(instances))
	for i, one := range instances {
		choices[i] = Choice{one.String(), "resn " + one.Name + " and chain " + one.Chain}
		for j, other := range instances {
			if i != j && other.Name == one.Name && other.Chain == one.Chain {
				choices[i].Selection = "resn " + one.Name + " and chain " + one.Chain + " and resi " + one.Number
			}
		}
	}
	return choices
}

// componentHead reads a component of the structure by its id or a synonym.
func (p *parser) componentHead(d determiner) phrase {
	name, ok := p.take("component")
	plural := !ok
	if !ok {
		name, _ = p.take("components")
	}
	f := phrase{kind: "ligand", plural: plural || d.plural, parts: []part{{resn: []string{name}}}}
	if p.isChainLetter(p.at(0)) && p.at(1).kind() == number {
		f.parts[0].chain, f.parts[0].resi = []string{p.at(0).raw()}, []string{p.at(1).text}
		p.pos += 2
		return f
	}
	if p.numberOf(name) {
		f.parts[0].resi = []string{p.at(0).text}
		f.plural = false
		p.pos++
	}
	p.skipWords("atom", "copy")
	p.takes("noun", "ligand")
	if slices.ContainsFunc(p.ctx.Ions, func(ion Component) bool { return ion.Name == name }) {
		f.kind = "ion"
		p.takes("noun", "ion")
	}
	return p.picked(d, f, p.ctx.components(name))
}

// elementHead reads an element: the ion of the structure that is called so, else the atoms.
func (p *parser) elementHead(x lexeme) (phrase, bool) {
	symbol, _ := p.take("element")
	isIon := slices.ContainsFunc(p.ctx.Ions, func(ion Component) bool { return ion.Name == symbol })
	ofCarbonKind := slices.Contains([]string{"C", "N", "O", "S", "P", "F", "SE"}, symbol)
	switch {
	case strings.Contains(x.text, "atom") && !isIon || ofCarbonKind:
		return phrase{kind: "element", plural: strings.HasSuffix(x.text, "s"), parts: []part{{elem: []string{symbol}}}}, true
	case isIon:
		p.takes("noun", "ion")
		p.skipWords("atom")
		q := part{resn: []string{symbol}}
		if p.numberOf(symbol) {
			q.resi = []string{p.at(0).text}
			p.pos++
		}
		if symbol == "CA" {
			q.base = []string{"ion"} // a name that alpha carbons have too
		}
		return phrase{kind: "ion", plural: strings.HasSuffix(x.text, "s"), parts: []part{q}}, true
	case p.ctx.Structure != "" && len(p.ctx.Ligands) == 0:
		p.halt(refusal("not_found", x.raw(), p.whatThereIs()))
	}
	return phrase{kind: "element", plural: strings.HasSuffix(x.text, "s"), parts: []part{{elem: []string{symbol}}}}, true
}

// atomHead reads "atom OD1", or "atoms", of which something must be said.
func (p *parser) atomHead() (phrase, bool) {
	p.pos++
	if next := p.at(0); isAtomName(next) && !next.is("filler") {
		p.pos++
		return phrase{kind: "atom", parts: []part{{name: []string{strings.ToUpper(next.raw())}}}}, true
	}
	return phrase{kind: "atom", plural: true, generic: true, parts: []part{{base: []string{"all"}}}}, true
}

// isAtomName tells names of atoms, in capitals: OD1, CA, N, O5'.
func isAtomName(x lexeme) bool {
	raw := x.raw()
	if len(raw) == 0 || len(raw) > 4 || len(x.tokens) != 1 || x.kind() == number || x.kind() == quoted {
		return false
	}
	return strings.ContainsRune("CNOSPFHBIMZK", rune(raw[0])) && strings.ToUpper(raw) == raw && raw != "I"
}

// peptideHead is the short chain; several or none are a question.
func (p *parser) peptideHead() (phrase, bool) {
	p.pos++
	chain, ok := p.ctx.peptide()
	if !ok {
		p.ask("chain", chainChoices(p.ctx.chainIDs()), "")
	}
	return phrase{kind: "chain", parts: []part{{chain: []string{chain.ID}}}}, true
}

// regionHead reads a place that only people of the field can find. Residues named with it count, then the session's names.
func (p *parser) regionHead(x lexeme) (phrase, bool) {
	value, _ := p.take("region")
	start := p.mark()
	p.skip("conj", "filler", "prep")
	if next := p.at(0); next.has("word", "residue") || p.isResidue(next) || next.is("aa") && p.at(1).kind() == number {
		if f, ok := p.phrase(); ok && !f.generic && f.kind == "residue" {
			return f, true
		}
	}
	p.back(start)
	if f, ok := p.numbersOfRegion(x); ok {
		return f, true
	}
	p.skipWords("residue")
	for _, name := range []string{value, strings.ReplaceAll(x.text, " ", "_")} {
		if sel, ok := p.ctx.Named[name]; ok {
			return of("residue", group(sel)), true
		}
	}
	p.askNamed("protein")
	return of("residue", "protein"), true
}

// pocketHead is the residues within 5 Å of the ligand, or of what the words say.
func (p *parser) pocketHead(d determiner, x lexeme) phrase {
	kind, _ := p.take("pocket")
	if x.has("pocket", "site") {
		kind = "site"
	}
	if p.takes("word", "residue") || p.takes("noun", "protein") {
		kind = "residue"
	}
	if named, ok := p.numberedHere(); ok {
		return named
	}
	start := p.mark()
	centre, radius := p.pocketCentre()
	ofLigand := strings.Contains(p.last, "ligand") || strings.Contains(p.last, "resn ")
	if d.possessive && strings.Contains(p.last, "chain ") && ofLigand &&
		!strings.Contains(p.last, "within ") {
		p.stop, p.open = start.stop, start.open
		centre = of("ligand", p.last) // "focus on the ligand in chain A, show its pocket"
	}
	f := near(radius, centre)
	f.kind, f.plural, f.centre, f.radius = kind, centre.plural, &centre, radius
	return f
}

// pocketAround reads "the biotin pocket".
func (p *parser) pocketAround(centre phrase, x lexeme) phrase {
	kind, _ := p.take("pocket")
	if x.has("pocket", "site") {
		kind = "site"
	}
	if p.takes("word", "residue") {
		kind = "residue"
	}
	if named, ok := p.numberedHere(); ok {
		return named
	}
	f := near("5", centre)
	f.kind, f.plural, f.centre, f.radius = kind, centre.plural, &centre, "5"
	return f
}

// pocketCentre reads what a pocket is of, and how far it reaches.
func (p *parser) pocketCentre() (phrase, string) {
	radius := "5"
	centre := phrase{}
	for range 2 {
		if value, ok := p.reach(); ok {
			radius = value
		}
		if len(centre.parts) > 0 {
			break
		}
		start := p.mark()
		if x := p.at(0); x.has("prep", "of") || x.has("prep", "around") || x.has("prep", "for") || x.has("prep", "in") {
			p.pos++
			if f, ok := p.phrase(); ok && f.kind != "all" && f.kind != "protein" {
				centre = f
				continue
			}
			p.back(start)
		}
		break
	}
	d := determiner{}
	switch {
	case len(centre.parts) == 0:
		centre = p.ligandHead(d, of("ligand", "ligand"))
	case centre.kind == "chain" && len(p.ctx.mainLigands()) > 0:
		centre = both(p.ligandHead(d, of("ligand", "ligand")), centre)
		centre.kind = "ligand"
	}
	return centre, radius
}

// reach reads "within 5 Å", "(4 angstroms)" behind a place whose centre is known.
func (p *parser) reach() (string, bool) {
	start := p.mark()
	p.skip("filler")
	within := p.at(0).has("prep", "within") || p.at(0).has("prep", "with")
	if within {
		p.pos++
	}
	p.skip("article")
	value, ok := p.length()
	if !ok || p.at(0).has("prep", "of") {
		p.back(start)
		return "", false
	}
	return value, true
}
