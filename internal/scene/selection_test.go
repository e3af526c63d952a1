package scene

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// entryOf1CBS and the others are whole entries that lie elsewhere in the repository.
const (
	sample1CBS = "../../engines/enginestest/samples/1cbs.cif.gz"
	sample1ATP = "../../engines/enginestest/samples/1atp.pdb.gz"
	sample1IEP = "../abl1/1iep.pdb.gz"
)

func structureOf(t testing.TB, path string) *Structure {
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
	s, err := ReadStructure(content)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func selected(t testing.TB, text string) Selection {
	t.Helper()
	s, err := ParseSelection(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSelectionsHaveOneForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"all", "all"},
		{"  Protein   AND chain B+A+A ", "protein and chain A+B"},
		{"(chain A and (resi 59-76+30-38))", "chain A and resi 30-38+59-76"},
		{"a or b", ""},
		{"protein or ligand and chain A", "protein or ligand and chain A"},
		{"(protein or ligand) and chain A", "(protein or ligand) and chain A"},
		{"not (protein or ligand)", "not (protein or ligand)"},
		{"byres (protein and within 5.0 of ligand)", "byres (protein and within 5 of ligand)"},
		{"within 4 of (resn rea)", "within 4 of resn REA"},
		{"resi -5--1+52a", "resi -5--1+52a"},
		{"name o5'+CA and elem c", "name CA+O5' and elem C"},
	} {
		s, err := ParseSelection(c.text)
		if c.want == "" {
			if err == nil {
				t.Errorf("%q: got %s, want an error", c.text, s)
			}
			continue
		}
		if err != nil || s.String() != c.want {
			t.Errorf("%q: got %v, %v, want %q", c.text, s, err, c.want)
			continue
		}
		if again, err := ParseSelection(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%q is read again as %v, %v", s, again, err)
		}
	}
}

func TestSelectionsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, "got the end"},
		{"chain", 5, "expected names behind"},
		{"protein chain A", 8, `expected "and", "or"`},
		{"protein and", 11, "expected all, polymer"},
		{"(protein", 8, "closing bracket"},
		{"protein)", 7, `expected "and", "or" or the end, got ")"`},
		{"resi 9-3", 5, "end before"},
		{"resi A5", 5, "residue numbers"},
		{"within 5 ligand", 9, `expected "of"`},
		{"within 500 of ligand", 7, "at most 50 Å"},
		{"within x of ligand", 7, `got "x"`},
		{"protein and gibberish", 12, `got "gibberish"`},
		{"chain A;drop", 6, "joined by +"},
		{strings.Repeat("not ", 60) + "all", 200, "levels deep"},
		{strings.Repeat("(", 60), 50, "levels deep"},
	} {
		_, err := ParseSelection(c.text)
		var unread *SelectionError
		if !errors.As(err, &unread) || unread.Offset != c.offset || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q at %d", c.text, err, c.want, c.offset)
		}
	}
}

// TestSelectionsOnRealEntries: residues and atoms, counted in the files by other means.
func TestSelectionsOnRealEntries(t *testing.T) {
	t.Parallel()
	cbs, atp, iep := structureOf(t, sample1CBS), structureOf(t, sample1ATP), structureOf(t, sample1IEP)
	for _, c := range []struct {
		structure       *Structure
		text            string
		residues, atoms int
	}{
		{cbs, "all", 138, 1113},
		{cbs, "protein", 137, 1091},
		{cbs, "ligand", 1, 22},
		{cbs, "water", 100, 100},
		{cbs, "byres within 4 of resn REA", 15, 122},
		{cbs, "not protein", 1, 22},
		{cbs, "not protein or water", 101, 122},
		{cbs, "name CA", 137, 137},
		{cbs, "backbone", 137, 549},
		{cbs, "coarse", 0, 0},
		{cbs, "nucleic", 0, 0},
		{cbs, "resi 134 and name OH", 1, 1},
		{cbs, "resi 301", 1, 1},
		{atp, "chain I", 20, 157},
		{atp, "resn SEP+TPO", 2, 0},
		{atp, "protein and resn SEP+TPO", 2, 0},
		{atp, "ion", 2, 2},
		{atp, "metal", 2, 2},
		{atp, "ligand", 1, 31},
		{iep, "chain A and resi 315 and resn THR", 1, 7},
	} {
		table := c.structure.Table(0)
		found := table.Resolve(selected(t, c.text))
		if residues := len(table.touched(found)); residues != c.residues || found.Count() != c.atoms && c.atoms != 0 {
			t.Errorf("%s, %s: got %d residues, %d atoms, want %d, %d", c.structure.Title, c.text, residues, found.Count(),
				c.residues, c.atoms)
		}
	}
}

// FuzzParseSelection: what can be read has a canonical form that is read again as itself.
func FuzzParseSelection(f *testing.F) {
	for _, seed := range []string{"byres (protein and within 4 of resn REA)", "not (chain A+B or resi -5--1+52A)", "((("} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSelection(text)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error says nothing")
			}
			return
		}
		if again, err := ParseSelection(s.String()); err != nil || again.String() != s.String() {
			t.Errorf("%q is %q, and that is %q, %v", text, s, again, err)
		}
	})
}
