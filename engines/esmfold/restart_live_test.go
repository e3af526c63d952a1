package esmfold

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/fold/foldtest"
)

// TestRestart loses a worker after its first protein. Two runs of one seed give the same bytes.
func TestRestart(t *testing.T) {
	t.Parallel()
	weights, objects := tinyWeights(t)
	request := foldtest.RequestOf(t, ">short\n"+short+"\n>cage\n"+trpCage+"\n>long\n"+trpCage+trpCage+"\n", weights)
	plan, err := New().Plan(request)
	if err != nil {
		t.Fatal(err)
	}
	printed := foldtest.Restart(t, New(), plan[0], objects, "0002-cage-0000000000000000.json",
		[]string{"0001-short.pdb", "0001-short.cif", "0001-short.scores.json", "0002-cage.pdb", "0003-long.scores.json"})
	if strings.Contains(printed, "checkpoint/0001-short") || !strings.Contains(printed, "checkpoint/0003-long") {
		t.Errorf("the next attempt printed %s", printed)
	}
}
