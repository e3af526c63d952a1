package scene

import (
	"cmp"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// Kind is what sort of molecule a residue belongs to.
type Kind byte

// The kinds. Protein, Nucleic and Polymer are members of chains, the last of other ones.
const (
	Protein Kind = iota
	Nucleic
	Polymer
	Branched // glycans
	Ligand
	Additive // see IsAdditive
	Ion
	Water
)

// inChain tells members of chains from everything else.
func (k Kind) inChain() bool { return k <= Polymer }

// Secondary is a residue's secondary structure.
type Secondary byte

// What is no helix and no strand is a loop.
const (
	Loop Secondary = iota
	Helix
	Strand
)

// Place is where a residue stands, by its authors' numbering.
type Place = coordinates.Place

// Residue is a residue of a table: an amino acid, a nucleotide, or any other component.
type Residue struct {
	Place
	Name      string
	Subchain  string // mmCIF's label_asym_id
	Kind      Kind
	Secondary Secondary

	first, last int // its atoms are those from first to before last
}

// Atom is an atom of a table.
type Atom struct {
	Residue   int // its place among the table's
	Name      string
	Element   string // upper case
	Altloc    string
	Position  [3]float64 // in Å
	BFactor   float64    // in Å²; a prediction's confidence where the structure is predicted
	Occupancy float64
}

// Table holds the atoms of one model, residue by residue. It is not changed once it was made.
type Table struct {
	Model    int
	Residues []Residue
	Atoms    []Atom

	// Of an assembly: how often the chain that is there most often is there, and by residue the operators of the first copy.
	mostCopies int
	operators  []string
}

// Structure is what a file holds. It is not changed once it was read, and is safe for concurrent use.
type Structure struct {
	ID, Title  string
	Format     string // mol.FormatPDB, mol.FormatMMCIF or mol.FormatPDBQT
	Predicted  bool   // the B factors are a prediction's confidence (pLDDT)
	Stated     bool   // the file states its helices and strands; else they were found by the geometry of the Cα
	Assemblies []string
	Models     []int // numbers in the file, in their order
	Contacts   []Contact

	tables []*Table // by Models
	copies map[string]map[string]coordinates.Copies
	placed *placedTables
}

// Contact is a non-covalent contact that somebody has found and measured, such as the table of a docked pose.
type Contact struct {
	Type             string // one of the types of Interactions
	From, To         Place
	FromAtom, ToAtom string
	Ends             [2][3]float64 // in Å: atoms, or the middles of rings
	DistanceAngstrom float64
	// Through is the water of a bridge; nil in every other contact, and where nobody has told it.
	Through *Bridge
}

// Bridge is a water that stands between two sides, and where its oxygen lies, in Å.
type Bridge struct {
	Place
	Position [3]float64
}

// ReadStructure reads a structure from PDB, PDBQT or mmCIF, perhaps gzip'd. Errors: *coordinates.UnreadableError.
func ReadStructure(content []byte) (*Structure, error) {
	l, err := coordinates.List(content)
	if err != nil {
		return nil, err
	}
	s := &Structure{
		ID: l.ID, Title: l.Title, Format: l.Format, Predicted: l.Predicted, Models: l.Models,
		Stated: len(l.Helices)+len(l.Sheets) > 0, copies: l.Copies, placed: &placedTables{},
	}
	for _, assembly := range l.Assemblies {
		s.Assemblies = append(s.Assemblies, assembly.ID)
	}
	for _, model := range l.Models {
		s.tables = append(s.tables, tableOf(l, model))
	}
	return s, nil
}

// Table is the model at this place, from 1, or the first where it is 0; nil where there is none.
func (s *Structure) Table(place int) *Table {
	if place = max(place, 1); place > len(s.tables) {
		return nil
	}
	return s.tables[place-1]
}

// residueID tells residues of a model apart.
type residueID struct {
	Place
	name, subchain string
}

// tableOf makes the table of one model.
func tableOf(l *coordinates.Listing, model int) *Table {
	t := &Table{Model: model}
	index := map[residueID]int{}
	var first []coordinates.ListedAtom // of each residue
	for _, a := range l.Atoms {
		if a.Model != model {
			continue
		}
		id := residueID{a.Place, a.Residue, a.Subchain}
		at, known := index[id]
		if !known {
			at = len(t.Residues)
			index[id] = at
			t.Residues = append(t.Residues, Residue{Place: a.Place, Name: a.Residue, Subchain: a.Subchain})
			first = append(first, a)
		}
		t.Atoms = append(t.Atoms, Atom{
			Residue: at, Name: a.Name, Element: a.Element, Altloc: a.Altloc, Position: a.Position, BFactor: a.BFactor,
			Occupancy: a.Occupancy,
		})
	}
	slices.SortStableFunc(t.Atoms, func(a, b Atom) int { return cmp.Compare(a.Residue, b.Residue) })
	t.layOut()
	for i := range t.Residues {
		t.Residues[i].Kind = t.kindOf(i, first[i], l)
	}
	t.joinChains(l)
	t.secondary(l.Helices, l.Sheets)
	return t
}

// layOut tells each residue its atoms.
func (t *Table) layOut() {
	for i, a := range t.Atoms {
		r := &t.Residues[a.Residue]
		if r.last == 0 {
			r.first = i
		}
		r.last = i + 1
	}
}

// kindOf is a residue's kind: what an mmCIF file says of its entity, else what its name and its atoms say.
func (t *Table) kindOf(i int, first coordinates.ListedAtom, l *coordinates.Listing) Kind {
	r := t.Residues[i]
	entity := l.Entities[first.Entity]
	switch {
	case waters[r.Name]:
		return Water
	case entity.Type == "polymer":
		return polymerKind(entity.Polymer)
	case entity.Type == "branched" || sugars[r.Name]:
		return Branched
	case entity.Type == "water":
		return Water
	case entity.Type == "" && (proteinNames[r.Name] || first.Polymer && t.has(i, "CA")) && !t.isFree(i, first):
		return Protein
	case entity.Type == "" && (nucleicNames[r.Name] && t.has(i, "C1'") || nucleicNames[r.Name] && t.has(i, "P")):
		return Nucleic
	case t.isIon(i):
		return Ion
	case additives[r.Name]:
		return Additive
	}
	return Ligand
}

// isFree tells a free amino acid from one of a chain: the file marks it as no member of a chain, and it is a standard one.
func (t *Table) isFree(i int, first coordinates.ListedAtom) bool {
	r := t.Residues[i]
	if !first.Het || oneLetter[r.Name] == 0 {
		return false
	}
	return t.has(i, "OXT")
}

func polymerKind(of string) Kind {
	switch {
	case strings.Contains(of, "peptide nucleic") || strings.Contains(of, "nucleotide"):
		return Nucleic
	case strings.Contains(of, "peptide") || of == "":
		return Protein
	}
	return Polymer
}

// has tells whether a residue has an atom of this name.
func (t *Table) has(residue int, name string) bool {
	_, ok := t.atom(residue, name)
	return ok
}

// atom finds a residue's first atom of a name.
func (t *Table) atom(residue int, name string) (Atom, bool) {
	r := t.Residues[residue]
	for _, a := range t.Atoms[r.first:r.last] {
		if a.Name == name {
			return a, true
		}
	}
	return Atom{}, false
}

// isIon tells an ion by its one atom that is no hydrogen, alone or in alternate locations.
func (t *Table) isIon(residue int) bool {
	r := t.Residues[residue]
	names := map[string]bool{}
	for _, a := range t.Atoms[r.first:r.last] {
		names[a.Name] = true
	}
	return len(names) == 1
}

// Two atoms that are nearer than this join residues to a chain; the bonds have 1.33 and 1.61 Å.
const joinAngstrom = 2.2

// joinChains makes members of a chain of what stands between two of its members and is joined to one, in files that do not say what
// their molecules are: modified residues and chromophores.
func (t *Table) joinChains(l *coordinates.Listing) {
	if l.Format == mol.FormatMMCIF && len(l.Entities) > 0 {
		return
	}
	look := func(i, beside int) {
		r, neighbour := &t.Residues[i], t.Residues[beside]
		if (r.Kind == Ligand || r.Kind == Additive) && neighbour.Kind.inChain() && r.Chain == neighbour.Chain &&
			t.joined(min(i, beside), max(i, beside)) {
			r.Kind = neighbour.Kind
		}
	}
	for i := 1; i < len(t.Residues); i++ {
		look(i, i-1)
	}
	for i := len(t.Residues) - 2; i >= 0; i-- {
		look(i, i+1)
	}
}

// joined tells whether a peptide bond or a phosphodiester leads from one residue to another.
func (t *Table) joined(before, after int) bool {
	for _, bond := range [][2]string{{"C", "N"}, {"O3'", "P"}} {
		a, ok := t.atom(before, bond[0])
		b, both := t.atom(after, bond[1])
		if ok && both && squareBetween(a.Position, b.Position) <= joinAngstrom*joinAngstrom {
			return true
		}
	}
	return false
}

// Chains are the authors' names of the chains, in the order of the file.
func (t *Table) Chains() []string {
	var chains []string
	for _, r := range t.Residues {
		if !slices.Contains(chains, r.Chain) {
			chains = append(chains, r.Chain)
		}
	}
	return chains
}

// Components are the residues of these kinds, in the order of the file.
func (t *Table) Components(kinds ...Kind) []Residue {
	var found []Residue
	for _, r := range t.Residues {
		if slices.Contains(kinds, r.Kind) {
			found = append(found, r)
		}
	}
	return found
}

func squareBetween(a, b [3]float64) float64 {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x + y*y + z*z
}
