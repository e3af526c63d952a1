package jobs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// What the operations answer is what their document says.
func TestAnswersMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID, tasks := d.worked(caller)
	d.log(caller, tasks[0], 2, "mode | affinity")
	d.made(caller, tasks[0], "provenance.json", "provenance")
	for _, route := range []string{
		"/v1/jobs", "/v1/jobs/{id}", "/v1/jobs/{id}/status", "/v1/jobs/{id}/outputs", "/v1/jobs/{id}/tasks",
		"/v1/jobs/{id}/tasks/{taskId}", "/v1/jobs/{id}/logs", "/v1/jobs/{id}/provenance",
	} {
		path := strings.NewReplacer("{id}", jobID, "{taskId}", tasks[1]).Replace(route)
		response, text := d.call(caller, http.MethodGet, path, "")
		var answer any
		if err := json.Unmarshal([]byte(text), &answer); err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: got %d %s, %v", route, response.StatusCode, text, err)
		}
		schema := d.spec.Paths[route].Get.Responses["200"].Content["application/json"].Schema
		var found huma.ValidateResult
		huma.Validate(d.spec.Components.Schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, answer, &found)
		for _, err := range found.Errors {
			t.Errorf("%s: %v", route, err)
		}
	}
}

// A misspelt simulator is what is said, whatever else is wrong and wherever it stands.
func TestMisspeltSimulatorsAreToldFirst(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	const vina = "did you mean autodock-vina?"
	for body, want := range map[string]string{
		`{"jobType":"simulation","simulator":"autodock-vinna"}`: `\"autodock-vinna\" is unknown; ` + vina,

		`{"jobType":"simulation","simulator":"vinna","simulationParams":{"exhaustiveness":"many"}}`:      vina,
		`{"simulationParams":{"exhaustiveness":{}},"taskCount":"x","simulator":"AutoDock Vinna","no":1}`: vina,

		`{"jobType":"simulation","simulator":"blastq"}`: "did you mean blastp or blastn?",
	} {
		for _, path := range []string{"/v1/jobs/submit", "/v1/jobs/estimate"} {
			response, text := d.call(caller, http.MethodPost, path, body)
			refused := response.StatusCode == http.StatusUnprocessableEntity &&
				strings.Contains(text, string(fault.UnsupportedSimulator))
			if !refused || !strings.Contains(text, want) {
				t.Errorf("%s %s: got %d %s, want %s", path, body, response.StatusCode, text, want)
			}
		}
	}
	for _, body := range []string{
		`{"jobType":"simulation","simulator":"vina","sceneFile":"r.pdb","simulationParams":{"exhaustiveness":"many"}}`,
		`{"simulator":5}`, `[]`, `{`, "",
	} {
		response, text := d.call(caller, http.MethodPost, "/v1/jobs/submit", body)
		if strings.Contains(text, string(fault.UnsupportedSimulator)) {
			t.Errorf("%s: got %d %s", body, response.StatusCode, text)
		}
	}
}

// Nothing tells another account's job, an unknown one and what cannot be a job's id apart, wherever a job is named.
func TestForeignJobsAreAsIfAbsent(t *testing.T) {
	t.Parallel()
	d := open(t)
	owner, other := d.account(), d.account()
	foreign := d.submit(owner)
	var foreignTask string
	if err := d.db.GetContext(t.Context(), &foreignTask, `SELECT id FROM tasks WHERE job_id = $1 AND ordinal = 0`,
		foreign); err != nil {
		t.Fatal(err)
	}
	ids := []string{foreign, id.New("job_"), "job_0", strings.ToUpper(foreign), "x", strings.Repeat("a", 1000)}
	for _, route := range []struct{ method, path, body string }{
		{http.MethodGet, "", ""},
		{http.MethodGet, "/status", ""},
		{http.MethodGet, "/outputs", ""},
		{http.MethodGet, "/tasks", ""},
		{http.MethodGet, "/tasks/" + foreignTask, ""},
		{http.MethodGet, "/logs", ""},
		{http.MethodGet, "/logs?task=" + foreignTask, ""},
		{http.MethodGet, "/provenance", ""},
		{http.MethodGet, "/events", ""},
		{http.MethodPost, "/cancel", ""},
		{http.MethodPost, "/cancel", `{"reason":"mine"}`},
		{http.MethodPost, "/retry", ""},
		{http.MethodPost, "/retry", `{"scope":"all"}`},
	} {
		var first string
		for i, jobID := range ids {
			response, text := d.call(other, route.method, "/v1/jobs/"+jobID+route.path, route.body)
			response.Header.Del("Date")
			answer := fmt.Sprintln(response.StatusCode, response.Header, text)
			if i == 0 {
				first = answer
			}
			if answer != first || !strings.Contains(text, string(fault.NotFound)) {
				t.Errorf("%s %s of %.40s: got %s, want NOT_FOUND like that of another account's job, %s", route.method, route.path,
					jobID, answer, first)
			}
		}
	}
	own := d.submit(other)
	var first string
	for i, task := range []string{foreignTask, id.New("task_"), "0", "x"} {
		_, text := d.call(other, http.MethodGet, "/v1/jobs/"+own+"/tasks/"+task, "")
		if i == 0 {
			first = text
		}
		if text != first || !strings.Contains(text, string(fault.NotFound)) {
			t.Errorf("task %s: got %s, want NOT_FOUND like that of another account's task, %s", task, text, first)
		}
	}
	if view, err := d.Job(access.With(t.Context(), owner), owner.AccountID, foreign); err != nil || view.Status != "SUBMITTED" {
		t.Errorf("the job of the other account: got %+v, %v", view, err)
	}
}
