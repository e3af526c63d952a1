package throttle

import (
	"context"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
)

func TestTurnsOfAnAccountComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	turns := NewTurns("things", 2, 50*time.Millisecond)
	release, err := turns.Take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if others, err := turns.Take(t.Context(), "b"); err != nil {
		t.Errorf("another account waits: %v", err)
	} else {
		others()
	}
	if _, err := turns.Take(t.Context(), "a"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("the second of an account: %v, want a refusal after its patience", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turns.Take(gone, "a"); err == nil || fault.Is(err, fault.RateLimited) {
		t.Errorf("a caller that has gone: %v", err)
	}
	next := make(chan error, 1)
	go func() {
		leave, err := turns.Take(t.Context(), "a")
		if err == nil {
			leave()
		}
		next <- err
	}()
	release()
	if err := <-next; err != nil {
		t.Errorf("after the first has ended: %v", err)
	}
	if len(turns.lines) != 0 {
		t.Errorf("%d lines are left", len(turns.lines))
	}
}

func TestTurnsHaveShortLines(t *testing.T) {
	t.Parallel()
	turns := NewTurns("things", 1, time.Minute)
	release, err := turns.Take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := turns.Take(t.Context(), "a"); !fault.Is(err, fault.RateLimited) { // at once
		t.Errorf("got %v, want a refusal", err)
	}
}
