package worker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/id"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker/sandbox"
)

var (
	// errStopped is the cause when the scheduler asked for the end: the job is cancelled or a later attempt runs.
	errStopped = errors.New("stopped by the scheduler")
	// errDrained is the cause when the worker had to leave before the attempt had ended.
	errDrained = errors.New("the worker was shut down")
)

// attempt is one work order that this worker answers for, from its claim until its end has been put into the outbox.
type attempt struct {
	order  queue.WorkOrder
	log    *slog.Logger
	life   context.Context // of the worker's work as a whole: outputs are stored under it, also after a stop order
	ctx    context.Context // of this attempt, until it is stopped
	cancel context.CancelCauseFunc
	files  Files
	permit *permitted // what files are; nil where they are the store by its key

	redone bool // some finished work of earlier attempts could not be had; settled before the engine starts

	mu       sync.Mutex
	phase    queue.Phase
	progress float64
	message  string

	live liveUse
}

// handle runs a claimed order. It returns as soon as the engine's process has been reaped, or none is to be started, so that the
// next order is claimed while this one's outputs are being stored.
func (w *Worker) handle(ctx context.Context, order queue.WorkOrder) {
	a := w.hold(ctx, order)
	if a == nil {
		if w.tooLate(order) {
			w.rest(ctx)
		}
		return
	}
	reaped := make(chan struct{})
	go func() {
		defer w.attempts.Done()
		end := w.run(a, sync.OnceFunc(func() { close(reaped) }))
		a.setPhase(queue.Reporting)
		w.outbox.add(a.event(w.id, end))
		w.release(a)
	}()
	<-reaped
}

// hold takes an order on. It returns nil when this worker has it already, running or reported, or gives it back at once because
// it is leaving, would leave before the end, or is kept off the job.
func (w *Worker) hold(ctx context.Context, order queue.WorkOrder) *attempt {
	a := &attempt{order: order, life: ctx, phase: queue.Waiting,
		log: w.Log.With("job", order.JobID, "task", order.TaskID, "attempt", order.Attempt, "request", order.RequestID)}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	w.usePermit(a)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held[order.Ref()] != nil || w.outbox.answersFor(order.Ref()) {
		a.log.Info("dropped a repeated order")
		a.cancel(nil)
		return nil
	}
	if w.draining {
		a.cancel(errDrained)
		w.outbox.add(a.event(w.id, a.unstarted()))
		return nil
	}
	if slices.Contains(order.Avoid, w.id) {
		a.log.Info("gave an attempt back: kept off its job")
		a.cancel(nil)
		w.outbox.add(a.event(w.id, ending{givenBack: true, failure: systemFailure("WORKER_KEPT_OFF", "the worker has failed "+
			"tasks of this job too often")}))
		return nil
	}
	if w.tooLate(order) {
		a.log.Info("gave an attempt back: it would not end before the worker leaves", "until", w.Until)
		a.cancel(nil)
		w.outbox.add(a.event(w.id, w.leavesSoon()))
		return nil
	}
	w.held[order.Ref()] = a
	w.attempts.Add(1)
	return a
}

// release lets go of an attempt whose end the outbox now answers for.
func (w *Worker) release(a *attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, a.order.Ref())
	w.lastHeld = time.Now()
	a.cancel(nil)
}

// run takes an attempt through staging, the engine and the storing of its outputs. reaped is called once no process of it is
// left and its slots are free, or before it copies earlier outputs instead. An engine's adapter reads what foreign programs wrote:
// when it panics, this attempt alone fails.
func (w *Worker) run(a *attempt, reaped func()) (end ending) {
	defer reaped()
	defer a.survive(func() {
		end = ending{failure: executorFailure("ENGINE_BROKEN", "the engine's adapter failed on this task")}
	})
	// When Redis cannot say, the next heartbeat will.
	if stopped, err := w.Queue.Stopped(a.ctx, a.order.Ref()); err == nil && stopped {
		return ending{cancelled: true}
	}
	engine, ok := w.Engines.Lookup(a.order.Engine)
	if !ok {
		return ending{failure: systemFailure("ENGINE_UNKNOWN", "this worker does not know the engine %s", a.order.Engine)}
	}
	if reused := w.reuse(a, engine, reaped); reused != nil {
		return *reused
	}
	if failure := wrongImage(engine, a.order.Shard, w.Runner.Describe().Image); failure != nil {
		return ending{failure: failure}
	}
	granted, cores, free, refused := w.takeRoom(a)
	if refused != nil {
		return *refused
	}
	shard := a.order.Shard
	shard.Needs.CPUs, shard.Needs.MoreCPUs = cores, 0
	defer free()
	if w.tooLate(a.order) { // it has waited for its room
		return w.leavesSoon()
	}
	dir, err := w.scratch.open(a.order.Ref())
	if err != nil {
		return ending{failure: systemFailure("SCRATCH_UNAVAILABLE", "the worker has no room to work in")}.logged(a.log, err)
	}
	defer func() {
		if err := w.scratch.remove(dir); err != nil {
			a.log.Warn("scratch directory left behind", "error", err)
		}
	}()
	bytesIn, failure := w.stage(a, dir)
	if failure != nil {
		// Without a permit nothing was tried that another worker, or this one later, could not do.
		return a.unlessInterrupted(ending{failure: failure, usage: queue.Usage{BytesIn: bytesIn},
			givenBack: failure.Code == permitRefused})
	}
	meter := new(sandbox.Meter)
	used := func() (queue.Usage, bool) {
		used, ok := meter.Usage()
		return metered(used, granted), ok
	}
	a.live.follow(used)
	checkpoints := w.saveCheckpoints(a, engine, dir, used)
	defer checkpoints.finish(&end)
	outcome, end := w.execute(a, engine, shard, dir, granted, meter, checkpoints)
	free()
	reaped()
	end.usage.BytesIn, end.toolchain = bytesIn, w.toolchain(engine)
	w.store(a, dir, outcome, &end)
	return end
}

// takeRoom waits until the attempt can have the devices, the memory and the processor slots that it needs, and takes more slots
// where it can use them and nobody waits for them; cores is how many it may keep busy. free gives all of it back and may be
// called again; refused is how the attempt ends that gets none.
func (w *Worker) takeRoom(a *attempt) (granted deviceGrant, cores int, free func(), refused *ending) {
	needs := a.order.Shard.Needs
	granted, err := w.devices.acquire(a.ctx, needs)
	if errors.Is(err, errNoDevice) {
		return granted, 0, nil, &ending{givenBack: true, failure: systemFailure("DEVICE_MISSING",
			"the task needs %d GPUs with %d MiB of memory each, which this worker does not have",
			needs.GPUs, needs.GPUMemoryBytes>>20)}
	}
	if err != nil {
		interrupted := a.unstarted()
		return granted, 0, nil, &interrupted
	}
	memory, err := w.takeMemory(a.ctx, needs.MemoryBytes)
	if err != nil {
		w.devices.release(granted)
		interrupted := a.unstarted()
		return granted, 0, nil, &interrupted
	}
	slots := min(int64(max(needs.CPUs, 1)), int64(w.Slots))
	if err := w.slots.Acquire(a.ctx, slots); err != nil {
		memory()
		w.devices.release(granted)
		interrupted := a.unstarted()
		return granted, 0, nil, &interrupted
	}
	more := int64(0)
	for more < int64(needs.MoreCPUs) && w.slots.TryAcquire(1) { // which fails while anybody waits
		more++
	}
	slots += more
	return granted, max(needs.CPUs, 1) + int(more), sync.OnceFunc(func() {
		w.slots.Release(slots)
		memory()
		w.devices.release(granted)
	}), nil
}

// takeMemory waits until a task can have the memory that it needs, or all of it where it needs more. release gives it back.
func (w *Worker) takeMemory(ctx context.Context, bytes int64) (release func(), err error) {
	if w.memory == nil {
		return func() {}, nil
	}
	bytes = min(bytes, w.MemoryBytes)
	if err := w.memory.Acquire(ctx, bytes); err != nil {
		return nil, err
	}
	return func() { w.memory.Release(bytes) }, nil
}

// execute runs the engine's command on the shard, whose CPUs are those that it was given, and judges how it ended. The files of
// a successful end are not stored yet.
func (w *Worker) execute(
	a *attempt, engine engines.Engine, shard engines.Shard, dir engines.Dir, granted deviceGrant, meter *sandbox.Meter,
	checkpoints *saver,
) (sandbox.Outcome, ending) {
	command, err := engine.Command(shard, dir)
	if err != nil {
		return sandbox.Outcome{}, ending{failure: systemFailure("COMMAND_INVALID",
			"the engine could not describe its command")}.logged(a.log, err)
	}
	started := time.Now().UTC()
	a.setPhase(queue.Running)
	a.permit.waitLonger()
	event := a.event(w.id, ending{})
	event.Kind, event.Pickup = queue.Started, started.Sub(a.order.CommittedAt)
	w.outbox.add(event)
	spec := sandbox.Spec{Dir: dir, Command: command, Needs: shard.Needs, Devices: w.devices.ids(granted), Meter: meter}
	if paid := a.order.Paid; paid != (queue.Use{}) {
		spec.Enough = func(used sandbox.Usage) bool { return metered(used, granted).Use().Beyond(paid) }
	}
	a.log.Info("engine starts", "engine", a.order.Engine, "shard", shard.Name, "cpus", shard.Needs.CPUs, "devices", spec.Devices)
	outcome, err := w.Runner.Run(a.ctx, spec, a.follow(engine, checkpoints))
	usage := metered(outcome.Usage, granted)
	usage.StartedAt, usage.FinishedAt = started, time.Now().UTC()
	a.log.Info("engine ended", "reason", outcome.Reason, "exit", outcome.ExitCode, "cpu_ms", usage.CPUMicroseconds/1000, "wall_ms",
		usage.WallMs)
	if outcome.RefusedProcesses > 0 || outcome.Signal == syscall.SIGSYS {
		a.log.Warn("the sandbox held an engine back", "engine", a.order.Engine, "account", a.order.AccountID, "refused_processes",
			outcome.RefusedProcesses,
			"forbidden_call", outcome.Signal == syscall.SIGSYS)
	}
	if err != nil {
		return outcome, ending{failure: systemFailure("SANDBOX_FAILED", "the engine could not be run on this worker"),
			usage: usage}.logged(a.log, err)
	}
	end := a.interrupted()
	if outcome.Reason != sandbox.Cancelled && !w.endedWithWorker(a, outcome) {
		end = judge(a.log, engine, shard, dir, outcome, usage)
	}
	end.usage = usage
	return outcome, end
}

// metered is what a command has used, with the time of the devices that it was granted.
func metered(used sandbox.Usage, granted deviceGrant) queue.Usage {
	return queue.Usage{CPUMicroseconds: used.CPUMicroseconds, GPUMicroseconds: granted.micros(used.Wall),
		WallMs:          used.Wall.Milliseconds(),
		PeakMemoryBytes: used.PeakMemoryBytes}
}

// follow reads progress and checkpoints from the engine's lines. It returns nil when the engine reads neither.
func (a *attempt) follow(engine engines.Engine, checkpoints *saver) func(string) {
	var listeners []func(string)
	if progresser, ok := engine.(engines.Progresser); ok {
		listeners = append(listeners, a.whileSound(func(line string) { a.heard(progresser, line) }))
	}
	if checkpoints != nil {
		listeners = append(listeners, a.whileSound(checkpoints.heard))
	}
	if len(listeners) == 0 {
		return nil
	}
	return func(line string) {
		for _, listen := range listeners {
			listen(line)
		}
	}
}

// whileSound calls listen with every line until it panics.
func (a *attempt) whileSound(listen func(string)) func(string) {
	broken := false
	return func(line string) {
		if !broken {
			defer a.survive(func() { broken = true })
			listen(line)
		}
	}
}

// heard keeps the progress that a line tells.
func (a *attempt) heard(progresser engines.Progresser, line string) {
	fraction, message, ok := progresser.Progress(line)
	if !ok {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.progress, a.message = min(max(fraction, 0), 1), message
}

// survive is deferred around an engine's adapter: it catches a panic, logs it and calls then.
func (a *attempt) survive(then func()) {
	if panicked := recover(); panicked != nil {
		a.log.Error("engine adapter panicked", "panic", panicked, "stack", string(debug.Stack()))
		then()
	}
}

// stop ends the attempt, wherever it is. Only the first cause counts.
func (a *attempt) stop(cause error) { a.cancel(cause) }

// stopWaiting ends the attempt unless its process has started.
func (a *attempt) stopWaiting(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase == queue.Waiting {
		a.stop(cause)
	}
}

// endedWithWorker reports whether an engine was asked to end by whoever asked the worker as well: batch systems send SIGTERM to all
// processes of a job, and the engine may be gone before the worker has read its own. That is no failure of the engine.
func (w *Worker) endedWithWorker(a *attempt, outcome sandbox.Outcome) bool {
	if outcome.Reason != sandbox.Killed || outcome.Signal != syscall.SIGTERM || a.ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(sameSignal)
	defer timer.Stop()
	select {
	case <-w.leaving:
		return true
	case <-timer.C:
		return false
	}
}

// sameSignal is how far apart a worker and its engine may be ended and it counts as one.
const sameSignal = 2 * time.Second

// interrupted is the end of an attempt whose context was cancelled: a cancel when the scheduler asked for it, otherwise a
// fault of the system, to be tried again elsewhere.
func (a *attempt) interrupted() ending {
	if errors.Is(context.Cause(a.ctx), errStopped) {
		return ending{cancelled: true}
	}
	return ending{failure: systemFailure("WORKER_DRAINED", "the worker was shut down before the task had ended")}
}

// unstarted is interrupted for an attempt whose engine has not been started.
func (a *attempt) unstarted() ending {
	end := a.interrupted()
	end.givenBack = end.failure != nil
	return end
}

// unlessInterrupted returns the ending, or that of an interruption when the context was the reason for it.
func (a *attempt) unlessInterrupted(e ending) ending {
	if a.ctx.Err() == nil {
		return e
	}
	interrupted := a.interrupted()
	interrupted.usage = e.usage
	return interrupted
}

func (a *attempt) setPhase(phase queue.Phase) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.phase = phase
}

// held is the attempt as the heartbeat tells it.
func (a *attempt) held() queue.Held {
	used := a.live.read()
	a.mu.Lock()
	defer a.mu.Unlock()
	return queue.Held{Ref: a.order.Ref(), JobID: a.order.JobID, Phase: a.phase, Progress: a.progress, Message: a.message,
		Used: used, Ask: a.permit.asks()}
}

// event reports an ending.
func (a *attempt) event(workerID string, end ending) queue.Event {
	event := queue.Event{ID: id.New("evt_"), Ref: a.order.Ref(), JobID: a.order.JobID, WorkerID: workerID, Engine: a.order.Engine,
		At: time.Now().UTC(), Usage: end.usage, Logs: end.logs, GivenBack: end.givenBack, Redone: a.redone, Claim: a.order.Claim}
	switch {
	case end.cancelled:
		event.Kind = queue.Cancelled
	case end.failure != nil:
		event.Kind, event.Failure = queue.Failed, end.failure
	default:
		event.Kind, event.Result, event.Stray = queue.Succeeded, end.result, end.stray
		event.Toolchain, event.Reused = end.toolchain, end.reused
	}
	return event
}
