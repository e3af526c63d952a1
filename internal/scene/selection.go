package scene

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds on a selection, so that one of a stranger costs little.
const (
	maxSelectionBytes = 64 << 10 // what the model itself writes may be longer than the 400 characters of an operation
	maxSelectionDepth = 50
	maxWithinAngstrom = 50.0
)

// Selection says which atoms are meant, in the authors' numbering:
//
//	sel   := and { "or" and }        and := un { "and" un }
//	un    := "not" un | "byres" un | "within" NUMBER "of" un | "(" sel ")" | word | list
//	word  := all | polymer | protein | nucleic | branched | ligand | ion | water | coarse
//	       | backbone | sidechain | helix | sheet | loop | hydrogen | metal
//	list  := chain ID{+ID} | resi R{+R} | resn ID{+ID} | name ID{+ID} | elem ID{+ID}    R := n | n-m, with insertion codes
//
// "ligand" leaves out ions, waters, glycans and what is in crystals because it was in the drop (IsAdditive). "within r of x" are
// the atoms at most r Å from one of x, x left out. Water is left out of everything unless the selection says so, by the word or by
// numbers that are waters' alone.
type Selection struct{ root node }

// String is the selection in its canonical form: one space between words, only the brackets that are needed, lists in order.
func (s Selection) String() string { return s.root.print(looseOr) }

// SelectionError says where a selection cannot be read, and what may stand there. Offset counts bytes from 0.
type SelectionError struct {
	Text    string
	Offset  int
	Message string
}

func (e *SelectionError) Error() string {
	return fmt.Sprintf("selection %q, at character %d: %s", clip(e.Text, 80), 1+len([]rune(e.Text[:e.Offset])), e.Message)
}

// node is a part of a selection. How it binds decides about brackets.
type node interface {
	print(around binding) string
}

type binding int

const (
	looseOr binding = iota
	looseAnd
	tight
)

type (
	either struct{ parts []node }
	both   struct{ parts []node }
	prefix struct { // not, byres
		word string
		of   node
	}
	nearby struct {
		radius float64
		of     node
	}
	word  struct{ name string }
	names struct { // chain, resn, name, elem
		field string
		list  []string
	}
	numbers struct{ list []span }
)

// span are residues by their numbers, from one to the other; a code is "" where none is given, which at an end of more than one
// number means any.
type span struct {
	from, to         int
	fromCode, toCode string
}

func (n either) print(around binding) string {
	return joined(n.parts, " or ", looseAnd, around > looseOr)
}
func (n both) print(around binding) string { return joined(n.parts, " and ", tight, around > looseAnd) }
func (n prefix) print(binding) string      { return n.word + " " + n.of.print(tight) }
func (n nearby) print(binding) string {
	return "within " + strconv.FormatFloat(n.radius, 'f', -1, 64) + " of " + n.of.print(tight)
}
func (n word) print(binding) string  { return n.name }
func (n names) print(binding) string { return n.field + " " + strings.Join(n.list, "+") }
func (n numbers) print(binding) string {
	texts := make([]string, len(n.list))
	for i, s := range n.list {
		texts[i] = s.String()
	}
	return "resi " + strings.Join(texts, "+")
}

func (s span) String() string {
	from := strconv.Itoa(s.from) + s.fromCode
	if s.from == s.to && s.fromCode == s.toCode {
		return from
	}
	return from + "-" + strconv.Itoa(s.to) + s.toCode
}

func joined(parts []node, by string, inside binding, bracketed bool) string {
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.print(inside)
	}
	text := strings.Join(texts, by)
	if bracketed {
		return "(" + text + ")"
	}
	return text
}

// words are the terms of one word.
var words = []string{"all", "polymer", "protein", "nucleic", "branched", "ligand", "ion", "water", "coarse", "backbone",
	"sidechain", "helix", "sheet", "loop", "hydrogen", "metal"}

// fields are the terms with a list.
var fields = []string{"chain", "resi", "resn", "name", "elem"}

const allowedTerms = "expected all, polymer, protein, nucleic, branched, ligand, ion, water, coarse, backbone, sidechain, " +
	"helix, sheet, loop, hydrogen, metal, chain, resi, resn, name, elem, not, byres, within or an opening bracket"

// ParseSelection reads a selection. Errors: *SelectionError.
func ParseSelection(text string) (Selection, error) {
	p := &parser{text: text}
	if len(text) > maxSelectionBytes {
		return Selection{}, p.fail("at most %d characters", maxSelectionBytes)
	}
	p.next()
	root, err := p.either()
	if err != nil {
		return Selection{}, err
	}
	if p.token != "" {
		return Selection{}, p.fail(`expected "and", "or" or the end, got %q`, clip(p.token, 40))
	}
	return Selection{root}, nil
}

// parser reads a selection from the left. token is the one that is looked at, at its offset; "" at the end.
type parser struct {
	text       string
	token      string
	at, behind int
	depth      int
}

func (p *parser) next() {
	p.at = p.behind
	for p.at < len(p.text) && strings.IndexByte(" \t\n", p.text[p.at]) >= 0 {
		p.at++
	}
	p.behind = p.at
	for p.behind < len(p.text) && strings.IndexByte(" \t\n", p.text[p.behind]) < 0 {
		bracket := p.text[p.behind] == '(' || p.text[p.behind] == ')'
		if bracket && p.behind > p.at {
			break
		}
		p.behind++
		if bracket {
			break
		}
	}
	p.token = p.text[p.at:p.behind]
}

func (p *parser) fail(format string, args ...any) error {
	return &SelectionError{p.text, p.at, fmt.Sprintf(format, args...)}
}

// is tells whether the token is a keyword, in either case.
func (p *parser) is(keyword string) bool { return strings.EqualFold(p.token, keyword) }

func (p *parser) either() (node, error) {
	parts, err := p.list("or", p.both)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	return either{parts}, nil
}

func (p *parser) both() (node, error) {
	parts, err := p.list("and", p.unary)
	if err != nil || len(parts) == 1 {
		return first(parts), err
	}
	return both{parts}, nil
}

func first(parts []node) node {
	if len(parts) == 0 {
		return nil
	}
	return parts[0]
}

func (p *parser) list(by string, read func() (node, error)) ([]node, error) {
	var parts []node
	for {
		part, err := read()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if !p.is(by) {
			return parts, nil
		}
		p.next()
	}
}

func (p *parser) unary() (node, error) {
	if p.depth++; p.depth > maxSelectionDepth {
		return nil, p.fail("nested more than %d levels deep", maxSelectionDepth)
	}
	defer func() { p.depth-- }()
	switch {
	case p.is("not"), p.is("byres"):
		made := prefix{word: strings.ToLower(p.token)}
		p.next()
		of, err := p.unary()
		made.of = of
		return made, err
	case p.is("within"):
		return p.within()
	case p.token == "(":
		p.next()
		inner, err := p.either()
		if err != nil {
			return nil, err
		}
		if p.token != ")" {
			return nil, p.fail("expected a closing bracket, got %s", p.seen())
		}
		p.next()
		return inner, nil
	}
	return p.term()
}

func (p *parser) within() (node, error) {
	p.next()
	radius, err := strconv.ParseFloat(p.token, 64)
	if err != nil || !(radius > 0 && radius <= maxWithinAngstrom) {
		return nil, p.fail("expected a distance of more than 0 and at most %g Å, got %s", maxWithinAngstrom, p.seen())
	}
	p.next()
	if !p.is("of") {
		return nil, p.fail(`expected "of", got %s`, p.seen())
	}
	p.next()
	of, err := p.unary()
	return nearby{radius, of}, err
}

func (p *parser) term() (node, error) {
	lower := strings.ToLower(p.token)
	switch {
	case slices.Contains(words, lower):
		p.next()
		return word{lower}, nil
	case slices.Contains(fields, lower):
		p.next()
		if lower == "resi" {
			return p.numbers()
		}
		return p.names(lower)
	}
	return nil, p.fail("%s, got %s", allowedTerms, p.seen())
}

func (p *parser) seen() string {
	if p.token == "" {
		return "the end"
	}
	return strconv.Quote(clip(p.token, 40))
}

// nameForm is the form of ids of chains, components, atoms and elements.
var nameForm = regexp.MustCompile(`^[A-Za-z0-9'"*_.-]{1,16}$`)

// names reads the list of a field. Everything but chains is in upper case.
func (p *parser) names(field string) (node, error) {
	list := strings.Split(p.token, "+")
	for i, id := range list {
		if !nameForm.MatchString(id) {
			return nil, p.fail("expected names behind %q, joined by +, got %s", field, p.seen())
		}
		if field != "chain" {
			list[i] = strings.ToUpper(id)
		}
	}
	p.next()
	slices.Sort(list)
	return names{field, slices.Compact(list)}, nil
}

// numberForm is a residue or a stretch of them.
var numberForm = regexp.MustCompile(`^(-?\d{1,7})([A-Za-z]?)(?:-(-?\d{1,7})([A-Za-z]?))?$`)

func (p *parser) numbers() (node, error) {
	var list []span
	for text := range strings.SplitSeq(p.token, "+") {
		parts := numberForm.FindStringSubmatch(text)
		if parts == nil {
			return nil, p.fail(`expected residue numbers as in "30-38+59+52A", got %s`, p.seen())
		}
		s := span{fromCode: parts[2], toCode: parts[2]}
		s.from, _ = strconv.Atoi(parts[1]) // the form holds seven digits at most
		s.to = s.from
		if parts[3] != "" {
			s.to, _ = strconv.Atoi(parts[3])
			s.toCode = parts[4]
		}
		if s.to < s.from {
			return nil, p.fail("residues %s end before they begin", text)
		}
		list = append(list, s)
	}
	p.next()
	slices.SortFunc(list, func(a, b span) int { return strings.Compare(sortable(a), sortable(b)) })
	return numbers{slices.Compact(list)}, nil
}

// sortable orders spans by their numbers, then by their codes.
func sortable(s span) string {
	const lift = 10_000_000
	return fmt.Sprintf("%09d%2s%09d%2s", s.from+lift, s.fromCode, s.to+lift, s.toCode)
}

// clip cuts a text to so many characters.
func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
