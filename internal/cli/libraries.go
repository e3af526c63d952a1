package cli

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/internal/mol"
)

const (
	// maxLigandBytes bounds one ligand's file or record: what the service takes of one.
	maxLigandBytes = 8 << 20
	// maxLibraryBytes bounds a library, unpacked: ten thousand records of 100 kB.
	maxLibraryBytes = 1 << 30
)

var (
	ligandBound  = fileBound{maxLigandBytes, "a ligand's file may have at most " + bytesText(maxLigandBytes)}
	libraryBound = fileBound{maxLibraryBytes, "a library may have at most " + bytesText(maxLibraryBytes) + ": cut it into several"}
)

// ligandFormats that a file may have.
var ligandFormats = map[string]bool{mol.FormatSDF: true, mol.FormatMOL2: true, mol.FormatPDBQT: true, mol.FormatPDB: true}

// ligandFile takes a file that holds one ligand.
func ligandFile(path string) (ligand, error) {
	if !ligandFormats[formatOf(path)] {
		return ligand{}, usage("--ligand-file %s: must be .sdf, .mol2, .pdbqt or .pdb, or one of them as .gz", path)
	}
	file, err := openPlain(path, ligandBound)
	if err != nil {
		return ligand{}, err
	}
	defer file.Close()
	if formatOf(path) == mol.FormatSDF {
		records, err := splitSDF(file, path)
		if err != nil {
			return ligand{}, err
		}
		if len(records) > 1 {
			return ligand{}, usage("--ligand-file %s: holds %d ligands; give it as --ligands", path, len(records))
		}
	}
	return ligand{path: path, label: shorten(first(stem(path), "ligand"), maxLabelChars)}, nil
}

// readLibrary reads a file of many ligands: .sdf, .csv, or else a SMILES and a name on each line. The records of an .sdf are read
// when they are uploaded, from the file that stays open for them.
func readLibrary(path string) ([]ligand, error) {
	switch formatOf(path) {
	case "zip", "bz2", "xz", "zst":
		return nil, usage("--ligands %s: is compressed in a way that is not read here; unpack it first, or give it as .gz", path)
	}
	file, err := openPlain(path, libraryBound)
	if err != nil {
		return nil, err
	}
	if formatOf(path) == mol.FormatSDF {
		found, err := splitSDF(file, path)
		if err != nil {
			return nil, errors.Join(err, file.Close())
		}
		for i := range found {
			found[i].library = file
		}
		return found, nil
	}
	defer file.Close()
	if formatOf(path) == "csv" {
		return readTable(file, path)
	}
	return readSMILES(file, path)
}

// splitSDF finds the records of a structure-data file (Dalby et al. 1992, doi:10.1021/ci00007a012), each of which ends with a
// line of $$$$ and is called after its first line. A record is not read further here: what is broken fails by its own name where
// RDKit is.
func splitSDF(r io.Reader, name string) ([]ligand, error) {
	s := sdfSplitter{name: name}
	lines := bufio.NewReaderSize(r, maxLineBytes)
	for atStart := true; ; {
		piece, err := lines.ReadSlice('\n')
		if atStart {
			if err := s.line(piece); err != nil {
				return nil, err
			}
		}
		s.record.size += int64(len(piece))
		atStart = !errors.Is(err, bufio.ErrBufferFull) // the rest of a long line begins no line
		switch {
		case s.record.size > maxLigandBytes:
			return nil, invalidInput("%s: record %d is larger than %s; is it an .sdf file?", name, len(s.found)+1,
				bytesText(maxLigandBytes))
		case errors.Is(err, io.EOF):
			return s.end()
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
	}
}

// sdfSplitter is in the middle of a file.
type sdfSplitter struct {
	name   string
	found  []ligand
	record ligand // that is being read
	lines  int    // of it so far
	text   bool   // it has more than white space
	ended  bool   // its last line has been seen
	any    bool   // a record with a connection table was found
}

// line looks at the first piece of a line, before it is counted into the record.
func (s *sdfSplitter) line(piece []byte) error {
	if s.ended {
		if err := s.close(); err != nil {
			return err
		}
	}
	line := bytes.TrimRight(piece, "\r\n")
	if s.lines == 0 {
		s.record.label = titleOf(line)
	}
	s.lines++
	s.ended = bytes.HasPrefix(line, []byte("$$$$"))
	s.text = s.text || len(bytes.TrimSpace(line)) > 0
	s.any = s.any || bytes.HasSuffix(bytes.TrimRight(line, " "), []byte("V2000")) || bytes.HasPrefix(line, []byte("M  "))
	return nil
}

// close takes the record that has ended, and begins the next behind it.
func (s *sdfSplitter) close() error {
	next := ligand{path: s.name, offset: s.record.offset + s.record.size}
	if s.text {
		done := s.record
		done.path = s.name
		done.label = first(done.label, fmt.Sprintf("ligand-%d", len(s.found)+1))
		if s.found = append(s.found, done); len(s.found) > maxLigands {
			return invalidInput("%s: holds more than %d ligands; cut it into several libraries", s.name, maxLigands)
		}
	}
	s.record, s.lines, s.text, s.ended = next, 0, false, false
	return nil
}

func (s *sdfSplitter) end() ([]ligand, error) {
	if err := s.close(); err != nil {
		return nil, err
	}
	if !s.any {
		return nil, invalidInput("%s: holds no structure; is it an .sdf file?", s.name)
	}
	return s.found, nil
}

// titleOf is a record's first line as a label.
func titleOf(line []byte) string {
	return labelOf(strings.ToValidUTF8(string(line), "�"))
}

// labelOf is a text of a file as a label: in one line, without what a terminal would obey, and not too long.
func labelOf(text string) string {
	return shorten(harmless(strings.Join(strings.Fields(text), " ")), maxLabelChars)
}

// The headers of a .csv library's columns, in small letters and without spaces, - and _. Those of results.csv are among them.
var (
	smilesHeaders = []string{"smiles", "canonicalsmiles", "inputsmiles"}
	nameHeaders   = []string{"label", "name", "title", "id", "ligandid", "compound", "compoundid"}
)

// readTable reads a .csv file with a header, of which a column holds SMILES and one may hold names.
func readTable(r io.Reader, name string) ([]ligand, error) {
	rows := csv.NewReader(r)
	rows.ReuseRecord, rows.FieldsPerRecord, rows.TrimLeadingSpace = true, -1, true
	header, err := rows.Read()
	if err != nil {
		return nil, invalidInput("%s: has no header that can be read: %v", name, err)
	}
	structure, label := column(header, smilesHeaders), column(header, nameHeaders)
	if structure < 0 {
		return nil, invalidInput("%s: has no column called smiles; name the columns in the first line, such as name,smiles", name)
	}
	var found []ligand
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, invalidInput("%s: %v", name, err)
		}
		number, _ := rows.FieldPos(0)
		entry := ligand{smiles: field(row, structure), label: first(labelOf(field(row, label)), fmt.Sprintf("ligand-%d", number))}
		if err := entry.check(); err != nil {
			return nil, invalidInput("%s:%d: %v", name, number, err)
		}
		if found = append(found, entry); len(found) > maxLigands {
			return nil, invalidInput("%s: holds more than %d ligands; cut it into several libraries", name, maxLigands)
		}
	}
	if len(found) == 0 {
		return nil, invalidInput("%s: holds no ligand", name)
	}
	return found, nil
}

// column is the place of the first name that a header has, or -1.
func column(header, names []string) int {
	plain := make([]string, len(header))
	for i, cell := range header {
		plain[i] = strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(strings.TrimPrefix(cell, "\ufeff")))
	}
	for _, name := range names {
		if at := slices.Index(plain, name); at >= 0 {
			return at
		}
	}
	return -1
}

func field(row []string, at int) string {
	if at < 0 || at >= len(row) {
		return ""
	}
	return strings.TrimSpace(row[at])
}
