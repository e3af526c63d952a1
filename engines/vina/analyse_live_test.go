package vina

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

const (
	imatinibSMILES    = "Cc1ccc(NC(=O)c2ccc(CN3CC[NH+](C)CC3)cc2)cc1Nc1nccc(-c2cccnc2)n1"
	paracetamolSMILES = "CC(=O)Nc1ccc(O)cc1"

	// Imatinib as it lies in PDB entry 1IEP: for a docking program, and its heavy atoms with their bonds.
	imatinibCrystal  = "testdata/1iep-imatinib-crystal.pdbqt"
	imatinibMolecule = "testdata/1iep-imatinib-crystal.mol"
)

// aroundParacetamol is what testdata/paracetamol.pdbqt would meet in a pocket: zinc at its hydroxyl, and a water between its
// carbonyl and the oxygen of glycine 9A. Glycine 9 of the same chain lies apart.
const aroundParacetamol = `ATOM     11  N   GLY B   9      -9.000  12.000   9.000  1.00  0.00           N  
ATOM     12  CA  GLY B   9     -10.000  13.000   9.300  1.00  0.00           C  
ATOM     13  C   GLY B   9     -11.400  12.400   9.300  1.00  0.00           C  
ATOM     14  O   GLY B   9     -11.600  11.200   9.300  1.00  0.00           O  
ATOM     21  N   GLY B   9A      1.314 -10.807  -3.492  1.00  0.00           N  
ATOM     22  CA  GLY B   9A      1.445  -9.486  -3.047  1.00  0.00           C  
ATOM     23  C   GLY B   9A      1.583  -8.098  -2.581  1.00  0.00           C  
ATOM     24  O   GLY B   9A      1.699  -6.938  -2.191  1.00  0.00           O  
HETATM   31 ZN    ZN B 101      -5.556   1.421   0.127  1.00  0.00          ZN  
HETATM   32  O   HOH B 201       1.961  -4.295  -1.302  1.00  0.00           O  
HETATM   33  H1  HOH B 201       2.051  -3.389  -0.998  1.00  0.00           H  
HETATM   34  H2  HOH B 201       1.871  -5.201  -1.607  1.00  0.00           H  
`

// poseLigand is a docked ligand as the analysis gets it: models of PDBQT, and the molecule, "" where the PDBQT does not say it.
type poseLigand struct {
	id, smiles string
	models     []string
}

type interactionRecord struct {
	Type     string
	Receptor struct {
		Chain, InsertionCode, ResidueName, AtomName string
		Residue                                     int
		AtomSerial                                  *int
	}
	Ligand           struct{ AtomIndices []int }
	DistanceAngstrom float64
	AngleDegrees     *float64
}

// place is the interaction's type and the receptor's atom, as in "hydrogen_bond A:318:MET:N".
func (i interactionRecord) place() string {
	at := i.Receptor
	return fmt.Sprintf("%s %s:%d%s:%s:%s", i.Type, at.Chain, at.Residue, at.InsertionCode, at.ResidueName, at.AtomName)
}

type analysedLigand struct {
	LigandID, Status, FailureStage, Error string
	Poses                                 []struct {
		Rank, VinaRank        int
		CNNScore              *float64
		CNNAffinityPk         *float64
		ReferenceRMSDAngstrom *float64
		Checks                *struct {
			Passed bool
			Tests  map[string]bool
		}
		Interactions []interactionRecord
	}
	Files   map[string]string
	BestSDF string
	Notes   []string
	Missing []struct{ Step, Why string }

	AnalyseCPUSeconds float64
}

// analysePoses runs analyse.py in a task directory of its own and returns the directory and what it found.
func analysePoses(t *testing.T, receptor, native string, ligands ...poseLigand) (string, []analysedLigand) {
	t.Helper()
	return analyseAs(t, map[string]any{}, receptor, native, ligands...)
}

// analyseAs is analysePoses with other members of the request.
func analyseAs(t *testing.T, members map[string]any, receptor, native string, ligands ...poseLigand) (string, []analysedLigand) {
	t.Helper()
	dir := layAnalysis(t, members, receptor, native, ligands...)
	if output, err := runAnalysis(t, dir); err != nil {
		t.Fatalf("analyse.py: %v\n%s", err, output)
	}
	return dir, readAnalysis(t, dir, len(ligands))
}

// layAnalysis fills a task directory for analyse.py.
func layAnalysis(t *testing.T, members map[string]any, receptor, native string, ligands ...poseLigand) string {
	t.Helper()
	dir := t.TempDir()
	layPrograms(t, dir)
	var prepared, docked []map[string]any
	var indices []int
	for i, ligand := range ligands {
		entry := map[string]any{"index": i, "ligandId": ligand.id, "label": ligand.id, "status": "PREPARED", "dockedSmiles": nil}
		if ligand.smiles != "" {
			entry["dockedSmiles"] = ligand.smiles
		}
		prepared, docked, indices = append(prepared, entry), append(docked, dockedEntry(i, ligand)), append(indices, i)
	}
	request := map[string]any{
		"program": "analyse.py", "indices": indices, "mostPosesAnalysed": 2, "internalEnergy": true,
		"ligandCpuSeconds": analyseLigandCPUSeconds,
		"rankBy":           rankByVina,
	}
	maps.Copy(request, members)
	writeTaskJSON(t, dir, "request.json", request)
	writeTaskJSON(t, dir, "in/ligands.json", map[string]any{"ligands": prepared})
	writeTaskJSON(t, dir, "in/docked/dock-00000/dock.json", map[string]any{"ligands": docked,
		"programs": map[string]string{"vina": "1.2.7"}})
	writeTaskJSON(t, dir, "in/serials.json", map[string]any{"serials": serialsOf(receptor)})
	writeTaskFile(t, dir, "in/receptor.pdb", receptor)
	writeTaskFile(t, dir, "in/receptor.pdbqt", pdbqtOf(receptor))
	if native != "" {
		writeTaskJSON(t, dir, "in/native.json", map[string]any{"molblock": native})
	}
	return dir
}

func runAnalysis(t *testing.T, dir string) ([]byte, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "program/analyse.py")
	command.Dir = dir
	return command.CombinedOutput()
}

func readAnalysis(t *testing.T, dir string, count int) []analysedLigand {
	t.Helper()
	var document struct{ Ligands []analysedLigand }
	readTaskJSON(t, dir, "out/analysis.json", &document)
	if len(document.Ligands) != count {
		t.Fatalf("got %d ligands, want %d", len(document.Ligands), count)
	}
	return document.Ligands
}

// pdbqtOf writes a receptor's atoms as PDBQT, without charges and with their elements as types.
func pdbqtOf(receptor string) string {
	var text strings.Builder
	for line := range strings.Lines(receptor) {
		if strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM") {
			fmt.Fprintf(&text, "%-66s    +0.000 %s\n", strings.TrimRight(line, "\n")[:66], strings.TrimSpace(line[76:78]))
		}
	}
	return text.String()
}

func dockedEntry(index int, ligand poseLigand) map[string]any {
	var pdbqt strings.Builder
	var poses []map[string]any
	for i, model := range ligand.models {
		fmt.Fprintf(&pdbqt, "MODEL %d\n%sENDMDL\n", i+1, model)
		poses = append(poses, map[string]any{
			"rank": i + 1, "scoreKcalMol": -9.5 + 0.01*float64(i), "rmsdLowerBound": 0, "rmsdUpperBound": 0,
			"terms": map[string]float64{"inter": -12, "intra": -1, "torsional": 2.5, "unbound": -1},
		})
	}
	return map[string]any{
		"index": index, "ligandId": ligand.id, "label": ligand.id, "status": "COMPLETED", "failureStage": nil, "error": nil,
		"poses": poses, "pdbqt": pdbqt.String(), "cpuSeconds": 1.5, "notes": []string{},
	}
}

func writeTaskJSON(t *testing.T, dir, name string, document any) {
	t.Helper()
	content, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	writeTaskFile(t, dir, name, string(content))
}

func writeTaskFile(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serialsOf reads the serials of a PDB file's heavy atoms by chain:number:insertionCode:atomName.
func serialsOf(pdb string) map[string]int {
	serials := map[string]int{}
	for line := range strings.Lines(pdb) {
		if !strings.HasPrefix(line, "ATOM") && !strings.HasPrefix(line, "HETATM") || strings.TrimSpace(line[76:78]) == "H" {
			continue
		}
		column := func(from, to int) string { return strings.TrimSpace(line[from:to]) }
		serial, err := strconv.Atoi(column(6, 11))
		if err != nil {
			continue
		}
		serials[column(21, 22)+":"+column(22, 26)+":"+column(26, 27)+":"+column(12, 16)] = serial
	}
	return serials
}

func readText(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func places(interactions []interactionRecord) []string {
	var found []string
	for _, interaction := range interactions {
		found = append(found, interaction.place())
	}
	return found
}

// swapped exchanges the coordinates of two atoms of a PDBQT.
func swapped(t *testing.T, pdbqt string, first, second int) string {
	t.Helper()
	lines := strings.SplitAfter(pdbqt, "\n")
	at := func(serial int) int {
		return slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, fmt.Sprintf("ATOM%7d", serial)) })
	}
	a, b := at(first), at(second)
	if a < 0 || b < 0 {
		t.Fatalf("no atoms %d and %d", first, second)
	}
	one, other := lines[a], lines[b]
	lines[a], lines[b] = one[:30]+other[30:54]+one[54:], other[:30]+one[30:54]+other[54:]
	return strings.Join(lines, "")
}

// TestAnalyseImatinib analyses imatinib in ABL1 as it lies in the crystal, the same with symmetric atoms exchanged, and a
// docked pose. The hydrogen bonds are those that Nagar et al. 2002 describe.
func TestAnalyseImatinib(t *testing.T) {
	t.Parallel()
	receptor := readText(t, "testdata/1iep-site.pdb")
	crystal, docked := readText(t, imatinibCrystal), readText(t, "testdata/1iep-imatinib-tutorial.pdbqt")
	native := readText(t, imatinibMolecule)
	flipped := crystal
	for _, pair := range [][2]int{{27, 28}, {29, 30}, {34, 35}, {36, 37}} { // the benzamide ring, the piperazine
		flipped = swapped(t, flipped, pair[0], pair[1])
	}
	dir, ligands := analysePoses(t, receptor, native, poseLigand{"imatinib", imatinibSMILES, []string{crystal, docked, flipped}})
	imatinib := ligands[0]
	if imatinib.Status != statusCompleted || len(imatinib.Poses) != 3 {
		t.Fatalf("got %+v, want three poses", imatinib)
	}
	serials := serialsOf(receptor)
	for _, pose := range imatinib.Poses[:2] {
		found := places(pose.Interactions)
		for _, want := range []string{"A:318:MET:N", "A:315:THR:OG1", "A:286:GLU:OE2", "A:381:ASP:N", "A:360:ILE:O"} {
			if !slices.Contains(found, "hydrogen_bond "+want) {
				t.Errorf("pose %d lacks the hydrogen bond to %s; it has %v", pose.Rank, want, found)
			}
		}
		for _, interaction := range pose.Interactions {
			at := interaction.Receptor
			want := serials[fmt.Sprintf("%s:%d:%s:%s", at.Chain, at.Residue, at.InsertionCode, at.AtomName)]
			if at.AtomSerial == nil || *at.AtomSerial != want {
				t.Errorf("pose %d: %s has the serial %v, want %d", pose.Rank, interaction.place(), at.AtomSerial, want)
			}
		}
		if pose.Checks == nil || !pose.Checks.Passed || len(pose.Checks.Tests) != 22 || !pose.Checks.Tests["internal_energy"] {
			t.Errorf("pose %d: got checks %+v, want 22 passed", pose.Rank, pose.Checks)
		}
	}
	for i, most := range []float64{0.001, 0.5, 0.001} {
		if got := imatinib.Poses[i].ReferenceRMSDAngstrom; got == nil || *got > most {
			t.Errorf("pose %d: got a distance of %v Å from the crystal, want at most %g", i+1, got, most)
		}
	}
	if last := imatinib.Poses[2]; last.Checks != nil || last.Interactions != nil {
		t.Errorf("the third of two analysed poses has %v and %v", last.Checks, last.Interactions)
	}
	if sdf := readText(t, filepath.Join(dir, "out/poses/00001.sdf")); !strings.HasPrefix(sdf, imatinib.BestSDF) ||
		strings.Count(sdf, "$$$$\n") != 3 {
		t.Error("the SDF file does not begin with the best pose or has not three records")
	}
}

// TestImatinibsHydrogenBonds finds the bonds that Nagar et al. 2002 describe in 1IEP's site, in the crystal's pose and in a
// docked one, whose amide stands at a sharper angle.
func TestImatinibsHydrogenBonds(t *testing.T) {
	t.Parallel()
	_, ligands := analyseAs(t, map[string]any{"internalEnergy": false}, readText(t, "testdata/1iep-site.pdb"), "",
		poseLigand{"crystal", imatinibSMILES, []string{readText(t, imatinibCrystal)}},
		poseLigand{"docked", imatinibSMILES, []string{readText(t, "testdata/1iep-imatinib-docked.pdbqt")}})
	for _, ligand := range ligands {
		if ligand.Status != statusCompleted {
			t.Fatalf("%s: got %s: %s", ligand.LigandID, ligand.Status, ligand.Error)
		}
		pose := ligand.Poses[0]
		for _, want := range []string{"A:318:MET:N", "A:315:THR:OG1", "A:286:GLU:OE2", "A:381:ASP:N"} {
			if found := places(pose.Interactions); !slices.Contains(found, "hydrogen_bond "+want) {
				t.Errorf("%s lacks the hydrogen bond to %s; it has %v", ligand.LigandID, want, found)
			}
		}
	}
	docked := ligands[1].Poses[0].Interactions
	sharp := slices.IndexFunc(docked, func(i interactionRecord) bool { return i.place() == "hydrogen_bond A:286:GLU:OE2" })
	if sharp < 0 || *docked[sharp].AngleDegrees > 110 {
		t.Errorf("got %+v; this pose is here for its bond to Glu 286, below 110 degrees", docked)
	}
}

// TestAnalyseSmall has a pocket of a few atoms and a ligand of every kind: whole, without its molecule, broken, another molecule.
func TestAnalyseSmall(t *testing.T) {
	t.Parallel()
	whole := readText(t, "testdata/paracetamol.pdbqt")
	var nameless strings.Builder
	for line := range strings.Lines(whole) {
		if !strings.HasPrefix(line, "REMARK") {
			nameless.WriteString(line)
		}
	}
	ligands := []poseLigand{
		{"whole", paracetamolSMILES, []string{whole}},
		{"nameless", "", []string{nameless.String()}},
		{"broken", paracetamolSMILES, []string{whole, strings.Replace(whole, "-2.842", "-2.x42", 1)}},
		{"nowhere", paracetamolSMILES, []string{strings.Replace(whole, "-2.842", "   nan", 1)}},
		{"another", "CCO", []string{whole}},
		{"last", paracetamolSMILES, []string{whole, whole}},
	}
	dir, found := analysePoses(t, aroundParacetamol, readText(t, "testdata/lactic-acid.sdf"), ligands...)
	for i, want := range []string{statusCompleted, statusCompleted, statusFailed, statusFailed, statusFailed, statusCompleted} {
		if got := found[i]; got.Status != want || (want == statusFailed) != (got.FailureStage == "parse_output" &&
			got.Error != "") {
			t.Errorf("%s: got %s at %q (%s), want %s", got.LigandID, got.Status, got.FailureStage, got.Error, want)
		}
	}
	checkSmallPocket(t, found[0])
	nothing := found[1]
	if pose := nothing.Poses[0]; pose.Checks != nil || pose.Interactions != nil || nothing.Files["sdf"] != "" ||
		nothing.BestSDF != "" ||
		len(nothing.Notes) != 1 || len(nothing.Missing) != 1 || nothing.Missing[0].Step != "export" {
		t.Errorf("a ligand without its molecule: got %+v, want no SDF, checks or interactions and a note", nothing)
	}
	again, _ := analysePoses(t, aroundParacetamol, readText(t, "testdata/lactic-acid.sdf"), ligands...)
	sameAnalysis(t, dir, again, "analysis.json", "result.json", "poses/00001.sdf", "poses/00006.sdf")
}

// analysisTimes are the time that an analysis took, and the digest of what holds it.
var analysisTimes = regexp.MustCompile(`"analyseCpuSeconds": [0-9.e-]+|"analysis.json": "[0-9a-f]+"`)

// sameAnalysis compares the files of two analyses byte by byte, but for the time taken.
func sameAnalysis(t *testing.T, dir, again string, names ...string) {
	t.Helper()
	for _, name := range names {
		one, other := readText(t, filepath.Join(dir, "out", name)), readText(t, filepath.Join(again, "out", name))
		if analysisTimes.ReplaceAllString(one, "") != analysisTimes.ReplaceAllString(other, "") {
			t.Errorf("%s differs between two runs", name)
		}
	}
}

func checkSmallPocket(t *testing.T, ligand analysedLigand) {
	t.Helper()
	pose := ligand.Poses[0]
	found := places(pose.Interactions)
	for _, want := range []string{"metal_complex B:101:ZN:ZN", "hydrogen_bond B:201:HOH:O", "water_bridge B:9A:GLY:O"} {
		if !slices.Contains(found, want) {
			t.Errorf("got %v, want %s among them", found, want)
		}
	}
	for _, interaction := range pose.Interactions {
		if interaction.Type == "metal_complex" {
			if got := interaction.Receptor.AtomSerial; got == nil || *got != 31 || interaction.DistanceAngstrom != 2.1 ||
				!slices.Equal(interaction.Ligand.AtomIndices, []int{8}) {
				t.Errorf("got %+v, want the hydroxyl 2.1 Å from atom 31", interaction)
			}
		}
	}
	if pose.ReferenceRMSDAngstrom != nil {
		t.Errorf("got a distance of %g Å from another molecule, want none", *pose.ReferenceRMSDAngstrom)
	}
	if pose.Checks == nil || len(pose.Checks.Tests) != 22 {
		t.Errorf("got checks %+v, want 22", pose.Checks)
	}
}
