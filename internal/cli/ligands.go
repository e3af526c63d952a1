package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Bounds of doc/contract.md §2.2.
const (
	maxLigands     = 10_000
	maxSMILESChars = 4096
	maxLabelChars  = 512
	maxIDChars     = 128
)

// maxLineBytes bounds a line of a .smi file: the longest SMILES and label in any alphabet, with room.
const maxLineBytes = 64 << 10

// ligand is one ligand of a docking: a SMILES, a component of the Chemical Component Dictionary, a file, or a record of one.
type ligand struct {
	id          string // unique in the library, made from the label
	label       string
	smiles      string
	componentID string      // in capitals
	path        string      // of an .sdf, .mol2, .pdbqt or .pdb file
	library     io.ReaderAt // of which it is a record that begins at offset and has size bytes; nil for a file of its own
	offset      int64
	size        int64
}

var unsafeRun = regexp.MustCompile(`[^A-Za-z0-9._:-]+`)

// check holds a ligand against the bounds; whether the SMILES is a molecule is found out where RDKit is.
func (l ligand) check() error {
	switch {
	case l.path == "" && l.smiles == "":
		return errors.New("there is no SMILES")
	case utf8.RuneCountInString(l.smiles) > maxSMILESChars:
		return fmt.Errorf("the SMILES is longer than %d characters", maxSMILESChars)
	case strings.ContainsAny(l.smiles, " \t"):
		return errors.New("a SMILES holds no space")
	case utf8.RuneCountInString(l.label) > maxLabelChars:
		return fmt.Errorf("the name is longer than %d characters", maxLabelChars)
	case !utf8.ValidString(l.label) || !utf8.ValidString(l.smiles):
		return errors.New("the text is not UTF-8")
	}
	return nil
}

// readSMILES reads a .smi file: a SMILES and, after white space, a name on each line; empty lines and lines that begin with #
// are skipped. A ligand without a name is called after its line's number.
func readSMILES(r io.Reader, name string) ([]ligand, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes)
	var found []ligand
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		entry := ligand{smiles: line, label: fmt.Sprintf("ligand-%d", number)}
		if cut := strings.IndexAny(line, " \t"); cut >= 0 {
			entry.smiles, entry.label = line[:cut], strings.Join(strings.Fields(line[cut:]), " ")
		}
		if err := entry.check(); err != nil {
			return nil, invalidInput("%s:%d: %v", name, number, err)
		}
		if found = append(found, entry); len(found) > maxLigands {
			return nil, invalidInput("%s: holds more than %d ligands; cut it into several libraries", name, maxLigands)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, invalidInput("%s: has a line of more than %d bytes; is it a .smi file?", name, maxLineBytes)
	} else if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(found) == 0 {
		return nil, invalidInput("%s: holds no ligand", name)
	}
	return found, nil
}

// gatherLigands puts together what the flags name, in their order: SMILES and components, libraries, files.
func gatherLigands(smiles, libraries, files []string) ([]ligand, error) {
	var all []ligand
	for _, flag := range smiles {
		entry, err := parseLigand(flag)
		if err != nil {
			return nil, err
		}
		entry.label = first(entry.label, fmt.Sprintf("ligand-%d", len(all)+1))
		all = append(all, entry)
	}
	for _, path := range libraries {
		entries, err := readLibrary(path)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	for _, path := range files {
		entry, err := ligandFile(path)
		if err != nil {
			return nil, err
		}
		all = append(all, entry)
	}
	switch {
	case len(all) == 0:
		return nil, usage("name at least one ligand, with --ligand, --ligands or --ligand-file")
	case len(all) > maxLigands:
		return nil, usage("there are %d ligands; a job takes at most %d: dock them as several jobs", len(all), maxLigands)
	}
	nameLigands(all)
	return all, nil
}

// nameLigands gives each ligand an id made from its label: safe for files and unique.
func nameLigands(all []ligand) {
	taken := make(map[string]bool, len(all))
	for i := range all {
		base := safeID(all[i].label)
		id := base
		for n := 2; taken[id]; n++ {
			suffix := fmt.Sprintf("-%d", n)
			id = base[:min(len(base), maxIDChars-len(suffix))] + suffix
		}
		taken[id], all[i].id = true, id
	}
}

// safeID turns a label into the characters that an id may have (doc/contract.md §2.2).
func safeID(label string) string {
	id := strings.Trim(unsafeRun.ReplaceAllString(label, "-"), "._:-")
	id = strings.TrimRight(id[:min(len(id), maxIDChars)], "._:-")
	return first(id, "ligand")
}
