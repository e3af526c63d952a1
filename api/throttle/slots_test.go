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
