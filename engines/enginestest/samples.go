package enginestest

import (
	"compress/gzip"
	"embed"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// samples are inputs as people have them, too large to lie plain in a testdata; samples/README.md says whose they are.
//
//go:embed samples/*.gz
var samples embed.FS

// Sample writes an input that several engines are tested with into a folder of the test, and returns its path, which ends in
// the name: 1atp.pdb and 1cbs.cif are whole entries of the Protein Data Bank, alanine-dipeptide.prmtop and .inpcrd a system of
// Amber in water.
func Sample(t *testing.T, name string) string {
	t.Helper()
	packed, err := samples.Open("samples/" + name + ".gz")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
