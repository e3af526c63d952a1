package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// record is a structure-data record without atoms.
func record(title string) string {
	return title + "\n\n\n  0  0  0  0  0  0  0  0  0  0999 V2000\nM  END\n>  <name>\nx\n\n$$$$\n"
}

func TestSplitSDF(t *testing.T) {
	t.Parallel()
	windows := strings.ReplaceAll(record("a")+record("b"), "\n", "\r\n")
	tests := []struct {
		name, file string
		want       []string // labels; nil: refused
		place      string
	}{
		{"titles", record("imatinib") + record(" acetic  acid "), []string{"imatinib", "acetic acid"}, ""},
		{"no titles", record("") + record("b") + record(""), []string{"ligand-1", "b", "ligand-3"}, ""},
		{"Windows", windows, []string{"a", "b"}, ""},
		{"no last end", record("a") + strings.TrimSuffix(record("b"), "$$$$\n"), []string{"a", "b"}, ""},
		{"no end of line", strings.TrimSuffix(record("a"), "\n"), []string{"a"}, ""},
		{"empty lines behind", record("a") + "\n \n", []string{"a"}, ""},
		{"no UTF-8", record("a\xff"), []string{"a�"}, ""},
		{"control characters", record("a\x1b[2Jb"), []string{"a[2Jb"}, ""},
		{"long line", "a\nx" + strings.Repeat("$", 3*maxLineBytes) + "\n" + record(""), []string{"a"}, ""},
		{"V3000", "a\n\n\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN CTAB\n$$$$\n", []string{"a"}, ""},
		{"no SDF", "CCO ethanol\n", nil, "is it an .sdf file?"},
		{"empty", "", nil, "is it an .sdf file?"},
		{"a large record", record("a") + strings.Repeat("x", maxLigandBytes+1), nil, "record 2 is larger"},
		{"too many", strings.Repeat(record("a"), maxLigands+1), nil, "more than 10000 ligands"},
	}
	for _, test := range tests {
		found, err := splitSDF(strings.NewReader(test.file), "x.sdf")
		if test.want == nil {
			if err == nil || !strings.Contains(err.Error(), test.place) || ExitCode(err) != ExitInvalid {
				t.Errorf("%s: got %d ligands, %v; want an error with %q", test.name, len(found), err, test.place)
			}
			continue
		}
		var labels []string
		for _, l := range found {
			labels = append(labels, l.label)
		}
		if err != nil || strings.Join(labels, "|") != strings.Join(test.want, "|") {
			t.Errorf("%s: got %q, %v; want %q", test.name, labels, err, test.want)
		}
	}
}

// FuzzSplitSDF: the records are parts of the file, one behind the other, and nothing but white space is left out.
func FuzzSplitSDF(f *testing.F) {
	f.Add(record("a") + record("b"))
	f.Add("\n$$$$\n\n$$$$\r\nM  END\n$$$$")
	f.Fuzz(func(t *testing.T, file string) {
		found, err := splitSDF(strings.NewReader(file), "x.sdf")
		if err != nil {
			return
		}
		at := int64(0)
		for _, l := range found {
			if l.offset < at || l.size <= 0 || l.offset+l.size > int64(len(file)) || strings.TrimSpace(file[at:l.offset]) != "" &&
				!strings.Contains(file[at:l.offset], "$$$$") {
				t.Fatalf("%q: record %+v behind %d", file, l, at)
			}
			if err := l.check(); err != nil || l.label == "" {
				t.Fatalf("%q: accepted %+v: %v", file, l, err)
			}
			at = l.offset + l.size
		}
	})
}

// TestRecordsAreUploadedAlone reads each record back from the file.
func TestRecordsAreUploadedAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "library.sdf.gz")
	parts := []string{record("a"), record("b/../c"), record("a")}
	writePacked(t, path, strings.Join(parts, ""))
	found, err := gatherLigands(nil, []string{path}, nil)
	if err != nil || len(found) != len(parts) {
		t.Fatalf("got %+v, %v", found, err)
	}
	for i, l := range found {
		content, done, err := l.open()
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, content.Size())
		if _, err := content.ReadAt(text, 0); err != nil || string(text) != parts[i] {
			t.Errorf("record %d: got %q, %v; want %q", i, text, err, parts[i])
		}
		done()
	}
	if got, want := found[1].fileName()+" "+found[2].fileName(), "b-..-c.sdf a-2.sdf"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := gatherLigands(nil, nil, []string{path}); ExitCode(err) != ExitUsage ||
		!strings.Contains(err.Error(), "holds 3 ligands; give it as --ligands") {
		t.Errorf("as one ligand: got %v", err)
	}
}

func TestReadTable(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		want       []ligand // nil: refused
		place      string
	}{
		{"names", "name,SMILES\nethanol,CCO\n\"acid, acetic\",CC(=O)O\n",
			[]ligand{{label: "ethanol", smiles: "CCO"}, {label: "acid, acetic", smiles: "CC(=O)O"}}, ""},
		{"no names", "smiles\nCCO\nCC\n", []ligand{{label: "ligand-2", smiles: "CCO"}, {label: "ligand-3", smiles: "CC"}}, ""},
		{"a table of results", "rank,ligandId,label,canonicalSmiles\n1,l-1,lead 1,CCO\n",
			[]ligand{{label: "lead 1", smiles: "CCO"}}, ""},
		{"Windows", "\ufeffCompound ID,Smiles\r\n7,CCO\r\n", []ligand{{label: "7", smiles: "CCO"}}, ""},
		{"no header", "CCO,ethanol\nCC,ethane\n", nil, "no column called smiles"},
		{"empty", "", nil, "has no header"},
		{"nothing below", "smiles\n", nil, "holds no ligand"},
		{"a row without", "name,smiles\na,CCO\nb,\n", nil, "x.csv:3: there is no SMILES"},
		{"a short row", "name,smiles\na\n", nil, "x.csv:2: there is no SMILES"},
		{"quotes", "name,smiles\n\"a,CCO\n", nil, "x.csv"},
		{"too many", "smiles\n" + strings.Repeat("C\n", maxLigands+1), nil, "more than 10000 ligands"},
	}
	for _, test := range tests {
		got, err := readTable(strings.NewReader(test.file), "x.csv")
		if test.want == nil {
			if err == nil || !strings.Contains(err.Error(), test.place) || ExitCode(err) != ExitInvalid {
				t.Errorf("%s: got %v, want an error with %q", test.name, err, test.place)
			}
			continue
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: got %+v, %v; want %+v", test.name, got, err, test.want)
		}
	}
}
