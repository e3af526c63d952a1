package bench

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

// built is the directory of the program, once a test has built it.
var built string

// program builds molfabric once a test process.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "molfabric-bench-test-")
	if err != nil {
		return "", err
	}
	built = dir
	return serverstest.Build(dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// deployed is a deployment of the test's own.
func deployed(t *testing.T) *deployment {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	d, err := deploy(t.Context(), serverstest.Dir(t), path, slog.New(slog.DiscardHandler))
	serverstest.Check(t, err)
	t.Cleanup(func() {
		if err := d.stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return d
}

// both runs each arm of a workload once.
func both(t *testing.T, ours, peer Arm) {
	t.Helper()
	for name, arm := range map[string]Arm{"molfabric": ours, "peer": peer} {
		figure, err := arm(t.Context())
		if err != nil || figure <= 0 {
			t.Errorf("%s: got %g, %v, want a time", name, figure, err)
		}
		t.Logf("%s: %g s", name, figure)
	}
}

func TestOpenLoopCountsFromTheScheduledMoment(t *testing.T) {
	t.Parallel()
	const stall = 50 * time.Millisecond
	var sent atomic.Int64
	took, err := openLoop(t.Context(), 1000, 20, func(context.Context, int) error {
		sent.Add(1)
		time.Sleep(stall)
		return nil
	})
	if err != nil || sent.Load() != 20 || len(took) != 20 || slices.Min(took) < stall.Seconds() {
		t.Errorf("%d calls took %v, %v; want 20 of at least %s, sent while the others waited", sent.Load(), took, err, stall)
	}
	broken := errors.New("no")
	if _, err := openLoop(t.Context(), 1000, 1000, func(context.Context, int) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v, want the call's error", err)
	}
}

func TestPlainPDB(t *testing.T) {
	t.Parallel()
	const atom = "ATOM      1  N   GLY A   1      11.104   6.134  -6.504  1.00 10.00"
	if got := plainPDB("REMARK x\n" + atom + "    -0.350 N \nTER\nHETATM short\n"); got != atom+"\nHETATM short\nEND\n" {
		t.Errorf("got %q", got)
	}
}
