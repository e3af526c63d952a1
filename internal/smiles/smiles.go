// Package smiles reads how a SMILES is written, and no more: brackets, branches, bonds, ring closures and element symbols. Whether
// the molecule can exist is RDKit's to say. What Check refuses RDKit refuses too.
package smiles

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Check says what is wrong with the writing of a SMILES, and where; nil when nothing is. What follows white space, a name or an
// extension, is not looked at.
func Check(text string) error {
	if at := strings.IndexAny(text, " \t"); at >= 0 {
		text = text[:at]
	}
	_, err := read(text)
	return err
}

// Plausible reports whether a text is a SMILES that a chemist might have meant: written rightly, and with no atom outside brackets
// that has more bonds than its element usually makes. It is stricter than a toolkit, as it tells molecules from words.
func Plausible(text string) bool {
	atoms, err := read(text)
	return err == nil && !slices.ContainsFunc(atoms, atom.crowded)
}

// atom is what is known of an atom after the whole text has been read.
type atom struct {
	symbol    string // of an atom outside brackets, else ""
	bonds     int    // the sum of their orders; an aromatic bond counts as one
	neighbour []int  // the atoms that it is bound to
}

// usualBonds of an element outside brackets. Aromatic atoms are in small letters.
var usualBonds = map[string]int{
	"B": 3, "C": 4, "N": 3, "O": 2, "P": 5, "S": 6, "F": 1, "Cl": 1, "Br": 1, "I": 1,
	"b": 3, "c": 4, "n": 4, "o": 2, "p": 5, "s": 4,
}

func (a atom) crowded() bool {
	most, known := usualBonds[a.symbol]
	return known && a.bonds > most
}

// opening is a ring closure's first half.
type opening struct {
	atom, order, at int
}

// parser is in the middle of a text.
type parser struct {
	text     string
	at       int
	atoms    []atom
	last     int   // the atom that the next one is bound to; -1 for none
	branches []int // the atoms at which branches have begun
	order    int   // of the bond that is written in front of the next atom; 0 for none
	rings    map[int]opening
}

// opens reports whether a branch has just begun, which only an atom or a bond may follow.
func (p *parser) opens() bool { return p.at > 0 && p.text[p.at-1] == '(' }

func read(text string) ([]atom, error) {
	p := parser{text: text, last: -1, rings: map[int]opening{}}
	if text == "" {
		return nil, errors.New("there is no SMILES")
	}
	for p.at < len(text) {
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	return p.atoms, p.end()
}

// step reads one symbol.
func (p *parser) step() error {
	c := p.text[p.at]
	switch {
	case c == '[':
		return p.bracket()
	case c == '(':
		return p.open()
	case c == ')':
		return p.close()
	case c == '.':
		return p.dot()
	case c == '%' || c >= '0' && c <= '9':
		return p.ring()
	}
	if order, length := bondAt(p.text[p.at:]); length > 0 {
		return p.bond(order, length)
	}
	symbol := organicAt(p.text[p.at:])
	if symbol == "" {
		return p.wrong("%q is no atom outside brackets, and no bond", firstRune(p.text[p.at:]))
	}
	p.at += len(symbol)
	p.add(symbol)
	return nil
}

func (p *parser) wrong(format string, args ...any) error {
	return fmt.Errorf("at character %d: %s", len([]rune(p.text[:p.at]))+1, fmt.Sprintf(format, args...))
}

func firstRune(text string) string { return string([]rune(text)[:1]) }

// bondAt is the order and the length of the bond that a text begins with; length 0 for none. -> and <- are RDKit's dative bonds,
// which do not count for the atom that gives.
func bondAt(text string) (order, length int) {
	if strings.HasPrefix(text, "->") || strings.HasPrefix(text, "<-") {
		return 1, 2
	}
	switch text[0] {
	case '-', '/', '\\', ':', '~':
		return 1, 1
	case '=':
		return 2, 1
	case '#':
		return 3, 1
	case '$':
		return 4, 1
	}
	return 0, 0
}

// organicAt is the atom outside brackets that a text begins with, or "".
func organicAt(text string) string {
	for _, symbol := range []string{"Cl", "Br"} {
		if strings.HasPrefix(text, symbol) {
			return symbol
		}
	}
	if strings.ContainsRune("BCNOPSFIbcnops*", rune(text[0])) {
		return text[:1]
	}
	return ""
}

// add binds an atom to the one before it.
func (p *parser) add(symbol string) {
	p.atoms = append(p.atoms, atom{symbol: symbol})
	this := len(p.atoms) - 1
	if p.last >= 0 {
		p.bind(p.last, this, max(p.order, 1))
	}
	p.last, p.order = this, 0
}

func (p *parser) bind(a, b, order int) {
	p.atoms[a].bonds += order
	p.atoms[b].bonds += order
	p.atoms[a].neighbour = append(p.atoms[a].neighbour, b)
	p.atoms[b].neighbour = append(p.atoms[b].neighbour, a)
}

func (p *parser) bond(order, length int) error {
	switch {
	case p.last < 0:
		return p.wrong("a bond has no atom in front of it")
	case p.order > 0:
		return p.wrong("two bonds follow each other")
	}
	p.order = order
	p.at += length
	return nil
}

func (p *parser) open() error {
	switch {
	case p.last < 0 || p.opens():
		return p.wrong("a branch has no atom in front of it")
	case p.order > 0:
		return p.wrong("a bond leads to no atom")
	}
	p.branches = append(p.branches, p.last)
	p.at++
	return nil
}

func (p *parser) close() error {
	switch {
	case len(p.branches) == 0:
		return p.wrong("a branch ends that has not begun")
	case p.order > 0:
		return p.wrong("a bond leads to no atom")
	case p.opens():
		return p.wrong("a branch is empty")
	}
	p.last = p.branches[len(p.branches)-1]
	p.branches = p.branches[:len(p.branches)-1]
	p.at++
	return nil
}

func (p *parser) dot() error {
	if p.last < 0 || p.order > 0 || p.opens() || p.at == len(p.text)-1 {
		return p.wrong("a dot stands between two molecules")
	}
	p.last = -1
	p.at++
	return nil
}

// ring reads a ring closure: a digit, or % and two digits, or %( and up to five digits and ).
func (p *parser) ring() error {
	number, length := ringAt(p.text[p.at:])
	switch {
	case length == 0:
		return p.wrong("%% takes the two digits of a ring")
	case p.last < 0 || p.opens():
		return p.wrong("a ring closure has no atom in front of it")
	}
	first, begun := p.rings[number]
	switch {
	case !begun:
		p.rings[number] = opening{p.last, p.order, p.at}
	case first.atom == p.last:
		return p.wrong("ring %d binds an atom to itself", number)
	case slices.Contains(p.atoms[p.last].neighbour, first.atom):
		return p.wrong("ring %d binds two atoms that are bound already", number)
	default:
		p.bind(first.atom, p.last, max(first.order, p.order, 1))
		delete(p.rings, number)
	}
	p.order = 0
	p.at += length
	return nil
}

// ringAt is the number and the length of the ring closure that a text begins with; length 0 for none.
func ringAt(text string) (number, length int) {
	digits, length := text[:1], 1
	if text[0] == '%' {
		if strings.HasPrefix(text, "%(") {
			end := strings.IndexByte(text, ')')
			if end < len("%(0") || end > len("%(00000") {
				return 0, 0
			}
			digits, length = text[len("%("):end], end+1
		} else {
			if len(text) < len("%00") {
				return 0, 0
			}
			digits, length = text[1:len("%00")], len("%00")
		}
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, 0
		}
		number = number*10 + int(c-'0')
	}
	return number, length
}

// end finds what has been left open.
func (p *parser) end() error {
	switch {
	case p.order > 0:
		return p.wrong("a bond leads to no atom")
	case len(p.branches) > 0:
		return p.wrong("%s", count(len(p.branches), "a branch is not closed", "%d branches are not closed"))
	case len(p.rings) > 0:
		first, number := len(p.text), 0
		for ring, begun := range p.rings {
			if begun.at < first {
				first, number = begun.at, ring
			}
		}
		p.at = first
		return p.wrong("ring %d is not closed", number)
	}
	return nil
}

func count(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(several, n)
}
