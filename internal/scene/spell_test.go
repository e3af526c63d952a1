package scene

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

func TestSelectorsAreShort(t *testing.T) {
	t.Parallel()
	cbs, atp, iep := structureOf(t, sample1CBS), structureOf(t, sample1ATP), structureOf(t, sample1IEP)
	for _, c := range []struct {
		structure *Structure
		text      string
		want      string
	}{
		{cbs, "protein", `"polymer"`},
		{cbs, "ligand", `"ligand"`},
		{cbs, "water", `"water"`},
		{cbs, "all or water", `"all"`},
		{cbs, "resi 10-20", `{"auth_asym_id":"A","beg_auth_seq_id":10,"end_auth_seq_id":20}`},
		{cbs, "resi 134", `{"auth_asym_id":"A","auth_seq_id":134}`},
		{cbs, "resi 134 and name OH", `{"auth_asym_id":"A","auth_atom_id":"OH","auth_seq_id":134}`},
		{cbs, "ligand and elem C", `{"auth_comp_id":"REA","type_symbol":"C"}`},
		{cbs, "resi 1-3+5", `[{"auth_asym_id":"A","beg_auth_seq_id":1,"end_auth_seq_id":3},{"auth_asym_id":"A","auth_seq_id":5}]`},
		{atp, "resn SEP", `{"auth_asym_id":"E","auth_seq_id":338}`},
		{atp, "chain I", `{"auth_asym_id":"I","beg_auth_seq_id":5,"end_auth_seq_id":24}`},
		{atp, "chain I or water and chain I", `{"auth_asym_id":"I"}`},
		{atp, "ion", `"ion"`},
		{atp, "ligand", `"ligand"`},
		{iep, "resn LYS", `{"auth_comp_id":"LYS"}`},
	} {
		table := c.structure.Table(0)
		got, err := json.Marshal(table.selector(table.Resolve(selected(t, c.text))))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

// TestSpellMeansTheSame: what is spelled from atoms means those atoms.
func TestSpellMeansTheSame(t *testing.T) {
	t.Parallel()
	var tables []*Table
	for _, path := range []string{sample1CBS, sample1ATP, sample1IEP} {
		tables = append(tables, structureOf(t, path).Table(0))
	}
	terms := []string{"protein", "ligand", "water", "ion", "chain A", "chain E", "chain I", "helix", "sheet", "loop", "backbone",
		"sidechain", "resi 100-130", "resi 13+17+200", "resn LYS+ATP", "name CA+OH", "elem O", "within 4 of ligand", "byres within 6 of ion", "all"}
	rapid.Check(t, func(t *rapid.T) {
		table := rapid.SampledFrom(tables).Draw(t, "table")
		text := rapid.SampledFrom(terms).Draw(t, "term")
		for range rapid.IntRange(0, 3).Draw(t, "more") {
			text = "(" + text + ") " + rapid.SampledFrom([]string{"and", "or", "and not"}).Draw(t, "by") + " (" +
				rapid.SampledFrom(terms).Draw(t, "term") + ")"
		}
		s, err := ParseSelection(text)
		if err != nil {
			t.Fatal(err)
		}
		set := table.Resolve(s)
		if set.isEmpty() {
			return
		}
		spelled := table.spell(set)
		again, err := ParseSelection(spelled)
		if err != nil {
			t.Fatalf("%s: %v", spelled, err)
		}
		if got := table.Resolve(again); !got.equal(set) {
			t.Fatalf("%s: spelled %q, which is %d atoms and not %d", text, spelled, got.Count(), set.Count())
		}
		if canonicalText := s.String(); canonical(canonicalText) != canonicalText {
			t.Fatalf("%q is not canonical", canonicalText)
		}
		checkSelector(t, table, set)
	})
}

// checkSelector reads a selector back as the renderer does.
func checkSelector(t *rapid.T, table *Table, set Set) {
	var list []expression
	switch selector := table.selector(set).(type) {
	case string:
		list = nil
	case expression:
		list = []expression{selector}
	case []expression:
		list = selector
	}
	if list == nil {
		return
	}
	got := newSet(len(table.Atoms))
	for i, a := range table.Atoms {
		for _, e := range list {
			if e.means(table.Residues[a.Residue], a) {
				got.add(i)
			}
		}
	}
	if !got.equal(set) {
		t.Fatalf("selector %v means %d atoms and not %d", list, got.Count(), set.Count())
	}
}

func (e expression) means(r Residue, a Atom) bool {
	for member, value := range e {
		ok := false
		switch member {
		case "auth_asym_id":
			ok = r.Chain == value
		case "label_asym_id":
			ok = r.Subchain == value
		case "auth_seq_id":
			ok = r.Number == value
		case "beg_auth_seq_id":
			ok = r.Number >= value.(int)
		case "end_auth_seq_id":
			ok = r.Number <= value.(int)
		case "pdbx_PDB_ins_code":
			ok = r.InsertionCode == value
		case "auth_comp_id":
			ok = r.Name == value
		case "auth_atom_id":
			ok = a.Name == value
		case "type_symbol":
			ok = a.Element == value
		}
		if !ok {
			return false
		}
	}
	return true
}
