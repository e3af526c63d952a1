package client

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

func TestConflictTellsTheHead(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, hangUp, answer(409, `{"error":"expectedVersion: is 1, the head is 4","code":"VERSION_CONFLICT","currentVersion":4}`))
	c, _ := newClient(t, b.URL, Options{})
	_, err := c.SaveProject(t.Context(), "p/1", 1, ProjectDraft{Name: "n", Content: json.RawMessage(`{"a":1}`)})
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

func TestRetryIsNotRepeated(t *testing.T) {
	t.Parallel()
	b := newBreaker(t, hangUp)
	c, waits := newClient(t, b.URL, Options{})
	if _, err := c.Retry(t.Context(), "job_1", true); !isNetwork(err) || len(*waits) != 0 {
		t.Errorf("got %v after %d waits, want an error at once", err, len(*waits))
	}
	if got := b.received()[0]; got.path != "/api/v1/jobs/job_1/retry" || got.body != `{"scope":"all"}` {
		t.Errorf("got %s with %s", got.path, got.body)
	}
}
