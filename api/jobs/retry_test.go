package jobs

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	path := "/v1/jobs/" + jobID
	_, err := d.Retry(access.With(t.Context(), caller), caller.AccountID, jobID, "", contract.RetryRequest{})
	wantFault(t, "before its end", err, fault.JobNotRetryable, "job")
	if _, err := d.Cancel(access.With(t.Context(), caller), caller.AccountID, jobID, ""); err != nil {
		t.Fatal(err)
	}
	_, text := d.call(caller, http.MethodGet, path+"/status", "")
	ended := decoded[contract.Job](t, text)

	response, text := d.call(caller, http.MethodPost, path+"/retry", "")
	answer := decoded[contract.RetryResponse](t, text)
	if response.StatusCode != http.StatusAccepted || answer.JobID != jobID || answer.Attempt != 2 ||
		answer.Tasks != ended.Progress.Tasks.Total || answer.Currency != "GBP" || answer.EstimatedCost != ended.Cost.Estimated ||
		answer.Message == "" {
		t.Errorf("got %d %s", response.StatusCode, text)
	}
	_, text = d.call(caller, http.MethodGet, path+"/status", "")
	again := decoded[contract.Job](t, text)
	if again.Status != answer.Status || again.Terminal || again.Attempts != 2 || again.FinishedAt != nil ||
		again.StatusReason != nil || again.Error != nil || again.Cost.Final != nil || again.Queue == nil {
		t.Errorf("after the retry: got %s", text)
	}
	if again.Progress.Tasks.Pending != answer.Tasks || len(again.StatusHistory) != len(ended.StatusHistory)+1 {
		t.Errorf("after the retry: got %s", text)
	}
	_, err = d.Retry(access.With(t.Context(), caller), caller.AccountID, jobID, "", contract.RetryRequest{})
	wantFault(t, "twice", err, fault.JobNotRetryable, "job")

	d.exec(`UPDATE tasks SET status = 'SUCCEEDED' WHERE job_id = $1`, jobID)
	d.exec(`UPDATE holds SET status = 'released', settled_at = now() WHERE job_id = $1`, jobID)
	d.exec(`UPDATE jobs SET status = 'COMPLETED', finished_at = now(), charged_pence = 0 WHERE id = $1`, jobID)
	_, err = d.Retry(access.With(t.Context(), caller), caller.AccountID, jobID, "", contract.RetryRequest{})
	wantFault(t, "nothing failed", err, fault.JobNotRetryable, "scope")
	d.exec(`UPDATE credit_accounts SET monthly_held_pence = monthly_pence, wallet_held_pence = wallet_pence WHERE account_id = $1`,
		caller.AccountID)
	_, err = d.Retry(access.With(t.Context(), caller), caller.AccountID, jobID, "", contract.RetryRequest{Scope: ref("all")})
	wantFault(t, "no credit", err, fault.InsufficientCredits, "")
	d.exec(`UPDATE credit_accounts SET monthly_held_pence = 0, wallet_held_pence = 0 WHERE account_id = $1`, caller.AccountID)
	if response, text := d.call(caller, http.MethodPost, path+"/retry",
		`{"scope":"all"}`); response.StatusCode != http.StatusAccepted || decoded[contract.RetryResponse](t, text).Attempt != 3 {
		t.Errorf("all: got %d %s", response.StatusCode, text)
	}
	d.retryUnderKeys(caller, path+"/retry")
	for _, body := range []string{`{"scope":"some"}`, `{"scope":""}`, `{"tasks":[1]}`, `[]`} {
		if response, text := d.call(caller, http.MethodPost, path+"/retry",
			body); response.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d %s, want a refusal by the schema", body, response.StatusCode, text)
		}
	}
}

// retryUnderKeys retries a job that is running: only a key that was used knows an answer.
func (d *desk) retryUnderKeys(caller access.Principal, path string) {
	d.t.Helper()
	d.exec(`UPDATE jobs SET status = 'CANCELLED', finished_at = now(), charged_pence = 0`)
	d.exec(`UPDATE tasks SET status = 'CANCELLED'`)
	d.exec(`UPDATE holds SET status = 'released', settled_at = now()`)
	first := ""
	for i, replayed := range []string{"", "true", "true"} {
		response, text := d.call(caller, http.MethodPost, path, `{"scope":"all"}`, "Idempotency-Key", "retry-key-1")
		answer := decoded[contract.RetryResponse](d.t, text)
		told := response.Header.Get("Idempotency-Replayed") == replayed && answer.IdempotentReplay == (replayed != "")
		if response.StatusCode != http.StatusAccepted || !told {
			d.t.Errorf("call %d: got %d %s", i+1, response.StatusCode, text)
		}
		answer.IdempotentReplay = false
		if first == "" {
			first = fmt.Sprint(answer)
		}
		if fmt.Sprint(answer) != first {
			d.t.Errorf("call %d: got %+v, want %s", i+1, answer, first)
		}
	}
	for key, want := range map[string]fault.Code{"retry-key-1": fault.IdempotencyKeyReused, "retry-key-2": fault.JobNotRetryable} {
		_, text := d.call(caller, http.MethodPost, path, `{"scope":"failed"}`, "Idempotency-Key", key)
		if !strings.Contains(text, string(want)) {
			d.t.Errorf("%q: got %s, want %s", key, text, want)
		}
	}
}
