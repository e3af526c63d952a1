package engines

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxSlips is how many letters may be wrong, missing, too many or swapped in a name that is still taken for a slip, and
	// lettersPerSlip how many letters a name must have for each.
	maxSlips       = 2
	lettersPerSlip = 3
	// maxNameRunes bounds a name that is looked at: longer than any simulator's by far.
	maxNameRunes = 64
)

// Misspelt finds the simulators of the list that a name without one is near to: the ids of the nearest, none for a name of the
// list, for one that is another science (Lookalike), and for one that is near to none.
func Misspelt(name string) []string {
	key := Normalize(name)
	_, known := KnownSimulator(key)
	_, alike := Lookalike(key)
	if known || alike || utf8.RuneCountInString(key) > maxNameRunes {
		return nil
	}
	best := min(maxSlips, utf8.RuneCountInString(key)/lettersPerSlip)
	var nearest []string
	for _, s := range Simulators {
		slips := best + 1
		for _, spelling := range append([]string{Normalize(s.ID)}, s.Aliases...) {
			slips = min(slips, distance(key, spelling))
		}
		switch {
		case slips < best:
			best, nearest = slips, []string{s.ID}
		case slips == best && slips > 0:
			nearest = append(nearest, s.ID)
		}
	}
	return nearest
}

// DidYouMean is a question for a caller who has written an unknown name; "" where nothing is near to it.
func DidYouMean(name string) string {
	near := Misspelt(name)
	if len(near) == 0 {
		return ""
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// distance is the least number of letters to change, add, take out or swap with their neighbour that makes one text of the other
// (optimal string alignment, after Damerau 1964, doi:10.1145/363958.363994).
func distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := append(make([]int, 0, len(b)+1), i)
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row = append(row, min(change, last[j]+1, row[j-1]+1))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
