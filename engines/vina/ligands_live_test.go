package vina

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
)

// givenLigand is a ligand as prepare_ligands.py gets it: a SMILES, or a file with its format.
type givenLigand struct {
	kind, smiles string
	file, format string
}

type preparedLigand struct {
	Label, Status, FailureStage, Error string
	CanonicalSMILES, InChIKey          string
	DockedSMILES, ComponentID          string
	FormalCharge                       *int
	HeavyAtoms, RotatableBonds         int
	LengthAngstrom, CPUSeconds         float64
	PDBQT                              string `json:"pdbqt"`
	Notes                              []string
}

// ligandKinds is what a chemist asks about first: each kind of substance, and what becomes of it.
var ligandKinds = []givenLigand{
	{kind: "carboxylic acid (aspirin)", smiles: "CC(=O)Oc1ccccc1C(=O)O"},
	{kind: "quaternary ammonium (acetylcholine)", smiles: "CC(=O)OCC[N+](C)(C)C"},
	{kind: "diamine that shares a proton (imatinib)", smiles: "Cc1ccc(NC(=O)c2ccc(CN3CCN(C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"},
	{kind: "zwitterion with tautomers (histidine)", smiles: "N[C@@H](Cc1c[nH]cn1)C(=O)O"},
	{kind: "polyphosphate (ATP)", smiles: "Nc1ncnc2c1ncn2[C@@H]1O[C@H](COP(=O)(O)OP(=O)(O)OP(=O)(O)O)[C@@H](O)[C@H]1O"},
	{kind: "macrocycle (BACE-1 inhibitor)",
		smiles: "CCCCNC(=O)[C@H](C)C[C@H](O)[C@@H]1C[C@H](C)CCCCCN(CC)C(=O)c2cc(OCC)cc(c2)C(=O)N1"},
	{kind: "stereochemistry specified", smiles: "C[C@H](O)/C=C/[C@@H](N)C(=O)O"},
	{kind: "stereochemistry left open", smiles: "CC(O)C=CC(N)C(=O)O"},
	{kind: "stereochemistry that cannot exist", smiles: "C1C[C@H]2CC[C@H]1C2"},
	{kind: "salt", smiles: "Cl.Cl.CNCCc1ccccc1.O"},
	{kind: "salt drawn with a bond", smiles: "CC(=O)O[Na]"},
	{kind: "mixture", smiles: "OCCc1ccccc1.CCCCCC"},
	{kind: "metallocene (ferrocene)", smiles: "[Fe+2].c1cc[cH-]c1.c1cc[cH-]c1"},
	{kind: "metal complex (cisplatin)", smiles: "[NH3][Pt]([NH3])(Cl)Cl"},
	{kind: "boronic acid", smiles: "OB(O)c1ccccc1"},
	{kind: "peptide (Leu-enkephalin)",
		smiles: "CC(C)C[C@H](NC(=O)[C@H](Cc1ccccc1)NC(=O)CNC(=O)CNC(=O)[C@@H](N)Cc1ccc(O)cc1)C(=O)O"},
	{kind: "fused aromatic drug (staurosporine)",
		smiles: "CN[C@@H]1C[C@H]2O[C@@](C)([C@@H]1OC)n1c3ccccc3c3c4c(c5c6ccccc6n2c5c31)C(=O)NC4"},
	{kind: "nitro group drawn with five bonds", smiles: "O=N(=O)c1ccccc1"},
	{kind: "enol (of acetylacetone)", smiles: "CC(O)=CC(C)=O"},
	{kind: "imidazole with two tautomers", smiles: "Cc1c[nH]cn1"},
	{kind: "isotopes (deuterated, carbon-13)", smiles: "[2H]C([2H])([2H])c1ccccc1[13CH3]"},
	{kind: "radical (TEMPO)", smiles: "CC1(C)CCCC(C)(C)N1[O]"},
	{kind: "more than 100 heavy atoms", smiles: strings.Repeat("C", 101)},
}

// runPrepareLigands runs prepare_ligands.py on the ligands, files named by their path below testdata, and returns its task's
// folder.
func runPrepareLigands(t *testing.T, ligands []givenLigand) string {
	t.Helper()
	return runPreparation(t, prepareLigandCPUSeconds, ligands)
}

// runPreparation is runPrepareLigands with a bound on the processor time of a ligand.
func runPreparation(t *testing.T, cpuSeconds int, ligands []givenLigand) string {
	t.Helper()
	interpreter, dir := enginestest.Python(t), t.TempDir()
	program, err := filepath.Abs("programs/prepare_ligands.py")
	if err != nil {
		t.Fatal(err)
	}
	request := ligandsParams{Program: programLigands, Seed: 42, LigandCPUSeconds: cpuSeconds}
	for i, ligand := range ligands {
		entry := ligandParams{Index: i, LigandID: fmt.Sprintf("l%d", i), Label: ligand.kind, SMILES: ligand.smiles,
			ProtonationPh: 7.4}
		if ligand.format != "" {
			entry.File, entry.Format = fmt.Sprintf("ligand-%05d.%s", i+1, ligand.format), ligand.format
			writeTaskFile(t, dir, "in/"+entry.File, ligand.file)
		}
		request.Ligands = append(request.Ligands, entry)
	}
	writeTaskJSON(t, dir, python.RequestFile, request)
	command := exec.CommandContext(t.Context(), interpreter, "-B", program)
	command.Dir, command.Env = dir, enginestest.ProgramPath(t)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("prepare_ligands.py: %v\n%s", err, output)
	}
	return dir
}

func prepareLigands(t *testing.T, ligands []givenLigand) []preparedLigand {
	t.Helper()
	return prepareLigandsWithin(t, prepareLigandCPUSeconds, ligands)
}

func prepareLigandsWithin(t *testing.T, cpuSeconds int, ligands []givenLigand) []preparedLigand {
	t.Helper()
	var document struct {
		Schema  string
		Ligands []preparedLigand
	}
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(runPreparation(t, cpuSeconds, ligands), "out/ligands.json"))),
		&document); err != nil {
		t.Fatal(err)
	}
	if document.Schema != "molfabric.docking.ligands/v1" || len(document.Ligands) != len(ligands) {
		t.Fatalf("got schema %q and %d ligands, want %d", document.Schema, len(document.Ligands), len(ligands))
	}
	return document.Ligands
}

// TestLigandsOfManyKinds compares what becomes of each kind with testdata/ligand-kinds.md, which the documentation quotes, and
// has Vina read every ligand that was prepared.
func TestLigandsOfManyKinds(t *testing.T) {
	t.Parallel()
	prepared := prepareLigands(t, ligandKinds)
	var table strings.Builder
	table.WriteString("| kind | given as | what becomes of it | charge | heavy atoms | rotatable bonds " +
		"|\n|---|---|---|---|---|---|\n")
	for i, ligand := range prepared {
		table.WriteString(kindRow(ligandKinds[i], ligand))
	}
	golden := filepath.Join("testdata", "ligand-kinds.md")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := readText(t, golden); table.String() != want {
		t.Errorf("got\n%s\nwant\n%s", table.String(), want)
	}
	if got, want := prepared[0].InChIKey, "BSYNRYMUTXBXSQ-UHFFFAOYSA-N"; got != want {
		t.Errorf("got InChIKey %s for aspirin, want %s", got, want)
	}
	wantVinaReads(t, prepared)
}

func kindRow(given givenLigand, ligand preparedLigand) string {
	text := given.smiles
	if len(text) > 90 {
		text = text[:88] + "…"
	}
	if ligand.Status != statusPrepared {
		return fmt.Sprintf("| %s | `%s` | fails at `%s`: %s | | | |\n", given.kind, text, ligand.FailureStage, ligand.Error)
	}
	outcome := "docked as `" + ligand.DockedSMILES + "`"
	for _, note := range ligand.Notes {
		if !strings.HasPrefix(note, "protonated") { // the SMILES and the charge say so
			outcome += "; " + strings.ReplaceAll(note, "|", `\|`)
		}
	}
	return fmt.Sprintf("| %s | `%s` | %s | %d | %d | %d |\n", given.kind, text, outcome, *ligand.FormalCharge, ligand.HeavyAtoms,
		ligand.RotatableBonds)
}

func wantVinaReads(t *testing.T, ligands []preparedLigand) {
	t.Helper()
	const read = "import json, sys, vina\n" +
		"for text in json.load(sys.stdin):\n    vina.Vina(sf_name='vina', verbosity=0).set_ligand_from_string(text)\n"
	var texts []string
	for _, ligand := range ligands {
		if ligand.Status == statusPrepared {
			texts = append(texts, ligand.PDBQT)
		}
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-c", read)
	command.Stdin = bytes.NewReader(input)
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("Vina does not read a prepared ligand: %v\n%s", err, output)
	}
}

// TestLigandFiles reads the same molecule from the formats that say it, and refuses those that do not.
func TestLigandFiles(t *testing.T) {
	t.Parallel()
	const anilide = "C[C@H](N)C(=O)Nc1ccc(O)cc1"
	lactic := readText(t, "testdata/lactic-acid.sdf")
	cases := []struct {
		name, file, format string
		want               string // the canonical SMILES, or a part of the error at parse
		note               string
	}{
		{name: "geometry", file: readText(t, "testdata/ligand-geometry.pdb"), format: "pdb", want: anilide, note: "geometry"},
		{name: "double bonds in CONECT", file: readText(t, "testdata/ligand-conect.pdb"), format: "pdb", want: anilide,
			note: "CONECT"},
		{name: "SMILES in a remark", file: readText(t, "testdata/ligand-smiles.pdb"), format: "pdb", want: anilide,
			note: "SMILES in the PDB file"},
		{name: "SMILES of the mirror image", file: readText(t, "testdata/ligand-mirror.pdb"), format: "pdb",
			want: "another stereochemistry"},
		{name: "SMILES of another molecule", file: "REMARK SMILES CCO\n" + readText(t, "testdata/ligand-bare.pdb"), format: "pdb",
			want: "other heavy atoms"},
		{name: "heavy atoms alone", file: readText(t, "testdata/ligand-bare.pdb"), format: "pdb",
			want: "REMARK SMILES, or give SDF or MOL2"},
		{name: "a whole peptide", file: readText(t, peptide), format: "pdb", want: "140 heavy atoms"},
		{name: "no atoms", file: "HEADER\nEND\n", format: "pdb", want: "no ATOM or HETATM"},
		{name: "torn coordinates", file: "HETATM    1  C1  LIG A   1      xxxxxxxx\n", format: "pdb", want: "cannot be read"},
		{name: "3D stereochemistry", file: lactic, format: "sdf", want: "C[C@H](O)C(=O)O"},
		{name: "two molecules", file: lactic + lactic, format: "sdf", want: "C[C@H](O)C(=O)O", note: "2 molecules"},
		{name: "empty SDF", file: "", format: "sdf", want: "cannot read"},
		{name: "binary SDF", file: "\x00\xff\xfe", format: "sdf", want: "cannot read"},
		{name: "MOL2", file: readText(t, "testdata/acetamide.mol2"), format: "mol2", want: "CC(N)=O"},
		{name: "PDBQT", file: readText(t, "testdata/paracetamol.pdbqt"), format: "pdbqt", want: "CC(=O)Nc1ccc(O)cc1",
			note: "without protonation"},
		{name: "PDBQT without charges", file: readText(t, peptide), format: "pdbqt", want: "partial charge"},
	}
	var given []givenLigand
	for _, c := range cases {
		given = append(given, givenLigand{kind: c.name, file: c.file, format: c.format})
	}
	for i, ligand := range prepareLigands(t, given) {
		c := cases[i]
		failed := ligand.Status == statusFailed && ligand.FailureStage == "parse" && strings.Contains(ligand.Error, c.want)
		if !failed && (ligand.Status != statusPrepared || ligand.CanonicalSMILES != c.want || ligand.LengthAngstrom <= 0) {
			t.Errorf("%s: got %s %s %s, %.1f Å, want %s", c.name, ligand.Status, ligand.CanonicalSMILES, ligand.Error,
				ligand.LengthAngstrom, c.want)
		}
		if notes := strings.Join(ligand.Notes, "; "); !strings.Contains(notes, c.note) {
			t.Errorf("%s: got notes %q, want %q among them", c.name, notes, c.note)
		}
	}
}

// TestLigandsThatFail wants each to fail at its step with words that tell a chemist what to mend.
func TestLigandsThatFail(t *testing.T) {
	t.Parallel()
	cases := []struct{ smiles, step, words string }{
		{" ", "parse", "empty"},
		{"aspirin", "parse", "a name is no SMILES"},
		{"C1CC", "parse", "unclosed ring"},
		{"CCO>>CC=O", "parse", "reaction"},
		{"InChI=1S/CH4/h1H4", "parse", "InChI"},
		{"CC(C)(C)(C)C", "parse", "C2 has 5 bonds"},
		{"C[NH4]", "parse", "N2 has 5 bonds"},
		{"c1ccnc1", "parse", "[nH]"},
		{"*CCO", "parse", "wildcard"},
		{"[H][H]", "parse", "no heavy atoms"},
		{"[Na+].[Cl-]", "parse", "mineral salt"},
		{"C[CH2]", "parse", "unpaired electrons at C2"},
		{"CCCCOc1ccc(N[CH]C)cn1", "parse", "C11"},
		{strings.Repeat("C", 6000), "parse", "6000 characters"},
		{strings.Repeat("C", 101), "parse", "101 heavy atoms"},
		{strings.Repeat("O.", 1500) + "O", "parse", "1501 atoms"},
		{"C[Se]C", "embed", "selenium (Se)"},
		{"C[Hg]C", "embed", "mercury (Hg)"},
		{"C1C[C@H]2CC[C@H]1C2", "embed", "C3"},
		{"\x01(((", "parse", "syntax error"},
	}
	var given []givenLigand
	for _, c := range cases {
		given = append(given, givenLigand{kind: c.smiles, smiles: c.smiles})
	}
	for i, ligand := range prepareLigands(t, given) {
		if c := cases[i]; ligand.Status != statusFailed || ligand.FailureStage != c.step ||
			!strings.Contains(ligand.Error, c.words) {
			t.Errorf("%.40q: got %s at %q (%s), want a failure at %s that says %q", c.smiles, ligand.Status, ligand.FailureStage,
				ligand.Error, c.step, c.words)
		}
	}
}

// TestPreparationRepeats prepares the same ligands twice, the second time written in another order, and wants the same bytes
// but for the time they took; and its summary wants an identity of each and room in a task's document.
func TestPreparationRepeats(t *testing.T) {
	t.Parallel()
	first := prepareLigands(t, []givenLigand{{smiles: "CC(O)C=CC(N)C(=O)O"}, {smiles: "CN1CCN(Cc2ccccc2)CC1"}})
	dir := runPrepareLigands(t, []givenLigand{{smiles: "OC(=O)C(N)C=CC(C)O"}, {smiles: "c1ccccc1CN1CCN(C)CC1"}})
	var again struct{ Ligands []preparedLigand }
	if err := json.Unmarshal([]byte(readText(t, filepath.Join(dir, "out/ligands.json"))), &again); err != nil {
		t.Fatal(err)
	}
	for i, ligand := range again.Ligands {
		if ligand.PDBQT == "" || ligand.PDBQT != first[i].PDBQT || ligand.DockedSMILES != first[i].DockedSMILES {
			t.Errorf("%s is not %s, though the molecule and the seed are the same", ligand.DockedSMILES, first[i].DockedSMILES)
		}
	}
	var result struct {
		Summary struct {
			Prepared, Failed int
			Ligands          []preparedLigand
		}
	}
	text := readText(t, filepath.Join(dir, "out/result.json"))
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		t.Fatal(err)
	}
	summary := result.Summary
	if len(text) > engines.MaxSummaryBytes || summary.Prepared != 2 || summary.Failed != 0 || len(summary.Ligands) != 2 {
		t.Fatalf("got %d bytes and %+v, want two ligands within %d bytes", len(text), summary, engines.MaxSummaryBytes)
	}
	if got := summary.Ligands[1]; got.CanonicalSMILES != "CN1CCN(Cc2ccccc2)CC1" || got.PDBQT != "" || *got.FormalCharge != 1 ||
		len(got.Notes) != 1 {
		t.Errorf("got %+v, want 1-benzyl-4-methylpiperazine with one proton", got)
	}
}

// TestStereochemistryIsChecked gives stereo.changed, which every embedding passes, conformers of another configuration.
func TestStereochemistryIsChecked(t *testing.T) {
	t.Parallel()
	const check = `
from rdkit import Chem
import conformer, stereo
def shaped(smiles, like):
    molecule = Chem.AddHs(Chem.MolFromSmiles(smiles))
    molecule.AddConformer(conformer.embed(Chem.MolFromSmiles(like), 42, []).GetConformer())
    return stereo.changed(molecule)
print(shaped("N[C@@H](C)C(=O)O", "N[C@@H](C)C(=O)O"))
print(shaped("N[C@@H](C)C(=O)O", "N[C@H](C)C(=O)O"))
print(shaped("C[C@H](O)[C@@H](F)Cl", "C[C@H](O)[C@H](F)Cl"))
print(shaped("F/C=C/Cl", "F/C=C\\Cl"))
print(shaped("CC(N)C(=O)O", "C[C@H](N)C(=O)O"))
`
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", check)
	command.Env = enginestest.ProgramPath(t, "programs")
	output, err := command.CombinedOutput()
	want := "[]\n['C2 (S)']\n['C4 (S)']\n['C2=C3 (E)']\n[]\n"
	if err != nil || string(output) != want {
		t.Errorf("got %q, %v, want %q", output, err, want)
	}
}
