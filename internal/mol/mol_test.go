package mol

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// request is a body that uses every shape of the package.
type request struct {
	Ligand    *LigandEntry         `json:"ligand,omitempty"`
	Receptor  *ReceptorPreparation `json:"receptor,omitempty"`
	Reference *ArtifactReference   `json:"reference,omitempty"`
	Center    *BoxCenter           `json:"center,omitempty"`
	Size      *BoxSize             `json:"size,omitempty"`
}

const digest = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

const reference = `{"schema":"service.docking.artifact/v1","artifactId":"a","storageKey":"k","sha256":"` + digest +
	`","byteSize":0,"mediaType":"chemical/x-pdb","format":"pdb"}`

func validate(t *testing.T, text string) []string {
	t.Helper()
	var body any
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("test input: %v", err)
	}
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	schema := registry.Schema(reflect.TypeFor[request](), true, "")
	result := &huma.ValidateResult{}
	huma.Validate(registry, schema, huma.NewPathBuffer([]byte{}, 0), huma.ModeWriteToServer, body, result)
	var messages []string
	for _, err := range result.Errors {
		messages = append(messages, err.Error())
	}
	return messages
}

func ligand(source string) string {
	return `{"ligand":{"ligandId":"l1","label":"L","source":` + source + `}}`
}

func TestRules(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		text string
		want string // part of the first message; "" means accepted
	}{
		{"smiles", ligand(`{"kind":"smiles","smiles":"C"}`), ""},
		{"ccd", ligand(`{"kind":"ccd","componentId":"STI"}`), ""},
		{"artifact", ligand(`{"kind":"artifact","artifact":` + reference + `}`), ""},
		{"source without kind", ligand(`{"smiles":"C"}`), "ligand.source.kind"},
		{"source of an unknown kind", ligand(`{"kind":"inchi","smiles":"C"}`), "ligand.source"},
		{"source that is no object", ligand(`"C"`), "ligand.source"},
		{"source null", ligand(`null`), "ligand.source"},
		{"smiles missing", ligand(`{"kind":"smiles"}`), "ligand.source"},
		{"smiles empty", ligand(`{"kind":"smiles","smiles":""}`), "ligand.source.smiles"},
		{"smiles too long", ligand(`{"kind":"smiles","smiles":"` + strings.Repeat("C", 4097) + `"}`), "ligand.source.smiles"},
		{"smiles of the greatest length", ligand(`{"kind":"smiles","smiles":"` + strings.Repeat("C", 4096) + `"}`), ""},
		{"member of another kind", ligand(`{"kind":"smiles","smiles":"C","componentId":"STI"}`), "ligand.source.componentId"},
		{"component id", ligand(`{"kind":"ccd","componentId":"S-I"}`), "ligand.source.componentId"},
		{"artifact's inner member", ligand(`{"kind":"artifact","artifact":{"schema":"x"}}`), "ligand.source.artifact"},
		{"unknown member inside an artifact", ligand(`{"kind":"artifact","artifact":` +
			strings.Replace(reference, `"byteSize"`, `"extra":1,"byteSize"`, 1) + `}`), "ligand.source.artifact.extra"},
		{"ligand id", `{"ligand":{"ligandId":"-x","label":"L","source":{"kind":"smiles","smiles":"C"}}}`, "ligand.ligandId"},
		{"label in characters", `{"ligand":{"ligandId":"x","label":"` + strings.Repeat("é", 512) +
			`","source":{"kind":"smiles","smiles":"C"}}}`, ""},
		{"label too long", `{"ligand":{"ligandId":"x","label":"` + strings.Repeat("é", 513) +
			`","source":{"kind":"smiles","smiles":"C"}}}`, "ligand.label"},
		{"preparation",
			`{"ligand":{"ligandId":"x","label":"L","source":{"kind":"smiles","smiles":"C"},"preparation":{"protonationPh":0,"addHydrogens":true,"generate3d":true}}}`, ""},
		{"addHydrogens false",
			`{"ligand":{"ligandId":"x","label":"L","source":{"kind":"smiles","smiles":"C"},"preparation":{"addHydrogens":false}}}`,
			"ligand.preparation.addHydrogens"},
		{"pH",
			`{"ligand":{"ligandId":"x","label":"L","source":{"kind":"smiles","smiles":"C"},"preparation":{"protonationPh":14.1}}}`,
			"ligand.preparation.protonationPh"},
		{"short token",
			`{"ligand":{"ligandId":"x","label":"L","source":{"kind":"smiles","smiles":"C"},"confirmation":{"token":"t","query":"q","sourceId":"s"}}}`, "ligand.confirmation.token"},
		{"reference", `{"reference":` + reference + `}`, ""},
		{"reference with another schema", `{"reference":` + strings.Replace(reference, "artifact/v1", "artifact/v2", 1) + `}`,
			"reference.schema"},
		{"upper-case digest", `{"reference":` + strings.Replace(reference, digest, strings.ToUpper(digest), 1) + `}`,
			"reference.sha256"},
		{"negative size", `{"reference":` + strings.Replace(reference, `"byteSize":0`, `"byteSize":-1`, 1) + `}`,
			"reference.byteSize"},
		{"format", `{"reference":` + strings.Replace(reference, `"format":"pdb"`, `"format":"xyz"`, 1) + `}`, "reference.format"},
		{"size number", `{"size":20}`, ""},
		{"size array", `{"size":[20,21.5,100]}`, ""},
		{"size too small", `{"size":0.5}`, "size"},
		{"size of two", `{"size":[20,20]}`, "size"},
		{"size with a great edge", `{"size":[20,20,101]}`, "size"},
		{"size null inside", `{"size":[20,20,null]}`, "size"},
		{"center", `{"center":[-1,2,3.5]}`, ""},
		{"center of four", `{"center":[1,2,3,4]}`, "center"},
		{"center number", `{"center":1}`, "center"},
		{"receptor empty", `{"receptor":{}}`, ""},
		{"receptor method", `{"receptor":{"protonationMethod":"reduce"}}`, "receptor.protonationMethod"},
		{"receptor unknown member", `{"receptor":{"ph":7}}`, "receptor.ph"},
		{"receptor component", `{"receptor":{"removeComponents":["HOH","A B"]}}`, "receptor.removeComponents[1]"},
		{"fixed state",
			`{"receptor":{"fixedProtonationStates":[{"chain":"A","residue":25,"residueName":"ASP","state":"neutral"}]}}`, ""},
		{"fixed state of another residue",
			`{"receptor":{"fixedProtonationStates":[{"chain":"A","residue":25,"residueName":"HIS","state":"neutral"}]}}`,
			"receptor.fixedProtonationStates[0].residueName"},
		{"fixed state residue",
			`{"receptor":{"fixedProtonationStates":[{"chain":"A","residue":100000,"residueName":"ASP","state":"neutral"}]}}`,
			"receptor.fixedProtonationStates[0].residue"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := validate(t, c.text)
			if c.want == "" && len(got) > 0 {
				t.Errorf("input %s\n got %q\nwant accepted", c.text, got)
			}
			if c.want != "" && (len(got) == 0 || !strings.Contains(got[0], c.want)) {
				t.Errorf("input %s\n got %q\nwant first to name %q", c.text, got, c.want)
			}
		})
	}
}

func TestDefaultsKeepExplicitZero(t *testing.T) {
	t.Parallel()
	var entry LigandEntry
	if err := json.Unmarshal(
		[]byte(`{"ligandId":"x","label":"L","source":{"kind":"smiles","smiles":"C"},"preparation":{"protonationPh":0}}`),
		&entry); err != nil {
		t.Fatal(err)
	}
	got := entry.Completed()
	if *got.Preparation.ProtonationPh != 0 || !*got.Preparation.AddHydrogens || !*got.Preparation.Generate3D {
		t.Errorf("got %+v, want pH 0 and both flags true", *got.Preparation)
	}
	entry.Preparation = nil
	if got := *entry.Completed().Preparation.ProtonationPh; got != 7.4 {
		t.Errorf("got pH %v, want 7.4", got)
	}
	var receptor *ReceptorPreparation
	if got := receptor.Completed(); *got.ProtonationMethod != "pdb2pqr-propka" || *got.ForceField != "AMBER" ||
		*got.ProtonationPh != 7.4 {
		t.Errorf("got %+v, want the contract's defaults", got)
	}
	for given, want := range map[string]string{WatersNone: "", WatersStructural: WatersStructural} {
		if got := (&ReceptorPreparation{Waters: &given}).Completed().Waters; (got == nil) != (want == "") || got != nil &&
			*got != want {
			t.Errorf("waters %s: got %v, want %q", given, got, want)
		}
	}
}

func TestBoxSizeReadsNumberOrArray(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"20": "[20,20,20]", "[1,2,3]": "[1,2,3]", " 5.5 ": "[5.5,5.5,5.5]"} {
		var size BoxSize
		if err := json.Unmarshal([]byte(text), &size); err != nil {
			t.Errorf("input %s: %v", text, err)
			continue
		}
		if got, _ := json.Marshal(size); string(got) != want {
			t.Errorf("input %s, got %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"null", `"20"`, "[1,2]", "[1,2,null]", "{}", "true"} {
		var size BoxSize
		if err := json.Unmarshal([]byte(text), &size); err == nil {
			t.Errorf("input %s was read as %v, want an error", text, size)
		}
	}
}

// FuzzLigandSource feeds foreign text to the union's reader: what it accepts must survive writing and reading again.
func FuzzLigandSource(f *testing.F) {
	f.Add(`{"kind":"smiles","smiles":"CCO"}`)
	f.Add(`{"kind":"ccd","componentId":"STI"}`)
	f.Add(`{"kind":"artifact","artifact":` + reference + `}`)
	f.Add(`{"kind":"smiles","componentId":"STI"}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		var first, second LigandSource
		if json.Unmarshal([]byte(text), &first) != nil || first.Kind() == "" {
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("input %q: %v", text, err)
		}
		if err := json.Unmarshal(written, &second); err != nil || !reflect.DeepEqual(normal(first), normal(second)) {
			t.Fatalf("input %q, written %s: %v", text, written, err)
		}
	})
}

// normal drops the redundant kind, which a JSON key of another case may leave in the struct.
func normal(s LigandSource) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// A ligand's members are written in the order of their names, whatever it has: canonical requests count on it.
func TestLigandIsWrittenSorted(t *testing.T) {
	t.Parallel()
	ph, yes := 7.4, true
	entry := LigandEntry{
		LigandID: "l1", Label: "L", Confirmation: &LigandConfirmation{Token: "t", Query: "q", SourceID: "s"},
		Preparation: &LigandPreparation{ProtonationPh: &ph, AddHydrogens: &yes, Generate3D: &yes},
	}
	for _, source := range []LigandSource{
		{CCD: &CCDSource{ComponentID: "STI"}}, {SMILES: &SMILESSource{SMILES: "CCO"}},
		{Artifact: &ArtifactSource{Artifact: ArtifactReference{Schema: ArtifactSchema, ArtifactID: "a", StorageKey: "k",
			SHA256: "0", ByteSize: 1, MediaType: "m", Format: FormatSDF}}},
	} {
		entry.Source = source
		written, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(written, &tree); err != nil {
			t.Fatal(err)
		}
		sorted, err := json.Marshal(tree) // encoding/json sorts the members of maps
		if err != nil {
			t.Fatal(err)
		}
		if string(written) != string(sorted) {
			t.Errorf("got  %s\nwant %s", written, sorted)
		}
	}
}
