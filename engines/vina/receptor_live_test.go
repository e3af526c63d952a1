package vina

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/abl1"
)

const (
	// crafted has two chains, and in chain A everything that a structure from an experiment can have: see its first lines.
	crafted      = "testdata/receptor-crafted.pdb"
	smilesOfPU8  = "CCCCn1c(Cc2cc(OC)c(OC)c(OC)c2Cl)nc2c(N)ncnc12"
	acetateBonds = "loop_\n_chem_comp_bond.comp_id\n_chem_comp_bond.atom_id_1\n_chem_comp_bond.atom_id_2\n_chem_comp_bond.value_order\n" +
		"ACY C O DOUBLE\nACY C OXT SING\nACY C CH3 SING\nACY OXT HXT SING\nACY CH3 H1 SING\nACY CH3 H2 SING\nACY CH3 H3 SING\n"
)

// TestCraftedReceptor prepares a structure with everything in it, and wants every bit of it told.
func TestCraftedReceptor(t *testing.T) {
	t.Parallel()
	run := prepareReceptor(t, readFile(t, crafted), fields{
		"chains":     []string{"A"},
		"components": fields{"ACY": fields{"smiles": "CC(=O)O"}},
		"preparation": fields{
			"retainComponents": []string{"K", "acy", "HOH"},
			"fixedProtonationStates": []fields{{"chain": "A", "residue": 4, "residueName": "GLU", "state": "neutral"},
				{"chain": "A", "residue": 3, "residueName": "ASP", "state": "anionic"}},
		},
	}, nil)
	report, pdbqt, pdb := run.report(), run.output("receptor.pdbqt"), run.output("receptor.pdb")
	wantEqual(t, "alternate locations", residues(report.AlternateLocations), []string{"A:SER9"})
	wantEqual(t, "insertion codes", residues(report.InsertionCodes), []string{"A:LYS5A", "A:TYR5B"})
	wantEqual(t, "missing residues", residues(report.MissingResidues), []string{"A:MET0"})
	wantEqual(t, "components", sited(report), []string{
		"A:ACY203 kept", "A:GOL204 removed: --keep GOL (receptorPreparation.retainComponents)", "A:K202 kept", "A:MSE14 converted",
		"A:ZN201 kept: --remove ZN (receptorPreparation.removeComponents)",
	})
	wantEqual(t, "rebuilt residues", residues(report.RebuiltResidues), []string{"A:LYS5A"})
	if got := report.AlternateLocations[0].Kept; got != "B" {
		t.Errorf("alternate location %s of SER 9 is kept, want B, which has the greater occupancy", got)
	}
	if !bytes.Contains(pdb, []byte("-4.796  -0.827  -3.983")) {
		t.Errorf("the receptor's coordinates are not the given ones")
	}
	if h := atomsOf(pdb, "A", 4, ""); !slices.Contains(h, "HE2") && !slices.Contains(h, "HE1") {
		t.Errorf("GLU 4 is fixed neutral, but has the atoms %v", h)
	}
	if n := len(atomsOf(pdbqt, "A", 5, "A")); n != 13 {
		t.Errorf("LYS 5A has %d atoms in the PDBQT, want 9 heavy ones and 4 polar hydrogens", n)
	}
	for _, name := range []string{"ACY A 203", "K A 202", "ZN A 201", "HOH A 301", "MET A  14"} {
		if !bytes.Contains(pdbqt, []byte(name)) || !bytes.Contains(pdb, []byte(name)) {
			t.Errorf("%s is not in the prepared receptor", name)
		}
	}
	var serials struct{ Serials map[string]int }
	run.read("serials.json", &serials)
	for key, want := range map[string]int{"A:1::N": 101, "A:201::ZN": 380, "A:5:A:CA": 147, "A:14::SD": 0} {
		if got, there := serials.Serials[key]; !there || (want != 0 && got != want) {
			t.Errorf("serial of %s: got %d (%v), want %d", key, got, there, want)
		}
	}
}

// TestFixedProtonationStates wants acids in the state that the request gives, against what the pH says, by both methods.
func TestFixedProtonationStates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, force string
		ph            float64
		state         string
		hydrogens     int
	}{
		{"pdb2pqr-propka", "AMBER", 7.4, "neutral", 1},
		{"pdb2pqr-propka", "PARSE", 1, "anionic", 0},
		{"pdb2pqr-propka", "CHARMM", 1, "anionic", 0},
		{"meeko", "AMBER", 7.4, "neutral", 1},
		{"meeko", "AMBER", 7.4, "anionic", 0},
	} {
		t.Run(fmt.Sprintf("%s %s at %g %s", c.method, c.force, c.ph, c.state), func(t *testing.T) {
			t.Parallel()
			run := prepareReceptor(t, readFile(t, peptide), fields{"preparation": fields{
				"protonationMethod": c.method, "forceField": c.force, "protonationPh": c.ph,
				"fixedProtonationStates": []fields{{"chain": "A", "residue": 3, "residueName": "ASP", "state": c.state},
					{"chain": "A", "residue": 12, "residueName": "GLU", "state": c.state}},
			}}, nil)
			for residue, names := range map[int][]string{3: {"HD1", "HD2"}, 12: {"HE1", "HE2"}} {
				for _, file := range []string{"receptor.pdb", "receptor.pdbqt"} {
					count := 0
					for _, name := range atomsOf(run.output(file), "A", residue, "") {
						if slices.Contains(names, name) {
							count++
						}
					}
					if count != c.hydrogens {
						t.Errorf("residue %d has %d acid hydrogens in %s, want %d", residue, count, file, c.hydrogens)
					}
				}
			}
		})
	}
}

func TestReceptorSelection(t *testing.T) {
	t.Parallel()
	whole := string(readFile(t, crafted))
	chainA, _, _ := strings.Cut(whole, "TER\n")
	models := "MODEL        1\n" + chainA + "ENDMDL\nMODEL        7\n" + strings.ReplaceAll(chainA, "GLY A   1", "GLY A  -1") +
		"ENDMDL\nEND\n"
	// LYS 5A lacks atoms, which meeko does not rebuild
	meeko := fields{"protonationMethod": "meeko", "removeComponents": []string{"LYS"}}
	for _, c := range []struct {
		name, receptor string
		request        fields
		check          func(*testing.T, *task)
	}{
		{"assembly", whole, fields{"assemblyId": "1"}, func(t *testing.T, run *task) {
			if copies := run.report().Selection.Copies; len(copies) != 1 || copies[0].Chain != "C" || copies[0].Of != "A" {
				t.Errorf("got copies %v, want C of A", copies)
			}
			a, b, c := atomsOf(run.output("receptor.pdb"), "A", 4, ""), atomsOf(run.output("receptor.pdb"), "B", 4, ""),
				atomsOf(run.output("receptor.pdb"), "C", 4, "")
			if len(a) == 0 || len(b) != 0 || len(a) != len(c) {
				t.Errorf("residue 4 has %d, %d and %d atoms in chains A, B and C; assembly 1 is A twice", len(a), len(b), len(c))
			}
		}},
		{"box in a copy", whole, fields{"assemblyId": "1", "chains": []string{"A"},
			"box": fields{"source": "pocketResidues", "residues": []fields{{"chain": "C", "residue": 9}}}},
			func(t *testing.T, run *task) {
				if x := run.summary().Summary.Box.CenterAngstrom[0]; x < 30 {
					t.Errorf("the box lies at x = %.1f Å, want it around the copy at 40 Å", x)
				}
			}},
		{"unknown assembly", whole, fields{"assemblyId": "9"}, func(_ *testing.T, run *task) {
			run.wantRefused("RECEPTOR_ASSEMBLY_MISSING", "receptorAssemblyId", "1, 2")
		}},
		{"unknown chain", whole, fields{"chains": []string{"A", "Q"}}, func(_ *testing.T, run *task) {
			run.wantRefused("RECEPTOR_CHAIN_MISSING", "receptorChains names Q", "A, B")
		}},
		{"model", models, fields{"model": 7, "preparation": meeko}, func(t *testing.T, run *task) {
			if len(atomsOf(run.output("receptor.pdb"), "A", -1, "")) == 0 {
				t.Errorf("model 7 has GLY -1, the prepared receptor has not")
			}
		}},
		{"first model", models, fields{"preparation": meeko}, func(t *testing.T, run *task) {
			if notes := run.summary().Summary.Notes; !strings.Contains(strings.Join(notes, "\n"), "2 models; model 1 is used") {
				t.Errorf("got notes %q, want one about the models", notes)
			}
		}},
		{"unknown model", models, fields{"model": 2}, func(_ *testing.T, run *task) {
			run.wantRefused("RECEPTOR_MODEL_MISSING", "receptorModel is 2", "1, 7")
		}},
		{"state of an asparagine", whole,
			fields{"preparation": fields{"fixedProtonationStates": []fields{
				{"chain": "A", "residue": 16, "residueName": "GLU", "state": "neutral"}}}}, func(_ *testing.T, run *task) {
				run.wantRefused("RECEPTOR_RESIDUE_MISSING", "fixedProtonationStates[0]", "there is GLN 16")
			}},
		{"retained without definition", whole, fields{"preparation": fields{"retainComponents": []string{"ACY"}}},
			func(t *testing.T, run *task) {
				run.wantNote("atom types by element alone, because no definition fits the atoms: ACY 203 of chain A")
				if atoms := atomsOf(run.output("receptor.pdbqt"), "A", 203, ""); len(atoms) != 4 {
					t.Errorf("got the atoms %v, want the four that were given", atoms)
				}
			}},
		{"retained that is cut off", whole, fields{"preparation": fields{"retainComponents": []string{"GOL"}},
			"components": fields{"GOL": fields{"smiles": "OCC(O)CO"}}}, func(t *testing.T, run *task) {
			if atoms := atomsOf(run.output("receptor.pdbqt"), "A", 204, ""); len(atoms) != 6 {
				t.Errorf("got the atoms %v, want the four that were seen and two hydroxyl hydrogens", atoms)
			}
		}},
		{"incomplete residue in the box", whole, fields{"preparation": fields{"protonationMethod": "meeko"}},
			func(t *testing.T, run *task) {
				run.wantNote("kept as it stands, because no residue template fits its atoms: LYS 5A of chain A")
				if atoms := atomsOf(run.output("receptor.pdbqt"), "A", 5, "A"); !slices.Contains(atoms, "CA") {
					t.Errorf("LYS 5A has the atoms %v, want those that were given", atoms)
				}
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, prepareReceptor(t, []byte(c.receptor), c.request, nil))
		})
	}
}

// mmcifOf writes a PDB's atoms as mmCIF with the given chains' names; a chain without one is left out.
func mmcifOf(pdb string, chains map[string]string, more string) []byte {
	var text strings.Builder
	text.WriteString("data_TEST\nloop_\n")
	for item := range strings.FieldsSeq("group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id " +
		"label_entity_id label_seq_id pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy B_iso_or_equiv auth_seq_id " +
		"auth_comp_id auth_asym_id auth_atom_id pdbx_PDB_model_num") {
		fmt.Fprintf(&text, "_atom_site.%s\n", item)
	}
	or := func(value, otherwise string) string {
		if strings.TrimSpace(value) == "" {
			return otherwise
		}
		return strings.TrimSpace(value)
	}
	for line := range strings.Lines(pdb) {
		if !strings.HasPrefix(line, "ATOM") && !strings.HasPrefix(line, "HETATM") {
			continue
		}
		line = fmt.Sprintf("%-80s", strings.TrimSpace(line))
		chain, named := chains[line[21:22]]
		if !named {
			continue
		}
		at := func(from, to int) string { return or(line[from:to], ".") }
		fmt.Fprintln(&text, at(0, 6), at(6, 11), at(76, 78), at(12, 16), at(16, 17), at(17, 20), chain, "1 .", or(line[26:27], "?"),
			at(30, 38), at(38, 46), at(46, 54), at(54, 60), at(60, 66), at(22, 26), at(17, 20), chain, at(12, 16), "1")
	}
	return []byte(text.String() + "#\n" + more)
}

// TestMmcifAndPdbAgree wants one receptor from the two spellings of one structure, and chains of several letters told.
func TestMmcifAndPdbAgree(t *testing.T) {
	t.Parallel()
	pdb := readFile(t, crafted)
	cif := mmcifOf(string(pdb), map[string]string{"A": "A", "B": "B"}, "")
	fromPDB, fromCIF := prepareReceptor(t, pdb, fields{"declaredFormat": "pdb"}, nil),
		prepareReceptor(t, cif, fields{"declaredFormat": "mmcif"}, nil)
	for _, name := range []string{"receptor.pdbqt", "receptor.pdb", "serials.json"} {
		if !bytes.Equal(fromPDB.output(name), fromCIF.output(name)) {
			t.Errorf("%s differs between PDB and mmCIF of one structure", name)
		}
	}
	long := prepareReceptor(t, mmcifOf(string(pdb), map[string]string{"A": "HEAVY", "B": "A"}, acetateBonds), fields{
		"chains":          []string{"HEAVY"},
		"nativeReference": fields{"componentId": "ACY", "chain": "HEAVY", "residue": 203},
		"box":             fields{"source": "pocketLigand", "componentId": "acy", "chain": "HEAVY"},
	}, nil)
	var serials struct {
		Serials map[string]int
		Renamed map[string][]any
	}
	long.read("serials.json", &serials)
	author := serials.Renamed["A:5:A"]
	if len(author) != 3 || author[0] != "HEAVY" || serials.Serials["A:5:A:CA"] != 147 {
		t.Errorf("A:5:A is %v with serial %d, want chain HEAVY and 147", author, serials.Serials["A:5:A:CA"])
	}
	summary := long.summary().Summary
	if !strings.Contains(strings.Join(summary.Notes, "\n"), "HEAVY is A") {
		t.Errorf("got notes %q, want one about the chain's letter", summary.Notes)
	}
	if summary.Native == nil || summary.Native.SMILES != "CC(=O)O" {
		t.Errorf("got native ligand %v, want acetic acid from the file's bonds", summary.Native)
	}
}

// TestPreparedReceptorIsReused takes a preparation over for another box, and refuses one that does not fit.
func TestPreparedReceptorIsReused(t *testing.T) {
	t.Parallel()
	text := string(readFile(t, crafted))
	chains := strings.Split(text, "TER\n")
	receptor := []byte(chains[0] + "TER\nEND\n") // without metals
	incomplete := fields{"protonationMethod": "meeko"}
	far := fields{"source": "explicit", "centerAngstrom": []float64{-16, -8, 13}, "sizeAngstrom": []float64{4, 4, 4}}
	request := func(more fields) fields {
		whole := fields{"preparation": incomplete, "box": far}
		for key, value := range more {
			whole[key] = value
		}
		return whole
	}
	first := prepareReceptor(t, receptor, request(nil), nil)
	wantEqual(t, "residues kept as they stand", residues(first.report().RigidResidues), []string{"A:LYS5A"})
	prepared := func(required bool, changed ...string) fields {
		hashes := fields{"required": required}
		for key, value := range first.report().Hashes {
			hashes[key] = value
		}
		for _, key := range changed {
			hashes[key] = strings.Repeat("0", 64)
		}
		return hashes
	}
	again := prepareReceptor(t, receptor, request(fields{"prepared": prepared(true)}), first)
	if !again.summary().Summary.Reused {
		t.Errorf("the preparation was not reused: %v", again.summary().Summary.Notes)
	}
	for _, name := range []string{"receptor.pdbqt", "receptor.pdb", "serials.json"} {
		if !bytes.Equal(first.output(name), again.output(name)) {
			t.Errorf("%s of the reused preparation differs", name)
		}
	}
	prepareReceptor(t, receptor, request(fields{"prepared": prepared(true, "toolchainSha256")}),
		first).wantRefused("PREPARED_RECEPTOR_STALE", "toolchainSha256")
	anew := prepareReceptor(t, receptor, request(fields{"prepared": prepared(false, "preparationSha256")}), first)
	if summary := anew.summary().Summary; summary.Reused || !strings.Contains(strings.Join(summary.Notes, "\n"),
		"preparationSha256 differs") {
		t.Errorf("got reused %v and notes %q, want a new preparation and why", summary.Reused, summary.Notes)
	}
	spoilt := *first
	spoilt.dir = t.TempDir()
	for _, name := range []string{"receptor.pdbqt", "receptor.pdb", "serials.json", "receptor.json"} {
		spoilt.write("out/"+name, first.output(name))
	}
	spoilt.write("out/receptor.pdbqt", append(first.output("receptor.pdbqt"), '\n'))
	prepareReceptor(t, receptor, request(fields{"prepared": prepared(true)}), &spoilt).wantRefused("PREPARED_RECEPTOR_STALE",
		"preparedSha256")
	none := prepareReceptor(t, receptor, request(fields{"prepared": prepared(false)}), nil) // its files were lost
	if summary := none.summary().Summary; summary.Reused || !bytes.Equal(first.output("receptor.pdbqt"),
		none.output("receptor.pdbqt")) {
		t.Errorf("without the earlier files: reused %v, want the same receptor prepared anew", summary.Reused)
	}
}

// TestReusedPreparationIsCheap asks Python which modules a reused preparation imported.
func TestReusedPreparationIsCheap(t *testing.T) {
	t.Parallel()
	first := prepareReceptor(t, readFile(t, peptide), fields{}, nil)
	prepared := fields{"required": true}
	for key, value := range first.report().Hashes {
		prepared[key] = value
	}
	again := prepareReceptor(t, readFile(t, peptide), fields{"prepared": prepared}, first)
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-X", "importtime", "program/prepare_receptor.py")
	command.Dir = again.dir
	var imports bytes.Buffer
	command.Stdout, command.Stderr = io.Discard, &imports
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s", err, imports.String())
	}
	for _, heavy := range []string{"meeko", "pdb2pqr", "propka", "rdkit", "numpy"} {
		if strings.Contains(imports.String(), "| "+heavy+"\n") || strings.Contains(imports.String(), " "+heavy+"\n") {
			t.Errorf("a reused preparation imports %s", heavy)
		}
	}
}

// TestBoxSources finds the box around a ligand, residues and a pocket of c-Abl, and takes its native ligand out.
func TestBoxSources(t *testing.T) {
	t.Parallel()
	receptor, ligand := abl1.Entry(), abl1.SiteCenterAngstrom
	native := fields{"componentId": "STI", "chain": "A", "residue": 201}
	reference := func(smiles string) fields {
		return fields{
			"box": fields{"source": "pocketLigand", "componentId": "STI"}, "nativeReference": native,
			"components": fields{"STI": fields{"smiles": smiles}},
		}
	}
	for _, c := range []struct {
		name    string
		request fields
		within  float64
	}{
		{"pocketLigand", reference(imatinibSMILES), 1},
		{"pocketResidues", fields{"box": fields{"source": "pocketResidues", "residues": []fields{
			{"chain": "A", "residue": 286}, {"chain": "A", "residue": 315}, {"chain": "A", "residue": 318},
			{"chain": "A", "residue": 381},
		}}}, 8},
		{"fpocket", fields{"box": fields{"source": "fpocket"}}, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			run := prepareReceptor(t, receptor, c.request, nil)
			var box struct {
				Source                       string
				CenterAngstrom, SizeAngstrom [3]float64
				Detail                       fields
			}
			run.read("box.json", &box)
			if box.Source != c.name || len(box.Detail) == 0 {
				t.Errorf("got source %q with detail %v", box.Source, box.Detail)
			}
			for i := range 3 {
				if away := box.CenterAngstrom[i] - ligand[i]; away > c.within || away < -c.within || box.SizeAngstrom[i] < 15 ||
					box.SizeAngstrom[i] > 40 {
					t.Errorf("got a box at %v of %v Å, want it within %g Å of the ligand at %v", box.CenterAngstrom,
						box.SizeAngstrom, c.within, ligand)
				}
			}
			if run.report().AtomsInBox < 50 || bytes.Contains(run.output("receptor.pdbqt"), []byte("STI")) {
				t.Errorf("%d atoms lie in the box, want more than 50 and no STI", run.report().AtomsInBox)
			}
			if c.name == "pocketLigand" {
				checkNative(t, run, 37)
			}
		})
	}
	missing := prepareReceptor(t, receptor, fields{"box": fields{"source": "pocketLigand", "componentId": "PU8", "chain": "A"}},
		nil)
	missing.wantRefused("POCKET_LIGAND_MISSING", "PU8, chain A", "STI 201 of chain A")
	prepareReceptor(t, receptor, fields{"nativeReference": fields{"componentId": "STI", "chain": "B", "residue": 201}}, nil).
		wantRefused("NATIVE_LIGAND_MISSING", "STI 201 of chain A")
	prepareReceptor(t, receptor, fields{"nativeReference": native}, nil).wantRefused("NATIVE_LIGAND_UNUSABLE", "no hydrogens",
		"mmCIF")
	prepareReceptor(t, receptor, reference(strings.Repeat("C", 40)+imatinibSMILES), nil).
		wantRefused("NATIVE_LIGAND_UNUSABLE", "37 of its 77 heavy atoms")
	partial := prepareReceptor(t, receptor, reference("C"+imatinibSMILES), nil)
	checkNative(t, partial, 37)
	partial.wantNote("37 of the 38 heavy atoms of STI 201 of chain A were seen; it is docked whole, and compared where it was seen")
}

func checkNative(t *testing.T, run *task, heavy int) {
	t.Helper()
	var native struct{ ComponentID, SMILES, Molblock string }
	run.read("native.json", &native)
	counts := strings.Split(native.Molblock, "\n")
	if len(counts) < 4 || !strings.HasPrefix(counts[3], fmt.Sprintf("%3d", heavy)) || native.SMILES == "" {
		t.Errorf("got %q and\n%s\nwant a molblock of %d atoms", native.SMILES, native.Molblock, heavy)
	}
}

// TestMmcifFromArchive prepares CRABP2 with retinoic acid, whose bonds the file lists.
func TestMmcifFromArchive(t *testing.T) {
	t.Parallel()
	run := prepareReceptor(t, readFile(t, enginestest.Sample(t, "1cbs.cif")), fields{
		"declaredFormat": "mmcif", "assemblyId": "1", "box": fields{"source": "pocketLigand", "componentId": "REA"},
		"nativeReference": fields{"componentId": "REA", "chain": "A", "residue": 200},
	}, nil)
	checkNative(t, run, 22)
	if got, want := run.summary().Summary.Native.SMILES, "CC1=C(/C=C/C(C)=C/C=C/C(C)=C/C(=O)O)C(C)(C)CCC1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestMetalsAndCofactors wants the manganese, the phosphates on the chain and the ATP of a kinase to stay unasked.
func TestMetalsAndCofactors(t *testing.T) {
	t.Parallel()
	run := prepareReceptor(t, readFile(t, enginestest.Sample(t, "1atp.pdb")), fields{
		"box": fields{"source": "pocketResidues", "residues": []fields{{"chain": "E", "residue": 184}}},
	}, nil)
	report, pdb := run.report(), run.output("receptor.pdb")
	wantEqual(t, "components", sited(report), []string{
		"E:ATP355 kept: --remove ATP (receptorPreparation.removeComponents)",
		"E:MN351 kept: --remove MN (receptorPreparation.removeComponents)",
		"E:MN352 kept: --remove MN (receptorPreparation.removeComponents)",
		"E:SEP338 kept: --remove SEP (receptorPreparation.removeComponents)",
		"E:TPO197 kept: --remove TPO (receptorPreparation.removeComponents)",
	})
	for residue, atLeast := range map[int]int{351: 1, 197: 12, 338: 11, 355: 31} {
		if got := len(atomsOf(pdb, "E", residue, "")); got < atLeast {
			t.Errorf("residue %d has %d atoms, want at least %d", residue, got, atLeast)
		}
	}
	if len(report.LeftOutResidues) != 0 {
		t.Errorf("left out %v", report.LeftOutResidues)
	}
}

func TestHostileReceptors(t *testing.T) {
	t.Parallel()
	whole := string(readFile(t, crafted))
	line := "ATOM      1  N   ALA A   1      11.000  12.000  13.000  1.00  0.00           N  \n"
	cif := string(mmcifOf(whole, map[string]string{"A": "A"}, ""))
	for _, c := range []struct {
		name, receptor, format, code, text string
	}{
		{"empty", "", "", "RECEPTOR_UNREADABLE", "empty"},
		{"binary", "ATOM\x00\x01", "", "RECEPTOR_UNREADABLE", "binary"},
		{"compressed", "\x1f\x8b\x08rest", "", "RECEPTOR_UNREADABLE", "compressed"},
		{"no atoms", "HEADER    HYDROLASE\n", "", "RECEPTOR_UNREADABLE", "ATOM"},
		{"a million columns", strings.Repeat("x", 1_000_000) + "\n", "", "RECEPTOR_UNREADABLE", "ATOM"},
		{"an atom of a million columns", line[:30] + strings.Repeat(" ", 1_000_000) + "1.0\n", "", "RECEPTOR_UNREADABLE", "Line 1"},
		{"no number", strings.Replace(line, "12.000", " 1O.00", 1), "", "RECEPTOR_UNREADABLE", "not numbers"},
		{"not a number", strings.Replace(line, "12.000", "   nan", 1), "", "RECEPTOR_UNREADABLE", "out of range"},
		{"residue number", strings.Replace(line, "A   1 ", "A   * ", 1), "", "RECEPTOR_UNREADABLE", "residue number"},
		{"only a ligand", "HETATM" + line[6:17] + "LIG" + line[20:], "", "RECEPTOR_NO_POLYMER", "protein"},
		{"chains of one name", line + strings.Replace(line, "12.000", "52.000", 1), "", "RECEPTOR_RESIDUE_TWICE",
			"ALA 1 of chain A"},
		{"mmCIF said to be PDB", cif, "pdb", "RECEPTOR_FORMAT_MISMATCH", "the file is mmCIF"},
		{"PDB said to be mmCIF", whole, "mmcif", "RECEPTOR_FORMAT_MISMATCH", "the file is PDB"},
		{"PDB said to be PDBQT", whole, "pdbqt", "RECEPTOR_FORMAT_MISMATCH", "the file is PDB"},
		{"mmCIF without atoms", "data_x\n_entry.id x\n", "", "RECEPTOR_UNREADABLE", "_atom_site"},
		{"broken mmCIF", "data_x\nloop_\n_atom_site.Cartn_x\n'unclosed\n", "", "RECEPTOR_UNREADABLE", "mmCIF"},
		{"mmCIF coordinates", strings.Replace(cif, "-4.871", "?", 1), "", "RECEPTOR_UNREADABLE", "coordinates"},
		{"mmCIF infinite coordinates", strings.Replace(cif, "-4.871", "1e300", 1), "", "RECEPTOR_UNREADABLE", "coordinates"},
		{"mmCIF model number", strings.Replace(cif, " 1\n", " x\n", 1), "", "RECEPTOR_UNREADABLE", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			request := fields{}
			if c.format != "" {
				request["declaredFormat"] = c.format
			}
			prepareReceptor(t, []byte(c.receptor), request, nil).wantRefused(c.code, c.text)
		})
	}
}

// TestGivenPdbqt takes a prepared receptor as it is, finds a box in it and tells its residues.
func TestGivenPdbqt(t *testing.T) {
	t.Parallel()
	prepared := prepareReceptor(t, readFile(t, peptide), fields{"preparation": fields{"protonationMethod": "meeko"}},
		nil).output("receptor.pdbqt")
	run := prepareReceptor(t, prepared, fields{"declaredFormat": "pdbqt",
		"box": fields{"source": "pocketResidues", "residues": []fields{{"chain": "A", "residue": 5}}}}, nil)
	if want := strings.ReplaceAll(string(prepared), " \n", "\n"); string(run.output("receptor.pdbqt")) != want {
		t.Errorf("a prepared receptor is changed")
	}
	if pdb := run.output("receptor.pdb"); len(atomsOf(pdb, "A", 5, "")) != len(atomsOf(prepared, "A", 5, "")) {
		t.Errorf("residue 5 has other atoms in receptor.pdb:\n%s", pdb)
	}
	prepareReceptor(t, prepared, fields{"assemblyId": "1"}, nil).wantRefused("RECEPTOR_ASSEMBLY_MISSING", "receptorAssemblyId")
}
