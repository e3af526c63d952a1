package director

import (
	"slices"
	"strconv"
	"strings"
)

// parser reads the lexemes of one message from left to right. Whoever looks ahead marks the place and goes back to it.
type parser struct {
	ctx     *Context
	lexicon *lexicon
	lex     []lexeme
	pos     int
	depth   int
	// tries counts noun phrases that were looked for: a bound on looking ahead.
	tries int
	// stop is the question or refusal that ends the message.
	stop *Operation
	// open tells what a question is about; its argument is filled once the operation is known.
	open *opening
	// last is what "it" means.
	last string
	// hidden is what this message has hidden last: nothing that is in focus.
	hidden string
	// recent is the noun phrase before in this clause, which "around it" means; recentChains are its chains.
	recent       string
	recentChains []string
	// owner is what parts that are named alone belong to: carbons, side chains.
	owner *phrase
	// wholes are what parts belong to that stood behind "its": "it" is the whole again.
	wholes map[string]string
	// flat is the depth at which no distance is read: it belongs to the phrase above.
	flat int
	// surfaced tells that this message has shown a surface.
	surfaced bool
	// numbers tells that residues were spoken of, so that a bare number is one; letters the same of chains.
	numbers, letters bool
	// mentioned are the selections that this message has used: "the rest" is what is left.
	mentioned []string
}

// opening is a choice that the message left open.
type opening struct {
	about   string
	choices []Choice
	sel     string
}

// place is what looking ahead may change.
type place struct {
	pos              int
	stop             *Operation
	open             *opening
	numbers, letters bool
	recent           string
	recentChains     []string
	owner            *phrase
}

func (p *parser) mark() place {
	return place{p.pos, p.stop, p.open, p.numbers, p.letters, p.recent, p.recentChains, p.owner}
}

func (p *parser) back(to place) {
	p.pos, p.stop, p.open, p.numbers, p.letters = to.pos, to.stop, to.open, to.numbers, to.letters
	p.recent, p.recentChains, p.owner = to.recent, to.recentChains, to.owner
}

// at is the lexeme some places on; one without senses where the message has ended.
func (p *parser) at(ahead int) lexeme {
	if i := p.pos + ahead; i >= 0 && i < len(p.lex) {
		return p.lex[i]
	}
	return lexeme{tokens: []token{{}}}
}

func (p *parser) ended() bool { return p.pos >= len(p.lex) }

// take consumes the lexeme when it has a sense of the category, and returns its value.
func (p *parser) take(category string) (string, bool) {
	value, ok := p.at(0).value(category)
	if ok {
		p.pos++
	}
	return value, ok
}

// takes consumes the lexeme when it has a certain sense.
func (p *parser) takes(category, value string) bool {
	if p.at(0).has(category, value) {
		p.pos++
		return true
	}
	return false
}

// skip consumes lexemes of the categories.
func (p *parser) skip(categories ...string) {
	for !p.ended() && slices.ContainsFunc(categories, p.at(0).is) {
		p.pos++
	}
}

// raw is the lexeme as it was written.
func (x lexeme) raw() string {
	texts := make([]string, len(x.tokens))
	for i, t := range x.tokens {
		texts[i] = t.raw
	}
	return strings.Join(texts, " ")
}

// kind is the kind of the lexeme's first token.
func (x lexeme) kind() tokenKind { return x.tokens[0].kind }

// quote is what the message says between two lexemes.
func (p *parser) quote(from, to int) string {
	var texts []string
	for _, x := range p.lex[from:to] {
		texts = append(texts, x.raw())
	}
	text := strings.ReplaceAll(strings.Join(texts, " "), " ,", ",")
	return strings.Trim(text, " ,;.?!")
}

// halt ends the message with a question or refusal; the first one counts.
func (p *parser) halt(operation Operation) {
	if p.stop == nil {
		p.stop = &operation
	}
}

// number reads a number in digits or in words. It is text, so that nothing is lost of it.
func (p *parser) number() (string, bool) {
	x := p.at(0)
	if x.kind() == number && len(x.tokens) == 1 {
		p.pos++
		return x.text, true
	}
	value, ok := x.value("number")
	if !ok {
		return "", false
	}
	p.pos++
	next, more := p.at(0).value("number")
	tens, units := atoi(value), atoi(next)
	switch {
	case more && tens >= 20 && tens < 100 && units > 0 && units < 10:
		p.pos++
		return strconv.Itoa(tens + units), true
	case more && units == 100 && tens > 0 && tens < 10:
		p.pos++
		return strconv.Itoa(tens * units), true
	}
	return value, true
}

func atoi(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return value
}

// atof is the value of a number that the tokens have already been found to hold.
func atof(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return value
}

// length reads "5 Å", "5" before "of", "0.5 nm": in ångström.
func (p *parser) length() (string, bool) {
	start := p.mark()
	p.skip("filler", "article")
	value, ok := p.number()
	if !ok {
		p.back(start)
		return "", false
	}
	switch unit := p.at(0); {
	case unit.has("unit", "angstrom"):
		p.pos++
	case unit.has("unit", "nanometer"):
		p.pos++
		value = strconv.FormatFloat(atof(value)*10, 'f', -1, 64)
	case unit.has("prep", "of") || unit.has("prep", "around") || unit.has("prep", "from"):
	default:
		p.back(start)
		return "", false
	}
	return strconv.FormatFloat(atof(value), 'f', -1, 64), true
}
