package docking_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// screen is a library with a ligand of every fate.
func screen() []ligand {
	return []ligand{
		{name: "imatinib", label: "Imatinib", score: -13.25, efficiency: 0.358, inchiKey: "KTUFNOKKBVMGRW-UHFFFAOYSA-N",
			passed: yes(true), poses: 3, interactions: []string{"A:ASP:381:hydrogen_bond", "A:LEU:52A:hydrophobic"}, pdbqt: "a"},
		{name: "nilotinib", label: "=HYPERLINK(1)", score: -13.25, efficiency: 0.3, inchiKey: "HHZIURLSWUIHRB-UHFFFAOYSA-N",
			passed: yes(false), poses: 2, interactions: []string{"B:ASP:381:salt_bridge"}, pdbqt: "b"},
		{name: "ethanol", label: "ethanol, \"96 %\"", score: -2.5, efficiency: 0.83, poses: 1, interactions: []string{},
			pdbqt: "c"},
		{name: "broken", status: "FAILED", stage: "parse"},
		{name: "waiting", status: "PENDING"},
		{name: "now", status: "DOCKING"},
		{name: "pdbqt-only", score: -5, poses: 1, noSDF: true},
	}
}

// What the operations answer is what their document says.
func TestAnswersMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED_WITH_FAILURES", true, noon, screen()...)
	again := l.dock(c.AccountID, "RUNNING", false, noon, screen()...)
	l.exec(`UPDATE docking_runs SET reproduces_run_id = $1, box = NULL, receptor = NULL, programs = '{}',
		native_component_id = 'STI', gate_rmsd_angstrom = 2 WHERE id = $2`, d.run, again.run)
	routes := 0
	for route, item := range l.spec.Paths {
		if !strings.HasPrefix(route, "/v1/molecular/docking/") || item.Get == nil || strings.HasSuffix(route, "/bundle") {
			continue // a bundle is no JSON
		}
		routes++
		for _, one := range []docked{d, again} {
			batch := d.batch
			path := strings.TrimPrefix(route, "/v1/molecular/docking")
			path = strings.Replace(path, "{id}", map[string]string{
				"experiments": one.experiment, "batches": batch, "runs": one.run, "results": one.results[0],
				"poses": one.poses[0][2], "artifacts": one.sdf[0],
			}[strings.Split(path, "/")[1]], 1)
			got := c.Send("GET", base+path, "")
			var body any
			if err := json.Unmarshal([]byte(got.Text), &body); err != nil || got.StatusCode != 200 ||
				got.Header.Get("Content-Type") != "application/json" {
				t.Fatalf("%s: got %d %s %s, %v", path, got.StatusCode, got.Header.Get("Content-Type"), got.Text, err)
			}
			var found huma.ValidateResult
			schema := item.Get.Responses["200"].Content["application/json"].Schema
			huma.Validate(l.spec.Components.Schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, body, &found)
			for _, err := range found.Errors {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if routes != 16 {
		t.Errorf("%d routes read something, want 16", routes)
	}
}

func TestARunShowsItself(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED_WITH_FAILURES", true, noon, screen()...)
	l.exec(`UPDATE jobs SET job_name = 'two ligands' WHERE id = $1`, d.job)
	l.exec(`UPDATE docking_runs SET native_component_id = 'STI', gate_rmsd_angstrom = 2,
		validation = '{"rmsdAngstrom":0.75,"closestRmsdAngstrom":0.5,"passed":true}' WHERE id = $1`, d.run)
	run := get[contract.DockingRun](c, "/runs/"+d.run)
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"requestId":"req-1"`, `"jobName":"two ligands"`, `"receptor":{"name":"1IEP",`,
		`"batchId":"` + d.batch + `"`, `"version":"1.2.7","workerImageDigest":"sha256:33","scoringFunction":"vina"`,
		`"box":{"center":[1,2,3],"size":[20,20,20],"source":"explicit","notes":[]}`,
		`"counts":{"total":7,"completed":4,"failed":1}`,
		`"identitySha256":"11","preparationSha256":"22","toolchainSha256":"33","cacheKey":"44","pdbId":"1IEP","selection":{"assemblyId":"1","model":null,"chains":["A"]}`,
		`"preparation":{"protonationPh":7.4}`, `"reused":false`,
		`"validation":{"nativeComponentId":"STI","redockRmsdAngstrom":0.75,"closestRmsdAngstrom":0.5,"gateRmsdAngstrom":2,"passed":true,"converged":null,"cnnScore":null}`,
		`"wallSeconds":60.5,"cpuSeconds":4,"receptorCpuSeconds":1.5,"dockCpuSeconds":2.5`,
		`"cost":{"estimated":1.50,"held":0.00,"accrued":1.25,"final":1.25,"currency":"GBP"}`, `"status":"COMPLETED_WITH_FAILURES"`,
		`"uiLinks":{"studio":"/studio?dockingRun=` + d.run + `"}`, `"reproducesRunId":null`,
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the run has no %s: %s", part, text)
		}
	}
	if strings.Contains(string(text), `"reproduction"`) {
		t.Errorf("a run that repeats none tells of a reproduction: %s", text)
	}
}

func TestARunAnswersToItsCallersName(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	older, newer := l.dock(c.AccountID, "COMPLETED", false, noon), l.dock(c.AccountID, "COMPLETED", false, noon.Add(time.Hour),
		screen()...)
	if got := get[contract.DockingRun](c, "/runs/mine"); got.RunID != newer.run {
		t.Errorf("got %s, want the newer run", got.RunID)
	}
	l.exec(`UPDATE docking_runs SET request_run_id = $1 WHERE id = $2`, "a/b ä run_", older.run)
	if got := get[contract.DockingRun](c, "/runs/a%2Fb%20%C3%A4%20run_"); got.RunID != older.run {
		t.Errorf("got %s, want the older run", got.RunID)
	}
	if got := get[contract.DockingResultList](c, "/runs/mine/results"); len(got.Results) != 7 {
		t.Errorf("got %d results", len(got.Results))
	}
	want(t, "another account", l.account().Send("GET", base+"/runs/mine", ""), 404, fault.NotFound, "runId")
}

func TestABatchShowsItsBestTen(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	var library []ligand
	for i := range 14 {
		library = append(library, ligand{name: string(rune('a' + i)), score: -float64(i + 1), poses: 1, noSDF: true})
	}
	d := l.dock(c.AccountID, "RUNNING", true, noon, append(library, ligand{name: "late", status: "PREPARING"},
		ligand{name: "bad", status: "FAILED", stage: "embed"})...)
	batch := get[contract.DockingBatch](c, "/batches/"+d.batch)
	var names []string
	for i, one := range batch.TopResults {
		names = append(names, one.LigandID)
		if one.Rank != i+1 || one.UILinks.Studio != "/studio?dockingResult="+one.ResultID {
			t.Errorf("%+v", one)
		}
	}
	if got := strings.Join(names, ""); got != "nmlkjihgfe" || batch.RunID == nil || *batch.RunID != d.run || batch.ShardSize != 2 ||
		batch.Seed != 7 {
		t.Errorf("got %s, %+v", got, batch)
	}
	if p := batch.Progress; batch.Counts != (contract.DockingCounts{Total: 16, Completed: 14, Failed: 1}) || p.Percent != 93.7 ||
		p.Preparing != 1 || p.Pending != 0 {
		t.Errorf("counts %+v, progress %+v", batch.Counts, p)
	}
	l.exec(`UPDATE docking_results SET best_score_kcal_mol = -99 WHERE id = $1`, d.results[0])
	if top := get[contract.DockingBatch](c, "/batches/"+d.batch).TopResults; top[0].LigandID != "a" {
		t.Errorf("the top ten do not move: %+v", top)
	}
}

func TestAnExperimentGathersItsDockings(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	first, second := l.dock(c.AccountID, "COMPLETED", true, noon), l.dock(c.AccountID, "COMPLETED", true, noon.Add(time.Minute))
	third := l.dock(c.AccountID, "FAILED", false, noon.Add(2*time.Minute))
	for _, table := range []string{"docking_batches", "docking_runs"} {
		l.exec(`UPDATE `+table+` SET experiment_id = $1 WHERE job_id = ANY(ARRAY[$2, $3])`, first.experiment, second.job, third.job)
	}
	got := get[contract.DockingExperiment](c, "/experiments/"+first.experiment)
	if !slices.Equal(got.BatchIDs, []string{second.batch, first.batch}) || got.BatchCount != 2 || got.RunCount != 3 ||
		*got.Receptor.PDBID != "1IEP" {
		t.Errorf("got %+v", got)
	}
	for query, count := range map[string]int{"": 3, "?q=iep": 3, "?q=1iep": 3, "?q=2XYZ": 0, "?q=" + first.experiment: 1} {
		if list := get[contract.DockingExperimentList](c, "/experiments"+query); len(list.Experiments) != count {
			t.Errorf("%s: %d experiments, want %d", query, len(list.Experiments), count)
		}
	}
	for query, count := range map[string]int{
		"": 3, "?experimentId=" + first.experiment: 3, "?experimentId=" + third.experiment: 0, "?batchId=" + second.batch: 1,
		"?status=FAILED": 1, "?status=FAILED&status=COMPLETED": 3, "?requestId=req-1": 3, "?requestId=x": 0,
		"?requestRunId=mine&status=FAILED": 1,
	} {
		if list := get[contract.DockingRunList](c, "/runs"+query); len(list.Runs) != count {
			t.Errorf("runs %s: %d, want %d", query, len(list.Runs), count)
		}
	}
	if list := get[contract.DockingBatchList](c, "/batches?status=COMPLETED&experimentId="+
		first.experiment); len(list.Batches) != 2 {
		t.Errorf("%d batches, want 2", len(list.Batches))
	}
}

func TestInteractionsNameWhatFoundThem(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", false, noon, screen()...)
	all := get[contract.DockingInteractions](c, "/poses/"+d.poses[0][0]+"/interactions")
	if !all.Analysed || len(all.Interactions) != 2 || *all.Interactions[0].Method != (contract.DockingMethod{Tool: "ProLIF",
		Version: "2.2.3"}) ||
		all.Interactions[1].Method.Tool != "PLIP" || *all.Interactions[0].Receptor.AtomSerial != 2534 ||
		all.Interactions[1].Receptor.InsertionCode != "A" {
		t.Errorf("got %+v", all)
	}
	some := get[contract.DockingInteractions](c, "/poses/"+d.poses[0][0]+"/interactions?type=hydrophobic&type=salt_bridge")
	if len(some.Interactions) != 1 || some.Interactions[0].Type != "hydrophobic" || some.Interactions[0].AngleDegrees != nil {
		t.Errorf("got %+v", some)
	}
	none := c.Send("GET", base+"/poses/"+d.poses[0][2]+"/interactions", "")
	if none.Text != `{"poseId":"`+d.poses[0][2]+`","analysed":false,"interactions":[]}`+"\n" {
		t.Errorf("not analysed: got %s", none.Text)
	}
	want(t, "type", c.Send("GET", base+"/poses/"+d.poses[0][0]+"/interactions?type=love", ""), 400, fault.Validation, "type")
}

// Nothing tells another account's resource, an unknown one and what cannot be an id apart.
func TestForeignResourcesAreAsIfAbsent(t *testing.T) {
	t.Parallel()
	l := open(t)
	owner, other := l.account(), l.account()
	d := l.dock(owner.AccountID, "COMPLETED", true, noon, screen()...)
	for prefix, one := range map[string]struct {
		foreign string
		paths   []string
	}{
		"exp_":    {d.experiment, []string{"/experiments/{id}"}},
		"batch_":  {d.batch, []string{"/batches/{id}", "/batches/{id}/results"}},
		"run_":    {d.run, []string{"/runs/{id}", "/runs/{id}/results"}},
		"result_": {d.results[0], []string{"/results/{id}", "/results/{id}/poses"}},
		"pose_":   {d.poses[0][0], []string{"/poses/{id}", "/poses/{id}/interactions"}},
		"art_":    {d.sdf[0], []string{"/artifacts/{id}", "/artifacts/{id}/download"}},
	} {
		for _, path := range one.paths {
			if got := owner.Send("GET", base+strings.Replace(path, "{id}", one.foreign, 1), ""); got.StatusCode != http.StatusOK {
				t.Errorf("%s of its owner: %d %s", path, got.StatusCode, got.Text)
			}
			var first string
			for i, name := range []string{one.foreign, id.New(prefix), prefix + "0", strings.ToUpper(one.foreign), "x",
				"%27%20OR%201=1", strings.Repeat("a", 500)} {
				for _, accept := range []string{"application/json", "text/csv", "chemical/x-mdl-sdfile"} {
					got := other.Send("GET", base+strings.Replace(path, "{id}", name, 1), "", "Accept", accept)
					if i == 0 && first == "" {
						first = got.Text
					}
					if got.StatusCode != 404 || got.Text != first || !strings.Contains(got.Text, string(fault.NotFound)) {
						t.Errorf("%s of %.40s: got %d %s, want 404 %s", path, name, got.StatusCode, got.Text, first)
					}
				}
			}
		}
	}
	want(t, "reproduce", other.Send("POST", base+"/runs/"+d.run+"/reproduce", ""), 404, fault.NotFound, "runId")
	for _, list := range []string{"experiments", "batches", "runs", "results", "poses"} {
		got := other.Send("GET", base+"/"+list, "")
		if got.StatusCode != 200 || got.Text != `{"`+list+`":[],"nextCursor":null}`+"\n" {
			t.Errorf("%s of another account: got %d %s", list, got.StatusCode, got.Text)
		}
		for _, filter := range []string{"?resultId=" + d.results[0], "?experimentId=" + d.experiment} {
			if got := other.Send("GET", base+"/"+list+filter, ""); got.StatusCode == 200 && !strings.Contains(got.Text, ":[]") {
				t.Errorf("%s%s of another account: got %s", list, filter, got.Text)
			}
		}
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	l := open(t)
	c := l.account()
	d := l.dock(c.AccountID, "COMPLETED", true, noon, screen()...)
	writer, tester := l.keyOf(c.AccountID, access.Live, access.JobsWrite),
		l.keyOf(c.AccountID, access.Test, access.JobsRead, access.JobsWrite)
	want(t, "read without a key", l.Anonymous().Send("GET", base+"/runs/"+d.run, ""), 401, fault.Unauthorized, "")
	want(t, "read without the scope", writer.Send("GET", base+"/runs/"+d.run, ""), 403, fault.InsufficientScope, access.JobsRead)
	if got := tester.Send("GET", base+"/runs/"+d.run, ""); got.StatusCode != 200 {
		t.Errorf("a test key reads: got %d %s", got.StatusCode, got.Text)
	}
	want(t, "reproduce with a test key", tester.Send("POST", base+"/runs/"+d.run+"/reproduce", ""), 403, fault.TestKeyLiveBilling,
		"")
	want(t, "reproduce without the scope", l.keyOf(c.AccountID, access.Live, access.JobsRead).Send("POST",
		base+"/runs/"+d.run+"/reproduce", ""), 403, fault.InsufficientScope, access.JobsWrite)
}
