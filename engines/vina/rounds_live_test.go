package vina

import (
	"cmp"
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
)

// convergedDocument is what the tests read of dock.json about its searches.
type convergedDocument struct {
	Ligands []struct {
		Index       int
		PDBQT       string
		Notes       []string
		Poses       []struct{ ScoreKcalMol float64 }
		Convergence *struct {
			Converged                      bool
			Exhaustiveness, AgreeingRounds int
			Rounds                         []struct {
				Seed, Exhaustiveness int
				BestScoreKcalMol     float64
				RMSDToBestAngstrom   float64
				FoundBest            bool
			}
		}
	}
}

// autoSearchRequest searches in rounds that begin with first and come to most together.
func autoSearchRequest(threads, seed, first, most int) map[string]any {
	search := searchRequest(threads)
	search["exhaustiveness"], search["seed"], search["engineSeed"] = "auto", seed, seed
	search["auto"] = autoSearch{FirstRound: first, FlexibleFirstRound: first, FlexibleBonds: 8,
		Candidates: autoSearchRule.Candidates, Bounds: []autoBound{{HeavyAtoms: maxHeavyAtoms, Exhaustiveness: most}}}
	return search
}

// dockLigands docks ligands of testdata/rank-ligands.json into the peptide; resume holds files for in/resume.
func dockLigands(t *testing.T, search map[string]any, indices []int, resume map[string]string) (string, convergedDocument) {
	t.Helper()
	inputs := map[string]string{
		"receptor.pdbqt": readText(t, "testdata/rank-receptor.pdbqt"), "ligands.json": readText(t,
			"testdata/rank-ligands.json"), "box.json": peptideBox,
	}
	for name, content := range resume {
		inputs["resume/"+name] = content
	}
	dir, _, failure := runTask(t, "dock.py", map[string]any{"program": "dock.py", "indices": indices, "search": search}, inputs)
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	var document convergedDocument
	readTaskJSON(t, dir, "out/dock.json", &document)
	return dir, document
}

// TestRoundsAgree docks two ligands until independent searches agree, alone and on two threads and from a checkpoint: the poses
// are the same to the byte. Vina, given a round's seed and exhaustiveness, finds the best pose again.
func TestRoundsAgree(t *testing.T) {
	t.Parallel()
	const aspirin, ethanol = 4, 6
	dir, first := dockLigands(t, autoSearchRequest(1, 1, 1, 8), []int{aspirin, ethanol}, nil)
	for _, ligand := range first.Ligands {
		c := ligand.Convergence
		if c == nil || !c.Converged || c.AgreeingRounds < 2 || len(ligand.Notes) > 0 {
			t.Fatalf("ligand %d: got %+v with the notes %q, want a search that has converged", ligand.Index, c, ligand.Notes)
		}
		seeds, sum, best := map[int]bool{}, 0, 0.0
		for _, round := range c.Rounds {
			seeds[round.Seed] = true
			sum += round.Exhaustiveness
			best = min(best, round.BestScoreKcalMol)
		}
		if len(seeds) != len(c.Rounds) || !seeds[1] || sum != c.Exhaustiveness || best != ligand.Poses[0].ScoreKcalMol {
			t.Errorf("ligand %d: got the rounds %+v, want seeds of their own, the request's first, and the best score of all "+
				"of them",
				ligand.Index, c.Rounds)
		}
	}
	resume := map[string]string{
		"1.json": readText(t, filepath.Join(dir, "out/checkpoint/00005.json")),
		"2.json": strings.Replace(readText(t, filepath.Join(dir, "out/checkpoint/00007.json")), `"agreeingRounds": `,
			`"agreeingRounds": 0.`, 1),
	}
	_, again := dockLigands(t, autoSearchRequest(2, 1, 1, 8), []int{aspirin, ethanol}, resume)
	_, alone := dockLigands(t, autoSearchRequest(2, 1, 1, 8), []int{ethanol}, nil)
	if again.Ligands[0].PDBQT != first.Ligands[0].PDBQT || again.Ligands[1].PDBQT != first.Ligands[1].PDBQT ||
		alone.Ligands[0].PDBQT != first.Ligands[1].PDBQT {
		t.Error("the poses depend on the threads, the shard or an interruption")
	}
	if again.Ligands[1].Convergence.AgreeingRounds != first.Ligands[1].Convergence.AgreeingRounds {
		t.Errorf("got %+v from a checkpoint that is not one", again.Ligands[1].Convergence)
	}
	checkRoundAlone(t, first)
}

// vinaAtoms are the coordinates of a model's atoms.
var vinaAtoms = regexp.MustCompile(`(?m)^ATOM .*$`)

// checkRoundAlone searches for aspirin's best pose with the seed and the exhaustiveness of the round that found it.
func checkRoundAlone(t *testing.T, first convergedDocument) {
	t.Helper()
	ligand := first.Ligands[0]
	rounds := slices.Clone(ligand.Convergence.Rounds)
	round := slices.MinFunc(rounds, func(a, b struct {
		Seed, Exhaustiveness int
		BestScoreKcalMol     float64
		RMSDToBestAngstrom   float64
		FoundBest            bool
	}) int {
		return int(1000 * (a.BestScoreKcalMol - b.BestScoreKcalMol))
	})
	search := searchRequest(1)
	search["exhaustiveness"], search["engineSeed"], search["numModes"] = round.Exhaustiveness, round.Seed, autoSearchRule.Candidates
	_, alone := dockLigands(t, search, []int{ligand.Index}, nil)
	best := func(pdbqt string) []string {
		model, _, _ := strings.Cut(pdbqt, "ENDMDL")
		return vinaAtoms.FindAllString(model, -1)
	}
	if got, want := best(ligand.PDBQT), best(alone.Ligands[0].PDBQT); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("Vina with seed %d and exhaustiveness %d finds another best pose than the round: got\n%v\nwant\n%v", round.Seed,
			round.Exhaustiveness, got, want)
	}
	if alone.Ligands[0].Convergence != nil {
		t.Errorf("a search of a fixed length says %+v of its convergence", alone.Ligands[0].Convergence)
	}
}

// TestRoundsDisagree bounds a search so low that its two rounds find different poses: the result says so, and what to do.
func TestRoundsDisagree(t *testing.T) {
	t.Parallel()
	_, document := dockLigands(t, autoSearchRequest(1, 3, 1, 2), []int{4}, nil)
	ligand := document.Ligands[0]
	c := ligand.Convergence
	if c == nil || c.Converged || c.AgreeingRounds != 1 || c.Exhaustiveness != 2 || len(c.Rounds) != 2 ||
		max(c.Rounds[0].RMSDToBestAngstrom, c.Rounds[1].RMSDToBestAngstrom) < 1 {
		t.Fatalf("got %+v, want two rounds that disagree", c)
	}
	if len(ligand.Notes) != 1 || !strings.Contains(ligand.Notes[0], "has not converged") || !strings.Contains(ligand.Notes[0],
		"exhaustiveness 64") {
		t.Errorf("got the notes %q, want one that says what to do", ligand.Notes)
	}
}

// TestRedockingConverges docks a native ligand again in rounds, as every other ligand: its record says how they agree.
func TestRedockingConverges(t *testing.T) {
	t.Parallel()
	request := redockRequest()
	request["search"], request["rankBy"] = autoSearchRequest(1, 42, 1, 4), rankByCNN
	dir, _, failure := runTask(t, "redock.py", request, map[string]string{
		"receptor.pdbqt": readText(t, "testdata/rank-receptor.pdbqt"), "box.json": peptideBox,
		"native.json": nativeOf("C[C@H](O)C(=O)O", readText(t, "testdata/lactic-acid.sdf")),
	})
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	var document struct {
		RankedBy    string
		Convergence *struct{ Exhaustiveness, AgreeingRounds int }
		Poses       []struct {
			Rank, VinaRank int
			CNNScore       *float64
		}
	}
	readTaskJSON(t, dir, "out/redock.json", &document)
	if c := document.Convergence; c == nil || c.Exhaustiveness < 2 || c.Exhaustiveness > 4 || c.AgreeingRounds < 1 ||
		document.RankedBy != rankByCNN {
		t.Errorf("got the convergence %+v, ranked by %s", c, document.RankedBy)
	}
	for i, pose := range document.Poses {
		if pose.Rank != i+1 || pose.VinaRank < 1 || pose.CNNScore == nil || i > 0 &&
			*pose.CNNScore > *document.Poses[i-1].CNNScore {
			t.Errorf("pose %d: got %+v, want poses by falling CNN score", i+1, pose)
		}
	}
}

// mergeOutputs reads Vina's outputs of two searches, written by hand: the second search has the better pose and, with it,
// another unbound energy; the first one's second pose is the second one's best, with the oxygens of its carboxylate exchanged.
const mergeOutputs = `
import sys
sys.path.insert(0, sys.argv[1])
from rounds import Rounds, seed_of, sizes
from vina_output import check_poses, parse_poses

def model(number, score, together, intra, unbound, shift, swapped=False):
    xyz = [(0.0, 0.0, 0.0), (1.5, 0.0, 0.0), (2.1, 1.1, 0.0), (2.1, -1.1, 0.0)]
    if swapped:
        xyz[2], xyz[3] = xyz[3], xyz[2]
    atoms = "\n".join(f"ATOM      {i}  {n}   UNL     1    {x + shift:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00    +0.000 {k}"
                      for i, (n, k, (x, y, z)) in enumerate(zip("CCOO", ("C ", "C ", "OA", "OA"), xyz), start=1))
    return (f"MODEL {number}\nREMARK VINA RESULT: {score:9.3f}      0.000      0.000\nREMARK INTER + INTRA:{together:16.3f}\n"
            f"REMARK INTER:{together - intra:24.3f}\nREMARK INTRA:{intra:24.3f}\nREMARK UNBOUND:{unbound:22.3f}\n"
            f"REMARK SMILES CC(=O)[O-]\nREMARK SMILES IDX 1 1 2 2 3 3 4 4\nROOT\n{atoms}\nENDROOT\nTORSDOF 1\nENDMDL\n")

rounds = Rounds(seed=7, modes=9, energy_range=3.0)
rounds.add(4, model(1, -4.500, -5.000, -0.500, -0.500, 20) + model(2, -4.400, -4.900, -0.600, -0.500, 0, swapped=True))
assert rounds.agreeing() == 1, rounds.agreeing()
rounds.add(4, model(1, -5.000, -6.000, -1.000, -1.000, 0.1) + model(2, -1.000, -2.000, -0.500, -1.000, 40))
found = rounds.convergence()
assert found["agreeingRounds"] == 1 and not found["converged"], found  # the same pose, but 1.1 kcal/mol worse
rounds.add(8, model(1, -4.900, -5.900, -1.000, -1.000, 0.2, swapped=True))
found = rounds.convergence()
assert found["converged"] and found["agreeingRounds"] == 2 and found["exhaustiveness"] == 16, found
assert [entry["foundBest"] for entry in found["rounds"]] == [False, True, True], found
assert [entry["rmsdToBestAngstrom"] for entry in found["rounds"]] == [19.9, 0.0, 0.1], found
poses = parse_poses(rounds.poses())
check_poses(poses)
# Unbound energies of -1 for all: the first search's score of -4.5 becomes -4.0, and its second pose is one with the best.
assert [pose["scoreKcalMol"] for pose in poses] == [-5.0, -4.0], poses  # the last is more than 3 kcal/mol off
assert [pose["terms"]["unbound"] for pose in poses] == [-1.0, -1.0], poses
assert poses[1]["rmsdUpperBound"] == 19.9, poses
assert list(sizes(4, 32)) == [4, 4, 8, 16] and list(sizes(4, 20)) == [4, 4, 8, 4] and list(sizes(4, 3)) == [3]
assert seed_of(7, 1) == 7 and len({seed_of(7, n) for n in range(1, 9)}) == 8 and seed_of(7, 2) == seed_of(7, 2) > 0
`

func TestPosesOfSeveralSearchesAreOneList(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	layPrograms(t, dir)
	output, err := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", mergeOutputs, filepath.Join(dir,
		python.Folder)).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// TestReportSaysWhetherSearchesAgree ranks a job with a search that has converged and one that has not, and one of a fixed length.
func TestReportSaysWhetherSearchesAgree(t *testing.T) {
	t.Parallel()
	inputs := rankInputs(t)
	fixed, _, failure := runTask(t, "rank.py", rankRequest(5), inputs)
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	if report := readText(t, filepath.Join(fixed, "out/report.html")); !strings.Contains(report, "not judged") {
		t.Error("the report of a search of a fixed length does not say that its convergence was not judged")
	}
	request := rankRequest(5)
	request["search"] = autoSearchRequest(1, 42, 4, 32)
	const round = `{"seed":42,"exhaustiveness":16,"bestScoreKcalMol":-3.6,"rmsdToBestAngstrom":0,"foundBest":true}`
	convergence := func(converged, agreeing string) string {
		return `"convergence":{"converged":` + converged + `,"agreeingRounds":` + agreeing +
			`,"exhaustiveness":32,"scoreSpreadKcalMol":0.5,"poseSpreadAngstrom":4.2,"rounds":[` + round + "," + round + `]},`
	}
	judged := maps.Clone(inputs)
	analysis := judged["analysed/analyse-0000/analysis.json"]
	// the second is torn
	for _, said := range []string{convergence("false", "1"), `"convergence":null,`, convergence("true", "2")} {
		analysis = strings.Replace(analysis, `   "analyseCpuSeconds"`, said+`"analyseCpuSeconds"`, 1)
	}
	judged["analysed/analyse-0000/analysis.json"] = analysis
	dir, _, failure := runTask(t, "rank.py", request, judged)
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	report := readText(t, filepath.Join(dir, "out/report.html"))
	for _, want := range []string{"independent searches disagree on 1 of 2 ligands", "not converged: 1 of 2 independent searches",
		"converged: 2 of 2", "auto: 32"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	var results struct {
		Parameters  map[string]any
		Convergence struct {
			Judged, Converged int
			NotConverged      []string
		}
	}
	readTaskJSON(t, dir, "out/results.json", &results)
	if c := results.Convergence; c.Judged != 2 || c.Converged != 1 || len(c.NotConverged) != 1 ||
		results.Parameters["exhaustiveness"] != "auto" {
		t.Errorf("got %+v with the parameters %v, want one of two searches converged", c, results.Parameters)
	}
	if table := readText(t, filepath.Join(dir, "out/results.csv")); !strings.Contains(table, ",true,32,,\n") ||
		!strings.Contains(table, ",false,32,,\n") {
		t.Errorf("the table does not say whether searches converged:\n%s", table)
	}
}

// TestTheNetworkChoosesPoses keeps three of all poses that a search has found: Vina's best, and of the others those that the
// network finds likeliest, in Vina's order.
func TestTheNetworkChoosesPoses(t *testing.T) {
	t.Parallel()
	const aspirin, kept = 4, 3
	search := autoSearchRequest(1, 1, 1, 2)
	search["numModes"] = autoSearchRule.Candidates
	_, all := dockLigands(t, search, []int{aspirin}, nil)
	rule := search["auto"].(autoSearch)
	rule.ChooseBy = rankByCNN
	search["numModes"], search["auto"] = kept, rule
	_, few := dockLigands(t, search, []int{aspirin}, nil)

	every, got := posesOf(all.Ligands[0].PDBQT), posesOf(few.Ligands[0].PDBQT)
	scores := networkScores(t, all.Ligands[0].PDBQT)
	if len(every) <= kept || len(scores) != len(every) || len(got) != kept {
		t.Fatalf("%d of %d poses were kept, with %d scores; want %d of more", len(got), len(every), len(scores), kept)
	}
	likeliest := slices.Clone(scores[1:])
	slices.SortFunc(likeliest, func(a, b float64) int { return cmp.Compare(b, a) })
	var want [][]string
	for i, pose := range every {
		if i == 0 || scores[i] >= likeliest[kept-2] {
			want = append(want, pose)
		}
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got the poses\n%v\nwant\n%v\nof scores %v", got, want, scores)
	}
}

// posesOf are the atoms of each pose.
func posesOf(pdbqt string) [][]string {
	var poses [][]string
	for _, model := range strings.Split(pdbqt, "MODEL ")[1:] {
		poses = append(poses, vinaAtoms.FindAllString(model, -1))
	}
	return poses
}

// networkScores are the probabilities by the network that each pose in the peptide is near to native.
func networkScores(t *testing.T, pdbqt string) []float64 {
	t.Helper()
	dir := t.TempDir()
	writeTaskFile(t, dir, "poses.pdbqt", pdbqt)
	receptor, err := filepath.Abs("testdata/rank-receptor.pdbqt")
	if err != nil {
		t.Fatal(err)
	}
	script := `import json, sys
import cnn
print(json.dumps([s["cnnScore"] for s in cnn.Scorer(open(sys.argv[1]).read()).scores(open(sys.argv[2]).read())]))`
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", script, receptor,
		filepath.Join(dir, "poses.pdbqt"))
	command.Env = enginestest.ProgramPath(t, "programs")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("scoring poses: %v", err)
	}
	var scores []float64
	if err := json.Unmarshal(output, &scores); err != nil {
		t.Fatal(err)
	}
	return scores
}
