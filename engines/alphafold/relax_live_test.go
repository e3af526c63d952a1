package alphafold

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
)

// TestRelaxation relaxes residues of 1CBS, one side chain of which has been stretched: a model of random weights is no structure
// that can be relaxed.
func TestRelaxation(t *testing.T) {
	t.Parallel()
	interpreter := filepath.Join(filepath.Dir(enginestest.Python(t)), "..", "..", "alphafold", "bin", "python")
	if _, err := os.Stat(interpreter); err != nil {
		enginestest.Skip(t, "there is no ColabFold; deploy/setup.sh --tests installs it")
	}
	structure := filepath.Join(t.TempDir(), "1cbs.cif")
	if err := os.WriteFile(structure, unpacked(t, "../enginestest/samples/1cbs.cif.gz"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), interpreter, "-B", "testdata/relax.py", structure, "20")
	command.Env = enginestest.ProgramPath(t, "programs", "../fold/programs")
	var told bytes.Buffer
	command.Stderr = &told
	printed, err := command.Output()
	if err != nil {
		t.Fatal(err, told.String())
	}
	var got struct {
		BentBond, RelaxedBond, RMSD float64 // Å
		Atoms                       int
		Refused                     string
	}
	if err := json.Unmarshal(printed, &got); err != nil {
		t.Fatal(err, string(printed))
	}
	if got.Atoms != 171 || got.BentBond < 2 || got.RelaxedBond < 1.48 || got.RelaxedBond > 1.6 || got.RMSD > 0.5 {
		t.Errorf("got %+v, want a bond of carbons of about 1.53 Å again, and the other atoms near their places", got)
	}
	if got.Refused == "" {
		t.Error("atoms in one place were relaxed")
	}
}

func unpacked(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
