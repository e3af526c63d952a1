package bench

import (
	"math"
	"testing"
	"time"
)

func TestCoresWaitForWhatIsStillToStart(t *testing.T) {
	t.Parallel()
	submitted := time.Now()
	at := func(seconds float64) time.Time { return submitted.Add(time.Duration(seconds * float64(time.Second))) }
	attempts := []attemptTimes{
		// Both cores wait a second; one of them computes four, waits a half and computes three, the other computes three and waits
		// until the first one takes what is still to start.
		{Stage: 0, Started: at(1), Finished: at(5)}, {Stage: 0, Started: at(1), Finished: at(4)},
		{Stage: 0, Started: at(5.5), Finished: at(8.5)},
		// The next stage is one task, a tenth later. The job ends a quarter after it.
		{Stage: 1, Started: at(8.6), Finished: at(10.6)},
	}
	got := besides(attempts, submitted, at(10.85), 2)
	want := beside{engines: 12, waited: 2*1 + 0.5 + 1.5 + 2*0.1 + 2*0.25}
	if math.Abs(got.engines-want.engines) > 1e-6 || math.Abs(got.waited-want.waited) > 1e-6 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestSmallLigandsDiffer(t *testing.T) {
	t.Parallel()
	const n = knownLigands + knownScreens*newLigands
	seen := map[string]bool{}
	for _, ligand := range smallLigands(n) {
		seen[ligand.Source.SMILES.SMILES] = true
	}
	if len(seen) != n {
		t.Errorf("%d ligands differ, want %d", len(seen), n)
	}
}
