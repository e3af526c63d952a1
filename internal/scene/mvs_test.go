package scene

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/molviewspec"
)

// filesOf are the entries of these tests, read once: nothing changes a structure.
func filesOf(t testing.TB) Files {
	t.Helper()
	readEntries.Do(func() { entries = entriesOf(t) })
	return maps.Clone(entries)
}

var (
	readEntries sync.Once
	entries     Files
)

func entriesOf(t testing.TB) Files {
	t.Helper()
	return Files{
		"pdb:2IEP":      {Structure: kinaseTwice(t), URL: "twice.pdb"},
		"pdb:1CBS":      {Structure: structureOf(t, sample1CBS), URL: "1cbs.cif"},
		"pdb:1ATP":      {Structure: structureOf(t, sample1ATP), URL: "1atp.pdb"},
		"pdb:1IEP":      {Structure: structureOf(t, sample1IEP), URL: "1iep.pdb"},
		"artifact:map1": {URL: "density.map"},
	}
}

func applied(t testing.TB, files Files, m Model, list string) (Model, []Outcome) {
	t.Helper()
	operations, err := Parse([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	next, outcomes, err := Apply(m, files, operations)
	if err != nil {
		t.Fatalf("%s: %v", list, err)
	}
	return next, outcomes
}

func compiled(t testing.TB, files Files, m Model, options CompileOptions) string {
	t.Helper()
	options.Made = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	text, err := Compile(m, files, options)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := molviewspec.Parse(text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if folder := os.Getenv("SCENES"); folder != "" {
		_ = os.WriteFile(folder+"/"+strings.ReplaceAll(t.Name(), "/", "-")+".mvsj", text, 0o600)
	}
	return string(text)
}

// TestEveryOperationCompiles carries out lists that have every operation which changes a scene, and checks the tree of each.
func TestEveryOperationCompiles(t *testing.T) {
	t.Parallel()
	files := filesOf(t)
	for _, c := range []struct{ name, list, want string }{
		{"default", `[]`, `"selector":"polymer"`},
		{"assembly", `[{"op":"structure","args":{"assembly":"1"}}]`, `"assembly_id":"1"`},
		{"sticks", `[{"op":"show","args":{"sel":"ligand","as":"stick"}}]`, `"sizeAspectRatio":1`},
		{"hide", `[{"op":"hide","args":{"sel":"resi 1-50"}}]`, `"beg_auth_seq_id":51`},
		{"isolate", `[{"op":"isolate","args":{"sel":"ligand"}}]`, `"selector":"ligand"`},
		{"color", `[{"op":"color","args":{"sel":"helix","color":"red"}}]`, `{"color":"red","selector":[`},
		{"carbons", `[{"op":"color","args":{"sel":"ligand","color":"green","carbons_only":true}}]`, `"type_symbol":"C"`},
		{"bfactor", `[{"op":"color","args":{"sel":"polymer","by":"bfactor","palette":"Viridis"}}]`, `"field_name":"B_iso_or_equiv"`},
		{"by", `[{"op":"color","args":{"sel":"polymer","by":"accessibility"}}]`, `"accessible-surface-area"`},
		{"opacity", `[{"op":"opacity","args":{"sel":"polymer","value":0.4}}]`, `{"kind":"opacity","params":{"opacity":0.4}}`},
		{"surface", `[{"op":"surface","args":{"sel":"protein","by":"hydrophobicity","opacity":0.3}}]`, `"surface_type":"molecular"`},
		{"label", `[{"op":"label","args":{"sel":"resi 134","level":"residue"}}]`, `"text":"Tyr134"`},
		{"large labels", `[{"op":"label","args":{"sel":"resi 134","level":"atom","size":2,"color":"red"}}]`, `"text":"Tyr134 OH"`},
		{"highlight", `[{"op":"highlight","args":{"sel":"resi 134"}}]`, `{"kind":"color","params":{"color":"yellow"}}`},
		{"pocket", `[{"op":"pocket","args":{"of":"ligand","radius":4,"labels":true,"surface":true}}]`, `"kind":"focus"`},
		{"contacts", `[{"op":"interactions","args":{"of":"ligand"}}]`, `"tooltip":"hydrophobic contact ALA32–REA 3.5 Å"`},
		{"bonds", `[{"op":"interactions","args":{"of":"ligand","types":["hydrogen_bond"]}}]`, `"color":"#1f8fe0","dash_length":0.17,"end":[`},
		{"lengths", `[{"op":"interactions","args":{"of":"ligand","types":["hydrogen_bond"],"labels":true}}]`, `"text":"2.6 Å"`},
		{"distance", `[{"op":"measure","args":{"kind":"distance","between":["resi 134 and name OH","resi 200 and name O2"]}}]`, `"distance_measurement"`},
		{"angle", `[{"op":"measure","args":{"kind":"angle","between":["resi 1 and name CA","resi 2 and name CA","resi 3 and name CA"]}}]`, `"angle_measurement"`},
		{"clear", `[{"op":"highlight","args":{"sel":"resi 134"}},{"op":"clear","args":{"what":"highlights"}}]`, ``},
		{"focus", `[{"op":"focus","args":{"sel":"ligand","margin":6}}]`, `"radius_extent":6`},
		{"zoom", `[{"op":"zoom","args":{"factor":2}}]`, `"radius_factor":0.5`},
		{"orient", `[{"op":"orient","args":{"view":"top"}}]`, `"direction":[0,-1,0]`},
		{"turn", `[{"op":"orient","args":{"axis":"y","degrees":90}}]`, `"direction":[1,0,0]`},
		{"principal", `[{"op":"orient","args":{"view":"principal"}}]`, `"direction"`},
		{"spin", `[{"op":"spin","args":{"mode":"rock","speed":"slow"}}]`, `"molstar_trackball"`},
		{"background", `[{"op":"background","args":{"color":"black"}}]`, `"background_color":"black"`},
		{"effects", `[{"op":"effects","args":{"outline":true,"shadow":false,"axes":true}}]`, `"enable_outline":true`},
		{"clip", `[{"op":"clip","args":{"mode":"front","through":"ligand"}}]`, `"normal":[0,0,1]`},
		{"slab", `[{"op":"clip","args":{"mode":"slab","through":"ligand","thickness":8}}]`, `"normal":[0,0,-1]`},
		{"volume", `[{"op":"volume","args":{"source":"artifact:map1","around":"ligand","radius":3}}]`, `"relative_isovalue":1.5`},
		{"goodsell", `[{"op":"preset","args":{"name":"goodsell"}}]`, `"illustrative"`},
		{"binding site", `[{"op":"preset","args":{"name":"binding_site"}}]`, `"Tyr134"`},
		{"publication", `[{"op":"preset","args":{"name":"publication"}}]`, `"enable_ssao":true`},
		{"putty", `[{"op":"preset","args":{"name":"bfactor_putty"}}]`, `"size_theme":"uncertainty"`},
		{"hydrophobic", `[{"op":"preset","args":{"name":"hydrophobic_surface"}}]`, `"hydrophobicity"`},
		{"default looks", `[{"op":"preset","args":{"name":"goodsell"}},{"op":"preset","args":{"name":"default"}}]`, `"cartoon"`},
		{"reset", `[{"op":"zoom","args":{"factor":2}},{"op":"reset","args":{"what":"camera"}}]`, `"direction":[0,0,-1]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, _ := applied(t, files, NewModel(), `[{"op":"load","args":{"source":"pdb:1CBS"}}]`)
			m, _ = applied(t, files, m, c.list)
			if text := compiled(t, files, m, CompileOptions{Title: c.name}); !strings.Contains(text, c.want) {
				t.Errorf("there is no %s in\n%s", c.want, text)
			}
			var again Model
			text, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			err = json.Unmarshal(text, &again)
			if err != nil || compiled(t, files, again, CompileOptions{}) != compiled(t, files, m, CompileOptions{}) {
				t.Errorf("the model does not come back from JSON: %v", err)
			}
		})
	}
}

// TestRefsStay: what an operation does not touch keeps its nodes, ref and all.
func TestRefsStay(t *testing.T) {
	t.Parallel()
	files := filesOf(t)
	before, _ := applied(t, files, NewModel(), `[{"op":"load","args":{"source":"pdb:1CBS"}},{"op":"surface","args":{"sel":"polymer"}}]`)
	after, _ := applied(t, files, before, `[{"op":"show","args":{"sel":"resi 134","as":"stick"}},{"op":"color","args":{"sel":"ligand","color":"red"}}]`)
	nodes := func(m Model) map[string]any {
		var document struct{ Root any }
		if err := json.Unmarshal([]byte(compiled(t, files, m, CompileOptions{})), &document); err != nil {
			t.Fatal(err)
		}
		found := map[string]any{}
		collect(document.Root, found)
		return found
	}
	old, now := nodes(before), nodes(after)
	for _, ref := range []string{"layer-2", "layer-4"} { // the cartoon and the surface
		if old[ref] == nil || !reflect.DeepEqual(old[ref], now[ref]) {
			t.Errorf("%s was %v and is %v", ref, old[ref], now[ref])
		}
	}
	if len(now) != len(old)+2 {
		t.Errorf("there were %d named nodes, now %d", len(old), len(now))
	}
}

func collect(value any, into map[string]any) {
	n, ok := value.(map[string]any)
	if !ok {
		return
	}
	if ref, ok := n["ref"].(string); ok {
		into[ref] = n
	}
	children, _ := n["children"].([]any)
	for _, child := range children {
		collect(child, into)
	}
}
