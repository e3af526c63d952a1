package contacts

import (
	"math"
	"slices"
	"strings"
)

// polar is whether an atom gives and takes hydrogen bonds.
type polar struct{ gives, takes bool }

// The kinds of polar atoms.
var (
	gives = polar{gives: true}
	takes = polar{takes: true}
	both  = polar{true, true}
)

// standardPolars are the polar atoms of the side chains of amino acids, in the names that force fields give them too, and of bases.
// Both nitrogens of a histidine of which nobody says where its hydrogen is may give and take.
var standardPolars = polarsOf(map[polar]string{
	gives: `ARG:NE ARG:NH1 ARG:NH2 ASN:ND2 GLN:NE2 LYS:NZ TRP:NE1 HID:ND1 HIE:NE2 HIP:ND1 HIP:NE2 HSD:ND1 HSE:NE2 HSP:ND1 HSP:NE2
		A:N6 G:N1 G:N2 C:N4 U:N3 T:N3`,
	takes: `ASN:OD1 GLN:OE1 ASP:OD1 ASP:OD2 GLU:OE1 GLU:OE2 MET:SD MSE:SE HID:NE2 HIE:ND1 HSD:NE2 HSE:ND1
		A:N1 A:N3 A:N7 G:O6 G:N3 G:N7 C:N3 C:O2 U:O2 U:O4 T:O2 T:O4`,
	both: `SER:OG THR:OG1 TYR:OH CYS:SG HIS:ND1 HIS:NE2 LYN:NZ ASH:OD1 ASH:OD2 GLH:OE1 GLH:OE2`,
})

func polarsOf(lists map[polar]string) map[string]polar {
	known := map[string]polar{}
	for kind, names := range lists {
		for _, name := range strings.Fields(names) {
			known[name] = kind
			if residue, atom, _ := strings.Cut(name, ":"); len(residue) == 1 {
				known["D"+residue+":"+atom] = kind // of DNA
			}
		}
	}
	return known
}

// polar tells what a heavy atom does in hydrogen bonds.
func (f *finder) polar(i int) polar {
	k := &f.known[i]
	if !k.hasPolar {
		k.hasPolar, k.polar = true, f.polarOf(i)
	}
	return k.polar
}

func (f *finder) polarOf(i int) polar {
	a := f.atoms[i]
	r := f.residues[a.Residue]
	p, standard := standardPolars[r.Name+":"+a.Name]
	switch {
	case r.Water:
		return polar{a.Element == "O", a.Element == "O"}
	case a.Element == "F":
		return polar{takes: f.takesFluorine(i)}
	case a.Element != "N" && a.Element != "O" && a.Element != "S" && !standard:
		return polar{}
	case standard:
	case a.Element == "N":
		p = f.nitrogen(i)
	case a.Element == "O":
		p = f.oxygen(i)
	case a.Element == "S":
		p = f.sulphur(i)
	}
	if f.tell(a.Residue).hydrogens {
		p.gives = len(f.hydrogensOn(i)) > 0
		if a.Element == "N" && p.gives && f.isFlat(i) {
			p.takes = false
		}
	}
	return p
}

// oxygen tells carbonyls, acids and ethers, which take hydrogen bonds, from hydroxyls, which also give them. Esters' bridging
// oxygens and ethers of two aromatic rings take none, as in the docking's analysis.
func (f *finder) oxygen(i int) polar {
	bonds := f.bonds(i)
	switch len(bonds) {
	case 0: // an ion's, or a molecule that is incomplete
		return both
	case 1:
		to := bonds[0]
		if f.atoms[to].Element == "N" && f.terminalOxygens(to) > 1 { // a nitro group's, as in the docking's analysis
			return polar{}
		}
		if f.atoms[to].Element != "C" || f.length(i, to) < mostCarbonylAngstrom || f.chargeOf(i).sign < 0 {
			return takes
		}
		return both
	}
	for _, c := range bonds {
		if f.isCarbonyl(c) {
			return polar{}
		}
	}
	if f.isAromatic(bonds[0]) && f.isAromatic(bonds[1]) {
		return polar{}
	}
	return takes
}

// isCarbonyl tells a carbon, or what stands in its place, with a double-bonded oxygen.
func (f *finder) isCarbonyl(c int) bool {
	return slices.ContainsFunc(f.bonds(c), func(o int) bool {
		double := f.atoms[c].Element != "C" || f.length(c, o) < mostCarbonylAngstrom
		return f.atoms[o].Element == "O" && len(f.bonds(o)) == 1 && double
	})
}

// nitrogen tells what a nitrogen does by its neighbours and the lengths of its bonds.
func (f *finder) nitrogen(i int) polar {
	bonds := f.bonds(i)
	switch len(bonds) {
	case 0:
		return gives
	case 1:
		const mostNitrileAngstrom = 1.22 // C≡N has 1.14 to 1.16 Å (Allen et al.)
		if f.length(i, bonds[0]) < mostNitrileAngstrom {
			return takes
		}
		return gives
	case 2:
		return f.secondary(i, bonds)
	case 3:
		// A tertiary amine carries a hydrogen at most values of pH, a flat nitrogen none.
		return polar{gives: f.chargeOf(i).sign > 0}
	}
	return polar{}
}

// secondary tells a nitrogen with two neighbours: in a ring of six that no carbonyl stands beside it has no hydrogen; in other
// aromatic rings it may have one; in a chain it has one unless a bond is double.
func (f *finder) secondary(i int, bonds []int) polar {
	for _, r := range f.ringsOf(f.atoms[i].Residue) {
		if !slices.Contains(r.atoms, i) {
			continue
		}
		if len(r.atoms) == 6 && !slices.ContainsFunc(bonds, f.isCarbonyl) {
			return takes
		}
		return both
	}
	if min(f.length(i, bonds[0]), f.length(i, bonds[1])) < mostImineAngstrom && !slices.ContainsFunc(bonds, f.isCarbonyl) {
		return both // C=N of an imine, or C–N of an amidine
	}
	return gives
}

// sulphur: thiols may give and take, and thioethers take. Disulphides and what carries oxygen do neither.
func (f *finder) sulphur(i int) polar {
	bonds := f.bonds(i)
	carbons := !slices.ContainsFunc(bonds, func(j int) bool { return f.atoms[j].Element != "C" })
	switch {
	case len(bonds) == 1 && carbons:
		return both
	case len(bonds) == 2 && carbons && !f.isAromatic(i):
		return takes
	}
	return polar{}
}

// takesFluorine: fluorine on a carbon that carries no other halogen, as in the docking's analysis.
func (f *finder) takesFluorine(i int) bool {
	bonds := f.bonds(i)
	return len(bonds) == 1 && f.atoms[bonds[0]].Element == "C" && !slices.ContainsFunc(f.bonds(bonds[0]), func(j int) bool {
		return j != i && slices.Contains([]string{"F", "CL", "BR", "I"}, f.atoms[j].Element)
	})
}

func (f *finder) length(i, j int) float64 { return distance(f.atoms[i].Position, f.atoms[j].Position) }

// isFlat tells a nitrogen whose bonds lie in a plane: of an aromatic ring, an amide, an aniline or a guanidine.
func (f *finder) isFlat(i int) bool {
	bonds := f.bonds(i)
	if len(bonds) == 3 {
		at := f.atoms[i].Position
		sum := 0.0
		for k := range bonds {
			sum += angleAt(f.atoms[bonds[k]].Position, at, f.atoms[bonds[(k+1)%3]].Position)
		}
		return sum > flatDegrees
	}
	return slices.ContainsFunc(bonds, func(j int) bool { return f.length(i, j) < leastAmineAngstrom })
}

// bondsWell tells whether one atom gives a hydrogen bond to another, by the angles at the hydrogen and at the acceptor.
func (f *finder) bondsWell(donor, acceptor int) bool {
	d, a := f.atoms[donor].Position, f.atoms[acceptor].Position
	if !f.residues[f.atoms[acceptor].Residue].Water {
		for _, j := range f.bonds(acceptor) {
			if angleAt(f.atoms[j].Position, a, d) < AcceptorDegrees {
				return false
			}
		}
	}
	return f.angleAtHydrogen(donor, a) >= HydrogenBondDegrees
}

// angleAtHydrogen is the widest angle donor–hydrogen–acceptor, in degrees.
func (f *finder) angleAtHydrogen(donor int, acceptor vector) float64 {
	at := f.atoms[donor].Position
	best := 0.0
	if list := f.hydrogensOn(donor); len(list) > 0 {
		for _, h := range list {
			best = max(best, angleAt(at, f.atoms[h].Position, acceptor))
		}
		return best
	}
	directions, cone := f.hydrogenDirections(donor)
	if directions == nil {
		return 180
	}
	reach := map[string]float64{"N": 1.01, "O": 0.96, "S": 1.34}[f.atoms[donor].Element]
	to := minus(acceptor, at)
	off := 180.0
	for _, direction := range directions {
		off = min(off, math.Abs(between(direction, to)-cone))
	}
	// The triangle of donor, hydrogen and acceptor, from two sides and the angle between them.
	sine, cosine := math.Sincos(off * math.Pi / 180)
	l := length(to)
	return 180 - math.Atan2(l*sine, l*cosine-reach)*180/math.Pi
}

// The angles of bonds at tetrahedral and flat atoms.
const (
	tetrahedralDegrees = 109.47
	halfTetrahedral    = tetrahedralDegrees / 2 * math.Pi / 180
)

// hydrogenDirections are where the hydrogens of an atom may point: along the directions, or anywhere on a cone around each that is
// so many degrees wide. An atom without neighbours may turn to anybody.
func (f *finder) hydrogenDirections(i int) (directions []vector, cone float64) {
	at, bonds := f.atoms[i].Position, f.bonds(i)
	away := make([]vector, len(bonds))
	var sum vector
	for k, j := range bonds {
		away[k] = unit(minus(at, f.atoms[j].Position))
		sum = plus(sum, away[k])
	}
	switch {
	case len(bonds) == 1 && f.atoms[i].Element == "N" && f.isFlat(i):
		return f.flatEnds(i, bonds[0]), 0
	case len(bonds) == 1: // turns about its bond
		return away, 180 - tetrahedralDegrees
	case len(bonds) == 2 && !f.isFlat(i) && !f.isAromatic(i):
		sine, cosine := math.Sincos(halfTetrahedral)
		side := times(unit(cross(away[0], away[1])), sine)
		along := times(unit(sum), cosine)
		return []vector{plus(along, side), minus(along, side)}, 0
	case len(bonds) >= 2:
		return []vector{sum}, 0
	}
	return nil, 0
}

// flatEnds are the two hydrogens of the NH2 of an amide, an aniline or a guanidine, in the plane of what it hangs on.
func (f *finder) flatEnds(i, on int) []vector {
	at, root := f.atoms[i].Position, f.atoms[on].Position
	along := unit(minus(at, root))
	for _, j := range f.bonds(on) {
		if j == i {
			continue
		}
		side := minus(f.atoms[j].Position, root)
		side = unit(minus(side, times(along, dot(side, along))))
		half, across := times(along, 0.5), times(side, math.Sqrt(3)/2)
		return []vector{plus(half, across), minus(half, across)}
	}
	return []vector{along}
}
