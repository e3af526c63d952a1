package frames

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want string // as Format writes it; "" means refused
		part string // of the refusal
	}{
		{"1", "1", ""},
		{"0", "0", ""},
		{"-5", "-5", ""},
		{"0001-0010", "1-10", ""},
		{"1-10", "1-10", ""},
		{"1-100:10", "1-91:10", ""},
		{"1-100:99", "1,100", ""},
		{"1-100:100", "1", ""},
		{"1,3,5-9", "1-5:2,6-9", ""},
		{"1-3,4-6", "1-6", ""},
		{"4-6,1-3", "1-6", ""},
		{"1,2,3,4", "1-4", ""},
		{"1-9:2,11-15:2", "1-15:2", ""},
		{"1-4,6,8", "1-4,6,8", ""},
		{"-10--1", "-10--1", ""},
		{"-3-3", "-3-3", ""},
		{"10-1:-1", "1-10", ""},
		{"10-1:-3", "1-10:3", ""},
		{"10-2:-3", "4-10:3", ""},
		{"5-5", "5", ""},
		{"5-5:-7", "5", ""},
		{" 1 - 10 : 2 ,\t20 ", "1-9:2,20", ""},
		{"-2147483647-2147483647", "-2147483647-2147483647", ""},
		{"", "", "at character 1: expected a whole number"},
		{" ", "", "at character 2: expected a whole number"},
		{",", "", "at character 1"},
		{"1,", "", "at character 3"},
		{"1-", "", "at character 3"},
		{"1-5:", "", "at character 5"},
		{"1-5:0", "", "a step must not be 0"},
		{"10-1", "", "negative step"},
		{"1-10:-1", "", "positive step"},
		{"1-5,5", "", "1-5 and 5 overlap"},
		{"1,1", "", "1 and 1 overlap"},
		{"1-9:2,2-10:2", "", "overlap"},
		{"1..5", "", "at character 2: expected a comma"},
		{"1 5", "", "at character 3: expected a comma"},
		{"a", "", "whole number"},
		{"+1", "", "whole number"},
		{"1.5", "", "comma"},
		{"1e3", "", "comma"},
		{"١", "", "whole number"},
		{"1\n", "", "comma"},
		{"2147483648", "", "±2147483647"},
		{"1-5:2147483648", "", "±2147483647"},
		{"1234567890123456789", "", "18 digits"},
		{strings.Repeat("0", MaxTextBytes) + "1", "", "65536 characters"},
	} {
		ranges, err := Parse(c.text)
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), c.part) {
				t.Errorf("Parse(%.40q) = %v, %v; want an error with %q", c.text, ranges, err, c.part)
			}
			continue
		}
		if got := Format(ranges); err != nil || got != c.want {
			t.Errorf("Parse(%q) = %s, %v; want %s", c.text, got, err, c.want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, last, step int64
		want              Range
		count             int64
	}{
		{1, 100, 10, Range{1, 91, 10}, 10},
		{1, 100, 1, Range{1, 100, 1}, 100},
		{7, 7, 5, Range{7, 7, 1}, 1},
		{-10, 10, 7, Range{-10, 4, 7}, 3},
		{10, -10, -7, Range{-4, 10, 7}, 3},
		{-MaxNumber, MaxNumber, 1, Range{-MaxNumber, MaxNumber, 1}, 2*MaxNumber + 1},
	} {
		got, err := Span(c.first, c.last, c.step)
		if err != nil || got != c.want || got.Count() != c.count {
			t.Errorf("Span(%d, %d, %d) = %v with %d frames, %v; want %v with %d", c.first, c.last, c.step, got, got.Count(), err,
				c.want, c.count)
		}
	}
}

func TestAllStopsWhenAsked(t *testing.T) {
	t.Parallel()
	var got []int64
	for frame := range All([]Range{{1, 5, 2}, {-MaxNumber, MaxNumber, 1}}) {
		if got = append(got, frame); len(got) == 4 {
			break
		}
	}
	if want := []int64{1, 3, 5, -MaxNumber}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestMergeKeepsTheFrames compares with the plain list of frames, whatever way they are cut into ranges.
func TestMergeKeepsTheFrames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want []int64
		var ranges []Range
		next := rapid.Int64Range(-50, 50).Draw(t, "start")
		for range rapid.IntRange(1, 8).Draw(t, "ranges") {
			step, count := rapid.Int64Range(1, 4).Draw(t, "step"), rapid.Int64Range(1, 5).Draw(t, "count")
			r, err := Span(next, next+(count-1)*step, step)
			if err != nil {
				t.Fatal(err)
			}
			ranges = append(ranges, r)
			want = slices.AppendSeq(want, All([]Range{r}))
			next = r.Last + rapid.Int64Range(1, 4).Draw(t, "gap")
		}
		merged, err := Merge(rapid.Permutation(ranges).Draw(t, "order"))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Collect(All(merged)); !slices.Equal(got, want) || Count(merged) != int64(len(want)) {
			t.Fatalf("%v merged to %v: got frames %v, want %v", ranges, merged, got, want)
		}
		single := make([]Range, len(want))
		for i, frame := range want {
			single[i] = Range{frame, frame, 1}
		}
		if alone, err := Merge(single); err != nil || !Equal(alone, merged) {
			t.Fatalf("frame by frame %v, %v; as ranges %v", alone, err, merged)
		}
		if again, err := Parse(Format(merged)); err != nil || !Equal(again, merged) {
			t.Fatalf("%s was read as %v, %v; want %v", Format(merged), again, err, merged)
		}
	})
}

// FuzzParse feeds foreign text: what is accepted is ascending, within bounds, and survives writing and reading again.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"1-100:10", "1,3,5-9", "-10--1", "10-1:-3", " 1 - 5 ", "1-9:2,2", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ranges, err := Parse(text)
		if err != nil {
			return
		}
		last := int64(-MaxNumber - 1)
		for _, r := range ranges {
			if r.First <= last || r.Last < r.First || r.Step < 1 || (r.Last-r.First)%r.Step != 0 || r.Last > MaxNumber {
				t.Fatalf("%q gave %v", text, ranges)
			}
			last = r.Last
		}
		if again, err := Parse(Format(ranges)); err != nil || !Equal(again, ranges) {
			t.Fatalf("%q gave %v, again %v, %v", text, ranges, again, err)
		}
	})
}
