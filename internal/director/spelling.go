package director

import "slices"

// repair replaces misspelt words by the word of the lists that is nearest: one edit away from four letters, two from eight. What
// is a name of the session is left alone, as is what has two neighbours equally near, and what is good English for something else.
// It returns what was replaced.
func (l *lexicon) repair(ctx *Context, tokens []token) []string {
	own := map[string]bool{}
	for phrase := range l.sessionPhrases(ctx) {
		for _, part := range splitWords(phrase) {
			own[part] = true
		}
	}
	var repairs []string
	for i := range tokens {
		t := &tokens[i]
		if t.kind != word || own[t.text] || l.known(t.text) || l.ordinary[t.text] {
			continue
		}
		if better, ok := l.nearest(t.text); ok {
			repairs = append(repairs, t.raw+" → "+better)
			t.text = l.canonical(better)
		}
	}
	return repairs
}

// edits is how many edits a word of a length may be away.
func edits(length int) int {
	switch {
	case length < 4 || length > maxWordLength:
		return 0
	case length < 8:
		return 1
	}
	return 2
}

// nearest is the one word of the lists that is nearest to a word, within its edits. Of several equally near ones, the one that
// begins alike and is no plural of the others is taken; where that does not decide, none is.
func (l *lexicon) nearest(wrong string) (string, bool) {
	allowed := edits(len(wrong))
	best, found := allowed+1, []string(nil)
	for length := max(3, len(wrong)-allowed); length <= min(maxWordLength, len(wrong)+allowed); length++ {
		for _, candidate := range l.byLength[length] {
			switch d := distance(wrong, candidate, best); {
			case d > allowed || d > best:
			case d < best:
				best, found = d, []string{candidate}
			default:
				found = append(found, candidate)
			}
		}
	}
	return l.choose(wrong, found)
}

// choose decides among words that are equally near.
func (l *lexicon) choose(wrong string, found []string) (string, bool) {
	if len(found) > 1 {
		found = slices.DeleteFunc(found, func(candidate string) bool { return candidate[0] != wrong[0] })
	}
	if len(found) > 1 {
		if same := slices.DeleteFunc(slices.Clone(found), func(c string) bool { return len(c) != len(wrong) }); len(same) > 0 {
			found = same
		}
	}
	if len(found) == 0 {
		return "", false
	}
	for _, other := range found[1:] {
		if !l.alike(found[0], other) {
			return "", false
		}
	}
	return found[0], true
}

// alike tells whether two words mean the same wherever they stand alone.
func (l *lexicon) alike(a, b string) bool {
	first, second := l.phrases[l.canonical(a)], l.phrases[l.canonical(b)]
	return len(first) > 0 && len(second) > 0 && first[0] == second[0]
}

// distance counts insertions, deletions, replacements and exchanges of neighbours between two words of plain letters; it may stop
// and return a number above limit when that is exceeded.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) > limit {
		return limit + 1
	}
	var rows [3][2*maxWordLength + 2]int
	if len(b) > 2*maxWordLength {
		return limit + 1
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, above, row := &rows[(i+1)%3], &rows[(i+2)%3], &rows[i%3]
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
	}
	return rows[len(a)%3][len(b)]
}

func abs(n int) int { return max(n, -n) }

func splitWords(phrase string) []string {
	var words []string
	start := 0
	for i := range len(phrase) + 1 {
		if i == len(phrase) || phrase[i] == ' ' {
			words = append(words, phrase[start:i])
			start = i + 1
		}
	}
	return words
}
