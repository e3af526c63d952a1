package e2e

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
)

// links lead to the browser's view of a resource.
type links struct{ Studio string }

type batchView struct {
	BatchID, RunID, JobID string
	Status                job.Status
	Counts                contract.DockingCounts
	ShardSize             int
	TopResults            []struct {
		ResultID         string
		Rank             int
		BestScoreKcalMol float64
		UILinks          links
	}
	UILinks links
}

type runView struct {
	RunID, JobID string
	BatchID      *string
	Status       job.Status
	Counts       contract.DockingCounts
	Box          *struct{ Source string }
	Reproduction *contract.DockingReproduction
	Engine       struct {
		Version, WorkerImageDigest string
		Programs                   map[string]string
	}
	Receptor struct {
		IdentitySHA256, PreparationSHA256, ToolchainSHA256, CacheKey string
		PDBID                                                        *string
		Reused                                                       bool
	}
	Validation *struct {
		NativeComponentID                    string
		RedockRMSDAngstrom, GateRMSDAngstrom *float64
		Passed                               *bool
	}
	Timing struct{ CPUSeconds, ReceptorCPUSeconds, DockCPUSeconds float64 }
	Cost   struct {
		Held  float64
		Final *float64
	}
	UILinks links
}

type resultView struct {
	contract.DockingResult
	LigandIndex int      `json:"ligandIndex"`
	Source      string   `json:"source"`
	Notes       []string `json:"notes"`
	InChIKey    *string  `json:"inchiKey"`
	UILinks     links    `json:"uiLinks"`
}

type artifactView struct {
	ArtifactID, SHA256, Name, Format string
	ByteSize                         int64
	Record                           int
	Verification                     struct{ Status string }
}

type poseView struct {
	contract.DockingPose
	Artifacts struct{ SDF, PDBQT, ComplexPDB *artifactView } `json:"artifacts"`
	UILinks   links                                          `json:"uiLinks"`
}

// chemist is a user of a running system who docks, with an account of their own.
type chemist struct {
	*system
	api *client.Client
	key string
}

// chemist opens an account for one of the tests that share a system.
func (s *system) chemist(t *testing.T) *chemist {
	t.Helper()
	shared := *s
	shared.t = t
	c := &chemist{system: &shared, key: shared.key()}
	c.api = shared.client(client.Options{Server: s.url, APIKey: c.key, NoReuse: true})
	return c
}

// get reads a docking resource in a media type.
func (c *chemist) get(path, accept string) (body []byte, header http.Header) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+"/api/v1/molecular/docking"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("GET %s: %d %s (%v)", path, answer.StatusCode, body, err)
	}
	return body, answer.Header
}

// read reads a docking resource.
func read[T any](c *chemist, path string) T {
	c.t.Helper()
	var value T
	body, _ := c.get(path, "application/json")
	if err := json.Unmarshal(body, &value); err != nil {
		c.t.Fatalf("GET %s: %v in %s", path, err, body)
	}
	return value
}

// results reads a whole list of results in pages of a size.
func (c *chemist) results(path string, query url.Values, pageSize int) []resultView {
	c.t.Helper()
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", strconv.Itoa(pageSize))
	var all []resultView
	for {
		page := read[struct {
			Results    []resultView
			NextCursor *string
		}](c, path+"?"+query.Encode())
		all = append(all, page.Results...)
		if page.NextCursor == nil {
			return all
		}
		if len(page.Results) != pageSize {
			c.t.Fatalf("a page of %d results, want %d, with more to come", len(page.Results), pageSize)
		}
		query.Set("cursor", *page.NextCursor)
	}
}

// submission is a docking of a library with these parameters beside.
func submission(scene string, ligands []map[string]any, params map[string]any) json.RawMessage {
	all := map[string]any{"ligandLibrary": ligands, "exhaustiveness": 2, "numModes": 3, "seed": 42,
		"dockingReport": map[string]any{"picture": "none"}}
	maps.Copy(all, params)
	text, err := json.Marshal(map[string]any{
		"jobType": "simulation", "simulator": "autodock-vina", "jobName": "test", "sceneFile": scene, "simulationParams": all,
	})
	if err != nil {
		panic(err) // texts and numbers
	}
	return text
}

// ligand is an entry of a library that is given as SMILES.
func ligand(name, smiles string) map[string]any {
	return map[string]any{"ligandId": name, "label": name, "source": map[string]any{"kind": "smiles", "smiles": smiles}}
}

// pocket uploads the pocket of HSP90.
func (c *chemist) pocket() (storageKey string) {
	c.t.Helper()
	scene, err := c.api.UploadFile(c.t.Context(), hsp90Pocket)
	if err != nil {
		c.t.Fatal(err)
	}
	return scene.StorageKey
}

// pocketBox is a box around the ligand of that pocket.
var pocketBox = map[string]any{"pocketLigand": "PU8", "boxSizeAngstrom": 16}

// with are these parameters and more.
func with(params, more map[string]any) map[string]any {
	both := maps.Clone(params)
	maps.Copy(both, more)
	return both
}

// submit sends a docking and finds its run.
func (c *chemist) submit(request json.RawMessage) runView {
	c.t.Helper()
	receipt, err := c.api.Submit(c.t.Context(), request, "")
	if err != nil {
		c.t.Fatal(err)
	}
	found, ok, err := c.api.RunOfJob(c.t.Context(), receipt.Body.JobID)
	if err != nil || !ok {
		c.t.Fatalf("job %s has no run (%v)", receipt.Body.JobID, err)
	}
	return read[runView](c, "/runs/"+found.RunID)
}

// ended waits for the end of a run and expects it to end like this.
func (c *chemist) ended(run runView, want job.Status) runView {
	c.t.Helper()
	if ended := c.await(c.api, run.JobID); ended.Status != want {
		c.t.Fatalf("job %s ended as %s (%+v), want %s", run.JobID, ended.Status, ended.Error, want)
	}
	return read[runView](c, "/runs/"+run.RunID)
}

// mixed is a library of small ligands, three of which cannot be docked.
func mixed() (library []map[string]any, broken map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(smiles)) {
		library = append(library, ligand(name, smiles[name]))
	}
	library = append(library, ligand("phenol", "Oc1ccccc1"), ligand("indole", "c1ccc2[nH]ccc2c1"),
		ligand("salicylate", "OC(=O)c1ccccc1O"), ligand("torn", "C1CC("), ligand("ferrocene", "[Fe+2].c1cc[cH-]c1.c1cc[cH-]c1"),
		ligand("boronic", "OB(O)c1ccccc1"))
	return library, map[string]string{"torn": "parse", "ferrocene": "parse", "boronic": "embed"}
}

// TestDockings shows dockings as resources, on one system that knows an entry of the Protein Data Bank and some components.
func TestDockings(t *testing.T) {
	t.Parallel()
	components, err := filepath.Abs("../../engines/vina/testdata/components.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	entry := retinoidProtein(t)
	s := start(t, "MOLFABRIC_STRUCTURES="+entry.mirror, "MOLFABRIC_COMPONENTS="+components, "MOLFABRIC_LIMIT_CREDENTIAL=100000")
	for name, test := range map[string]func(*chemist){
		"library": testLibrary, "confirmed ligands": testConfirmedLigands, "cancelled library": testCancelledLibrary,
		"cancelled docking": testCancelledDocking, "entry": func(c *chemist) { testEntry(c, entry) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(s.chemist(t))
		})
	}
}

// testLibrary docks a library with broken ligands: results come while it runs, and at its end the lists, filters, exports, poses
// and files agree. Then it is repeated, with the receptor that is prepared already, and a third docking names that receptor.
func testLibrary(c *chemist) {
	scene := c.pocket()
	library, broken := mixed()
	run := c.submit(submission(scene, library, with(pocketBox, map[string]any{"dockingExecution": map[string]any{"shardSize": 3}})))
	c.watchLibrary(run)
	run = c.ended(run, job.CompletedWithFailures)
	if want := (contract.DockingCounts{Total: 12, Completed: 9, Failed: 3}); run.Counts != want || run.Box == nil ||
		run.Box.Source != "pocketLigand" ||
		run.UILinks.Studio != "/studio?dockingRun="+run.RunID {
		c.t.Errorf("the run is %+v", run)
	}
	all := c.results("/runs/"+run.RunID+"/results", url.Values{"sort": {"index"}}, 100)
	c.checkResults(all, library, broken)
	c.checkLists(run, all)
	c.checkExports(run, all)
	for _, result := range all {
		if result.Status == "COMPLETED" {
			c.checkPoses(result)
		}
	}
	c.repeat(run)
	c.namePreparation(scene, run)
}

// watchLibrary follows a library to its end and expects every state on the way, and results before the end.
func (c *chemist) watchLibrary(run runView) {
	c.t.Helper()
	seen, partial := map[string]bool{}, false
	err := c.api.Events(c.t.Context(), run.JobID, "", func(client.Event) error {
		batch := read[batchView](c, "/batches/"+*run.BatchID)
		for _, result := range c.results("/batches/"+batch.BatchID+"/results", nil, 100) {
			seen[result.Status] = true
		}
		if batch.Status == job.Running && len(batch.TopResults) > 0 && batch.Counts.Completed < 9 {
			partial = true
		}
		for i, top := range batch.TopResults {
			if top.Rank != i+1 || i > 0 && top.BestScoreKcalMol < batch.TopResults[i-1].BestScoreKcalMol ||
				top.UILinks.Studio != "/studio?dockingResult="+top.ResultID {
				c.t.Errorf("top result %d is %+v", i+1, top)
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, status := range []string{"PENDING", "PREPARING", "DOCKING", "COMPLETED", "FAILED"} {
		if !seen[status] {
			c.t.Errorf("no ligand was seen as %s while the library ran", status)
		}
	}
	if !partial {
		c.t.Error("no top results were seen before the rest was docked")
	}
	batch := read[batchView](c, "/batches/"+*run.BatchID)
	if len(batch.TopResults) != 9 || batch.RunID != run.RunID || batch.ShardSize != 3 ||
		batch.UILinks.Studio != "/studio?dockingBatch="+batch.BatchID {
		c.t.Errorf("the batch is %+v", batch)
	}
}

// checkResults expects an outcome of every ligand: scores and identity, or the stage and the reason of a failure.
func (c *chemist) checkResults(all []resultView, library []map[string]any, broken map[string]string) {
	c.t.Helper()
	if len(all) != len(library) {
		c.t.Fatalf("%d results of %d ligands", len(all), len(library))
	}
	for i, r := range all {
		if r.LigandIndex != i || r.LigandID != library[i]["ligandId"] || r.Source != "smiles" ||
			r.UILinks.Studio != "/studio?dockingResult="+r.ResultID {
			c.t.Errorf("result %d is %+v", i, r)
		}
		if stage := broken[r.LigandID]; stage != "" {
			if r.Status != "FAILED" || r.FailureStage == nil || *r.FailureStage != stage || r.Error == nil || *r.Error == "" ||
				r.PoseCount != 0 || r.BestScoreKcalMol != nil {
				c.t.Errorf("%s should have failed at %s: %+v", r.LigandID, stage, r)
			}
			continue
		}
		if r.Status != "COMPLETED" || r.FailureStage != nil || r.Error != nil || r.BestScoreKcalMol == nil ||
			*r.BestScoreKcalMol >= 0 || r.Rank == nil ||
			r.InChIKey == nil || r.PoseCount < 1 || r.PoseCount > 3 || r.PassedChecks == nil || len(r.Interactions) == 0 {
			c.t.Errorf("%s should be docked and analysed: %+v", r.LigandID, r)
		}
	}
}

// ids are the ligands of results, in their order.
func ids(results []resultView) (names []string) {
	for _, r := range results {
		names = append(names, r.LigandID)
	}
	return names
}

// checkLists holds every filter and sort against the whole list, in one page and in several.
func (c *chemist) checkLists(run runView, all []resultView) {
	c.t.Helper()
	score := func(r resultView) float64 { return *r.BestScoreKcalMol }
	efficiency := func(r resultView) float64 { return *r.LigandEfficiency }
	docked := slices.DeleteFunc(slices.Clone(all), func(r resultView) bool { return r.Status != "COMPLETED" })
	slices.SortStableFunc(docked, func(a, b resultView) int { return cmp.Compare(score(a), score(b)) })
	middle, contact := score(docked[4]), docked[0].Interactions[0]
	parts := strings.Split(contact, ":")
	touches := func(of string) func(resultView) bool {
		return func(r resultView) bool {
			return slices.ContainsFunc(r.Interactions, func(i string) bool { return strings.HasPrefix(i, of) })
		}
	}
	for _, test := range []struct {
		query string
		fits  func(resultView) bool
		order func(a, b resultView) int // of those that have a score; nil for any
	}{
		{"sort=score", nil, func(a, b resultView) int { return cmp.Compare(score(a), score(b)) }},
		{"sort=-score", nil, func(a, b resultView) int { return cmp.Compare(score(b), score(a)) }},
		{"sort=ligandEfficiency", nil, func(a, b resultView) int { return cmp.Compare(efficiency(b), efficiency(a)) }},
		{"sort=label", nil, nil},
		{"", nil, func(a, b resultView) int { return cmp.Compare(*a.Rank, *b.Rank) }},
		{"status=FAILED", func(r resultView) bool { return r.Status == "FAILED" }, nil},
		{"status=FAILED&status=COMPLETED", nil, nil},
		{"failureStage=embed", func(r resultView) bool { return r.FailureStage != nil && *r.FailureStage == "embed" }, nil},
		{fmt.Sprintf("maxScore=%v", middle), func(r resultView) bool { return r.BestScoreKcalMol != nil && score(r) <= middle },
			nil},
		{"interaction=" + contact, touches(contact), nil},
		{fmt.Sprintf("interaction=%s:%s:%s:*", parts[0], parts[1], parts[2]), touches(strings.Join(parts[:3], ":") + ":"), nil},
		{"interaction=" + contact + "&maxScore=" + fmt.Sprint(middle),
			func(r resultView) bool { return touches(contact)(r) && score(r) <= middle }, nil},
		{"passedChecks=true", func(r resultView) bool { return r.PassedChecks != nil && *r.PassedChecks }, nil},
		{"ligandId=torn", func(r resultView) bool { return r.LigandID == "torn" }, nil},
		{"q=IBU", func(r resultView) bool { return r.LigandID == "ibuprofen" }, nil},
	} {
		query, err := url.ParseQuery(test.query)
		if err != nil {
			c.t.Fatal(err)
		}
		path := "/runs/" + run.RunID + "/results"
		whole, paged := c.results(path, query, 100), c.results(path, query, 2)
		if !slices.Equal(ids(whole), ids(paged)) {
			c.t.Errorf("%q: in pages of two %v, in one %v", test.query, ids(paged), ids(whole))
		}
		var want []string
		for _, r := range all {
			if test.fits == nil || test.fits(r) {
				want = append(want, r.LigandID)
			}
		}
		if got := slices.Sorted(slices.Values(ids(whole))); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			c.t.Errorf("%q: got %v, want %v", test.query, got, want)
		}
		scored := slices.DeleteFunc(slices.Clone(whole), func(r resultView) bool { return r.BestScoreKcalMol == nil })
		if test.order != nil && (!slices.IsSortedFunc(scored, test.order) || !slices.Equal(ids(scored), ids(whole[:len(scored)]))) {
			c.t.Errorf("%q: the order is %v", test.query, ids(whole))
		}
	}
}

// checkExports holds the table and the structures against the list.
func (c *chemist) checkExports(run runView, all []resultView) {
	c.t.Helper()
	path := "/runs/" + run.RunID + "/results?sort=index"
	table, header := c.get(path, client.MediaCSV)
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil || len(rows) != len(all)+1 || header.Get("X-Total-Count") != "12" || header.Get("X-Truncated") != "false" {
		c.t.Fatalf("the table has %d rows (%v, %v)", len(rows), err, header)
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	for i, r := range all {
		row, score := rows[i+1], ""
		if r.BestScoreKcalMol != nil {
			score = strconv.FormatFloat(*r.BestScoreKcalMol, 'g', -1, 64)
		}
		if row[column("ligandId")] != r.LigandID || row[column("status")] != r.Status || row[column("bestScoreKcalMol")] != score ||
			row[column("interactions")] != strings.Join(r.Interactions, "; ") || row[column("studio")] != r.UILinks.Studio {
			c.t.Errorf("row %d is %v, want %+v", i+1, row, r)
		}
	}
	structures, header := c.get(path, client.MediaSDF)
	if got := strings.Count(string(structures), "$$$$\n"); got != 9 ||
		strings.Contains(string(structures), "  0  0  0  0  0  0  0  0  0  0999 V2000") {
		c.t.Errorf("%d structures, want 9 whole ones (%v)", got, header)
	}
	for _, r := range all {
		if drawn := strings.Contains(string(structures), ">  <resultId>\n"+r.ResultID+"\n"); drawn != (r.Status == "COMPLETED") {
			c.t.Errorf("%s is %s; among the structures: %v", r.LigandID, r.Status, drawn)
		}
	}
}

// fileAtoms are the atoms of the pocket's file by serial: chain, residue name, number and atom name as they stand in it.
func fileAtoms(t *testing.T) map[int]string {
	t.Helper()
	text, err := os.ReadFile(hsp90Pocket)
	if err != nil {
		t.Fatal(err)
	}
	atoms := map[int]string{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "ATOM") && !strings.HasPrefix(line, "HETATM") {
			continue
		}
		serial, err := strconv.Atoi(strings.TrimSpace(line[6:11]))
		if err != nil {
			t.Fatal(err)
		}
		field := func(from, to int) string { return strings.TrimSpace(line[from:to]) }
		atoms[serial] = strings.Join([]string{field(21, 22), field(17, 20), field(22, 26), field(12, 16)}, ":")
	}
	return atoms
}

// checkPoses holds the poses of a result, their contacts and their files against each other.
func (c *chemist) checkPoses(result resultView) {
	c.t.Helper()
	poses := read[struct{ Poses []poseView }](c, "/results/"+result.ResultID+"/poses").Poses
	if len(poses) != result.PoseCount || poses[0].ScoreKcalMol != *result.BestScoreKcalMol {
		c.t.Errorf("%s has %d poses, the first %+v", result.LigandID, len(poses), poses[0])
	}
	atoms := fileAtoms(c.t)
	for i, pose := range poses {
		if pose.Rank != i+1 || !pose.Analysed || pose.Checks == nil || len(pose.Checks.Tests) < 10 ||
			!strings.HasPrefix(pose.Checks.Tool, "PoseBusters ") ||
			pose.UILinks.Studio != "/studio?dockingPose="+pose.PoseID {
			c.t.Errorf("%s: pose %d is %+v", result.LigandID, i+1, pose)
		}
		contacts := read[contract.DockingInteractions](c, "/poses/"+pose.PoseID+"/interactions").Interactions
		for _, contact := range contacts {
			r := contact.Receptor
			named := fmt.Sprintf("%s:%s:%d:%s", r.Chain, r.ResidueName, r.Residue, r.AtomName)
			if r.AtomSerial == nil || atoms[*r.AtomSerial] != named || contact.DistanceAngstrom <= 0 || contact.Method == nil ||
				contact.Method.Version == "" {
				c.t.Errorf("%s: a contact of pose %d with %s is %+v, and the file does not agree", result.LigandID, i+1, named,
					contact)
			}
			key := fmt.Sprintf("%s:%s:%d:%s", r.Chain, r.ResidueName, r.Residue, contact.Type)
			if i == 0 && !slices.Contains(result.Interactions, key) {
				c.t.Errorf("%s: the best pose has the contact %s, which is not among the result's %v", result.LigandID, key,
					result.Interactions)
			}
		}
	}
	best := poses[0].Artifacts
	for format, file := range map[string]*artifactView{"sdf": best.SDF, "pdbqt": best.PDBQT, "pdb": best.ComplexPDB} {
		if file == nil || file.Format != format || file.Record != 1 {
			c.t.Errorf("%s: the %s file of the best pose is %+v", result.LigandID, format, file)
			continue
		}
		c.checkFile(*file)
	}
}

// checkFile downloads a file and holds it against what is known of it.
func (c *chemist) checkFile(file artifactView) {
	c.t.Helper()
	made := read[struct{ URL string }](c, "/artifacts/"+file.ArtifactID+"/download")
	answer, err := http.Get(made.URL)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: %d (%v)", file.Name, answer.StatusCode, err)
	}
	if got, err := client.Digest(bytes.NewReader(body)); err != nil || got != file.SHA256 || int64(len(body)) != file.ByteSize {
		c.t.Errorf("%s has %d bytes with digest %s, want %d with %s", file.Name, len(body), got, file.ByteSize, file.SHA256)
	}
	if looked := read[artifactView](c, "/artifacts/"+file.ArtifactID); looked.Verification.Status != "VERIFIED" {
		c.t.Errorf("%s is %s", file.Name, looked.Verification.Status)
	}
}
