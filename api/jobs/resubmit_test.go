package jobs

import (
	"reflect"
	"testing"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/structures"
)

// A docking that is submitted again is the same request with its seed pinned, and without the caller's names.
func TestResubmit(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	d.file(caller, "receptor.pdb", 1000, "")
	original := request(t, docking)
	original.DockingRequest = &DockingRequest{RequestID: "req-1", RunID: "mine", IdempotencyKey: "key-0001"}
	first, err := d.Submit(access.With(t.Context(), caller), caller, "", original)
	if err != nil {
		t.Fatal(err)
	}
	again, err := d.Resubmit(access.With(t.Context(), caller), caller, first.JobID, -7, "run_1", "key-0002")
	if err != nil || again.JobID == first.JobID || again.Replayed || again.Quote != first.Quote {
		t.Fatalf("got %+v, %v; want a job like %+v", again, err, first)
	}
	var same bool
	if err := d.db.GetContext(t.Context(), &same, `SELECT b.request_text::jsonb = jsonb_set(a.request_text::jsonb,
		'{simulationParams,seed}', '-7') - 'dockingRequest'
		FROM jobs a, jobs b WHERE a.id = $1 AND b.id = $2`, first.JobID, again.JobID); err != nil || !same {
		t.Errorf("the request is another one (%v)", err)
	}
	replay, err := d.Resubmit(access.With(t.Context(), caller), caller, first.JobID, -7, "run_1", "key-0002")
	if err != nil || replay.JobID != again.JobID || !replay.Replayed {
		t.Errorf("replay: got %+v, %v", replay, err)
	}
	_, err = d.Resubmit(access.With(t.Context(), caller), caller, first.JobID, -8, "run_1", "key-0002")
	wantFault(t, "the key with another seed", err, fault.IdempotencyKeyReused, "")
	for _, jobID := range []string{first.JobID, id.New("job_"), "job_0", ""} {
		other := d.account()
		_, err = d.Resubmit(access.With(t.Context(), other), other, jobID, 1, "run_1", "")
		wantFault(t, "another account: "+jobID, err, fault.NotFound, "jobId")
	}
	// as jobs from before have it
	d.exec(`UPDATE jobs SET request = request_text::jsonb, request_text = NULL WHERE id = $1`, first.JobID)
	older, err := d.Resubmit(access.With(t.Context(), caller), caller, first.JobID, -7, "run_1", "key-0002")
	if err != nil || older.JobID != again.JobID || !older.Replayed {
		t.Errorf("replay of a job from before: got %+v, %v", older, err)
	}
	delete(d.files, caller.AccountID+" receptor.pdb")
	_, err = d.Resubmit(access.With(t.Context(), caller), caller, first.JobID, -7, "run_1", "")
	wantFault(t, "the receptor is gone", err, fault.SceneNotFound, "sceneFile")
}

// What the names in a request stood for is pinned: the archive remediates its entries, and a dictionary its components.
func TestResubmitLooksNothingUp(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	l.engine.Engine = vina.New()
	caller := l.account()
	first := l.found(caller, `"receptorPdbId":"1cbs","pocketLigand":"rea","ligandLibrary":[`+ccd("sti", "")+","+ccd("ST9", "")+"]")
	l.exec(`UPDATE structures SET sha256 = repeat('b', 64), storage_key = 'public/structures/b.cif'`)
	l.exec(`UPDATE components SET definition = definition || '{"smiles":"C"}'`)
	l.know(structures.SourceOff)
	var jobID string
	if err := l.db.GetContext(t.Context(), &jobID, `SELECT id FROM jobs`); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Resubmit(access.With(t.Context(), caller), caller, jobID, 7, "run_1", ""); err != nil {
		t.Fatal(err)
	}
	again := l.engine.request().Found
	if len(first.Structures) != 1 || !reflect.DeepEqual(again.Structures, first.Structures) {
		t.Errorf("got the receptor %+v, want %+v", again.Structures, first.Structures)
	}
	for id, component := range map[string]engines.Component{"REA": first.Components["REA"],
		"STI": {SMILES: first.Components["STI"].SMILES}, "ST9": {SMILES: first.Components["ST9"].SMILES}} {
		if again.Components[id] != component || component.SMILES == "" {
			t.Errorf("%s: got %+v, want %+v", id, again.Components[id], component)
		}
	}
}
