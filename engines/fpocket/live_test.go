package fpocket

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/abl1"
)

type livePocket struct {
	Rank                int
	Score               float64
	DruggabilityScore   float64
	VolumeCubicAngstrom float64
	CenterAngstrom      [3]float64
	Residues            []liveResidue
	BoundComponents     []liveResidue
	DockingBox          struct{ BoxCenterAngstrom, BoxSizeAngstrom [3]float64 }
	Files               struct{ Atoms, AlphaSpheres string }
}

type liveResidue struct {
	Chain, ResidueName, InsertionCode string
	Residue                           int
}

type liveDocument struct {
	Engine       struct{ Name, Version string }
	PocketsFound int
	Pockets      []livePocket
	Notes        []string
	Structure    struct {
		Format                                         string
		AtomCount, HydrogensLeftOut, WaterAtomsLeftOut int
		Chains                                         []struct{ Chain, ChainInPdbFiles string }
	}
}

func readPocketsOf(t *testing.T, outcome *enginestest.Outcome) liveDocument {
	t.Helper()
	var document liveDocument
	if err := json.Unmarshal(readOutput(t, outcome, pocketsFile), &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func readOutput(t *testing.T, outcome *enginestest.Outcome, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(outcome.Dirs[shardPockets].Out(name))
	if err != nil {
		t.Fatalf("%v\nfailures: %v\nlog:\n%s", err, outcome.Failures, outcome.Logs[shardPockets])
	}
	return content
}

func liveCases(t *testing.T) []enginestest.LiveCase {
	t.Helper()
	whole, err := os.ReadFile(carved)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	made := func(name, content string) map[string]string {
		path := filepath.Join(folder, name)
		writeFile(t, path, []byte(content))
		return map[string]string{"scene.pdb": path}
	}
	text := string(whole)
	some := firstLines(text, "ATOM", 30)
	cases := []enginestest.LiveCase{
		{Name: "pocket of a ligand", Request: requestFor(`{"maxPockets":3}`), Objects: map[string]string{"scene.pdb": carved},
			Check: checkCarved},
		{Name: "mmCIF with long chain names", Request: requestFor(`{}`), Objects: made("long.cif", mmcif(text)), Check: checkMmcif},
		{Name: "no pocket", Request: requestFor(`{}`), Objects: made("helix.pdb", firstLines(text, "ATOM", 60)),
			Check: checkNoPocket},
	}
	for _, bad := range []struct{ name, content, code, text string }{
		{"empty file", "", "STRUCTURE_UNREADABLE", "empty"},
		{"blank file", " \n\n", "STRUCTURE_UNREADABLE", "empty"},
		{"no atoms", "HEADER    HYDROLASE\nEND\n", "STRUCTURE_UNREADABLE", "ATOM"},
		{"sequence", ">protein\nMKTAYIAKQR\n", "STRUCTURE_UNREADABLE", "ATOM"},
		{"broken coordinates", replaceColumns(some, 30, "  15,929"), "STRUCTURE_UNREADABLE",
			"Line 1 of the structure: its coordinates are not numbers"},
		{"coordinates far away", replaceColumns(some, 30, " 1e6    "), "STRUCTURE_UNREADABLE", "outside"},
		{"no residue number", replaceColumns(some, 22, "  X "), "STRUCTURE_UNREADABLE", "residue number"},
		{"cut in a line", some + some[:40], "STRUCTURE_UNREADABLE", "Line 31"},
		{"only water", linesWith(text, "HOH"), "STRUCTURE_NO_PROTEIN", "water"},
		{"only a ligand", linesWith(text, "PU8"), "STRUCTURE_NO_PROTEIN", "HETATM"},
		{"too small", firstLines(text, "ATOM", 10), "STRUCTURE_TOO_SMALL", "10 heavy atoms"},
		{"compressed", "\x1f\x8b\x08\x00rest", "STRUCTURE_UNREADABLE", "compressed"},
		{"binary", "ATOM\x00\x01", "STRUCTURE_UNREADABLE", "binary"},
		{"mmCIF without atoms", "data_x\n_entry.id x\n", "STRUCTURE_UNREADABLE", "_atom_site"},
		{"broken mmCIF", "data_x\nloop_\n_atom_site.id\n'unclosed\n", "STRUCTURE_UNREADABLE", "mmCIF"},
		{"mmCIF with 100,000 atoms", manyAtoms(100_000), "STRUCTURE_TOO_LARGE", "99999"},
	} {
		cases = append(cases, enginestest.LiveCase{
			Name: bad.name, Request: requestFor(`{}`), Objects: made(strings.ReplaceAll(bad.name, " ", "-"), bad.content),
			Check: wantRefused(bad.code, bad.text),
		})
	}
	return cases
}

func wantRefused(code, text string) func(*testing.T, *enginestest.Outcome) {
	return func(t *testing.T, outcome *enginestest.Outcome) {
		t.Helper()
		got := outcome.Failures[shardPockets]
		if got == nil {
			t.Fatalf("the shard did not fail; log:\n%s", outcome.Logs[shardPockets])
		}
		if got.Class != engines.UserInput || got.Code != code || !strings.Contains(got.Message, text) {
			t.Errorf("got %s %s %q, want USER_INPUT %s naming %q", got.Class, got.Code, got.Message, code, text)
		}
	}
}

func checkCarved(t *testing.T, outcome *enginestest.Outcome) {
	document := readPocketsOf(t, outcome)
	if document.Structure.WaterAtomsLeftOut != 3 || document.Structure.AtomCount != 281 || document.PocketsFound != 1 {
		t.Fatalf("got %+v and %d pockets, want 281 atoms without 3 waters and one pocket", document.Structure,
			document.PocketsFound)
	}
	pocket := document.Pockets[0]
	checkAroundLigand(t, pocket, carved, "PU8")
	if pocket.DruggabilityScore < 0.9 || pocket.VolumeCubicAngstrom < 900 || pocket.VolumeCubicAngstrom > 1300 {
		t.Errorf("got druggability %.3f and %.0f Å³, want more than 0.9 and about 1,100 Å³", pocket.DruggabilityScore,
			pocket.VolumeCubicAngstrom)
	}
	if !slices.Contains(pocket.Residues, liveResidue{Chain: "A", Residue: 93, ResidueName: "ASP"}) {
		t.Errorf("ASP 93, which binds the ligand, does not line the pocket: %v", pocket.Residues)
	}
	atoms, spheres := string(readOutput(t, outcome, pocket.Files.Atoms)), string(readOutput(t, outcome, pocket.Files.AlphaSpheres))
	if !strings.Contains(atoms, "ASP A  93") || strings.Contains(atoms, "PU8") || strings.Count(spheres, " STP ") < 100 {
		t.Errorf("the pocket's files do not hold its atoms and spheres:\n%s\n%s", atoms, spheres)
	}
	if all := string(readOutput(t, outcome, "structure-with-pockets.pdb")); strings.Count(all, "\nATOM") != 253 ||
		strings.Count(all, " STP ") != strings.Count(spheres, " STP ") {
		t.Error("the structure with pockets does not hold the structure and the spheres")
	}
	result := outcome.Results[shardPockets]
	if result.Programs[document.Engine.Name] != document.Engine.Version || document.Engine.Version == "" {
		t.Errorf("the programs %v do not name the pocket finder %+v", result.Programs, document.Engine)
	}
	if provenance := readOutput(t, outcome, provenanceFile); !bytes.Contains(provenance, []byte(`installed`)) ||
		!bytes.Contains(provenance, []byte("10.1186/1471-2105-10-168")) {
		t.Errorf("the provenance does not say which program was chosen and what to cite:\n%s", provenance)
	}
}

// checkMmcif wants the author's numbering of the document that mmcif writes.
func checkMmcif(t *testing.T, outcome *enginestest.Outcome) {
	document := readPocketsOf(t, outcome)
	if document.Structure.Format != "mmcif" || document.PocketsFound != 1 || document.Structure.AtomCount != 281 ||
		document.Structure.HydrogensLeftOut != 1 {
		t.Fatalf("got %+v and %d pockets, want mmcif with 281 heavy atoms and one pocket", document.Structure,
			document.PocketsFound)
	}
	pocket := document.Pockets[0]
	if !slices.Contains(pocket.Residues, liveResidue{Chain: "AAA", Residue: 93, InsertionCode: "B", ResidueName: "ASP"}) {
		t.Errorf("ASP 93B of chain AAA does not line the pocket: %v", pocket.Residues)
	}
	atoms := string(readOutput(t, outcome, pocket.Files.Atoms))
	if letter := document.Structure.Chains[0].ChainInPdbFiles; len(letter) != 1 ||
		!strings.Contains(atoms, "ASP "+letter+"  93B") || !strings.Contains(atoms, "CHAIN "+letter+" IS CHAIN AAA") {
		t.Errorf("the pocket's file does not say which letter stands for chain AAA:\n%s", atoms)
	}
}

func checkNoPocket(t *testing.T, outcome *enginestest.Outcome) {
	document := readPocketsOf(t, outcome)
	if document.PocketsFound != 0 || len(document.Pockets) != 0 || !strings.Contains(strings.Join(document.Notes, " "),
		"no pocket was found") {
		t.Errorf("got %d pockets and notes %q, want none and a note that says so", document.PocketsFound, document.Notes)
	}
}

// checkAroundLigand wants the pocket's centre near the middle of the ligand, the ligand named, and all of it in the suggested box.
func checkAroundLigand(t *testing.T, pocket livePocket, path, ligand string) {
	t.Helper()
	positions := positionsOf(t, path, ligand)
	var middle [3]float64
	for _, p := range positions {
		for axis := range 3 {
			middle[axis] += p[axis] / float64(len(positions))
			if math.Abs(p[axis]-pocket.DockingBox.BoxCenterAngstrom[axis]) > pocket.DockingBox.BoxSizeAngstrom[axis]/2 {
				t.Errorf("an atom of %s at %v lies outside the box %+v", ligand, p, pocket.DockingBox)
			}
		}
	}
	if d := distance(middle, pocket.CenterAngstrom); d > 5 {
		t.Errorf("the centre of pocket %d is %.1f Å from the middle of %s, want at most 5", pocket.Rank, d, ligand)
	}
	named := func(c liveResidue) bool { return c.ResidueName == ligand }
	if !slices.ContainsFunc(pocket.BoundComponents, named) {
		t.Errorf("pocket %d holds %v, want %s", pocket.Rank, pocket.BoundComponents, ligand)
	}
}

// TestCrystalStructures finds the pockets of whole structures with their ligands: the best one is the ligand's.
func TestCrystalStructures(t *testing.T) {
	t.Parallel()
	enginestest.Python(t)
	abl, err := abl1.WriteEntry(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for ligand, path := range map[string]string{"STI": abl, "ATP": enginestest.Sample(t, "1atp.pdb")} {
		t.Run(ligand, func(t *testing.T) {
			t.Parallel()
			outcome := enginestest.Drive(t, New(), requestFor(`{}`), map[string]string{"scene.pdb": path})
			document := readPocketsOf(t, outcome)
			if len(document.Pockets) != DefaultMaxPockets || document.PocketsFound <= DefaultMaxPockets {
				t.Fatalf("got %d of %d pockets, want %d of more", len(document.Pockets), document.PocketsFound, DefaultMaxPockets)
			}
			best := document.Pockets[0]
			checkAroundLigand(t, best, path, ligand)
			t.Logf("the pocket of %s by %s: score %.3f, druggability %.3f, %.0f Å³", ligand, document.Engine.Name, best.Score,
				best.DruggabilityScore, best.VolumeCubicAngstrom)
		})
	}
}

// TestReceptorWithoutChains finds the pocket of c-Abl in a PDBQT with hydrogens and without chains: imatinib's place lies in one
// of the boxes.
func TestReceptorWithoutChains(t *testing.T) {
	t.Parallel()
	enginestest.Python(t)
	receptor := filepath.Join(t.TempDir(), "receptor.pdbqt")
	chainless := regexp.MustCompile(`(?m)^(.{21})A`).ReplaceAll(abl1.Prepared(), []byte("$1 "))
	if err := os.WriteFile(receptor, chainless, 0o600); err != nil {
		t.Fatal(err)
	}
	outcome := enginestest.Drive(t, New(), requestFor(`{}`), map[string]string{"scene.pdb": receptor})
	document := readPocketsOf(t, outcome)
	if document.Structure.Format != "pdbqt" || document.Structure.HydrogensLeftOut == 0 {
		t.Errorf("got %+v, want a PDBQT whose hydrogens were left out", document.Structure)
	}
	for _, pocket := range document.Pockets {
		if d := distance(abl1.SiteCenterAngstrom, pocket.CenterAngstrom); d < 8 {
			t.Logf("pocket %d, druggability %.3f, is %.1f Å from imatinib's place", pocket.Rank, pocket.DruggabilityScore, d)
			return
		}
	}
	t.Errorf("no pocket is near imatinib's place %v", abl1.SiteCenterAngstrom)
}

// --- structures made from the carved one ---

func linesWith(text, component string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "HETATM") && line[17:20] == component {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func firstLines(text, record string, count int) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, record) && count > 0 {
			kept.WriteString(line)
			count--
		}
	}
	return kept.String()
}

// replaceColumns writes the replacement over a column of the first line.
func replaceColumns(text string, column int, replacement string) string {
	return text[:column] + replacement + text[column+len(replacement):]
}

// mmcif writes the atoms as mmCIF: chain AAA, residue 93 with the insertion code B, a hydrogen and a second model of one atom.
func mmcif(text string) string {
	var written strings.Builder
	written.WriteString("data_made\nloop_\n")
	for _, item := range strings.Fields("group_PDB id type_symbol label_atom_id label_alt_id label_comp_id label_asym_id " +
		"label_seq_id auth_seq_id auth_asym_id pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy B_iso_or_equiv " +
		"pdbx_PDB_model_num") {
		written.WriteString("_atom_site." + item + "\n")
	}
	atom := func(line, element string, model int) {
		insertion := "?"
		if strings.TrimSpace(line[22:26]) == "93" {
			insertion = "B"
		}
		fmt.Fprintf(&written, "%s %s %s %q . %s A 7 %s AAA %s %s %s %s 1.00 20.0 %d\n", strings.TrimSpace(line[:6]),
			strings.TrimSpace(line[6:11]), element, strings.TrimSpace(line[12:16]), strings.TrimSpace(line[17:20]),
			strings.TrimSpace(line[22:26]), insertion, line[30:38], line[38:46], line[46:54], model)
	}
	first := ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM") {
			atom(line, strings.TrimSpace(line[76:]), 1)
			if first == "" {
				first = line
			}
		}
	}
	atom(first, "H", 1)
	atom(first, "C", 2)
	return written.String()
}

// manyAtoms is an mmCIF file with one atom a residue.
func manyAtoms(count int) string {
	var written strings.Builder
	written.WriteString(
		"data_made\nloop_\n_atom_site.group_PDB\n_atom_site.type_symbol\n_atom_site.label_atom_id\n_atom_site.label_comp_id\n_atom_site.label_asym_id\n_atom_site.label_seq_id\n_atom_site.Cartn_x\n_atom_site.Cartn_y\n_atom_site.Cartn_z\n")
	for i := range count {
		fmt.Fprintf(&written, "ATOM C CA ALA AA %d %d %d %d\n", i+1, i%50*3, i/50%50*3, i/2500*3)
	}
	return written.String()
}

func positionsOf(t *testing.T, path, component string) [][3]float64 {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var positions [][3]float64
	for line := range strings.Lines(string(content)) {
		if !strings.HasPrefix(line, "HETATM") || line[17:20] != component {
			continue
		}
		var p [3]float64
		for axis := range 3 {
			if p[axis], err = strconv.ParseFloat(strings.TrimSpace(line[30+8*axis:38+8*axis]), 64); err != nil {
				t.Fatal(err)
			}
		}
		positions = append(positions, p)
	}
	if len(positions) == 0 {
		t.Fatalf("%s has no %s", path, component)
	}
	return positions
}

func distance(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}
