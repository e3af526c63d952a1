package coordinates

import (
	"strconv"
	"strings"
)

// The columns of an atom in the formats of the PDB's kind, from 0. (Protein Data Bank Contents Guide 3.3, "Coordinate Section".)
const (
	altlocColumn  = 16
	elementColumn = 76
	leastColumns  = 54 // to the end of z
)

// field cuts columns out of a line, which may end before.
func field(line string, from, to int) string {
	if from >= len(line) {
		return ""
	}
	return strings.TrimSpace(line[from:min(to, len(line))])
}

func isAtom(line string) bool {
	return strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM")
}

// readPDB reads a PDB text.
func (b *builder) readPDB(text string) error {
	model, number := 1, 0
	for line := range strings.Lines(text) {
		number++
		switch {
		case isAtom(line):
			if !b.wants(model) {
				continue
			}
			a, err := pdbAtom(strings.TrimRight(line, "\n"), number)
			if err == nil {
				err = b.add(a)
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
		case strings.HasPrefix(line, "REMARK 350"):
			b.remark350(field(line, 10, 80))
		}
	}
	return nil
}

// pdbAtom reads an atom of a PDB or PDBQT line.
func pdbAtom(line string, number int) (site, error) {
	if len(line) < leastColumns {
		return site{}, unreadable("has an atom without coordinates in line %d, which is too short", number)
	}
	a := site{
		het: strings.HasPrefix(line, "HETATM"), atom: field(line, 12, altlocColumn), altloc: field(line, altlocColumn, 17),
		residue: strings.ToUpper(field(line, 17, 20)), place: Place{Chain: field(line, 20, 22), InsertionCode: field(line, 26, 27)},
		element: strings.ToUpper(field(line, elementColumn, elementColumn+2)), occupied: 1,
	}
	for i := range a.position {
		var err error
		if a.position[i], err = strconv.ParseFloat(field(line, 30+8*i, 38+8*i), 64); err != nil {
			return site{}, unreadable("has coordinates that are no numbers in line %d", number)
		}
	}
	var ok bool
	if a.place.Number, ok = sequenceNumber(field(line, 22, 26)); !ok {
		return site{}, unreadable("has a residue number that is none in line %d (columns 23 to 26)", number)
	}
	if occupied := field(line, 54, 60); occupied != "" {
		a.occupied, _ = strconv.ParseFloat(occupied, 64) // what is no number weighs nothing
	}
	if bfactor := field(line, 60, 66); bfactor != "" {
		a.bfactor, _ = strconv.ParseFloat(bfactor, 64)
	}
	return a, nil
}

// sequenceNumber reads a residue number: decimal, or hybrid-36 for those above 9999 (R. W. Grosse-Kunstleve, cctbx).
func sequenceNumber(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	if len(text) != 4 {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 36, 32)
	if err != nil || text[0] < 'A' {
		return 0, false
	}
	const digits, firstUpper, upper = 10_000, 10 * 36 * 36 * 36, 26 * 36 * 36 * 36
	if text[0] >= 'a' {
		return int(n) - firstUpper + digits + upper, true
	}
	return int(n) - firstUpper + digits, true
}

// remark350 reads a line about biological assemblies.
func (b *builder) remark350(text string) {
	s := b.structure
	if id, ok := strings.CutPrefix(text, "BIOMOLECULE:"); ok {
		b.assembly(strings.TrimSpace(id))
		return
	}
	if _, chains, ok := strings.Cut(text, "CHAINS:"); ok && len(s.Assemblies) > 0 {
		s.Assemblies[len(s.Assemblies)-1].add(chains)
	}
}

// pdbqtLook is how many atoms tell whether a text is PDBQT.
const pdbqtLook = 50

// isPDBQT tells whether each of the first atoms has a charge and an AutoDock type in PDBQT's columns.
func isPDBQT(text string) bool {
	seen := 0
	for line := range strings.Lines(text) {
		if !isAtom(line) {
			continue
		}
		if _, err := strconv.ParseFloat(field(line, 70, 76), 64); err != nil || field(line, 77, 79) == "" {
			return false
		}
		if seen++; seen == pdbqtLook {
			break
		}
	}
	return seen > 0
}

// readPDBQT reads a rigid receptor.
func (b *builder) readPDBQT(text string) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		switch keyword := field(line, 0, 6); {
		case keyword == "ROOT", keyword == "BRANCH", keyword == "TORSDO", keyword == "BEGIN_":
			return unreadable("is a ligand or a flexible residue, and no rigid receptor: see %s in line %d",
				strings.Fields(line)[0], number)
		case isAtom(line) && b.wants(1):
			a, err := pdbAtom(strings.TrimRight(line, "\n"), number)
			if err != nil {
				return err
			}
			a.element, a.altloc = elementOfType(field(line, 77, 79)), ""
			if err := b.add(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// elementOfType is the element of an AutoDock atom type.
func elementOfType(kind string) string {
	switch kind {
	case "HD", "HS":
		return "H"
	case "A":
		return "C"
	case "NA", "NS":
		return "N"
	case "OA", "OS":
		return "O"
	case "SA":
		return "S"
	}
	return strings.ToUpper(kind)
}

// noAtoms says of a text without atoms what it is, by how it begins.
func noAtoms(text string) string {
	const wanted = "; a structure is PDB, mmCIF or PDBQT"
	head := strings.TrimSpace(text[:min(len(text), 4096)])
	switch {
	case isCIF(text):
		return "is an mmCIF file without atoms: it has no _atom_site loop with coordinates"
	case strings.HasPrefix(head, "<"):
		return "is a web page or XML" + wanted
	case strings.HasPrefix(head, "{"), strings.HasPrefix(head, "["):
		return "is JSON" + wanted
	case strings.HasPrefix(head, ">"):
		return "is a sequence in FASTA" + wanted
	case strings.Contains(head, "@<TRIPOS>"):
		return "is a MOL2 file" + wanted
	case strings.Contains(head, "V2000"), strings.Contains(head, "V3000"):
		return "is an SDF or MOL file" + wanted
	}
	return "has no atoms (ATOM and HETATM lines)" + wanted
}
