package coordinates

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/mol"
)

const v3000 = "x\n\n\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN CTAB\nM  V30 COUNTS 3 2 0 0 0\nM  V30 BEGIN ATOM\n" +
	"M  V30 1 C 1 2 3 0\nM  V30 2 O 2 4 6 0\nM  V30 3 H 90 90 90 0\nM  V30 END ATOM\nM  V30 BEGIN BOND\nM  V30 1 1 1 2\nM  V30 2 " +
	"1 1 3\nM  V30 END BOND\nM  V30 END CTAB\nM  END\n$$$$\n"

func TestReadMolecule(t *testing.T) {
	t.Parallel()
	folder := "../../engines/vina/testdata/"
	file := func(name string) string {
		content, err := os.ReadFile(folder + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	for _, c := range []struct {
		name, text, format string
		heavy, molecules   int
		low                float64 // least x of a heavy atom
	}{
		{"SDF", file("lactic-acid.sdf"), mol.FormatSDF, 6, 1, math.NaN()},
		{"two records", file("lactic-acid.sdf") + file("lactic-acid.sdf"), mol.FormatSDF, 6, 2, math.NaN()},
		{"V3000", v3000, mol.FormatSDF, 2, 1, 1},
		{"MOL2", file("acetamide.mol2"), mol.FormatMOL2, 4, 1, math.NaN()},
		{"PDBQT with branches", file("paracetamol.pdbqt"), mol.FormatPDBQT, 11, 1, math.NaN()},
		{"PDB", line{"HETATM", "C1", "", "LIG", "A", 7, "", 5, 0, 0, 1, "C"}.String() + line{"HETATM", "O", "", "HOH", "A", 8, "",
			-50, 0, 0, 1, "O"}.String(), mol.FormatPDB, 1, 1, 5},
		{"mmCIF", cifHead + "HETATM 1 C C1 . LIG A . 4 2 3 1 X ?\nHETATM 2 C C2 . LIG A . 5 2 3 1 X ?\n", mol.FormatMMCIF, 2, 1, 4},
	} {
		m, err := ReadMolecule([]byte(c.text))
		if err != nil || m.Format != c.format || m.HeavyAtoms != c.heavy || m.Molecules != c.molecules || !math.IsNaN(c.low) &&
			m.Low[0] != c.low {
			t.Errorf("%s: got %+v, %v", c.name, m, err)
		}
	}
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "is empty"},
		{"no molecule", "hello\nworld\n", "no molecule"},
		{"a protein", strings.Repeat(glycine("A", 1, 0), 40), "120 heavy atoms"},
		{"without coordinates", "x\n\n\n  2  0  0  0  0  0  0  0  0  0999 V2000\n" +
			strings.Repeat("    0.0000    0.0000    0.0000 C  \n", 2), "one place"},
		{"cut off", "x\n\n\n  9  0  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C  \n", "ends before"},
		{"a wrong number", "x\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    0.0o00    0.0000    0.0000 C  \n", "line 5"},
		{"a wrong number in MOL2", "@<TRIPOS>ATOM\n1 C1 a 0 0 C.3\n", "cannot be read"},
	} {
		_, err := ReadMolecule([]byte(c.text))
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || !strings.Contains(unreadable.Reason, c.want) {
			t.Errorf("%s: got %v, want it to say %q", c.name, err, c.want)
		}
	}
}
