package scene

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/molviewspec"
)

// pdbLine is an atom of a made file.
func pdbLine(record, name, residue, chain string, number int, code string, x, b float64, element string) string {
	return fmt.Sprintf("%-6s%5d %-4s %3s %1s%4d%1s   %8.3f%8.3f%8.3f%6.2f%6.2f          %2s\n", record, 1, name, residue, chain,
		number, code, x, 0.0, 0.0, 1.0, b, element)
}

func made(t *testing.T, text string) *Structure {
	t.Helper()
	s, err := ReadStructure([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestKinds: what no file says is told by names and atoms.
func TestKinds(t *testing.T) {
	t.Parallel()
	s := made(t, pdbLine("ATOM", "CA", "ALA", "A", 1, "", 0, 5, "C")+pdbLine("HETATM", "CA", "MSE", "A", 2, "", 4, 5, "C")+
		pdbLine("ATOM", "C1'", "DA", "B", 1, "", 20, 5, "C")+pdbLine("HETATM", "ZN", "ZN", "A", 101, "", 30, 5, "ZN")+
		pdbLine("HETATM", "C1", "GOL", "A", 102, "", 40, 5, "C")+pdbLine("HETATM", "O1", "GOL", "A", 102, "", 41, 5, "O")+
		pdbLine("HETATM", "C1", "NAG", "A", 103, "", 50, 5, "C")+pdbLine("HETATM", "O", "HOH", "A", 104, "", 60, 5, "O")+
		pdbLine("HETATM", "C1", "STI", "A", 105, "", 70, 5, "C")+pdbLine("HETATM", "C2", "STI", "A", 105, "", 71, 5, "C")+
		// a modified residue that no table knows, bonded to its neighbour
		pdbLine("ATOM", "C", "ALA", "C", 1, "", 80, 5, "C")+pdbLine("HETATM", "N", "XYZ", "C", 2, "", 81.3, 5, "N")+
		pdbLine("HETATM", "CX", "XYZ", "C", 2, "", 82, 5, "C"))
	got := map[string]Kind{}
	for _, r := range s.Table(0).Residues {
		got[r.Name] = r.Kind
	}
	want := map[string]Kind{"ALA": Protein, "MSE": Protein, "DA": Nucleic, "ZN": Ion, "GOL": Additive, "NAG": Branched,
		"HOH": Water, "STI": Ligand, "XYZ": Protein}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	table := s.Table(0)
	for text, atoms := range map[string]int{"ligand": 2, "resn GOL": 2, "resi 104": 1, "chain A": 8, "not protein": 7, "metal": 1} {
		if n := table.Resolve(selected(t, text)).Count(); n != atoms {
			t.Errorf("%s: %d atoms, want %d", text, n, atoms)
		}
	}
	if selector := table.selector(table.Resolve(selected(t, "ligand"))); reflect.DeepEqual(selector, "ligand") {
		t.Error("the renderer's ligand, which holds glycerol, stands for ours")
	}
}

func TestInsertionCodes(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i, place := range []struct {
		number int
		code   string
	}{{51, ""}, {52, ""}, {52, "A"}, {52, "B"}, {53, ""}} {
		text.WriteString(pdbLine("ATOM", "CA", "GLY", "H", place.number, place.code, float64(4*i), 5, "C"))
		text.WriteString(pdbLine("ATOM", "N", "GLY", "H", place.number, place.code, float64(4*i)+1, 5, "N"))
	}
	table := made(t, text.String()).Table(0)
	for text, residues := range map[string]int{
		"resi 52": 1, "resi 52A": 1, "resi 51-53": 5, "resi 52-53": 4, "resi 52A-52B": 2, "resi 51+52B": 2,
	} {
		set := table.Resolve(selected(t, text))
		if n := len(table.touched(set)); n != residues {
			t.Errorf("%s: %d residues, want %d", text, n, residues)
		}
		if spelled := table.spell(set); !table.resolveText(spelled).equal(set) {
			t.Errorf("%s is spelled %s", text, spelled)
		}
	}
}

// TestGeometryFindsHelices: on an entry whose helices and strands are stated, the geometry of the Cα agrees for most residues.
func TestGeometryFindsHelices(t *testing.T) {
	t.Parallel()
	for _, path := range []string{sample1CBS, sample1ATP} {
		s := structureOf(t, path)
		stated := s.Table(0)
		other := *stated
		other.Residues = append([]Residue(nil), stated.Residues...)
		for i := range other.Residues {
			other.Residues[i].Secondary = Loop
		}
		other.secondaryByGeometry()
		counts := map[[2]Secondary]int{}
		for i, r := range stated.Residues {
			if r.Kind == Protein {
				counts[[2]Secondary{r.Secondary, other.Residues[i].Secondary}]++
			}
		}
		agreed := counts[[2]Secondary{Loop, Loop}] + counts[[2]Secondary{Helix, Helix}] + counts[[2]Secondary{Strand, Strand}]
		all := len(stated.Components(Protein))
		swapped := counts[[2]Secondary{Helix, Strand}] + counts[[2]Secondary{Strand, Helix}]
		if float64(agreed) < 0.7*float64(all) || swapped > 0 || !s.Stated {
			t.Errorf("%s: %d of %d residues agree, %d are swapped: %v", s.ID, agreed, all, swapped, counts)
		}
	}
}

func TestModelsAndPredictions(t *testing.T) {
	t.Parallel()
	model := func(n int, x float64) string {
		text := fmt.Sprintf("MODEL     %4d\n", n)
		for i := range 4 {
			text += pdbLine("ATOM", "CA", "GLY", "A", i+1, "", x+float64(4*i), float64(20*i+30), "C")
		}
		return text + "ENDMDL\n"
	}
	s := made(t, "TITLE     ALPHAFOLD MONOMER V2.0 PREDICTION FOR NOTHING\n"+model(1, 0)+model(2, 100))
	files := Files{"alphafold:P00000": {Structure: s, URL: "model.pdb"}}
	m, _ := applied(t, files, NewModel(), `[{"op":"load","args":{"source":"alphafold:P00000"}},{"op":"preset","args":{"name":"plddt"}}]`)
	if text := compiled(t, files, m, CompileOptions{}); !strings.Contains(text, `"colors":[["#ff7d45",0],["#ffdb13",50]`) {
		t.Errorf("the confidence has other colours: %s", text)
	}
	m, _ = applied(t, files, m, `[{"op":"structure","args":{"model":2}},{"op":"measure","args":{"kind":"distance","between":["resi 1","resi 3"]}}]`)
	if text := compiled(t, files, m, CompileOptions{}); !strings.Contains(text, `"model_index":1`) || !strings.Contains(text, `"start":[100,0,0]`) {
		t.Errorf("the second model is not shown: %s", text)
	}
	m, _ = applied(t, files, m, `[{"op":"structure","args":{"all_models":true}}]`)
	text := compiled(t, files, m, CompileOptions{})
	if n := strings.Count(text, `"kind":"structure"`); n != 2 || !strings.Contains(text, `"ref":"layer-2-model-2"`) {
		t.Errorf("there are %d structures: %s", n, text)
	}
	_, outcomes := applied(t, files, m, `[{"op":"color","args":{"sel":"polymer","by":"bfactor"}}]`)
	if len(outcomes[0].Warnings) != 1 {
		t.Errorf("nobody said that the B factors are none: %v", outcomes)
	}
}

// TestPredictionsBySource: a file of the AlphaFold database that does not say so holds a prediction all the same.
func TestPredictionsBySource(t *testing.T) {
	t.Parallel()
	s := structureOf(t, sample1CBS)
	for source, can := range map[string]bool{"alphafold:P29373": true, "pdb:1CBS": false} {
		files := Files{source: {Structure: s, URL: "model.cif"}}
		m, _ := applied(t, files, NewModel(), `[{"op":"load","args":{"source":"`+source+`"}}]`)
		if _, _, err := Apply(m, files, []Operation{Do(Preset{Name: "plddt"})}); (err == nil) != can {
			t.Errorf("%s: got %v", source, err)
		}
	}
}

// TestContactsOfATable: what came with a pose is drawn, by types.
func TestContactsOfATable(t *testing.T) {
	t.Parallel()
	s := *structureOf(t, sample1CBS)
	ligand := Place{Chain: "A", Number: 200}
	s.Contacts = []Contact{
		{Type: "hydrogen_bond", From: ligand, FromAtom: "O1", To: Place{Chain: "A", Number: 134}, ToAtom: "OH", DistanceAngstrom: 2.57},
		{Type: "hydrophobic", From: ligand, FromAtom: "C4", To: Place{Chain: "A", Number: 15}, ToAtom: "CZ", DistanceAngstrom: 3.9},
	}
	files := Files{"pose:p1": {Structure: &s, URL: "pose.cif"}}
	m, _ := applied(t, files, NewModel(), `[{"op":"load","args":{"source":"pose:p1"}}]`)
	for list, want := range map[string]string{
		`[{"op":"interactions","args":{"of":"ligand"}}]`:                                       "1 hydrogen bond: TYR134 OH–REA O1 2.6 Å; 1 hydrophobic contact: PHE15–REA 3.9 Å. Sticks were added for PHE15, TYR134.",
		`[{"op":"interactions","args":{"of":"ligand","types":["hydrophobic","pi_stacking"]}}]`: "1 hydrophobic contact: PHE15–REA 3.9 Å. Sticks were added for PHE15.",
		`[{"op":"interactions","args":{"of":"ligand","with":"resi 134"}}]`:                     "1 hydrogen bond: TYR134 OH–REA O1 2.6 Å. Sticks were added for TYR134.",
		`[{"op":"interactions","args":{"of":"resi 134"}}]`:                                     "1 hydrogen bond: REA O1–TYR134 OH 2.6 Å. Sticks were added for TYR134.",
		`[{"op":"describe","args":{"about":"interactions","sel":"ligand"}}]`:                   "2 contacts: 1 hydrogen bond: TYR134 OH–REA O1 2.6 Å; 1 hydrophobic contact: PHE15–REA 3.9 Å.",
	} {
		next, outcomes := applied(t, files, m, list)
		if outcomes[0].Text != want || len(outcomes[0].Warnings) > 0 {
			t.Errorf("%s: got %+v, want %s", list, outcomes[0], want)
		}
		compiled(t, files, next, CompileOptions{})
	}
}

func TestColorsHaveValues(t *testing.T) {
	t.Parallel()
	values := colorValues()
	if len(values) != 155 || values["firebrick"] != 0xb22222 || values["white"] != 0xffffff {
		t.Errorf("%d colours, firebrick is %06x", len(values), values["firebrick"])
	}
	for name := range values {
		if !molviewspec.IsColor(name) {
			t.Errorf("%s is no colour of the format", name)
		}
	}
}
