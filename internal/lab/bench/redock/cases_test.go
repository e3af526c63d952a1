package redock

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// writeFiles writes files into a new folder and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestReadCases(t *testing.T) {
	t.Parallel()
	folder := writeFiles(t, map[string]string{
		"cases.tsv": "# comment\npdb\tligand\tchain\tresidue\tkeep\twhy it is here\n" +
			"1abc\tSTI\tA\t201\t-\tkinase\r\n\n2abc\tATP\tB\t-5A\tMG, GCP\tnucleotide\n",
		"1abc.pdb": "ATOM", "2abc.cif.gz": "x",
	})
	apart := writeFiles(t, map[string]string{
		"mine.tsv": "pdb\treceptor\tligand\tcrystal\nown\tr.pdbqt\tLIG\tl.sdf\n", "r.pdbqt": "ATOM", "l.sdf": "x",
	})
	got, err := ReadCases([]string{folder, filepath.Join(apart, "mine.tsv")})
	want := []Case{
		{Name: "1abc", Ligand: "STI", Chain: "A", Residue: "201", Keep: []string{}, Why: "kinase"},
		{Name: "2abc", Ligand: "ATP", Chain: "B", Residue: "-5A", Keep: []string{"MG", "GCP"}, Why: "nucleotide"},
		{Name: "own", Ligand: "LIG", Crystal: filepath.Join(apart, "l.sdf"), Keep: []string{}},
	}
	for i, path := range []string{folder + "/1abc.pdb", folder + "/2abc.cif.gz", apart + "/r.pdbqt"} {
		want[i].Receptor = path
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	o := Options{Cases: []string{folder}, Only: []string{"2ABC"}}
	if all, asked, err := o.choose(); err != nil || len(all) != 2 || asked(all[0]) || !asked(all[1]) {
		t.Errorf("--only 2ABC takes not 2abc alone of %+v, %v", all, err)
	}
	o.Only = []string{"9xyz"}
	if _, _, err := o.choose(); err == nil || !strings.Contains(err.Error(), "1abc, 2abc") {
		t.Errorf("--only of no case says %v, want the cases that there are", err)
	}
}

func TestWrongTablesAreRefused(t *testing.T) {
	t.Parallel()
	const header = "pdb\tligand\tchain\tresidue\tkeep\n"
	tests := []struct{ name, table, want string }{
		{"empty", "", "no cases"},
		{"an unknown column", "pdb\tligand\tkept\n", `no column "kept"`},
		{"no ligand column", "pdb\tkeep\n", "must name the columns pdb and ligand"},
		{"a path for a name", header + "../1abc\tSTI\tA\t1\t-\n", "line 2: pdb"},
		{"no component", header + "1abc\tS.I\tA\t1\t-\n", "1abc: ligand"},
		{"no place", header + "1abc\tSTI\t-\t-\t-\n", "1abc: chain"},
		{"no number", header + "1abc\tSTI\tA\tx\t-\n", "1abc: chain"},
		{"kept by a wrong separator", header + "1abc\tSTI\tA\t1\tMG;ZN\n", "1abc: keep"},
		{"no file", header + "9abc\tSTI\tA\t1\t-\n", "holds no 9abc.pdb"},
		{"twice", header + "1abc\tSTI\tA\t1\t-\n1abc\tSTI\tB\t1\t-\n", "1abc is there twice"},
		{"no crystal", "pdb\tligand\tcrystal\n1abc\tSTI\tmissing.sdf\n", "missing.sdf is no file"},
	}
	for _, test := range tests {
		folder := writeFiles(t, map[string]string{"cases.tsv": test.table, "1abc.pdb": "ATOM"})
		if got, err := ReadCases([]string{folder}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %+v, %v, want an error with %q", test.name, got, err, test.want)
		}
	}
	_, err := ReadCases([]string{filepath.Join(t.TempDir(), "none")})
	if err == nil || !strings.Contains(err.Error(), "name a folder") {
		t.Errorf("a folder that is not there: %v", err)
	}
	if _, err := ReadCases(nil); err == nil {
		t.Error("no folder gives no error")
	}
}
