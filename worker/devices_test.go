package worker

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/sandbox"
)

func wants(gpus int, memoryBytes int64) engines.Resources {
	return engines.Resources{GPUs: gpus, GPUMemoryBytes: memoryBytes}
}

// given acquires what must be free.
func given(t *testing.T, d *devices, needs engines.Resources, places ...int) deviceGrant {
	t.Helper()
	if !d.couldHave(needs) {
		t.Fatalf("%d devices of %d bytes are not free", needs.GPUs, needs.GPUMemoryBytes)
	}
	grant, err := d.acquire(t.Context(), needs)
	if err != nil || !slices.Equal(grant.at, places) {
		t.Fatalf("%d devices of %d bytes: got %v, %v; want %v", needs.GPUs, needs.GPUMemoryBytes, grant.at, err, places)
	}
	return grant
}

func (d *devices) couldHave(needs engines.Resources) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting) == 0 && len(d.fitting(deviceNeed{needs.GPUs, needs.GPUMemoryBytes}, d.used)) >= needs.GPUs
}

// refused asks for what must not be free now.
func refused(t *testing.T, d *devices, needs engines.Resources) {
	t.Helper()
	if d.couldHave(needs) {
		t.Errorf("%d devices of %d bytes are free", needs.GPUs, needs.GPUMemoryBytes)
	}
}

func TestSmallTasksShareADevice(t *testing.T) {
	t.Parallel()
	d := newDevices([]sandbox.Device{{ID: "a", MemoryBytes: 80}, {ID: "b"}}, 2)
	given(t, d, wants(0, 0))
	first := given(t, d, wants(1, 50), 0)
	given(t, d, wants(1, 40), 1) // 90 bytes are not there; b's memory is unknown
	second := given(t, d, wants(1, 30), 0)
	if got := d.report(); got != (queue.Devices{Total: 2, Free: 0, Slots: 4}) {
		t.Errorf("reported %+v", got)
	}
	given(t, d, wants(1, 1000), 1)
	refused(t, d, wants(1, 1)) // both devices have their two tasks
	d.release(first)
	refused(t, d, wants(1, 0)) // who shares with nobody waits for the last
	d.release(second)
	whole := given(t, d, wants(1, 0), 0)
	refused(t, d, wants(1, 1))
	d.release(whole)
	given(t, d, wants(1, 80), 0)
}

func TestOneTaskADeviceUnlessConfigured(t *testing.T) {
	t.Parallel()
	d := newDevices([]sandbox.Device{{ID: "a", MemoryBytes: 80}, {ID: "b", MemoryBytes: 80}}, 0)
	given(t, d, wants(1, 1), 0)
	given(t, d, wants(1, 1), 1)
	refused(t, d, wants(1, 1))
}

func TestWhatAWorkerNeverHasIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	d := newDevices([]sandbox.Device{{ID: "a", MemoryBytes: 80}, {ID: "b", MemoryBytes: 40}}, 4)
	for _, needs := range []engines.Resources{wants(3, 0), wants(1, 81), wants(2, 41)} {
		if _, err := d.acquire(t.Context(), needs); !errors.Is(err, errNoDevice) {
			t.Errorf("%d devices of %d bytes: got %v, want errNoDevice", needs.GPUs, needs.GPUMemoryBytes, err)
		}
	}
	if _, err := newDevices(nil, 1).acquire(t.Context(), wants(1, 0)); !errors.Is(err, errNoDevice) {
		t.Errorf("without devices: got %v", err)
	}
}

// TestNobodyIsOvertaken: a task that needs both devices is served before those that came later and would fit at once; one that
// leaves makes way for them.
func TestNobodyIsOvertaken(t *testing.T) {
	t.Parallel()
	d := newDevices([]sandbox.Device{{ID: "a"}, {ID: "b"}}, 2)
	first := given(t, d, wants(1, 1), 0)
	ctx, leave := context.WithCancel(t.Context())
	left, served := make(chan error), make(chan deviceGrant)
	go func() {
		_, err := d.acquire(ctx, wants(2, 0))
		left <- err
	}()
	waiting(d, 1)
	go func() {
		grant, _ := d.acquire(context.Background(), wants(1, 1))
		served <- grant
	}()
	waiting(d, 2)
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that left got %v", err)
	}
	grant := <-served
	d.release(first)
	d.release(grant)
	given(t, d, wants(2, 0), 0, 1)
}

// waiting returns once n tasks wait.
func waiting(d *devices, n int) {
	for {
		d.mu.Lock()
		found := len(d.waiting)
		d.mu.Unlock()
		if found == n {
			return
		}
		runtime.Gosched()
	}
}

func TestDeviceTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		grant deviceGrant
		wall  time.Duration
		want  int64
	}{
		{deviceGrant{share: 1}, time.Hour, 0},
		{deviceGrant{at: []int{0}, share: 1}, 41*time.Second + 1*time.Microsecond, 41_000_001},
		{deviceGrant{at: []int{0, 1}, share: 1}, time.Second, 2_000_000},
		{deviceGrant{at: []int{1}, share: 4}, time.Second, 250_000},
		{deviceGrant{at: []int{1}, share: 2}, 3 * time.Microsecond, 2}, // half a microsecond is rounded up
		{deviceGrant{at: []int{1}, share: 3}, 4 * time.Microsecond, 1},
		{deviceGrant{at: make([]int, 16), share: 1}, 1000 * 24 * time.Hour, 16 * 86_400_000_000_000},
	} {
		if got := tt.grant.micros(tt.wall); got != tt.want {
			t.Errorf("%d devices shared by %d for %s: got %d µs, want %d", len(tt.grant.at), tt.grant.share, tt.wall, got, tt.want)
		}
	}
}

// TestDevicesAreNeverOvercommitted lets many tasks come, go and give up at once: no device has more than it can hold, everybody
// who stays is served, and at last everything is free.
func TestDevicesAreNeverOvercommitted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		all := make([]sandbox.Device, rapid.IntRange(1, 4).Draw(rt, "devices"))
		for i := range all {
			all[i].MemoryBytes = rapid.Int64Range(0, 10).Draw(rt, "memory")
		}
		d := newDevices(all, rapid.IntRange(1, 3).Draw(rt, "share"))
		var tasks sync.WaitGroup
		for range rapid.IntRange(1, 30).Draw(rt, "tasks") {
			needs := wants(rapid.IntRange(0, len(all)).Draw(rt, "count"), rapid.Int64Range(0, 6).Draw(rt, "bytes"))
			impatient := rapid.Bool().Draw(rt, "impatient")
			tasks.Go(func() {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if impatient {
					go cancel()
				}
				grant, err := d.acquire(ctx, needs)
				if err != nil {
					return
				}
				d.checkWithin(rt)
				d.release(grant)
			})
		}
		tasks.Wait()
		if free := d.report().Free; free != len(all) || len(d.waiting) != 0 {
			rt.Fatalf("%d of %d devices are free and %d tasks wait at last", free, len(all), len(d.waiting))
		}
	})
}

func (d *devices) checkWithin(t *rapid.T) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, use := range d.used {
		memory := d.all[i].MemoryBytes
		if use.tasks > d.share || use.whole && use.tasks != 1 || memory > 0 && use.memoryBytes > memory {
			t.Errorf("device %d of %d bytes has %+v", i, memory, use)
		}
	}
}
