package jobs

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

func TestSubmitRefusals(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller, other := d.account(), d.account()
	d.file(caller, "receptor.pdb", 1000, strings.Repeat("a", 64))
	d.file(other, "theirs.pdb", 1000, "")
	artifact := func(key string, size int, sha string) string {
		return fmt.Sprintf(
			`{"schema":"service.docking.artifact/v1","artifactId":"r","storageKey":%q,"sha256":%q,"byteSize":%d,"mediaType":"chemical/x-pdb","format":"pdb"}`, key, strings.Repeat(sha, 64), size)
	}
	with := func(params string) string {
		return `{"jobType":"simulation","simulator":"vina","sceneFile":"receptor.pdb","simulationParams":{` + params + `}}`
	}
	for _, c := range []struct {
		name, body string
		code       fault.Code
		place      string
	}{
		{"pipeline", `{"jobType":"pipeline"}`, fault.PipelineDisabled, "jobType"},
		{"no scene", `{"jobType":"simulation","simulator":"vina"}`, fault.Validation, "sceneFile"},
		{"empty scene", `{"sceneFile":""}`, fault.Validation, "sceneFile"},
		{"render by default", `{"sceneFile":"receptor.pdb"}`, fault.UnsupportedSimulator, "render"},
		{"molecular", `{"jobType":"molecular","sceneFile":"receptor.pdb"}`, fault.UnsupportedSimulator, "molecular"},
		{"no simulator", `{"jobType":"simulation","sceneFile":"receptor.pdb"}`, fault.Validation, "simulator"},
		{"unknown simulator", `{"jobType":"simulation","simulator":"smina","sceneFile":"receptor.pdb"}`, fault.UnsupportedSimulator,
			"autodock-vina"},
		{"unknown scene", strings.Replace(docking, "receptor.pdb", "no.pdb", 1), fault.SceneNotFound, "sceneFile"},
		{"foreign scene", strings.Replace(docking, "receptor.pdb", "theirs.pdb", 1), fault.SceneNotFound, "sceneFile"},
		{"foreign attachment", strings.Replace(docking, `{"jobType"`, `{"attachments":["receptor.pdb","theirs.pdb"],"jobType"`, 1),
			fault.ArtifactNotFound, "attachments[1]"},
		{"foreign receptor", with(`"receptorArtifact":` + artifact("theirs.pdb", 1000, "a")), fault.ArtifactNotFound,
			"simulationParams.receptorArtifact.storageKey"},
		{"other size", with(`"receptorArtifact":` + artifact("receptor.pdb", 999, "a")), fault.ChecksumMismatch,
			"simulationParams.receptorArtifact.byteSize"},
		{"other digest", with(`"receptorArtifact":` + artifact("receptor.pdb", 1000, "b")), fault.ChecksumMismatch,
			"simulationParams.receptorArtifact.sha256"},
		{"foreign ligand", with(`"ligandLibrary":[{"ligandId":"a","label":"a","source":{"kind":"artifact","artifact":` +
			artifact("theirs.pdb", 1, "a") + `}}]`), fault.ArtifactNotFound,
			"simulationParams.ligandLibrary[0].source.artifact.storageKey"},
		{"the engine's own rule", with(``), fault.Validation, "simulationParams.ligandIdentity"},
	} {
		_, err := d.Submit(access.With(t.Context(), caller), caller, "", request(t, c.body))
		wantFault(t, c.name, err, c.code, c.place)
	}
	var jobs int
	if err := d.db.GetContext(t.Context(), &jobs, `SELECT count(*) FROM jobs`); err != nil || jobs != 0 {
		t.Errorf("%d jobs are stored, %v; want none", jobs, err)
	}
}

func TestSubmitOverTheWire(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	d.file(caller, "receptor.pdb", 1000, "")
	response, text := d.call(caller, http.MethodPost, "/v1/jobs/submit", docking, "Idempotency-Key", "first-key")
	first := decoded[contract.SubmitResponse](t, text)
	if response.StatusCode != http.StatusOK || first.Status != "SUBMITTED" || first.Provider != "molfabric" ||
		first.Currency != "GBP" || first.JobType != "simulation" || first.IdempotentReplay {
		t.Fatalf("got %d %s", response.StatusCode, text)
	}
	if _, pence, ok := strings.Cut(string(first.EstimatedCost), "."); !ok || len(pence) != 2 {
		t.Errorf("estimatedCost is %s, want two decimals", first.EstimatedCost)
	}
	response, text = d.call(caller, http.MethodPost, "/v1/jobs/submit",
		strings.Replace(docking, `{"jobType"`, `{"idempotencyKey":"first-key","jobType"`, 1))
	again := decoded[contract.SubmitResponse](t, text)
	if response.Header.Get("Idempotency-Replayed") != "true" || !again.IdempotentReplay || again.JobID != first.JobID ||
		again.EstimatedCost != first.EstimatedCost {
		t.Errorf("replay: got %v %s", response.Header, text)
	}
	delete(d.files, caller.AccountID+" receptor.pdb") // a repetition gets its answer whatever has become of the files
	response, text = d.call(caller, http.MethodPost, "/v1/jobs/submit", docking, "Idempotency-Key", "first-key")
	if gone := decoded[contract.SubmitResponse](t, text); !gone.IdempotentReplay || gone.JobID != first.JobID {
		t.Errorf("replay without the file: got %v %s", response.Status, text)
	}
	d.file(caller, "receptor.pdb", 1000, "")
	_, err := d.Submit(access.With(t.Context(), caller), caller, "first-key",
		request(t, strings.Replace(docking, "ABL1 screen", "another", 1)))
	wantFault(t, "another request", err, fault.IdempotencyKeyReused, "")
	var ticket string
	if err := d.db.GetContext(t.Context(), &ticket, `SELECT request_text::json->'metadata'->>'ticket' FROM jobs WHERE id = $1`,
		first.JobID); err != nil || ticket != "12345678901234567890" {
		t.Errorf("metadata keeps %q, %v", ticket, err)
	}
	for _, body := range []string{
		`{"jobType":"simulation","sceneFile":"receptor.pdb","colour":"red"}`,
		`{"jobType":"simulation","sceneFile":"receptor.pdb","simulationParams":{"colour":"red"}}`,
		`{"jobType":"simulation","sceneFile":"receptor.pdb","dockingRequest":{"requestId":"r"}}`,
		`{"jobType":"film","sceneFile":"receptor.pdb"}`,
		`{"jobType":"simulation","sceneFile":"receptor.pdb","metadata":{"fps":"fast"}}`,
		`{"jobType":"simulation","sceneFile":"receptor.pdb","metadata":[]}`,
		`{"jobType":"render","sceneFile":"receptor.pdb","frameStep":1.5}`,
		`{"jobType":"simulation","sceneFile":"receptor.pdb","taskCount":0}`,
		`{"jobType":"simulation","sceneFile":"receptor.pdb","simulationParams":{"estimatedRuntimeSeconds":0}}`,
	} {
		if response, text := d.call(caller, http.MethodPost, "/v1/jobs/submit",
			body); response.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d %s, want a refusal by the schema", body, response.StatusCode, text)
		}
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	body := strings.Replace(strings.Replace(docking, `"sceneFile":"receptor.pdb","jobName":"ABL1 screen",`, "", 1),
		`"ticket":12345678901234567890`, `"fps":24`, 1)
	response, text := d.call(caller, http.MethodPost, "/v1/jobs/estimate", body)
	estimate := decoded[contract.EstimateResponse](t, text)
	if response.StatusCode != http.StatusOK || estimate.Currency != "GBP" || estimate.Range.Likely != estimate.EstimatedCost ||
		estimate.LicenseNames == nil || estimate.Breakdown.StartFee != "0.02" {
		t.Errorf("got %d %s", response.StatusCode, text)
	}
	for name, body := range map[string]string{
		"pipeline":         `{"jobType":"pipeline"}`,
		"unknown metadata": strings.Replace(body, `"fps":24`, `"ticket":1`, 1),
		"a job's name":     docking,
	} {
		if response, text := d.call(caller, http.MethodPost, "/v1/jobs/estimate",
			body); response.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d %s, want a refusal by the schema", name, response.StatusCode, text)
		}
	}
	_, err := d.Estimate(t.Context(), "", EstimateRequest{})
	wantFault(t, "render", err, fault.UnsupportedSimulator, "render")
	simulation := EstimateRequest{JobType: ref(engines.JobTypeSimulation), Simulator: "vina"}
	withFiles := func(accountID, scene string, attachments ...string) error {
		request := simulation
		request.SceneFile, request.Attachments = scene, attachments
		_, err := d.Estimate(t.Context(), accountID, request)
		return err
	}
	d.file(caller, "receptor.pdb", 1000, "")
	wantFault(t, "a visitor's file", withFiles("", "receptor.pdb"), fault.Validation, "sceneFile: ")
	wantFault(t, "another's file", withFiles(d.account().AccountID, "receptor.pdb"), fault.SceneNotFound, "sceneFile: ")
	wantFault(t, "no scene", withFiles(caller.AccountID, "", "receptor.pdb"), fault.Validation, "attachments: ")
	wantFault(t, "an unknown attachment", withFiles(caller.AccountID, "receptor.pdb", "other.pdb"), fault.ArtifactNotFound,
		"attachments[0]: ")
	_, err = d.Estimate(t.Context(), "", EstimateRequest{JobType: ref(engines.JobTypeSimulation), Simulator: "vina",
		TaskCount: ref(10_001)})
	wantFault(t, "the engine's own rule", err, fault.Validation, "taskCount: is 10001")
}

// TestABareEstimateIsOfATypicalCase asks for prices with a simulator and a number of tasks alone.
func TestABareEstimateIsOfATypicalCase(t *testing.T) {
	t.Parallel()
	d := openWith(t, false, vina.New(), openmm.New())
	costs := map[string]float64{}
	for body, want := range map[string]string{
		`{"jobType":"simulation","simulator":"autodock-vina"}`: "one ligand of 26 " +
			"heavy atoms",
		`{"jobType":"simulation","simulator":"autodock-vina","taskCount":10}`: "10 ligands of 26 " +
			"heavy atoms",
		`{"jobType":"simulation","simulator":"vina","taskCount":10,"simulationParams":{"exhaustiveness":32}}`: "10 ligands of 26 " +
			"heavy atoms",
		`{"jobType":"simulation","simulator":"openmm"}`:               "some 19000 atoms with its water, for 1 ns",
		`{"jobType":"simulation","simulator":"openmm","taskCount":8}`: "one run, whatever taskCount says",
	} {
		response, text := d.call(d.account(), http.MethodPost, "/v1/jobs/estimate", body)
		estimate := decoded[contract.EstimateResponse](t, text)
		cost, err := strconv.ParseFloat(string(estimate.EstimatedCost), 64)
		if response.StatusCode != http.StatusOK || err != nil || cost <= 0 || !strings.Contains(estimate.Assumed, want) {
			t.Errorf("%s: got %d %s, want the price of what it assumes: %s", body, response.StatusCode, text, want)
		}
		costs[body] = cost
	}
	one, ten, thorough := costs[`{"jobType":"simulation","simulator":"autodock-vina"}`],
		costs[`{"jobType":"simulation","simulator":"autodock-vina","taskCount":10}`],
		costs[`{"jobType":"simulation","simulator":"vina","taskCount":10,"simulationParams":{"exhaustiveness":32}}`]
	if !(one < ten && ten < thorough) {
		t.Errorf("one ligand costs %g, ten %g, ten searched further %g", one, ten, thorough)
	}
	asked := strings.Replace(strings.Replace(docking, `"sceneFile":"receptor.pdb","jobName":"ABL1 screen",`, "", 1),
		`"ticket":12345678901234567890`, `"fps":24`, 1)
	if _, text := d.call(d.account(), http.MethodPost, "/v1/jobs/estimate", asked); strings.Contains(text, "assumed") {
		t.Errorf("the price of a docking that was described assumes something: %s", text)
	}
}

func TestJobOverItsLife(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller, other := d.account(), d.account()
	ahead := d.submit(other)
	jobID := d.submit(caller)
	path := "/v1/jobs/" + jobID

	response, text := d.call(caller, http.MethodGet, path+"/status", "")
	view := decoded[contract.Job](t, text)
	if view.Status != "SUBMITTED" || view.Queue == nil || view.Queue.Position != 2 ||
		view.Progress.Tasks.Pending != view.Progress.Tasks.Total || *view.Simulator != "autodock-vina" ||
		len(view.StatusHistory) != 1 {
		t.Errorf("submitted behind %s: got %s", ahead, text)
	}
	if response.Header.Get("Retry-After") == "" || response.Header.Get("ETag") == "" {
		t.Errorf("headers are %v, want Retry-After and ETag", response.Header)
	}
	if response, text := d.call(caller, http.MethodGet, path, "", "If-None-Match",
		response.Header.Get("ETag")); response.StatusCode != http.StatusNotModified || text != "" {
		t.Errorf("unchanged: got %d %q", response.StatusCode, text)
	}

	d.exec(`UPDATE tasks SET status = 'SUCCEEDED', progress = 1 WHERE job_id = $1 AND stage = 'prepare'`, jobID)
	d.exec(`UPDATE tasks SET status = 'RUNNING', progress = 0.5, started_at = now() WHERE job_id = $1 AND name = 'dock-00000'`,
		jobID)
	d.exec(`INSERT INTO task_details (task_id, message) SELECT id, 'docking ethanol' FROM tasks
		WHERE job_id = $1 AND name = 'dock-00000'`, jobID)
	d.exec(`UPDATE jobs SET status = 'RUNNING', started_at = now(), accrued_micropence = 1500000 WHERE id = $1`, jobID)
	_, text = d.call(caller, http.MethodGet, path, "")
	view = decoded[contract.Job](t, text)
	if view.Queue != nil || view.Progress.Stage != "dock" || view.Progress.Message != "docking ethanol" ||
		view.Progress.Percent <= 0 || view.Progress.Percent >= 99 || view.Cost.Accrued != "0.02" {
		t.Errorf("running: got %s", text)
	}

	d.exec(`UPDATE tasks SET status = 'SUCCEEDED', progress = 1 WHERE job_id = $1`, jobID)
	d.exec(`UPDATE jobs SET status = 'COMPLETED', finished_at = now(), charged_pence = 3 WHERE id = $1`, jobID)
	response, text = d.call(caller, http.MethodGet, path, "")
	view = decoded[contract.Job](t, text)
	if !view.Terminal || view.Progress.Percent != 100 || view.Cost.Final == nil || *view.Cost.Final != "0.03" ||
		response.Header.Get("Retry-After") != "" {
		t.Errorf("completed: got %v %s", response.Header, text)
	}
	for _, sibling := range []string{"submit", "estimate", "upload-url"} {
		if _, text := d.call(other, http.MethodGet, "/v1/jobs/"+sibling, ""); !strings.Contains(text,
			string(fault.MethodNotAllowed)) {
			t.Errorf("GET /v1/jobs/%s: got %s, want METHOD_NOT_ALLOWED", sibling, text)
		}
	}
}

func TestOutputsPage(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller, other := d.account(), d.account()
	jobID := d.submit(caller)
	var want []string
	for i, role := range []string{"intermediate", "log", "result"} {
		key := fmt.Sprintf("accounts/%s/jobs/%s/%d", caller.AccountID, jobID, i)
		info, err := d.deps.Objects.Put(t.Context(), key, strings.NewReader("REMARK "+role+"\n"+smallReceptor), "text/plain", "")
		if err != nil {
			t.Fatal(err)
		}
		artifactID := id.New("art_")
		d.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type,
			format, created_at)
			SELECT $1, job_id, id, account_id, 'poses/' || $3 || '.txt', $3, $4, $5, $6, 'text/plain', 'log', now() FROM tasks
			WHERE job_id = $2 AND ordinal = 1`,
			artifactID, jobID, role, key, info.SHA256, info.ByteSize)
		if role != "intermediate" {
			want = append([]string{artifactID}, want...)
		}
	}
	var got []string
	for query := (OutputQuery{Query: list.Query{Limit: 1}}); ; {
		outputs, err := d.Outputs(access.With(t.Context(), caller), caller.AccountID, jobID, query)
		if err != nil || outputs.Complete || outputs.Status != "SUBMITTED" {
			t.Fatalf("got %+v, %v", outputs, err)
		}
		for _, o := range outputs.Outputs {
			got = append(got, o.ArtifactID)
			response, err := http.Get(o.URL)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK || response.ContentLength != o.ByteSize || o.TaskIndex != 1 ||
				time.Until(o.URLExpiresAt) > outputURLLifetime {
				t.Errorf("%s: got %d, %+v", o.URL, response.StatusCode, o)
			}
		}
		if outputs.NextCursor == nil {
			break
		}
		query.Cursor = *outputs.NextCursor
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for query, count := range map[string]int{
		"role=log": 1, "role=log&role=result": 2, "role=frame": 0, "taskIndex=1": 2, "taskIndex=0": 0, "taskIndex=1&role=result": 1,
	} {
		response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/outputs?"+query, "")
		if outputs := decoded[contract.Outputs](t, text); response.StatusCode != http.StatusOK || len(outputs.Outputs) != count {
			t.Errorf("%s: got %d %s, want %d files", query, response.StatusCode, text, count)
		}
	}
	for query, place := range map[string]string{"role=intermediate": "query.role", "taskIndex=-1": "query.taskIndex",
		"taskIndex=one": "query.taskIndex"} {
		if response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/outputs?"+query,
			""); response.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, place) {
			t.Errorf("%s: got %d %s, want a refusal that names %s", query, response.StatusCode, text, place)
		}
	}
	_, err := d.Outputs(access.With(t.Context(), other), other.AccountID, jobID, OutputQuery{Query: list.Query{Limit: 1}})
	wantFault(t, "another account", err, fault.NotFound, "")

	// An output is a file of the account: the next job may start from it, another account's may not.
	key := fmt.Sprintf("accounts/%s/jobs/%s/2", caller.AccountID, jobID)
	next := request(t, strings.Replace(docking, "receptor.pdb", key, 1))
	if _, err := d.Submit(access.With(t.Context(), caller), caller, "", next); err != nil {
		t.Errorf("an output as scene: %v", err)
	}
	_, err = d.Submit(access.With(t.Context(), other), other, "", next)
	wantFault(t, "another account's output as scene", err, fault.SceneNotFound, "sceneFile")
}

func TestCancel(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller, other := d.account(), d.account()
	jobID := d.submit(caller)
	path := "/v1/jobs/" + jobID + "/cancel"
	_, err := d.Cancel(access.With(t.Context(), other), other.AccountID, jobID, "")
	wantFault(t, "another account", err, fault.NotFound, "")
	response, text := d.call(caller, http.MethodPost, path, `{"reason":"wrong box"}`)
	if answer := decoded[contract.CancelResponse](t, text); response.StatusCode != http.StatusAccepted ||
		answer.Status != "CANCELLED" ||
		answer.JobID != jobID {
		t.Errorf("first: got %d %s", response.StatusCode, text)
	}
	response, text = d.call(caller, http.MethodPost, path, "")
	if answer := decoded[contract.CancelResponse](t, text); response.StatusCode != http.StatusOK || answer.Status != "CANCELLED" {
		t.Errorf("again: got %d %s", response.StatusCode, text)
	}
	view, err := d.Job(access.With(t.Context(), caller), caller.AccountID, jobID)
	if err != nil || view.StatusReason == nil || *view.StatusReason != "wrong box" || !view.Terminal {
		t.Errorf("got %+v, %v", view, err)
	}
	done := d.submit(caller)
	d.exec(`UPDATE jobs SET status = 'COMPLETED', finished_at = now() WHERE id = $1`, done)
	_, err = d.Cancel(access.With(t.Context(), caller), caller.AccountID, done, "")
	wantFault(t, "ended", err, fault.JobNotCancellable, "")
	running := d.submit(caller)
	d.exec(`UPDATE tasks SET status = 'RUNNING', ready = true WHERE job_id = $1 AND ordinal = 0`, running)
	d.exec(`UPDATE jobs SET status = 'RUNNING' WHERE id = $1`, running)
	for _, want := range []int{http.StatusAccepted, http.StatusOK} {
		response, text := d.call(caller, http.MethodPost, "/v1/jobs/"+running+"/cancel", "")
		if answer := decoded[contract.CancelResponse](t, text); response.StatusCode != want || answer.Status != "CANCELLING" {
			t.Errorf("while a task runs: got %d %s, want %d", response.StatusCode, text, want)
		}
	}
	for _, body := range []string{`{"reason":"` + strings.Repeat("a", 513) + `"}`, `{"why":""}`} {
		if response, text := d.call(caller, http.MethodPost, path, body); response.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%.20s: got %d %s, want a refusal by the schema", body, response.StatusCode, text)
		}
	}
}
