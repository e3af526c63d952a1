package molviewspec

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const down = "root.children[0].children[0].children[0].children"
	for file, want := range map[string]Scene{
		"scene.mvsj": {Version: "1", Title: "One of many kinds", States: []State{{Title: "One of many kinds"}},
			References: []Reference{
				{"complex.cif", "root.children[0].params.url"}, {"domains.json", down + "[1].children[0].children[1].params.uri"},
				{"density.map", "root.children[1].params.url"}, {"shapes.json", "root.children[3].params.uri"},
				{"sky.png", "root.children[4].custom.molstar_postprocessing.background.params.source.params"},
			}},
		"states.mvsj": {Multiple: true, Version: "1.8.1", Title: "Three states", States: []State{
			{Key: "one", Title: "First", Duration: 1500 * time.Millisecond},
			{Key: "two", Duration: 2250 * time.Millisecond, Animated: true}, {},
		}, References: []Reference{
			{"a.pdb", "snapshots[0].root.children[0].params.url"}, {"b.pdb", "snapshots[1].root.children[1].params.url"},
		}},
	} {
		got, err := Parse(fixture(t, "testdata", file))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", file, got, err, want)
		}
	}
}

// TestInvalid holds the message of each rule against a document that breaks it and, next to it, one that does not.
func TestInvalid(t *testing.T) {
	t.Parallel()
	const camera = `{"kind":"camera","params":{"position":[1,1,1],"target":%s}}`
	for _, c := range []struct{ name, good, bad, want string }{
		{"vector", view(fmt.Sprintf(camera, "[0,0,0]")), view(fmt.Sprintf(camera, "[0,0]")),
			"root.children[0].params.target: expected three numbers, got two"},
		{"number", view(fmt.Sprintf(camera, "[0,0,0]")), view(fmt.Sprintf(camera, `[0,"x",0]`)),
			`root.children[0].params.target[1]: expected a number, got "x"`},
		{"required", view(`{"kind":"download","params":{"url":"a"}}`), view(`{"kind":"download"}`),
			"root.children[0].params.url: is missing; expected text"},
		{"unknown parameter", view(`{"kind":"canvas"}`), view(`{"kind":"canvas","params":{"colour":1}}`),
			`root.children[0].params.colour: is no parameter of "canvas"; allowed are "background_color"`},
		{"kind", view(`{"kind":"canvas"}`), view(`{"kind":"canvass"}`),
			`root.children[0].kind: is no kind of node: "canvass"; "root" may hold "camera", "canvas", "download", "focus", "primitives" or "primitives_from_uri"`},
		{"parent", view(`{"kind":"canvas"}`), view(`{"kind":"parse","params":{"format":"pdb"}}`),
			`root.children[0].kind: "parse" cannot stand below "root", only below "download"`},
		{"top", `{"metadata":{"version":"1"},"root":{"kind":"root"}}`, `{"metadata":{"version":"1"},"root":{"kind":"canvas"}}`,
			`root.kind: expected "root", got "canvas"`},
		{"colour", view(canvas("red")), view(canvas("Red")),
			`expected a colour (a name in small letters such as "skyblue", or "#rrggbb"), got "Red"`},
		{"hex", view(canvas("#ABC")), view(canvas("#ABCD")), `got "#ABCD"`},
		{"enumeration", structure("pdb", `{"type":"model"}`), structure("pdb", `{"type":"models"}`),
			`params.type: expected "model", "assembly", "symmetry" or "symmetry_mates", got "models"`},
		{"integer", structure("pdb", `{"type":"model","model_index":2.0}`), structure("pdb", `{"type":"model","model_index":1.5}`),
			"params.model_index: expected a whole number, got 1.5"},
		{"null", structure("pdb", `{"type":"model","assembly_id":null}`), structure("pdb", `{"type":"model","radius":null}`),
			"params.radius: expected a number, got null"},
		{"format", structure("pdb", `{"type":"model"}`), structure("xtc", `{"type":"model"}`),
			`"structure" cannot be made from a file in the format "xtc", only from "mmcif"`},
		{"volume streaming", view(``), strings.Replace(structure("pdb", `{"type":"model"}`), `"structure",`,
			`"structure","custom":{"molstar_volume_streaming":true},`, 1),
			"custom.molstar_volume_streaming: needs a server"},
		{"selector", component(`"all"`), component(`"every"`),
			`params.selector: expected "all", "polymer", "protein", "nucleic", "branched", "ligand", "ion", "water", "coarse", a component expression or a list of component expressions, got "every"`},
		{"expression", component(`{"label_seq_id":5}`), component(`{"label_seq_id":"5"}`),
			`params.selector.label_seq_id: expected a whole number, got "5"`},
		{"expressions", component(`[{"auth_asym_id":"A"}]`), component(`[{"auth_asym_id":"A"},{"auth_asym_id":1}]`),
			"params.selector[1].auth_asym_id: expected text, got 1"},
		{"case", primitive(`{"kind":"tube","start":[0,0,0],"end":[1,1,1]}`), primitive(`{"kind":"pipe"}`),
			`params.kind: expected "angle_measurement", "arrow"`},
		{"parameter of the case", primitive(`{"kind":"tube","start":[0,0,0],"end":[1,1,1]}`),
			primitive(`{"kind":"tube","start":[0,0,0]}`), "params.end: is missing; expected three numbers"},
		{"position", primitive(`{"kind":"label","text":"x","position":{"auth_asym_id":"A"}}`),
			primitive(`{"kind":"label","text":"x","position":[1,2]}`), "params.position: expected three numbers, got two"},
		{"palette", palettes(`{"kind":"continuous","colors":"Viridis"}`),
			palettes(`{"kind":"continuous","colors":[["red",0],["blue","1"]]}`),
			`palette.colors[1][1]: expected a number, got "1"`},
		{"dictionary", primitive(mesh(`{"0":"red"}`)), primitive(mesh(`{"a":"red"}`)),
			`group_colors: expected whole numbers as the names of its members, got "a"`},
		{"link", primitive(from("s")), primitive(from("t")), `start.structure_ref: no node of this view has the "ref" "t"`},
		{"ref", view(`{"kind":"canvas","ref":"a"}`), view(`{"kind":"canvas","ref":1}`),
			"root.children[0].ref: expected text, got 1"},
		{"custom", view(`{"kind":"canvas","custom":{}}`), view(`{"kind":"canvas","custom":3}`),
			"root.children[0].custom: expected an object, got 3"},
		{"children", view(``), `{"metadata":{"version":"1"},"root":{"kind":"root","children":{}}}`,
			"root.children: expected a list of nodes, got an object"},
		{"node", view(``), view(`7`), "root.children[0]: expected a node (an object with a kind), got 7"},
		{"url", view(`{"kind":"download","params":{"url":"a"}}`), view(`{"kind":"download","params":{"url":""}}`),
			`params.url: expected the name or address of a file, got ""`},
		{"long url", view(``), view(`{"kind":"download","params":{"url":"data:,` + strings.Repeat("a", MaxURLBytes) + `"}}`),
			"params.url: has more than 4096 characters"},
	} {
		if _, err := Parse([]byte(c.good)); err != nil {
			t.Errorf("%s: %s is refused: %v", c.name, c.good, err)
		}
		wantInvalid(t, c.name, c.bad, c.want)
	}
}

// TestInvalidDocument breaks what stands above the nodes.
func TestInvalidDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, document, want string }{
		{"empty", "", "the document is not JSON: unexpected end of JSON input"},
		{"cut", "{\"metadata\":\n{", "the document is not JSON: line 2, column 1: unexpected end of JSON input"},
		{"more", view("") + "x", "the document is not JSON: line 1, column 66: invalid character 'x' after top-level value"},
		{"no UTF-8", "\xff\xfe", "the document is not JSON in UTF-8"},
		{"number", `{"a":1e999}`, "the number 1e999 is out of range"},
		{"too deep", strings.Repeat("[", maxDepth+1), "nested more than 64 levels deep"},
		{"too many values", "[" + strings.Repeat("0,", maxValues) + "0]", "holds more than 1048576 values"},
		{"too long", strings.Repeat(" ", MaxDocumentBytes+1), "more than 8 MiB"},
		{"list", "[]", "expected an object with metadata and a root, got a list of none"},
		{"no metadata", `{"root":{"kind":"root"}}`, "metadata: expected an object with the version of MolViewSpec, got nothing"},
		{"no version", `{"metadata":{},"root":{"kind":"root"}}`, "metadata.version: expected text, got nothing"},
		{"kind", `{"kind":"some","metadata":{"version":"1"}}`, `kind: expected "single" or "multiple", got "some"`},
		{"no root", `{"metadata":{"version":"1"}}`, "root: is missing"},
		{"no snapshots", states(""), "snapshots: expected a list of 1 to 1000 snapshots, got a list of none"},
		{"many snapshots", states(strings.Repeat("0,", MaxStates) + "0"), "got a list of 1001"},
		{"snapshot", states("1"), "snapshots[0]: expected an object with metadata and a root, got 1"},
		{"snapshot's metadata", states(`{"root":{"kind":"root"}}`), "snapshots[0].metadata: expected an object, which may hold " +
			"key, title and duration_ms, got nothing"},
		{"duration", states(`{"root":{"kind":"root"},"metadata":{"duration_ms":-1}}`),
			"snapshots[0].metadata.duration_ms: expected 0 to 3600000 milliseconds, got -1"},
		{"animation", animated(`{"kind":"root"}`), `snapshots[0].animation.kind: expected "animation", got "root"`},
		{"target", animated(animation("", "gone", 100)),
			`animation.children[0].params.target_ref: no node of this view has the "ref" "gone"`},
		{"time", animated(animation("", "page", 1e9)), "animation.children[0].params.duration_ms: expected 0 to 3600000 " +
			"milliseconds, got 1e+09"},
		{"frames", animated(animation(`"frame_time_ms":1`, "page", 40000)),
			"animation.params.frame_time_ms: an animation of 40s has at most 36000 frames; at 1 milliseconds each it would " +
				"have 40000"},
		{"no frames", animated(animation(`"frame_time_ms":0`, "page", 100)),
			"animation.params.frame_time_ms: expected more than 0 milliseconds, got 0"},
	} {
		wantInvalid(t, c.name, c.document, c.want)
	}
	if _, err := Parse([]byte(animated(animation("", "page", 100)))); err != nil {
		t.Errorf("a valid animation: %v", err)
	}
}

// TestIssues checks that one answer tells several issues, each place once, and not too many.
func TestIssues(t *testing.T) {
	t.Parallel()
	wantInvalid(t, "two", view(`{"kind":"canvas","params":{"a":1}},{"kind":"camera","params":{"target":[0,0,0]}}`),
		`root.children[0].params.a: is no parameter of "canvas"; allowed are "background_color"; root.children[1].params.position: is missing; expected three numbers`)
	_, err := Parse([]byte(view(strings.Repeat("1,", 500) + "1")))
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || len(invalid.Issues) != maxIssues || !invalid.More || !strings.HasSuffix(err.Error(),
		"(these are the first 10 issues)") {
		t.Errorf("501 issues: got %v", err)
	}
}

// TestDocumentedScenes reads the scenes of the documentation, with the files that each needs.
func TestDocumentedScenes(t *testing.T) {
	t.Parallel()
	const folder = "../../doc/scenes"
	files, err := filepath.Glob(filepath.Join(folder, "*.mvsj"))
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string][]string{
		"crabp2.mvsj": {"1cbs.cif"}, "crabp2-surface.mvsj": {"1cbs.cif"}, "pka.mvsj": {"1ATP.pdb"},
		"pose.mvsj": {"docking_receptor_1.pdb", "docking_ligands_1.sdf"},
	}
	if len(files) != len(needs) {
		t.Errorf("the documentation has the scenes %v; this test knows %d", files, len(needs))
	}
	for name, want := range needs {
		scene, err := Parse(fixture(t, folder, name))
		var got []string
		for _, reference := range scene.References {
			got = append(got, reference.URL)
		}
		if err != nil || !slices.Equal(got, want) || len(scene.States) != 1 {
			t.Errorf("%s: got %+v, %v, want the references %v and one state", name, scene, err, want)
		}
	}
}

// FuzzParse looks for a document that ends the program, or that is accepted with a reference nobody can find.
func FuzzParse(f *testing.F) {
	seeds, _ := filepath.Glob("testdata/*.mvsj")
	for _, file := range seeds {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	for _, seed := range []string{view(""), `{"kind":"multiple","metadata":{"version":"1"},"snapshots":[null]}`, `[[["\\"]]]`,
		`{"root":1e999}`, animated(animation("", "page", 1)),
		component(`[[]]`), palettes(`{"kind":[],"colors":[[null,null,null]]}`), primitive(`{"kind":{}}`)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		scene, err := Parse(document)
		if err != nil {
			if invalid, ok := errors.AsType[*InvalidError](err); !ok || len(invalid.Issues) == 0 ||
				len(invalid.Issues) > maxIssues {
				t.Errorf("%q gives the error %v", document, err)
			}
			return
		}
		if len(scene.States) == 0 || scene.Version == "" && !strings.Contains(string(document), `""`) {
			t.Errorf("%q gives %+v", document, scene)
		}
		for _, reference := range scene.References {
			if reference.URL == "" || reference.Path == "" {
				t.Errorf("%q gives the reference %+v", document, reference)
			}
		}
	})
}

func wantInvalid(t *testing.T, name, document, want string) {
	t.Helper()
	_, err := Parse([]byte(document))
	if _, ok := errors.AsType[*InvalidError](err); !ok || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got %v\nwant …%s…", name, err, want)
	}
}

func fixture(t *testing.T, folder, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// view is a document with nodes below its root.
func view(nodes string) string {
	return `{"metadata":{"version":"1"},"root":{"kind":"root","children":[` + nodes + `]}}`
}

func canvas(color string) string {
	return `{"kind":"canvas","params":{"background_color":"` + color + `"}}`
}

func structure(format, params string, children ...string) string {
	return view(`{"kind":"download","params":{"url":"a"},"children":[{"kind":"parse","params":{"format":"` + format +
		`"},"children":[{"kind":"structure","ref":"s","params":` + params + `,"children":[` + strings.Join(children, ",") +
		`]}]}]}`)
}

func component(selector string) string {
	return structure("pdb", `{"type":"model"}`, `{"kind":"component","params":{"selector":`+selector+`}}`)
}

func palettes(palette string) string {
	return structure("pdb", `{"type":"model"}`,
		`{"kind":"component","params":{"selector":"all"},"children":[{"kind":"representation","params":{"type":"surface"},"children":[`+
			`{"kind":"color_from_source","params":{"schema":"atom","palette":`+palette+`}}]}]}`)
}

func primitive(params string) string {
	return structure("pdb", `{"type":"model"}`, `{"kind":"primitives","children":[{"kind":"primitive","params":`+params+`}]}`)
}

func mesh(colors string) string {
	return `{"kind":"mesh","vertices":[0,0,0],"indices":[0,0,0],"group_colors":` + colors + `}`
}

func from(ref string) string {
	return `{"kind":"tube","start":{"structure_ref":"` + ref + `"},"end":[0,0,0]}`
}

func states(snapshots string) string {
	return `{"kind":"multiple","metadata":{"version":"1"},"snapshots":[` + snapshots + `]}`
}

func animated(animation string) string {
	return states(`{"metadata":{},"root":{"kind":"root","children":[{"kind":"canvas","ref":"page"}]},"animation":` + animation +
		`}`)
}

func animation(params, target string, durationMs float64) string {
	return fmt.Sprintf(
		`{"kind":"animation","params":{%s},"children":[{"kind":"interpolate","params":{"kind":"color","target_ref":%q,"property":"background_color","duration_ms":%v}}]}`,
		params, target, durationMs)
}
