package cycles

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// TestAStatementIsNoPrice states times of a frame that no such frame takes: what is expected of the job stays within what the guess
// may be wrong by. Who states more than the guess is believed.
func TestAStatementIsNoPrice(t *testing.T) {
	t.Parallel()
	expected := func(build func(func(*engines.Request)) engines.Request, minutes float64) (sum float64) {
		t.Helper()
		shards, err := New().Plan(build(func(r *engines.Request) {
			r.Metadata = json.RawMessage(`{"resolution":"1920x1080","samples":4096}`)
			if minutes > 0 {
				r.Metadata = json.RawMessage(fmt.Sprintf(`{"resolution":"1920x1080","samples":4096,"renderTimeMinutes":%g}`,
					minutes))
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		for _, shard := range shards {
			sum += shard.ExpectedCPUSeconds
		}
		return sum
	}
	for name, of := range map[string]struct {
		build       func(func(*engines.Request)) engines.Request
		uncertainty float64
	}{"molecule": {molecule, moleculeUncertainty}, "scene": {blend, blendUncertainty}} {
		guess, tiny, long := expected(of.build, 0), expected(of.build, 1e-6), expected(of.build, 600)
		if tiny < guess/of.uncertainty || tiny >= guess {
			t.Errorf("%s: stated as nothing %v s, want from %v s, the guess by %v, to %v s", name, tiny, guess/of.uncertainty,
				of.uncertainty, guess)
		}
		if long < 600*60 {
			t.Errorf("%s: stated as ten hours %v s", name, long)
		}
	}
}
