package vina

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
)

// fatesProgram prints what the preparation's own rule says of every residue that is no standard one of a chain.
const fatesProgram = `
import json, sys
from components import Site
from prepare_receptor import sniff
from residues import WATERS, chain_members, choose_alternates, is_polymer
from structure import read_structure

text = open(sys.argv[1], encoding="utf-8").read()
structure = read_structure(text, sniff(text), {})
residues = structure._replace(atoms=choose_alternates(structure.atoms, {"notes": []})).residues()
site = Site({}, set(), chain_members(residues))
found = {}
for residue, atoms in residues.items():
    if residue.name in WATERS or not any(atom.element not in "HD" for atom in atoms):
        continue
    if not is_polymer(residue.name) or not site.is_part_of_chain(residue, atoms):
        found[f"{residue.name} {residue.chain or '(blank)'}:{residue.number}{residue.insertion_code}"] = "removed" if site.verdict(residue, atoms).status == "removed" else "kept"
json.dump(found, sys.stdout)
`

// TestTheForecastIsThePreparations compares what is foretold of each residue with what the preparation's rule makes of it.
func TestTheForecastIsThePreparations(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*-site.pdb")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, crafted, hsp90, "testdata/plp-lysine.pdb",
		enginestest.Sample(t, "1cbs.cif"), enginestest.Sample(t, "1atp.pdb")) {
		command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", fatesProgram, file)
		command.Env = enginestest.ProgramPath(t, "programs")
		output, err := command.Output()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var want map[string]string
		if err := json.Unmarshal(output, &want); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		structure, err := coordinates.Read(readFile(t, file), 0)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		s, got := siteOf(structure, selection{}, mol.ReceptorPreparation{}), map[string]string{}
		for _, r := range s.others() {
			got[r.String()] = s.fate(r, nil).Status
		}
		if text, same := fmt.Sprint(got), fmt.Sprint(want); text != same {
			t.Errorf("%s: foretold %s, the preparation says %s", file, text, same)
		}
	}
}
