package alphafold

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/fold/foldtest"
)

// TestRestart loses a worker after its first protein. Two runs of one seed give the same bytes.
func TestRestart(t *testing.T) { //nolint:paralleltest // what it compiles is there for the other tests
	weights, objects := tinyWeights(t)
	r := foldtest.RequestOf(t, ">short\n"+short+"\n>other\n"+other+"\n", weights)
	r.Params = json.RawMessage(`{"foldModels":1,"foldRecycles":0,"seed":7}`)
	plan, err := New().Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	printed := foldtest.Restart(t, New(), plan[0], objects, "0002-other-0000000000000000.json",
		[]string{"0001-short.pdb", "0001-short.cif", "0001-short.scores.json", "0002-other.pdb", "0002-other.scores.json"},
		compiled+"="+os.Getenv(compiled))
	if strings.Count(printed, "checkpoint/") != 1 {
		t.Errorf("the next attempt printed %s, want one protein folded", printed)
	}
}
