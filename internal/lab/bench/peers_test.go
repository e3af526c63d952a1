package bench

import (
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

func TestWholePath(t *testing.T) {
	t.Parallel()
	d := deployed(t)
	w := &wholePath{deployment: d, tasks: 20, parts: map[string][]float64{}}
	dismiss, err := w.hire(t.Context(), 1, 8)
	if err != nil {
		t.Fatal(err)
	}
	both(t, w.runFabric, w.runPeer)
	if err := dismiss(); err != nil {
		t.Error(err)
	}
	if len(w.cpu) != 1 || len(w.peerCPU) != 1 || w.cpu[0] <= 0 {
		t.Errorf("the processor time of a task is %v, of the peer's %v", w.cpu, w.peerCPU)
	}
}

func TestStockNotes(t *testing.T) {
	t.Parallel()
	if got, err := parseStockStart("3 123 1700000000000000001"); err != nil || got.task != "3" || got.pid != 123 ||
		got.at.UnixNano() != 1700000000000000001 {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, note := range []string{"", "3", "3 x 1", "3 1 1 1"} {
		if _, err := parseStockStart(note); err == nil {
			t.Errorf("%q is read", note)
		}
	}
}

func TestPickup(t *testing.T) {
	t.Parallel()
	d := deployed(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.startWorker(path, enginestest.Python(t), 1); err != nil {
		t.Fatal(err)
	}
	if err := d.awaitWorkers(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	w := &pickup{deployment: d, tasks: 1}
	both(t, w.runFabric, w.runPeer)
}

// TestLost leaves the peer out, which needs minutes, but for the start of its workers.
func TestLost(t *testing.T) {
	t.Parallel()
	d := deployed(t)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	w := &lost{deployment: d, program: path, python: enginestest.Python(t)}
	if seconds, err := w.runFabric(t.Context()); err != nil || seconds <= 0 {
		t.Errorf("got %g, %v, want the seconds until the task started again", seconds, err)
	}
	stock, err := w.startStockTasks(t.Context())
	if err != nil || len(stock.starts) != lostWorkers {
		t.Errorf("stock asynq has started %v, %v", stock.starts, err)
	}
	if err := stock.kill(t.Context()); err != nil {
		t.Error(err)
	}
}
