package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
)

func TestShowForecast(t *testing.T) {
	t.Parallel()
	var forecast contract.Forecast
	text := `{"box":{"source":"pocketLigand","centerAngstrom":[15.19,53.9,16.92],"sizeAngstrom":[22,20,18],"ligand":{"componentId":"WS7","chain":"A","residue":800,"heavyAtoms":17}},
		"components":[
			{"component":"HEM","name":"heme","class":"cofactor","status":"kept","why":"cofactors belong to the site","option":"removeComponents","count":2,"residues":["A:500","B:500"]},
			{"component":"WS7","class":"ligand","status":"removed","why":"it is the ligand whose place is docked into","count":1,"residues":["A:800"]},
			{"component":"GOL","name":"glycerol","class":"additive","status":"removed","why":"it came with the crystal's solution","option":"retainComponents","count":1,"residues":["B:880"]},
			{"component":"HOH","class":"water","status":"removed","why":"it is water","option":"waters","count":214}],
		"notes":["nothing says where to dock, so the box lies around WS7 A:800, the ligand that is bound"]}`
	if err := json.Unmarshal([]byte(text), &forecast); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	showForecast(&out, &forecast)
	showForecast(&out, nil) // of what is no docking, or of a receptor that nobody has read
	const want = `What is docked into
  box        22.0 × 20.0 × 18.0 Å, centred at 15.2, 53.9, 16.9 Å, around WS7 A:800 of the structure
             nothing says where to dock, so the box lies around WS7 A:800, the ligand that is bound
  stays      HEM (heme), 2 of them: cofactors belong to the site; --remove HEM removes it
  goes       WS7 A:800: it is the ligand whose place is docked into
             GOL (glycerol) B:880: it came with the crystal's solution; --keep GOL keeps it
             HOH, 214 of them: it is water; --waters structural keeps those that hold the site together
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
