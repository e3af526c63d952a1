package jobs

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lib/pq"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/list"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

// taskIDs are the ids of a job's tasks in the order of the plan.
func (d *desk) taskIDs(jobID string) (ids []string) {
	d.t.Helper()
	if err := d.db.SelectContext(d.t.Context(), &ids, `SELECT id FROM tasks WHERE job_id = $1 ORDER BY ordinal`,
		jobID); err != nil {
		d.t.Fatal(err)
	}
	return ids
}

// worked is a docking job of which the first task needed two attempts, the second has just failed and the third runs.
func (d *desk) worked(caller access.Principal) (jobID string, tasks []string) {
	d.t.Helper()
	jobID = d.submit(caller)
	tasks = d.taskIDs(jobID)
	d.exec(`UPDATE tasks SET status = 'SUCCEEDED', attempt = 2, progress = 1, worker_id = 'w2', ready = true, queued_at = now(),
		started_at = now(), finished_at = now() WHERE id = $1`, tasks[0])
	d.exec(`UPDATE tasks SET status = 'FAILED', attempt = 1, progress = 0.29, worker_id = 'w1', ready = true, finished_at = now()
		WHERE id = $1`, tasks[1])
	d.exec(`UPDATE tasks SET status = 'RUNNING', attempt = 1, progress = 0.5, worker_id = 'w1', ready = true, started_at = now()
		WHERE id = $1`, tasks[2])
	// the others have nothing to tell yet
	d.exec(`INSERT INTO task_details (task_id) SELECT unnest($1::text[])`, pq.Array(tasks[:3]))
	d.exec(`UPDATE task_details SET failure_class = 'USER_INPUT', error_code = 'LIGAND_UNREADABLE',
		error_message = 'ethanol: no such atom' WHERE task_id = $1`, tasks[1])
	d.exec(`UPDATE task_details SET item_failures = (SELECT jsonb_agg(jsonb_build_object('item', 'ligand-' || n, 'step', 'embed',
		'message', 'no 3D form')) FROM generate_series(1, 25) n), programs = '{"meeko": "0.6.1"}' WHERE task_id = $1`, tasks[0])
	d.exec(`UPDATE task_details SET message = 'docking benzene' WHERE task_id = $1`, tasks[2])
	d.exec(`INSERT INTO task_attempts (task_id, attempt, worker_id, outcome, cpu_us, wall_ms, peak_memory_bytes, bytes_in,
		bytes_out, charged_micropence, started_at, finished_at)
		VALUES ($1, 1, 'w1', 'LOST', 0, 0, 0, 0, 0, 0, NULL, now() - interval '2 minutes'),
		       ($1, 2, 'w2', 'SUCCEEDED', 2500000, 1500, 4096, 100, 200, 1230000, now() - interval '1 minute', now()),
		       ($2, 1, 'w1', 'FAILED', 500000, 250, 1024, 100, 0, 0, now() - interval '1 minute', now())`, tasks[0], tasks[1])
	d.exec(`UPDATE jobs SET status = 'RUNNING', started_at = now() WHERE id = $1`, jobID)
	return jobID, tasks
}

func TestTasks(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID, ids := d.worked(caller)
	response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/tasks?limit=100", "")
	list := decoded[contract.TaskList](t, text)
	if response.StatusCode != http.StatusOK || len(list.Tasks) != len(ids) || list.NextCursor != nil {
		t.Fatalf("got %d %s", response.StatusCode, text)
	}
	for i, task := range list.Tasks {
		if task.TaskID != ids[i] || task.Index != i || task.ItemFailures == nil || task.Attempts == nil {
			t.Errorf("task %d: got %+v", i, task)
		}
	}
	prepared, failed, running := list.Tasks[0], list.Tasks[1], list.Tasks[2]
	if len(prepared.ItemFailures) != maxItemFailures || prepared.ItemFailureCount != 25 ||
		prepared.ItemFailures[0].Item != "ligand-1" || prepared.Error != nil || prepared.Progress != 100 {
		t.Errorf("prepared: got %+v", prepared)
	}
	if want := (contract.TaskUsage{CPUSeconds: 2.5, WallSeconds: 1.5, PeakMemoryBytes: 4096, BytesIn: 100,
		BytesOut: 200}); prepared.Usage != want {
		t.Errorf("used: got %+v, want %+v", prepared.Usage, want)
	}
	if a := prepared.Attempts; len(a) != 2 || a[0].Outcome != "LOST" || a[0].StartedAt != nil || a[1].WorkerID != "w2" ||
		a[1].Cost != "0.0123" || a[1].Usage != prepared.Usage || a[1].Run != 1 {
		t.Errorf("attempts: got %+v", a)
	}
	if e := failed.Error; e == nil || e.Code != "LIGAND_UNREADABLE" || e.FailureClass != "USER_INPUT" || e.Retryable ||
		failed.Progress != 29 {
		t.Errorf("failed: got %+v with %+v", failed, e)
	}
	if running.Message != "docking benzene" || running.Progress != 50 || *running.WorkerID != "w1" || running.FinishedAt != nil ||
		running.StartedAt == nil || running.Items < 1 {
		t.Errorf("running: got %+v", running)
	}
	if waiting := list.Tasks[3]; waiting.WorkerID != nil || waiting.Status != "PENDING" || waiting.QueuedAt != nil {
		t.Errorf("waiting: got %+v", waiting)
	}

	response, text = d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/tasks/"+ids[0], "")
	if task := decoded[contract.Task](t, text); response.StatusCode != http.StatusOK || task.TaskID != ids[0] ||
		len(task.ItemFailures) != 25 {
		t.Errorf("alone: got %d %s", response.StatusCode, text)
	}
}

func TestTasksPagesAndFilters(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID, ids := d.worked(caller)
	other := d.submit(caller)
	var docking []string
	if err := d.db.SelectContext(t.Context(), &docking, `SELECT id FROM tasks WHERE job_id = $1 AND stage = 'dock'
		ORDER BY ordinal`, jobID); err != nil || len(docking) == 0 {
		t.Fatal(docking, err)
	}
	for _, c := range []struct {
		name  string
		query TaskQuery
		want  []string
	}{
		{"all", TaskQuery{}, ids},
		{"one state", TaskQuery{Status: []string{"FAILED"}}, ids[1:2]},
		{"states", TaskQuery{Status: []string{"RUNNING", "SUCCEEDED"}}, []string{ids[0], ids[2]}},
		{"stage", TaskQuery{Stage: "dock"}, docking},
		{"no stage", TaskQuery{Stage: "docking"}, nil},
		{"stage and state", TaskQuery{Stage: "dock", Status: []string{"CANCELLED"}}, nil},
	} {
		var got []string
		for c.query.Limit = 2; ; {
			list, err := d.Tasks(access.With(t.Context(), caller), caller.AccountID, jobID, c.query)
			if err != nil {
				t.Fatal(err)
			}
			for _, task := range list.Tasks {
				got = append(got, task.TaskID)
			}
			if list.NextCursor == nil {
				break
			}
			c.query.Cursor = *list.NextCursor
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
	if _, err := d.Task(access.With(t.Context(), caller), caller.AccountID, other, ids[0]); !fault.Is(err, fault.NotFound) {
		t.Errorf("a task of another job: got %v, want NOT_FOUND", err)
	}
	for _, cursor := range []string{"nonsense", "e30", "eyJvIjotMX0", *list.Cursor(list.Position{ID: "job"})} {
		_, err := d.Tasks(access.With(t.Context(), caller), caller.AccountID, jobID,
			TaskQuery{Query: list.Query{Limit: 2, Cursor: cursor}})
		wantFault(t, cursor, err, fault.InvalidCursor, "cursor")
	}
	for query, place := range map[string]string{"status=DONE": "query.status", "stage=" + strings.Repeat("a", 65): "query.stage",
		"limit=0": "query.limit"} {
		if response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/tasks?"+query,
			""); response.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, place) {
			t.Errorf("%s: got %d %s, want a refusal that names %s", query, response.StatusCode, text, place)
		}
	}
}
