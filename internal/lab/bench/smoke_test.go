package bench

import (
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/abl1"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
	"github.com/molfabric/molfabric/worker/sandbox"
)

func TestDurable(t *testing.T) {
	t.Parallel()
	w, err := newDurable(t.Context(), deployed(t), 20, 20)
	if err != nil {
		t.Fatal(err)
	}
	both(t, w.p99(w.callFabric, &w.medians), w.p99(w.callPeer, &w.peerHalfs))
	if err := w.stopPeer(); err != nil {
		t.Error(err)
	}
}

func TestCharges(t *testing.T) {
	t.Parallel()
	d := deployed(t)
	customer, err := d.newCustomer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &charging{deployment: d, customer: customer, tasks: 50}
	both(t, w.chargeFabric, w.chargePeer)
	if w.drift != 0 {
		t.Errorf("the bill and its charges differ by %d micropence", w.drift)
	}
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Program: path, Out: io.Discard, Log: slog.New(slog.DiscardHandler)}
	for large, tasks := range map[bool]int{true: 5 * backlogWindow, false: backlogWindow} {
		b, err := o.startBacklog(t.Context(), serverstest.Dir(t), tasks, large)
		serverstest.Check(t, err)
		if seconds, err := b.round(t.Context()); err != nil || seconds <= 0 {
			t.Errorf("%d tasks: got %g, %v, want the seconds of a thousand dispatches", tasks, seconds, err)
		} else {
			t.Logf("%d tasks: %g s", tasks, seconds)
		}
		if err := b.end(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestBoxes(t *testing.T) {
	t.Parallel()
	o := Options{Python: enginestest.Python(t), Log: slog.New(slog.DiscardHandler)}
	folder := serverstest.Dir(t)
	var err error
	if o.Target.Path, err = abl1.WritePrepared(folder); err != nil {
		t.Fatal(err)
	}
	o.Target.Center = abl1.SiteCenterAngstrom
	runner, err := sandbox.New(t.Context(), sandbox.Config{Programs: map[string]string{"python": o.Python}, Log: o.Log})
	if err != nil {
		t.Fatal(err)
	}
	pockets, err := newPocketBox(o)
	if err != nil {
		t.Fatal(err)
	}
	docking, err := newDockingBox(t.Context(), o, folder, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range []*boxing{pockets, docking} {
		b.runner, b.python, b.scratch, b.runs = runner, o.Python, folder, 1
		both(t, b.sandboxed, b.bare)
	}
	if left, err := filepath.Glob(filepath.Join(folder, "run-*")); err != nil || len(left) > 0 {
		t.Errorf("the runs left %v, %v", left, err)
	}
}
