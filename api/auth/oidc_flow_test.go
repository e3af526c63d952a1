package auth

import (
	"bytes"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/secret"
)

// TestFlowsOutliveARotation: who is at the identity provider when the secret is replaced comes back to a service that knows them.
func TestFlowsOutliveARotation(t *testing.T) {
	t.Parallel()
	earlier, next := bytes.Repeat([]byte("k"), secret.MinBytes), bytes.Repeat([]byte("n"), secret.MinBytes)
	both, err := secret.NewRing(next, earlier)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	sealed, err := flow{State: "s", Until: now.Add(flowLife)}.seal(flowKeys(secret.One(earlier))[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := unseal(flowKeys(both), sealed, now); err != nil || got.State != "s" {
		t.Errorf("in the overlap: %+v, %v", got, err)
	}
	if _, err := unseal(flowKeys(secret.One(next)), sealed, now); !fault.Is(err, fault.Validation) {
		t.Errorf("after it: %v", err)
	}
}
