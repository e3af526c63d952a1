package coordinates

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/mol"
)

// line is an atom of a PDB file.
type line struct {
	record, atom, altloc, residue, chain string
	number                               int
	insertion                            string
	x, y, z, occupancy                   float64
	element                              string
}

func (l line) String() string {
	name := l.atom
	if len(name) < 4 && len(l.element) < 2 {
		name = " " + name
	}
	return fmt.Sprintf("%-6s%5d %-4s%1s%3s%2s%4d%1s   %8.3f%8.3f%8.3f%6.2f%6.2f          %2s\n",
		l.record, 1, name, l.altloc, l.residue, l.chain, l.number, l.insertion, l.x, l.y, l.z, l.occupancy, 0.0, l.element)
}

// glycine is a residue whose atoms begin at x; the next one of a chain begins 3.8 Å on.
func glycine(chain string, number int, x float64) string {
	text := ""
	for i, atom := range []string{"N", "CA", "C"} {
		text += line{"ATOM", atom, "", "GLY", chain, number, "", x + 1.2*float64(i), 0, 0, 1, atom[:1]}.String()
	}
	return text
}

func read(t *testing.T, text string) *Structure {
	t.Helper()
	s, err := Read([]byte(text), 0)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return s
}

func describe(s *Structure) string {
	var words []string
	for _, r := range s.Residues {
		words = append(words, fmt.Sprintf("%s %d in=%t", r, r.HeavyAtoms, r.InChain))
	}
	return strings.Join(words, ", ")
}

func TestResidues(t *testing.T) {
	t.Parallel()
	het := func(atom, residue string, number int, x float64) line {
		return line{"HETATM", atom, "", residue, "A", number, "", x, 0, 0, 1, atom[:1]}
	}
	inserted := het("C1", "LIG", 52, 50)
	inserted.insertion = "B"
	for _, c := range []struct{ name, text, want string }{
		{"a chain and a ligand", glycine("A", 1, 0) + het("C1", "lig", 7, 30).String() + het("O1", "LIG", 7, 31).String(),
			"GLY A:1 3 in=true, LIG A:7 2 in=false"},
		{"waters are counted apart", glycine("A", 1, 0) + het("O", "HOH", 8, 30).String(), "GLY A:1 3 in=true"},
		{"hydrogens do not count", glycine("A", 1, 0) + het("H1", "LIG", 7, 30).String() + het("C1", "LIG", 7, 31).String(),
			"GLY A:1 3 in=true, LIG A:7 1 in=false"},
		{"nothing but hydrogens", glycine("A", 1, 0) + het("H1", "LIG", 7, 30).String(), "GLY A:1 3 in=true"},
		{"insertion codes", glycine("A", 1, 0) + inserted.String(), "GLY A:1 3 in=true, LIG A:52B 1 in=false"},
		{"a modified residue in a chain", glycine("A", 1, 0) + het("N", "SEP", 2, 3.7).String() + het("C", "SEP",
			2, 5).String() + glycine("A", 3, 6.3),
			"GLY A:1 3 in=true, SEP A:2 2 in=true, GLY A:3 3 in=true"},
		{"a chromophore with names of its own", glycine("A", 1, 0) + het("N1", "CRO", 2, 3.7).String(),
			"GLY A:1 3 in=true, CRO A:2 1 in=true"},
		{"a cap before a chain", het("C", "ACE", 0, -1.3).String() + glycine("A", 1, 0), "ACE A:0 1 in=true, GLY A:1 3 in=true"},
		{"a ligand behind the end of a chain", glycine("A", 1, 0) + het("N", "LIG", 2, 6).String(),
			"GLY A:1 3 in=true, LIG A:2 1 in=false"},
	} {
		if got := describe(read(t, c.text)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	s := read(t, glycine("A", 1, 0)+het("O", "HOH", 8, 30).String()+het("O", "HOH", 9, 33).String())
	if s.Waters["HOH"] != 2 || s.Format != mol.FormatPDB || !slices.Equal(s.Chains, []string{"A"}) {
		t.Errorf("got %+v", s)
	}
}

func TestAlternatesAreChosenByOccupancy(t *testing.T) {
	t.Parallel()
	at := func(letter string, x, occupancy float64) string {
		return line{"HETATM", "C1", letter, "LIG", "A", 7, "", x, 0, 0, occupancy, "C"}.String()
	}
	for _, c := range []struct {
		text string
		x    float64
	}{
		{at("A", 10, 0.4) + at("B", 20, 0.6), 20},
		{at("A", 10, 0.6) + at("B", 20, 0.4), 10},
		{at("B", 20, 0.5) + at("A", 10, 0.5), 10},
	} {
		s := read(t, glycine("A", 1, 0)+c.text)
		if r := s.Residues[1]; r.HeavyAtoms != 1 || r.Center()[0] != c.x {
			t.Errorf("%s: got %+v, want x %g", c.text, r, c.x)
		}
	}
}

func TestModelsAndAssemblies(t *testing.T) {
	t.Parallel()
	text := "REMARK 350 BIOMOLECULE: 1\nREMARK 350 APPLY THE FOLLOWING TO CHAINS: A, B\nREMARK 350                    AND " +
		"CHAINS: C\n" +
		"MODEL        1\n" + glycine("A", 1, 0) + "ENDMDL\nMODEL        4\n" + glycine("B", 1, 40) + "ENDMDL\n"
	s := read(t, text)
	if !slices.Equal(s.Models, []int{1, 4}) || s.Model != 1 || describe(s) != "GLY A:1 3 in=true" {
		t.Errorf("the first model: got %+v", s)
	}
	if len(s.Assemblies) != 1 || s.Assemblies[0].ID != "1" || strings.Join(s.Assemblies[0].Chains, "") != "ABC" {
		t.Errorf("assemblies: got %+v", s.Assemblies)
	}
	s, err := Read([]byte(text), 4)
	if err != nil || s.Model != 4 || describe(s) != "GLY B:1 3 in=true" {
		t.Errorf("the fourth: got %+v, %v", s, err)
	}
	var missing *ModelError
	if _, err := Read([]byte(text), 2); !errors.As(err, &missing) || !slices.Equal(missing.Models, []int{1, 4}) {
		t.Errorf("the second: got %v", err)
	}
}

const cifHead = `data_test
_pdbx_struct_assembly.id 1
loop_
_pdbx_struct_assembly_gen.assembly_id
_pdbx_struct_assembly_gen.asym_id_list
1 A,B
2 C
loop_
_atom_site.group_PDB
_atom_site.id
_atom_site.type_symbol
_atom_site.label_atom_id
_atom_site.label_alt_id
_atom_site.label_comp_id
_atom_site.label_asym_id
_atom_site.label_seq_id
_atom_site.Cartn_x
_atom_site.Cartn_y
_atom_site.Cartn_z
_atom_site.auth_seq_id
_atom_site.auth_asym_id
_atom_site.pdbx_PDB_ins_code
`

func TestCIF(t *testing.T) {
	t.Parallel()
	s := read(t, "# made by hand\n"+cifHead+"ATOM 1 N N . GLY A 1 1.0 2 3(2) 381 X ?\nHETATM 2 C \"C1'\" . LIG C . 1 2 30 500 X "+
		"B\nHETATM 3 N N . SEP A 2 9 9 9 382 X ?\n")
	if got := describe(s); got != "GLY X:381 1 in=true, LIG X:500B 1 in=false, SEP X:382 1 in=true" || s.Format != mol.FormatMMCIF {
		t.Errorf("got %s", got)
	}
	if s.Residues[1].Subchain != "C" || len(s.Assemblies) != 2 || strings.Join(s.Assemblies[0].Chains, "") != "AB" ||
		s.Assemblies[1].ID != "2" {
		t.Errorf("assemblies: got %+v of %+v", s.Assemblies, s.Residues)
	}
	file, err := os.ReadFile("../structures/testdata/1cbs.cif")
	if err != nil {
		t.Fatal(err)
	}
	s = read(t, string(file))
	rea := s.Residues[slices.IndexFunc(s.Residues, func(r Residue) bool { return r.Name == "REA" })]
	if rea.Place != (Place{"A", 200, ""}) || rea.HeavyAtoms != 22 || rea.InChain {
		t.Errorf("retinoic acid: got %+v", rea)
	}
}

func TestPDBQT(t *testing.T) {
	t.Parallel()
	atom := func(record, name, residue string, x float64, kind string) string {
		return fmt.Sprintf("%-6s    1  %-3s %3s A   1    %8.3f   0.000   0.000  1.00  0.00     0.100 %-2s\n", record, name, residue,
			x, kind)
	}
	s := read(t, atom("ATOM", "N", "GLY", 0, "N")+atom("ATOM", "HN", "GLY", 1, "HD")+atom("ATOM", "CA", "GLY", 2, "A"))
	if s.Format != mol.FormatPDBQT || describe(s) != "GLY A:1 2 in=true" {
		t.Errorf("got %s %s", s.Format, describe(s))
	}
	var unreadable *UnreadableError
	if _, err := Read([]byte("ROOT\n"+atom("ATOM", "N", "LIG", 0, "N")+"ENDROOT\nTORSDOF 0\n"), 0); !errors.As(err, &unreadable) ||
		!strings.Contains(unreadable.Reason, "ligand") {
		t.Errorf("a ligand: got %v", err)
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	good := glycine("A", 1, 0)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "is empty"},
		{"white space", " \n\n", "is empty"},
		{"a zip archive", "PK\x03\x04rest", "zip"},
		{"binary", "ATOM\x00\x01", "binary"},
		{"no structure", "hello\n", "has no atoms"},
		{"a web page", "<!DOCTYPE html>\n<html>", "web page"},
		{"FASTA", ">sp|P00519\nMKV\n", "FASTA"},
		{"MOL2", "@<TRIPOS>MOLECULE\nx\n", "MOL2"},
		{"SDF", "x\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n", "SDF"},
		{"mmCIF without atoms", "data_x\n_entry.id x\n", "without atoms"},
		{"mmCIF that is cut off", cifHead + "ATOM 1 N N . GLY A 1 1.0 2", "cut off"},
		{"mmCIF with a wrong number", cifHead + "ATOM 1 N N . GLY A 1 x 2 3 381 X ?\n", "no numbers"},
		{"a short line", good + "ATOM      1  N   GLY A   1\n", "line 4"},
		{"a wrong number", strings.Replace(good, "1.200", "1.2x0", 1), "line 2"},
		{"a coordinate out of range", strings.Replace(good, "   1.200", "99999.00", 1), "out of range"},
		{"no residue number", strings.Replace(good, "A   1 ", "A   ? ", 1), "residue number"},
		{"a damaged gzip file", "\x1f\x8bxxxxxxxxxxxx", "gzip"},
	} {
		_, err := Read([]byte(c.text), 0)
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || !strings.Contains(unreadable.Reason, c.want) {
			t.Errorf("%s: got %v, want it to say %q", c.name, err, c.want)
		}
	}
}

func TestGzip(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(glycine("A", 1, 0))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := Read(packed.Bytes(), 0); err != nil || !s.Compressed || describe(s) != "GLY A:1 3 in=true" {
		t.Errorf("got %+v, %v", s, err)
	}
	packed.Reset()
	w.Reset(&packed)
	for range MaxBytes>>20 + 1 {
		if _, err := w.Write(bytes.Repeat([]byte("ATOM"), 1<<18)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(packed.Bytes(), 0); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a bomb of %d bytes: got %v", packed.Len(), err)
	}
}

func TestHybrid36(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"1": 1, "-5": -5, "9999": 9999, "A000": 10000, "ZZZZ": 1223055, "a000": 1223056} {
		if got, ok := sequenceNumber(text); !ok || got != want {
			t.Errorf("%s: got %d %t, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "x", "A00", "0A00", "A0-0"} {
		if got, ok := sequenceNumber(text); ok {
			t.Errorf("%q: got %d", text, got)
		}
	}
}

func TestDistances(t *testing.T) {
	t.Parallel()
	s := read(t, glycine("A", 1, 0)+glycine("B", 1, 100)+line{"HETATM", "C1", "", "LIG", "B", 7, "", 50, 0, 0, 1, "C"}.String())
	all := func(Residue) bool { return true }
	inA := func(r Residue) bool { return r.Chain == "A" }
	if d, ok := s.Distance(Point{1, 0, 0}, Point{1, 1, 1}, all); !ok || d != 0 {
		t.Errorf("around an atom: got %g %t", d, ok)
	}
	if d, ok := s.Distance(Point{100, 10, 0}, Point{4, 4, 4}, inA); !ok || math.Abs(d-math.Hypot(100-2.4-2, 8)) > 1e-4 {
		t.Errorf("from chain A: got %g %t", d, ok)
	}
	if _, ok := s.Distance(Point{}, Point{1, 1, 1}, func(Residue) bool { return false }); ok {
		t.Error("from nothing there is a distance")
	}
	if low, high := s.Extent(inA); low[0] != 0 || math.Abs(high[0]-2.4) > 1e-4 {
		t.Errorf("chain A spans %v to %v", low, high)
	}
}

func TestBonds(t *testing.T) {
	t.Parallel()
	at := func(component string, number int, x float64, element string) string {
		return line{"HETATM", element + "1", "", component, "A", number, "", x, 3, 0, 1, element}.String()
	}
	s := read(t, glycine("A", 1, 0)+at("ONE", 7, 10, "C")+at("TWO", 8, 11.8, "C")+at("SUL", 9, 20, "S")+at("FUR", 10, 22.2,
		"S")+at("CAR", 11, 17.8, "C")+at("ZN", 12, 8.2, "ZN"))
	bonded := func(i int) string {
		var names []string
		for _, r := range s.Bonded(s.Residues[i], func(Residue) bool { return true }) {
			names = append(names, r.Name)
		}
		return strings.Join(names, " ")
	}
	for i, want := range []string{"", "TWO", "ONE", "FUR", "SUL", "", ""} {
		if got := bonded(i); got != want {
			t.Errorf("%s is bonded to %q, want %q", s.Residues[i], got, want)
		}
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	free := strings.ReplaceAll(glycine("B", 1, 50), "ATOM  ", "HETATM")
	s := read(t, glycine("A", 1, 0)+glycine("A", 2, 3.7)+line{"HETATM", "N1", "", "CRO", "A", 3, "", 7.4, 0, 0, 1,
		"N"}.String()+glycine("C", 9, 30)+free)
	var got []string
	for _, r := range s.Residues {
		got = append(got, fmt.Sprintf("%s member=%t in=%t het=%t", r, r.Member, r.InChain, r.Het))
	}
	want := []string{"GLY A:1 member=true in=true het=false", "GLY A:2 member=true in=true het=false",
		"CRO A:3 member=false in=true het=true",
		"GLY C:9 member=false in=true het=false", "GLY B:1 member=false in=false het=true"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// FuzzRead looks for bytes that end the program, that never end, or whose residues lie outside their own extents.
func FuzzRead(f *testing.F) {
	f.Add([]byte(glycine("A", 1, 0)), 0)
	f.Add([]byte("MODEL 2\n"+glycine("A", 1, 0)+"REMARK 350 BIOMOLECULE: 1\nREMARK 350 CHAINS: A,B\n"), 2)
	f.Add([]byte(cifHead+"ATOM 1 N N . GLY A 1 1.0 2 3 381 X ?\n"), 0)
	f.Add([]byte("ATOM      1  N   GLY A   1       0.000   0.000   0.000  1.00  0.00     0.100 N \n"), 1)
	f.Add([]byte("x\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C\n"), 0)
	f.Add([]byte("@<TRIPOS>MOLECULE\nx\n@<TRIPOS>ATOM\n1 C1 0 0 0 C.3\n"), 0)
	f.Fuzz(func(t *testing.T, content []byte, model int) {
		if s, err := Read(content, model); err == nil {
			for _, r := range s.Residues {
				for i, c := range r.Center() {
					if r.HeavyAtoms < 1 || !(r.Low[i] <= c && c <= r.High[i]) {
						t.Errorf("residue %+v", r)
					}
				}
			}
			s.Distance(Point{}, Point{1, 1, 1}, func(Residue) bool { return true })
		}
		if m, err := ReadMolecule(content); err == nil && (m.HeavyAtoms < 1 || m.HeavyAtoms > MaxMoleculeAtoms) {
			t.Errorf("molecule %+v", m)
		}
	})
}
