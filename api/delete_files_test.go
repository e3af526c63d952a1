package api_test

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

// TestDeletedFiles: what is read from a job's files says that they were deleted, and when; the job itself says so too, and another
// account learns nothing.
func TestDeletedFiles(t *testing.T) {
	t.Parallel()
	p := openProduct(t)
	var job struct{ JobID string }
	p.key.Send("POST", "/api/v1/jobs/submit", `{"jobType":"render","sceneFile":"`+p.file.key+`","jobName":"kept"}`).Decode(t, &job)
	path := "/api/v1/jobs/" + job.JobID
	wantFailure(t, p.key.Send("DELETE", path+"/files", ""), 409, fault.JobNotEnded, "cancel it first (POST /v1/jobs/"+job.JobID+
		"/cancel)")
	p.key.Send("POST", path+"/cancel", "")
	wantFailure(t, p.SignUp().Send("DELETE", path+"/files", ""), 404, fault.NotFound, "there is no such job")
	_, reader := p.browser.Key("live", "jobs:read")
	wantFailure(t, p.WithKey(reader).Send("DELETE", path+"/files", ""), 403, fault.InsufficientScope, "")

	var first, second struct {
		FilesDeletedAt string
		RemovedUploads int
	}
	p.key.Send("DELETE", path+"/files", "").Decode(t, &first)
	p.key.Send("DELETE", path+"/files", "").Decode(t, &second)
	if first.FilesDeletedAt == "" || first.FilesDeletedAt != second.FilesDeletedAt || first.RemovedUploads != 1 ||
		second.RemovedUploads != 0 {
		t.Errorf("got %+v, then %+v", first, second)
	}
	day := first.FilesDeletedAt[:len("2026-05-01")]
	for _, below := range []string{"/outputs", "/logs", "/provenance"} {
		wantFailure(t, p.key.Send("GET", path+below, ""), 410, fault.FilesDeleted, day)
	}
	wantFailure(t, p.key.Send("POST", path+"/retry", ""), 409, fault.JobNotRetryable, day)
	shown := p.key.Send("GET", path, "")
	if !strings.Contains(shown.Text, `"filesDeletedAt":"`+first.FilesDeletedAt) ||
		!strings.Contains(shown.Text, `"jobName":"kept"`) {
		t.Errorf("the job: %s", shown.Text)
	}
	if listed := p.key.Send("GET", path+"/tasks", ""); listed.StatusCode != 200 {
		t.Errorf("the tasks: %d %s", listed.StatusCode, listed.Text)
	}
	again := p.key.Send("POST", "/api/v1/jobs/submit", `{"jobType":"render","sceneFile":"`+p.file.key+`"}`)
	wantFailure(t, again, 422, fault.SceneNotFound, "sceneFile")
	// The end of the run is not the last of the log any more.
	stream := p.key.Send("GET", path+"/events", "")
	ends := strings.Count(strings.ReplaceAll(stream.Text, " ", ""), `"terminal":true`)
	if stream.StatusCode != 200 || ends != 1 || !strings.Contains(stream.Text, "deleted") {
		t.Errorf("the events: %d %s", stream.StatusCode, stream.Text)
	}
}
