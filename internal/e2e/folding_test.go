package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/job"
)

// trpCage is a protein of 20 residues, and petN one of the database that tests align to.
const (
	trpCage = "NLYIQWLKDGGPSSGRPPPS"
	petN    = "MDIVSLAWAALMVVFTFSLSLVVWGRSGL"
)

// foldEnvironment is the interpreter that folds, and the folder of random weights, which set-up for tests makes.
func foldEnvironment(t *testing.T) (python, weights string) {
	t.Helper()
	folder := filepath.Join(filepath.Dir(enginestest.Python(t)), "..", "..", "fold")
	python, weights = filepath.Join(folder, "bin", "python"), filepath.Join(folder, "tiny-model")
	if _, err := os.Stat(filepath.Join(weights, "model.safetensors")); err != nil {
		enginestest.Skip(t, "there is no model of random weights; deploy/setup.sh --tests makes it")
	}
	return python, weights
}

// weights runs `molfabric weights` as the operator of a home and expects success.
func (s *system) weights(args ...string) string {
	s.t.Helper()
	program, err := binary()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), program, append([]string{"weights"}, append(args, "--home", s.home)...)...)
	cmd.Env = s.env
	output, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("molfabric weights %s: %v:\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// TestFolding is the path of a biologist: no prediction without weights; then sequences at a terminal, of which two cannot be
// folded (exit 8); the structure as a receptor by reference; and a job that is cancelled.
func TestFolding(t *testing.T) {
	t.Parallel()
	python, tiny := foldEnvironment(t)
	alphafold := filepath.Join(filepath.Dir(python), "..", "..", "alphafold", "bin", "python")
	database := filepath.Join(filepath.Dir(python), "..", "..", "alphafold-database")
	if _, err := os.Stat(database); err != nil {
		enginestest.Skip(t, "there is no database to align to; deploy/setup.sh --tests makes it")
	}
	s := start(t, "MOLFABRIC_FOLD_PYTHON="+python, "MOLFABRIC_ALPHAFOLD_PYTHON="+alphafold, "MOLFABRIC_FOLD_DATABASE="+database,
		"MOLFABRIC_STRUCTURES="+mirror(t))
	sh := s.signIn()
	file := writeText(t, "seqs.fasta", ">cage\n"+trpCage+"\n>bad\nMKX\n>dimer\nMKVLLA:MKVLLA\n>cage\nMKV\n")
	_, refused := sh.want(5, "", "fold", file, "--detach")
	sh.contains(refused, "foldModel", "molfabric weights add")

	if added := s.weights("add", tiny, "--model", "esmfold", "--licence", "none", "--commercial-use"); !strings.Contains(added,
		"untrained") {
		t.Errorf("got %s, want the weights untrained", added)
	}
	priced, _ := sh.want(0, "", "fold", file, "--estimate")
	sh.contains(priced, "for 2 proteins of up to 37 residues")
	out := filepath.Join(t.TempDir(), "structures")
	printed, said := sh.want(8, "", "fold", file, "--model", "esmfold", "--watch", "--out", out)
	sh.contains(said, "Not folded: bad has 'X' at position 3", "Not folded: cage has the name of record 1")
	sh.contains(printed, "UNTRAINED", "cage", "dimer", "0001-cage.cif")
	for _, name := range []string{"0001-cage.pdb", "0001-cage.cif", "0001-cage.mvsx", "0003-dimer.pae.png", "report.html",
		"structures.csv"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	_, none := sh.want(5, "", "fold", writeText(t, "none.fasta", ">a\nMKB\n"), "--detach")
	sh.contains(none, "asparagine or aspartate")
	testAlphaFold(s, sh)
	c := sh.api()
	testAlignedOnce(s, sh, c)
	testFoldAsReceptor(s, c, submittedJob.FindString(said))
	testFoldCancelled(s, c)
}

// testAlphaFold aligns to a small database and folds with random weights of AlphaFold 2, which are refused before they are there.
func testAlphaFold(s *system, sh *shell) {
	file := writeText(s.t, "one.fasta", ">petn\n"+petN+"\n>bad\nMKX\n")
	_, refused := sh.want(5, "", "fold", file, "--model", "alphafold", "--detach")
	sh.contains(refused, "foldModel", "molfabric weights add")
	python, _ := foldEnvironment(s.t)
	tiny := filepath.Join(filepath.Dir(python), "..", "..", "alphafold", "tiny-model")
	if added := s.weights("add", tiny, "--model", "alphafold", "--licence", "none", "--commercial-use"); !strings.Contains(added,
		"untrained") {
		s.t.Errorf("got %s, want the weights untrained", added)
	}
	out := filepath.Join(s.t.TempDir(), "structures")
	printed, _ := sh.want(8, "", "fold", file, "--model", "alphafold", "--models", "1", "--recycles", "0", "--seed", "7",
		"--out", out)
	sh.contains(printed, "UNTRAINED", "petn", "0001-petn.cif")
	for _, name := range []string{"0001-petn.pdb", "0001-petn.coverage.png", "0001-petn.mvsx",
		"report.html"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			s.t.Error(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(out, "0001-petn.a3m")); err != nil || strings.Count(string(text), ">") < 2 {
		s.t.Errorf("the protein was folded without what it was to be aligned to: %v\n%s", err, text)
	}
}

// testAlignedOnce folds a protein with another seed and a template: its chain has been aligned before, and is not aligned again.
func testAlignedOnce(s *system, sh *shell, c *client.Client) {
	again := []string{"fold", writeText(s.t, "again.fasta", ">again\n"+petN+"\n"), "--model", "alphafold", "--models", "1",
		"--recycles", "0", "--seed", "8", "--detach", "--templates"}
	_, unknown := sh.want(5, "", append(again, "1uyd,9zzz")...)
	sh.contains(unknown, "foldTemplates[1]")
	printed, _ := sh.want(0, "", append(again, "1uyd")...)
	sh.contains(printed, "1 of its 3 tasks have been done before")
	jobID := submittedJob.FindString(printed)
	s.eventually("the alignment is taken over", func() bool {
		tasks, err := c.Tasks(s.t.Context(), jobID, client.TaskFilter{Stage: "msa"})
		return err == nil && len(tasks.Body.Tasks) == 1 && tasks.Body.Tasks[0].Reused
	})
	if _, err := c.Cancel(s.t.Context(), jobID, ""); err != nil {
		s.t.Error(err)
	}
}

// testFoldAsReceptor gives a predicted structure to a docking by its reference, and gets a price.
func testFoldAsReceptor(s *system, c *client.Client, jobID string) {
	outputs, err := c.AllOutputs(s.t.Context(), jobID)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, one := range outputs.Body.Outputs {
		if one.Name != "0001-cage.pdb" {
			continue
		}
		dock := map[string]any{"jobType": "simulation", "simulator": "autodock-vina", "sceneFile": one.StorageKey,
			"simulationParams": map[string]any{
				"ligandIdentity": map[string]any{"ligandId": "a", "label": "aspirin",
					"source": map[string]any{"kind": "smiles", "smiles": smiles["aspirin"]}},
				"receptorArtifact": map[string]any{"schema": "service.docking.artifact/v1", "artifactId": "fold",
					"storageKey": one.StorageKey, "sha256": one.SHA256, "byteSize": one.ByteSize, "format": "pdb", "mediaType": one.MediaType},
				"boxCenterAngstrom": []float64{0, 0, 0}, "boxSizeAngstrom": []float64{20, 20, 20}, "exhaustiveness": 1, "seed": 7,
			}}
		text, err := json.Marshal(dock)
		if err != nil {
			s.t.Fatal(err)
		}
		receipt, err := c.Submit(s.t.Context(), json.RawMessage(text), "")
		if err != nil {
			s.t.Errorf("a predicted structure is refused as a receptor: %v", err)
			return
		}
		if _, err := c.Cancel(s.t.Context(), receipt.Body.JobID, ""); err != nil {
			s.t.Error(err)
		}
		return
	}
	s.t.Errorf("job %s has no 0001-cage.pdb", jobID)
}

// testFoldCancelled cancels a prediction that would take minutes.
func testFoldCancelled(s *system, c *client.Client) {
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, ">p%d\n%s\n", i, strings.Repeat(trpCage, 18))
	}
	scene, err := c.UploadFile(s.t.Context(), writeText(s.t, "long.fasta", text.String()))
	if err != nil {
		s.t.Fatal(err)
	}
	receipt, err := c.Submit(s.t.Context(), json.RawMessage(fmt.Sprintf(
		`{"jobType":"simulation","simulator":"esmfold","sceneFile":%q}`, scene.StorageKey)), "")
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.Cancel(s.t.Context(), receipt.Body.JobID, ""); err != nil {
		s.t.Fatal(err)
	}
	if ended := s.await(c, receipt.Body.JobID); ended.Status != job.Cancelled {
		s.t.Errorf("the job ended as %s, want it cancelled", ended.Status)
	}
	_, err = c.Submit(s.t.Context(), json.RawMessage(fmt.Sprintf(
		`{"jobType":"simulation","simulator":"esmfold","sceneFile":%q,"simulationParams":{"foldModel":"alphafold"}}`,
		scene.StorageKey)), "")
	if client.StatusOf(err) != http.StatusBadRequest {
		s.t.Errorf("got %v, want the other model refused", err)
	}
}
