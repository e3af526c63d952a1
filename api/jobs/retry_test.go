package jobs

import (
	"net/http"
	"testing"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/internal/fault"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	d := open(t)
	caller := d.account()
	jobID := d.submit(caller)
	path := "/v1/jobs/" + jobID
	_, err := d.Retry(access.With(t.Context(), caller), caller.AccountID, jobID, RetryRequest{})
	wantFault(t, "before its end", err, fault.JobNotRetryable, "job")
	if _, err := d.Cancel(access.With(t.Context(), caller), caller.AccountID, jobID, ""); err != nil {
		t.Fatal(err)
	}
	_, text := d.call(caller, http.MethodGet, path+"/status", "")
	ended := decoded[Job](t, text)

	response, text := d.call(caller, http.MethodPost, path+"/retry", "")
	answer := decoded[RetryResponse](t, text)
	if response.StatusCode != http.StatusAccepted || answer.JobID != jobID || answer.Attempt != 2 || answer.Tasks != ended.Progress.Tasks.Total || answer.Currency != "GBP" || answer.EstimatedCost != ended.Cost.Estimated || answer.Message == "" {
		t.Errorf("got %d %s", response.StatusCode, text)
	}
	_, text = d.call(caller, http.MethodGet, path+"/status", "")
	again := decoded[Job](t, text)
	if again.Status != answer.Status || again.Terminal || again.Attempts != 2 || again.FinishedAt != nil || again.StatusReason != nil || again.Error != nil || again.Cost.Final != nil || again.Queue == nil {
		t.Errorf("after the retry: got %s", text)
	}
	if again.Progress.Tasks.Pending != answer.Tasks || len(again.StatusHistory) != len(ended.StatusHistory)+1 {
		t.Errorf("after the retry: got %s", text)
	}
	_, err = d.Retry(access.With(t.Context(), caller), caller.AccountID, jobID, RetryRequest{})
	wantFault(t, "twice", err, fault.JobNotRetryable, "job")

	d.exec(`UPDATE tasks SET status = 'SUCCEEDED' WHERE job_id = $1`, jobID)
	d.exec(`UPDATE holds SET status = 'released', settled_at = now() WHERE job_id = $1`, jobID)
	d.exec(`UPDATE jobs SET status = 'COMPLETED', finished_at = now(), charged_pence = 0 WHERE id = $1`, jobID)
	_, err = d.Retry(access.With(t.Context(), caller), caller.AccountID, jobID, RetryRequest{})
	wantFault(t, "nothing failed", err, fault.JobNotRetryable, "scope")
	d.exec(`UPDATE credit_accounts SET monthly_held_pence = monthly_pence, wallet_held_pence = wallet_pence WHERE account_id = $1`, caller.AccountID)
	_, err = d.Retry(access.With(t.Context(), caller), caller.AccountID, jobID, RetryRequest{Scope: ref("all")})
	wantFault(t, "no credit", err, fault.InsufficientCredits, "")
	d.exec(`UPDATE credit_accounts SET monthly_held_pence = 0, wallet_held_pence = 0 WHERE account_id = $1`, caller.AccountID)
	if response, text := d.call(caller, http.MethodPost, path+"/retry", `{"scope":"all"}`); response.StatusCode != http.StatusAccepted || decoded[RetryResponse](t, text).Attempt != 3 {
		t.Errorf("all: got %d %s", response.StatusCode, text)
	}
	for _, body := range []string{`{"scope":"some"}`, `{"scope":""}`, `{"tasks":[1]}`, `[]`} {
		if response, text := d.call(caller, http.MethodPost, path+"/retry", body); response.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("%s: got %d %s, want a refusal by the schema", body, response.StatusCode, text)
		}
	}
}
