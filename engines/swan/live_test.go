package swan

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/waves"
	"github.com/molfabric/molfabric/internal/casefile/casetest"
)

// needSWAN skips a test where set-up has not built SWAN.
func needSWAN(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(filepath.Dir(enginestest.Python(t)), "swan.exe")); err != nil {
		enginestest.Skip(t, "there is no swan.exe; deploy/setup.sh --waves builds it")
	}
}

// requestOf packs decks with their bottom, each as a file of its name, and reads the case as the front door does.
func requestOf(t *testing.T, decks map[string]string) (engines.Request, map[string]string) {
	t.Helper()
	bottom, err := os.ReadFile("testdata/bottom.bot")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"bay/bottom.bot": string(bottom)}
	for name, text := range decks {
		files["bay/"+name] = text
	}
	path, read := casetest.Read(t, casetest.Files(files))
	return engines.Request{
		JobID: "job_test", JobName: "a bay", Params: json.RawMessage(`{}`),
		SceneFile: engines.Object{StorageKey: "bay.zip", ByteSize: 1000},
		Found:     engines.Found{Contents: map[string]engines.Contents{waves.SceneFile: {Case: read}}},
	}, map[string]string{"bay.zip": path}
}

func deckText(t *testing.T, folder string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", folder, "INPUT"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// coarse makes a deck cheap enough for a test.
func coarse(text string) string {
	return strings.NewReplacer("50 50 CIRCLE 36 0.04 1.0 32", "20 20 CIRCLE 18 0.04 1.0 20").Replace(text)
}

type swanResults struct {
	Converged *bool
	Checks    []struct {
		Check string
		Holds bool
	}
	Fields map[string]struct {
		Times             int
		Least, Mean, Most float64
	}
	Tables map[string]struct{ Rows [][]float64 }
}

func resultsOf(t *testing.T, outcome *enginestest.Outcome, shard, name string) swanResults {
	t.Helper()
	content, err := os.ReadFile(outcome.Dirs[shard].Out(name))
	if err != nil {
		t.Fatal(err)
	}
	var found swanResults
	if err := json.Unmarshal(content, &found); err != nil {
		t.Fatal(err)
	}
	return found
}

// TestStationary runs the recorded case. SWAN 41.45 gave 2.2047 m at the second buoy; versions differ by up to 3 %.
func TestStationary(t *testing.T) {
	t.Parallel()
	needSWAN(t)
	request, objects := requestOf(t, map[string]string{"INPUT": deckText(t, "stationary")})
	outcome := enginestest.Drive(t, New(), request, objects)
	if failure := outcome.Failures["run-001"]; failure != nil {
		t.Fatal(failure)
	}
	found := resultsOf(t, outcome, "run-001", waves.ResultsFile)
	if found.Converged == nil || !*found.Converged || len(found.Checks) != 2 {
		t.Errorf("convergence and checks: %+v", found)
	}
	for _, one := range found.Checks {
		if !one.Holds {
			t.Errorf("%s does not hold", one.Check)
		}
	}
	rows := found.Tables["pts.tab"].Rows
	if len(rows) != 3 || math.Abs(rows[1][3]/2.2047-1) > 0.03 {
		t.Errorf("the table: %v", rows)
	}
	names := map[string]bool{}
	for _, artifact := range outcome.Results["run-001"].Artifacts {
		names[artifact.Name] = true
	}
	for _, want := range []string{"hs.mat", "hs.blk", "p.spc", "pts.tab", "Hsig.png", "Hsig.svg", "Dir.png", "fields.nc",
		"PRINT.txt", "report.html"} {
		if !names[want] {
			t.Errorf("%s is missing among %v", want, names)
		}
	}
}

// TestNotConverged: a run that ends at its most iterations has results, and is no plain success.
func TestNotConverged(t *testing.T) {
	t.Parallel()
	needSWAN(t)
	text := strings.Replace(coarse(deckText(t, "stationary")), "STATIONARY 50", "STATIONARY 3", 1)
	request, objects := requestOf(t, map[string]string{"INPUT": text})
	outcome := enginestest.Drive(t, New(), request, objects)
	result := outcome.Results["run-001"]
	if len(result.Failures) != 1 || result.Failures[0].Step != "converge" ||
		!strings.Contains(result.Failures[0].Message, "Not converged") {
		t.Errorf("got %+v, %v", result.Failures, outcome.Failures)
	}
	if found := resultsOf(t, outcome, "run-001", waves.ResultsFile); found.Converged == nil || *found.Converged {
		t.Errorf("got %+v", found)
	}
}

// TestDecksSideBySide: what one deck fails at is said in SWAN's own words, and the other has results.
func TestDecksSideBySide(t *testing.T) {
	t.Parallel()
	needSWAN(t)
	good := coarse(deckText(t, "stationary"))
	request, objects := requestOf(t, map[string]string{
		"a.swn": good, "b.swn": strings.Replace(good, "GEN3 WESTHUYSEN", "GEN3 FOO", 1),
	})
	outcome := enginestest.Drive(t, New(), request, objects)
	if failure := outcome.Failures["run-001"]; failure != nil || len(outcome.Results["run-001"].Artifacts) == 0 {
		t.Errorf("the good deck: %v", failure)
	}
	if _, err := os.Stat(outcome.Dirs["run-001"].Out("a.results.json")); err != nil {
		t.Error(err)
	}
	failure := outcome.Failures["run-002"]
	if failure == nil || failure.Class != engines.UserInput || failure.Code != "SWAN_ERROR" ||
		!strings.Contains(failure.Message, "FOO") {
		t.Errorf("the broken deck: %+v", failure)
	}
}
