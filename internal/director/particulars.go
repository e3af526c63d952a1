package director

import (
	"slices"
	"strings"
)

// moleculeHead reads a molecule that people know by its name and the structure does not.
func (p *parser) moleculeHead(x lexeme) phrase {
	p.pos++
	if f, ok := p.derivedFrom(x); ok {
		return f
	}
	if p.ctx.Structure == "" && len(x.text) <= maxComponentID {
		// What was just loaded may hold it.
		return phrase{kind: "ligand", parts: []part{{resn: []string{strings.ToUpper(x.text)}}}}
	}
	p.halt(refusal("not_found", x.raw(), p.whatThereIs()))
	return of("ligand", "ligand")
}

// atomOfLigand reads "N1 of the ligand".
func (p *parser) atomOfLigand(x lexeme) (phrase, bool) {
	if !isAtomName(x) || !p.at(1).has("prep", "of") && !p.at(1).has("prep", "in") {
		return phrase{}, false
	}
	start := p.mark()
	p.pos += 2
	owner, ok := p.phrase()
	if !ok || owner.kind != "ligand" || !p.hasAtom(owner, x) {
		p.back(start)
		return phrase{}, false
	}
	return both(phrase{kind: "atom", parts: []part{{name: []string{strings.ToUpper(x.raw())}}}}, owner), true
}

// isBareChain tells a chain by its letter and the colour behind it: "colour A red, B green". A sentence may begin with an article.
func (p *parser) isBareChain(x lexeme) bool {
	if p.lettersJoin() || p.namesInterface() {
		return true
	}
	begins := p.pos > 0 && p.lex[0].is("verb") || (p.pos == 0 || p.at(-1).is("conj")) && p.colorsLetters()
	return p.isChainLetter(x) && x.raw() != "a" && begins && p.at(1).is("color") &&
		(p.pos+2 == len(p.lex) || p.at(2).is("conj") || p.at(2).is("filler"))
}

// namesInterface tells "A/B interface".
func (p *parser) namesInterface() bool {
	return p.isChainLetter(p.at(0)) && p.at(1).text == "/" && p.isChainLetter(p.at(2)) && p.at(3).has("word", "interface")
}

// beforeInterface tells a preposition before an interface.
func (p *parser) beforeInterface() bool {
	start := p.mark()
	defer p.back(start)
	p.pos++
	if p.at(0).is("article") && !p.namesInterface() {
		p.pos++
	}
	return p.at(0).has("word", "interface") || p.namesInterface()
}

// lettersJoin tells a capital among several that name chains: "show A and B only".
func (p *parser) lettersJoin() bool {
	isLetter := func(x lexeme) bool {
		return p.isChainLetter(x) && x.kind() == word && strings.ToUpper(x.raw()) == x.raw()
	}
	if !isLetter(p.at(0)) || p.pos == 0 {
		return false
	}
	behind := p.at(1).has("conj", "and") && isLetter(p.at(2)) && p.at(-1).is("verb")
	before := p.at(-1).has("conj", "and") && isLetter(p.at(-2)) && p.at(-3).is("verb")
	return behind || before
}

// colorsLetters tells a message that gives colours to several chains by their letters: "A teal, B orange".
func (p *parser) colorsLetters() bool {
	count := 0
	for i, x := range p.lex[:len(p.lex)-1] {
		if p.isChainLetter(x) && x.raw() != "a" && p.lex[i+1].is("color") {
			count++
		}
	}
	return count > 1
}

// isNucleicStrand tells "strand A" of a double helix from a strand of a sheet.
func (p *parser) isNucleicStrand(x lexeme) bool {
	chain, ok := p.ctx.chain(p.at(1).raw())
	if len(p.ctx.Chains) > 0 && !slices.ContainsFunc(p.ctx.Chains, func(c Chain) bool { return c.Kind != "nucleic" }) {
		return x.text == "strand" || x.text == "strands"
	}
	return (x.text == "strand" || x.text == "strands") && ok && p.isChainLetter(p.at(1)) && chain.Kind == "nucleic"
}

// derivedFrom asks whether a component is meant whose name ends with the one that was said: 4-hydroxytamoxifen is no tamoxifen, and
// people call it so.
func (p *parser) derivedFrom(x lexeme) (phrase, bool) {
	var names []string
	for synonym, component := range p.ctx.Synonyms {
		if len(x.text) >= leastStem && strings.HasSuffix(strings.ToLower(synonym), x.text) {
			names = union(names, []string{component})
		}
	}
	if len(names) == 0 {
		return phrase{}, false
	}
	slices.Sort(names)
	f := phrase{kind: "ligand", parts: []part{{resn: names}}}
	var instances []Component
	for _, name := range names {
		instances = append(instances, p.ctx.components(name)...)
	}
	p.ask("ligand", choicesOf(instances), f.text())
	return f, true
}

// isOfChains tells an oligomer of all chains of the structure.
func (p *parser) isOfChains(x lexeme) bool {
	count, _ := x.value("oligomer")
	return atoi(count) == len(p.ctx.Chains)
}

// numbersOfRegion reads "the RBD (319-541)" and "the hinge residues 81 to 83". A single number may be the region's own, as in
// "motif 2".
func (p *parser) numbersOfRegion(x lexeme) (phrase, bool) {
	start := p.mark()
	if !p.startsNumbers() {
		return phrase{}, false
	}
	f, ok := p.numbered()
	several := ok && (len(f.parts[0].resi) > 1 || strings.Contains(f.parts[0].resi[0], "-"))
	if !several && !strings.HasSuffix(x.text, "residues") && !strings.HasSuffix(x.text, "residue") {
		p.back(start)
		return phrase{}, false
	}
	return f, ok
}

// numberOf tells whether the number that follows is that of an instance of a component: "TPO 197", "Mn 351".
func (p *parser) numberOf(name string) bool {
	x := p.at(0)
	return x.kind() == number && !p.at(1).is("unit") && slices.ContainsFunc(p.ctx.components(name), func(c Component) bool {
		return c.Number == x.text
	})
}

// maxComponentID is how long the ids of components that people know are.
const maxComponentID = 3

// leastStem is from where on the end of a name says something.
const leastStem = 6

// hasAtom tells whether a lexeme names an atom of the component that a phrase is about: "the ligand N1" is no asparagine.
func (p *parser) hasAtom(f phrase, x lexeme) bool {
	if !isAtomName(x) || p.isChainLetter(x) || len(f.parts) != 1 || len(f.parts[0].name) > 0 || p.ctx.Atoms == nil {
		return false
	}
	name := strings.ToUpper(x.raw())
	for _, component := range p.componentsOf(f.parts[0]) {
		for length := 1; length <= min(2, len(name)); length++ {
			if slices.Contains(p.ctx.Atoms(component, name[:length]), name) {
				return true
			}
		}
	}
	return false
}
