// Package contacts finds the non-covalent contacts between two parts of a structure from the places of its heavy atoms. Bonds,
// rings, charges, donors and acceptors are told by distances and angles, and in standard residues by the names of atoms, so that it
// serves files without bonds and without hydrogens. Distances and angles are those of the docking's analysis of poses wherever it
// has them; each bound names its source.
//
// It knows no protonation and no tautomers: carboxylates, phosphates, guanidines and aliphatic amines count as charged, histidines
// and chains' ends do not, and an aromatic nitrogen of which both may be gives and takes hydrogen bonds. Where a file has hydrogens
// these decide which atoms give one.
//
// The package is pure. Nothing that is handed in is changed, and all of it may be called concurrently.
package contacts

import (
	"cmp"
	"slices"
)

// The types of contacts.
const (
	HydrogenBond = "hydrogen_bond"
	SaltBridge   = "salt_bridge"
	WaterBridge  = "water_bridge"
	MetalComplex = "metal_complex"
	HalogenBond  = "halogen_bond"
	PiStacking   = "pi_stacking"
	PiCation     = "pi_cation"
	Hydrophobic  = "hydrophobic"
)

// Types are all of them, in the order in which contacts are listed.
var Types = []string{HydrogenBond, SaltBridge, WaterBridge, MetalComplex, HalogenBond, PiStacking, PiCation, Hydrophobic}

// Residue is a residue of a structure. Its atoms follow one another: they are those from First to before Last.
type Residue struct {
	Name        string // of its component, in upper case
	Water       bool
	First, Last int
}

// Atom is an atom of a structure.
type Atom struct {
	Residue   int    // its place among the residues
	Name      string // in upper case
	Element   string // in upper case
	Altloc    string
	Occupancy float64
	Position  [3]float64 // in Å
}

// Contact is a contact between an atom of one side and an atom of the other. Of a ring and of a charged group Atoms are those
// nearest to each other.
type Contact struct {
	Type  string
	Atoms [2]int // of the one side, of the other
	// Ends are where it begins and ends, in Å: the atoms, or the middles of rings.
	Ends [2][3]float64
	// Water is the oxygen of the water between the two, in a bridge; -1 in every other contact.
	Water int
	// DistanceAngstrom is from end to end; of a bridge from atom to atom, past the water.
	DistanceAngstrom float64
}

// Found are the contacts between two sides.
type Found struct {
	Contacts []Contact // by type, shortest first
	// Hydrogens tells that the structure has hydrogens there: else those that give hydrogen bonds were placed by geometry.
	Hydrogens bool
	// More is how many contacts beyond MaxContacts were left out, the longest of the last types.
	More int
	// Cut tells that the atoms are heaped so densely that not all of them were looked at: it is no structure.
	Cut bool
}

// MaxContacts bounds what is found between large parts, such as two chains.
const MaxContacts = 500

// Find finds the contacts of some types, nil for all, between atoms of one side and of the other, both in ascending order and
// without common ones. Waters take part in hydrogen bonds only where a side holds them; those between two sides may belong to
// either or to none. Of alternate locations that with the highest occupancy counts. Atoms that are three bonds apart or nearer, and
// hydrophobic atoms of residues that are bonded, are in no contact with each other.
func Find(residues []Residue, atoms []Atom, one, other []int, types []string) Found {
	if len(one) == 0 || len(other) == 0 {
		return Found{}
	}
	if types == nil {
		types = Types
	}
	swapped := len(other) < len(one)
	if swapped {
		one, other = other, one
	}
	f := newFinder(residues, atoms, one, other)
	for _, kind := range Types {
		if slices.Contains(types, kind) {
			f.search(kind)
		}
	}
	return f.result(swapped)
}

// search finds the contacts of one type.
func (f *finder) search(kind string) {
	switch kind {
	case HydrogenBond:
		f.hydrogenBonds()
	case SaltBridge:
		f.saltBridges()
	case WaterBridge:
		f.waterBridges()
	case MetalComplex:
		f.metalComplexes()
	case HalogenBond:
		f.halogenBonds()
	case PiStacking:
		f.piStacking()
	case PiCation:
		f.piCations()
	case Hydrophobic:
		f.hydrophobic()
	}
}

// result lists what was found.
func (f *finder) result(swapped bool) Found {
	found := Found{Hydrogens: f.hydrogens, Cut: f.steps < 0 || len(f.near) == maxPairs}
	for _, kind := range Types {
		list := f.found[kind]
		slices.SortFunc(list, func(a, b Contact) int {
			return cmp.Or(cmp.Compare(a.DistanceAngstrom, b.DistanceAngstrom), slices.Compare(a.Atoms[:], b.Atoms[:]),
				cmp.Compare(a.Water, b.Water))
		})
		found.Contacts = append(found.Contacts, list...)
	}
	if found.More = max(0, len(found.Contacts)-MaxContacts); found.More > 0 {
		found.Contacts = found.Contacts[:MaxContacts]
	}
	for i := range found.Contacts {
		c := &found.Contacts[i]
		c.Atoms[0], c.Atoms[1] = f.origin[c.Atoms[0]], f.origin[c.Atoms[1]]
		if c.Water >= 0 {
			c.Water = f.origin[c.Water]
		}
		if swapped {
			slices.Reverse(c.Atoms[:])
			slices.Reverse(c.Ends[:])
		}
	}
	return found
}

// key tells contacts that say the same thing, of which the shortest counts: of a ring or a charged group all atoms together.
type key struct {
	kind string
	a, b int
}

// note keeps a contact between an atom of the smaller side and one of the other, when it is the shortest of its key.
func (f *finder) note(c Contact, a, b int) {
	k := key{c.Type, a, b}
	at, known := f.index[k]
	switch {
	case !known:
		f.index[k] = len(f.found[c.Type])
		f.found[c.Type] = append(f.found[c.Type], c)
	case c.DistanceAngstrom < f.found[c.Type][at].DistanceAngstrom:
		f.found[c.Type][at] = c
	}
}

// between is a contact from atom to atom.
func (f *finder) between(kind string, i, j int) Contact {
	a, b := f.atoms[i].Position, f.atoms[j].Position
	return Contact{Type: kind, Atoms: [2]int{i, j}, Ends: [2][3]float64{a, b}, Water: -1, DistanceAngstrom: distance(a, b)}
}
