package engines_test

import (
	"encoding/json"
	"testing"
	"testing/fstest"

	"github.com/molfabric/molfabric/engines"
)

// repeater repeats everything that its shards' parameters decide, but for the shards of the stage "chance".
type repeater struct{ engines.Engine }

func (repeater) Spec() engines.Spec { return engines.Spec{ID: "repeater"} }

func (repeater) Programs() string { return "1" }

func (repeater) Repeats(plan []engines.Shard) []engines.Repeat {
	repeats := engines.RepeatAll(plan)
	for i, shard := range plan {
		if shard.Stage == "chance" {
			repeats[i] = engines.Repeat{}
		}
		repeats[i].Instead = map[string]string{"label": ""}
	}
	return repeats
}

// twoStages reads a file in its first shard, and what that makes in its second.
func twoStages(digest, first, second string) []engines.Shard {
	return []engines.Shard{
		{Stage: "prepare", Name: "receptor", Params: json.RawMessage(first),
			Inputs: []engines.Input{{Name: "scene", Object: &engines.Object{StorageKey: "any", SHA256: digest}}}},
		{Stage: "dock", StageIndex: 1, Name: "dock", Params: json.RawMessage(second),
			Inputs: []engines.Input{{Name: "receptor", From: &engines.From{Stage: "prepare", Shard: "receptor", Output: "out"}}}},
	}
}

func TestWhatDecidesAnIdentity(t *testing.T) {
	t.Parallel()
	base := engines.Identities(repeater{}, twoStages("aa", `{}`, `{}`))
	if !base[0].Known() || !base[1].Known() || base[0] == base[1] {
		t.Fatalf("got %x", base)
	}
	change := func(do func(plan []engines.Shard)) []engines.Shard {
		plan := twoStages("aa", `{}`, `{}`)
		do(plan)
		return plan
	}
	for name, test := range map[string]struct {
		plan          []engines.Shard
		first, second bool // the same as before
	}{
		"nothing":                  {twoStages("aa", `{}`, `{}`), true, true},
		"the file":                 {twoStages("bb", `{}`, `{}`), false, false},
		"parameters of the first":  {twoStages("aa", `{"ph":7}`, `{}`), false, false},
		"parameters of the second": {twoStages("aa", `{}`, `{"seed":2}`), true, false},
		"what a shard is called":   {change(func(p []engines.Shard) { p[1].Name = "dock-2" }), true, true},
		"what it may take":         {change(func(p []engines.Shard) { p[1].Needs.CPUs = 8 }), true, true},
		"where the file lies":      {change(func(p []engines.Shard) { p[0].Inputs[0].Object.StorageKey = "other" }), true, true},
		"the engine that runs it":  {change(func(p []engines.Shard) { p[0].Engine = "helper" }), false, false},
		"another output":           {change(func(p []engines.Shard) { p[1].Inputs[0].From.Output = "box" }), true, false},
		"an input that decides nothing": {change(func(p []engines.Shard) {
			p[1].Inputs = append(p[1].Inputs, engines.Input{Name: "label", Object: &engines.Object{}})
		}), true, true},
	} {
		got := engines.Identities(repeater{}, test.plan)
		if (got[0] == base[0]) != test.first || (got[1] == base[1]) != test.second {
			t.Errorf("%s: got %x, before %x; want the same: %v, %v", name, got, base, test.first, test.second)
		}
	}
}

func TestWhatHasNoIdentity(t *testing.T) {
	t.Parallel()
	change := func(do func(plan []engines.Shard)) []engines.Shard {
		plan := twoStages("aa", `{}`, `{}`)
		do(plan)
		return plan
	}
	for name, plan := range map[string][]engines.Shard{
		"a file without a digest": twoStages("", `{}`, `{}`),
		"a device":                change(func(p []engines.Shard) { p[0].Needs.GPUs = 1 }),
		"a shard of chance": change(func(p []engines.Shard) {
			p[0].Stage, p[1].Inputs[0].From.Stage = "chance", "chance"
		}),
		"parameters that are broken": change(func(p []engines.Shard) { p[0].Params = json.RawMessage(`{`) }),
	} {
		if got := engines.Identities(repeater{}, plan); got[0].Known() || got[1].Known() {
			t.Errorf("%s: got %x, want none, nor for what depends on it", name, got)
		}
	}
}

func TestDigestOfPrograms(t *testing.T) {
	t.Parallel()
	digest := func(name, content string) string {
		return engines.DigestOf(fstest.MapFS{name: &fstest.MapFile{Data: []byte(content)}})
	}
	first, again := digest("a.py", "1"), digest("a.py", "1")
	if first != again || first == digest("a.py", "2") || first == digest("b.py", "1") {
		t.Error("a digest is that of the names and what they hold")
	}
}
