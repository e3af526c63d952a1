package scene

import (
	"errors"
	"strings"
	"testing"
)

func did(t *testing.T, h History, files Files, list string) (History, []Outcome) {
	t.Helper()
	operations, err := Parse([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	next, outcomes, err := h.Apply(files, operations)
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	return next, outcomes
}

func TestHistory(t *testing.T) {
	t.Parallel()
	files := filesOf(t)
	h := NewHistory(NewModel())
	at := func(want int, layers string) {
		t.Helper()
		if h.At != want || strings.Join(looks(h.Scene()), "|") != layers {
			t.Errorf("at %d with %v, want %d with %s", h.At, looks(h.Scene()), want, layers)
		}
	}
	const all, bare = "protein: cartoon|ligand: ball_and_stick", "protein: cartoon"
	h, _ = did(t, h, files, `[{"op":"load","args":{"source":"pdb:1CBS"}}]`)
	h, _ = did(t, h, files, `[{"op":"hide","args":{"sel":"ligand"}},{"op":"background","args":{"color":"black"}}]`)
	at(2, bare)
	h, outcomes := did(t, h, files, `[{"op":"describe","args":{"about":"chains"}}]`)
	if at(2, bare); !strings.Contains(outcomes[0].Text, "A (protein, 137 residues, 1-137)") {
		t.Errorf("got %q", outcomes[0].Text)
	}
	h, _ = did(t, h, files, `[{"op":"undo","args":{}}]`)
	at(1, all)
	h, _ = did(t, h, files, `[{"op":"redo","args":{}}]`)
	at(2, bare)
	before := h.Scene().NextID
	h, _ = did(t, h, files, `[{"op":"undo","args":{}},{"op":"show","args":{"sel":"water"}}]`)
	at(2, all+"|water: ball_and_stick")
	if last := h.Scene().Layers[2].ID; h.Scene().NextID <= before || last == "" {
		t.Errorf("%s has a number that was used", last)
	}
	if _, _, err := h.Apply(files, []Operation{Do(Redo{})}); err == nil {
		t.Error("what was replaced came back")
	}
	h, outcomes = did(t, h, files, `[{"op":"undo","args":{"steps":9}}]`)
	if at(0, ""); len(outcomes[0].Warnings) != 1 {
		t.Errorf("got %v", outcomes)
	}
	_, _, err := h.Apply(files, []Operation{Do(Undo{})})
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Reason != notFound {
		t.Errorf("got %v", err)
	}
	_, _, err = h.Apply(files, []Operation{Do(Redo{}), Do(Background{Color: "black"}), Do(Focus{Sel: "chain Z"})})
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Index != 2 {
		t.Errorf("got %v", err)
	}
	if _, _, err := h.Apply(files, []Operation{Do(Redo{}), Do(Background{Color: "black"}), Do(Undo{})}); err == nil {
		t.Error("undo in the middle was carried out")
	}
}
