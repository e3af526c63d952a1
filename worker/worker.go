// Package worker runs tasks: it claims work orders, stages their inputs, runs the engine's command in the sandbox, meters it,
// follows its progress, stores its outputs and reports how it ended. It holds no database credential, and of the object store no
// key: each attempt comes with a permit. It decides nothing about jobs: the scheduler does.
package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/previews"
	"github.com/molfabric/molfabric/worker/sandbox"
)

const (
	// DefaultDrainGrace is how long running attempts may go on after a worker was asked to stop.
	DefaultDrainGrace = 20 * time.Second
	// storeGrace is how long a stopping worker then waits for processes to end and outputs to be stored, before it gives up
	// storing: longer than sandbox.DefaultGrace, and outputs of a few hundred megabytes still get through.
	storeGrace = 30 * time.Second
	// farewellGrace bounds how long a stopping worker waits for its last reports to be committed.
	farewellGrace = 10 * time.Second
	// previewsName is the directory of renderers in the worker's own; no attempt is called so.
	previewsName = "previews"
)

// Runner runs the commands of attempts: a *sandbox.Runner, but for those who measure the fabric without programs.
type Runner interface {
	// Run runs one command to its end, as sandbox.Runner.Run does.
	Run(ctx context.Context, spec sandbox.Spec, onLine func(line string)) (sandbox.Outcome, error)
	Devices() []sandbox.Device
	Describe() sandbox.Description
}

var _ Runner = (*sandbox.Runner)(nil)

// Config is what one worker process is given.
type Config struct {
	Queue *queue.Queue
	// Objects is the object store by its key, where that is to be used. Without it attempts read and write by their permits.
	Objects Files
	Engines *engines.Registry
	Runner  Runner
	// Offered are the engines that this machine can run, as Inspect found them.
	Offered []Offer
	Slots   int // processor cores that engines may keep busy
	// MemoryBytes is what the tasks that run at once may need together; a task that needs more by itself runs alone. 0 for no
	// bound.
	MemoryBytes int64
	// DeviceTasks is how many tasks may share one of the Runner's devices, each of which says how much of its memory it takes; 0 is
	// 1.
	DeviceTasks int
	ScratchDir  string // attempts live in directories below it
	CacheDir    string // shared inputs are kept below it, best on the scratch directory's file system
	CacheBytes  int64  // at most so many bytes of them, of all workers that share CacheDir; 0: none
	// Previews are drawn beside the tasks, where they are not nil.
	Previews   *previews.Service
	Version    string
	DrainGrace time.Duration
	// ID is the worker's name in heartbeats and records, made by NewID; "" for a new one.
	ID string
	// Name is what who started the worker calls it; "" for none.
	Name string
	// IdleExit ends Run when the worker has had nothing to do for so long; 0 for never.
	IdleExit time.Duration
	// Until is when the machine is taken away. The worker takes no task that is not expected to end before it begins to leave, and
	// has left by then. Zero for never.
	Until time.Time
	Log   *slog.Logger
}

// Worker runs attempts. Make one with New and call Run once.
type Worker struct {
	Config
	id      string
	self    queue.Claim // signs the heartbeats
	box     queue.Letterbox
	started time.Time
	slots   *semaphore.Weighted
	copies  *semaphore.Weighted // of earlier outputs, beside what computes
	memory  *semaphore.Weighted // nil: not bounded
	devices *devices
	outbox  *outbox
	scratch *scratch
	cache   *cache // nil: every input is fetched for its attempt alone

	leaving chan struct{} // closed when the worker begins to leave

	mu       sync.Mutex
	held     map[queue.Ref]*attempt
	lastHeld time.Time // when the last of them ended; the start before that
	draining bool
	attempts sync.WaitGroup
}

// NewID makes the name of a worker.
func NewID() string { return id.New(workerPrefix) }

// New prepares a worker; it claims nothing yet. It removes what dead workers left in the scratch directory.
func New(cfg Config) (*Worker, error) {
	if len(cfg.Offered) == 0 {
		return nil, errors.New("this machine can run no engine; `molfabric doctor` tells why")
	}
	if cfg.Slots < 1 {
		return nil, fmt.Errorf("slots: %d, need at least 1", cfg.Slots)
	}
	if cfg.MemoryBytes < 0 {
		return nil, fmt.Errorf("memoryBytes: %d; give what tasks may need together, or 0 for no bound", cfg.MemoryBytes)
	}
	if cfg.DrainGrace == 0 {
		cfg.DrainGrace = DefaultDrainGrace
	}
	if err := cfg.checkStay(time.Now()); err != nil {
		return nil, err
	}
	accelerators := newDevices(cfg.Runner.Devices(), cfg.DeviceTasks)
	if len(cfg.queues(accelerators.slots())) == 0 {
		return nil, errors.New("the engines that this machine can run need a GPU, and it has none; `molfabric doctor` tells " +
			"which were found")
	}
	self, err := queue.NewClaim(rand.Reader)
	if err != nil {
		return nil, err
	}
	letters, err := queue.NewLetterbox()
	if err != nil {
		return nil, err
	}
	workerID := cmp.Or(cfg.ID, NewID())
	cfg.Log = cfg.Log.With("worker", workerID)
	scratch, err := openScratch(cfg.ScratchDir, workerID, cfg.Log)
	if err != nil {
		return nil, err
	}
	inputs, err := cfg.openCache(workerID)
	if err != nil {
		scratch.close()
		return nil, err
	}
	var memory *semaphore.Weighted
	if cfg.MemoryBytes > 0 {
		memory = semaphore.NewWeighted(cfg.MemoryBytes)
	}
	return &Worker{
		Config: cfg, id: workerID, self: self, box: letters, started: time.Now().UTC(), scratch: scratch, cache: inputs,
		slots: semaphore.NewWeighted(int64(cfg.Slots)), copies: semaphore.NewWeighted(copiesAtOnce), memory: memory,
		devices: accelerators,
		outbox:  newOutbox(cfg.Queue, cfg.Log),
		held:    map[queue.Ref]*attempt{}, lastHeld: time.Now(), leaving: make(chan struct{}),
	}, nil
}

// ID is the worker's name in heartbeats and records; every process has a new one.
func (w *Worker) ID() string { return w.id }

// Run claims and runs work orders until the context ends, or the worker has its own reason to leave (IdleExit, Until). Then it
// drains: nothing new is claimed, what has not started is given back to the scheduler, running attempts get DrainGrace to finish,
// and what then still runs is ended and given back too. It returns when all processes have ended and all reports are committed, or
// cannot be.
func (w *Worker) Run(ctx context.Context) error {
	defer w.scratch.close()
	defer w.cache.close()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	work, abandon := context.WithCancel(background)
	defer abandon()
	fleet, err := w.beat(background, 0)
	if err != nil {
		return fmt.Errorf("say hello to the fleet: %w", err)
	}
	var loops sync.WaitGroup
	loops.Go(func() { w.heartLoop(background) })
	loops.Go(func() { w.outbox.run(background) })
	defer w.drawPreviews(ctx)()
	consumers, err := w.claim(work, queue.PollInterval(fleet))
	if err != nil {
		stop()
		loops.Wait()
		return err
	}
	w.Log.Info("worker ready", "slots", w.Slots, "gpus", w.Runner.Describe().Devices, "gpu_slots", w.devices.slots(), "queues",
		w.queues(),
		"sandbox", w.Runner.Describe())
	w.stay(ctx)
	close(w.leaving)
	for _, consumer := range consumers {
		consumer.Stop()
	}
	w.drain(abandon)
	for _, consumer := range consumers {
		consumer.Close()
	}
	w.awaitAcknowledgements(background)
	stop()
	loops.Wait()
	w.sayGoodbye(ctx)
	return nil
}

// drawPreviews draws previews until the context ends, or the function that it returns is called, which waits for their end.
func (w *Worker) drawPreviews(ctx context.Context) (stop func()) {
	if w.Previews == nil {
		return func() {}
	}
	ctx, end := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.Previews.Run(ctx, w.id, filepath.Join(w.scratch.dir, previewsName)) })
	return func() {
		end()
		running.Wait()
	}
}

// claim starts to claim work orders, for each kind of hardware as many at a time as can run: tasks that wait for a device keep no
// processors idle, and what this worker cannot start yet is left to others.
func (w *Worker) claim(work context.Context, poll time.Duration) ([]*queue.Consumer, error) {
	var consumers []*queue.Consumer
	for _, hardware := range []string{engines.HardwareCPU, engines.HardwareGPU} {
		names := slices.DeleteFunc(w.queues(), func(name string) bool { return queue.Class(name).Hardware != hardware })
		if len(names) == 0 {
			continue
		}
		slots := w.Slots
		if hardware == engines.HardwareGPU {
			slots = w.devices.slots()
		}
		consumer, err := w.Queue.Consume(names, slots, poll, w.Log, func(order queue.WorkOrder) { w.handle(work, order) })
		if err != nil {
			for _, started := range consumers {
				started.Stop()
				started.Close()
			}
			return nil, err
		}
		consumers = append(consumers, consumer)
	}
	return consumers, nil
}

// drain brings every attempt to its end. Afterwards the outbox answers for all of them.
func (w *Worker) drain(abandon context.CancelFunc) {
	w.mu.Lock()
	w.draining = true
	held := len(w.held)
	for _, a := range w.held {
		a.stopWaiting(errDrained)
	}
	w.mu.Unlock()
	w.Log.Info("worker drains", "held", held, "grace", w.DrainGrace)
	done := make(chan struct{})
	go func() { w.attempts.Wait(); close(done) }()
	if endsWithin(done, w.DrainGrace) {
		return
	}
	w.stopAll(errDrained)
	if endsWithin(done, storeGrace) {
		return
	}
	w.Log.Warn("worker gives up storing outputs; their tasks will be run again")
	abandon()
	<-done // a process that the kernel cannot end holds its worker
}

// awaitAcknowledgements waits until the scheduler has committed the last reports.
func (w *Worker) awaitAcknowledgements(ctx context.Context) {
	deadline := time.Now().Add(farewellGrace)
	for !w.outbox.empty() && time.Now().Before(deadline) {
		wait(ctx, heartPoll)
	}
	if !w.outbox.empty() {
		w.Log.Warn("worker leaves with reports that nobody has committed; their tasks will be run again")
	}
}

// sayGoodbye spares the scheduler the wait for further heartbeats. It comes after the last one, which would undo it.
func (w *Worker) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellGrace)
	defer cancel()
	if err := w.Queue.Forget(ctx, w.id); err != nil {
		w.Log.Debug("goodbye not sent", "error", err)
	}
}

func (w *Worker) stopAll(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.held {
		a.stop(cause)
	}
}

func (w *Worker) queues() []string { return w.Config.queues(w.devices.slots()) }

// queues are those of the offered engines: of the class gpu where tasks have places on devices, of the others everywhere.
func (c Config) queues(places int) []string {
	var names []string
	for _, offer := range c.Offered {
		for _, class := range (engines.Spec{ID: offer.Engine, Hardware: offer.Hardware, GPU: offer.GPU}).Classes() {
			if class.Hardware != engines.HardwareGPU || places > 0 {
				names = append(names, queue.Name(class))
			}
		}
	}
	return names
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// endsWithin reports whether done is closed before d has passed.
func endsWithin(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
