package scheduler

import (
	"bytes"
	"fmt"
	"testing"
)

// TestDrawn draws the share that was asked for, always the same, and other attempts under another secret.
func TestDrawn(t *testing.T) {
	t.Parallel()
	const attempts = 4000
	seed, other := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	drawn, both, all := 0, 0, 0
	for i := range attempts {
		task := fmt.Sprintf("task_%d", i)
		first := isDrawn(seed, 0.25, task, 1)
		if first != isDrawn(seed, 0.25, task, 1) || first && !isDrawn(seed, 0.5, task, 1) || isDrawn(seed, 0, task, 1) {
			t.Fatalf("%s is drawn at one time and not at another, or with no chance", task)
		}
		if first {
			drawn++
			if isDrawn(other, 0.25, task, 1) {
				both++
			}
		}
		if isDrawn(seed, 1, task, 2) {
			all++
		}
	}
	if drawn < attempts*22/100 || drawn > attempts*28/100 || both > drawn/2 || all != attempts {
		t.Errorf("drew %d of %d with a chance of 0.25, %d of them under another secret too, and %d with 1", drawn, attempts, both,
			all)
	}
}

// TestRoomForRepeats leaves the cores to tasks, and most of them to the rest.
func TestRoomForRepeats(t *testing.T) {
	t.Parallel()
	room := repeatRoom{slots: func(string) int { return 40 }, busy: 38, repeats: map[string]int{"a": 3}}
	for i, want := range []struct {
		queue string
		taken bool
	}{{"a", true}, {"a", false}, {"b", true}, {"b", false}} {
		if got := room.take(want.queue); got != want.taken {
			t.Errorf("%d: a place of %s: %v", i, want.queue, got)
		}
	}
}
