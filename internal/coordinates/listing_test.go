package coordinates

import (
	"compress/gzip"
	"io"
	"os"
	"testing"
)

func packed(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestList reads two whole entries: the counts are those of the files' own records.
func TestList(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, id                                 string
		atoms, waters, helices, sheets, assembly int
		entity                                   string
	}{
		{"1cbs.cif.gz", "1CBS", 1213, 100, 2, 10, 1, "polypeptide(l)"},
		{"1atp.pdb.gz", "1ATP", 3070, 103, 16, 9, 1, ""},
	} {
		l, err := List(packed(t, "../../engines/enginestest/samples/"+c.file))
		if err != nil {
			t.Fatal(err)
		}
		waters, last := 0, l.Atoms[len(l.Atoms)-1]
		for _, a := range l.Atoms {
			if a.Residue == "HOH" {
				waters++
			}
		}
		if l.ID != c.id || l.Title == "" || len(l.Atoms) != c.atoms || waters != c.waters || len(l.Helices) != c.helices ||
			len(l.Sheets) != c.sheets || len(l.Assemblies) != c.assembly || l.Entities["1"].Polymer != c.entity || l.Predicted {
			t.Errorf("%s: got %s %q, %d atoms, %d waters, %d helices, %d sheets, %d assemblies, %v", c.file, l.ID, l.Title,
				len(l.Atoms), waters, len(l.Helices), len(l.Sheets), len(l.Assemblies), l.Entities)
		}
		if last.BFactor == 0 || last.Element != "O" {
			t.Errorf("%s: the last atom is %+v", c.file, last)
		}
	}
}
