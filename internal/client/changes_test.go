package client

import (
	"errors"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
)

func TestConflictTellsTheHead(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, hangUp, answer(409,
		`{"error":"expectedVersion: is 1, the head is 4","code":"VERSION_CONFLICT","currentVersion":4}`))
	c, _ := newClient(t, b.URL, Options{})
	_, err := c.SaveProject(t.Context(), "p/1", 1, contract.ProjectCreateRequest{Name: "n", Content: contract.Content(`{"a":1}`)})
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != fault.VersionConflict || refused.CurrentVersion != 4 {
		t.Errorf("got %v", err)
	}
	requests := b.received()
	last := requests[len(requests)-1]
	if last.path != "/api/v1/molecular/projects/p%2F1" || last.body != `{"expectedVersion":1,"name":"n","content":{"a":1}}` {
		t.Errorf("got %s with %s", last.path, last.body)
	}
	if key := last.header.Get("Idempotency-Key"); key == "" || key != requests[0].header.Get("Idempotency-Key") {
		t.Errorf("got key %q after %q, want the same", key, requests[0].header.Get("Idempotency-Key"))
	}
}

func TestRetryRepeatsItselfUnderOneKey(t *testing.T) {
	t.Parallel()
	for _, given := range []string{"", "a-key-of-mine"} {
		b := newBreaker(t, hangUp, answer(202, `{"jobId":"job_1","attempt":2}`))
		c, _ := newClient(t, b.URL, Options{})
		if receipt, err := c.Retry(t.Context(), "job_1", true, given); err != nil || receipt.Body.Attempt != 2 {
			t.Errorf("got %+v, %v", receipt, err)
		}
		requests := b.received()
		if got := requests[1]; got.path != "/api/v1/jobs/job_1/retry" || got.body != `{"scope":"all"}` {
			t.Errorf("got %s with %s", got.path, got.body)
		}
		key := requests[1].header.Get("Idempotency-Key")
		if key == "" || key != requests[0].header.Get("Idempotency-Key") || given != "" && key != given {
			t.Errorf("got key %q after %q, and %q was given", key, requests[0].header.Get("Idempotency-Key"), given)
		}
	}
}
