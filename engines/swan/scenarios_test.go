package swan

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/waves"
)

// stormDeck is the recorded deck with the waves and the wind left to scenarios, and with spectra over directions too.
func stormDeck(t *testing.T) string {
	t.Helper()
	return strings.NewReplacer("PAR 2.0 8.0", "PAR {hs} {tp}", "WIND 15. 270.", "WIND {wind} 270.",
		"COMPUTE", "SPECOUT 'P' SPEC2D ABS 'p2.spc'\nCOMPUTE").
		Replace(coarse(deckText(t, "stationary")))
}

// scenarioRequest asks for the scenarios of a table.
func scenarioRequest(t *testing.T, deck, table string) (engines.Request, map[string]string) {
	t.Helper()
	request, objects := requestOf(t, map[string]string{"INPUT": deck, "storms.csv": table})
	request.Params = json.RawMessage(`{"waveScenarios":"storms.csv"}`)
	return request, objects
}

const storms = "name,hs,tp,wind\n# years of return\nyear-1,1.0,7.0,10.\nyear-10, 2.0 ,8.0,15.\n"

// TestScenariosArePlanned wants a task for each row, and one that gathers them.
func TestScenariosArePlanned(t *testing.T) {
	t.Parallel()
	request, _ := scenarioRequest(t, stormDeck(t), byteOrderMark+storms)
	request.TaskCount = 2
	plan, err := New().Plan(request)
	if err != nil || len(plan) != 3 || plan[2].Stage != stageTable || len(plan[2].Inputs) != 2 {
		t.Fatalf("got %d shards, %v, want two runs and a table", len(plan), err)
	}
	var params runParams
	if err := json.Unmarshal(plan[1].Params, &params); err != nil {
		t.Fatal(err)
	}
	if params.Prefix != "year-10." || params.Label != "INPUT, year-10" || params.Values["hs"] != "2.0" {
		t.Errorf("got %+v, want the second row", params)
	}
	if plan[2].Inputs[1].From.Output != "year-10."+waves.ResultsFile || plan[2].Inputs[1].From.Shard != plan[1].Name {
		t.Errorf("the table reads %+v", plan[2].Inputs[1].From)
	}
}

// TestScenariosAreRefused wants the first thing wrong named, with its file and line.
func TestScenariosAreRefused(t *testing.T) {
	t.Parallel()
	deck := stormDeck(t)
	physics := strings.Replace(deck, "GEN3", "{model}", 1)
	row := func(cells string) string { return "name,hs,tp,wind\n" + cells + "\n" }
	var many strings.Builder
	for i := range maxScenarios + 1 {
		fmt.Fprintf(&many, "s%d,1,7,10\n", i)
	}
	for name, c := range map[string]struct{ deck, table, want string }{
		"empty":         {deck, "", "storms.csv: is empty"},
		"no scenario":   {deck, "name,hs,tp,wind\n", "storms.csv: has no scenario"},
		"no name":       {deck, "hs,tp\n1,2\n", "storms.csv, line 1: must begin with name"},
		"name alone":    {deck, "name\na\n", "storms.csv, line 1: must begin with name"},
		"column":        {deck, "name,2hs\na,1\n", `storms.csv, line 1: "2hs" is no name of a column`},
		"column twice":  {deck, "name,hs,hs\na,1,2\n", "storms.csv, line 1: has the column hs twice"},
		"cells":         {deck, row("a,1,7"), "storms.csv, line 2: has another number of cells"},
		"quotes":        {deck, row(`a,"1,7,10`), "storms.csv, line 2: is no CSV"},
		"empty cell":    {deck, row("a,1,,10"), `storms.csv, line 2: tp is ""`},
		"braces":        {deck, row("a,{tp},7,10"), `storms.csv, line 2: hs is "{tp}"`},
		"line break":    {deck, row("a,\"1\n2\",7,10"), "storms.csv, line 2: hs is"},
		"bad name":      {deck, row("../a,1,7,10"), `storms.csv, line 2: "../a" is no name of a scenario`},
		"name twice":    {deck, row("a,1,7,10\nA,2,7,10"), `storms.csv, line 3: has the name "A" of line 2`},
		"too many":      {deck, row(many.String()), "is scenario 1001; a job runs at most 1000"},
		"unused":        {deck, "name,hs,tp,wind,period\na,1,7,10,3\n", "has the column period, and INPUT names no {period}"},
		"no column":     {deck, "name,hs,tp\na,1,7\n", "INPUT, line 8: names {wind}, which is no column of the scenarios"},
		"wrong command": {physics, "name,hs,tp,wind,model\na,1,7,10,GEN3\nb,1,7,10,GEN9\n", "(scenario b)"},
	} {
		request, _ := scenarioRequest(t, c.deck, c.table)
		if _, err := New().Plan(request); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	for params, want := range map[string]string{
		`{"waveScenarios":"storm.csv"}`:                                `waveScenarios: names "storm.csv", which is not in`,
		`{"waveScenarios":"storms.csv","waveDecks":["INPUT","b.swn"]}`: "waveScenarios: is for one deck",
		`{"waveScenarios":"storms.csv","waveDecks":["c.swn"]}`:         "waveDecks: names \"c.swn\"",
	} {
		request, _ := scenarioRequest(t, deck, storms)
		request.Params = json.RawMessage(params)
		if _, err := New().Plan(request); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", params, err, want)
		}
	}
	request, _ := scenarioRequest(t, deck, storms)
	request.TaskCount = 3
	if _, err := New().Plan(request); err == nil || !strings.Contains(err.Error(), "the case has 2") {
		t.Errorf("three tasks of two scenarios: %v", err)
	}
}

// TestScenarios runs two storms, and gathers them in the order of their table.
func TestScenarios(t *testing.T) {
	t.Parallel()
	needSWAN(t)
	request, objects := scenarioRequest(t, stormDeck(t), storms)
	outcome := enginestest.Drive(t, New(), request, objects)
	if len(outcome.Failures) > 0 {
		t.Fatal(outcome.Failures)
	}
	text, err := os.ReadFile(outcome.Dirs[stageTable].Out(tableFile))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatal(err, string(text))
	}
	most := -1
	for i, column := range rows[0] {
		if column == "Hsig most" {
			most = i
		}
	}
	if most < 0 || rows[1][0] != "year-1" || rows[2][0] != "year-10" || rows[1][4] != "converged" || rows[1][1] != "1.0" {
		t.Fatalf("the table is\n%s", text)
	}
	var heights [2]float64
	for i := range heights {
		if _, err := fmt.Sscan(rows[i+1][most], &heights[i]); err != nil {
			t.Error(err)
		}
	}
	if !(heights[0] > 0.8 && heights[1] > 1.6 && heights[1] > heights[0]+0.5) {
		t.Errorf("the highest waves are %v m, want about those of the boundary, and more of them in the larger storm", heights)
	}
	found := resultsOf(t, outcome, "run-002", "year-10."+waves.ResultsFile)
	if found.Converged == nil || !*found.Converged || len(found.Checks) != 4 {
		t.Errorf("got %+v, want two checks of each file of spectra", found)
	}
	for _, one := range found.Checks {
		if !one.Holds {
			t.Errorf("%s does not hold", one.Check)
		}
	}
}
