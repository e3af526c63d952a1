package vina

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// hsp90 is the pocket of HSP90 with its ligand PU8 (PDB entry 1UYD).
const hsp90 = "../fpocket/testdata/pocket-of-1uyd.pdb"

// TestNativeAloneIsDockedOnce docks a ligand into the pocket that it was taken out of: the box is found, the ligand is searched for
// once, and the figures are those of its poses.
func TestNativeAloneIsDockedOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("docks a ligand of 28 atoms")
	}
	enginestest.Python(t)
	structure, err := coordinates.Read(readFile(t, hsp90), 0)
	if err != nil {
		t.Fatal(err)
	}
	request := requestFor(params(func(p *Params) {
		p.LigandIdentity, p.BoxCenterAngstrom, p.BoxSizeAngstrom = nil, nil, nil
		p.DockingValidation = &DockingValidation{RedockBound: ptr(true)}
	}))
	request.Found.Components = map[string]engines.Component{"PU8": {Name: "a purine", SMILES: smilesOfPU8}}
	receptorRead(&request, structure)
	outcome := enginestest.Drive(t, New(), request, map[string]string{"scene.pdb": hsp90})
	var results struct {
		Box        struct{ Source string }
		Validation struct {
			ComponentID  string
			RMSDAngstrom float64
			ScoreKcalMol float64
		}
		Ligands []struct {
			LigandID, Label, Status string
			BestScoreKcalMol        float64
			ReferenceRMSDAngstrom   *float64
		}
	}
	if err := json.Unmarshal(readOutput(t, outcome, shardRank, "results.json"), &results); err != nil {
		t.Fatal(err)
	}
	if len(results.Ligands) != 1 || results.Ligands[0].LigandID != "PU8" || results.Ligands[0].Label != "a purine" ||
		results.Ligands[0].Status != statusCompleted {
		t.Fatalf("got %+v, want the native ligand alone", results.Ligands)
	}
	ligand, v := results.Ligands[0], results.Validation
	if v.ComponentID != "PU8" || v.ScoreKcalMol != ligand.BestScoreKcalMol || ligand.ReferenceRMSDAngstrom == nil ||
		math.Abs(*ligand.ReferenceRMSDAngstrom-v.RMSDAngstrom) > 0.01 || results.Box.Source != boxPocketLigand {
		t.Errorf("got %+v, want the figures of the only docking", results)
	}
	if docked := len(outcome.Dirs); docked != 6 {
		t.Errorf("%d shards ran, want 6", docked)
	}
}

// TestNativeInALibraryIsDockedOnce docks a library that holds the native ligand: the redocking's figures are those of its poses.
func TestNativeInALibraryIsDockedOnce(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("docks a ligand of 28 atoms")
	}
	enginestest.Python(t)
	structure, err := coordinates.Read(readFile(t, hsp90), 0)
	if err != nil {
		t.Fatal(err)
	}
	request := requestFor(params(func(p *Params) {
		native := mol.LigandEntry{LigandID: "native", Label: "native"}
		native.Source.CCD = &mol.CCDSource{Kind: mol.SourceCCD, ComponentID: "PU8"}
		library(smiles("ethanol", "CCO"), native)(p)
		p.BoxCenterAngstrom, p.BoxSizeAngstrom = nil, nil
		p.DockingValidation = &DockingValidation{RedockBound: ptr(true)}
	}))
	request.Found.Components = map[string]engines.Component{"PU8": {SMILES: smilesOfPU8}}
	receptorRead(&request, structure)
	outcome := enginestest.Drive(t, New(), request, map[string]string{"scene.pdb": hsp90})
	var results struct {
		Validation struct{ RMSDAngstrom, ScoreKcalMol float64 }
		Ligands    []struct {
			LigandID                                string
			BestScoreKcalMol, ReferenceRMSDAngstrom float64
		}
	}
	if err := json.Unmarshal(readOutput(t, outcome, shardRank, "results.json"), &results); err != nil {
		t.Fatal(err)
	}
	if len(results.Ligands) != 2 || results.Ligands[0].LigandID != "native" {
		t.Fatalf("got %+v, want the native ligand before ethanol", results.Ligands)
	}
	native, v := results.Ligands[0], results.Validation
	apart := math.Abs(v.RMSDAngstrom - native.ReferenceRMSDAngstrom)
	if v.ScoreKcalMol != native.BestScoreKcalMol || apart > 0.01 || v.RMSDAngstrom == 0 {
		t.Errorf("got %+v, want the figures of %+v", v, native)
	}
}
