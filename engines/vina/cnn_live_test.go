package vina

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/abl1"
)

// shifted moves a PDBQT's atoms along x, in Å.
func shifted(t *testing.T, pdbqt string, angstrom float64) string {
	t.Helper()
	var moved strings.Builder
	for line := range strings.Lines(pdbqt) {
		if strings.HasPrefix(line, "ATOM") || strings.HasPrefix(line, "HETATM") {
			x, err := strconv.ParseFloat(strings.TrimSpace(line[30:38]), 64)
			if err != nil {
				t.Fatal(err)
			}
			line = line[:30] + fmt.Sprintf("%8.3f", x+angstrom) + line[38:]
		}
		moved.WriteString(line)
	}
	return moved.String()
}

// TestPosesAreScoredTwice scores two poses by GNINA's network. By default they stay in Vina's order; asked for, the network's
// decides, and structures, checks and interactions follow it.
func TestPosesAreScoredTwice(t *testing.T) {
	t.Parallel()
	whole := readText(t, "testdata/paracetamol.pdbqt")
	models := []string{whole, shifted(t, whole, 1.5)}
	_, found := analysePoses(t, aroundParacetamol, "", poseLigand{"l", paracetamolSMILES, models})
	first, second := found[0].Poses[0], found[0].Poses[1]
	for i, pose := range found[0].Poses {
		if pose.Rank != i+1 || pose.VinaRank != i+1 || pose.CNNScore == nil || *pose.CNNScore < 0 || *pose.CNNScore > 1 ||
			pose.CNNAffinityPk == nil {
			t.Fatalf("got the pose %+v, want Vina's rank %d and a probability", pose, i+1)
		}
	}
	if *first.CNNScore == *second.CNNScore {
		t.Fatalf("both poses have the CNN score %g", *first.CNNScore)
	}
	if *first.CNNScore > *second.CNNScore { // so that the network turns Vina's order around
		slices.Reverse(models)
		second = first
	}
	dir, found := analyseAs(t, map[string]any{"rankBy": rankByCNN}, aroundParacetamol, "",
		poseLigand{"l", paracetamolSMILES, models})
	best := found[0].Poses[0]
	if best.Rank != 1 || best.VinaRank != 2 || *best.CNNScore != *second.CNNScore || found[0].Poses[1].VinaRank != 1 {
		t.Fatalf("got %+v first, want the second by Vina", best)
	}
	if !slices.Equal(places(best.Interactions), places(second.Interactions)) {
		t.Errorf("the best pose has the interactions %v, want those of its own place, %v", places(best.Interactions),
			places(second.Interactions))
	}
	sdf := readText(t, filepath.Join(dir, "out/poses/00001.sdf"))
	if record, _, _ := strings.Cut(sdf, "$$$$"); !strings.Contains(record, "<poseRank>\n1\n") || !strings.Contains(record,
		"<scoreKcalMol>\n-9.490\n") ||
		!strings.Contains(record, "<cnnScore>") {
		t.Errorf("the first record is not the network's best pose:\n%s", record)
	}
}

// TestVinaDecidesBetweenPosesThatTheNetworkLikesAlike orders poses of real dockings: of 1HII, where the network cannot tell the
// native pose from one 9.4 Å away, and of 1ACJ, where it can, and Vina prefers one 3.2 Å away by 0.65 kcal/mol.
func TestVinaDecidesBetweenPosesThatTheNetworkLikesAlike(t *testing.T) {
	t.Parallel()
	type pose struct {
		ScoreKcalMol float64 `json:"scoreKcalMol"`
		CNNScore     float64 `json:"cnnScore"`
	}
	for _, c := range []struct {
		name  string
		poses []pose // in Vina's order
		want  []int
	}{
		{"1hii", []pose{{-10.378, 0.9643}, {-10.23, 0.97}, {-9.562, 0.9225}}, []int{0, 1, 2}},
		{"1acj", []pose{{-9.549, 0.7522}, {-9.33, 0.7311}, {-8.895, 0.7948}}, []int{2, 0, 1}},
		{"equal", []pose{{-7, 0.5}, {-7, 0.5}}, []int{0, 1}},
	} {
		given, err := json.Marshal(c.poses)
		if err != nil {
			t.Fatal(err)
		}
		const script = `import json, sys
import cnn
poses = json.loads(sys.argv[1])
print(json.dumps(cnn.order_of(poses, poses, cnn.BY_CNN)))`
		command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", script, string(given))
		command.Env = enginestest.ProgramPath(t, "programs")
		output, err := command.Output()
		if err != nil {
			t.Fatalf("ordering poses: %v", err)
		}
		var got []int
		if err := json.Unmarshal(output, &got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got the order %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

// TestTheCNNKnowsImatinib holds the network's scores against what GNINA's own program gives: high for imatinib's crystal pose,
// low for it elsewhere.
func TestTheCNNKnowsImatinib(t *testing.T) {
	t.Parallel()
	crystal := readText(t, imatinibCrystal)
	dir := layAnalysis(t, map[string]any{"mostPosesAnalysed": 1, "internalEnergy": false}, readText(t, "testdata/1iep-site.pdb"),
		"", poseLigand{"imatinib", imatinibSMILES, []string{crystal, shifted(t, crystal, 6)}})
	writeTaskFile(t, dir, "in/receptor.pdbqt", string(abl1.Prepared()))
	if output, err := runAnalysis(t, dir); err != nil {
		t.Fatalf("analyse.py: %v\n%s", err, output)
	}
	poses := readAnalysis(t, dir, 1)[0].Poses
	if native, away := *poses[0].CNNScore, *poses[1].CNNScore; native < 0.9 || away > 0.3 || *poses[0].CNNAffinityPk < 8.5 {
		t.Errorf("got %.2f (pK %.1f) for the crystal pose and %.2f 6 Å away; want at least 0.9 (8.5) and at most 0.3", native,
			*poses[0].CNNAffinityPk, away)
	}
}

// TestWithoutTheCNN analyses where rustina cannot be imported: its scores are missing by name, and ranking by them fails the task.
func TestWithoutTheCNN(t *testing.T) {
	t.Parallel()
	ligand := poseLigand{"l", paracetamolSMILES, []string{readText(t, "testdata/paracetamol.pdbqt")}}
	for _, rankBy := range []string{rankByVina, rankByCNN} {
		dir := layAnalysis(t, map[string]any{"rankBy": rankBy}, aroundParacetamol, "", ligand)
		writeTaskFile(t, dir, "program/rustina.py", "raise ImportError('no build for this machine')\n")
		output, err := runAnalysis(t, dir)
		if rankBy == rankByCNN {
			if failure := readText(t, filepath.Join(dir, "out/failure.json")); err == nil ||
				!strings.Contains(failure, "CNN_MISSING") ||
				!strings.Contains(failure, "rankBy vina") {
				t.Errorf("ranking by the CNN: got %s, %v; want CNN_MISSING", failure, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("analyse.py: %v\n%s", err, output)
		}
		found := readAnalysis(t, dir, 1)[0]
		if len(found.Missing) != 1 || found.Missing[0].Step != "cnnScore" || found.Poses[0].CNNScore != nil ||
			found.Poses[0].Checks == nil ||
			!slices.Contains(found.Notes, "no CNN score: no build for this machine") {
			t.Errorf("got %+v with the notes %q, want the CNN score alone missing", found.Missing, found.Notes)
		}
	}
}

// TestRankingByTheCNN ranks two ligands of which the worse by Vina is the better by the network.
func TestRankingByTheCNN(t *testing.T) {
	t.Parallel()
	inputs := maps.Clone(rankInputs(t))
	var analysis struct {
		Schema   string            `json:"schema"`
		Ligands  []map[string]any  `json:"ligands"`
		Programs map[string]string `json:"programs"`
	}
	if err := json.Unmarshal([]byte(inputs["analysed/analyse-0000/analysis.json"]), &analysis); err != nil {
		t.Fatal(err)
	}
	for i, score := range map[int]float64{0: 0.25, 2: 0.75} { // aspirin and dopamine; the second is torn
		best := analysis.Ligands[i]["poses"].([]any)[0].(map[string]any)
		best["cnnScore"], best["cnnAffinityPk"], best["vinaRank"] = score, 5.5, 2
	}
	text, err := json.Marshal(analysis)
	if err != nil {
		t.Fatal(err)
	}
	inputs["analysed/analyse-0000/analysis.json"] = string(text)
	for rankBy, want := range map[string][]string{rankByVina: {"aspirin", "dopamine"}, rankByCNN: {"dopamine", "aspirin"}} {
		request := rankRequest(5)
		request["rankBy"] = rankBy
		dir, _, failure := runTask(t, "rank.py", request, inputs)
		if failure != nil {
			t.Fatalf("got the failure %+v", failure)
		}
		var document struct {
			RankedBy string
			Ligands  []struct {
				LigandID string
				CNNScore *float64
			}
		}
		readTaskJSON(t, dir, "out/results.json", &document)
		if got := []string{document.Ligands[0].LigandID, document.Ligands[1].LigandID}; !slices.Equal(got, want) ||
			document.RankedBy != rankBy {
			t.Errorf("by %s: got %v ranked by %s, want %v", rankBy, got, document.RankedBy, want)
		}
		if rankBy == rankByCNN {
			report := readText(t, filepath.Join(dir, "out/report.html"))
			for _, text := range []string{"Ligands by CNN score", "Best CNN score", "GNINA"} {
				if !strings.Contains(report, text) {
					t.Errorf("the report does not say %q", text)
				}
			}
		}
	}
}
