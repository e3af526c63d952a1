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
	if got, want := p.times(), "1:00, cannot say yet how much longer"; got != want {
		t.Errorf("at first: got %q, want %q", got, want)
	}
	c.pass(10 * time.Second)
	p.update(60, "docking\n imatinib")
	if got, want := p.times(), "1:10, about 30 to 50 seconds left"; got != want || p.message != "docking imatinib" {
		t.Errorf("10 %% in 10 s: got %q, %q; want %q", got, p.message, want)
	}
	c.pass(50 * time.Second) // and no progress
	if got, want := p.times(), "2:00, about 1 to 13 minutes left"; got != want {
		t.Errorf("a pause: got %q, want %q", got, want)
	}
	p.update(20, "again")
	if got, want := p.times(), "2:00, cannot say yet how much longer"; got != want {
		t.Errorf("begun again: got %q, want %q", got, want)
	}
	p.update(100, "done")
	if got, want := p.times(), "2:00"; got != want {
		t.Errorf("done: got %q, want %q", got, want)
	}
}

// TestGuessesNarrow follows an even run and an uneven one: what is said is always true, the even run's becomes narrow, and that of
// the uneven one is wider.
func TestGuessesNarrow(t *testing.T) {
	t.Parallel()
	follow := func(pauses ...time.Duration) (widths []float64) {
		c := newTicker()
		p := &pace{now: c.now, start: c.at, seen: c.at, first: -1}
		p.update(0, "")
		whole := time.Duration(0)
		for i := range 100 {
			whole += pauses[i%len(pauses)]
		}
		for i := range 99 {
			c.pass(pauses[i%len(pauses)])
			p.update(float64(i+1), "")
			low, high, ok := p.left()
			if !ok {
				continue
			}
			if left := whole - c.at.Sub(p.start); left < low || left > high {
				t.Errorf("%v, %d %%: says %s to %s, and it is %s", pauses, i+1, low, high, left)
			}
			widths = append(widths, float64(high)/float64(low))
		}
		return widths
	}
	even, uneven := follow(6*time.Second), follow(time.Second, time.Second, time.Second, 21*time.Second)
	for _, at := range []int{0, 50, 90} {
		if at > 0 && even[at] >= even[0] {
			t.Errorf("an even run: got %v at %d, and %v at first", even[at], at, even[0])
		}
		if uneven[at] <= even[at] {
			t.Errorf("at %d: an uneven run is guessed within %v, an even one within %v", at, uneven[at], even[at])
		}
	}
	if last := even[len(even)-1]; last > 1.3 {
		t.Errorf("at the end of an even run: got a factor of %v", last)
	}
}

func TestStretchesAreBounded(t *testing.T) {
	t.Parallel()
	c := newTicker()
	p := &pace{now: c.now, start: c.at, seen: c.at, first: -1}
	for i := range 10_000 {
		p.update(float64(i)/100, "")
		c.pass(time.Second)
	}
	if len(p.past) > maxStretches {
		t.Errorf("%d stretches are kept", len(p.past))
	}
	if low, high, ok := p.left(); !ok || low > time.Second || high < time.Second {
		t.Errorf("a hundredth of a percent is left: got %s to %s, %v", low, high, ok)
	}
}

func TestRangeText(t *testing.T) {
	t.Parallel()
	for want, r := range map[string][2]time.Duration{
		"about 1 second":          {0, 400 * time.Millisecond},
		"about 2 to 4 seconds":    {2 * time.Second, 4 * time.Second},
		"about 20 to 50 seconds":  {21 * time.Second, 48 * time.Second},
		"about 2 to 5 minutes":    {130 * time.Second, 310 * time.Second},
		"about 1 to 2 minutes":    {20 * time.Second, 121 * time.Second},
		"about 3 minutes":         {165 * time.Second, 195 * time.Second},
		"about 2 to 4 hours":      {100 * time.Minute, 230 * time.Minute},
		"about 90 to 170 minutes": {90 * time.Minute, 170 * time.Minute},
	} {
		if got := rangeText(r[0], r[1]); got != want {
			t.Errorf("%v: got %q, want %q", r, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0:00", 400 * time.Millisecond: "0:00", 59600 * time.Millisecond: "1:00", 61 * time.Second: "1:01",
		3661 * time.Second: "1:01:01",
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
	want := "  0.0 %  docking  (0:00, cannot say yet how much longer)\n 50.0 %  docking  (0:05, about 4 to 7 seconds left)\n" +
		" 99.0 %  docking  (1:10, about 10 to 60 seconds left)\n100.0 %  docking  (2:10)\n"
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
