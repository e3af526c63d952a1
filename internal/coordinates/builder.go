package coordinates

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// site is an atom as a reader finds it, and where its file names it.
type site struct {
	place    Place
	residue  string
	subchain string
	atom     string // its name
	element  string // upper case; "" when the file does not say
	altloc   string
	position Point
	occupied float64
	bfactor  float64 // in Å²
	entity   string  // that mmCIF says it belongs to
	het      bool    // the file says that it belongs to no chain (HETATM)
	polymer  bool    // the file says that its residue is one of a chain's (mmCIF)
}

// builder puts a structure together from its atoms, in the order of the file.
type builder struct {
	structure *Structure
	wanted    int // model, 0 for the first
	total     int // atoms of the model, hydrogens and waters included
	index     map[name]int32
	last      name // that the previous atom belongs to
	lastAt    int32
	atoms     []placed
	occupancy map[Place]map[string]float64 // of the alternate locations
	waters    map[name]bool
	chains    map[string]bool
	models    map[int]bool
	defined   map[string]int // assemblies by their ids
}

// name tells residues apart.
type name struct {
	Place
	residue string
}

// placed is a heavy atom and the residue that it belongs to.
type placed struct {
	residue int32
	end     byte // as a bond to a neighbour in a chain: C, N, O (O3'), P, or 0
	altloc  string
	element string
	at      atom
}

func newBuilder(model int) *builder {
	return &builder{
		structure: &Structure{Waters: map[string]int{}}, wanted: model, index: map[name]int32{}, lastAt: -1,
		occupancy: map[Place]map[string]float64{}, waters: map[name]bool{}, chains: map[string]bool{},
		models: map[int]bool{}, defined: map[string]int{},
	}
}

// wants notes that a model has an atom, and tells whether it is the one that is read.
func (b *builder) wants(model int) bool {
	s := b.structure
	if !b.models[model] && len(s.Models) < maxModels {
		b.models[model] = true
		s.Models = append(s.Models, model)
	}
	if b.wanted == 0 && s.Model == 0 || model == b.wanted {
		s.Model = model
	}
	return model == s.Model
}

// add takes an atom of the model. Errors: *UnreadableError.
func (b *builder) add(a site) error {
	if a.element == "" && a.atom == a.residue { // an ion
		a.element = a.residue
	}
	if b.total++; b.total > MaxAtoms {
		return unreadable("has more than %d atoms in a model; cut out the chains that are needed", MaxAtoms)
	}
	for _, c := range a.position {
		if !(math.Abs(c) <= maxCoordinateAngstrom) { // also of what is no number
			return unreadable("has atom %s of %s %s at coordinates that are missing or out of range", a.atom, a.residue, a.place)
		}
	}
	id := name{a.place, a.residue}
	if !b.chains[a.place.Chain] {
		chain := strings.Clone(a.place.Chain) // the file's text need not stay in memory
		b.chains[chain] = true
		b.structure.Chains = append(b.structure.Chains, chain)
	}
	if waters[a.residue] {
		if !b.waters[id] {
			b.waters[id] = true
			b.structure.Waters[strings.Clone(a.residue)]++
		}
		return nil
	}
	residue := b.residueOf(id, a)
	if isHydrogen(a) {
		return nil
	}
	if a.altloc != "" {
		if b.occupancy[a.place] == nil {
			b.occupancy[a.place] = map[string]float64{}
		}
		b.occupancy[a.place][a.altloc] += a.occupied
	}
	b.atoms = append(b.atoms, placed{
		residue: residue, end: endOf(a.atom), altloc: a.altloc, element: a.element,
		at: atom{[3]float32{float32(a.position[0]), float32(a.position[1]), float32(a.position[2])}, elementOf(a.element)},
	})
	return nil
}

// residueOf is the place of an atom's residue among the structure's.
func (b *builder) residueOf(id name, a site) int32 {
	at, known := b.lastAt, b.lastAt >= 0 && id == b.last
	if !known {
		at, known = b.index[id]
	}
	if !known {
		at = int32(len(b.structure.Residues)) // at most MaxAtoms
		b.index[id] = at
		b.structure.Residues = append(b.structure.Residues, Residue{
			Place:    Place{strings.Clone(id.Chain), id.Number, strings.Clone(id.InsertionCode)},
			Name:     strings.Clone(id.residue),
			Subchain: strings.Clone(a.subchain), Het: true, InChain: a.polymer || standard[id.residue] && !a.het,
		})
	}
	if !a.het {
		b.structure.Residues[at].Het = false
	}
	b.last, b.lastAt = id, at
	return at
}

// finish chooses among alternate locations, lays the atoms out residue by residue and looks at the chains' bonds.
func (b *builder) finish(text string) (*Structure, error) {
	s := b.structure
	switch {
	case len(s.Models) == 0:
		return nil, unreadable("%s", noAtoms(text))
	case b.wanted != 0 && s.Model == 0:
		return nil, &ModelError{s.Models}
	}
	chosen := map[Place]string{}
	for place, letters := range b.occupancy {
		chosen[place] = best(letters)
	}
	kept := slices.DeleteFunc(b.atoms, func(p placed) bool {
		return p.altloc != "" && p.altloc != chosen[s.Residues[p.residue].Place]
	})
	slices.SortStableFunc(kept, func(a, b placed) int { return cmp.Compare(a.residue, b.residue) })
	s.atoms = make([]atom, len(kept))
	for i := 0; i < len(kept); {
		i = b.lay(kept, i)
	}
	b.bondChains(kept)
	s.Residues = slices.DeleteFunc(s.Residues, func(r Residue) bool { return r.HeavyAtoms == 0 })
	return s, nil
}

// lay lays out the atoms of one residue, from the one at first on, and returns where the next residue's begin.
func (b *builder) lay(kept []placed, first int) int {
	r := &b.structure.Residues[kept[first].residue]
	r.first = int32(first)
	around, i := newExtent(), first
	for ; i < len(kept) && kept[i].residue == kept[first].residue; i++ {
		at := kept[i].at
		b.structure.atoms[i] = at
		around.take(Point{float64(at.at[0]), float64(at.at[1]), float64(at.at[2])})
	}
	r.last, r.HeavyAtoms = int32(i), i-first
	r.Low, r.High = around.low, around.high
	if r.HeavyAtoms == 1 {
		r.Element = strings.Clone(kept[first].element)
	}
	return i
}

// best is the letter with the greatest occupancy, the first of those that are equal.
func best(letters map[string]float64) string {
	found := ""
	for letter, weight := range letters {
		if found == "" || weight > letters[found] || weight == letters[found] && letter < found {
			found = letter
		}
	}
	return found
}

// Two atoms of neighbours in a chain that are farther apart are not bonded: the bonds have 1.33 and 1.61 Å.
const (
	peptideAngstrom        = 2.0
	phosphodiesterAngstrom = 2.2
)

// bondChains marks the members of chains, and what is bonded to one that stands beside it in the file at an end of its own name, as
// chromophores are. Those marks spread along the chain in both directions.
func (b *builder) bondChains(kept []placed) {
	all := b.structure.Residues
	for i := 1; i < len(all); i++ {
		before, after := &all[i-1], &all[i]
		if before.Chain == after.Chain && joined(kept[before.first:before.last], kept[after.first:after.last]) {
			before.Member, after.Member, before.InChain, after.InChain = true, true, true, true
		}
	}
	look := func(i, beside int) {
		before, after := all[min(i, beside)], all[max(i, beside)]
		if !all[i].InChain && all[beside].InChain && before.Chain == after.Chain &&
			bonded(kept[before.first:before.last], kept[after.first:after.last]) {
			all[i].InChain = true
		}
	}
	for i := 1; i < len(all); i++ {
		look(i, i-1)
	}
	for i := len(all) - 2; i >= 0; i-- {
		look(i, i+1)
	}
}

// joined tells whether a peptide bond or a phosphodiester leads from one residue to the next.
func joined(before, after []placed) bool {
	for _, bond := range []struct {
		end, start byte
		most       float64
	}{{'C', 'N', peptideAngstrom}, {'O', 'P', phosphodiesterAngstrom}} {
		i := slices.IndexFunc(before, func(p placed) bool { return p.end == bond.end })
		j := slices.IndexFunc(after, func(p placed) bool { return p.end == bond.start })
		if i >= 0 && j >= 0 {
			return squareOf(before[i].at, after[j].at) <= bond.most*bond.most
		}
	}
	return false
}

// maxMemberAtoms bounds the heavy atoms of what may be a member of a chain; a modified amino acid with a cofactor on it has 60.
const maxMemberAtoms = 500

// bonded tells whether a peptide bond or a phosphodiester leads from one residue to the next: one end has its usual name.
func bonded(before, after []placed) bool {
	if len(before) > maxMemberAtoms || len(after) > maxMemberAtoms {
		return false
	}
	for _, a := range before {
		for _, b := range after {
			d := squareOf(a.at, b.at)
			switch {
			case (a.end == 'C' || b.end == 'N') && d <= peptideAngstrom*peptideAngstrom,
				(a.end == 'O' || b.end == 'P') && d <= phosphodiesterAngstrom*phosphodiesterAngstrom:
				return true
			}
		}
	}
	return false
}

// endOf tells the atoms by which residues are bonded to their neighbours.
func endOf(atom string) byte {
	switch atom {
	case "C", "N", "P":
		return atom[0]
	case "O3'", "O3*":
		return 'O'
	}
	return 0
}

// isHydrogen tells hydrogen and deuterium by their element, else by their name.
func isHydrogen(a site) bool {
	if a.element != "" {
		return a.element == "H" || a.element == "D"
	}
	letters := strings.TrimLeft(a.atom, "0123456789")
	return strings.HasPrefix(letters, "H") || strings.HasPrefix(letters, "D")
}

// What is told of an atom's element.
const (
	sulphur = 'S'
	metal   = 'M'
)

func elementOf(symbol string) byte {
	switch {
	case symbol == "S":
		return sulphur
	case metals[symbol]:
		return metal
	}
	return 0
}

// metals are the elements that make no covalent bonds in structures, and whose single atoms are ions.
var metals = setOf(`LI BE NA MG AL K CA SC TI V CR MN FE CO NI CU ZN GA RB SR Y ZR NB MO RU RH PD AG CD IN SN CS BA LA CE EU GD TB YB
	HF TA W RE OS IR PT AU HG TL PB BI U`)

// IsMetal tells whether an element, in upper case, is a metal.
func IsMetal(element string) bool { return metals[element] }

// waters are the names of water in structures and in simulations.
var waters = setOf("HOH WAT DOD H2O SOL TIP TIP3 TP3")

// standard are the amino acids and nucleotides that force fields know, in the names that they give protonation states too.
var standard = setOf(`ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL
	HID HIE HIP HSD HSE HSP ASH GLH LYN CYX CYM MSE A C G U DA DC DG DT`)

// IsStandard tells whether a component is an amino acid or nucleotide that force fields know.
func IsStandard(component string) bool { return standard[component] }

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}
