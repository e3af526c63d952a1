package vina

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rankedDocument is what the tests read of results.json.
type rankedDocument struct {
	Engine     struct{ Version string }
	Counts     countsRecord
	Box        struct{ Source string }
	Validation *struct {
		RMSDAngstrom, GateRMSDAngstrom float64
		Poses                          []any
	}
	Ligands []struct {
		LigandID, Status, FailureStage string
		Rank                           *int
		BestScoreKcalMol               *float64
		Interactions                   []string
		Checks                         *struct{ Tests map[string]bool }
		Files                          map[string]*string
		Poses                          []struct {
			Checks       *struct{ FailedTests []string }
			Interactions []any
		}
	}
}

func rankRequest(count int) map[string]any {
	return map[string]any{
		"program": "rank.py", "ligandCount": count, "shardSize": 10, "cpuThreadsAsked": 2, "rankBy": rankByVina,
		"title": `Peptide </title><script>alert(1)</script>`, "receptorPreparation": map[string]any{"protonationPh": 7.4},
		"search": searchRequest(2), "citations": citations(), "gateRmsdAngstrom": 2, "picture": PictureNone,
	}
}

// rankInputs is a small job: aspirin and dopamine docked, one ligand torn, and ethanol without an analysis.
func rankInputs(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"receptor.json": readText(t, "testdata/rank-receptor.json"), "receptor.pdb": readText(t, peptide), "box.json": peptideBox,
		"ligands/ligands-0000/ligands.json": strings.Replace(readText(t, "testdata/rank-ligands.json"), `"Ethanol"`, `"=1+1"`,
			1),
		"analysed/analyse-0000/analysis.json":  readText(t, "testdata/rank-analysis.json"),
		"analysed/analyse-0001/.analysis.part": "torn",
		"redock/redock/redock.json": `{"schema":"molfabric.docking.redock/v1","componentId":"<b>STI</b>","rmsdAngstrom":2.5,"closestRmsdAngstrom":0.5,
			"closestRank":2,"scoreKcalMol":-9.1,"thresholdAngstrom":2,"passed":false,"poses":[{}],"programs":{"vina":"1.2.7"}}`,
	}
}

func TestRank(t *testing.T) {
	t.Parallel()
	dir, _, failure := runTask(t, "rank.py", rankRequest(5), rankInputs(t))
	if failure != nil {
		t.Fatalf("got the failure %+v", failure)
	}
	t.Run("results", func(t *testing.T) { checkRankedResults(t, dir) })
	t.Run("table", func(t *testing.T) { checkRankedTable(t, dir) })
	t.Run("complex", func(t *testing.T) { checkComplex(t, dir) })
	t.Run("provenance", func(t *testing.T) { checkRankedProvenance(t, dir) })
	t.Run("report", func(t *testing.T) { checkReport(t, readText(t, filepath.Join(dir, "out/report.html"))) })
	t.Run("again", func(t *testing.T) {
		again, _, failure := runTask(t, "rank.py", rankRequest(5), rankInputs(t))
		if failure != nil {
			t.Fatalf("got the failure %+v", failure)
		}
		for _, name := range []string{"results.json", "results.csv", "best.sdf", "report.html", "provenance.json",
			"complexes/00005.pdb"} {
			if readText(t, filepath.Join(dir, "out", name)) != readText(t, filepath.Join(again, "out", name)) {
				t.Errorf("%s differs between two runs", name)
			}
		}
	})
}

func checkRankedResults(t *testing.T, dir string) {
	var document rankedDocument
	readTaskJSON(t, dir, "out/results.json", &document)
	if document.Counts != (countsRecord{Total: 5, Completed: 2, Failed: 3}) || document.Box.Source != "explicit" ||
		document.Engine.Version == "" {
		t.Errorf("got counts %+v, box %+v, engine %+v", document.Counts, document.Box, document.Engine)
	}
	if v := document.Validation; v == nil || v.RMSDAngstrom != 2.5 || v.GateRMSDAngstrom != 2 || v.Poses != nil {
		t.Errorf("got the validation %+v, want the redocking's figures without its poses", v)
	}
	if len(document.Ligands) != 4 {
		t.Fatalf("got %d ligands, want the 4 whose preparation is known", len(document.Ligands))
	}
	stages := map[string]string{"torn": "parse", "ethanol": "dock"}
	for i, ligand := range document.Ligands {
		if stage, broken := stages[ligand.LigandID]; broken {
			if ligand.Status != statusFailed || ligand.FailureStage != stage || ligand.Rank != nil || len(ligand.Poses) != 0 ||
				ligand.Files["pdbqt"] != nil {
				t.Errorf("%s: got %+v, want FAILED at %s", ligand.LigandID, ligand, stage)
			}
			continue
		}
		if ligand.Rank == nil || *ligand.Rank != i+1 || len(ligand.Poses) == 0 || len(ligand.Interactions) == 0 ||
			ligand.Checks == nil || ligand.Files["complex"] == nil {
			t.Fatalf("%s: got %+v, want rank %d with poses, interactions, checks and a complex", ligand.LigandID, ligand, i+1)
		}
		for _, pose := range ligand.Poses {
			if pose.Checks == nil || pose.Checks.FailedTests == nil || pose.Interactions != nil {
				t.Errorf("%s: got the pose %+v, want the verdict of its checks and no interactions", ligand.LigandID, pose)
			}
		}
		for _, key := range ligand.Interactions {
			if !regexp.MustCompile(`^A:[A-Z]{3}:\d+:[a-z_]+$`).MatchString(key) {
				t.Errorf("%s: got the interaction %q, want chain:residueName:residue:type", ligand.LigandID, key)
			}
		}
	}
}

func checkRankedTable(t *testing.T, dir string) {
	rows, err := csv.NewReader(strings.NewReader(readText(t, filepath.Join(dir, "out/results.csv")))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("got %d rows (%v), want a head and 4 ligands", len(rows), err)
	}
	first := map[string]string{}
	for i, column := range rows[0] {
		first[column] = rows[1][i]
	}
	if first["rank"] != "1" || first["posesPassed"] != "true" && first["posesPassed"] != "false" ||
		!strings.HasPrefix(first["interactions"], "A:") || first["referenceRmsdAngstrom"] != "" {
		t.Errorf("got the first row %v", first)
	}
	if label := slices.Index(rows[0], "label"); !slices.ContainsFunc(rows,
		func(row []string) bool { return row[label] == "'=1+1" }) {
		t.Errorf("got %v, want the formula as text", rows)
	}
	if strings.Count(readText(t, filepath.Join(dir, "out/best.sdf")), "$$$$\n") != 2 {
		t.Error("best.sdf does not hold the two best poses")
	}
}

// checkComplex wants the receptor's own lines, then the ligand in a chain of its own with all its atoms and bonds.
func checkComplex(t *testing.T, dir string) {
	text := readText(t, filepath.Join(dir, "out/complexes/00005.pdb")) // aspirin
	for line := range strings.Lines(readText(t, peptide)) {
		if strings.HasPrefix(line, "ATOM") && !strings.Contains(text, line) {
			t.Fatalf("the complex lacks the receptor's line\n%s", line)
		}
	}
	atoms, bonds := 0, 0
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "HETATM") && line[17:20] == "LIG" && line[21] == 'L' && line[22:26] == "   1":
			atoms++
		case strings.HasPrefix(line, "CONECT"):
			bonds++
		}
	}
	if atoms != 20 || bonds != 20 || !strings.Contains(text, " O1-\n") {
		t.Errorf("got %d atoms and %d CONECT records, want aspirin's 20 with its carboxylate's charge:\n%s", atoms, bonds, text)
	}
}

func checkRankedProvenance(t *testing.T, dir string) {
	var document struct {
		Outputs []struct{ Name, SHA256 string }
		Methods string
	}
	readTaskJSON(t, dir, "out/provenance.json", &document)
	var names []string
	for _, output := range document.Outputs {
		digest := sha256.Sum256([]byte(readText(t, filepath.Join(dir, "out", output.Name))))
		if output.SHA256 != hex.EncodeToString(digest[:]) {
			t.Errorf("%s has another digest than provenance.json states", output.Name)
		}
		names = append(names, output.Name)
	}
	slices.Sort(names)
	if want := []string{"best.sdf", "complexes/00005.pdb", "complexes/00008.pdb", "report.html", "results.csv",
		"results.json"}; !slices.Equal(names, want) {
		t.Errorf("got the outputs %q, want %q", names, want)
	}
	for _, part := range []string{"PDB2PQR", "[1,2]", "18 × 18 × 18 Å", "seed 42", "2.50 Å", "Of 5 ligands, 2 were docked",
		"1 in docking"} {
		if !strings.Contains(document.Methods, part) {
			t.Errorf("the methods paragraph lacks %q: %s", part, document.Methods)
		}
	}
}

// checkReport wants a page that stands alone, whatever names it was given.
func checkReport(t *testing.T, page string) {
	for _, forbidden := range []string{"<script", "<img", "<b>STI", "@import", "url(", "<link", "<iframe", "javascript:"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the report holds %q", forbidden)
		}
	}
	if loaded := regexp.MustCompile(`\s(src|srcset|data|background)="`).FindString(page); loaded != "" {
		t.Errorf("the report loads something: %s", loaded)
	}
	for _, link := range regexp.MustCompile(`https?://[^"<\s]*`).FindAllString(page, -1) {
		if !strings.HasPrefix(link, "https://doi.org/10.") {
			t.Errorf("the report names %s", link)
		}
	}
	for _, wanted := range []string{
		"Peptide &lt;/title&gt;&lt;script&gt;", "Dopamine &lt;img src=x onerror=&quot;alert(1)&quot;&gt;", "&lt;b&gt;STI",
		"above 2\u00a0Å", "1 in docking", `aria-label="Structural formula of Aspirin"`, `<th scope="row">`, "default-src 'none'",
	} {
		if !strings.Contains(page, wanted) {
			t.Errorf("the report lacks %q", wanted)
		}
	}
	ids := map[string]int{}
	for _, match := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		ids[match[1]]++
	}
	if twice := slices.Collect(maps.Values(ids)); len(twice) == 0 || slices.Max(twice) != 1 {
		t.Errorf("ids of the report are not unique: %v", ids)
	}
	for _, tag := range []string{"table", "svg", "section", "dl", "p", "tr", "td", "th", "div", "span"} {
		opened, closed := len(regexp.MustCompile("<"+tag+`[\s>]`).FindAllString(page, -1)), strings.Count(page, "</"+tag+">")
		if opened != closed || opened == 0 {
			t.Errorf("the report opens <%s> %d times and closes it %d times", tag, opened, closed)
		}
	}
}

func TestRankNothing(t *testing.T) {
	t.Parallel()
	inputs := rankInputs(t)
	delete(inputs, "analysed/analyse-0000/analysis.json")
	_, _, failure := runTask(t, "rank.py", rankRequest(4), inputs)
	if failure == nil || failure.Code != "NO_LIGAND_DOCKED" || failure.Class != "EXECUTOR" ||
		!strings.Contains(failure.Message, "3 ligands' tasks") {
		t.Errorf("without an analysis: got %+v, want EXECUTOR NO_LIGAND_DOCKED naming 3 lost ligands", failure)
	}
	var prepared struct {
		Ligands  []map[string]any  `json:"ligands"`
		Programs map[string]string `json:"programs"`
	}
	if err := json.Unmarshal([]byte(inputs["ligands/ligands-0000/ligands.json"]), &prepared); err != nil {
		t.Fatal(err)
	}
	prepared.Ligands = prepared.Ligands[1:2]
	text, _ := json.Marshal(prepared)
	inputs["ligands/ligands-0000/ligands.json"] = string(text)
	_, _, failure = runTask(t, "rank.py", rankRequest(1), inputs)
	if failure == nil || failure.Code != "NO_LIGAND_DOCKED" || failure.Class != "USER_INPUT" ||
		!strings.Contains(failure.Message, "torn: parse") {
		t.Errorf("with a torn ligand only: got %+v, want USER_INPUT NO_LIGAND_DOCKED naming it", failure)
	}
}
