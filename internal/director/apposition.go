package director

import (
	"regexp"
	"slices"
)

// helixName is how helices are called in papers: H12.
var helixName = regexp.MustCompile(`^h[0-9]{1,2}$`)

// placeAppositions puts residues by number where a region stands that they explain: "the flaps in red (residues 43-58 of both
// chains)" becomes "residues 43-58 of both chains in red", and "helix 12 residues 536 to 544" its residues.
func (p *parser) placeAppositions() {
	for at := 0; at < len(p.lex); at++ {
		length, ok := p.explained(at)
		if !ok {
			continue
		}
		from, to, found := p.explanation(at + length)
		if !found {
			continue
		}
		run := slices.Clone(p.lex[from:to])
		between := slices.Clone(p.lex[at+length : from])
		p.lex = slices.Concat(p.lex[:at], run, between, p.lex[to:])
	}
}

// explained tells how many lexemes a region, or a numbered helix, strand or loop, has.
func (p *parser) explained(at int) (int, bool) {
	x := p.lex[at]
	value, _ := x.value("region")
	_, isNamed := p.ctx.Named[value]
	structure := x.has("noun", "helix") || x.has("noun", "sheet") || x.has("noun", "loop")
	switch {
	case x.is("region") && !isNamed && !x.is("mine"):
		return 1, true
	case x.kind() == code && helixName.MatchString(x.text) && at+2 < len(p.lex) && p.lex[at+1].has("word", "residue") &&
		isNumberLike(p.lex[at+2]):
		return 1, true
	case structure && at+1 < len(p.lex) && p.lex[at+1].kind() == number:
		return 2, true
	}
	return 0, false
}

// explanation finds "residues 43-58 of both chains" in the same clause.
func (p *parser) explanation(at int) (from, to int, found bool) {
	p.pos = at
	defer func() { p.pos = 0 }()
	for ; !p.ended() && !p.at(0).is("conj") && !p.at(0).is("verb"); p.pos++ {
		if !p.at(0).has("word", "residue") || p.pos+1 == len(p.lex) || !isNumberLike(p.at(1)) {
			continue
		}
		from = p.pos
		p.pos++
		for isNumberLike(p.at(0)) || p.joinsNumbers() {
			p.pos++
		}
		p.pos += p.chainsBehind()
		return from, p.pos, true
	}
	return 0, 0, false
}

func isNumberLike(x lexeme) bool {
	return x.kind() == number || x.kind() == code && len(x.tokens) == 1 && listPattern.MatchString(x.text)
}

// joinsNumbers tells what stands between two numbers of a list.
func (p *parser) joinsNumbers() bool {
	x := p.at(0)
	return (x.is("conj") || x.has("prep", "to") || x.has("prep", "through")) && isNumberLike(p.at(1))
}

// chainsBehind is the length of "of chain A", "of both chains" behind residues, or 0.
func (p *parser) chainsBehind() int {
	if !p.at(0).has("prep", "of") && !p.at(0).has("prep", "in") {
		return 0
	}
	length := 1
	for p.at(length).is("article") || p.at(length).is("quant") {
		length++
	}
	if !p.at(length).has("word", "chain") {
		return 0
	}
	if length++; p.isChainLetter(p.at(length)) {
		length++
	}
	return length
}
