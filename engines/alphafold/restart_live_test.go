package alphafold

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
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
		quickly()...)
	if strings.Count(printed, "checkpoint/") != 1 {
		t.Errorf("the next attempt printed %s, want one protein folded", printed)
	}
}

// TestAlignmentAgain aligns a chain again after its worker was killed, and on two cores: it gives the same bytes. A worker whose
// database is another refuses.
func TestAlignmentAgain(t *testing.T) {
	t.Parallel()
	folder, database := alignmentDatabase(t)
	weights, objects := tinyWeights(t)
	r := foldtest.RequestOf(t, ">one\n"+petN+"\n", weights)
	r.Found.Alignment = database
	plan, err := New().Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	shard, env := plan[0], DatabaseVariable+"="+folder
	whole, killed, wide := engines.Dir(t.TempDir()), engines.Dir(t.TempDir()), engines.Dir(t.TempDir())
	enginestest.Attempt(t, NewAligner(), shard, whole, nil, nil, env)
	enginestest.Attempt(t, NewAligner(), shard, killed, nil, func(line string) bool {
		_, message, ok := NewAligner().Progress(line)
		return ok && strings.HasSuffix(message, ": expandaln")
	}, env)
	if _, err := NewAligner().Collect(shard, killed); err == nil {
		t.Error("Collect takes what a killed attempt has left")
	}
	more := shard
	more.Needs.CPUs = 2
	enginestest.Attempt(t, NewAligner(), more, wide, nil, nil, env)
	if _, err := NewAligner().Collect(more, wide); err != nil {
		t.Error(err)
	}
	enginestest.Same(t, whole, wide, alignmentOf(petN))

	changed := *database
	changed.Digest = strings.Repeat("0", 64)
	r.Found.Alignment = &changed
	outcome := enginestest.Drive(t, New(), r, objects, env)
	for name, code := range map[string]string{"msa-0001": "DATABASE_DIFFERS", "fold-001": "NOTHING_FOLDED"} {
		if failure := outcome.Failures[name]; failure == nil || failure.Code != code {
			t.Errorf("%s: got %v, want %s", name, failure, code)
		}
	}
}
