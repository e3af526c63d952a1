// Package frames holds the frame ranges of render jobs: the Open Job Description range syntax ("1-100:10", "1,3,5-9"), and
// arithmetic over them. It is pure.
package frames

// Range is First, First+Step, … up to Last, all inclusive. Step is at least 1, First ≤ Last, and Last is one of the frames.
type Range struct {
	First, Last, Step int64
}

// Count is how many frames the range holds.
func (r Range) Count() int64 { return (r.Last-r.First)/r.Step + 1 }
