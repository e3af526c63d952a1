package throttle

import (
	"testing"

	"github.com/molfabric/molfabric/internal/fault"
)

func TestSlotsAreBoundedForTheProcessAndForAnAccount(t *testing.T) {
	t.Parallel()
	slots := NewSlots("things", 3, 2)
	take := func(account string, want fault.Code) func() {
		t.Helper()
		release, err := slots.Take(account)
		if want == "" && err != nil || want != "" && !fault.Is(err, want) {
			t.Fatalf("account %s: got %v, want %q", account, err, want)
		}
		return release
	}
	first := take("a", "")
	take("a", "")
	take("a", fault.RateLimited)
	last := take("b", "")
	take("b", fault.ProviderUnavailable)
	first()
	take("a", "")
	last()
	take("a", fault.RateLimited)
	take("b", "")
	if taken := slots.Taken(); taken != 3 {
		t.Errorf("%d slots are taken, want 3", taken)
	}
}

// TestSlotsAreBoundedForAnAddress: many accounts at one address leave room for another.
func TestSlotsAreBoundedForAnAddress(t *testing.T) {
	t.Parallel()
	slots := NewSlots("things", 100, 2).OfAddress(3)
	take := func(account, address string, want fault.Code) func() {
		t.Helper()
		release, err := slots.TakeFrom(account, address)
		if want == "" && err != nil || want != "" && !fault.Is(err, want) {
			t.Fatalf("account %s at %s: got %v, want %q", account, address, err, want)
		}
		return release
	}
	first := take("a", "203.0.113.1", "")
	take("b", "203.0.113.1", "")
	take("c", "203.0.113.1", "")
	take("d", "203.0.113.1", fault.RateLimited)
	take("d", "203.0.113.2", "")
	for _, account := range []string{"e", "f", "g", "h"} {
		take(account, "", "") // an unknown address is nobody's
	}
	first()
	take("d", "203.0.113.1", "")
	take("e", "203.0.113.1", fault.RateLimited)
}
