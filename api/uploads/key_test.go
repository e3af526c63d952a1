package uploads

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSafeName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500)
	for _, c := range []struct{ filename, want string }{
		{"receptor.pdb", "receptor.pdb"},
		{"1IEP chain A.pdb.gz", "1IEP_chain_A.pdb.gz"},
		{"../../etc/passwd", "passwd"},
		{`C:\data\ligand.sdf`, "ligand.sdf"},
		{"/", "file"},
		{".", "file"},
		{"..", "file"},
		{"", "file"},
		{".pdbqt", "file.pdbqt"},
		{"protéine.mol2", "prot_ine.mol2"},
		{"日本.pdb", "file.pdb"},
		{"a\x00b\n.pdb", "a_b.pdb"},
		{"name.", "name"},
		{long + ".pdb", long[:maxNameBytes-4] + ".pdb"},
		{"x." + long, "x." + long[:maxNameBytes-2]},
	} {
		if got := safeName(c.filename); got != c.want {
			t.Errorf("safeName(%q) = %q, want %q", c.filename, got, c.want)
		}
	}
}

func TestStorageKeyIsAlwaysSafe(t *testing.T) {
	t.Parallel()
	safe := regexp.MustCompile(`^accounts/acct_1/uploads/upl_2/[A-Za-z0-9][A-Za-z0-9._-]*$`)
	rapid.Check(t, func(t *rapid.T) {
		filename := rapid.String().Draw(t, "filename")
		key := storageKey("acct_1", "upl_2", filename)
		if name := key[strings.LastIndex(key, "/")+1:]; len(name) > maxNameBytes || !safe.MatchString(key) ||
			strings.HasSuffix(name, ".") {
			t.Fatalf("storageKey(%q) = %q", filename, key)
		}
	})
}
