package coordinates

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/cif"
	"github.com/molfabric/molfabric/internal/mol"
)

// ListedAtom is an atom as its file names it.
type ListedAtom struct {
	Place
	Model     int
	Residue   string // name of its residue, upper case
	Subchain  string // mmCIF's label_asym_id
	Entity    string // mmCIF's label_entity_id
	Name      string
	Element   string // upper case
	Altloc    string
	Position  Point // in Å
	BFactor   float64
	Occupancy float64
	Het       bool // the file says that it belongs to no chain (HETATM)
	Polymer   bool // mmCIF says that its residue is one of a chain's
}

// Stretch is a helix or a strand that a file states, from its first to its last residue.
type Stretch struct{ From, To Place }

// Entity is a kind of molecule that an mmCIF file defines: "polymer", "non-polymer", "branched" or "water", and what a polymer is
// made of, such as "polypeptide(L)".
type Entity struct{ Type, Polymer string }

// Listing is what a file says of its atoms, hydrogens, waters and all alternate locations included.
type Listing struct {
	Format          string // mol.FormatPDB, mol.FormatMMCIF or mol.FormatPDBQT
	ID, Title       string
	Predicted       bool  // the B factors are a prediction's confidence (pLDDT)
	Models          []int // whose atoms are listed; later ones are left out when all together have more than MaxAtoms
	Atoms           []ListedAtom
	Helices, Sheets []Stretch
	Entities        map[string]Entity // by id
	Assemblies      []Assembly
	// Copies are how the assemblies repeat chains, by assembly and chain; chains are subchains in mmCIF.
	Copies map[string]map[string]Copies
}

// List reads all atoms of a structure's file. Errors: *UnreadableError.
func List(content []byte) (*Listing, error) {
	text, _, err := textOf(content)
	if err != nil {
		return nil, err
	}
	l := &lister{Listing: &Listing{Entities: map[string]Entity{}}, assemblies: newBuilder(0), texts: map[string]string{}}
	switch {
	case isCIF(text):
		l.Format = mol.FormatMMCIF
		err = l.readCIF(text)
	case isPDBQT(text):
		l.Format = mol.FormatPDBQT
		err = l.readPDB(text)
	default:
		l.Format = mol.FormatPDB
		err = l.readPDB(text)
	}
	switch {
	case err != nil:
		return nil, err
	case len(l.Atoms) == 0:
		return nil, unreadable("%s", noAtoms(text))
	}
	l.Assemblies, l.Copies = l.assemblies.structure.Assemblies, l.copies()
	l.Predicted = l.Predicted || strings.HasPrefix(strings.ToUpper(l.Title), "ALPHAFOLD")
	return l.Listing, nil
}

// lister is in the middle of a file.
type lister struct {
	*Listing
	assemblies *builder
	full       bool              // no model behind the last one is read
	texts      map[string]string // one copy of each, so that the file's text need not stay in memory
	operations map[string]Motion // by id
	generators []generator
	serial     int // of the last operation of a PDB file
}

// wants notes that a model has an atom, and tells whether it is read.
func (l *lister) wants(model int) bool {
	if last := len(l.Models) - 1; last >= 0 && l.Models[last] == model {
		return true
	}
	if l.full = l.full || len(l.Models) >= maxModels; l.full {
		return false
	}
	l.Models = append(l.Models, model)
	return true
}

// take lists an atom. A model that no longer fits is left out with all behind it.
func (l *lister) take(a site, model int) error {
	for _, c := range a.position {
		if !(math.Abs(c) <= maxCoordinateAngstrom) {
			return unreadable("has atom %s of %s %s at coordinates that are missing or out of range", a.atom, a.residue, a.place)
		}
	}
	if len(l.Atoms) == MaxAtoms {
		if len(l.Models) == 1 {
			return unreadable("has more than %d atoms in a model; cut out the chains that are needed", MaxAtoms)
		}
		l.full = true
		l.Models = l.Models[:len(l.Models)-1]
		for len(l.Atoms) > 0 && l.Atoms[len(l.Atoms)-1].Model == model {
			l.Atoms = l.Atoms[:len(l.Atoms)-1]
		}
		return nil
	}
	l.Atoms = append(l.Atoms, ListedAtom{
		Place: Place{l.text(a.place.Chain), a.place.Number, l.text(a.place.InsertionCode)}, Model: model,
		Residue: l.text(a.residue), Subchain: l.text(a.subchain), Entity: l.text(a.entity), Name: l.text(a.atom),
		Element: l.text(elementOfAtom(a)),
		Altloc:  l.text(a.altloc), Position: a.position, BFactor: a.bfactor, Occupancy: a.occupied, Het: a.het, Polymer: a.polymer,
	})
	return nil
}

func (l *lister) text(text string) string {
	kept, ok := l.texts[text]
	if !ok {
		kept = strings.Clone(text)
		l.texts[kept] = kept
	}
	return kept
}

// elementOfAtom is an atom's element: what the file says, else that of an ion's name, else the first letter of the atom's.
func elementOfAtom(a site) string {
	switch {
	case a.element != "":
		return a.element
	case a.atom == a.residue:
		return a.residue
	}
	letters := strings.TrimLeft(a.atom, "0123456789'")
	return strings.ToUpper(letters[:min(len(letters), 1)])
}

// readPDB lists the atoms of a PDB or PDBQT text.
func (l *lister) readPDB(text string) error {
	model, number := 1, 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		switch {
		case isAtom(line):
			if !l.wants(model) {
				continue
			}
			a, err := pdbAtom(line, number)
			if l.Format == mol.FormatPDBQT {
				a.element, a.altloc = elementOfType(field(line, 77, 79)), ""
			}
			if err == nil {
				err = l.take(a, model)
			}
			if err != nil {
				return err
			}
		case strings.HasPrefix(line, "MODEL"):
			n, err := strconv.Atoi(field(line, 6, 20))
			if err != nil {
				return unreadable("has a model without a number in line %d", number)
			}
			model = n
		default:
			l.record(line)
		}
	}
	return nil
}

// record reads what stands around the atoms of a PDB file. What it cannot read it leaves out: the atoms are what counts.
func (l *lister) record(line string) {
	switch {
	case strings.HasPrefix(line, "HEADER"):
		l.ID = field(line, 62, 66)
	case strings.HasPrefix(line, "TITLE "):
		l.Title = strings.TrimSpace(l.Title + " " + field(line, 10, 80))
	case strings.HasPrefix(line, "HELIX "):
		l.Helices = stretch(l.Helices, line, 19, 21, 31, 33)
	case strings.HasPrefix(line, "SHEET "):
		l.Sheets = stretch(l.Sheets, line, 21, 22, 32, 33)
	case strings.HasPrefix(line, "REMARK 350"):
		l.assemblies.remark350(field(line, 10, 80))
		l.remark350(field(line, 10, 80))
	}
}

// stretch adds a helix or a strand whose ends' chains and numbers begin at these columns.
func stretch(to []Stretch, line string, fromChain, fromNumber, toChain, toNumber int) []Stretch {
	place := func(chain, number int) (Place, bool) {
		n, ok := sequenceNumber(field(line, number, number+4))
		return Place{field(line, chain, chain+1), n, field(line, number+4, number+5)}, ok
	}
	begin, ok := place(fromChain, fromNumber)
	end, both := place(toChain, toNumber)
	if !ok || !both {
		return to
	}
	return append(to, Stretch{begin, end})
}

// The categories that are read beside those of Read.
const (
	entry      = "_entry"
	title      = "_struct"
	entities   = "_entity"
	polymers   = "_entity_poly"
	conformers = "_struct_conf"
	strands    = "_struct_sheet_range"
	confidence = "_ma_qa_metric"
	operators  = "_pdbx_struct_oper_list"
)

// readCIF lists the atoms of the first data block that has any.
func (l *lister) readCIF(text string) error {
	wanted := setOf(strings.Join([]string{atoms, assemblies, generators, entry, title, entities, polymers, conformers, strands,
		confidence, operators}, " "))
	err := cif.Rows(text, func(category string) bool { return wanted[category] }, l.row, func() bool { return len(l.Atoms) == 0 })
	var torn *cif.TornError
	if errors.As(err, &torn) {
		return unreadable("is cut off: the loop of %s ends in the middle of a row", torn.Category)
	}
	return err
}

func (l *lister) row(row *cif.Row) error {
	switch row.Category {
	case atoms:
		model, err := cifModel(row)
		if err != nil || !l.wants(model) {
			return err
		}
		a, err := cifAtom(row)
		if err != nil {
			return err
		}
		return l.take(a, model)
	case assemblies:
		l.assemblies.assembly(row.Value("id"))
	case generators:
		l.assemblies.assembly(row.Value("assembly_id")).add(row.Value("asym_id_list"))
		l.generate(row.Value("assembly_id"), row.Value("oper_expression"), row.Value("asym_id_list"))
	case operators:
		l.operation(row)
	case entry:
		l.ID = strings.Clone(row.Value("id"))
	case title:
		l.Title = strings.Clone(row.Value("title"))
	case entities:
		l.entity(row.Value("id"), Entity{Type: strings.ToLower(row.Value("type"))})
	case polymers:
		l.entity(row.Value("entity_id"), Entity{Polymer: strings.ToLower(row.Value("type"))})
	case conformers:
		switch kind := row.Value("conf_type_id"); {
		case strings.HasPrefix(kind, "HELX"):
			l.Helices = cifStretch(l.Helices, row)
		case strings.HasPrefix(kind, "STRN"):
			l.Sheets = cifStretch(l.Sheets, row)
		}
	case strands:
		l.Sheets = cifStretch(l.Sheets, row)
	case confidence:
		l.Predicted = l.Predicted || strings.EqualFold(row.Value("name"), "pLDDT")
	}
	return nil
}

// entity adds what a row says of an entity to what others said.
func (l *lister) entity(id string, says Entity) {
	known := l.Entities[id]
	if says.Type == "" {
		says.Type = known.Type
	}
	if says.Polymer == "" {
		says.Polymer = known.Polymer
	}
	l.Entities[strings.Clone(id)] = Entity{strings.Clone(says.Type), strings.Clone(says.Polymer)}
}

func cifStretch(to []Stretch, row *cif.Row) []Stretch {
	place := func(end string) (Place, bool) {
		n, err := strconv.Atoi(row.Value(end + "_auth_seq_id"))
		return Place{strings.Clone(row.Value(end + "_auth_asym_id")), n, strings.Clone(row.Value("pdbx_" + end + "_pdb_ins_code"))},
			err == nil
	}
	begin, ok := place("beg")
	end, both := place("end")
	if !ok || !both {
		return to
	}
	return append(to, Stretch{begin, end})
}
