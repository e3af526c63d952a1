package cli

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/mol"
)

// packed is a text as gzip writes it.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func writePacked(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, packed(t, text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenPlain(t *testing.T) {
	t.Parallel()
	bound := fileBound{10, "cut it"}
	whole := packed(t, "0123456789")
	tests := map[string]struct {
		name    string
		content []byte
		want    string // the content, or a part of the error
		code    int
	}{
		"plain":               {"a.pdb", []byte("0123456789"), "0123456789", ExitOK},
		"packed":              {"a.pdb.gz", whole, "0123456789", ExitOK},
		"packed by its bytes": {"a.pdb", whole, "0123456789", ExitOK},
		"plain by its bytes":  {"a.pdb.gz", []byte("ATOM"), "ATOM", ExitOK},
		"two members":         {"a.gz", append(packed(t, "01"), packed(t, "23")...), "0123", ExitOK},
		"large":               {"a.pdb", []byte("0123456789a"), "has 11 B; cut it", ExitInvalid},
		"a bomb": {"a.pdb.gz", packed(t, strings.Repeat("0", 1<<20)), "gz: unpacks to more than 10 B; cut it",
			ExitInvalid},
		"cut off":        {"a.pdb.gz", whole[:len(whole)-6], "no gzip file that can be read", ExitInvalid},
		"no gzip":        {"a.pdb.gz", []byte{0x1f, 0x8b, 0xff, 0xff}, "no gzip file that can be read", ExitInvalid},
		"packed nothing": {"a.pdb.gz", packed(t, ""), "is empty when it is unpacked", ExitInvalid},
		"empty":          {"a.pdb", nil, "is empty", ExitInvalid},
	}
	for name, test := range tests {
		path := filepath.Join(t.TempDir(), test.name)
		if err := os.WriteFile(path, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openPlain(path, bound)
		if err != nil {
			if ExitCode(err) != test.code || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v (exit code %d), want %q", name, err, ExitCode(err), test.want)
			}
			continue
		}
		text, err := io.ReadAll(file)
		if err != nil || string(text) != test.want || file.size != int64(len(text)) || test.code != ExitOK {
			t.Errorf("%s: got %q of %d bytes, %v; want %q", name, text, file.size, err, test.want)
		}
		file.Close()
	}
	if _, err := openPlain(t.TempDir(), bound); ExitCode(err) != ExitInvalid {
		t.Errorf("a folder: got %v", err)
	}
}

// TestUnpackedFilesLeaveNothing unpacks into a folder of its own.
func TestUnpackedFilesLeaveNothing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(t.TempDir(), "a.pdb.gz")
	writePacked(t, path, "ATOM")
	t.Setenv("TMPDIR", folder)
	for _, bound := range []fileBound{{10, ""}, {1, ""}} {
		if file, err := openPlain(path, bound); err == nil {
			file.Close()
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestPlainNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][3]string{
		"dir/1iep.pdb.gz": {"1iep.pdb", "1iep", "pdb"}, "1IEP.CIF.GZ": {"1IEP.CIF", "1IEP", "cif"}, "a.smi": {"a.smi", "a", "smi"},
		".gz": {".gz", "", "gz"}, "pdb1iep.ent.gz": {"pdb1iep.ent", "pdb1iep", "ent"}, "x.gz": {"x", "x", ""},
	} {
		if got := [3]string{plainName(path), stem(path), formatOf(path)}; got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// TestPackedInputs reads a compressed file of every kind that a command takes.
func TestPackedInputs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		writePacked(t, path, text)
		return path
	}
	for _, name := range []string{"r.pdb.gz", "r.ent.gz", "r.cif.gz", "r.pdbqt.gz"} {
		if got, err := (&receptorFlags{}).read([]string{file(name, "ATOM\n")}); err != nil || got.title() != "r" {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	libraries := []string{
		file("a.smi.gz", "CCO ethanol\n"), file("b.csv.gz", "name,smiles\nethane,CC\n"), file("c.sdf.gz", record("c")),
	}
	files := []string{file("d.sdf.gz", record("d")), file("e.mol2.gz", "@<TRIPOS>MOLECULE\n"), file("f.pdb.gz", "HETATM\n")}
	ligands, err := gatherLigands(nil, libraries, files)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range ligands {
		text := l.smiles
		if l.path != "" {
			content, done, err := l.open()
			if err != nil {
				t.Fatal(err)
			}
			bytes, _ := io.ReadAll(content)
			done()
			text = l.fileName() + " " + l.source(stored(l.fileName())).Artifact.Artifact.Format + " " +
				strings.Split(string(bytes), "\n")[0]
		}
		got = append(got, l.label+": "+text)
	}
	want := "ethanol: CCO|ethane: CC|c: c.sdf sdf c|d: d.sdf sdf d|e: e.mol2 mol2 @<TRIPOS>MOLECULE|f: f.pdb pdb HETATM"
	if strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	if box := file("native.mol2.gz", "@<TRIPOS>MOLECULE\n"); checkBoxLigand(box) != nil || boxLigandFormat(box) != mol.FormatMOL2 {
		t.Errorf("a ligand to lay the box around: got %v, %s", checkBoxLigand(box), boxLigandFormat(box))
	}
	if q, err := readQueries(file("q.fasta.gz", ">a\nMKVLAAGIVGLLLAQWERTY\n")); err != nil || q.program != blastp {
		t.Errorf("queries: got %+v, %v", q, err)
	}
	structure, err := dynamicsInputFile(file("p.cif.gz", "data_x\n"), structureFormats, "")
	if err != nil || structure.format != mol.FormatMMCIF || structure.name() != "p.cif" {
		t.Errorf("a structure to simulate: got %+v, %v", structure, err)
	}
	if measured, err := structure.measure(); err != nil || measured.ByteSize != 7 || measured.StorageKey != "not-uploaded/p.cif" {
		t.Errorf("its measure: got %+v, %v", measured, err)
	}
	scene, err := readMolecularScene(file("s.mvsj.gz", `{"root": {"kind": "root"}}`))
	if err != nil || scene.structure || scene.size != 26 {
		t.Fatalf("a scene: got %+v, %v", scene, err)
	}
	if pack, err := scene.pack(nil); err != nil || pack.scene.logical != "s.mvsj" || !pack.scene.unpacked {
		t.Errorf("its package: got %+v, %v", pack, err)
	}
}
