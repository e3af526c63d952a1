package warm

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/molfabric/molfabric/internal/molviewspec"
	"github.com/molfabric/molfabric/internal/scene"
)

// Structures that are drawn to get warm: PDB entry 1CBS, a protein with its ligand, and chain I of 1ATP, a peptide with its ATP and
// manganese. They differ in size, on which programs depend too.
var (
	//go:embed 1cbs.cif.gz
	protein []byte
	//go:embed peptide.pdb
	peptide []byte
)

const (
	proteinSource, proteinFile = "pdb:1CBS", "1cbs.cif"
	peptideSource, peptideFile = "artifact:peptide", "peptide.pdb"
)

// warmUp is a structure and what is done with it.
type warmUp struct{ source, operations string }

// A renderer draws the first of each kind slowly, because a program is compiled for each: for a cartoon in one colour and for one
// in several, for what is transparent, or cut. So Compile draws what the Studio draws, and leaves what was compiled. With that a
// renderer needs no more than the first of these.
var warmUps = []warmUp{
	{proteinSource, `[]`},
	{proteinSource, `[{"op":"preset","args":{"name":"publication"}},{"op":"color","args":{"sel":"helix","color":"red"}},
		{"op":"show","args":{"sel":"ligand","as":"stick"}}]`},
	{proteinSource, `[{"op":"preset","args":{"name":"binding_site"}}]`},
	{proteinSource, `[{"op":"preset","args":{"name":"goodsell"}}]`},
	{proteinSource, `[{"op":"preset","args":{"name":"bfactor_putty"}},{"op":"highlight","args":{"sel":"resi 134"}}]`},
	{proteinSource, `[{"op":"preset","args":{"name":"hydrophobic_surface"}}]`},
	{proteinSource, `[{"op":"surface","args":{"sel":"protein","color":"white","opacity":0.4}},
		{"op":"show","args":{"sel":"ligand","as":"spacefill"}}]`},
	{proteinSource, `[{"op":"opacity","args":{"sel":"polymer","value":0.5}},{"op":"opacity","args":{"sel":"ligand","value":0.5}}]`},
	{proteinSource, `[{"op":"show","args":{"sel":"polymer","as":"line"}},
		{"op":"color","args":{"sel":"ligand","color":"green","carbons_only":true}}]`},
	{proteinSource, `[{"op":"show","args":{"sel":"polymer","as":"ball_and_stick"}},
		{"op":"color","args":{"sel":"polymer","by":"secondary_structure"}}]`},
	{proteinSource, `[{"op":"clip","args":{"mode":"front","through":"ligand"}},{"op":"surface","args":{"sel":"protein"}}]`},
	{proteinSource, `[{"op":"clip","args":{"mode":"slab","through":"ligand","thickness":8}}]`},
	{proteinSource, `[{"op":"label","args":{"sel":"resi 134-136","level":"residue","size":2,"color":"red"}},
		{"op":"interactions","args":{"of":"ligand","types":["hydrogen_bond"],"labels":true}},
		{"op":"measure","args":{"kind":"angle","between":["resi 1 and name CA","resi 2 and name CA","resi 3 and name CA"]}}]`},
	{proteinSource, `[{"op":"effects","args":{"outline":true,"shadow":true,"axes":true,"fog":true,"depth_of_field":true}}]`},
	{peptideSource, `[]`},
	{peptideSource, `[{"op":"preset","args":{"name":"binding_site"}},{"op":"surface","args":{"sel":"protein"}}]`},
	{peptideSource, `[{"op":"preset","args":{"name":"goodsell"}}]`},
}

// enough is how many of warmUps a renderer draws to be warm.
const enough = 2

// warmUpScene is an archive of a scene with a state for each of the first of warmUps.
func warmUpScene(states int) ([]byte, error) {
	whole, err := gzip.NewReader(bytes.NewReader(protein))
	if err != nil {
		return nil, err
	}
	entry, err := io.ReadAll(whole)
	if err != nil {
		return nil, err
	}
	texts, files := map[string][]byte{proteinFile: entry, peptideFile: peptide}, scene.Files{}
	for source, name := range map[string]string{proteinSource: proteinFile, peptideSource: peptideFile} {
		structure, err := scene.ReadStructure(texts[name])
		if err != nil {
			return nil, err
		}
		files[source] = scene.File{Structure: structure, URL: name}
	}
	document, err := documentOf(files, warmUps[:states])
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	if err := molviewspec.WriteArchive(&packed, document, texts); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// documentOf is a scene with a state for each warm-up.
func documentOf(files scene.Files, list []warmUp) ([]byte, error) {
	type state struct {
		Root     json.RawMessage `json:"root"`
		Metadata map[string]any  `json:"metadata"`
	}
	states := make([]state, len(list))
	for i, one := range list {
		text, err := one.compile(files)
		if err == nil {
			err = json.Unmarshal(text, &states[i])
		}
		if err != nil {
			return nil, fmt.Errorf("warm-up %d: %w", i+1, err)
		}
		states[i].Metadata = map[string]any{"key": strconv.Itoa(i), "linger_duration_ms": 1}
	}
	return json.Marshal(map[string]any{"kind": "multiple", "snapshots": states,
		"metadata": map[string]any{"version": "1", "timestamp": time.Time{}.Format(time.RFC3339)}})
}

// compile writes a structure with the operations carried out on it.
func (w warmUp) compile(files scene.Files) ([]byte, error) {
	model := scene.NewModel()
	for _, text := range []string{`[{"op":"load","args":{"source":"` + w.source + `"}}]`, w.operations} {
		operations, err := scene.Parse([]byte(text))
		if err != nil {
			return nil, err
		}
		if model, _, err = scene.Apply(model, files, operations); err != nil {
			return nil, err
		}
	}
	return scene.Compile(model, files, scene.CompileOptions{})
}
