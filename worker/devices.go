package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// errNoDevice says that a worker can never give a task what it needs.
var errNoDevice = errors.New("the worker has no such devices")

// devices gives a worker's accelerators to tasks, in the order in which they ask: nobody overtakes a task that needs a whole
// device. A task takes its devices before its processor slots, and whoever has slots waits for no device, so that two tasks never
// wait for each other.
type devices struct {
	all   []sandbox.Device
	share int // tasks that may use one device at once, each of which says how much of its memory it takes

	mu      sync.Mutex
	used    []deviceUse // by device
	waiting []*deviceWait
}

// deviceUse is how much of a device is taken.
type deviceUse struct {
	tasks       int
	memoryBytes int64
	whole       bool // by a task that shares with nobody
}

// deviceNeed is what a task asks for.
type deviceNeed struct {
	count       int
	memoryBytes int64 // of each; 0 means all of it: the task shares with nobody
}

// deviceWait is a task that waits its turn. granted is closed when it has its devices.
type deviceWait struct {
	need    deviceNeed
	granted chan struct{}
	grant   deviceGrant
}

// deviceGrant is what a task has been given. The zero value is nothing.
type deviceGrant struct {
	need  deviceNeed
	at    []int // places in devices.all
	share int   // tasks among which the time of each is divided
}

func newDevices(all []sandbox.Device, share int) *devices {
	return &devices{all: all, share: max(share, 1), used: make([]deviceUse, len(all))}
}

// acquire waits until the task can have what it needs. Errors: errNoDevice when that can never be; that of the context.
func (d *devices) acquire(ctx context.Context, needs engines.Resources) (deviceGrant, error) {
	need := deviceNeed{count: needs.GPUs, memoryBytes: needs.GPUMemoryBytes}
	if need.count < 1 {
		return deviceGrant{}, nil
	}
	d.mu.Lock()
	if len(d.fitting(need, make([]deviceUse, len(d.all)))) < need.count {
		d.mu.Unlock()
		return deviceGrant{}, errNoDevice
	}
	wait := &deviceWait{need: need, granted: make(chan struct{})}
	d.waiting = append(d.waiting, wait)
	d.serve()
	d.mu.Unlock()
	select {
	case <-wait.granted:
		return wait.grant, nil
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case <-wait.granted: // at the same moment
		d.giveBack(wait.grant)
	default:
		d.waiting = slices.DeleteFunc(d.waiting, func(w *deviceWait) bool { return w == wait })
	}
	d.serve()
	return deviceGrant{}, ctx.Err()
}

// release gives devices back. A grant is released once.
func (d *devices) release(g deviceGrant) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.giveBack(g)
	d.serve()
}

// serve gives devices to those who wait, until the first for whom there are not enough. The caller holds mu, as for all below.
func (d *devices) serve() {
	for len(d.waiting) > 0 {
		wait := d.waiting[0]
		fitting := d.fitting(wait.need, d.used)
		if len(fitting) < wait.need.count {
			return
		}
		d.waiting = d.waiting[1:]
		wait.grant = d.take(wait.need, fitting[:wait.need.count])
		close(wait.granted)
	}
}

// fitting are the places of the devices that have room for a task beside what is used of them.
func (d *devices) fitting(need deviceNeed, used []deviceUse) []int {
	var places []int
	for i, device := range d.all {
		use := used[i]
		room := device.MemoryBytes == 0 || use.memoryBytes <= device.MemoryBytes-need.memoryBytes
		if room && (use.tasks == 0 || !use.whole && need.memoryBytes > 0 && use.tasks < d.share) {
			places = append(places, i)
		}
	}
	return places
}

func (d *devices) take(need deviceNeed, places []int) deviceGrant {
	for _, i := range places {
		d.used[i].tasks++
		d.used[i].memoryBytes += need.memoryBytes
		d.used[i].whole = need.memoryBytes == 0
	}
	grant := deviceGrant{need: need, at: places, share: 1}
	if need.memoryBytes > 0 {
		grant.share = d.share
	}
	return grant
}

func (d *devices) giveBack(g deviceGrant) {
	for _, i := range g.at {
		d.used[i].tasks--
		d.used[i].memoryBytes -= g.need.memoryBytes
		d.used[i].whole = false
	}
}

// ids are the names of the devices that were granted.
func (d *devices) ids(g deviceGrant) []string {
	var ids []string
	for _, i := range g.at {
		ids = append(ids, d.all[i].ID)
	}
	return ids
}

// micros is the device time of a task that ran for wall: of a device that n tasks may share it is the n-th part, however many
// use it, so that nobody's price depends on his neighbours. Half a microsecond is rounded up.
func (g deviceGrant) micros(wall time.Duration) int64 {
	if len(g.at) == 0 {
		return 0
	}
	share := int64(g.share)
	return (2*wall.Microseconds()*int64(len(g.at)) + share) / (2 * share)
}

// slots is how many tasks can use the devices at once.
func (d *devices) slots() int { return len(d.all) * d.share }

// report is what the heartbeat tells.
func (d *devices) report() queue.Devices {
	d.mu.Lock()
	defer d.mu.Unlock()
	free := 0
	for _, use := range d.used {
		if use.tasks == 0 {
			free++
		}
	}
	return queue.Devices{Total: len(d.all), Free: free, Slots: d.slots()}
}
