package vina

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// goodSMILES are of every kind that RDKit reads; badSMILES are wrong in their writing, with a part of what is said of them.
var (
	goodSMILES = []string{
		"C", "CC(=O)Oc1ccccc1C(=O)O", "[Na+].CC(=O)[O-]", "C[C@@H](N)C(=O)O", "F/C=C/F", "c1ccc2[nH]ccc2c1", "[13CH4]",
		"C1CC%10CC%10C1", "C%(123)CC%(123)", "[#6]", "*C", "[*:1]C", "C->[Cu]", "[Co@OH3](F)(Cl)(Br)(I)(O)N", "c1cc[se]c1",
		"[2H]O[2H]", "[Fe+2]", "CO |$A;B$|", " CCO ethanol ", "[H][H]", "C12C3C4C1C5C2C3C45", "[CH3-]", "[Uuo]", "BrC", "ClC",
	}
	badSMILES = map[string]string{
		" \t": "there is no SMILES", "C1CC": "ring 1 is not closed", "CC(": "branch is not closed", "C[Xx]": "[Xx] is no atom",
		"aspirin": "a name is looked up first", "not a molecule": "is no SMILES", "InChI=1S/CH4/h1H4": "is no SMILES",
	}
)

func TestCheckStructure(t *testing.T) {
	t.Parallel()
	for _, text := range goodSMILES {
		if err := checkStructure(smiles("a", text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range badSMILES {
		if err := checkStructure(smiles("a", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want it to say %q", text, err, want)
		}
	}
}

// TestRDKitAgreesWithTheCheck asks RDKit about the same, and about thousands of SMILES with a few letters changed: what the check
// refuses RDKit must not read. What it takes RDKit may refuse all the same.
func TestRDKitAgreesWithTheCheck(t *testing.T) {
	t.Parallel()
	program := `
import json, random, sys
from rdkit import Chem, RDLogger
RDLogger.DisableLog("rdApp.*")
good, letters = json.load(sys.stdin), "CNOPSFIBclrbnops()[]123456789%=#-+@/\\.:*H$~<>ai &?"
random.seed(7)
tried = list(good)
for _ in range(20000):
    text = list(random.choice(good))
    for _ in range(random.randint(1, 3)):
        place = random.randrange(len(text) + 1)
        if random.random() < 0.5:
            text[place:place + 1] = random.choice(letters)
        else:
            text.insert(place, random.choice(letters))
    tried.append("".join(text))
json.dump([text for text in tried if text.strip() and Chem.MolFromSmiles(text.strip(), sanitize=False) is not None], sys.stdout)
`
	given, err := json.Marshal(goodSMILES)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-c", program)
	command.Stdin = strings.NewReader(string(given))
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	if err := json.Unmarshal(output, &read); err != nil || len(read) < 1000 {
		t.Fatalf("RDKit reads %d of them (%v)", len(read), err)
	}
	for _, text := range read {
		if err := checkStructure(smiles("a", text)); err != nil {
			t.Errorf("RDKit reads %q: %v", text, err)
		}
	}
}

// TestALibraryWithBrokenLigandsIsPlanned wants only a library without any that can be read to be refused.
func TestALibraryWithBrokenLigandsIsPlanned(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]engines.Request{
		"some SMILES":  requestFor(params(library(smiles("a", "C1CC"), smiles("b", "CCO"), smiles("c", "x")))),
		"one is file":  requestFor(params(library(smiles("a", "C1CC"), artifact("b", "k", "sdf")))),
		"the last one": requestFor(params(library(smiles("a", "C1CC"), smiles("b", "C("), smiles("c", "C")))),
	} {
		if _, err := New().Plan(request); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
