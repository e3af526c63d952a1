package scene

import (
	"strings"
	"testing"
	"time"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, args, want string }{
		{"pdb:1ATP", `"about":"chains"`, "pdb:1ATP has 2 chains: E (protein, 336 residues, 15-350), I (protein, 20 residues, 5-24)."},
		{"pdb:1ATP", `"about":"ligands"`, "pdb:1ATP has ligands ATP E:355; ions MN E:351, MN E:352."},
		{"pdb:1CBS", `"about":"waters"`, "pdb:1CBS has 100 water molecules."},
		{"pdb:1CBS", `"about":"sequence","sel":"resi 1-10"`, "A: PNFSGNWKII"},
		{"pdb:1CBS", `"about":"selection","sel":"resi 132+134"`, "resi 132+134 is 2 residues with 23 atoms: Arg132, Tyr134."},
		{"pdb:1ATP", `"about":"selection","sel":"resn ATP"`, "resn ATP is 1 residue with 31 atoms: ATP 355 (E)."},
		{"pdb:1CBS", `"about":"scene"`, "Shown: protein as cartoon, ligand as ball and stick."},
		{"pdb:1CBS", `"about":"interactions"`, "contacts: 3 hydrogen bonds: TYR134 OH–REA O1 2.6 Å, ARG132 NH2–REA O1 2.7 Å"},
		{"pdb:1CBS", `"about":"distance","between":["resi 134 and name OH","resi 200 and name O1"]`, "2.57 Å."},
		{"pdb:1CBS", `"about":"help"`, "Load a structure"},
	} {
		m, files := loadedFrom(t, c.source)
		next, outcomes := applied(t, files, m, `[{"op":"describe","args":{`+c.args+`}}]`)
		if !strings.Contains(outcomes[0].Text, c.want) {
			t.Errorf("%s: got %q, want %q", c.args, outcomes[0].Text, c.want)
		}
		if compiled(t, files, next, CompileOptions{}) != compiled(t, files, m, CompileOptions{}) {
			t.Errorf("%s has changed the scene", c.args)
		}
	}
}

// TestSnapshotsAreStates: what was kept comes before what is seen, with the way from one to the next.
func TestSnapshotsAreStates(t *testing.T) {
	t.Parallel()
	m, files := loadedFrom(t, "pdb:1CBS")
	m, _ = applied(t, files, m, `[{"op":"focus","args":{"sel":"ligand"}},{"op":"snapshot","args":{"title":"close-up"}},{"op":"reset","args":{"what":"camera"}},{"op":"snapshot","args":{}}]`)
	text := compiled(t, files, m, CompileOptions{Title: "Tour", Snapshots: true, Transition: 750 * time.Millisecond})
	for _, want := range []string{`"kind":"multiple"`, `"key":"snapshot-1","title":"close-up"`, `"title":"View 2"`, `"title":"Tour"`,
		`"transition_duration_ms":750`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in %s", want, text)
		}
	}
	if one := compiled(t, files, m, CompileOptions{}); strings.Contains(one, "close-up") || !strings.Contains(one, `"kind":"single"`) {
		t.Errorf("a view alone holds what was kept: %s", one)
	}
}
