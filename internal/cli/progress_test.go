package cli

import (
	"bytes"
	"io"
	"testing"
	"time"
)

// ticker is a clock that the test moves.
type ticker struct{ at time.Time }

func newTicker() *ticker { return &ticker{time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)} }

func (c *ticker) now() time.Time       { return c.at }
func (c *ticker) pass(d time.Duration) { c.at = c.at.Add(d) }

func TestPace(t *testing.T) {
	t.Parallel()
	c := newTicker()
	p := &pace{now: c.now, start: c.at.Add(-time.Minute), seen: c.at, first: -1}
	p.update(50, "docking")
	if got, want := p.times(), "1:00"; got != want {
		t.Errorf("at first: got %q, want %q", got, want)
	}
	c.pass(10 * time.Second)
	p.update(60, "docking\n imatinib")
	if got, want := p.times(), "1:10, about 0:40 left"; got != want || p.message != "docking imatinib" {
		t.Errorf("10 %% in 10 s: got %q, %q; want %q", got, p.message, want)
	}
	p.update(100, "done")
	if got, want := p.times(), "1:10"; got != want {
		t.Errorf("done: got %q, want %q", got, want)
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0:00", 400 * time.Millisecond: "0:00", 59600 * time.Millisecond: "1:00", 61 * time.Second: "1:01", 3661 * time.Second: "1:01:01",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	c := newTicker()
	var w bytes.Buffer
	shown := newDisplay(&w, c.now, 0)
	for i := range 100 { // ten times a second
		shown.update(float64(i), "docking")
		c.pass(100 * time.Millisecond)
	}
	c.pass(time.Minute)
	shown.update(99, "docking")
	shown.update(99, "docking")
	c.pass(time.Minute)
	shown.update(99, "docking")
	shown.close(true)
	want := "  0.0 %  docking  (0:00)\n 50.0 %  docking  (0:05, about 0:05 left)\n 99.0 %  docking  (1:10, about 0:01 left)\n"
	if w.String() != want {
		t.Errorf("got:\n%swant:\n%s", w.String(), want)
	}
}

func TestBarEnds(t *testing.T) {
	t.Parallel()
	for _, finished := range []bool{true, false} {
		c := newTicker()
		b := newBar(io.Discard, &pace{now: c.now, start: c.at, seen: c.at, first: -1}, 20)
		b.update(30, "docking")
		b.leaders(someLeaders())
		b.update(100, "docking")
		b.close(finished)
	}
}
