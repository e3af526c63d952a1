package jobs

import (
	"context"
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
)

// A docking that is submitted again is the same request with its seed pinned, and without the caller's names.
func TestResubmit(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	d.file(caller, "receptor.pdb", 1000, "")
	original := request(t, docking)
	original.DockingRequest = &DockingRequest{RequestID: "req-1", RunID: "mine", IdempotencyKey: "key-0001"}
	first, err := d.Submit(t.Context(), caller, "", original)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Resubmit(t.Context(), caller, first.JobID, -7, "run_1", "key-0002")
	if err != nil || again.JobID == first.JobID || again.Replayed || again.Quote != first.Quote {
		t.Fatalf("got %+v, %v; want a job like %+v", again, err, first)
	}
	var same bool
	if err := d.db.GetContext(t.Context(), &same, `SELECT b.request = jsonb_set(a.request, '{simulationParams,seed}', '-7') - 'dockingRequest'
		FROM jobs a, jobs b WHERE a.id = $1 AND b.id = $2`, first.JobID, again.JobID); err != nil || !same {
		t.Errorf("the request is another one (%v)", err)
	}
	replay, err := d.Resubmit(t.Context(), caller, first.JobID, -7, "run_1", "key-0002")
	if err != nil || replay.JobID != again.JobID || !replay.Replayed {
		t.Errorf("replay: got %+v, %v", replay, err)
	}
	_, err = d.Resubmit(t.Context(), caller, first.JobID, -8, "run_1", "key-0002")
	wantFault(t, "the key with another seed", err, fault.IdempotencyKeyReused, "")
	for _, jobID := range []string{first.JobID, id.New("job_"), "job_0", ""} {
		_, err = d.Resubmit(t.Context(), d.account(), jobID, 1, "run_1", "")
		wantFault(t, "another account: "+jobID, err, fault.NotFound, "jobId")
	}
	delete(d.files, caller.AccountID+" receptor.pdb")
	_, err = d.Resubmit(t.Context(), caller, first.JobID, -7, "run_1", "")
	wantFault(t, "the receptor is gone", err, fault.SceneNotFound, "sceneFile")
}

func TestReproducedRun(t *testing.T) {
	t.Parallel()
	if got := reproducedRun(context.Background()); got != "" {
		t.Errorf("an ordinary submission reproduces %q", got)
	}
	if got := reproducedRun(reproducing(t.Context(), "run_1")); got != "run_1" {
		t.Errorf("got %q", got)
	}
}
