// Package parallel spreads work that needs nothing but a processor over all of them.
package parallel

import (
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// leastRun is how many items a run has at least: fewer are done before a goroutine has begun.
const leastRun = 256

// Runs cuts items into as many runs of neighbours as there are processors, calls do with all of them at once and returns what it
// made of each, in the order of the items. do may change the items of its run. The error is that of one of the runs that failed.
func Runs[T, R any](items []T, do func(run []T) (R, error)) ([]R, error) {
	runs := slices.Collect(slices.Chunk(items, max(leastRun, (len(items)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))))
	made := make([]R, len(runs))
	var group errgroup.Group
	for i, run := range runs {
		group.Go(func() (err error) {
			made[i], err = do(run)
			return err
		})
	}
	return made, group.Wait()
}
