package sortedjson_test

import (
	"encoding/json"
	"testing"

	"github.com/molfabric/molfabric/internal/sortedjson"
)

func TestObjects(t *testing.T) {
	t.Parallel()
	tree, err := sortedjson.Decode([]byte(`{"b":{"y":1.50,"x":12345678901234567890},"a":"<&>"}`))
	if err != nil {
		t.Fatal(err)
	}
	tree["c"] = json.RawMessage(`[1, 2]`)
	if got, err := sortedjson.EncodeObject(tree); err != nil ||
		string(got) != `{"a":"<&>","b":{"x":12345678901234567890,"y":1.50},"c":[1, 2]}` {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := sortedjson.Decode([]byte(`[]`)); err == nil {
		t.Error("a list was taken for an object")
	}
}

// A long list is written in runs, side by side, and is the same text: the idempotency of a repetition depends on it.
func TestLongListsAreWrittenAlike(t *testing.T) {
	t.Parallel()
	type element struct {
		Label string
		IDs   []int
	}
	var list []element
	for i := range 1000 {
		list = append(list, element{"[<&>] é", []int{i}})
		if i > 3 && i < 990 {
			continue
		}
		want, err := sortedjson.Encode(list)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := sortedjson.EncodeList(list); err != nil || string(got) != string(want) {
			t.Fatalf("%d elements: got %.200s, %v; want %.200s", len(list), got, err, want)
		}
	}
}
