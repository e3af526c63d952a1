package wavewatch3

import (
	"strconv"
	"time"

	"github.com/molfabric/molfabric/engines/waves"
)

// windows cut a run into parts of about waves.WindowSeconds; none where it cannot be cut. A run is cut only at times at which the
// whole one stops its steps too, for an output, and behind an even number of steps: propagation in the spectrum takes its two
// directions in turns. A case that asks for restart files is cut at those.
func (d deck) windows() []window {
	at := d.cuts()
	if d.cannotCut != "" || len(at) == 0 {
		return []window{}
	}
	expected, _ := d.seconds()
	count := waves.Windows(len(at)+1, expected)
	windows := make([]window, count)
	begin := d.start
	for i := range windows {
		end := d.stop
		if i+1 < count {
			end = at[(i+1)*(len(at)+1)/count-1]
		}
		windows[i] = d.window(i, begin, end)
		begin = end
	}
	return windows
}

// cuts are the times within a run at which it may be cut.
func (d deck) cuts() []time.Time {
	every := d.field
	switch {
	case d.restart.stride > 0:
		every = d.restart
	case d.field.stride <= 0:
		every = d.point
	}
	var at []time.Time
	if every.stride <= 0 || d.global <= 0 {
		return nil
	}
	for t := every.from(d.start.Add(1)); t.Before(d.stop) && !t.After(every.last) && len(at) < maxSteps; t = t.Add(every.stride) {
		if t.Sub(d.start)%(2*d.global) == 0 {
			at = append(at, t)
		}
	}
	return at
}

// window is one part, with its outputs: those behind the window before it.
func (d deck) window(number int, begin, end time.Time) window {
	w := window{Begin: spell(begin), End: spell(end)}
	after := begin
	if number > 0 {
		after = begin.Add(1)
	}
	w.Field, w.Point = d.field.part(after, end), d.point.part(after, end)
	w.Restart = d.restart.part(begin.Add(1), end)
	if end.Before(d.stop) && d.restart.stride <= 0 {
		w.Restart, w.Own = [3]string{spell(end), "3600", spell(end)}, true
	}
	return w
}

// part are the times of a series from one time to another, as DATE% takes them.
func (s series) part(from, to time.Time) [3]string {
	first := s.from(from)
	if s.last.Before(to) {
		to = s.last
	}
	if s.stride <= 0 || first.After(to) {
		return [3]string{spell(from.Truncate(time.Second)), "0", spell(from.Truncate(time.Second))}
	}
	return [3]string{spell(first), strconv.FormatInt(int64(s.stride/time.Second), 10), spell(to)}
}
