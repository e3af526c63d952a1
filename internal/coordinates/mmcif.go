package coordinates

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/cif"
)

// isCIF tells whether a text begins with a data block, after comments.
func isCIF(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return len(line) >= 5 && strings.EqualFold(line[:5], "data_")
		}
	}
	return false
}

// The categories that are read.
const (
	atoms      = "_atom_site"
	assemblies = "_pdbx_struct_assembly"
	generators = "_pdbx_struct_assembly_gen"
)

// readCIF reads the first data block that has atoms.
func (b *builder) readCIF(text string) error {
	s := b.structure
	err := cif.Rows(text, func(category string) bool {
		return category == atoms || category == assemblies || category == generators
	},
		func(row *cif.Row) error {
			switch row.Category {
			case atoms:
				return b.takeAtom(row)
			case assemblies:
				b.assembly(row.Value("id"))
			case generators:
				b.assembly(row.Value("assembly_id")).add(row.Value("asym_id_list"))
			}
			return nil
		},
		func() bool {
			if len(s.Models) > 0 {
				return false
			}
			s.Assemblies, b.defined = nil, map[string]int{} // of a block without atoms
			return true
		})
	var torn *cif.TornError
	if errors.As(err, &torn) {
		return unreadable("is cut off: the loop of %s ends in the middle of a row", torn.Category)
	}
	return err
}

// takeAtom takes a row of the atoms.
func (b *builder) takeAtom(row *cif.Row) error {
	model, err := cifModel(row)
	if err != nil || !b.wants(model) {
		return err
	}
	a, err := cifAtom(row)
	if err != nil {
		return err
	}
	return b.add(a)
}

// cifModel is the number of the model that an atom belongs to.
func cifModel(row *cif.Row) (int, error) {
	text := row.Value("pdbx_pdb_model_num")
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, unreadable("has a model number that is none: %.20q", text)
	}
	return n, nil
}

// cifAtom reads a row of the atoms. The author's ids count, and the file's own where he gave none.
func cifAtom(row *cif.Row) (site, error) {
	first := func(item, other string) string {
		if text := row.Value(item); text != "" {
			return text
		}
		return row.Value(other)
	}
	a := site{
		atom: first("auth_atom_id", "label_atom_id"), altloc: row.Value("label_alt_id"), subchain: row.Value("label_asym_id"),
		residue: strings.ToUpper(first("auth_comp_id", "label_comp_id")), element: strings.ToUpper(row.Value("type_symbol")),
		place: Place{Chain: first("auth_asym_id", "label_asym_id"), InsertionCode: row.Value("pdbx_pdb_ins_code")}, occupied: 1,
		polymer: row.Value("label_seq_id") != "", het: row.Value("group_pdb") == "HETATM", entity: row.Value("label_entity_id"),
	}
	var err error
	for i, item := range []string{"cartn_x", "cartn_y", "cartn_z"} {
		if a.position[i], err = number(row.Value(item)); err != nil {
			return site{}, unreadable("has coordinates that are no numbers, of atom %.20q (_atom_site.id %.20q)", a.atom,
				row.Value("id"))
		}
	}
	if a.place.Number, err = strconv.Atoi(first("auth_seq_id", "label_seq_id")); err != nil {
		return site{}, unreadable("has a residue number that is none, of atom %.20q (_atom_site.id %.20q)", a.atom, row.Value("id"))
	}
	if text := row.Value("occupancy"); text != "" {
		a.occupied, _ = number(text) // what is no number weighs nothing
	}
	if text := row.Value("b_iso_or_equiv"); text != "" {
		a.bfactor, _ = number(text)
	}
	return a, nil
}

// number reads a number, perhaps with its uncertainty in brackets.
func number(text string) (float64, error) {
	value, _, _ := strings.Cut(text, "(")
	return strconv.ParseFloat(value, 64)
}

// assembly finds an assembly by its id, or makes it.
func (b *builder) assembly(id string) *Assembly {
	s := b.structure
	if i, known := b.defined[id]; known {
		return &s.Assemblies[i]
	}
	made := Assembly{ID: strings.Clone(id)}
	if len(s.Assemblies) >= maxAssemblies {
		return &made
	}
	b.defined[made.ID] = len(s.Assemblies)
	s.Assemblies = append(s.Assemblies, made)
	return &s.Assemblies[len(s.Assemblies)-1]
}

// add adds the chains of a list that commas divide, each once.
func (a *Assembly) add(chains string) {
	for chain := range strings.SplitSeq(chains, ",") {
		if chain = strings.TrimSpace(chain); chain != "" && len(a.Chains) < maxAssemblyChains && !slices.Contains(a.Chains, chain) {
			a.Chains = append(a.Chains, strings.Clone(chain))
		}
	}
}
