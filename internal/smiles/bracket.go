package smiles

import (
	"regexp"
	"strings"
)

// maxBracketBytes bounds what stands in brackets: an isotope, a symbol, a stereo class, hydrogens, a charge and an atom class.
const maxBracketBytes = 64

// bracketForm is an atom in brackets: isotope, symbol (or an atomic number, as #6), chirality, hydrogens, charge, class.
var bracketForm = regexp.MustCompile(`^[0-9]*(Uu[a-z]|[A-Za-z][a-z]?|\*|#[0-9]{1,3})` +
	`(?:@(?:@|TH[12]?|AL[12]?|SP[1-3]?|TB[0-9]{0,2}|OH[0-9]{0,2})?)?(?:H[0-9]*)?(?:\++|-+|[+-][0-9]{1,2})?(?::[0-9]+)?$`)

// symbols of the elements, and of those that may be aromatic in small letters.
var symbols = func() map[string]bool {
	known := map[string]bool{"*": true}
	for _, symbol := range strings.Fields(`H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu
		Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs
		Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl
		Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh
		Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og Uun Uuu Uub Uut Uuq Uup Uuh Uus Uuo b c n o
		p s si as se te`) {
		known[symbol] = true
	}
	return known
}()

// bracket reads an atom in brackets.
func (p *parser) bracket() error {
	length := strings.IndexByte(p.text[p.at:], ']')
	switch {
	case length < 0:
		return p.wrong("a bracket is not closed")
	case length > maxBracketBytes:
		return p.wrong("a bracket holds more than %d characters", maxBracketBytes)
	}
	inside := p.text[p.at+1 : p.at+length]
	if !isAtom(inside) {
		return p.wrong("[%s] is no atom", inside)
	}
	p.at += length + 1
	p.add("")
	return nil
}

// isAtom reads what stands in brackets. Sc is scandium there, and never sulfur beside carbon.
func isAtom(inside string) bool {
	match := bracketForm.FindStringSubmatch(inside)
	return len(match) > 0 && (symbols[match[1]] || match[1][0] == '#')
}
