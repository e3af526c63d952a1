package vina

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// around is a box that holds everything of a small piece of a structure.
var around = fields{"source": "explicit", "centerAngstrom": []float64{0, 0, 0}, "sizeAngstrom": []float64{400, 400, 400}}

// typesOf are the AutoDock types of a residue's atoms by their names, hydrogens left out.
func typesOf(pdbqt []byte, chain string, number int) map[string]string {
	types := map[string]string{}
	for line := range strings.Lines(string(pdbqt)) {
		if strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM") {
			if line[21:22] == chain && strings.TrimSpace(line[22:26]) == strconv.Itoa(number) &&
				!strings.HasPrefix(strings.TrimSpace(line[77:]), "H") {
				types[strings.TrimSpace(line[12:16])] = strings.TrimSpace(line[77:])
			}
		}
	}
	return types
}

// molecules are what serials.json says of the residues that stay as they are.
type molecules struct {
	Molecules []struct {
		Residue int
		Bonds   [][3]any
		Charges map[string]int
	}
}

// TestHaemStays wants a haem kept with its iron on a cysteine's sulfur, which has given its hydrogen, and what came with the
// crystal gone.
func TestHaemStays(t *testing.T) {
	t.Parallel()
	run := prepareReceptor(t, readFile(t, "testdata/haem-site.pdb"), fields{
		"box":             fields{"source": "pocketLigand", "componentId": "WS7", "chain": "A", "residue": 800},
		"nativeReference": fields{"componentId": "WS7", "chain": "A", "residue": 800},
		"components":      fields{"WS7": fields{"smiles": "C[C@]12CCCCC1=Nc1c(nc(N)[nH]c1=O)N2"}},
	}, nil)
	wantEqual(t, "components", sited(run.report()), []string{
		"A:ACT860 removed: --keep ACT (receptorPreparation.retainComponents)",
		"A:ARG700 removed: --keep ARG (receptorPreparation.retainComponents)",
		"A:HEM500 kept: --remove HEM (receptorPreparation.removeComponents)",
		"A:WS7800 removed: --keep WS7 (receptorPreparation.retainComponents)",
	})
	types := typesOf(run.output("receptor.pdbqt"), "A", 500)
	for name, want := range map[string]string{"FE": "Fe", "NA": "N", "NB": "N", "NC": "N", "ND": "N", "O1A": "OA", "CHA": "A",
		"CMA": "C"} {
		if types[name] != want {
			t.Errorf("atom %s of the haem has the type %q, want %s", name, types[name], want)
		}
	}
	if atoms := atomsOf(run.output("receptor.pdb"), "A", 186, ""); !slices.Contains(atoms, "SG") || slices.Contains(atoms, "HG") {
		t.Errorf("CYS 186, which binds the iron, has the atoms %v", atoms)
	}
	var known molecules
	run.read("serials.json", &known)
	i := slices.IndexFunc(known.Molecules, func(m struct {
		Residue int
		Bonds   [][3]any
		Charges map[string]int
	},
	) bool {
		return m.Residue == 500
	})
	if i < 0 || len(known.Molecules[i].Charges) != 4 || len(known.Molecules[i].Bonds) < 46 {
		t.Errorf("got the molecules %+v, want the haem's with two carboxylates and two nitrogens charged", known.Molecules)
	}
	checkNative(t, run, 17)
}

// TestPyridoxalStaysOnItsLysine wants the imine of PLP and a lysine: neither has hydrogens there, and the lysine is told to stay as
// it stands.
func TestPyridoxalStaysOnItsLysine(t *testing.T) {
	t.Parallel()
	run := prepareReceptor(t, readFile(t, "testdata/plp-lysine.pdb"), fields{"box": around}, nil)
	run.wantNote("kept as it stands, because it is bonded to PLP 413 of chain A: LYS 258 of chain A")
	pdb := string(run.output("receptor.pdb"))
	var hydrogens []string
	at := func(chain string, number int, name string) (place [3]float64) {
		for line := range strings.Lines(pdb) {
			if len(line) > 54 && line[21:22] == chain && strings.TrimSpace(line[22:26]) == strconv.Itoa(number) &&
				strings.TrimSpace(line[12:16]) == name {
				place = position(t, line)
			}
		}
		return place
	}
	nitrogen, carbon := at("A", 258, "NZ"), at("A", 413, "C4A")
	for line := range strings.Lines(pdb) {
		if len(line) > 78 && strings.TrimSpace(line[76:78]) == "H" && distance(position(t, line), nitrogen) < 1.2 {
			hydrogens = append(hydrogens, line)
		}
	}
	if d := distance(nitrogen, carbon); d > 1.5 || len(hydrogens) != 0 {
		t.Errorf("NZ lies %.2f Å from C4A and has the hydrogens %q; it is an imine's", d, hydrogens)
	}
}

func position(t *testing.T, line string) (place [3]float64) {
	t.Helper()
	for i := range place {
		value, err := strconv.ParseFloat(strings.TrimSpace(line[30+8*i:38+8*i]), 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		place[i] = value
	}
	return place
}

func distance(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// TestZincKeepsItsHistidines wants no hydrogen between a zinc ion and the nitrogens that bind it.
func TestZincKeepsItsHistidines(t *testing.T) {
	t.Parallel()
	run := prepareReceptor(t, readFile(t, "testdata/zinc-site.pdb"), fields{"box": around}, nil)
	pdb := string(run.output("receptor.pdb"))
	var zincs [][3]float64
	for line := range strings.Lines(pdb) {
		if strings.HasPrefix(line, "HETATM") && strings.TrimSpace(line[76:78]) == "ZN" {
			zincs = append(zincs, position(t, line))
		}
	}
	if len(zincs) != 2 {
		t.Fatalf("the prepared receptor has %d zinc ions, want 2", len(zincs))
	}
	for line := range strings.Lines(pdb) {
		if len(line) < 78 || strings.TrimSpace(line[76:78]) != "H" {
			continue
		}
		for _, zinc := range zincs {
			if d := distance(position(t, line), zinc); d < 2.2 {
				t.Errorf("%.26s lies %.2f Å from a zinc ion", line, d)
			}
		}
	}
}

// TestBrokenReceptorsArePrepared wants a whole job from what used to end it.
func TestBrokenReceptorsArePrepared(t *testing.T) {
	t.Parallel()
	whole := string(readFile(t, peptide))
	for _, c := range []struct{ name, receptor, method, note string }{
		{"a stub at the end", string(readFile(t, "testdata/stub-at-end.pdb")), "pdb2pqr-propka",
			"trimmed, because no more than a stub of the backbone was seen: THR 433 of chain B"},
		{"a backbone with a hole", without(whole, "C", 6), "pdb2pqr-propka",
			fmt.Sprintf("kept as it stands, because its backbone was not seen whole: %s", residueAt(whole, 6))},
		{"a distorted side chain", pulled(whole, "CB", 7), "pdb2pqr-propka", ""},
		{"a distorted side chain, by Meeko", pulled(whole, "CB", 7), "meeko", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := prepareReceptor(t, []byte(c.receptor), fields{"box": around,
				"preparation": fields{"protonationMethod": c.method}}, nil)
			if c.note != "" {
				run.wantNote(c.note)
			}
			for line := range strings.Lines(c.receptor) {
				if !strings.HasPrefix(line, "ATOM") || strings.TrimSpace(line[12:16]) != "CA" {
					continue
				}
				if number, _ := strconv.Atoi(strings.TrimSpace(line[22:26])); !slices.Contains(atomsOf(run.output("receptor.pdbqt"),
					line[21:22], number, ""), "CA") {
					t.Errorf("%s is not in the prepared receptor: %q", line[17:26], run.report().Notes)
				}
			}
		})
	}
}

func residueAt(pdb string, number int) string {
	for line := range strings.Lines(pdb) {
		if strings.HasPrefix(line, "ATOM") && strings.TrimSpace(line[22:26]) == strconv.Itoa(number) {
			return fmt.Sprintf("%s %d of chain %s", line[17:20], number, line[21:22])
		}
	}
	return ""
}

// without is a structure without an atom of a residue, and without all hydrogens.
func without(pdb, atom string, number int) string {
	return edited(pdb, func(name string, residue int, line string) string {
		if name == atom && residue == number {
			return ""
		}
		return line
	})
}

// pulled is a structure with an atom of a residue 2.5 Å away from its place, and without all hydrogens.
func pulled(pdb, atom string, number int) string {
	return edited(pdb, func(name string, residue int, line string) string {
		if name != atom || residue != number {
			return line
		}
		x, _ := strconv.ParseFloat(strings.TrimSpace(line[30:38]), 64)
		return line[:30] + fmt.Sprintf("%8.3f", x+2.5) + line[38:]
	})
}

func edited(pdb string, change func(name string, residue int, line string) string) string {
	var b strings.Builder
	for line := range strings.Lines(pdb) {
		if strings.HasPrefix(line, "ATOM") {
			name := strings.TrimSpace(line[12:16])
			number, _ := strconv.Atoi(strings.TrimSpace(line[22:26]))
			if strings.HasPrefix(strings.TrimLeft(name, "0123456789"), "H") {
				continue
			}
			line = change(name, number, line)
		}
		b.WriteString(line)
	}
	return b.String()
}

// TestStructuralWaters wants the waters that are held in three places, and no others.
func TestStructuralWaters(t *testing.T) {
	t.Parallel()
	site := readFile(t, "testdata/haem-site.pdb")
	all := bytes.Count(site, []byte("HOH"))
	run := prepareReceptor(t, site, fields{"box": around, "preparation": fields{"waters": "structural"}}, nil)
	waters := run.report().Waters
	if got := strings.Count(string(run.output("receptor.pdbqt")), "OA"); waters.Kept == 0 || waters.Removed == 0 ||
		waters.Kept+waters.Removed != all || got < waters.Kept {
		t.Errorf("of %d waters %d are kept and %d removed, want some of each", all, waters.Kept, waters.Removed)
	}
	if none := prepareReceptor(t, site, fields{"box": around}, nil).report().Waters; none.Kept != 0 || none.Removed != all {
		t.Errorf("without the option %d waters stay of %d", none.Kept, all)
	}
}
