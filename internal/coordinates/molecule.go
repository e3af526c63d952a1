package coordinates

import (
	"errors"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/mol"
)

// MaxMoleculeAtoms bounds the heavy atoms of a small molecule: what can be docked.
const MaxMoleculeAtoms = 100

// Molecule is where a small molecule lies.
type Molecule struct {
	Format     string // mol.FormatSDF, mol.FormatMOL2, mol.FormatPDB, mol.FormatMMCIF or mol.FormatPDBQT
	Molecules  int    // in the file, of which this is the first
	HeavyAtoms int
	Low, High  Point // of the heavy atoms, in Å
}

// ReadMolecule reads where the first molecule of a file lies, told by its content. Errors: *UnreadableError.
func ReadMolecule(content []byte) (Molecule, error) {
	text, _, err := textOf(content)
	if err != nil {
		return Molecule{}, err
	}
	var found Molecule
	switch {
	case strings.Contains(text, "@<TRIPOS>"):
		found, err = readMOL2(text)
	case isSDF(text):
		found, err = readSDF(text)
	default:
		found, err = readLigand(content, text)
	}
	switch {
	case err != nil:
		return Molecule{}, err
	case found.HeavyAtoms > MaxMoleculeAtoms:
		return Molecule{}, unreadable("holds %d heavy atoms; give the ligand alone, of at most %d", found.HeavyAtoms,
			MaxMoleculeAtoms)
	case found.HeavyAtoms > 1 && found.Low == found.High:
		return Molecule{}, unreadable("has all atoms in one place; give a molecule with its coordinates")
	}
	return found, nil
}

// readLigand reads a molecule in a format of structures. A ligand's PDBQT has branches, which no receptor has.
func readLigand(content []byte, text string) (Molecule, error) {
	m := molecule{Molecule: Molecule{Molecules: 1}, extent: newExtent()}
	if isCIF(text) {
		s, err := Read(content, 0)
		if err != nil {
			return Molecule{}, err
		}
		for _, r := range s.Residues {
			m.extent.take(r.Low)
			m.extent.take(r.High)
			m.HeavyAtoms += r.HeavyAtoms
		}
		return m.done(mol.FormatMMCIF)
	}
	format := mol.FormatPDB
	if isPDBQT(text) {
		format = mol.FormatPDBQT
	}
	number, models := 0, 0
	for line := range strings.Lines(text) {
		number++
		if strings.HasPrefix(line, "MODEL") {
			models++
		}
		if !isAtom(line) || models > 1 {
			continue
		}
		a, err := pdbAtom(strings.TrimRight(line, "\n"), number)
		if err != nil {
			return Molecule{}, err
		}
		if format == mol.FormatPDBQT {
			a.element = elementOfType(field(line, 77, 79))
		}
		if !isHydrogen(a) && !waters[a.residue] {
			m.take(a.position)
		}
	}
	m.Molecules = max(models, 1)
	return m.done(format)
}

// molecule is a molecule whose atoms come one by one.
type molecule struct {
	Molecule
	extent
}

func (m *molecule) take(p Point) {
	m.extent.take(p)
	m.HeavyAtoms++
}

func (m *molecule) done(format string) (Molecule, error) {
	if m.HeavyAtoms == 0 {
		return Molecule{}, unreadable("holds no molecule; give a ligand as SDF, MOL2 or PDB")
	}
	m.Format, m.Low, m.High = format, m.low, m.high
	return m.Molecule, nil
}

// The connection table of an SDF file begins behind three lines (Dalby et al. 1992, doi:10.1021/ci00007a012).
const headerLines = 3

func isSDF(text string) bool {
	counts := lineAt(text, headerLines)
	return strings.Contains(counts, "V2000") || strings.Contains(counts, "V3000") || strings.Contains(text, "\nM  END")
}

func lineAt(text string, number int) string {
	for range number {
		_, rest, _ := strings.Cut(text, "\n")
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

var errNotThere = errors.New("no coordinates")

// readSDF reads the atoms of the first record.
func readSDF(text string) (Molecule, error) {
	m := molecule{Molecule: Molecule{Molecules: max(strings.Count(text, "$$$$"), 1)}, extent: newExtent()}
	record, _, _ := strings.Cut(text, "$$$$")
	counts := lineAt(record, headerLines)
	atoms, number := 0, 0
	if !strings.Contains(counts, "V3000") {
		var err error
		if atoms, err = strconv.Atoi(field(counts, 0, 3)); err != nil {
			return Molecule{}, unreadable("has no count of atoms in line %d; is it an SDF file?", headerLines+1)
		}
	}
	for line := range strings.Lines(record) {
		number++
		var err error
		switch words := strings.Fields(line); {
		case number > headerLines+1 && number <= headerLines+1+atoms:
			err = m.atom(field(line, 31, 34), field(line, 0, 10), field(line, 10, 20), field(line, 20, 30))
		case len(words) >= 7 && words[0] == "M" && words[1] == "V30" && !strings.Contains(counts, "V2000") && isNumber(words[2]) &&
			!isNumber(words[3]):
			err = m.atom(words[3], words[4], words[5], words[6])
		}
		if err != nil {
			return Molecule{}, unreadable("has coordinates that are no numbers in line %d", number)
		}
	}
	if number < headerLines+1+atoms {
		return Molecule{}, unreadable("ends before its %d atoms", atoms)
	}
	return m.done(mol.FormatSDF)
}

func isNumber(text string) bool {
	_, err := strconv.Atoi(text)
	return err == nil
}

// atom takes an atom unless it is a hydrogen.
func (m *molecule) atom(element string, coordinates ...string) error {
	var at Point
	for i, text := range coordinates {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !(value >= -maxCoordinateAngstrom && value <= maxCoordinateAngstrom) {
			return errNotThere
		}
		at[i] = value
	}
	if element, _, _ = strings.Cut(strings.ToUpper(element), "."); element != "H" && element != "D" {
		m.take(at)
	}
	return nil
}

// readMOL2 reads the atoms of the first molecule.
func readMOL2(text string) (Molecule, error) {
	m := molecule{Molecule: Molecule{Molecules: max(strings.Count(text, "@<TRIPOS>MOLECULE"), 1)}, extent: newExtent()}
	_, rest, found := strings.Cut(text, "@<TRIPOS>ATOM")
	if !found {
		return Molecule{}, unreadable("is a MOL2 file without atoms")
	}
	block, _, _ := strings.Cut(rest, "@<TRIPOS>")
	for line := range strings.Lines(block) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 6 || m.atom(words[5], words[2:5]...) != nil {
			return Molecule{}, unreadable("has an atom that cannot be read: %.60q", strings.TrimSpace(line))
		}
	}
	return m.done(mol.FormatMOL2)
}
