package redock

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// definition is GP6's in the dictionary of components.
const definition = `{"id":"GP6","name":"1-(4-AMIDINOPHENYL)-3-(4-CHLOROPHENYL)UREA","synonyms":[],` +
	`"formula":"C14 H13 Cl N4 O","type":"NON-POLYMER","smiles":"N=C(N)c1ccc(NC(=O)Nc2ccc(Cl)cc2)cc1",` +
	`"inchiKey":"HQWKMDKTTCPCMQ-UHFFFAOYSA-N"}` + "\n"

// trypsin is the text of entry 1BJU (testdata/README.md).
func trypsin(t *testing.T) string {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "1bju.pdb.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dictionary writes a dictionary of components that knows GP6.
func dictionary(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "components.jsonl.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	packed := gzip.NewWriter(file)
	if _, err := packed.Write([]byte(definition)); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// alone is the lines of the ligand without its protein.
func alone(entry string) string {
	var lines strings.Builder
	for line := range strings.Lines(entry) {
		if strings.HasPrefix(line, "HETATM") && strings.Contains(line, "GP6 A 910") {
			lines.WriteString(line)
		}
	}
	return lines.String() + "END\n"
}

// TestRedocking docks the ligand of a small entry again, on a whole system and by hand, beside a case that both must fail and one
// whose ligand is not there.
func TestRedocking(t *testing.T) {
	t.Parallel()
	serverstest.Long(t)
	python, folder, entry := enginestest.Python(t), serverstest.Dir(t), trypsin(t)
	program, err := serverstest.Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	cases := writeFiles(t, map[string]string{
		"1bju.pdb": entry, "alone.pdb": alone(entry), "absent.pdb": entry,
		"cases.tsv": "pdb\tligand\tchain\tresidue\tkeep\n1bju\tGP6\tA\t910\tCA\nalone\tGP6\tA\t910\t-\nabsent\tGP6\tA\t911\t-\n",
	})
	var shown strings.Builder
	o := Options{
		Cases: []string{cases}, Seed: 42, Exhaustiveness: 1, Slots: 2, Program: program, Version: "test", Python: python,
		Components: dictionary(t, folder), Output: filepath.Join(folder, "report"), Out: &shown, Log: slog.New(slog.DiscardHandler),
	}
	serverstest.Check(t, Run(t.Context(), o))
	first := readReport(t, o.Output)
	if t.Failed() || len(first.Records) != 3 {
		t.Fatalf("got %+v\n%s", first, shown.String())
	}
	found, failed, absent := first.Records[0], first.Records[1], first.Records[2]
	checkFound(t, "molfabric", found.Fabric.Poses, found.Fabric.Failure)
	checkFound(t, "bare Vina", found.Bare.Poses, found.Bare.Failure)
	if len(found.Fabric.Box.Center) != 3 || found.Fabric.JobID == "" || len(found.Bare.Kept) != 1 {
		t.Errorf("got %+v and %+v", found.Fabric, found.Bare)
	}
	if failed.Fabric == nil || failed.Fabric.Failure == "" || failed.Bare == nil ||
		!strings.HasPrefix(failed.Bare.Failure, "chains: ") {
		t.Errorf("a ligand without a protein: got %+v and %+v, want failures of both", failed.Fabric, failed.Bare)
	}
	if absent.Problem == "" || absent.Fabric != nil {
		t.Errorf("a ligand that is not there: got %+v", absent)
	}
	if first.Totals.Cases != 2 || first.Totals.Fabric.First != 1 || first.Totals.Bare.First != 1 {
		t.Errorf("got %+v", first.Totals)
	}
	// Nothing has changed, so nothing runs: a system could not even start.
	o.Program = filepath.Join(folder, "no such program")
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if second := readReport(t, o.Output).Records[0]; second.Fabric.JobID != found.Fabric.JobID ||
		second.Bare.Key != found.Bare.Key {
		t.Errorf("a second run measures again: %+v", second)
	}
	o.Only = []string{"alone"}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if narrowed := readReport(t, o.Output).Records; len(narrowed) != 2 || narrowed[0].Fabric.JobID != found.Fabric.JobID {
		t.Errorf("a run of one case forgets the others: %+v", narrowed)
	}
	o.Version = "another"
	if err := Run(t.Context(), o); err == nil {
		t.Error("what another version has measured is taken for this one's")
	}
}

// checkFound wants a redocking that any docking of this ligand finds.
func checkFound(t *testing.T, arm string, p Poses, failure string) {
	t.Helper()
	first, ok := p.first()
	if !ok || failure != "" || first > goodAngstrom || len(p.ScoresKcalMol) != len(p.RMSDAngstrom) || p.ScoresKcalMol[0] > -6 {
		t.Errorf("%s: got %+v, %q, want a first pose within %g Å", arm, p, failure, goodAngstrom)
	}
	if p.CPUSeconds <= 0 || p.DockCPUSeconds <= 0 || p.WallSeconds <= 0 {
		t.Errorf("%s: got %+v, want what it used", arm, p)
	}
}

func readReport(t *testing.T, folder string) Report {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, reportJSON))
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// molfile writes a molfile with heavy atoms alone: element and position of each, and bonds as "from to order".
func molfile(atoms []string, positions [][3]float64, bonds []string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "pose\n\n\n%3d%3d  0  0  0  0  0  0  0  0999 V2000\n", len(atoms), len(bonds))
	for i, atom := range atoms {
		p := positions[i]
		fmt.Fprintf(&text, "%10.4f%10.4f%10.4f %-3s 0  0\n", p[0], p[1], p[2], atom)
	}
	for _, bond := range bonds {
		var from, to, order int
		if _, err := fmt.Sscan(bond, &from, &to, &order); err != nil {
			panic(err)
		}
		fmt.Fprintf(&text, "%3d%3d%3d  0\n", from, to, order)
	}
	return text.String() + "M  END\n$$$$\n"
}

// TestScorer measures molecules whose distance is known: acetic acid with its oxygens drawn the other way round, moved, and
// another molecule.
func TestScorer(t *testing.T) {
	t.Parallel()
	s := &suite{Options: Options{Python: enginestest.Python(t), Components: "unread"}, scratch: t.TempDir()}
	if err := writePrograms(s.programs()); err != nil {
		t.Fatal(err)
	}
	atoms, bonds := []string{"C", "C", "O", "O"}, []string{"1 2 1", "2 3 2", "2 4 1"}
	known := [][3]float64{{0, 0, 0}, {1.5, 0, 0}, {2.1, 1.05, 0}, {2.1, -1.05, 0}}
	swapped := [][3]float64{known[0], known[1], known[3], known[2]}
	moved := make([][3]float64, len(known))
	for i, p := range known {
		moved[i] = [3]float64{p[0] + 3, p[1], p[2] + 4}
	}
	folder := writeFiles(t, map[string]string{
		"crystal.sdf": molfile(atoms, known, bonds), "case.json": "{}",
		"poses.sdf": molfile(atoms, known, bonds) + molfile(atoms, swapped, bonds) + molfile(atoms, moved, bonds),
		"other.sdf": molfile([]string{"C", "C", "O", "N"}, known, bonds),
	})
	file := func(name string) string { return filepath.Join(folder, name) }
	if err := writeJSON(file(caseFile), Case{Crystal: file("crystal.sdf")}); err != nil {
		t.Fatal(err)
	}
	got, problem, err := s.score(t.Context(), folder, file("poses.sdf"))
	rmsd := fmt.Sprint(got.RMSDAngstrom[file("poses.sdf")])
	if err != nil || problem != "" || rmsd != "[0 0 5]" || got.SMILES != "CC(=O)O" {
		t.Errorf("got %+v, %q, %v, want 0, 0 and 5 Å of CC(=O)O", got, problem, err)
	}
	_, problem, err = s.score(t.Context(), folder, file("other.sdf"))
	if err != nil || !strings.Contains(problem, "another molecule") {
		t.Errorf("another molecule: got %q, %v", problem, err)
	}
}
