package scheduler

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/queue"
)

func claimOf(t *testing.T) queue.Claim {
	t.Helper()
	claim, err := queue.NewClaim(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func TestWatch(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	ref := queue.Ref{TaskID: "task_1", Attempt: 1}
	beat := func(seq int64, held ...queue.Ref) []queue.Heartbeat {
		hb := queue.Heartbeat{WorkerID: "wrk_1", Seq: seq, Queues: []string{"cpu.x"}, Slots: 2}
		for _, r := range held {
			hb.Held = append(hb.Held, queue.Held{Ref: r, Phase: queue.Running})
		}
		return []queue.Heartbeat{hb}
	}

	t.Run("a heartbeat that does not rise is silence", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		w.hear(beat(1, ref), nil, start)
		w.hear(beat(1, ref), nil, start.Add(lostAfter))
		if buried := w.bury(start.Add(lostAfter)); len(buried) != 1 || w.held[ref] != nil {
			t.Errorf("buried %d workers, held %v; want one and nothing", len(buried), w.held)
		}
		if !w.lost(ref, "", start.Add(lostAfter)) {
			t.Error("an attempt in the last heartbeat of a lost worker is not lost at once")
		}
	})
	t.Run("a rising heartbeat is life", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		w.hear(beat(1), nil, start)
		w.hear(beat(2, ref), nil, start.Add(lostAfter))
		if buried := w.bury(start.Add(lostAfter)); len(buried) != 0 || w.held[ref] == nil || (*w.slots())["cpu.x"] != 2 {
			t.Errorf("buried %d workers, held %v, slots %v", len(buried), w.held, *w.slots())
		}
	})
	t.Run("after a pause of Redis everybody gets time to report", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		w.hear(beat(1), nil, start)
		if w.lost(ref, "", start) {
			t.Error("an attempt is lost when it is first missed")
		}
		w.forgive(start.Add(time.Hour))
		if buried := w.bury(start.Add(time.Hour)); len(buried) != 0 || w.lost(ref, "", start.Add(time.Hour)) {
			t.Errorf("buried %d workers at once", len(buried))
		}
		if !w.lost(ref, "", start.Add(time.Hour+lostAfter)) {
			t.Error("an attempt that nobody answers for is never lost")
		}
	})
	t.Run("a zombie lives again", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		w.hear(beat(1, ref), nil, start)
		w.bury(start.Add(lostAfter))
		w.hear(beat(2, ref), nil, start.Add(lostAfter))
		if w.held[ref] == nil || w.dead["wrk_1"] || w.diedHolding[ref] {
			t.Error("a worker that speaks again is still taken for dead")
		}
	})
	t.Run("an attempt is held by who proves it, once a heartbeat", func(t *testing.T) {
		t.Parallel()
		claim, self, stranger := claimOf(t), claimOf(t), claimOf(t)
		w, inFlight := newWatch(""), map[queue.Ref][]byte{ref: claim.Witness()}
		say := func(worker string, seq int64, claim, self queue.Claim) queue.Heartbeat {
			held := queue.Held{Ref: ref, Phase: queue.Running}.Proven(claim, self)
			return queue.Heartbeat{WorkerID: worker, Seq: seq, Held: []queue.Held{held}}.Signed(self)
		}
		first, second := say("wrk_1", 1, claim, self), say("wrk_1", 2, claim, self)
		copied := queue.Heartbeat{WorkerID: "wrk_2", Seq: 9, Held: first.Held}.Signed(stranger)
		renumbered := second
		renumbered.Seq = 9
		for i, test := range []struct {
			beats        []queue.Heartbeat
			held, forged int
		}{
			{[]queue.Heartbeat{first, say("wrk_2", 1, stranger, stranger)}, 1, 1},
			{[]queue.Heartbeat{first}, 1, 0},
			{[]queue.Heartbeat{second}, 1, 0},
			{[]queue.Heartbeat{first}, 0, 1}, // sent again by somebody who has read it
			{[]queue.Heartbeat{first}, 0, 0}, // counted once
			{[]queue.Heartbeat{second}, 0, 1},
			{[]queue.Heartbeat{say("wrk_1", 3, claim, self)}, 1, 0},
			{[]queue.Heartbeat{renumbered}, 0, 1},
			{[]queue.Heartbeat{copied}, 0, 1},
			{[]queue.Heartbeat{say("wrk_1", 10, queue.Claim{}, queue.Claim{})}, 0, 1},
			{[]queue.Heartbeat{say("wrk_1", 11, queue.Claim{}, self)}, 1, 0}, // it has proven it before
		} {
			forged := w.hear(test.beats, inFlight, start)
			if len(forged) != test.forged || len(w.held) != test.held {
				t.Errorf("step %d: %d forged and %d held, want %d and %d", i, len(forged), len(w.held), test.forged, test.held)
			}
		}
		if w.hear(nil, nil, start); w.held[ref] == nil {
			t.Error("an attempt that is not in flight any more cannot be told to stop")
		}
	})
	t.Run("nothing is remembered of what is over", func(t *testing.T) {
		t.Parallel()
		w := newWatch("")
		w.hear(beat(1, ref), nil, start)
		w.bury(start.Add(lostAfter))
		w.lost(queue.Ref{TaskID: "task_2"}, "", start)
		w.told[ref] = "0.500 half way"
		w.keepOnly(nil)
		if len(w.dead)+len(w.diedHolding)+len(w.missingSince)+len(w.told) != 0 {
			t.Errorf("remembered: %+v", w)
		}
	})
}

func TestCheckPlan(t *testing.T) {
	t.Parallel()
	s := &Scheduler{Deps: Deps{Engines: engines.NewRegistry()}}
	object := &engines.Object{StorageKey: "scene"}
	from := func(stage string) *engines.From { return &engines.From{Stage: stage, Output: "out"} }
	tests := []struct {
		name string
		plan []engines.Shard
		ok   bool
	}{
		{"empty", nil, false},
		{"two stages", []engines.Shard{{Stage: "a", Inputs: []engines.Input{{Object: object}}},
			{Stage: "b", StageIndex: 1, Inputs: []engines.Input{{From: from("a")}}}}, true},
		{"begins late", []engines.Shard{{Stage: "b", StageIndex: 1}}, false},
		{"leaves a stage out", []engines.Shard{{Stage: "a"}, {Stage: "c", StageIndex: 2}}, false},
		{"goes back", []engines.Shard{{Stage: "a"}, {Stage: "b", StageIndex: 1}, {Stage: "a"}}, false},
		{"input without source", []engines.Shard{{Stage: "a", Inputs: []engines.Input{{Name: "x"}}}}, false},
		{"input with two sources", []engines.Shard{{Stage: "a"}, {Stage: "b", StageIndex: 1,
			Inputs: []engines.Input{{Object: object, From: from("a")}}}}, false},
		{"input from its own stage", []engines.Shard{{Stage: "a", Inputs: []engines.Input{{From: from("a")}}}}, false},
		{"input from an unknown stage", []engines.Shard{{Stage: "a"}, {Stage: "b", StageIndex: 1,
			Inputs: []engines.Input{{From: from("z")}}}}, false},
		{"of no engine", []engines.Shard{{Stage: "a", Engine: "nobody"}}, false},
		{"parameters too large", []engines.Shard{{Stage: "a", Params: make([]byte, engines.MaxShardParamsBytes+1)}}, false},
	}
	for _, test := range tests {
		if err := s.checkPlan(engines.Spec{Hardware: engines.HardwareCPU}, test.plan); (err == nil) != test.ok {
			t.Errorf("%s: got %v, want ok: %v", test.name, err, test.ok)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{0: 2 * time.Second, 1: 4 * time.Second, 4: 32 * time.Second, 5: time.Minute,
		1000: time.Minute} {
		if got := backoff(n); got != want {
			t.Errorf("after %d returns: %s, want %s", n, got, want)
		}
	}
}
