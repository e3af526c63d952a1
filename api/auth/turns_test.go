package auth

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

// take takes a turn or ends the test.
func take(t *testing.T, turns *turns, address string) (release func()) {
	t.Helper()
	release, err := turns.take(t.Context(), address)
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return release
}

// standing waits until so many stand in an address' line, those who have a turn among them.
func standing(t *testing.T, turns *turns, address string, want int) {
	t.Helper()
	for {
		turns.mu.Lock()
		got := 0
		if l := turns.lines[address]; l != nil {
			got = l.length
		}
		turns.mu.Unlock()
		if got == want {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the test is over")
		}
		runtime.Gosched()
	}
}

// TestOneAddressLeavesTurnsToOthers: however many passwords come from one address, another's is hashed beside the first of them.
func TestOneAddressLeavesTurnsToOthers(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	release := take(t, turns, "203.0.113.1")
	var crowd sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for range maxLine - 1 {
		crowd.Go(func() {
			if _, err := turns.take(ctx, "203.0.113.1"); !errors.Is(err, context.Canceled) {
				t.Errorf("one of the crowd: %v, want that its client has gone", err)
			}
		})
	}
	standing(t, turns, "203.0.113.1", maxLine)
	if _, err := turns.take(t.Context(), "203.0.113.1"); !fault.Is(err, fault.RateLimited) {
		t.Errorf("one more of the crowd: %v, want %s", err, fault.RateLimited)
	}
	for range 3 {
		take(t, turns, "203.0.113.2")()
	}
	cancel()
	crowd.Wait()
	release()
	if len(turns.lines) != 0 || turns.waiting != 0 || len(turns.slots) != 0 {
		t.Errorf("left are %d lines, %d waiting, %d at work", len(turns.lines), turns.waiting, len(turns.slots))
	}
}

// TestWaitingIsBounded: beyond maxWaiting nobody is kept waiting, whatever address they come from.
func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	ctx, cancel := context.WithCancel(t.Context())
	var crowd sync.WaitGroup
	releases := make(chan func(), maxWaiting)
	for i := range maxWaiting {
		crowd.Go(func() {
			if release, err := turns.take(ctx, fmt.Sprint(i)); err == nil {
				releases <- release
			}
		})
	}
	for i := range maxWaiting {
		standing(t, turns, fmt.Sprint(i), 1)
	}
	if _, err := turns.take(t.Context(), "another"); !fault.Is(err, fault.ProviderUnavailable) {
		t.Errorf("got %v, want %s", err, fault.ProviderUnavailable)
	}
	cancel()
	crowd.Wait()
	close(releases)
	for release := range releases {
		release()
	}
	take(t, turns, "another")()
}
