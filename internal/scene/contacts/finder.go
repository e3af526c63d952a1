package contacts

import (
	"math"
	"slices"

	"github.com/molfabric/molfabric/internal/coordinates"
)

const (
	// maxBonds bounds the neighbours of an atom, maxSteps the distances and ways that are looked at, and maxPairs the pairs of both
	// sides: no molecule has more of the first, and two parts of 50,000 atoms take 10 million steps. Heaps of atoms that are no
	// structure have more; Found.Cut tells.
	maxBonds = 8
	maxSteps = 20_000_000
	maxPairs = 2_000_000
	// cellAngstrom is the edge of a grid's cells.
	cellAngstrom = 3.0
)

// finder looks for the contacts between two sides. It has a copy of the atoms around the smaller one, and what it tells of atoms
// and residues it tells once.
type finder struct {
	residues []Residue
	atoms    []Atom
	origin   []int  // of the atoms: their places among all
	sides    []byte // of the atoms: smaller, larger or neither
	one      []int  // heavy atoms of the smaller side
	others   []int  // and of the larger one
	waters   []int  // oxygens of waters

	heavy, light cells // heavy atoms and hydrogens
	hydrogens    bool  // of anything but water
	steps        int

	near   []pair // of atoms of both sides, no farther apart than any contact of atoms
	known  []known
	rings  [][]ring // by residue
	told   []told   // by residue
	apart  map[int]map[int]bool
	joined map[[2]int]bool

	found map[string][]Contact
	index map[key]int
}

const (
	smaller = 1
	larger  = 2
)

// known is what has been told of an atom.
type known struct {
	hasBonds, hasHydrogens, hasPolar, hasCharge bool

	bonds, hydrogens []int
	polar            polar
	charge           charge
}

// told is what the atoms of a residue tell of it.
type told struct {
	known     bool
	hydrogens bool // the file has its hydrogens
	aminoAcid bool // it has the atoms of a chain's member
	rings     bool // its rings have been looked for
}

// cells are atoms by the cells of a grid.
type cells map[[3]int32][]int32

// pair is an atom of the smaller side and one of the larger.
type pair struct {
	i, j     int
	distance float64
}

// mostApartAngstrom is the most between atoms in contact.
const mostApartAngstrom = HydrophobicAngstrom

func newFinder(residues []Residue, atoms []Atom, one, other []int) *finder {
	f := &finder{
		heavy: cells{}, light: cells{}, steps: maxSteps, apart: map[int]map[int]bool{}, joined: map[[2]int]bool{},
		found: map[string][]Contact{}, index: map[key]int{},
	}
	f.load(residues, atoms, one)
	f.known, f.rings, f.told = make([]known, len(f.atoms)), make([][]ring, len(f.residues)), make([]told, len(f.residues))
	f.sides = make([]byte, len(f.atoms))
	f.one, f.others = f.side(one, smaller), f.side(other, larger)
	f.pairUp()
	return f
}

// load takes up the residues around the smaller side.
func (f *finder) load(residues []Residue, atoms []Atom, one []int) {
	low, high := atoms[one[0]].Position, atoms[one[0]].Position
	for _, i := range one {
		for k, x := range atoms[i].Position {
			low[k], high[k] = min(low[k], x), max(high[k], x)
		}
	}
	near := func(a Atom) bool {
		for k, x := range a.Position {
			if x < low[k]-reachAngstrom || x > high[k]+reachAngstrom {
				return false
			}
		}
		return true
	}
	for _, r := range residues {
		if slices.ContainsFunc(atoms[r.First:r.Last], near) {
			f.take(r, atoms)
		}
	}
}

// take takes up a residue in the alternate location that counts.
func (f *finder) take(r Residue, atoms []Atom) {
	chosen := location(atoms[r.First:r.Last])
	taken := Residue{Name: r.Name, Water: r.Water, First: len(f.atoms)}
	for i := r.First; i < r.Last; i++ {
		a := atoms[i]
		if a.Altloc != "" && a.Altloc != chosen {
			continue
		}
		cell, at := cellOf(a.Position), len(f.atoms)
		if isHydrogen(a) {
			f.hydrogens = f.hydrogens || !r.Water
			f.light[cell] = append(f.light[cell], int32(at))
		} else {
			f.heavy[cell] = append(f.heavy[cell], int32(at))
		}
		if r.Water && a.Element == "O" {
			f.waters = append(f.waters, at)
		}
		a.Residue = len(f.residues)
		f.atoms, f.origin = append(f.atoms, a), append(f.origin, i)
	}
	taken.Last = len(f.atoms)
	f.residues = append(f.residues, taken)
}

// side marks the heavy atoms of a side, and returns them.
func (f *finder) side(all []int, as byte) []int {
	var here []int
	for at, i := range f.origin {
		if len(all) == 0 {
			break
		}
		for len(all) > 0 && all[0] < i {
			all = all[1:]
		}
		if len(all) > 0 && all[0] == i && !isHydrogen(f.atoms[at]) {
			f.sides[at] = as
			here = append(here, at)
		}
	}
	return here
}

func isHydrogen(a Atom) bool { return a.Element == "H" || a.Element == "D" }

// location is the alternate location with the highest occupancy, the first of those that are equal.
func location(atoms []Atom) string {
	var sums map[string]float64
	for _, a := range atoms {
		if a.Altloc == "" {
			continue
		}
		if sums == nil {
			sums = map[string]float64{}
		}
		sums[a.Altloc] += a.Occupancy
	}
	best := ""
	for letter, sum := range sums {
		if best == "" || sum > sums[best] || sum == sums[best] && letter < best {
			best = letter
		}
	}
	return best
}

func cellOf(at vector) [3]int32 {
	of := func(x float64) int32 { return int32(math.Floor(x / cellAngstrom)) }
	return [3]int32{of(at[0]), of(at[1]), of(at[2])}
}

// around visits the heavy atoms at most radius Å from a place.
func (f *finder) around(at vector, radius float64, visit func(i int, distance float64)) {
	f.visit(f.heavy, at, radius, visit)
}

func (f *finder) visit(grid cells, at vector, radius float64, visit func(i int, distance float64)) {
	low := cellOf(minus(at, vector{radius, radius, radius}))
	high := cellOf(plus(at, vector{radius, radius, radius}))
	for x := low[0]; x <= high[0]; x++ {
		for y := low[1]; y <= high[1]; y++ {
			for z := low[2]; z <= high[2]; z++ {
				for _, i := range grid[[3]int32{x, y, z}] {
					if f.steps--; f.steps < 0 {
						return
					}
					if square := squareBetween(at, f.atoms[i].Position); square <= radius*radius {
						visit(int(i), math.Sqrt(square))
					}
				}
			}
		}
	}
}

// pairUp lists the pairs of both sides. Atoms of two alternate locations are never there together.
func (f *finder) pairUp() {
	for _, i := range f.one {
		f.around(f.atoms[i].Position, mostApartAngstrom, func(j int, apart float64) {
			if f.sides[j] == larger && f.together(i, j) && len(f.near) < maxPairs {
				f.near = append(f.near, pair{i, j, apart})
			}
		})
	}
}

func (f *finder) together(i, j int) bool {
	a, b := f.atoms[i].Altloc, f.atoms[j].Altloc
	return a == "" || b == "" || a == b
}

// radii are the covalent radii in Å of what makes covalent bonds (Cordero et al.); metals are not among them.
var radii = map[string]float64{
	"B": 0.84, "C": 0.76, "N": 0.71, "O": 0.66, "F": 0.57, "SI": 1.11, "P": 1.07, "S": 1.05, "CL": 1.02, "AS": 1.19, "SE": 1.20,
	"BR": 1.20, "TE": 1.38, "I": mostRadiusAngstrom, "H": 0.31, "D": 0.31,
}

// leastBondAngstrom is nearer than any bond: atoms that are heaped on one another are one atom in several places.
const leastBondAngstrom = 0.6

// bonds are the heavy atoms that one is bonded to.
func (f *finder) bonds(i int) []int {
	k := &f.known[i]
	if k.hasBonds {
		return k.bonds
	}
	k.hasBonds = true
	if own, ok := radii[f.atoms[i].Element]; ok {
		f.around(f.atoms[i].Position, own+mostRadiusAngstrom+bondSlackAngstrom, func(j int, apart float64) {
			other, ok := radii[f.atoms[j].Element]
			if ok && j != i && apart >= leastBondAngstrom && apart <= own+other+bondSlackAngstrom && f.together(i, j) &&
				len(k.bonds) < maxBonds {
				k.bonds = append(k.bonds, j)
			}
		})
	}
	slices.Sort(k.bonds)
	return k.bonds
}

// hydrogensOn are the hydrogens of the file on a heavy atom.
func (f *finder) hydrogensOn(i int) []int {
	k := &f.known[i]
	if k.hasHydrogens || !f.hydrogens {
		return k.hydrogens
	}
	k.hasHydrogens = true
	most := radii[f.atoms[i].Element] + radii["H"] + bondSlackAngstrom/2
	f.visit(f.light, f.atoms[i].Position, most, func(j int, _ float64) {
		if f.atoms[j].Residue == f.atoms[i].Residue && f.together(i, j) && len(k.hydrogens) < maxBonds {
			k.hydrogens = append(k.hydrogens, j)
		}
	})
	return k.hydrogens
}

// tell is what the atoms of a residue tell of it.
func (f *finder) tell(residue int) *told {
	t := &f.told[residue]
	if t.known {
		return t
	}
	t.known = true
	backbone := 0
	r := f.residues[residue]
	for _, a := range f.atoms[r.First:r.Last] {
		t.hydrogens = t.hydrogens || isHydrogen(a)
		if slices.Contains([]string{"N", "CA", "C", "O"}, a.Name) {
			backbone++
		}
	}
	t.aminoAcid = backbone >= 4
	return t
}

// isBondedNear tells whether two atoms are so few bonds apart that their distance says nothing.
func (f *finder) isBondedNear(i, j int) bool {
	reached, known := f.apart[i]
	if !known {
		reached = map[int]bool{i: true}
		edge := []int{i}
		for range bondsApart {
			var next []int
			for _, a := range edge {
				for _, b := range f.bonds(a) {
					if !reached[b] {
						reached[b] = true
						next = append(next, b)
					}
				}
			}
			edge = next
		}
		f.apart[i] = reached
	}
	return reached[j]
}

// areJoined tells whether a bond leads from one residue to another, or whether they are the same.
func (f *finder) areJoined(a, b int) bool {
	if a == b {
		return true
	}
	k := [2]int{min(a, b), max(a, b)}
	if joined, known := f.joined[k]; known {
		return joined
	}
	r, joined := f.residues[a], false
	for i := r.First; i < r.Last && !joined; i++ {
		joined = slices.ContainsFunc(f.bonds(i), func(j int) bool { return f.atoms[j].Residue == b })
	}
	f.joined[k] = joined
	return joined
}

func isMetal(a Atom) bool { return coordinates.IsMetal(a.Element) }
