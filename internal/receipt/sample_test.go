package receipt

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestDrawIsOfTheSmallestDigests(t *testing.T) {
	t.Parallel()
	names := []string{"poses/00001.pdbqt", "poses/00002.pdbqt", "poses/00003.pdbqt", "poses/00004.pdbqt"}
	lots := map[string]int{}
	for i, name := range names {
		lots[fmt.Sprintf("%x", sha256.Sum256([]byte("-7/"+name)))] = i
	}
	smallest := []string{}
	for lot := range lots {
		smallest = append(smallest, lot)
	}
	slices.Sort(smallest)
	want := []int{lots[smallest[0]], lots[smallest[1]]}
	slices.Sort(want)
	if got := Draw(-7, names, 2); !slices.Equal(got, want) {
		t.Errorf("drew %v, want %v", got, want)
	}
}

func TestDrawIsASampleThatGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 8, -1), 0, 40, rapid.ID[string]).Draw(t, "names")
		seed, n := rapid.Int64().Draw(t, "seed"), rapid.IntRange(-1, 50).Draw(t, "n")
		got := Draw(seed, names, n)
		if len(got) != min(max(n, 0), len(names)) || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("drew %v of %d names, want %d places in order", got, len(names), n)
		}
		larger := Draw(seed, names, n+1)
		for _, place := range got {
			if place >= len(names) || !slices.Contains(larger, place) {
				t.Fatalf("drew %v, and with one more %v", got, larger)
			}
		}
	})
}

func TestDrawIsFair(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d"}
	drawn := map[int]int{}
	for seed := range int64(4000) {
		drawn[Draw(seed, names, 1)[0]]++
	}
	for place, times := range drawn { // 1,000 of each are expected, with a standard deviation of 27; the seeds are always the same
		if times < 850 || times > 1150 {
			t.Errorf("%s was drawn %d times of 4,000, want about 1,000", names[place], times)
		}
	}
}
