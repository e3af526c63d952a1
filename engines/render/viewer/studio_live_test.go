package viewer_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/molviewspec"
	"github.com/molfabric/molfabric/internal/scene"
)

// studioScenes are lists of operations; each becomes a state of one archive.
var studioScenes = []string{
	`{"op":"select","args":{"sel":"all"}}`,
	`{"op":"preset","args":{"name":"binding_site"}}`,
	`{"op":"interactions","args":{"of":"ligand","labels":true}},{"op":"focus","args":{"sel":"ligand"}}`,
	`{"op":"color","args":{"sel":"helix","color":"red"}},{"op":"color","args":{"sel":"polymer","by":"bfactor","palette":"Viridis"}},{"op":"color","args":{"sel":"resi 1-20","by":"hydrophobicity"}}`,
	`{"op":"surface","args":{"sel":"protein","type":"gaussian","opacity":0.4}},{"op":"clip","args":{"mode":"slab","through":"ligand","thickness":8}}`,
	`{"op":"label","args":{"sel":"resi 134","level":"atom","size":2,"color":"red"}},{"op":"label","args":{"sel":"ligand","level":"residue"}},{"op":"highlight","args":{"sel":"resi 134"}}`,
	`{"op":"preset","args":{"name":"goodsell"}},{"op":"effects","args":{"fog":true,"axes":true,"depth_of_field":true}}`,
	`{"op":"preset","args":{"name":"bfactor_putty"}},{"op":"orient","args":{"view":"principal"}},{"op":"zoom","args":{"factor":2}}`,
	`{"op":"structure","args":{"assembly":"1"}},{"op":"measure","args":{"kind":"distance","between":["resi 134 and name OH","resi 200 and name O1"]}}`,
	`{"op":"measure","args":{"kind":"angle","between":["resi 1 and name CA","resi 2 and name CA","resi 3 and name CA"]}},{"op":"background","args":{"color":"black"}}`,
	`{"op":"show","args":{"sel":"water","as":"spacefill"}},{"op":"hide","args":{"sel":"resi 1-50"}},{"op":"show","args":{"sel":"sheet","as":"stick"}}`,
	`{"op":"isolate","args":{"sel":"ligand"}},{"op":"spin","args":{"mode":"rock"}}`,
}

// validate holds a document against Mol*'s own check, which takes no parameter that it does not know.
func validate(t *testing.T, document []byte) {
	t.Helper()
	program := filepath.Join(filepath.Dir(filepath.Dir(enginestest.Python(t))), "share", "molfabric", "viewer", "validate.cjs")
	node, err := exec.LookPath("node")
	if err != nil {
		enginestest.Skip(t, "node is not installed; set-up installs it")
	}
	if _, err := os.Stat(program); err != nil {
		enginestest.Skip(t, "there is no "+program+"; set-up builds it")
	}
	path := filepath.Join(t.TempDir(), "scene.mvsj")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), node, program, "--no-extra", path).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// TestStudioScenesAreDrawn: Mol* itself, which validates what it loads and tells what it could not load, takes an archive that a
// session has exported, and each of its states shows something.
func TestStudioScenesAreDrawn(t *testing.T) {
	t.Parallel()
	entry := contentOf(t, enginestest.Sample(t, "1cbs.cif"))
	structure, err := scene.ReadStructure(entry)
	if err != nil {
		t.Fatal(err)
	}
	files := scene.Files{"upload:1cbs.cif": {Structure: structure, URL: "1cbs.cif"}}
	m := scene.NewModel()
	apply := func(list string) {
		operations, err := scene.Parse([]byte(list))
		if err != nil {
			t.Fatal(err)
		}
		if m, _, err = scene.Apply(m, files, operations); err != nil {
			t.Fatal(err)
		}
	}
	apply(`[{"op":"load","args":{"source":"upload:1cbs.cif"}}]`)
	for i, list := range studioScenes {
		apply(fmt.Sprintf(`[%s,{"op":"snapshot","args":{"title":"scene %d"}},{"op":"structure","args":{"assembly":"deposited"}},{"op":"reset","args":{"what":"scene"}}]`, list, i))
	}
	options := scene.DocumentOptions{CompileOptions: scene.CompileOptions{Made: time.Now(), Snapshots: true}}
	document, err := scene.WriteDocument(m, files, options)
	if err != nil {
		t.Fatal(err)
	}
	validate(t, document.Text)
	var archive bytes.Buffer
	contents := map[string][]byte{document.Files["upload:1cbs.cif"]: entry}
	if err := molviewspec.WriteArchive(&archive, document.Text, contents); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scene.mvsx")
	if err := os.WriteFile(path, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	states := len(studioScenes) + 1
	all := make([]int, states)
	for i := range all {
		all[i] = i + 1
	}
	folder, failure := job{scene: path, format: "mvsx", kind: "states", length: states, frames: all}.run(t)
	if failure != nil {
		t.Fatal(failure)
	}
	for i := range all {
		if share := covered(pictureOf(t, folder, i+1)); share < 0.01 {
			t.Errorf("state %d shows nothing: %g of the picture is covered", i+1, share)
		}
	}
}
