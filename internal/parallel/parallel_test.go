package parallel_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/molfabric/molfabric/internal/parallel"
)

func TestRunsAreInOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 255, 256, 257, 1000, 10_000} {
		items := make([]int, n)
		for i := range items {
			items[i] = i
		}
		made, err := parallel.Runs(items, func(run []int) ([]int, error) {
			for i := range run {
				run[i] *= 2
			}
			return slices.Clone(run), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Concat(made...)
		if len(all) != n {
			t.Fatalf("%d items became %d", n, len(all))
		}
		for i, got := range all {
			if got != 2*i || items[i] != 2*i {
				t.Fatalf("item %d of %d: got %d and %d, want %d", i, n, got, items[i], 2*i)
			}
		}
	}
}

func TestRunsFailWithARun(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	items := make([]bool, 10_000)
	items[9_999] = true
	_, err := parallel.Runs(items, func(run []bool) (int, error) {
		if slices.Contains(run, true) {
			return 0, broken
		}
		return 0, nil
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
