package vina

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/mol"
)

func TestForetell(t *testing.T) {
	t.Parallel()
	foretold := func(change func(*Params), text ...any) contract.Forecast {
		t.Helper()
		written, err := New().Foretell(complexOf(t, change, text...))
		if err != nil {
			t.Fatal(err)
		}
		var f contract.Forecast
		if err := json.Unmarshal(written, &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	notes := func(f contract.Forecast) string { return strings.Join(f.Notes, "; ") }

	f := foretold(nil, protein("A", 0), het("ABC", "A", 301, 6, 20))
	if f.Box.Source != boxPocketLigand || *f.Box.Ligand != (contract.ForecastLigand{ComponentID: "ABC", Chain: "A", Residue: 301,
		HeavyAtoms: 6}) ||
		*f.Box.CenterAngstrom != (mol.BoxCenter{23.75, 0, 0}) ||
		*f.Box.SizeAngstrom != (mol.BoxSize{17.5, 15, 15}) || !strings.Contains(notes(f), "the ligand that is bound") {
		t.Errorf("a bound ligand: got %+v", f)
	}
	f = foretold(nil, protein("A", 0), het("ATP", "A", 501, 31, 20))
	if f.Box.Source != boxFpocket || f.Box.CenterAngstrom != nil || !strings.Contains(notes(f), "which is a guess") ||
		!strings.Contains(notes(f), "Cofactors are bound: ATP A:501") {
		t.Errorf("a cofactor alone: got %+v", f)
	}
	bonded := het("ABC", "A", 301, 6, 0)
	bonded.x = 1.3*7 + 1 // beside the chain's last atom, 5 Å above
	f = foretold(nil, protein("A", 0), strings.ReplaceAll(bonded.String(), "   0.000   0.000  1.00", "   5.000   0.000  1.00"))
	if !strings.Contains(notes(f), "ABC A:301 is bonded to GLY A:2") {
		t.Errorf("a covalent ligand: got %+v", f.Notes)
	}
	f = foretold(func(p *Params) { p.PocketResidues = []PocketResidue{{Chain: "A", Residue: 1}} }, protein("A", 0))
	if *f.Box.CenterAngstrom != (mol.BoxCenter{1.95, 5, 0}) || *f.Box.SizeAngstrom != (mol.BoxSize{15, 15, 15}) ||
		f.Box.Ligand != nil {
		t.Errorf("residues: got %+v", f.Box)
	}
	if f = foretold(func(p *Params) {
		p.BoxCenterAngstrom, p.BoxSizeAngstrom = &mol.BoxCenter{0, 5, 0}, &mol.BoxSize{9, 9, 9}
	}, protein("A", 0)); *f.Box.SizeAngstrom != (mol.BoxSize{9, 9, 9}) || f.Components == nil {
		t.Errorf("a given box: got %+v", f)
	}
	unread := complexOf(t, nil, protein("A", 0))
	receptorRead(&unread, nil)
	if written, err := New().Foretell(unread); written != nil || err != nil {
		t.Errorf("a receptor that nobody has read: got %s, %v", written, err)
	}
}

// TestLinkedMoleculesLeaveTogether wants what is bonded to a ligand to leave the site with it.
func TestLinkedMoleculesLeaveTogether(t *testing.T) {
	t.Parallel()
	text := protein("A", 0) + het("ABC", "A", 301, 8, 20).String() + het("NAG", "A", 302, 6, 32).String() + het("HEM", "A", 303, 43,
		60).String()
	r := complexOf(t, func(p *Params) { p.PocketLigand = ptr("ABC") }, text)
	q, err := resolve(r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, leaving := range q.leaves() {
		names = append(names, leaving.Name)
	}
	if got := strings.Join(names, " "); got != "ABC NAG" {
		t.Errorf("%s leave the site, want ABC and NAG", got)
	}
}
