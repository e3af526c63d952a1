package receipt

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"
)

// Draw draws n of the names, or all where there are no more, and returns their places in ascending order: those whose SHA-256 of
// "<seed>/<name>", the seed in decimal digits, is smallest. So anybody can draw the same with any tool, and of one seed a larger
// sample holds the smaller one.
func Draw(seed int64, names []string, n int) []int {
	lots := make([][sha256.Size]byte, len(names))
	places := make([]int, len(names))
	for i, name := range names {
		lots[i], places[i] = sha256.Sum256([]byte(strconv.FormatInt(seed, 10)+"/"+name)), i
	}
	slices.SortStableFunc(places, func(a, b int) int { return bytes.Compare(lots[a][:], lots[b][:]) })
	drawn := places[:min(max(n, 0), len(places))]
	slices.Sort(drawn)
	return drawn
}
