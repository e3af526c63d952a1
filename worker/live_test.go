package worker_test

import "testing"

// TestHeartbeatsTellWhatAnAttemptUses keeps a core busy: the worker's heartbeats tell how much of it the attempt has used, and more
// later.
func TestHeartbeatsTellWhatAnAttemptUses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.hire(1, nil)
	o := order(shellParams{Script: `until [ -e in/told ]; do :; done`})
	b.enqueue(o)
	b.awaitStart(o)
	first := int64(0)
	b.eventually("the heartbeats tell what the attempt uses", func() bool {
		if held := b.held(w, o); held != nil {
			first = held.Used.CPUMicroseconds
		}
		return first > 0
	})
	b.eventually("they tell more", func() bool {
		held := b.held(w, o)
		return held != nil && held.Used.CPUMicroseconds > first
	})
	b.tell(o)
	if end := b.ending(o); end.Usage.CPUMicroseconds < first {
		t.Errorf("the attempt used %d us in the end, its heartbeats told %d", end.Usage.CPUMicroseconds, first)
	}
}
