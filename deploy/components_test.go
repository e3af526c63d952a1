// Package deploy has only tests: of the programs that set molfabric up.
package deploy

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// component is a line of the dictionary.
type component struct {
	ID, Name, Formula, Type string
	Synonyms                []string
	SMILES, InChIKey        string
}

type report struct {
	Entries int
	LeftOut map[string]int
	Bytes   int64
	Seconds float64
}

// makeDictionary runs components.py on a source and returns its lines, its report and the dictionary's bytes.
func makeDictionary(t *testing.T, source string, arguments ...string) ([]component, report, []byte) {
	t.Helper()
	output := filepath.Join(t.TempDir(), "components.jsonl.gz")
	arguments = append([]string{"-B", "components.py", source, "--output", output, "--processes", "1"}, arguments...)
	command := exec.CommandContext(t.Context(), enginestest.Python(t), arguments...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	printed, err := command.Output()
	if err != nil {
		t.Fatalf("components.py: %v\n%s", err, complaint.String())
	}
	var told report
	if err := json.Unmarshal(printed, &told); err != nil {
		t.Fatalf("components.py printed %q: %v", printed, err)
	}
	content, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	return linesOf(t, content), told, content
}

func linesOf(t *testing.T, content []byte) []component {
	t.Helper()
	unpacked, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var lines []component
	scanner := bufio.NewScanner(unpacked)
	for scanner.Scan() {
		var line component
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			t.Fatalf("line %q: %v", scanner.Text(), err)
		}
		lines = append(lines, line)
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestComponentsFromBinaryCIF reads a few real components, packed as the whole dictionary is. The InChIKeys are the published ones.
func TestComponentsFromBinaryCIF(t *testing.T) {
	t.Parallel()
	lines, told, content := makeDictionary(t, "testdata/components.bcif")
	keys := map[string]string{
		"032": "GPXBXXGIAQBQNI-UHFFFAOYSA-N", // vemurafenib
		"ATP": "ZKHQWZAMYRWXGA-KQYNXXCUSA-N",
		"BEN": "PXXJHWLDUBFPOL-UHFFFAOYSA-N", // benzamidine
		"HEM": "KABFMIBPWCXCRK-RGGAHWMASA-L",
		"NAG": "OVRNDRQMDRJTHS-FMDGEEDCSA-N",
		"OHT": "TXUZVZSFRXZGTL-QPLCGJKRSA-N", // (Z)-4-hydroxytamoxifen
		"REA": "SHGAZHPCJJPHSC-YCNIQYBTSA-N", // all-trans-retinoic acid
		"STI": "KTUFNOKKBVMGRW-UHFFFAOYSA-N", // imatinib
	}
	for i, line := range lines {
		if i > 0 && lines[i-1].ID >= line.ID {
			t.Errorf("%s comes after %s", line.ID, lines[i-1].ID)
		}
		if want, known := keys[line.ID]; known && line.InChIKey != want {
			t.Errorf("%s is %s with InChIKey %s, want %s", line.ID, line.SMILES, line.InChIKey, want)
		}
		delete(keys, line.ID)
		if line.Name == "" || line.Formula == "" || line.SMILES == "" {
			t.Errorf("%s lacks a name, a formula or a SMILES: %+v", line.ID, line)
		}
		if line.ID == "STI" && !reflect.DeepEqual(line.Synonyms, []string{"STI-571", "IMATINIB"}) {
			t.Errorf("got synonyms %q of STI", line.Synonyms)
		}
	}
	if len(keys) > 0 {
		t.Errorf("the dictionary lacks %v", keys)
	}
	wantLeftOut := map[string]int{"an atom whose element is not known": 1, "no heavy atoms": 1, "not a valid molecule": 1,
		"obsolete": 5}
	if told.Entries != len(lines) || told.Bytes != int64(len(content)) || !reflect.DeepEqual(told.LeftOut, wantLeftOut) {
		t.Errorf("got report %+v for %d lines in %d bytes, want left out %v", told, len(lines), len(content), wantLeftOut)
	}
	if _, _, again := makeDictionary(t, "testdata/components.bcif"); !bytes.Equal(content, again) {
		t.Error("a second run writes other bytes")
	}
}

// TestComponentSources makes the same dictionary from every kind of source.
func TestComponentSources(t *testing.T) {
	t.Parallel()
	want, _, _ := makeDictionary(t, "testdata/components.bcif", "--only", "rea,STI,BEN")
	if len(want) != 3 {
		t.Fatalf("got %d of the three components asked for", len(want))
	}
	dir := t.TempDir()
	text := readAll(t, "testdata/components.cif")
	packed := filepath.Join(dir, "components.cif.gz")
	writePacked(t, packed, text)
	wheel := filepath.Join(dir, "some.whl")
	writeArchive(t, wheel, "package/info/components.bcif", readAll(t, "testdata/components.bcif"))
	folder := filepath.Join(dir, "mirror")
	for _, block := range strings.Split(string(text), "data_")[1:] {
		id, _, _ := strings.Cut(block, "\n")
		if err := os.MkdirAll(filepath.Join(folder, id[:1], id), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, id[:1], id, id+".cif"), []byte("data_"+block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, source := range []string{"testdata/components.cif", packed, wheel, folder} {
		got, _, _ := makeDictionary(t, source, "--only", "REA,STI,BEN")
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", filepath.Base(source), got, want)
		}
	}
}

// TestComponentDescriptors takes the SMILES and the InChIKey that a source states, and is not misled by a text that looks like
// the next component.
func TestComponentDescriptors(t *testing.T) {
	t.Parallel()
	const text = `data_EOH
_chem_comp.id EOH
_chem_comp.name ETHANOL
_chem_comp.type non-polymer
_chem_comp.formula 'C2 H6 O'
_chem_comp.pdbx_release_status REL
_chem_comp.pdbx_synonyms 'GRAIN ALCOHOL; ETHYL ALCOHOL'
_chem_comp.details
;
data_XXX is no block here
;
loop_
_chem_comp_atom.comp_id
_chem_comp_atom.atom_id
_chem_comp_atom.type_symbol
EOH C1 C
EOH C2 C
EOH O O
loop_
_pdbx_chem_comp_descriptor.comp_id
_pdbx_chem_comp_descriptor.type
_pdbx_chem_comp_descriptor.program
_pdbx_chem_comp_descriptor.program_version
_pdbx_chem_comp_descriptor.descriptor
EOH SMILES CACTVS 3.385 torn(
EOH SMILES_CANONICAL 'OpenEye OEToolkits' 2.0.7 'OCC'
EOH InChIKey InChI 1.03 LFQSCWFLJHTTHZ-UHFFFAOYSA-N
`
	source := filepath.Join(t.TempDir(), "eoh.cif")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, _ := makeDictionary(t, source)
	want := []component{{
		ID: "EOH", Name: "ETHANOL", Formula: "C2 H6 O", Type: "non-polymer", Synonyms: []string{"GRAIN ALCOHOL", "ETHYL ALCOHOL"},
		SMILES: "CCO", InChIKey: "LFQSCWFLJHTTHZ-UHFFFAOYSA-N",
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestComponentSourcesThatAreNone wants a sentence, not a traceback, and no half dictionary.
func TestComponentSourcesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	whole := readAll(t, "testdata/components.bcif")
	files := map[string][]byte{
		"empty.bcif": {}, "torn.bcif": whole[:len(whole)/2], "noise.bcif": bytes.Repeat([]byte{0xC1}, 100), "number.bcif": {7},
		"text.cif": []byte("no mmCIF at all\n"), "none.cif": []byte("data_X\n_a.b 1\n"), "other.txt": whole,
	}
	names := []string{"absent.bcif", "."}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	output := filepath.Join(dir, "out.gz")
	for _, name := range names {
		source := filepath.Join(dir, name)
		if name == "." {
			source = t.TempDir()
		}
		command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "components.py", source, "--output", output,
			"--processes", "1")
		told, err := command.CombinedOutput()
		if text := string(told); err == nil || !strings.HasPrefix(text, "components.py: ") || strings.Contains(text, "Traceback") {
			t.Errorf("%s: got %v and %q, want a sentence that says why not", name, err, text)
		}
		if _, err := os.Stat(output); err == nil {
			t.Errorf("%s left a dictionary", name)
		}
	}
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func writePacked(t *testing.T, path string, content []byte) {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(content); err != nil {
		t.Fatal(err)
	}
	finish(t, writer, path, &packed)
}

func writeArchive(t *testing.T, path, name string, content []byte) {
	t.Helper()
	var packed bytes.Buffer
	writer := zip.NewWriter(&packed)
	entry, err := writer.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := entry.Write(content); err != nil {
		t.Fatal(err)
	}
	finish(t, writer, path, &packed)
}

func finish(t *testing.T, writer io.Closer, path string, packed *bytes.Buffer) {
	t.Helper()
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
