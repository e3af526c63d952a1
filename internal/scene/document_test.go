package scene

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/molfabric/molfabric/internal/molviewspec"
)

// documents are scenes of many kinds, each from the load of an entry.
var documents = []struct{ name, source, list string }{
	{"default", "pdb:1CBS", `[]`},
	{"assembly", "pdb:1CBS", `[{"op":"structure","args":{"assembly":"1"}},{"op":"measure","args":{"kind":"distance","between":["resi 134 and name OH","resi 200 and name O1"]}}]`},
	{"binding " +
		"site", "pdb:1CBS", `[{"op":"preset","args":{"name":"binding_site"}},{"op":"interactions","args":{"of":"ligand","labels":true}}]`},
	{"contacts with " +
		"metals", "pdb:1ATP", `[{"op":"interactions","args":{"of":"resn ATP"}},{"op":"focus","args":{"sel":"resn ATP"}}]`},
	{"colours", "pdb:1CBS", `[{"op":"color","args":{"sel":"helix","color":"red"}},{"op":"color","args":{"sel":"ligand","color":"green","carbons_only":true}},{"op":"color","args":{"sel":"polymer","by":"bfactor","palette":"Viridis"}},{"op":"color","args":{"sel":"resi 1-20","by":"hydrophobicity"}}]`},
	{"surfaces", "pdb:1CBS", `[{"op":"surface","args":{"sel":"protein","by":"hydrophobicity","opacity":0.3}},{"op":"opacity","args":{"sel":"resi 1-10","value":0.5}},{"op":"clip","args":{"mode":"slab","through":"ligand","thickness":8}}]`},
	{"labels", "pdb:1CBS", `[{"op":"label","args":{"sel":"resi 134","level":"atom","size":2,"color":"red"}},{"op":"label","args":{"sel":"ligand","level":"residue","text":"retinoic acid <b>&amp; \"more\"</b>"}},{"op":"highlight","args":{"sel":"resi 134"}},{"op":"select","args":{"sel":"resi 1-5","name":"start"}}]`},
	{"goodsell", "pdb:1ATP", `[{"op":"preset","args":{"name":"goodsell"}},{"op":"effects","args":{"fog":true,"axes":true,"depth_of_field":false}}]`},
	{"putty", "pdb:1CBS", `[{"op":"preset","args":{"name":"bfactor_putty"}},{"op":"orient","args":{"view":"principal"}},{"op":"zoom","args":{"factor":2}}]`},
	{"map", "pdb:1CBS", `[{"op":"volume","args":{"source":"artifact:map1","around":"ligand","radius":3}}]`},
	{"turning", "pdb:1CBS", `[{"op":"spin","args":{"mode":"rock","speed":"slow"}},{"op":"background","args":{"color":"black"}}]`},
	{"snapshots", "pdb:1CBS", `[{"op":"focus","args":{"sel":"ligand"}},{"op":"snapshot","args":{"title":"close-up"}},{"op":"hide","args":{"sel":"ligand"}},{"op":"snapshot","args":{}},{"op":"reset","args":{"what":"scene"}}]`},
	{"two " +
		"structures", "pdb:1CBS", `[{"op":"load","args":{"source":"pose:pose_1","add":true}},{"op":"load","args":{"source":"pdb:1IEP","add":true}},{"op":"hide","args":{"sel":"chain E"}},{"op":"interactions","args":{"of":"resn ATP","types":["hydrogen_bond"]}}]`},
	{"an upload", "upload:accounts/a/uploads/u/secret project.pdb", `[{"op":"isolate","args":{"sel":"chain I"}}]`},
	{"nothing", "", `[]`},
}

// privateFiles are the entries, two of them as what only an account has.
func privateFiles(t testing.TB) Files {
	t.Helper()
	files := filesOf(t)
	files["pose:pose_1"] = files["pdb:1ATP"]
	files["upload:accounts/a/uploads/u/secret project.pdb"] = files["pdb:1ATP"]
	return files
}

func sceneOf(t testing.TB, files Files, source, list string) Model {
	t.Helper()
	m := NewModel()
	if source != "" {
		m, _ = applied(t, files, m, `[{"op":"load","args":{"source":"`+source+`"}}]`)
	}
	m, _ = applied(t, files, m, list)
	return m
}

func jsonOf(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readerFiles are the files of a document as its reader has them, under the sources that its model has.
func readerFiles(carried []Carried, names map[string]string, files Files) Files {
	own := map[string]string{}
	for source, name := range names {
		own[name] = source
	}
	had := Files{}
	for _, c := range carried {
		source := c.Source
		if private, ok := own[c.URL]; ok {
			source = private
		}
		had[c.Source] = File{Structure: files[source].Structure, Format: c.Format, URL: c.URL}
	}
	return had
}

// TestDocumentsComeBack: in both formats the model that is read is the one that was written, and makes the same document again;
// read back under its owner's names it is the scene that it was.
func TestDocumentsComeBack(t *testing.T) {
	t.Parallel()
	files := privateFiles(t)
	options := DocumentOptions{CompileOptions: CompileOptions{
		Title: "A scene", Made: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Snapshots: true,
	}}
	for _, c := range documents {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := sceneOf(t, files, c.source, c.list)
			if err := CheckModel(m); err != nil {
				t.Fatal(err)
			}
			made, err := WriteDocument(m, files, options)
			if err != nil {
				t.Fatal(err)
			}
			if folder := os.Getenv("SCENES"); folder != "" {
				_ = os.WriteFile(filepath.Join(folder, "document-"+strings.ReplaceAll(c.name, " ", "-")+".mvsj"), made.Text, 0o600)
			}
			for _, secret := range []string{"pose:", "upload:", "artifact:", "secret project", "accounts/"} {
				if bytes.Contains(made.Text, []byte(secret)) {
					t.Errorf("the document tells of %s", secret)
				}
			}
			contents := map[string][]byte{}
			for source, name := range made.Files {
				contents[name] = []byte(source)
			}
			var archive bytes.Buffer
			if err := molviewspec.WriteArchive(&archive, made.Text, contents); err != nil {
				t.Fatal(err)
			}
			read, err := molviewspec.ReadArchive(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range [][]byte{made.Text, read.Document} {
				again, carried, err := ReadDocument(text)
				if err != nil {
					t.Fatal(err)
				}
				own := map[string]string{}
				for source, name := range made.Files {
					if IsPublic(source) {
						continue
					}
					own["file:"+name] = source
				}
				got := again.WithSources(own)
				if jsonOf(t, got) != jsonOf(t, m) {
					t.Errorf("got  %s\nwant %s", jsonOf(t, got), jsonOf(t, m))
				}
				if differences, err := (&comparison{files: files}).scenes(got, m, true); err != nil || len(differences) > 0 {
					t.Errorf("%v, %v", differences, err)
				}
				had := readerFiles(carried, made.Files, files)
				repeated, err := WriteDocument(again, had, options)
				if err != nil || !bytes.Equal(repeated.Text, made.Text) {
					t.Errorf("another document: %v\n%s\n%s", err, repeated.Text, made.Text)
				}
			}
			for name := range contents {
				if _, err := read.File(name, 1000); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestDocumentsFitTheSchema holds the documents against the format's own JSON Schema, which Mol* is published with.
func TestDocumentsFitTheSchema(t *testing.T) {
	t.Parallel()
	packed, err := os.ReadFile("../molviewspec/testdata/schema.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.NewDecoder(plain).Decode(&schema); err != nil {
		t.Fatal(err)
	}
	schema.ID = "" // which is no address
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	files := privateFiles(t)
	for _, c := range documents {
		options := DocumentOptions{CompileOptions: CompileOptions{Snapshots: true}}
		made, err := WriteDocument(sceneOf(t, files, c.source, c.list), files, options)
		if err != nil {
			t.Fatal(err)
		}
		var document any
		if err := json.Unmarshal(made.Text, &document); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(document); err != nil {
			t.Errorf("%s: %.1000v", c.name, err)
		}
	}
	wrong := map[string]any{"metadata": map[string]any{"version": "1"}, "root": map[string]any{"kind": "canvas"}}
	if resolved.Validate(wrong) == nil {
		t.Error("the schema takes everything")
	}
}

func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	files := privateFiles(t)
	files["file:1cbs.cif"], files["alphafold:P04637"] = files["pdb:1IEP"], files["pdb:1IEP"]
	m := NewModel()
	for _, source := range []string{
		"pdb:1CBS", "file:1cbs.cif", "pose:pose_1", "alphafold:P04637", "upload:accounts/a/uploads/u/secret project.pdb",
	} {
		m, _ = applied(t, files, m, `[{"op":"load","args":{"add":true,"source":"`+source+`"}}]`)
	}
	m, _ = applied(t, files, m, `[{"op":"volume","args":{"source":"artifact:map1"}}]`)
	made, err := WriteDocument(m, files, DocumentOptions{
		Names: map[string]string{"pose:pose_1": "poses/best.pdb"},
		Addresses: map[string]string{
			"alphafold:P04637": "https://alphafold.example.org/AF-P04637.pdb", "artifact:map1": "https://evil.example.org/",
		},
	})
	want := map[string]string{"pdb:1CBS": "1cbs.cif", "file:1cbs.cif": "1cbs-2.cif", "pose:pose_1": "poses/best.pdb",
		"upload:accounts/a/uploads/u/secret project.pdb": "structure-1.pdb", "artifact:map1": "map-2.map"}
	if err != nil || !reflect.DeepEqual(made.Files, want) || !bytes.Contains(made.Text,
		[]byte(`"url":"https://alphafold.example.org/AF-P04637.pdb"`)) {
		t.Errorf("got %v, %v", made.Files, err)
	}
	again, carried, err := ReadDocument(made.Text)
	if err != nil {
		t.Fatal(err)
	}
	sources := []string{
		"pdb:1CBS", "file:1cbs-2.cif", "file:poses/best.pdb", "alphafold:P04637", "file:structure-1.pdb", "file:map-2.map",
	}
	second := Carried{"file:1cbs-2.cif", "1cbs-2.cif", "pdb"}
	if got := again.Sources(); !slices.Equal(got, sources) || len(carried) != len(sources) || carried[1] != second {
		t.Errorf("got %q and %+v", got, carried)
	}
	for _, name := range []string{"../up.pdb", "a b.pdb", "index.mvsj", "poses/.hidden", "1cbs.cif"} {
		_, err := WriteDocument(m, files, DocumentOptions{Names: map[string]string{"pose:pose_1": name, "pdb:1CBS": "1cbs.cif"}})
		if _, ok := errors.AsType[*ModelError](err); !ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestNoSignedAddress: what a store has signed is in no document, and the refusal does not tell it.
func TestNoSignedAddress(t *testing.T) {
	t.Parallel()
	m, files := loadedFrom(t, "pdb:1CBS")
	withMap, _ := applied(t, files, m, `[{"op":"volume","args":{"source":"artifact:map1"}}]`)
	kept, _ := applied(t, files, withMap, `[{"op":"snapshot","args":{}},{"op":"clear","args":{"what":"volumes"}}]`)
	for _, url := range []string{
		"https://s3.example.org/a.cif?X-Amz-Signature=feedface", "https://me:feedface@example.org/a.cif", "a.cif#feedface",
		"data:,feedface", "",
	} {
		for source, m := range map[string]Model{"pdb:1CBS": m, "artifact:map1": withMap} {
			signed := maps.Clone(files)
			file := signed[source]
			file.URL = url
			signed[source] = file
			for name, compile := range map[string]func() error{
				"Compile": func() error { _, err := Compile(m, signed, CompileOptions{}); return err },
				"a snapshot": func() error {
					_, err := Compile(kept, signed, CompileOptions{Snapshots: true})
					return err
				},
				"an address": func() error {
					_, err := WriteDocument(m, files, DocumentOptions{Addresses: map[string]string{"pdb:1CBS": url + "?feedface"}})
					return err
				},
			} {
				err := compile()
				refused, ok := errors.AsType[*AddressError](err)
				if !ok || strings.Contains(err.Error(), "feedface") {
					t.Errorf("%s with %q: got %v", name, url, err)
				} else if name != "an address" && refused.Source != source {
					t.Errorf("%s blames %s for %s", name, refused.Source, source)
				}
			}
		}
	}
}
