package scene

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/molviewspec"
)

// carrying is a document that carries what is given as JSON.
func carrying(text string) []byte {
	return []byte(`{"kind":"single","metadata":{"version":"1","timestamp":"2026-01-01T00:00:00Z"},"root":{"kind":"root","custom":{"molfabric_scene":` +
		text + `},"children":[]}}`)
}

// small is a scene that carries little of everything.
func small(t testing.TB) string {
	t.Helper()
	files := filesOf(t)
	m := sceneOf(t, files, "pdb:1CBS", `[{"op":"snapshot","args":{"title":"first"}},{"op":"color","args":{"sel":"ligand","color":"red"}},{"op":"highlight","args":{"sel":"resi 3"}},
		{"op":"label","args":{"sel":"resi 4","level":"residue"}},{"op":"measure","args":{"kind":"distance","between":["resi 5","resi 6"]}},{"op":"interactions","args":{"of":"ligand","types":["salt_bridge"]}},
		{"op":"volume","args":{"source":"artifact:map1"}},{"op":"spin","args":{"mode":"rock"}},{"op":"clip","args":{"mode":"slab","through":"ligand"}},{"op":"select","args":{"sel":"resi 7","name":"seven"}}]`)
	carried, err := m.carry(files)
	if err != nil {
		t.Fatal(err)
	}
	return jsonOf(t, carried)
}

// put sets the member of a JSON value that a path names, such as "scene.layers.0.sel".
func put(value any, path string, to any) any {
	name, rest, deeper := strings.Cut(path, ".")
	switch holder := value.(type) {
	case map[string]any:
		if deeper {
			holder[name] = put(holder[name], rest, to)
		} else {
			holder[name] = to
		}
	case []any:
		var i int
		_, _ = fmt.Sscan(name, &i)
		if deeper {
			holder[i] = put(holder[i], rest, to)
		} else {
			holder[i] = to
		}
	}
	return value
}

func TestHostileDocuments(t *testing.T) {
	t.Parallel()
	text := small(t)
	if _, _, err := ReadDocument(carrying(text)); err != nil {
		t.Fatal(err)
	}
	many := func(n int, one any) []any {
		list := make([]any, n)
		for i := range list {
			list[i] = one
		}
		return list
	}
	paint := map[string]any{"sel": "all", "color": "red"}
	for _, c := range []struct {
		path string
		to   any
		want string
	}{
		{"version", 2, "another version"}, {"version", "1", "expected an object with a version"}, {"more", 1, "unknown field"}, {"scene.more", 1, "unknown field"},
		{"scene", nil, "nextId"}, {"scene.nextId", 0, "nextId: expected a whole number"}, {"scene.nextId", -1, "nextId"}, {"scene.nextId", 1e10, "nextId"},
		{"scene.nextId", 2, "is not below nextId"}, {"scene.nextId", "2", "cannot unmarshal"},
		{"scene.structures.0.id", "layer-1", "structures[0].id: expected structure- and a number"}, {"scene.structures.0.id", "structure-01", "structures[0].id"},
		{"scene.structures.0.source", "https://example.org/", "structures[0].source: expected where a structure"}, {"scene.structures.0.source", "pdb:1XYZ", "files: expected one for each of 3 sources, got 2"},
		{"scene.structures.0.source", "file:../../etc/passwd", "structures[0].source"}, {"scene.structures.0.assembly", strings.Repeat("1", 17), "structures[0].assembly"},
		{"scene.structures.0.model", 10_001, "structures[0].model"}, {"scene.structures.0.model", -1, "structures[0].model"},
		{"scene.structures", many(9, map[string]any{"id": "structure-1", "source": "pdb:1CBS"}), "structures: expected at most 8"},
		{"scene.layers.1.id", "layer-2", "layers[1].id: layer-2 stands twice"}, {"scene.layers.0.structure", 1, "layers[0].structure"}, {"scene.layers.0.structure", -1, "layers[0].structure"},
		{"scene.layers.0.sel", "protein and", "layers[0].sel: selection"}, {"scene.layers.0.sel", "", "layers[0].sel"}, {"scene.layers.0.sel", "PROTEIN", "canonical form"},
		{"scene.layers.0.sel", strings.Repeat("(", 60) + "all" + strings.Repeat(")", 60), "nested more than"},
		{"scene.layers.0.sel", "all" + strings.Repeat(" or within 5 of all", maxNearby+1), "more than 1000 distances"},
		{"scene.layers.0.as", "blob", "layers[0].as: expected one of cartoon"}, {"scene.layers.0.type", "blob", "layers[0].type"}, {"scene.layers.0.opacity", 1.5, "layers[0].opacity"},
		{"scene.layers.0.style", "blob", "layers[0].style"}, {"scene.layers", many(201, map[string]any{}), "layers: expected at most 200"},
		{"scene.paints.0.color", "octarine", "the name of no colour"}, {"scene.paints.0.color", "url(x)", "paints[0].color"}, {"scene.paints.0.by", "chain", "exactly one"},
		{"scene.paints.0.palette", "Blob", "there is no palette"}, {"scene.paints", many(201, paint), "paints: expected at most 200"},
		{"scene.highlights.0.color", "", "highlights[0].color"}, {"scene.labels.0.level", "model", "labels[0].level"}, {"scene.labels.0.text", strings.Repeat("a", 201), "labels[0].text"},
		{"scene.labels.0.size", 0, "labels[0].size"}, {"scene.measurements.0.kind", "dihedral", "measurements[0].kind"}, {"scene.measurements.0.between", many(3, "all"), "expected 2 places"},
		{"scene.interactions.0.types", many(1, "magic"), "interactions[0].types"}, {"scene.interactions.0.types", []any{}, "interactions[0].types"}, {"scene.interactions.0.with", "x", "interactions[0].with"},
		{"scene.volumes.0.source", "artifact:../x", "volumes[0].source"}, {"scene.volumes.0.isovalue", 21, "volumes[0].isovalue"}, {"scene.volumes.0.radiusAngstrom", 31, "volumes[0].radiusAngstrom"},
		{"scene.camera.direction", many(3, 0), "camera.direction"}, {"scene.camera.direction", []any{1e200, 0, 0}, "camera.direction"}, {"scene.camera.up", []any{0, 0, 1}, "right angle"},
		{"scene.camera.zoom", 0, "camera.zoom"}, {"scene.camera.zoom", 1e9, "camera.zoom"}, {"scene.camera.marginAngstrom", -1, "camera.marginAngstrom"}, {"scene.camera.sel", "x", "camera.sel"},
		{"scene.canvas.color", "", "canvas.color"}, {"scene.canvas.spin.mode", "off", "canvas.spin.mode"}, {"scene.canvas.spin.axis", "w", "canvas.spin.axis"},
		{"scene.clip.mode", "off", "clip.mode"}, {"scene.clip.thickness", 0, "clip.thickness"}, {"scene.last", "x", "last"}, {"scene.names.seven", "x", "names.seven"},
		{"scene.names", map[string]any{"Seven": "all"}, "names"}, {"scene.snapshots.0.title", strings.Repeat("a", 101), "snapshots[0].title"},
		{"scene.snapshots.0.scene.layers.0.as", "blob", "snapshots[0].scene.layers[0].as"}, {"scene.snapshots.0.scene.snapshots", many(1, map[string]any{"title": "x"}), "a snapshot has none of its own"},
		{"files", []any{}, "files: expected one for each of 2 sources"}, {"files.0.source", "artifact:map1", "files[1].source"}, {"files.0.url", "https://x.org/?a=1", "files[0].url"}, {"files.0.format", "exe", "files[0].format"},
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		_, _, err := ReadDocument(carrying(jsonOf(t, put(value, c.path, c.to))))
		refused, ok := errors.AsType[*ModelError](err)
		if !ok || !strings.Contains(err.Error(), c.want) || len(refused.Message) > 600 {
			t.Errorf("%s = %.60v: got %v, want …%s…", c.path, c.to, err, c.want)
		}
	}
}

func TestForeignDocuments(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		`{"metadata":{"version":"1"},"root":{"kind":"root"}}`,
		`{"metadata":{"version":"1"},"root":{"kind":"root","custom":{"other_scene":{}}}}`,
		`{"kind":"multiple","metadata":{"version":"1"},"snapshots":[{"metadata":{},"root":{"kind":"root"}}]}`,
	} {
		_, _, err := ReadDocument([]byte(document))
		if _, ok := errors.AsType[*ForeignError](err); !ok {
			t.Errorf("%s: got %v", document, err)
		}
	}
	for _, document := range []string{"", "{}", "[]", `{"metadata":{"version":"1"},"root":{"kind":"canvas"}}`, strings.Repeat("[", 100)} {
		_, _, err := ReadDocument([]byte(document))
		if _, ok := errors.AsType[*molviewspec.InvalidError](err); !ok {
			t.Errorf("%s: got %v", document, err)
		}
	}
	for _, carried := range []string{"1", `"x"`, "[]", "{}", `{"version":1}`, "null"} {
		_, _, err := ReadDocument(carrying(carried))
		_, isModel := errors.AsType[*ModelError](err)
		if _, isForeign := errors.AsType[*ForeignError](err); !isModel && !(isForeign && carried == "null") {
			t.Errorf("%s: got %v", carried, err)
		}
	}
}

// FuzzReadDocument: what is read can be written and read again, as the same, and costs no more than its bounds say.
func FuzzReadDocument(f *testing.F) {
	f.Add(carrying(small(f)))
	f.Add(carrying(`{"version":1,"scene":{"nextId":1},"files":[]}`))
	f.Add([]byte(`{"metadata":{"version":"1"},"root":{"kind":"root"}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		m, carried, err := ReadDocument(document)
		if err != nil {
			_, isInvalid := errors.AsType[*molviewspec.InvalidError](err)
			_, isForeign := errors.AsType[*ForeignError](err)
			if _, isModel := errors.AsType[*ModelError](err); !isInvalid && !isForeign && !isModel {
				t.Errorf("got %v", err)
			}
			return
		}
		if len(carried) != len(m.Sources()) {
			t.Errorf("%d files for %q", len(carried), m.Sources())
		}
		again, _, err := ReadDocument(carrying(jsonOf(t, map[string]any{"version": carriedVersion, "scene": m, "files": carried})))
		if err != nil || jsonOf(t, again) != jsonOf(t, m) {
			t.Errorf("%v: %s is read as %s", err, jsonOf(t, m), jsonOf(t, again))
		}
	})
}
