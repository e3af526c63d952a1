package studio

import (
	"testing"

	"github.com/molfabric/molfabric/internal/scene"
)

// TestSaysWhatContactsAreOf: the side that contacts are of is counted, not its partner.
func TestSaysWhatContactsAreOf(t *testing.T) {
	t.Parallel()
	said := sentence(scene.Do(scene.Interactions{Of: "chain I", With: "chain E"}), scene.Outcome{Selections: []scene.Resolved{
		{Query: "chain I", Chains: []string{"I"}, ResidueCount: 20, AtomCount: 157},
		{Query: "chain E", Chains: []string{"E"}, ResidueCount: 339, AtomCount: 2810}}})
	if want := "Contacts of chain I (20 residues, 157 atoms, chain I)."; said != want {
		t.Errorf("got %q, want %q", said, want)
	}
}

// TestWarnsOfWhatChangesNothing: a look that was there already is told; a question and a selection are no looks.
func TestWarnsOfWhatChangesNothing(t *testing.T) {
	t.Parallel()
	before := scene.NewModel()
	selected, other := scene.NewModel(), scene.NewModel()
	selected.Last, other.Names = "ligand", map[string]string{"hinge": "resi 318"}
	show, choose := scene.Do(scene.Show{Sel: "helix"}), scene.Do(scene.Select{Sel: "ligand"})
	for name, c := range map[string]struct {
		after     scene.Model
		operation scene.Operation
		warns     bool
	}{
		"shown as before": {selected, show, true}, "selected": {selected, choose, false}, "another scene": {other, show, false},
	} {
		if got := unchanged(before, c.after, []scene.Operation{c.operation}); (len(got) > 0) != c.warns {
			t.Errorf("%s: got %q, want a warning: %t", name, got, c.warns)
		}
	}
}
