package scene

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/scene/contacts"
)

// TestContactsOfEntries: what papers on these structures say. 1CBS: retinoic acid's carboxylate is held by Arg132 and Tyr134, and
// by Arg111 across a water (G. J. Kleywegt et al., Structure 2, 1241, 1994). 1IEP: imatinib's six hydrogen bonds (B. Nagar et al.,
// Cancer Res. 62, 4236, 2002). 1ATP: lysine 72 and 168, the ribose on Glu127 and Glu170, two metals (J. Zheng et al., Acta Cryst. D
// 49, 362, 1993).
func TestContactsOfEntries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source, of string
		want       []string
	}{
		{"pdb:1CBS", "ligand", []string{"3 hydrogen bonds: TYR134 OH–REA O1 2.6 Å, ARG132 NH2–REA O1 2.7 Å", "2 water bridges: ",
			"ARG111 NH2–HOH 309–REA O2", "salt bridges: ARG132–REA 2.7 Å", "15 hydrophobic contacts: ", "ILE31–REA 4.0 Å and 7 " +
				"more",
			"Sticks were added for PHE15, ", "Atoms were added for HOH 309."}},
		{"pdb:1IEP", "ligand", []string{"ILE360 O–STI", "HIS361 O–STI", "THR315 OG1–STI", "MET318 N–STI", "ASP381 N–STI",
			"GLU286 OE2–STI",
			"7 hydrogen bonds: ", "2 π stacking contacts: TYR253–STI"}},
		{"pdb:1ATP", "resn ATP", []string{"GLU127(E) OE2–ATP O2' 2.6 Å", "GLU170(E) O–ATP O3'", "LYS72(E)–ATP 2.5 Å",
			"LYS168(E)–ATP",
			"4 bonds to metals: MN 352(E) MN–ATP O2A 2.0 Å"}},
		{"pdb:1ATP", "resn MN and resi 351", []string{"bonds to metals: ", "ASP184(E) OD2–MN 351(E) MN", "HOH"}},
		{"pdb:2IEP", "resn STI and chain B", []string{"MET318(B) N–STI 201(B) N1"}},
	} {
		m, files := loadedFrom(t, c.source)
		next, outcomes := applied(t, files, m, `[{"op":"interactions","args":{"of":"`+c.of+`","labels":true}}]`)
		for _, want := range c.want {
			if !strings.Contains(outcomes[0].Text, want) {
				t.Errorf("%s, %s: there is no %q in\n%s", c.source, c.of, want, outcomes[0].Text)
			}
		}
		warned := strings.Join(outcomes[0].Warnings, " ")
		if strings.Contains(outcomes[0].Text, "hydrogen bond") && !strings.Contains(warned, "no hydrogens") {
			t.Errorf("%s, %s: nobody said that there are no hydrogens: %q", c.source, c.of, warned)
		}
		compiled(t, files, next, CompileOptions{})
	}
}

// TestContactsAreSeen: residues at the other end are drawn as sticks once, beside what they are drawn as already, and what is seen
// as atoms stays as it is.
func TestContactsAreSeen(t *testing.T) {
	t.Parallel()
	m, files := loadedFrom(t, "pdb:1CBS")
	const bonds = `{"op":"interactions","args":{"of":"ligand","types":["hydrogen_bond"]}}`
	for _, c := range []struct{ name, list, text, want string }{
		{"sticks", `[` + bonds + `]`, "Sticks were added for ARG132, TYR134.", "protein: cartoon|ligand: ball_and_stick|chain A " +
			"and resi 132+134: stick"},
		{"twice", `[` + bonds + `,` + bonds + `]`, "REA O1 3.2 Å.", "protein: cartoon|ligand: ball_and_stick|chain A and resi " +
			"132+134: stick"},
		{"lines are enough", `[{"op":"show","args":{"sel":"protein","as":"line"}},` + bonds + `]`, "REA O1 3.2 Å.",
			"ligand: ball_and_stick|protein: line"},
		{"what was hidden", `[{"op":"hide","args":{"sel":"ligand"}},` + bonds + `]`, "Atoms were added for REA.",
			"protein: cartoon|chain A and resi 132+134: stick|ligand: ball_and_stick"},
		{"a backbone alone is no side " +
			"chain", `[{"op":"isolate","args":{"sel":"ligand"}},{"op":"show","args":{"sel":"backbone","as":"stick"}},` + bonds +
			`]`,
			"Sticks were added for ARG132, TYR134.", "ligand: ball_and_stick|backbone or chain A and resi 132+134: stick"},
		{"a water between", `[{"op":"interactions","args":{"of":"ligand","types":["water_bridge"]}}]`,
			"Atoms were added for HOH 309.", "protein: cartoon|ligand: ball_and_stick|chain A and resi 54+111: stick|water and " +
				"chain A and resi 309: ball_and_stick"},
		{"nothing", `[{"op":"interactions","args":{"of":"ligand","types":["halogen_bond"]}}]`, "No contacts of ligand were found.",
			"protein: cartoon|ligand: ball_and_stick"},
	} {
		next, outcomes := applied(t, files, m, c.list)
		if got := outcomes[len(outcomes)-1].Text; !strings.HasSuffix(got, c.text) {
			t.Errorf("%s: got %q, want …%q", c.name, got, c.text)
		}
		if got := strings.Join(looks(next), "|"); got != c.want {
			t.Errorf("%s: got  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestContactLines: a line for two contacts of one pair of atoms, one with a bend at a water, and lengths where they are asked for.
func TestContactLines(t *testing.T) {
	t.Parallel()
	m, files := loadedFrom(t, "pdb:1CBS")
	next, _ := applied(t, files, m, `[{"op":"interactions","args":{"of":"ligand","types":["hydrogen_bond","salt_bridge","water_bridge"],"labels":true}}]`)
	text := compiled(t, files, next, CompileOptions{})
	for want, n := range map[string]int{
		`"kind":"tube"`: 3 + 1 + 2*2, `"label_size":1,`: 3 + 1 + 2*2, `"tooltip":"hydrogen bond ARG132 NH2–REA O1 2.7 Å; salt bridge ARG132–REA 2.7 Å"`: 1,
		`"tooltip":"water bridge ARG111 NH2–HOH 309–REA O2 4.3 Å"`: 2, `"text":"2.6 Å"`: 1,
	} {
		if got := strings.Count(text, want); got != n {
			t.Errorf("%s stands %d times, want %d", want, got, n)
		}
	}
	if next, _ = applied(t, files, m, `[{"op":"interactions","args":{"of":"ligand"}}]`); strings.Contains(compiled(t, files, next,
		CompileOptions{}), "label_size") {
		t.Error("lengths that nobody asked for")
	}
}

// TestContactColors: they are those of the docking's pictures, and each type has one, and a name.
func TestContactColors(t *testing.T) {
	t.Parallel()
	program, err := os.ReadFile("../../engines/vina/programs/picture_scene.py")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`"([a-z_]+)": Kind\("[^"]+", "(#[0-9a-f]{6})"\)`).FindAllStringSubmatch(string(program), -1)
	if len(kinds) != len(contacts.Types) {
		t.Fatalf("the docking's pictures have %d kinds, there are %d types", len(kinds), len(contacts.Types))
	}
	for _, kind := range kinds {
		if contactColors[kind[1]] != kind[2] || contactNouns[kind[1]] == "" {
			t.Errorf("%s is %s, want %s", kind[1], contactColors[kind[1]], kind[2])
		}
	}
}

// BenchmarkContacts finds the contacts of ATP in 1ATP, 3,070 atoms.
func BenchmarkContacts(b *testing.B) {
	table := structureOf(b, sample1ATP).Table(0)
	of := table.resolveText("resn ATP")
	with := table.all().less(of)
	for b.Loop() {
		table.find(of, with, nil)
	}
}
