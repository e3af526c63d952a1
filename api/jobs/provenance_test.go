package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// made files an output of a task.
func (d *desk) made(caller access.Principal, taskID, name, role string) (artifactID string) {
	d.t.Helper()
	artifactID = id.New("art_")
	d.exec(`INSERT INTO artifacts (id, job_id, task_id, account_id, name, role, storage_key, sha256, byte_size, media_type, format,
		created_at)
		SELECT $1, job_id, id, account_id, $3, $4, 'accounts/' || $5::text || '/' || $1, $6, 7, 'application/json', 'json', now()
		FROM tasks WHERE id = $2`,
		artifactID, taskID, name, role, caller.AccountID, strings.Repeat("d", 64))
	return artifactID
}

func TestProvenance(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller, other := d.account(), d.account()
	jobID, tasks := d.worked(caller)
	d.exec(`UPDATE task_details SET programs = '{"meeko": "0.6.1", "vina": "1.2.7"}' WHERE task_id = $1`, tasks[1])
	d.exec(`UPDATE task_details SET programs = '{"vina": "1.2.5"}' WHERE task_id = $1`, tasks[2])
	document := d.made(caller, tasks[0], "provenance.json", "provenance")
	poses := d.made(caller, tasks[0], "poses.json", "result")
	d.made(caller, tasks[0], "map.json", "intermediate")
	first := d.made(caller, tasks[2], "a.json", "result")

	response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/provenance", "")
	p := decoded[contract.Provenance](t, text)
	if response.StatusCode != http.StatusOK || p.Schema != provenanceSchema || p.JobID != jobID || p.Complete ||
		p.Fabric.Name != "molfabric" {
		t.Fatalf("got %d %s", response.StatusCode, text)
	}
	if want := map[string][]string{"meeko": {"0.6.1"}, "vina": {"1.2.5", "1.2.7"}}; p.Engine.ID != "autodock-vina" ||
		p.Engine.Title == "" || !reflect.DeepEqual(p.Engine.Programs, want) {
		t.Errorf("engine: got %+v, want %v", p.Engine, want)
	}
	if len(p.Citations) == 0 || p.Citations[0].DOI == "" || len(p.Seeds) != 1 {
		t.Errorf("got citations %v and seeds %v", p.Citations, p.Seeds)
	}
	var kept string
	if err := d.db.GetContext(t.Context(), &kept, `SELECT request_text FROM jobs WHERE id = $1`, jobID); err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte(kept))
	var request struct {
		SceneFile string
		Metadata  struct{ Ticket json.Number }
	}
	if err := json.Unmarshal(*p.Request.Content, &request); err != nil || request.SceneFile != "receptor.pdb" ||
		request.Metadata.Ticket != "12345678901234567890" {
		t.Errorf("request: got %s, %v", *p.Request.Content, err)
	}
	if p.Request.SHA256 != hex.EncodeToString(digest[:]) || p.Request.ByteSize != int64(len(kept)) {
		t.Errorf("request: got %s, %d bytes, want %x, %d", p.Request.SHA256, p.Request.ByteSize, digest, len(kept))
	}
	if len(p.Inputs) != 1 || p.Inputs[0].StorageKey != "receptor.pdb" || !p.Inputs[0].SceneFile || p.Inputs[0].SHA256 != nil ||
		*p.Inputs[0].ByteSize != 1000 {
		t.Errorf("inputs: got %+v", p.Inputs)
	}
	if e := p.Executions; len(e) != 3 || e[0].Attempt != 1 || e[0].Outcome != "LOST" || e[1].TaskID != tasks[0] ||
		e[1].Usage.CPUSeconds != 2.5 || e[2].TaskIndex != 1 {
		t.Errorf("executions: got %+v", e)
	}
	if o := p.Outputs; len(o) != 3 || o[0].ArtifactID != poses || o[1].ArtifactID != document || o[2].ArtifactID != first ||
		len(o[0].SHA256) != 64 {
		t.Errorf("outputs: got %+v", o)
	}
	if want := (contract.ProvenanceCounts{Inputs: 1, Executions: 3, Outputs: 3}); p.Counts != want {
		t.Errorf("counts: got %+v, want %+v", p.Counts, want)
	}
	if len(p.Documents) != 1 || p.Documents[0].ArtifactID != document || p.Documents[0].URL == "" || p.Cost.Held == "" ||
		p.Cost.Final != nil {
		t.Errorf("documents %+v, cost %+v", p.Documents, p.Cost)
	}
	if again, err := d.Provenance(access.With(t.Context(), caller), caller.AccountID, jobID); err != nil ||
		!reflect.DeepEqual(undated(again), undated(p)) {
		t.Errorf("read again: got %+v, %v, want the same", again, err)
	}
	_, err := d.Provenance(access.With(t.Context(), other), other.AccountID, jobID)
	wantFault(t, "another account", err, fault.NotFound, "")
}

// undated is a provenance without what differs from one reading to the next.
func undated(p contract.Provenance) string {
	for i := range p.Documents {
		p.Documents[i].URL, p.Documents[i].URLExpiresAt = "", time.Time{}
	}
	text, err := json.Marshal(p)
	return fmt.Sprint(string(text), err)
}

func TestProvenanceLeavesALargeRequestOut(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	d.exec(`UPDATE jobs SET request_text = json_build_object('jobName', repeat('a', $2)) WHERE id = $1`, jobID, maxRequestShown)
	p, err := d.Provenance(access.With(t.Context(), caller), caller.AccountID, jobID)
	if err != nil || p.Request.Content != nil || p.Request.ByteSize <= maxRequestShown || len(p.Request.SHA256) != 64 {
		t.Errorf("got %+v, %v", p.Request, err)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	d := open(t)
	now := time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)
	d.deps.Now = func() time.Time { return now }
	caller := d.account()
	jobID := d.submit(caller)
	d.made(caller, d.taskIDs(jobID)[0], "first.png", "preview")
	d.made(caller, d.taskIDs(jobID)[0], "second.png", "preview")
	if view, err := d.Job(access.With(t.Context(), caller), caller.AccountID, jobID); err != nil || view.Preview != nil {
		t.Errorf("a simulation: got %+v, %v", view.Preview, err)
	}
	d.exec(`UPDATE jobs SET job_type = 'render' WHERE id = $1`, jobID)
	response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/status", "")
	picture := decoded[contract.Job](t, text).Preview
	if want := time.Date(2026, 3, 1, 13, 30, 0, 0, time.UTC); picture == nil || !strings.Contains(picture.URL, "second.png") ||
		!picture.ExpiresAt.Equal(want) {
		t.Fatalf("got %+v, want second.png until %v", picture, want)
	}
	tag := response.Header.Get("ETag")
	for _, c := range []struct {
		later time.Duration
		want  int
	}{{19 * time.Minute, http.StatusNotModified}, {20 * time.Minute, http.StatusOK}} {
		now = time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC).Add(c.later)
		if response, _ := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/status", "", "If-None-Match",
			tag); response.StatusCode != c.want {
			t.Errorf("%v later: got %d, want %d", c.later, response.StatusCode, c.want)
		}
	}
}
