package contacts

import (
	"math"
	"slices"
	"strings"
)

// charge is what an atom carries: its sign, and the atom in the middle of the group that it shares it with, or itself.
type charge struct{ sign, centre int }

// chargeOf tells whether an atom is charged at the usual values of pH: of carboxylates, phosphates and sulphates, and of
// guanidines, amidines and aliphatic amines.
func (f *finder) chargeOf(i int) charge {
	k := &f.known[i]
	if !k.hasCharge {
		k.hasCharge = true
		switch f.atoms[i].Element {
		case "O":
			k.charge = f.anion(i)
		case "N":
			k.charge = f.cation(i)
		}
	}
	return k.charge
}

// anion: an oxygen with one neighbour that has enough of its kind beside it. With one hydrogen the group is an acid that is not
// charged, where the file has hydrogens.
func (f *finder) anion(i int) charge {
	bonds := f.bonds(i)
	if len(bonds) != 1 {
		return charge{}
	}
	centre := bonds[0]
	least, ok := map[string]int{"C": 2, "P": 2, "S": 3}[f.atoms[centre].Element]
	if !ok || f.terminalOxygens(centre) < least {
		return charge{}
	}
	bare := 0
	for _, o := range f.bonds(centre) {
		if f.isTerminalOxygen(o) && len(f.hydrogensOn(o)) == 0 {
			bare++
		}
	}
	if bare < least {
		return charge{}
	}
	return charge{-1, centre}
}

func (f *finder) terminalOxygens(of int) int {
	n := 0
	for _, o := range f.bonds(of) {
		if f.isTerminalOxygen(o) {
			n++
		}
	}
	return n
}

func (f *finder) isTerminalOxygen(o int) bool {
	return f.atoms[o].Element == "O" && len(f.bonds(o)) == 1
}

// cation: a nitrogen of a guanidine, an amidine or an aliphatic amine. Chains' ends do not count: where a file begins a chain is
// often no end of it.
func (f *finder) cation(i int) charge {
	a := f.atoms[i]
	switch name := f.residues[a.Residue].Name; {
	case name == "LYS" && a.Name == "NZ":
		return charge{1, i}
	case a.Name == "N" && f.tell(a.Residue).aminoAcid:
		return charge{}
	}
	bonds := f.bonds(i)
	for _, c := range bonds {
		if f.atoms[c].Element == "C" && f.isAmidine(c) {
			return charge{1, c}
		}
	}
	if f.isAliphaticAmine(i, bonds) {
		return charge{1, i}
	}
	return charge{}
}

// isAmidine tells the carbon of a guanidine or an amidine: in no aromatic ring, with two or three nitrogens at the distance of
// partial double bonds, of which one ends there, and nothing else but a carbon.
func (f *finder) isAmidine(c int) bool {
	bonds := f.bonds(c)
	if len(bonds) != 3 || f.isAromatic(c) {
		return false
	}
	nitrogens, ends := 0, 0
	for _, n := range bonds {
		switch f.atoms[n].Element {
		case "N":
			if f.length(c, n) > leastAmineAngstrom || f.isAromatic(n) {
				return false
			}
			nitrogens++
			if len(f.bonds(n)) == 1 {
				ends++
			}
		case "C":
		default:
			return false
		}
	}
	return nitrogens >= 2 && ends > 0
}

// isAliphaticAmine tells a nitrogen whose neighbours are carbons with nothing but single bonds.
func (f *finder) isAliphaticAmine(i int, bonds []int) bool {
	if len(bonds) == 0 || len(bonds) == 3 && f.isFlat(i) {
		return false
	}
	return !slices.ContainsFunc(bonds, func(c int) bool {
		return f.atoms[c].Element != "C" || f.length(i, c) < leastAmineAngstrom || !f.isSaturated(c)
	})
}

// isSaturated tells a carbon that has no double bond, by the lengths of its bonds.
func (f *finder) isSaturated(c int) bool {
	if f.isAromatic(c) {
		return false
	}
	return !slices.ContainsFunc(f.bonds(c), func(j int) bool {
		return f.atoms[j].Element == "O" && f.length(c, j) < mostCarbonylAngstrom ||
			f.atoms[j].Element == "C" && f.length(c, j) < leastAmineAngstrom
	})
}

// isGreasy tells what hydrophobic contacts are made of, as the docking's analysis has it: carbons that no nitrogen, oxygen or
// fluorine is bonded to, thioethers, and bromine and iodine.
func (f *finder) isGreasy(i int) bool {
	bonds := f.bonds(i)
	switch f.atoms[i].Element {
	case "C":
		return len(bonds) > 0 && !slices.ContainsFunc(bonds, func(j int) bool {
			return slices.Contains([]string{"N", "O", "F"}, f.atoms[j].Element)
		})
	case "S", "SE":
		return len(bonds) == 2 && !slices.ContainsFunc(bonds, func(j int) bool { return f.atoms[j].Element != "C" })
	case "BR", "I":
		return len(bonds) == 1
	}
	return false
}

// ring is an aromatic ring.
type ring struct {
	atoms          []int
	middle, normal vector
	system         int // the least of the atoms of the rings that it is fused to
}

// isAromatic tells an atom of an aromatic ring.
func (f *finder) isAromatic(i int) bool {
	return slices.ContainsFunc(f.ringsOf(f.atoms[i].Residue), func(r ring) bool { return slices.Contains(r.atoms, i) })
}

// ringsOf are the aromatic rings of a residue.
func (f *finder) ringsOf(residue int) []ring {
	if t := f.tell(residue); !t.rings {
		t.rings = true
		var rings []ring
		for _, cycle := range f.cycles(residue) {
			if r, ok := f.aromatic(cycle); ok {
				rings = append(rings, r)
			}
		}
		fuse(rings)
		f.rings[residue] = rings
	}
	return f.rings[residue]
}

// fuse names the systems of rings that share atoms.
func fuse(rings []ring) {
	for changed := true; changed; {
		changed = false
		for i := range rings {
			for j := range rings {
				shared := slices.ContainsFunc(rings[i].atoms, func(a int) bool { return slices.Contains(rings[j].atoms, a) })
				if shared && rings[j].system < rings[i].system {
					rings[i].system, changed = rings[j].system, true
				}
			}
		}
	}
}

// maxRings bounds the rings of five and six atoms of a residue.
const maxRings = 100

// cycles are the rings of five or six carbons, nitrogens, oxygens and sulphurs of a residue. Ends of branches are taken away first:
// of most residues nothing is left then.
func (f *finder) cycles(residue int) [][]int {
	inside := f.ringAtoms(residue)
	var found [][]int
	var walk func(path []int)
	walk = func(path []int) {
		for _, next := range inside[path[len(path)-1]] {
			if f.steps--; f.steps < 0 || len(found) >= maxRings {
				return
			}
			switch {
			case next == path[0] && len(path) >= 5 && path[1] < path[len(path)-1]: // each once, in one direction
				found = append(found, slices.Clone(path))
			case next > path[0] && len(path) < 6 && !slices.Contains(path, next):
				walk(append(path, next))
			}
		}
	}
	r := f.residues[residue]
	for i := r.First; i < r.Last; i++ {
		if len(inside[i]) > 1 {
			walk([]int{i})
		}
	}
	return found
}

// ringless are the amino acids without an aromatic ring: most of a protein need not be looked at.
var ringless = strings.Fields("GLY ALA VAL LEU ILE PRO MET CYS SER THR ASN GLN ASP GLU LYS ARG")

// ringAtoms are the atoms of a residue that may be in rings, and their neighbours among them.
func (f *finder) ringAtoms(residue int) map[int][]int {
	r, inside := f.residues[residue], map[int][]int{}
	if r.Last-r.First < 5 || slices.Contains(ringless, r.Name) {
		return inside
	}
	may := func(i int) bool {
		return f.atoms[i].Residue == residue && slices.Contains([]string{"C", "N", "O", "S"}, f.atoms[i].Element)
	}
	var ends []int
	for i := r.First; i < r.Last; i++ {
		if !may(i) {
			continue
		}
		for _, j := range f.bonds(i) {
			if may(j) {
				inside[i] = append(inside[i], j)
			}
		}
		if len(inside[i]) == 1 {
			ends = append(ends, i)
		}
	}
	for len(ends) > 0 {
		end := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		for _, j := range inside[end] {
			inside[j] = slices.DeleteFunc(inside[j], func(k int) bool { return k == end })
			if len(inside[j]) == 1 {
				ends = append(ends, j)
			}
		}
		inside[end] = nil
	}
	return inside
}

// aromatic makes a ring of a cycle when it is flat and its bonds are short.
func (f *finder) aromatic(cycle []int) (ring, bool) {
	points := make([]vector, len(cycle))
	for k, i := range cycle {
		next := cycle[(k+1)%len(cycle)]
		firstRow := f.atoms[i].Element != "S" && f.atoms[next].Element != "S"
		if firstRow && f.length(i, next) > mostRingBondAngstrom {
			return ring{}, false
		}
		points[k] = f.atoms[i].Position
	}
	centre := middle(points)
	var sum vector // the normal of the plane by all edges (M. E. Newell, 1972)
	for k := range points {
		sum = plus(sum, cross(minus(points[k], centre), minus(points[(k+1)%len(points)], centre)))
	}
	normal := unit(sum)
	for _, p := range points {
		if math.Abs(dot(minus(p, centre), normal)) > mostRingPlaneAngstrom {
			return ring{}, false
		}
	}
	return ring{cycle, centre, normal, slices.Min(cycle)}, true
}

// sideRings are the aromatic rings of residues whose atoms all belong to one side.
func (f *finder) sideRings(side byte) []ring {
	var rings []ring
	seen := map[int]bool{}
	atoms := f.one
	if side == larger {
		atoms = f.others
	}
	for _, i := range atoms {
		residue := f.atoms[i].Residue
		if seen[residue] {
			continue
		}
		seen[residue] = true
		for _, r := range f.ringsOf(residue) {
			if !slices.ContainsFunc(r.atoms, func(a int) bool { return f.sides[a] != side }) {
				rings = append(rings, r)
			}
		}
	}
	return rings
}
