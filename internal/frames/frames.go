// Package frames holds the frame ranges of render jobs: the Open Job Description range syntax ("1-100:10", "1,3,5-9") and
// arithmetic over it. It is pure and knows no job.
package frames

import (
	"errors"
	"fmt"
	"iter"
	"slices"
)

// MaxNumber bounds a frame number and a step, above and below: beyond every renderer's timeline (Blender ends at 1,048,574),
// and small enough that no sum of two overflows.
const MaxNumber = 1<<31 - 1

// Range is First, First+Step, … up to Last, all inclusive. Step is at least 1, First ≤ Last, and Last is one of the frames.
// The Step of a single frame is 1.
type Range struct {
	First, Last, Step int64
}

// Count is how many frames the range holds.
func (r Range) Count() int64 { return (r.Last-r.First)/r.Step + 1 }

// Span is the range of every step-th frame from first up to last at most. A negative step counts down from first to last; the
// range is the same frames in ascending order.
func Span(first, last, step int64) (Range, error) {
	for _, number := range []int64{first, last, step} {
		if number < -MaxNumber || number > MaxNumber {
			return Range{}, fmt.Errorf("a frame number and a step lie within ±%d", MaxNumber)
		}
	}
	switch {
	case step == 0:
		return Range{}, errors.New("a step must not be 0")
	case step > 0 && first > last:
		return Range{}, errors.New("a descending range needs a negative step")
	case step < 0 && first < last:
		return Range{}, errors.New("an ascending range needs a positive step")
	case step < 0:
		step = -step
		first, last = first-(first-last)/step*step, first
	}
	r := Range{First: first, Last: first + (last-first)/step*step, Step: step}
	if r.First == r.Last {
		r.Step = 1
	}
	return r, nil
}

// Merge brings ranges into the one form that their set of frames has: ascending, and each range as long as it can be when the
// frames are taken from the lowest on. As in Open Job Description, no range may begin before the one below it has ended, even
// where their steps would interleave. The argument is unchanged.
func Merge(ranges []Range) ([]Range, error) {
	ascending := slices.Clone(ranges)
	slices.SortFunc(ascending, func(a, b Range) int { return int(a.First - b.First) })
	var merged []Range
	for i, r := range ascending {
		if i > 0 && ascending[i-1].Last >= r.First {
			return nil, fmt.Errorf("%s and %s overlap", ascending[i-1], r)
		}
		merged = appendRange(merged, r)
	}
	return merged, nil
}

// appendRange adds r, which lies above all of merged, frame by frame in effect: a frame joins the last range when it is one
// step beyond its end, and a range of one frame takes any step.
func appendRange(merged []Range, r Range) []Range {
	if len(merged) == 0 {
		return append(merged, r)
	}
	end := &merged[len(merged)-1]
	gap := r.First - end.Last
	if end.First != end.Last && gap != end.Step {
		return append(merged, r)
	}
	end.Step, end.Last = gap, r.First
	if r.First == r.Last {
		return merged
	}
	if r.Step == gap {
		end.Last = r.Last
		return merged
	}
	rest := Range{First: r.First + r.Step, Last: r.Last, Step: r.Step}
	if rest.First == rest.Last {
		rest.Step = 1
	}
	return append(merged, rest)
}

// Count is how many frames the ranges hold together.
func Count(ranges []Range) int64 {
	var count int64
	for _, r := range ranges {
		count += r.Count()
	}
	return count
}

// All yields the frames of ranges in their order. Whoever walks over foreign ranges bounds Count first.
func All(ranges []Range) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for _, r := range ranges {
			for frame := r.First; frame <= r.Last; frame += r.Step {
				if !yield(frame) {
					return
				}
			}
		}
	}
}

// Equal reports whether two merged lists hold the same frames.
func Equal(a, b []Range) bool { return slices.Equal(a, b) }
