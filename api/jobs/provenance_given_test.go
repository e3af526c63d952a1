package jobs

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

func TestSeedsOfPlan(t *testing.T) {
	t.Parallel()
	for params, want := range map[string][]int64{
		`{"seed": 7}`:                                 {7},
		`{"seed": 7, "run": {"seed": -1}}`:            {-1, 7},
		`{"a": {"b": {"seed": 3}}}`:                   {3},
		`{"a": {"b": {"c": {"seed": 3}}}}`:            {},
		`{"runs": [{"seed": 2}, {"seed": 1}]}`:        {1, 2},
		`{"seed": 7.0, "b": {"seed": 1e3}}`:           {7, 1000},
		`{"seed": 7.5}`:                               {},
		`{"seed": "7"}`:                               {},
		`{"seed": 9223372036854775807}`:               {9223372036854775807},
		`{"seed": 9223372036854775808}`:               {},
		`{"seed": 1e999999999}`:                       {},
		`{"note": "seed", "seeds": 1, "Seed": 2}`:     {},
		`{"seed": {"seed": 5}, "other": [[{"a":1}]]}`: {5},
		`{}`: {},
	} {
		given := givenTo("scene")
		if err := given.add(engines.Shard{Params: json.RawMessage(params)}); err != nil ||
			!slices.Equal(given.sortedSeeds(), want) {
			t.Errorf("%s: got %v, %v; want %v", params, given.sortedSeeds(), err, want)
		}
	}
	if err := givenTo("scene").add(engines.Shard{Params: json.RawMessage(`{"seed"`)}); err == nil {
		t.Error("parameters that are cut were read")
	}
	many := givenTo("scene")
	for seed := range int64(maxSeeds + 5) {
		many.seeds[seed] = true
	}
	if got := many.sortedSeeds(); len(got) != maxSeeds || got[0] != 0 {
		t.Errorf("%d of %d seeds are listed", len(got), maxSeeds+5)
	}
}

func TestInputsOfPlan(t *testing.T) {
	t.Parallel()
	input := func(key, sha256 string, size int64) engines.Input {
		return engines.Input{Name: "n", Object: &engines.Object{StorageKey: key, SHA256: sha256, ByteSize: size}}
	}
	given := givenTo("scene")
	for _, inputs := range [][]engines.Input{{input("b", "", 1), {Name: "earlier", From: &engines.From{Stage: "prepare"}}},
		{input("b", "ff", 1), input("a", "ee", 2)}} {
		if err := given.add(engines.Shard{Inputs: inputs}); err != nil {
			t.Fatal(err)
		}
	}
	got := given.sortedInputs()
	if len(got) != 3 || got[0].StorageKey != "a" || got[0].ByteSize.Int64 != 2 || got[1].SHA256.String != "ff" ||
		got[2].StorageKey != "scene" || got[2].ByteSize.Valid || got[2].SHA256.Valid {
		t.Errorf("got %+v", got)
	}
}
