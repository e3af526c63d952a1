package erasure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/jobs"
	"github.com/molfabric/molfabric/internal/auditlog"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/object"
)

// TestJobFiles: what a job has made, found and alone referred to goes, at once for its owner and then from the store; its
// record, its bill and all that others refer to stay.
func TestJobFiles(t *testing.T) {
	t.Parallel()
	w := open(t)
	ada, bob := w.account(), w.account()
	alone, shared, unused := w.upload(ada, "", ""), w.upload(ada, "", ""), w.upload(ada, "", "")
	jobID, other := w.submit(ada, alone, shared), w.submit(ada, shared)
	foreign := w.submit(bob, w.upload(bob, "", ""))
	if _, err := w.deleteFiles(ada, jobID); !fault.Is(err, fault.JobNotEnded) || !strings.Contains(err.Error(), "cancel it first") {
		t.Errorf("before its end: %v", err)
	}
	for _, done := range []string{jobID, other} {
		w.finish(ada, done)
	}
	w.finish(bob, foreign)
	if _, err := w.deleteFiles(bob, jobID); !fault.Is(err, fault.NotFound) {
		t.Errorf("another account's: %v", err)
	}
	w.wantAudited("before")
	before, err := w.uploads.Usage(w.as(ada), ada.AccountID)
	if err != nil {
		t.Fatal(err)
	}

	deleted, err := w.deleteFiles(ada, jobID)
	if err != nil || deleted.Already || deleted.Outputs != 2 || deleted.Uploads != 1 ||
		deleted.UploadBytes != int64(len(receptor)) {
		t.Fatalf("got %+v, %v", deleted, err)
	}
	after, err := w.uploads.Usage(w.as(ada), ada.AccountID)
	if err != nil || after.Bytes != before.Bytes-deleted.UploadBytes || after.Objects != before.Objects-1 {
		t.Errorf("of the quota %+v is taken, %v; before it was %+v", after, err, before)
	}
	w.wantGone(ada.AccountID, jobID, deleted.At)
	if again, err := w.deleteFiles(ada, jobID); err != nil || !again.Already || !again.At.Equal(deleted.At) || again.Outputs != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, err = w.jobs.Retry(w.as(ada), ada.AccountID, jobID, "", contract.RetryRequest{})
	if !fault.Is(err, fault.JobNotRetryable) ||
		!strings.Contains(err.Error(), "deleted") {
		t.Errorf("retried: %v", err)
	}
	if _, err := w.try(ada, alone); !fault.Is(err, fault.SceneNotFound) {
		t.Errorf("a job that reads a deleted upload: %v", err)
	}
	w.submit(ada, shared)

	// The process ends here. What it wrote down is found by another.
	w.wantAudited("between the commit and the store")
	if left := w.stored("accounts/" + ada.AccountID + "/jobs/" + jobID + "/"); len(left) != 3 {
		t.Errorf("the store lost %v before its turn", left)
	}
	w.pass()
	if left := w.stored("accounts/" + ada.AccountID + "/jobs/" + jobID + "/"); len(left) != 0 {
		t.Errorf("the store still has %v", left)
	}
	for key, want := range map[string]bool{alone: false, shared: true, unused: true} {
		if _, err := w.objects.Head(t.Context(), key); errors.Is(err, object.ErrNotFound) == want {
			t.Errorf("%s: %v, want it there: %v", key, err, want)
		}
	}
	for _, kept := range []string{"accounts/" + ada.AccountID + "/jobs/" + other + "/", "accounts/" + bob.AccountID + "/"} {
		if left := w.stored(kept); len(left) < 3 {
			t.Errorf("below %s is %v", kept, left)
		}
	}
	w.wantAudited("after")

	// An address that was given out before, or a worker that was thought lost, stores a file again.
	w.put(alone, receptor)
	w.put("accounts/"+ada.AccountID+"/jobs/"+jobID+"/late", receptor)
	w.pass()
	if n := w.count(`FROM removals`); n != 2 {
		t.Errorf("%d deletions wait for their second look, want 2", n)
	}
	w.later(27 * time.Hour)
	w.pass()
	if left := append(w.stored("accounts/"+ada.AccountID+"/jobs/"+jobID+"/"), w.stored(alone)...); len(left) != 0 ||
		w.count(`FROM removals`) != 0 {
		t.Errorf("after the second look there is %v", left)
	}

	// The other job was the last that referred to the shared upload, but for the open one.
	if deleted, err := w.deleteFiles(ada, other); err != nil || deleted.Uploads != 0 {
		t.Errorf("got %+v, %v", deleted, err)
	}
}

// wantGone checks what is read of a job whose files are deleted, and what is kept of it.
func (w *world) wantGone(accountID, jobID string, at time.Time) {
	w.t.Helper()
	for _, table := range []string{"artifacts WHERE job_id", "docking_runs WHERE job_id", "docking_batches WHERE job_id",
		"renders WHERE job_id", "docking_preparations WHERE task_id IN (SELECT id FROM tasks WHERE job_id = $1) AND $1",
		"job_inputs WHERE job_id",
		"task_details WHERE summary IS NOT NULL AND task_id IN (SELECT id FROM tasks WHERE job_id = $1) AND $1"} {
		if n := w.count(`FROM `+table+` = $1`, jobID); n != 0 {
			w.t.Errorf("%d rows are left of %s", n, table)
		}
	}
	if w.count(`FROM docking_poses p JOIN docking_results r ON r.id = p.result_id`) == 0 {
		w.t.Error("the results of other jobs are gone")
	}
	ctx := w.as(asOwner(accountID))
	if _, err := w.jobs.Outputs(ctx, accountID, jobID, jobs.OutputQuery{}); !fault.Is(err, fault.FilesDeleted) ||
		!strings.Contains(err.Error(), at.UTC().Format(time.RFC3339)) {
		w.t.Errorf("outputs: %v", err)
	}
	if _, err := w.jobs.Logs(ctx, accountID, jobID, jobs.LogQuery{}); !fault.Is(err, fault.FilesDeleted) {
		w.t.Errorf("logs: %v", err)
	}
	if _, err := w.jobs.Provenance(ctx, accountID, jobID); !fault.Is(err, fault.FilesDeleted) {
		w.t.Errorf("provenance: %v", err)
	}
	shown, err := w.jobs.Job(ctx, accountID, jobID)
	if err != nil || shown.FilesDeletedAt == nil || !shown.FilesDeletedAt.Equal(at) || shown.Cost.Final == nil ||
		shown.JobName == "" {
		w.t.Errorf("the job is %+v, %v", shown, err)
	}
	last := shown.StatusHistory[len(shown.StatusHistory)-1]
	if last.Status != shown.Status || !strings.Contains(last.Reason, "deleted") {
		w.t.Errorf("the history ends with %+v", last)
	}
	if n := w.count(`FROM audit_log WHERE account_id = $1 AND event = $2 AND actor = 'owner'`, accountID,
		auditlog.JobFilesDeleted); n != 1 {
		w.t.Errorf("%d lines in the audit log", n)
	}
	if w.count(`FROM ledger_entries WHERE job_id = $1`, jobID) == 0 ||
		w.count(`FROM task_attempts a JOIN tasks t ON t.id = a.task_id WHERE t.job_id = $1`, jobID) == 0 {
		w.t.Error("the books have lost the job")
	}
}

// TestAJobThatReadsTheFiles keeps them while it runs, and is not retried once they are gone.
func TestAJobThatReadsTheFiles(t *testing.T) {
	t.Parallel()
	w := open(t)
	ada := w.account()
	maker := w.submit(ada, w.upload(ada, "", ""))
	made := w.finish(ada, maker)
	reader := w.submit(ada, made)
	if _, err := w.deleteFiles(ada, maker); !fault.Is(err, fault.JobNotEnded) || !strings.Contains(err.Error(), reader) {
		t.Errorf("while another job reads them: %v", err)
	}
	w.finish(ada, reader)
	if _, err := w.deleteFiles(ada, maker); err != nil {
		t.Fatal(err)
	}
	_, err := w.jobs.Retry(w.as(ada), ada.AccountID, reader, "", contract.RetryRequest{})
	if !fault.Is(err, fault.JobNotRetryable) || !strings.Contains(err.Error(), made) {
		t.Errorf("the reader is retried: %v", err)
	}
	if _, err := w.try(ada, made); !fault.Is(err, fault.SceneNotFound) {
		t.Errorf("a new reader: %v", err)
	}
	w.pass()
	w.wantAudited("after")
}

// TestWhatWasSubmittedBefore: jobs of a release that recorded no inputs are found by their requests, and learn of what they have
// lost.
func TestWhatWasSubmittedBefore(t *testing.T) {
	t.Parallel()
	w := open(t)
	ada := w.account()
	alone, shared := w.upload(ada, "", ""), w.upload(ada, "", "")
	first, second := w.submit(ada, alone, shared), w.submit(ada, shared)
	made := w.finish(ada, first)
	w.finish(ada, second)
	reader := w.submit(ada, made)
	w.exec(`DELETE FROM job_inputs`)
	w.exec(`UPDATE jobs SET inputs_recorded = false`)
	if _, err := w.deleteFiles(ada, first); !fault.Is(err, fault.JobNotEnded) || !strings.Contains(err.Error(), reader) {
		t.Errorf("while another job reads them: %v", err)
	}
	w.finish(ada, reader)
	w.exec(`UPDATE jobs SET inputs_recorded = false`)
	w.exec(`DELETE FROM job_inputs`)
	if deleted, err := w.deleteFiles(ada, first); err != nil || deleted.Uploads != 1 {
		t.Fatalf("got %+v, %v", deleted, err)
	}
	if n := w.count(`FROM uploads WHERE storage_key = $1`, shared); n != 1 {
		t.Error("the shared upload is gone")
	}
	if deleted, err := w.deleteFiles(ada, second); err != nil || deleted.Uploads != 1 {
		t.Fatalf("got %+v, %v", deleted, err)
	}
	wantLost := func(when string) {
		t.Helper()
		_, err := w.jobs.Retry(w.as(ada), ada.AccountID, reader, "", contract.RetryRequest{})
		if !fault.Is(err, fault.JobNotRetryable) || !strings.Contains(err.Error(), made) {
			t.Errorf("%s: the reader is retried: %v", when, err)
		}
	}
	wantLost("when its inputs were recorded with the deletion")
	w.exec(`UPDATE jobs SET inputs_recorded = false`)
	w.exec(`DELETE FROM job_inputs`)
	w.pass()
	if n := w.count(`FROM jobs WHERE NOT inputs_recorded`); n != 0 {
		t.Errorf("%d jobs are left to be recorded", n)
	}
	wantLost("when they were recorded after it")
	w.wantAudited("after")
}

// TestProjects: an upload that a project names stays, and a share that shows a job's results ends with them.
func TestProjects(t *testing.T) {
	t.Parallel()
	w := open(t)
	ada := w.account()
	named := w.upload(ada, "", "")
	jobID, kept := w.submit(ada, named), w.submit(ada, named)
	w.finish(ada, jobID)
	w.finish(ada, kept)
	var pose string
	if err := w.db.GetContext(t.Context(), &pose, `SELECT p.id FROM docking_poses p JOIN docking_results r ON r.id = p.result_id
		JOIN docking_runs d ON d.id = r.run_id WHERE d.job_id = $1`, jobID); err != nil {
		t.Fatal(err)
	}
	share := func(letter, content string) {
		project := "00000000-0000-0000-0000-00000000000" + letter
		w.exec(`INSERT INTO projects (id, account_id, name, description, tags, current_version, stored_bytes, created_at,
			updated_at)
			VALUES ($1, $2, 'project', '', '{}', 1, 2, now(), now())`, project, ada.AccountID)
		w.exec(`INSERT INTO project_contents (project_id, sha256, content) VALUES ($1, repeat($2, 64), $3)`, project, letter,
			content)
		w.exec(`INSERT INTO project_revisions (project_id, version, content_sha256, created_at)
			VALUES ($1, 1, repeat($2, 64), now())`, project, letter)
		w.exec(`INSERT INTO project_shares (id, project_id, version, name, created_at) VALUES ($1, $2, 1, 'project', now())`,
			"1"+project[1:], project)
	}
	share("a", `{"pose":"/studio?dockingPose=`+pose+`"}`)
	share("b", `{"scene":"`+named+`"}`)
	share("c", `{"job":"`+kept+`"}`)
	w.deleteAll(ada.AccountID, kept, jobID)
	if n := w.count(`FROM uploads WHERE storage_key = $1`, named); n != 1 {
		t.Error("the upload that a project names is gone")
	}
	if n := w.count(`FROM project_shares WHERE revoked_at IS NULL`); n != 1 {
		t.Errorf("%d shares are left, want that of the upload alone", n)
	}
}

func (w *world) deleteAll(accountID string, jobIDs ...string) {
	w.t.Helper()
	for _, jobID := range jobIDs {
		if _, err := w.deleteFiles(asOwner(accountID), jobID); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestAPackageIsFilledAgain: a new file at a path of a project package outlives the deletion of the one before.
func TestAPackageIsFilledAgain(t *testing.T) {
	t.Parallel()
	w := open(t)
	ada := w.account()
	project := "0190b8a4-7d7c-7c3e-8f6b-2f1d6c0a9e11"
	scene, beside := w.upload(ada, project, "scene.pdb"), w.upload(ada, project, "maps/beside.pdb")
	jobID := w.submit(ada, scene)
	w.finish(ada, jobID)
	if deleted, err := w.deleteFiles(ada, jobID); err != nil || deleted.Uploads != 2 {
		t.Fatalf("got %+v, %v; want the package whole", deleted, err)
	}
	if again := w.upload(ada, project, "scene.pdb"); again != scene {
		t.Fatalf("the new file is at %s, not at %s", again, scene)
	}
	w.pass()
	w.later(27 * time.Hour)
	w.pass()
	if _, err := w.objects.Head(t.Context(), scene); err != nil {
		t.Errorf("the new file: %v", err)
	}
	if _, err := w.objects.Head(t.Context(), beside); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("the other file of the package: %v", err)
	}
	w.wantAudited("after")
}

// away is an object store that does not answer.
type away struct{}

func (away) Delete(context.Context, string) error                 { return object.ErrUnavailable }
func (away) DeletePrefix(context.Context, string) (int, error)    { return 0, object.ErrUnavailable }
func (away) AbortMultipart(context.Context, string, string) error { return object.ErrUnavailable }

// TestTheStoreIsAway: a deletion waits for the store, and is not lost.
func TestTheStoreIsAway(t *testing.T) {
	t.Parallel()
	w := open(t)
	ada := w.account()
	jobID := w.submit(ada, w.upload(ada, "", ""))
	made := w.finish(ada, jobID)
	w.deleteAll(ada.AccountID, jobID)
	for range 3 {
		if err := w.eraser(away{}).Pass(t.Context()); err != nil && !errors.Is(err, object.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if _, err := w.objects.Head(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	w.later(2 * time.Minute)
	w.pass()
	if left := w.stored("accounts/" + ada.AccountID); len(left) != 0 {
		t.Errorf("the store still has %v", left)
	}
}

// TestAtTheSameMoment: a job's files are deleted while it is retried, and while other jobs come to read them. Whatever
// happens first, no job that was accepted misses its input.
func TestAtTheSameMoment(t *testing.T) {
	t.Parallel()
	w := open(t)
	for range 6 {
		ada := w.account()
		scene := w.upload(ada, "", "")
		jobID := w.submit(ada, scene)
		made := w.finish(ada, jobID)
		start := make(chan struct{})
		outcomes := make(chan error, 5)
		do := func(what func() error) {
			go func() { <-start; outcomes <- what() }()
		}
		do(func() error { _, err := w.deleteFiles(ada, jobID); return err })
		do(func() error { _, err := w.deleteFiles(ada, jobID); return err })
		do(func() error { _, err := w.try(ada, made); return err })
		do(func() error { _, err := w.try(ada, scene); return err })
		do(func() error {
			_, err := w.jobs.Retry(w.as(ada), ada.AccountID, jobID, "", contract.RetryRequest{})
			return err
		})
		close(start)
		for range 5 {
			err := <-outcomes
			switch fault.CodeOf(err) {
			case fault.JobNotEnded, fault.JobNotRetryable, fault.SceneNotFound, fault.ArtifactNotFound:
			default:
				if err != nil {
					t.Errorf("got %v", err)
				}
			}
		}
		if n := w.count(`FROM jobs WHERE files_deleted_at IS NOT NULL AND finished_at IS NULL`); n != 0 {
			t.Errorf("%d jobs run without their files", n)
		}
		if n := w.count(`FROM jobs j JOIN job_inputs i ON i.job_id = j.id WHERE j.finished_at IS NULL AND NOT EXISTS (SELECT FROM uploads u WHERE u.storage_key = i.storage_key)
			AND NOT EXISTS (SELECT FROM artifacts a WHERE a.storage_key = i.storage_key)`); n != 0 {
			t.Errorf("%d inputs of open jobs are gone", n)
		}
	}
	w.pass()
	w.wantAudited("after")
}
