package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// metric reads one of the system's own figures, labels and all; 0 for one that it does not have yet.
func (s *system) metric(name string) float64 {
	s.t.Helper()
	answer, err := http.Get(s.url + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err := strconv.ParseFloat(rest, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return value
		}
	}
	return 0
}

// digests are the SHA-256 of a run's poses, by ligand.
func (c *chemist) digests(run runView) map[string]string {
	c.t.Helper()
	found := map[string]string{}
	for _, r := range c.results("/runs/"+run.RunID+"/results", nil, 100) {
		if r.PoseCount > 0 {
			found[r.LigandID] = read[struct{ Poses []poseView }](c, "/results/"+r.ResultID+
				"/poses?limit=1").Poses[0].Artifacts.PDBQT.SHA256
		}
	}
	return found
}

// TestLostWorkerRedoesUnfinishedLigands kills the only worker in the middle of a task of five ligands, when the first of them is
// docked, and expects the next attempt to go on behind it and to find what an undisturbed one finds.
func TestLostWorkerRedoesUnfinishedLigands(t *testing.T) {
	t.Parallel()
	serverstest.Long(t)
	const stored = `molfabric_checkpoints_total{engine="autodock-vina",outcome="stored"}`
	const resumed = `molfabric_checkpoints_total{engine="autodock-vina",outcome="resumed"}`
	c := start(t, "MOLFABRIC_SLOTS=1", "MOLFABRIC_LIMIT_CREDENTIAL=100000").chemist(t)
	var library []map[string]any
	for _, name := range []string{"aspirin", "caffeine", "ibuprofen", "nicotine", "paracetamol"} {
		library = append(library, ligand(name, smiles[name]))
	}
	request := submission(c.pocket(), library, with(pocketBox, map[string]any{
		"numModes": 1, "dockingExecution": map[string]any{"shardSize": 5},
	}))
	calm := c.ended(c.submit(request), job.Completed)
	before := c.metric(stored)
	if before < 4 || c.metric(resumed) != 0 { // the last of a task that succeeds at once may be left out
		t.Errorf("undisturbed, %v checkpoints were stored and %v handed on; want 4 or 5, and none", before, c.metric(resumed))
	}

	disturbed := c.submit(request)
	c.eventually("a ligand is docked and saved", func() bool { return c.metric(stored) > before })
	if err := syscall.Kill(c.worker(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	disturbed = c.ended(disturbed, job.Completed)
	saved := int(c.metric(resumed))
	if saved < 1 || saved > 4 {
		t.Fatalf("%d docked ligands were handed on, want 1 to 4", saved)
	}
	c.checkSecondAttempt(disturbed, saved)
	if got, want := c.digests(disturbed), c.digests(calm); len(want) != 5 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the poses are %v, undisturbed %v", got, want)
	}
	chargedOnce(t, c.api, disturbed.JobID)
}

// checkSecondAttempt expects in the log of a task's second attempt that it went on behind the ligands that were saved.
func (c *chemist) checkSecondAttempt(run runView, saved int) {
	c.t.Helper()
	tasks, err := c.api.Tasks(c.t.Context(), run.JobID, client.TaskFilter{Stage: "dock"})
	if err != nil || len(tasks.Body.Tasks) != 1 || tasks.Body.Tasks[0].Attempt != 2 {
		c.t.Fatalf("the docking tasks are %+v (%v)", tasks.Body.Tasks, err)
	}
	logs, err := c.api.Logs(c.t.Context(), run.JobID, client.Page{}, tasks.Body.Tasks[0].TaskID)
	if err != nil || len(logs.Body.Logs) != 1 || logs.Body.Logs[0].Attempt != 2 || logs.Body.Logs[0].Text == nil {
		c.t.Fatalf("the log is %+v (%v)", logs.Body.Logs, err)
	}
	text := *logs.Body.Logs[0].Text
	if want := fmt.Sprintf("docking %d of 5 ligands", 5-saved); !strings.Contains(text, want) {
		c.t.Errorf("%q is missing in the log:\n%s", want, text)
	}
	for _, place := range regexp.MustCompile(`\((\d) of 5\)`).FindAllStringSubmatch(text, -1) {
		if n, _ := strconv.Atoi(place[1]); n <= saved {
			c.t.Errorf("ligand %d of 5 was docked again:\n%s", n, text)
		}
	}
}

// repeat runs a docking again and expects the same poses, from the prepared receptor, for no more money.
func (c *chemist) repeat(run runView) {
	c.t.Helper()
	receipt, err := c.api.Reproduce(c.t.Context(), run.RunID)
	if err != nil {
		c.t.Fatal(err)
	}
	again := c.ended(read[runView](c, "/runs/"+receipt.Body.RunID), run.Status)
	found := again.Reproduction
	if found == nil || found.OfRunID != run.RunID || found.Verdict != contract.VerdictIdentical || len(found.Reasons) > 0 ||
		found.Compared.Ligands != run.Counts.Total || found.Compared.Identical != run.Counts.Total {
		c.t.Errorf("the repetition found %+v", found)
	}
	if run.Receptor.Reused || !again.Receptor.Reused || again.Receptor.CacheKey != run.Receptor.CacheKey {
		c.t.Errorf("the receptor was %+v, and then %+v", run.Receptor, again.Receptor)
	}
	if again.Timing.ReceptorCPUSeconds >= run.Timing.ReceptorCPUSeconds {
		c.t.Errorf("the prepared receptor took %v CPU seconds, its preparation %v", again.Timing.ReceptorCPUSeconds,
			run.Timing.ReceptorCPUSeconds)
	}
	if run.Cost.Final == nil || again.Cost.Final == nil || *again.Cost.Final > *run.Cost.Final {
		c.t.Errorf("the repetition cost %v, the first run %v", again.Cost.Final, run.Cost.Final)
	}
	c.t.Logf("receptor %.2f → %.2f CPU seconds, all %.1f → %.1f", run.Timing.ReceptorCPUSeconds, again.Timing.ReceptorCPUSeconds,
		run.Timing.CPUSeconds, again.Timing.CPUSeconds)
}

// namePreparation docks a single ligand into the receptor that an earlier run has prepared, by its digests, and names wrong ones.
func (c *chemist) namePreparation(scene string, earlier runView) {
	c.t.Helper()
	naming := func(member, digest string) json.RawMessage {
		prepared := map[string]any{
			"cacheKey": earlier.Receptor.CacheKey, "receptorIdentitySha256": earlier.Receptor.IdentitySHA256,
			"preparationSha256": earlier.Receptor.PreparationSHA256, "toolchainSha256": earlier.Receptor.ToolchainSHA256,
			"workerImageDigest": earlier.Engine.WorkerImageDigest,
		}
		if member != "" {
			prepared[member] = digest
		}
		params := with(pocketBox, map[string]any{"dockingExecution": map[string]any{"preparedReceptor": prepared}})
		return submission(scene, []map[string]any{ligand("phenol", "Oc1ccccc1")}, params)
	}
	wrong := strings.Repeat("0", 64)
	for _, test := range []struct {
		member, digest string
		status         int
		code           fault.Code
	}{
		{"cacheKey", wrong, http.StatusUnprocessableEntity, fault.ArtifactNotFound},
		{"receptorIdentitySha256", wrong, http.StatusBadRequest, fault.Validation},
		{"preparationSha256", wrong, http.StatusBadRequest, fault.Validation},
		{"toolchainSha256", wrong, http.StatusBadRequest, fault.Validation},
		{"workerImageDigest", "sha256:" + wrong, http.StatusUnprocessableEntity, fault.WorkerImageMismatch},
	} {
		_, err := c.api.Submit(c.t.Context(), naming(test.member, test.digest), "")
		want := "simulationParams.dockingExecution.preparedReceptor." + test.member + ":"
		if client.StatusOf(err) != test.status || client.CodeOf(err) != test.code || !strings.HasPrefix(err.Error(), want) {
			c.t.Errorf("a wrong %s: got %v, want %d %s", test.member, err, test.status, test.code)
		}
	}
	run := c.ended(c.submit(naming("", "")), job.Completed)
	if !run.Receptor.Reused || run.Receptor.CacheKey != earlier.Receptor.CacheKey {
		c.t.Errorf("the receptor is %+v, want the prepared %s", run.Receptor, earlier.Receptor.CacheKey)
	}
}

// stopAtGate expects that a library was not docked because the native ligand was not found again, and that nothing is held.
func (c *chemist) stopAtGate(run runView) {
	c.t.Helper()
	run = c.ended(run, job.Failed)
	ended, err := c.api.Job(c.t.Context(), run.JobID)
	if err != nil || ended.Body.Error == nil || ended.Body.Error.Code != "REDOCKING_GATE" ||
		ended.Body.Error.FailureClass != "USER_INPUT" ||
		!strings.Contains(ended.Body.Error.Message, "Å") {
		c.t.Errorf("the job failed with %+v (%v)", ended.Body.Error, err)
	}
	v := run.Validation
	if v == nil || v.RedockRMSDAngstrom == nil || v.GateRMSDAngstrom == nil || *v.GateRMSDAngstrom != 0.1 || v.Passed == nil ||
		*v.Passed {
		c.t.Errorf("the validation is %+v", v)
	}
	for _, r := range c.results("/runs/"+run.RunID+"/results", nil, 100) {
		if r.Status != "FAILED" || r.Error == nil || !strings.HasPrefix(*r.Error, "not docked") || r.PoseCount != 0 {
			c.t.Errorf("%s behind the gate: %+v", r.LigandID, r)
		}
	}
	tasks, err := c.api.Tasks(c.t.Context(), run.JobID, client.TaskFilter{Stage: "dock"})
	if err != nil || slices.ContainsFunc(tasks.Body.Tasks, func(task contract.Task) bool { return task.Attempt > 0 }) {
		c.t.Errorf("the library began: %+v (%v)", tasks.Body.Tasks, err)
	}
	chargedOnce(c.t, c.api, run.JobID)
}

// largeLibrary is 2,000 times the same ligand, under names of its own.
func largeLibrary() (library []map[string]any) {
	for i := range 2000 {
		library = append(library, ligand(fmt.Sprintf("ligand-%d", i), smiles["aspirin"]))
	}
	return library
}

// testCancelledLibrary cancels a library of 2,000 ligands while it is being prepared, and expects an end of every ligand.
func testCancelledLibrary(c *chemist) {
	run := c.submit(submission(c.pocket(), largeLibrary(), with(pocketBox, map[string]any{
		"exhaustiveness": 1, "numModes": 1, "dockingExecution": map[string]any{"shardSize": 10},
	})))
	all := c.results("/runs/"+run.RunID+"/results", url.Values{"sort": {"index"}}, 100)
	for i, r := range all {
		if r.LigandIndex != i || r.LigandID != fmt.Sprintf("ligand-%d", i) {
			c.t.Fatalf("result %d is of ligand %d, %s", i, r.LigandIndex, r.LigandID)
		}
	}
	if len(all) != 2000 {
		c.t.Fatalf("%d results, want 2000", len(all))
	}
	c.eventually("the ligands are being prepared", func() bool {
		batch := read[struct {
			Progress struct{ Preparing, Docking int }
		}](c, "/batches/"+*run.BatchID)
		return batch.Progress.Preparing > 0
	})
	if ends := c.cancel(run); ends["cancelled"] == 0 {
		c.t.Errorf("of 2,000 ligands: %v", ends)
	}
}

// testCancelledDocking cancels a library in the middle of its docking, and expects that what is docked stays.
func testCancelledDocking(c *chemist) {
	library, _ := mixed()
	run := c.submit(submission(c.pocket(), library, with(pocketBox, map[string]any{"exhaustiveness": 16, "numModes": 1})))
	c.eventually("a ligand is docked", func() bool { return read[batchView](c, "/batches/"+*run.BatchID).Counts.Completed > 0 })
	ends := c.cancel(run)
	if ends["docked"] == 0 || ends["cancelled"] == 0 || ends["broken"] != 3 {
		c.t.Errorf("of 12 ligands: %v", ends)
	}
	for _, top := range read[batchView](c, "/batches/"+*run.BatchID).TopResults {
		poses := read[struct{ Poses []poseView }](c, "/results/"+top.ResultID+"/poses").Poses
		if len(poses) != 1 || poses[0].Artifacts.PDBQT == nil {
			c.t.Fatalf("the poses of a docked ligand are %+v", poses)
		}
		c.checkFile(*poses[0].Artifacts.PDBQT)
	}
}

// cancel ends a run and counts how its ligands ended. It expects that each has an end and that the charge is no more than was held.
func (c *chemist) cancel(run runView) map[string]int {
	c.t.Helper()
	if answer, err := c.api.Cancel(c.t.Context(), run.JobID, "enough"); err != nil || answer.Body.Status != job.Cancelling &&
		answer.Body.Status != job.Cancelled {
		c.t.Fatalf("the cancellation: %+v, %v", answer, err)
	}
	run = c.ended(run, job.Cancelled)
	ends := map[string]int{}
	for _, r := range c.results("/runs/"+run.RunID+"/results", nil, 100) {
		switch {
		case r.Status == "COMPLETED":
			ends["docked"]++
		case r.Status == "FAILED" && r.Error != nil && *r.Error == "not docked: the job was cancelled":
			ends["cancelled"]++
		case r.Status == "FAILED" && r.Error != nil && r.FailureStage != nil:
			ends["broken"]++
		default:
			c.t.Errorf("%s ended as %+v", r.LigandID, r)
		}
	}
	failed, total := ends["cancelled"]+ends["broken"], ends["docked"]+ends["cancelled"]+ends["broken"]
	if want := (contract.DockingCounts{Total: total, Completed: ends["docked"], Failed: failed}); run.Counts != want {
		c.t.Errorf("the ligands ended as %v and are counted as %+v", ends, run.Counts)
	}
	if run.Cost.Final == nil || run.Cost.Held != 0 {
		c.t.Errorf("the charge is %v, and %v is held still", run.Cost.Final, run.Cost.Held)
	}
	chargedOnce(c.t, c.api, run.JobID)
	return ends
}

// testConfirmedLigands looks a ligand up and docks what was shown, and sends tokens that do not fit.
func testConfirmedLigands(c *chemist) {
	scene := c.pocket()
	found, err := c.api.ResolveLigand(c.t.Context(), "aspirin")
	if err != nil || len(found.Body.Candidates) == 0 || found.Body.Candidates[0].SourceID != "ccd:AIN" {
		c.t.Fatalf("the look-up of aspirin: %+v, %v", found.Body.Candidates, err)
	}
	candidate := found.Body.Candidates[0]
	confirmed := func(kind, member, value, query string) map[string]any {
		return map[string]any{"ligandId": kind, "label": "aspirin", "source": map[string]any{"kind": kind, member: value},
			"confirmation": map[string]any{"token": candidate.Token, "query": query, "sourceId": candidate.SourceID}}
	}
	component := confirmed("ccd", "componentId", "AIN", "aspirin")
	for _, test := range []struct {
		name   string
		ligand map[string]any
		member string
	}{
		{"another query", confirmed("ccd", "componentId", "AIN", "Aspirin"), "confirmation.query"},
		{"another component", confirmed("ccd", "componentId", "IBP", "aspirin"), "source"},
		{"another structure", confirmed("smiles", "smiles", "CCO", "aspirin"), "source"},
		{"a component that nobody knows", map[string]any{"ligandId": "x", "label": "x",
			"source": map[string]any{"kind": "ccd", "componentId": "QQ9"}}, "source.componentId"},
	} {
		_, err := c.api.Submit(c.t.Context(), submission(scene, []map[string]any{component, test.ligand}, pocketBox), "")
		want := "simulationParams.ligandLibrary[1]." + test.member + ":"
		if client.StatusOf(err) != http.StatusBadRequest || client.CodeOf(err) != fault.Validation ||
			!strings.HasPrefix(err.Error(), want) {
			c.t.Errorf("%s: got %v, want a refusal of %s", test.name, err, want)
		}
	}
	_, err = c.system.chemist(c.t).api.Submit(c.t.Context(), submission(scene, []map[string]any{component}, pocketBox), "")
	if err == nil {
		c.t.Error("another account docks with this one's token and file")
	}
	ligands := []map[string]any{component, confirmed("smiles", "smiles", candidate.SMILES, "aspirin")}
	run := c.ended(c.submit(submission(scene, ligands, pocketBox)), job.Completed)
	for i, r := range c.results("/runs/"+run.RunID+"/results", url.Values{"sort": {"index"}}, 100) {
		if r.Source != []string{"ccd", "smiles"}[i] || r.BestScoreKcalMol == nil || r.InChIKey == nil ||
			*r.InChIKey != "BSYNRYMUTXBXSQ-UHFFFAOYSA-N" {
			c.t.Errorf("result %d is %+v", i, r)
		}
	}
}

// entry is an entry of the Protein Data Bank in a mirror, and its own ligand.
type entry struct {
	mirror, pdbID, componentID string
	residue                    int
}

// retinoidProtein is cellular retinoic acid binding protein II with retinoic acid.
func retinoidProtein(t *testing.T) entry {
	t.Helper()
	return entry{mirror: filepath.Dir(enginestest.Sample(t, "1cbs.cif")), pdbID: "1CBS", componentID: "REA", residue: 200}
}

// docking docks two small ligands where the entry has its own, which is docked again first.
func (e entry) docking(scene string, gateAngstrom float64) json.RawMessage {
	return submission(scene, []map[string]any{ligand("aspirin", smiles["aspirin"]), ligand("indole", "c1ccc2[nH]ccc2c1")},
		map[string]any{
			"receptorPdbId": strings.ToLower(e.pdbID), "receptorChains": []string{"A"}, "pocketLigand": e.componentID,
			"boxSizeAngstrom": 18, "exhaustiveness": 1,
			"dockingValidation": map[string]any{
				"nativeReference":  map[string]any{"componentId": e.componentID, "chain": "A", "residue": e.residue},
				"gateRmsdAngstrom": gateAngstrom,
			},
		})
}

// testEntry docks into an entry of the mirror, behind a gate that its own ligand passes, and then behind one that none does.
func testEntry(c *chemist, e entry) {
	scene := c.pocket() // every job has one; the entry is the receptor
	run := c.ended(c.submit(e.docking(scene, 15)), job.Completed)
	if run.Receptor.PDBID == nil || *run.Receptor.PDBID != e.pdbID || run.Receptor.IdentitySHA256 == "" {
		c.t.Errorf("the receptor is %+v", run.Receptor)
	}
	v := run.Validation
	if v == nil || v.NativeComponentID != e.componentID || v.RedockRMSDAngstrom == nil || *v.RedockRMSDAngstrom > 15 ||
		v.Passed == nil || !*v.Passed {
		c.t.Fatalf("the validation is %+v", v)
	}
	c.t.Logf("%s of %s docked again: %.2f Å from the crystal pose", e.componentID, e.pdbID, *v.RedockRMSDAngstrom)
	if run.Counts.Completed != 2 {
		c.t.Errorf("of 2 ligands are docked: %+v", run.Counts)
	}
	c.stopAtGate(c.submit(e.docking(scene, 0.1)))
}
