package worker_test

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// equipped gives a worker the engine "shell" on devices; nodes that every sandbox has stand for theirs.
func (b *bench) equipped(share int, ids ...string) func(*worker.Config) {
	b.t.Helper()
	b.sandboxed() // or skip
	var devices []sandbox.Device
	for _, id := range ids {
		devices = append(devices, sandbox.Device{ID: id, Nodes: []string{"/dev/null"}})
	}
	box, err := sandbox.New(b.ctx, sandbox.Config{Grace: killGrace, Devices: devices})
	if err != nil {
		b.t.Fatal(err)
	}
	return func(cfg *worker.Config) {
		cfg.Runner, cfg.DeviceTasks = box, share
		cfg.Offered = []worker.Offer{{Engine: "shell", Hardware: "cpu", GPU: true}, {Engine: "other", Hardware: "cpu"}}
	}
}

// onGPUs makes a work order that computes on devices.
func onGPUs(script string, gpus int, memoryBytes int64) queue.WorkOrder {
	o := order(shellParams{Script: script})
	o.Queue, o.Shard.Needs.GPUs, o.Shard.Needs.GPUMemoryBytes = "gpu.shell", gpus, memoryBytes
	return o
}

// visible prints the devices of a task as progress, for the heartbeat to tell, and goes on until it is told.
const visible = `echo "progress 0.5 [$CUDA_VISIBLE_DEVICES]"; ` + untilTold

// awaitDevices waits until a running order has told its devices.
func (b *bench) awaitDevices(w hired, o queue.WorkOrder, want string) {
	b.t.Helper()
	b.eventually(o.Ref().String()+" sees "+want, func() bool {
		h := b.held(w, o)
		return h != nil && h.Phase == queue.Running && h.Message == want
	})
}

// awaitHello waits for a worker's first heartbeat.
func (b *bench) awaitHello(w hired) {
	b.t.Helper()
	b.eventually("the worker says hello", func() bool { return b.heartbeat(w).WorkerID != "" })
}

// TestATaskOnADeviceRunsWhereThereIsOne: a worker without devices serves no queue of the class gpu, one with devices both classes.
func TestATaskOnADeviceRunsWhereThereIsOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plain := b.hire(2, func(cfg *worker.Config) { cfg.Offered = []worker.Offer{{Engine: "shell", Hardware: "cpu", GPU: true}} })
	b.awaitHello(plain)
	if got := strings.Join(b.heartbeat(plain).Queues, " "); got != "cpu.shell" || b.heartbeat(plain).Devices != (queue.Devices{}) {
		t.Errorf("without devices it serves %s and reports %+v", got, b.heartbeat(plain).Devices)
	}
	o, beside := onGPUs(visible, 1, 0), order(shellParams{Script: `[ "$CUDA_VISIBLE_DEVICES" = "" ]`})
	b.enqueue(o, beside)
	if end := b.ending(beside); end.Kind != queue.Succeeded || end.Usage.GPUMicroseconds != 0 {
		t.Errorf("a task without devices ended as %s %v with %d µs of one", end.Kind, end.Failure, end.Usage.GPUMicroseconds)
	}
	if waiting, err := b.queue.Waiting("gpu.shell", o.Ref()); err != nil || !waiting {
		t.Fatalf("the task on a device is claimed by a worker without: %v, %v", !waiting, err)
	}
	equipped := b.hire(2, b.equipped(1, "GPU-a", "GPU-b"))
	b.awaitDevices(equipped, o, "[GPU-a]")
	hb := b.heartbeat(equipped)
	if got := strings.Join(hb.Queues, " "); got != "cpu.shell gpu.shell cpu.other" ||
		hb.Devices != (queue.Devices{Total: 2, Free: 1, Slots: 2}) {
		t.Errorf("with devices it serves %s and reports %+v", got, hb.Devices)
	}
	b.tell(o)
	end := b.ending(o)
	wall := end.Usage.WallMs
	if used := end.Usage.GPUMicroseconds / 1000; end.Kind != queue.Succeeded || used < wall || used > wall+1 {
		t.Errorf("it ended as %s %v and used %d ms of a device in %d ms", end.Kind, end.Failure, used, wall)
	}
	b.eventually("the device is free again", func() bool { return b.heartbeat(equipped).Devices.Free == 2 })
}

// TestSmallTasksShareADeviceWhenConfigured: the second of two runs beside the first where the deployment allows it, and after it
// where it does not; meanwhile processors do other work.
func TestSmallTasksShareADeviceWhenConfigured(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]int{"shared": 2, "one each": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.hire(4, b.equipped(share, "GPU-a"))
			first, second := onGPUs(visible, 1, 1<<30), onGPUs(visible, 1, 1<<30)
			b.enqueue(first)
			b.awaitDevices(w, first, "[GPU-a]")
			b.enqueue(second)
			if share == 1 {
				beside := order(shellParams{Script: "true"})
				b.enqueue(beside)
				b.ending(beside)
				if len(b.of(second, queue.Started)) != 0 {
					t.Error("two tasks share a device of which each must have one")
				}
				b.tell(first)
			}
			b.awaitDevices(w, second, "[GPU-a]")
			if got, want := len(b.of(first, "")) == 0, share == 2; got != want {
				t.Errorf("the first runs on beside the second: %v, want %v", got, want)
			}
			b.tell(second)
			if share == 2 {
				b.tell(first)
			}
			for _, o := range []queue.WorkOrder{first, second} {
				end := b.ending(o)
				wall := end.Usage.WallMs
				if part := end.Usage.GPUMicroseconds * int64(share) / 1000; end.Kind != queue.Succeeded || part < wall ||
					part > wall+1 {
					t.Errorf("it ended as %s %v; %d ms of a device in %d ms, shared by %d", end.Kind, end.Failure,
						end.Usage.GPUMicroseconds/1000, wall, share)
				}
			}
		})
	}
}

// TestAWaitForADeviceEnds by a stop order, and when the worker leaves, which gives the task back.
func TestAWaitForADeviceEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, b.equipped(2, "GPU-a"))
	busy, stopped, left := onGPUs(visible, 1, 0), onGPUs("true", 1, 0), onGPUs("true", 1, 0)
	b.enqueue(busy)
	b.awaitDevices(w, busy, "[GPU-a]")
	b.enqueue(stopped)
	b.awaitPhase(w, stopped, queue.Waiting)
	b.stop(stopped)
	if end := b.ending(stopped); end.Kind != queue.Cancelled {
		t.Errorf("stopped while it waited: %s %v", end.Kind, end.Failure)
	}
	b.enqueue(left)
	b.awaitPhase(w, left, queue.Waiting)
	w.leave()
	if end := b.ending(left); end.Kind != queue.Failed || end.Failure.Code != "WORKER_DRAINED" {
		t.Errorf("when its worker left: %s %v", end.Kind, end.Failure)
	}
	b.tell(busy)
	if end := b.ending(busy); end.Kind != queue.Succeeded {
		t.Errorf("what ran: %s %v", end.Kind, end.Failure)
	}
}

func TestATaskTooLargeForAWorkerIsGivenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.hire(1, b.equipped(1, "GPU-a"))
	o := onGPUs("true", 2, 0)
	b.enqueue(o)
	end := b.ending(o)
	if end.Kind != queue.Failed || end.Failure.Class != engines.System || end.Failure.Code != "DEVICE_MISSING" || !end.GivenBack {
		t.Errorf("got %s %v, want a fault of the system: another worker may have two", end.Kind, end.Failure)
	}
}
