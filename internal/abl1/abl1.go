// Package abl1 holds the structure that the demonstration, the suites and tests dock into: the kinase c-Abl with imatinib, entry
// 1IEP of the Protein Data Bank (Nagar et al., Cancer Res. 62, 4236, 2002; CC0). It is chain A with the authors' numbering: the
// hinge is MET 318, the gatekeeper THR 315, and imatinib STI A 201. It holds files and opens them; it docks nothing.
package abl1

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

var (
	// entry has the heavy atoms of chain A and of imatinib, at the coordinates of AutoDock Vina's tutorial. The names of imatinib's
	// atoms are not the entry's.
	//go:embed 1iep.pdb.gz
	entry []byte
	// prepared is the same chain without imatinib, with hydrogens by PDB2PQR at pH 7.4 and made PDBQT by Meeko.
	//go:embed 1iep.pdbqt.gz
	prepared []byte
)

// The names that the files have where they are written.
const (
	EntryFile    = "1IEP.pdb"
	PreparedFile = "1IEP.pdbqt"
)

// SiteCenterAngstrom is the middle of imatinib, between the hinge and the pocket behind the gatekeeper.
var SiteCenterAngstrom = [3]float64{15.19, 53.90, 16.92}

// Entry is the structure as a PDB file, with imatinib.
func Entry() []byte { return unpacked(entry) }

// Prepared is the receptor alone, as a PDBQT file that can be docked into.
func Prepared() []byte { return unpacked(prepared) }

// WriteEntry writes the structure into a folder, which it makes, and returns the file's path.
func WriteEntry(folder string) (path string, err error) { return write(folder, EntryFile, Entry()) }

// WritePrepared writes the receptor into a folder, which it makes, and returns the file's path.
func WritePrepared(folder string) (path string, err error) {
	return write(folder, PreparedFile, Prepared())
}

func write(folder, name string, content []byte) (string, error) {
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, content, 0o644)
}

// unpacked is an embedded file's content. That it can be read a test has seen.
func unpacked(packed []byte) []byte {
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Sprintf("an embedded file is damaged: %v", err))
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		panic(fmt.Sprintf("an embedded file is damaged: %v", err))
	}
	return text
}
