package director

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	residuePattern  = regexp.MustCompile(`^([a-z]{1,3})-?([0-9]{1,4})([a-z]?)$`)
	locatedPattern  = regexp.MustCompile(`^/?([a-z0-9]{1,3})[:/](?:([a-z][a-z0-9]{0,2})[:/]?)?(-?[0-9]+[a-z]?(?:-[0-9]+[a-z]?)?)$`)
	instancePattern = regexp.MustCompile(`^([a-z0-9]{1,3})/([a-z0-9]{1,3})/([0-9]+)$`)
	insertedPattern = regexp.MustCompile(`^[0-9]+[a-z]?$`)
)

// residueCode splits "T315", "Thr-315" and "Tyr52A" into the residue's name and its number. False for what is none.
func (l *lexicon) residueCode(text string) (name, number string, ok bool) {
	match := residuePattern.FindStringSubmatch(text)
	if match == nil {
		return "", "", false
	}
	letters, inserted := match[1], strings.ToUpper(match[3])
	switch len(letters) {
	case 1:
		if inserted != "" {
			return "", "", false // T315I is a mutation
		}
		name = l.letters[letters]
	case 3:
		for _, s := range l.phrases[letters] {
			if s.category == "aa" {
				name = s.value
			}
		}
	}
	return name, match[2] + inserted, name != ""
}

// isResidue tells whether a lexeme names one residue: T315, A/THR/315.
func (p *parser) isResidue(x lexeme) bool {
	if x.kind() != code || len(x.tokens) != 1 {
		return false
	}
	_, _, ok := p.lexicon.residueCode(x.text)
	return ok || locatedPattern.MatchString(x.text)
}

// residueHead reads residues by number, by name or by place in the chain.
func (p *parser) residueHead(d determiner, x lexeme) (phrase, bool) {
	if f, ok := p.runTogether(x); ok {
		return f, true
	}
	switch {
	case p.isResidue(x) && !instancePattern.MatchString(x.text):
		return p.codeHead(x), true
	case instancePattern.MatchString(x.text) && x.kind() == code:
		p.pos++
		m := instancePattern.FindStringSubmatch(strings.ToUpper(x.text))
		return phrase{kind: "ligand", parts: []part{{resn: []string{m[1]},
			chain: []string{p.chainOf(x.raw())}, resi: []string{m[3]}}}}, true
	case x.is("aa") || x.is("nucleotide"):
		return p.aminoAcid(), true
	case x.is("terminus"):
		value, _ := p.take("terminus")
		if oneOf(p.at(0).text, "tail", "segment", "stretch", "part", "region", "helix", "strand") && isNumberLike(p.at(1)) {
			p.pos++
			p.numbers = true
			return p.numbered() // "the C-terminal tail 71-76"
		}
		p.skipWords("residue")
		if p.startsNumbers() && p.at(-1).has("word", "residue") {
			return p.numbered() // "the C-terminal residues 72 to 76"
		}
		if d.count == "" {
			d.count = "1"
		}
		return p.ends(value, d.count)
	case x.has("word", "residue") && (d.ordinal == "first" || d.ordinal == "last") && d.count != "":
		p.pos++
		return p.ends(map[string]string{"first": "n", "last": "c"}[d.ordinal], d.count)
	case (d.ordinal == "first" || d.ordinal == "last") && p.numbers && p.startsNumbers():
		count, _ := p.number()
		return p.ends(map[string]string{"first": "n", "last": "c"}[d.ordinal], count)
	case x.has("word", "resn"):
		p.pos++
		return p.residueNames()
	case x.has("word", "residue"):
		p.pos++
		return p.afterResidue()
	case (p.numbers || p.isPlainRange(x)) && p.startsNumbers():
		return p.numbered()
	}
	return phrase{}, false
}

// isPlainRange tells "colour 1-50 blue": a range where a verb wants something to work on.
func (p *parser) isPlainRange(x lexeme) bool {
	first, last, found := strings.Cut(x.text, "-")
	return found && x.kind() == code && atoi(first) >= 0 && atoi(last) > atoi(first) && p.pos > 0 && p.at(-1).is("verb") &&
		oneOf(valueOf(p.at(-1), "verb"), "color", "show", "hide", "label", "highlight", "focus", "isolate")
}

func valueOf(x lexeme, category string) string {
	value, _ := x.value(category)
	return value
}

// chainOf is the chain within "STI/A/201", as it was written.
func (p *parser) chainOf(raw string) string {
	parts := strings.Split(raw, "/")
	if chain, ok := p.ctx.chain(parts[1]); ok {
		return chain.ID
	}
	return parts[1]
}

// codeHead reads T315, and A:315 with its chain.
func (p *parser) codeHead(x lexeme) phrase {
	p.pos++
	p.numbers = true
	if name, number, ok := p.lexicon.residueCode(x.text); ok {
		return residueNumbers([]string{number}, map[string]string{number: name})
	}
	match := locatedPattern.FindStringSubmatch(x.text)
	f := residueNumbers([]string{strings.ToUpper(match[3])}, nil)
	if names := p.lexicon.phrases[match[2]]; len(names) > 0 && names[0].category == "aa" {
		f.expected = map[string]string{strings.ToUpper(match[3]): names[0].value}
	}
	id := strings.FieldsFunc(x.raw(), func(r rune) bool { return r == ':' || r == '/' })[0]
	if chain, ok := p.ctx.chain(id); ok {
		id = chain.ID
	}
	f.parts[0].chain = []string{id}
	return f
}

func residueNumbers(numbers []string, expected map[string]string) phrase {
	return phrase{kind: "residue", parts: []part{{resi: numbers}}, expected: expected, plural: false}
}

// aminoAcid reads "lysine 48", "cysteines 3 and 40" and "lysines".
func (p *parser) aminoAcid() phrase {
	name, ok := p.take("aa")
	if !ok {
		name, _ = p.take("nucleotide")
	}
	p.skipWords("residue")
	if p.startsNumbers() {
		if f, ok := p.numbered(); ok {
			if strings.Contains(name, "+") {
				return both(f, phrase{parts: []part{{resn: strings.Split(name, "+")}}})
			}
			f.expected = map[string]string{}
			for _, number := range f.parts[0].resi {
				f.expected[number] = name
			}
			return f
		}
	}
	p.numbers = false
	return phrase{kind: "residue", plural: true, parts: []part{{resn: strings.Split(name, "+")}}}
}

// residueNames reads what stands behind "resn": ids of components, as PyMOL writes them.
func (p *parser) residueNames() (phrase, bool) {
	var names []string
	for !p.ended() {
		x := p.at(0)
		if len(x.raw()) > 3 || len(x.tokens) != 1 || x.kind() == mark || x.is("conj") || x.is("prep") {
			break
		}
		names = append(names, strings.ToUpper(x.raw()))
		p.pos++
		if !p.at(0).has("conj", "and") || len(p.at(1).raw()) != 3 {
			break
		}
		p.pos++
	}
	return phrase{kind: "residue", plural: true, parts: []part{{resn: names}}}, len(names) > 0
}

// afterResidue reads what stands behind "residues": numbers, names, or nothing that says which.
func (p *parser) afterResidue() (phrase, bool) {
	start := p.mark()
	p.numbers = true
	p.skipWords("index", "residue")
	if p.at(0).has("prep", "from") || p.at(0).has("prep", "between") {
		p.pos++
		p.skipWords("residue")
		if p.startsNumbers() {
			return p.numbered()
		}
		p.back(start)
		p.numbers = true
	}
	if p.startsNumbers() {
		return p.numbered()
	}
	if x := p.at(0); p.isResidue(x) || x.is("aa") {
		return p.phrase()
	}
	return phrase{kind: "residue", plural: true, generic: true, parts: []part{{base: []string{"protein"}}}}, true
}

// startsNumbers tells whether residue numbers stand here: not "5 Å", not "50 %".
func (p *parser) startsNumbers() bool {
	x, next := p.at(0), p.at(1)
	if x.kind() == code && len(x.tokens) == 1 {
		return listPattern.MatchString(x.text) || insertedPattern.MatchString(x.text)
	}
	if x.kind() != number && !x.is("number") || strings.Contains(x.text, ".") {
		return false
	}
	return !(next.is("unit") && (!p.isChainLetter(next))) && !next.is("opaque")
}

// numbered reads a list of numbers and ranges: "111, 132 and 134", "30 to 38 and 59-76".
func (p *parser) numbered() (phrase, bool) {
	p.numbers = true
	var all []string
	for p.startsNumbers() {
		first, ok := p.residueNumber()
		if !ok {
			break
		}
		joins := p.at(0).has("prep", "to") || p.at(0).has("prep", "through") || p.at(0).has("conj", "and") && p.behindBetween()
		start := p.mark()
		if joins {
			p.pos++
			p.skipWords("residue")
			if last, ok := p.residueNumber(); ok {
				first = inOrder(first + "-" + last)
			} else {
				p.back(start)
			}
		}
		all = append(all, strings.Split(first, "+")...)
		start = p.mark()
		p.skip("conj")
		p.skipWords("residue")
		if p.pos == start.pos || !p.startsNumbers() || p.numberHasOwnLook() {
			p.back(start)
			break
		}
	}
	return residueNumbers(all, nil), len(all) > 0
}

// behindBetween tells whether the number stands behind "between": its "and" makes a range.
func (p *parser) behindBetween() bool {
	return p.pos >= 2 && p.lex[p.pos-2].has("prep", "between") && p.lex[max(0, p.pos-3)].has("word", "residue") &&
		p.at(1).kind() == number
}

// numberHasOwnLook tells a number that begins a clause of its own, as the second in "1-20 red, 21-40 green", from one of a list.
func (p *parser) numberHasOwnLook() bool {
	before := p.at(-1)
	return (before.has("conj", "then"))
}

// residueNumber reads one number or range as the language writes it.
func (p *parser) residueNumber() (string, bool) {
	x := p.at(0)
	if x.kind() == code && len(x.tokens) == 1 && (listPattern.MatchString(x.text) || insertedPattern.MatchString(x.text)) {
		p.pos++
		return inOrder(strings.NewReplacer("..", "-", ":", "-").Replace(strings.ToUpper(x.text))), true
	}
	number, ok := p.number()
	return number, ok
}

// inOrder turns a range that was said backwards, "100 to 90", round.
func inOrder(text string) string {
	first, last, _ := strings.Cut(text, "-")
	if low, high := atoi(last), atoi(first); low >= 0 && low < high {
		return last + "-" + first
	}
	return text
}

// ends are the first or last residues of each chain, or of both ends.
func (p *parser) ends(end, count string) (phrase, bool) {
	p.numbers = true
	f := phrase{kind: "residue", plural: count != "1"}
	length := atoi(count)
	for _, chain := range p.ctx.Chains {
		if len(chain.Ranges) == 0 {
			continue
		}
		first, last := chain.Ranges[0].First, chain.Ranges[len(chain.Ranges)-1].Last
		q := part{chain: []string{chain.ID}}
		if end != "c" {
			q.resi = append(q.resi, span(first, first+length-1))
		}
		if end != "n" {
			q.resi = append(q.resi, span(last-length+1, last))
		}
		f.parts = append(f.parts, q)
	}
	return f, len(f.parts) > 0 && length > 0
}

func span(first, last int) string {
	if first == last {
		return strconv.Itoa(first)
	}
	return strconv.Itoa(first) + "-" + strconv.Itoa(last)
}

// isChainLetter tells whether a lexeme is the name of a chain, written as the structure writes it.
func (p *parser) isChainLetter(x lexeme) bool {
	return len(x.tokens) == 1 && x.kind() != quoted && slices.Contains(p.ctx.chainIDs(), x.raw())
}

// chainID is the chain that a lexeme names.
func (p *parser) chainID(x lexeme) string {
	if chain, ok := p.ctx.chain(x.raw()); ok {
		return chain.ID
	}
	return x.raw()
}

// chainHead reads "chain A", "chains A, B and C", "both chains", "the longest chain".
func (p *parser) chainHead(d determiner) phrase {
	word := p.at(0)
	p.pos++
	p.letters = true
	f := phrase{kind: "chain", plural: d.plural || strings.HasSuffix(word.text, "s")}
	if ids := p.chainList(); len(ids) > 0 {
		f.parts = []part{{chain: ids}}
		f.plural = len(ids) > 1
		return f
	}
	ordinals := map[string]int{"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "sixth": 5,
		"last": len(p.ctx.Chains) - 1}
	index, ordinal := ordinals[d.ordinal]
	switch {
	case d.count == "1" && len(p.ctx.Chains) > 1:
		p.ask("chain", chainChoices(p.ctx.chainIDs()), "")
		f.parts = []part{{}}
	case d.superlative != "":
		f.parts = []part{{chain: p.superlativeChain(d.superlative)}}
	case ordinal && index < len(p.ctx.Chains):
		f.parts = []part{{chain: []string{p.ctx.Chains[index].ID}}}
	case ordinal:
		p.halt(refusal("not_found", d.ordinal+" chain", p.ctx.chainNames()))
		f.parts = []part{{}}
	case f.plural || len(p.ctx.Chains) < 2:
		f.kind, f.plural, f.parts = "chains", true, []part{{base: []string{"polymer"}}}
	default:
		p.ask("chain", chainChoices(p.ctx.chainIDs()), "")
		f.parts = []part{{}}
	}
	return f
}

// chainList reads the names behind "chain": any case, parted by commas and "and".
func (p *parser) chainList() []string {
	var ids []string
	for {
		x := p.at(0)
		isName := len(x.tokens) == 1 && x.kind() != mark && x.kind() != quoted && len(x.raw()) <= 2 && x.raw() != ""
		known := false
		if isName {
			_, known = p.ctx.chain(x.raw())
			known = known && (len(ids) == 0 || p.isChainLetter(x))
		}
		capital := isName && len(ids) == 0 && strings.ToUpper(x.raw()) == x.raw() && x.kind() == word
		if !known && !capital {
			return ids
		}
		ids = append(ids, p.chainID(x))
		p.pos++
		start := p.mark()
		p.skip("conj")
		if oneOf(p.at(0).text, "+", "/") {
			p.pos++
		}
		if p.pos == start.pos || !p.isChainLetter(p.at(0)) || p.at(-1).has("conj", "then") {
			p.back(start)
			return ids
		}
	}
}

// superlativeChain is the longest or shortest chain; several of one length are a question.
func (p *parser) superlativeChain(which string) []string {
	var best []string
	count := 0
	for _, chain := range p.ctx.Chains {
		n := chain.residues()
		longer := (which == "longest" || which == "largest") == (n > count)
		switch {
		case len(best) == 0 || n != count && longer:
			best, count = []string{chain.ID}, n
		case n == count:
			best = append(best, chain.ID)
		}
	}
	if which == "other" || which == "closest" {
		best = p.otherChains()
	}
	if len(best) != 1 {
		p.ask("chain", chainChoices(best), "")
	}
	return best
}

// otherChains are the chains that the last selection does not name.
func (p *parser) otherChains() []string {
	return slices.DeleteFunc(p.ctx.chainIDs(), func(id string) bool {
		return slices.Contains(strings.FieldsFunc(p.last, func(r rune) bool { return r == ' ' || r == '+' }), id)
	})
}

// chainChoices offers chains.
func chainChoices(ids []string) []Choice {
	choices := make([]Choice, len(ids))
	for i, id := range ids {
		choices[i] = Choice{id, "chain " + id}
	}
	return choices
}
