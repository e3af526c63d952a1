package jobs

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/receipt"
	"github.com/molfabric/molfabric/internal/secret"
	"github.com/molfabric/molfabric/internal/tenant"
)

// signsWith gives the desk the key of a secret.
func (d *desk) signsWith(letter string) {
	d.t.Helper()
	signer, err := receipt.NewSigner(secret.One(bytes.Repeat([]byte(letter), secret.MinBytes)))
	if err != nil {
		d.t.Fatal(err)
	}
	d.deps.Receipts = signer
}

// finished is a job that has ended, with two files and an attempt that was not run.
func (d *desk) finished(caller access.Principal) (jobID string, tasks []string) {
	d.t.Helper()
	jobID, tasks = d.worked(caller)
	d.made(caller, tasks[0], "receptor.json", "result")
	d.made(caller, tasks[0], "map.json", "intermediate")
	d.made(caller, tasks[2], "poses/a.json", "result")
	d.exec(`UPDATE tasks SET status = 'SUCCEEDED', identity = '\xab' WHERE id = $1`, tasks[2])
	d.exec(`UPDATE task_details SET programs = '{"vina": "1.2.7"}', toolchain = 'c0ffee' WHERE task_id = $1`, tasks[2])
	d.exec(`INSERT INTO task_attempts (task_id, attempt, outcome, finished_at, reused_job, reused_task, reused_attempt)
		VALUES ($1, 1, 'SUCCEEDED', now(), 'job_before', 'task_before', 1)`, tasks[2])
	d.exec(`UPDATE jobs SET status = 'COMPLETED_WITH_FAILURES', accrued_micropence = 1230001, charged_pence = 2, finished_at = now()
		WHERE id = $1`, jobID)
	return jobID, tasks
}

// keys are those that the public list has.
func (d *desk) keys(caller access.Principal) ([]receipt.Key, contract.ReceiptKeyList) {
	d.t.Helper()
	response, text := d.call(caller, http.MethodGet, "/v1/receipts/keys", "")
	list := decoded[contract.ReceiptKeyList](d.t, text)
	if response.StatusCode != http.StatusOK || response.Header.Get("Cache-Control") != cacheReceiptKeys {
		d.t.Fatalf("got %d %s", response.StatusCode, text)
	}
	keys := make([]receipt.Key, len(list.Keys))
	for i, one := range list.Keys {
		key, err := receipt.ParseKey(one.PublicKey)
		if err != nil || key.ID() != one.KeyID || one.Algorithm != "ed25519" {
			d.t.Fatalf("key %d: got %+v, %v", i, one, err)
		}
		keys[i] = key
	}
	return keys, list
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.signsWith("a")
	caller, other := d.account(), d.account()
	jobID, tasks := d.finished(caller)
	response, first := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/receipt", "")
	if response.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s", response.StatusCode, first)
	}
	keys, _ := d.keys(other)
	opened, err := receipt.Open(t.Context(), []byte(first), keys)
	if err != nil {
		t.Fatal(err)
	}
	p := opened.Statement.Predicate
	if p.Job.ID != jobID || p.Job.Status != "COMPLETED_WITH_FAILURES" || p.Job.Run != 1 || p.Engine.ID != "autodock-vina" ||
		len(p.Parameters.Digest.SHA256) != 64 {
		t.Errorf("got %+v, %+v, %+v", p.Job, p.Engine, p.Parameters)
	}
	if len(p.Engine.Toolchains) != 1 || p.Engine.Toolchains[0] != "c0ffee" || p.Engine.Programs["vina"][0] != "1.2.7" {
		t.Errorf("engine: got %+v", p.Engine)
	}
	if len(p.Inputs) != 1 || p.Inputs[0].Name != "receptor.pdb" || p.Inputs[0].Digest != nil {
		t.Errorf("inputs: got %+v", p.Inputs)
	}
	if out := opened.Statement.Subject; len(out) != 2 || out[0].Name != "receptor.json" || out[1].Name != "poses/a.json" ||
		out[0].Digest.SHA256 != strings.Repeat("d", 64) || out[1].Annotations.TaskIndex != 2 {
		t.Errorf("outputs: got %+v", out)
	}
	prepared, docked := p.Tasks[0], p.Tasks[2]
	if prepared.ID != tasks[0] || len(prepared.Attempts) != 2 || prepared.Attempts[1].ChargedMicropence != 1230000 ||
		prepared.Attempts[1].CPUMicroseconds != 2500000 || prepared.Attempts[1].ReusedFrom != nil {
		t.Errorf("prepared: got %+v", prepared)
	}
	if docked.Identity != "ab" || docked.Toolchain != "c0ffee" || docked.Attempts[0].ReusedFrom.JobID != "job_before" {
		t.Errorf("docked: got %+v", docked)
	}
	if len(p.Ledger) == 0 || p.Ledger[0].Type != "hold" || p.Ledger[0].AmountPence >= 0 || p.Charge.AccruedMicropence != 1230001 ||
		p.Charge.ChargedPence != 2 || p.Charge.Currency != "GBP" {
		t.Errorf("ledger %+v, charge %+v", p.Ledger, p.Charge)
	}
	_, err = d.Receipt(access.With(t.Context(), other), other.AccountID, jobID)
	wantFault(t, "another account", err, fault.NotFound, "")
}

// TestReceiptStays asks again after the rows have come to be read otherwise and the key has been replaced.
func TestReceiptStays(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.signsWith("a")
	caller := d.account()
	jobID, tasks := d.finished(caller)
	address := "/v1/jobs/" + jobID + "/receipt"
	_, first := d.call(caller, http.MethodGet, address, "")
	d.exec(`UPDATE task_details SET toolchain = 'other' WHERE task_id = $1`, tasks[2])
	d.signsWith("b")
	if _, again := d.call(caller, http.MethodGet, address, ""); again != first {
		t.Errorf("got %s, then %s", first, again)
	}
	kept, err := d.KeptReceipt(tenant.With(t.Context(), caller.AccountID), caller.AccountID, jobID)
	if err != nil || !sameJSON(t, string(kept), first) {
		t.Errorf("in a bundle: got %s, %v", kept, err)
	}
	laterID, _ := d.finished(caller)
	_, later := d.call(caller, http.MethodGet, "/v1/jobs/"+laterID+"/receipt", "")
	keys, list := d.keys(caller)
	if len(keys) != 2 || !list.Keys[0].Current || list.Keys[1].Current {
		t.Fatalf("got the keys %+v, want the newer first and both", list)
	}
	for name, text := range map[string]string{"first": first, "later": later} {
		if opened, err := receipt.Open(t.Context(), []byte(text), keys); err != nil || opened.KeyID == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := receipt.Open(t.Context(), []byte(later), keys[1:]); err == nil {
		t.Error("what was signed with the new key holds with the old one")
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	return decoded[map[string]any](t, a)["payload"] == decoded[map[string]any](t, b)["payload"]
}

func TestReceiptOfAJobThatRuns(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.signsWith("a")
	caller := d.account()
	jobID, _ := d.worked(caller)
	ctx := access.With(tenant.With(t.Context(), caller.AccountID), caller)
	_, err := d.Receipt(ctx, caller.AccountID, jobID)
	wantFault(t, "a job that runs", err, fault.JobNotEnded, "RUNNING")

	jobID, _ = d.finished(caller)
	first, err := d.Receipt(ctx, caller.AccountID, jobID)
	if err != nil {
		t.Fatal(err)
	}
	d.exec(`UPDATE jobs SET status = 'QUEUED', attempts = 2, finished_at = NULL WHERE id = $1`, jobID)
	_, err = d.Receipt(ctx, caller.AccountID, jobID)
	wantFault(t, "a job that is retried", err, fault.JobNotEnded, "QUEUED")
	d.exec(`UPDATE jobs SET status = 'COMPLETED', finished_at = now() WHERE id = $1`, jobID)
	second, err := d.Receipt(ctx, caller.AccountID, jobID)
	if err != nil || second.Payload == first.Payload {
		t.Errorf("the second run has the receipt of the first (%v)", err)
	}
	d.exec(`UPDATE jobs SET files_deleted_at = $2 WHERE id = $1`, jobID, time.Now())
	_, err = d.Receipt(ctx, caller.AccountID, jobID)
	wantFault(t, "deleted files", err, fault.FilesDeleted, "")
}

// TestReceiptIsNotKeptOfDeletedFiles signs while the files go: what the deletion has taken must not come back as a row.
func TestReceiptIsNotKeptOfDeletedFiles(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.signsWith("a")
	caller := d.account()
	jobID, _ := d.finished(caller)
	d.exec(`UPDATE jobs SET files_deleted_at = now() WHERE id = $1`, jobID)
	ctx := tenant.With(t.Context(), caller.AccountID)
	_, err := d.signReceipt(ctx, caller.AccountID, jobID)
	wantFault(t, "deleted meanwhile", err, fault.FilesDeleted, "")
	var n int
	if err := d.db.GetContext(ctx, &n, `SELECT count(*) FROM receipts`); err != nil || n != 0 {
		t.Errorf("%d receipts are kept (%v)", n, err)
	}
}

func TestReceiptWithoutAKey(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID, _ := d.finished(caller)
	if response, text := d.call(caller, http.MethodGet, "/v1/jobs/"+jobID+"/receipt", ""); response.StatusCode != 500 {
		t.Errorf("got %d %s", response.StatusCode, text)
	}
	if keys, _ := d.keys(caller); len(keys) != 0 {
		t.Errorf("%d keys", len(keys))
	}
	var list map[string]json.RawMessage
	if _, text := d.call(caller, http.MethodGet, "/v1/receipts/keys", ""); json.Unmarshal([]byte(text), &list) != nil ||
		string(list["keys"]) != "[]" {
		t.Errorf("got %s", text)
	}
}
