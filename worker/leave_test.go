package worker_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
	"github.com/molfabric/molfabric/worker"
)

// inOrder is what a worker needs to leave beside its drain grace: to store outputs, and to have reports committed.
const inOrder = 40 * time.Second

// lasting is an order that the scheduler expects to take so many seconds.
func lasting(seconds float64, p shellParams) queue.WorkOrder {
	o := order(p)
	o.ExpectedSeconds = seconds
	return o
}

func TestAnIdleWorkerLeaves(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const patience = 500 * time.Millisecond
	began := time.Now()
	w := b.hire(1, func(cfg *worker.Config) { cfg.IdleExit = patience })
	o := order(shellParams{Script: untilTold})
	b.enqueue(o)
	b.awaitStart(o)
	<-time.After(2 * patience)
	if b.heartbeat(w).WorkerID == "" {
		t.Fatal("the worker has left with an attempt that runs")
	}
	b.tell(o)
	expectSuccess(t, b.ending(o))
	ended := time.Now()
	b.awaitLeft(w)
	if idle := time.Since(ended); idle < patience/2 {
		t.Errorf("left %s after its last attempt, %s after its start, want %s of idleness", idle, time.Since(began), patience)
	}
	if hb := b.heartbeat(w); hb.WorkerID != "" {
		t.Error("the worker is still in the fleet")
	}
}

// TestATaskThatWouldNotEndIsHandedBack: at once, unstarted, to whoever stays longer, and not again and again.
func TestATaskThatWouldNotEndIsHandedBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	until := time.Now().Add(inOrder + time.Minute)
	short := b.hire(2, func(cfg *worker.Config) {
		cfg.DrainGrace, cfg.Until, cfg.Name = time.Millisecond, until, "molfabric-test-1"
	})
	b.eventually("it says until when it stays", func() bool {
		hb := b.heartbeat(short)
		return hb.Until.Equal(until) && hb.Name == "molfabric-test-1"
	})
	quick := lasting(5, shellParams{Script: "true"})
	b.enqueue(quick)
	expectSuccess(t, b.ending(quick))

	unsaid := order(shellParams{Script: "true"}) // of a scheduler that says nothing: by its plan
	unsaid.Shard.ExpectedCPUSeconds, unsaid.Shard.Needs.CPUs = 7200, 2
	long := []queue.WorkOrder{lasting(3600, shellParams{Script: "true"}), lasting(61, shellParams{Script: "true"}), unsaid,
		lasting(1e9, shellParams{Script: "true"})}
	b.enqueue(long...)
	handedBack := func() (n int) {
		for _, o := range long {
			for _, event := range b.of(o, "") {
				expectFailure(t, event, engines.System, queue.LeavesSoon)
				if !event.GivenBack || event.Usage != (queue.Usage{}) {
					t.Errorf("%s counts as an attempt: %+v", o.Ref(), event)
				}
				n++
			}
			if len(b.of(o, queue.Started)) > 0 {
				t.Errorf("%s was started", o.Ref())
			}
		}
		return n
	}
	b.eventually("both places have handed one back", func() bool { return handedBack() == 2 })
	<-time.After(time.Second)
	if n := handedBack(); n != 2 {
		t.Errorf("%d were handed back within a second by two places, want that each rests", n)
	}
	b.hire(1, nil) // stays
	for _, o := range long {
		if len(b.of(o, "")) > 0 {
			again := attemptOf(o, o, 2)
			b.enqueue(again)
			expectSuccess(t, b.ending(again))
		} else {
			expectSuccess(t, b.ending(o))
		}
	}
}

// TestATaskThatWaitedTooLongIsHandedBack: what fits when it is claimed and no more when it gets its cores.
func TestATaskThatWaitedTooLongIsHandedBack(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(2, func(cfg *worker.Config) {
		cfg.DrainGrace, cfg.Until = time.Millisecond, time.Now().Add(inOrder+30*time.Second)
	})
	running, waiting := lasting(1, shellParams{Script: untilTold}), lasting(28, shellParams{Script: "true"})
	running.Shard.Needs.CPUs, waiting.Shard.Needs.CPUs = 2, 2
	b.enqueue(running)
	b.awaitStart(running)
	b.enqueue(waiting)
	b.awaitPhase(w, waiting, queue.Waiting)
	<-time.After(2500 * time.Millisecond)
	b.tell(running)
	expectFailure(t, b.ending(waiting), engines.System, queue.LeavesSoon)
}

// TestAWorkerHasLeftByItsEnd: it drains by itself; what runs beyond its grace is given back as an attempt, with what it has saved.
func TestAWorkerHasLeftByItsEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	until := time.Now().Add(inOrder + 3*time.Second)
	w := b.hire(1, func(cfg *worker.Config) { cfg.DrainGrace, cfg.Until = 100*time.Millisecond, until })
	o := lasting(1, shellParams{Script: save + "save frame-1 1\nsleep 600"})
	b.enqueue(o)
	b.awaitStart(o)
	b.awaitSaved(o, "checkpoint/frame-1", "1")
	event := b.ending(o)
	expectFailure(t, event, engines.System, "WORKER_DRAINED")
	if event.GivenBack {
		t.Error("what has run counts as no attempt")
	}
	b.awaitLeft(w)
	if late := time.Since(until); late > 0 {
		t.Errorf("left %s late", late)
	}
}

func TestAWorkerWithoutTimeDoesNotStart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, change := range map[string]func(*worker.Config){
		"until":     func(cfg *worker.Config) { cfg.Until = time.Now().Add(time.Minute) },
		"idle-exit": func(cfg *worker.Config) { cfg.IdleExit = -time.Second },
	} {
		cfg := worker.Config{Queue: b.queue, Engines: engines.NewRegistry(shell{"shell"}), Runner: b.sandboxed(),
			Offered: []worker.Offer{{Engine: "shell", Hardware: "cpu"}}, Slots: 1, ScratchDir: b.scratch,
			DrainGrace: 30 * time.Second, Log: slog.New(slog.DiscardHandler)}
		change(&cfg)
		if _, err := worker.New(cfg); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}

// TestAnEngineThatIsEndedWithItsWorkerHasNotFailed: batch systems signal all processes of a job at once. The same signal while the
// worker stays is the engine's failure.
func TestAnEngineThatIsEndedWithItsWorkerHasNotFailed(t *testing.T) {
	t.Parallel()
	for name, leaves := range map[string]bool{"with its worker": true, "alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.hire(1, nil)
			o := order(shellParams{Script: untilTold + "; kill -TERM $$"})
			b.enqueue(o)
			b.awaitStart(o)
			if leaves {
				w.leave()
				b.eventually("the worker drains", func() bool { return b.heartbeat(w).Draining })
			}
			b.tell(o)
			if leaves {
				expectFailure(t, b.ending(o), engines.System, "WORKER_DRAINED")
			} else {
				expectFailure(t, b.ending(o), engines.Executor, "ENGINE_FAILED")
			}
		})
	}
}

// TestTasksThatRunAtOnceShareTheMemory: with places enough, a task waits until it can have the memory that it needs; one that needs
// more than there is runs alone.
func TestTasksThatRunAtOnceShareTheMemory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(4, func(cfg *worker.Config) { cfg.MemoryBytes = 300 << 20 })
	first, second, large := order(shellParams{Script: untilTold}), order(shellParams{Script: untilTold}),
		order(shellParams{Script: "true"})
	large.Shard.Needs.MemoryBytes = 400 << 20 // the others need 256 MiB
	b.enqueue(first)
	b.awaitStart(first)
	b.enqueue(second)
	b.awaitPhase(w, second, queue.Waiting)
	seen := b.heartbeat(w).Seq
	b.eventually("two more heartbeats", func() bool { return b.heartbeat(w).Seq >= seen+2 })
	if held := b.held(w, second); held == nil || held.Phase != queue.Waiting {
		t.Fatalf("the second task is held as %+v beside the first, want it to wait for memory", held)
	}
	b.tell(first)
	b.awaitStart(second)
	b.enqueue(large)
	b.awaitPhase(w, large, queue.Waiting)
	b.tell(second)
	expectSuccess(t, b.ending(large))
}
