package e2e

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/receipt"
	"github.com/molfabric/molfabric/internal/secret"
)

// TestSampleIsRunAgain verifies receipts by running a part again with another account, which has nothing of the job but its bundle
// and the receptor: a true one holds, and one with a changed digest of a pose is found, by the ligand's name.
func TestSampleIsRunAgain(t *testing.T) {
	t.Parallel()
	needBLAST(t)
	s := start(t, "MOLFABRIC_REPEAT_RATE=1", "MOLFABRIC_LIMIT_ADDRESS=60000") // which checkRepeats asks for many times
	owner, verifier := s.chemist(t), s.chemist(t)
	run := owner.ended(owner.submit(submission(owner.pocket(), []map[string]any{ligand("aspirin", smiles["aspirin"]),
		ligand("caffeine", smiles["caffeine"])}, pocketBox)), job.Completed)
	dir := owner.unpacked(run)
	// The second ligand is drawn: where it is docked again it is the first.
	seed := int64(0)
	for names := []string{"poses/00001.pdbqt", "poses/00002.pdbqt"}; receipt.Draw(seed, names, 1)[0] != 1; {
		seed++
	}
	sample := []string{"--sample", "50%", "--seed", fmt.Sprint(seed), "--dir", dir}
	verdict, said, code := verifier.verifies(dir, append([]string{"receipt.json", "--keys", "keys.json"}, sample...)...)
	if code != 0 || len(verdict.Compared) != 1 || verdict.Of != 2 || verdict.Seed != seed ||
		verdict.Compared[0].LigandID != "caffeine" || verdict.Compared[0].Verdict != contract.VerdictIdentical {
		t.Errorf("a true receipt: got %d %+v\n%s", code, verdict, said)
	}
	forge(t, dir, "poses/00002.pdbqt")
	verdict, said, code = verifier.verifies(dir, append([]string{"forged.json", "--keys", "forger.pem"}, sample...)...)
	if code != 11 || len(verdict.Compared) != 1 || verdict.Compared[0].Verdict != contract.VerdictDifferent ||
		!strings.Contains(said, "run again, it is different: caffeine (poses/00002.pdbqt)") {
		t.Errorf("a changed digest of a pose: got %d %+v\n%s", code, verdict, said)
	}
	// Without the files, a server that does not have the job can tell nothing, and the one that has it needs none.
	if _, said, code = verifier.verifies(dir, "receipt.json", "--keys", "keys.json", "--sample", "1"); code != 5 ||
		!strings.Contains(said, "the submission is needed: give --dir") {
		t.Errorf("without a folder: got %d %s", code, said)
	}
	verdict, said, code = owner.verifies(dir, "receipt.json", "--sample", "1", "--estimate")
	if code != 0 || verdict.JobID != "" || verdict.EstimatedCost == "" || verdict.Drawn != 1 {
		t.Errorf("the price: got %d %+v\n%s", code, verdict, said)
	}
	owner.checkWholeSearch(dir)
	owner.checkPockets(dir)
	s.checkRepeats()
}

// checkRepeats waits until all that repeats has been run again by the service itself, and reads what it tells anybody.
func (s *system) checkRepeats() {
	s.t.Helper()
	var report contract.RepeatReport
	tallies := map[string]contract.RepeatTally{}
	s.eventually("what was drawn has been run again", func() bool {
		report = contract.RepeatReport{}
		if err := json.Unmarshal(s.public("/api/v1/public/repeats"), &report); err != nil {
			s.t.Fatal(err)
		}
		clear(tallies)
		for _, one := range report.Simulators {
			tallies[one.Simulator] = one.AllTime
		}
		return report.Open == 0 && tallies["autodock-vina"].Repeated >= 3 && tallies["blastp"].Repeated >= 2
	})
	if report.Chance != 1 || report.AllTime.Same != report.AllTime.Repeated || report.Recent.Repeated != report.AllTime.Repeated {
		s.t.Errorf("run again: %+v, want all the same", report)
	}
	if tally, drawn := tallies["fpocket"]; drawn {
		s.t.Errorf("pockets were run again: %+v; their volumes are estimates by chance", tally)
	}
	if page := string(s.public("/docs/repeats")); !strings.Contains(page, `data-counts="/api/v1/public/repeats"`) {
		s.t.Errorf("the page of the counts is %s", page)
	}
}

// public reads what needs no credential.
func (s *system) public(path string) []byte {
	s.t.Helper()
	answer, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d %s %v", path, answer.StatusCode, body, err)
	}
	return body
}

// checkWholeSearch has a search of sequences run again, of which no part can be drawn.
func (c *chemist) checkWholeSearch(dir string) {
	c.t.Helper()
	c.addDatabase("proteome", testSequences.proteins)
	c.keepReceipt(c.search("blastp", testSequences.proteinQueries, 0, map[string]any{"blastDatabaseName": "proteome"}),
		filepath.Join(dir, "search.json"))
	verdict, said, code := c.verifies(dir, "search.json", "--sample", "1%")
	if code != 0 || !verdict.Whole || len(verdict.Compared) < 2 || len(verdict.Compared) != verdict.Drawn {
		c.t.Errorf("a search of sequences: got %d %+v\n%s", code, verdict, said)
	}
}

// checkPockets expects a job whose files differ by chance to be refused, and not to be called different.
func (c *chemist) checkPockets(dir string) {
	c.t.Helper()
	request := fmt.Sprintf(`{"jobType":"simulation","simulator":"fpocket","sceneFile":%q}`, c.pocket())
	search, err := c.api.Submit(c.t.Context(), json.RawMessage(request), "")
	if err != nil {
		c.t.Fatal(err)
	}
	c.keepReceipt(search.Body.JobID, filepath.Join(dir, "pockets.json"))
	if _, said, code := c.verifies(dir, "pockets.json", "--sample", "1%"); code != 5 || !strings.Contains(said, "Monte Carlo") {
		c.t.Errorf("a search for pockets: got %d %s", code, said)
	}
}

// keepReceipt waits for the end of a job, and writes its receipt to a file.
func (c *chemist) keepReceipt(jobID, file string) {
	c.t.Helper()
	if ended := c.await(c.api, jobID); ended.Status != job.Completed {
		c.t.Fatalf("job %s ended as %s: %v", jobID, ended.Status, ended.Error)
	}
	stated, err := c.api.Receipt(c.t.Context(), jobID)
	if err != nil {
		c.t.Fatal(err)
	}
	put(c.t, file, stated.JSON())
}

// sampled is what --json says of a sample.
type sampled struct {
	Seed          int64
	Of, Drawn     int
	Whole         bool
	JobID         string
	EstimatedCost contract.Pounds
	Compared      []struct{ Name, LigandID, Verdict string }
}

// verifies runs the command in a folder as this user. said is what it printed.
func (c *chemist) verifies(dir string, args ...string) (verdict sampled, said string, code int) {
	c.t.Helper()
	program, err := binary()
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), program, append([]string{"verify", "--json"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "MOLFABRIC_CONFIG="+filepath.Join(c.t.TempDir(), "config.json"), "MOLFABRIC_SERVER="+c.url,
		"MOLFABRIC_API_KEY="+c.key, "NO_COLOR=1")
	var out, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diagnostics
	code = exitCode(cmd.Run())
	var answer struct{ Sample sampled }
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
			c.t.Fatalf("%v in %s", err, out.String())
		}
	}
	return answer.Sample, out.String() + diagnostics.String(), code
}

// unpacked is a folder with the bundle of a run, unpacked, the keys that check its receipt, and the receptor under another name.
func (c *chemist) unpacked(run runView) (dir string) {
	c.t.Helper()
	dir = c.t.TempDir()
	file := filepath.Join(c.t.TempDir(), "crate.zip")
	if err := c.api.Bundle(c.t.Context(), run.RunID, file); err != nil {
		c.t.Fatal(err)
	}
	crate, err := zip.OpenReader(file)
	if err != nil {
		c.t.Fatal(err)
	}
	defer crate.Close()
	if err := os.CopyFS(dir, crate); err != nil {
		c.t.Fatal(err)
	}
	keys, err := c.api.ReceiptKeys(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	put(c.t, filepath.Join(dir, "keys.json"), keys.JSON())
	structure, err := os.ReadFile(hsp90Pocket)
	if err != nil {
		c.t.Fatal(err)
	}
	put(c.t, filepath.Join(dir, "target.txt"), structure)
	return dir
}

// forge changes the digest of an output in the folder's receipt, and signs it as a service would that states what is not true.
func forge(t *testing.T, dir, output string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "receipt.json"))
	if err != nil {
		t.Fatal(err)
	}
	var kept contract.Receipt
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(kept.Payload)
	if err != nil {
		t.Fatal(err)
	}
	var statement receipt.Statement
	if err := json.Unmarshal(payload, &statement); err != nil {
		t.Fatal(err)
	}
	place := slices.IndexFunc(statement.Subject, func(o receipt.Output) bool { return o.Name == output })
	if place < 0 {
		t.Fatalf("the receipt has no %s", output)
	}
	digest := &statement.Subject[place].Digest.SHA256
	*digest = strings.Repeat("0", len(*digest)-1) + "1"
	signer, err := receipt.NewSigner(secret.One(bytes.Repeat([]byte("f"), secret.MinBytes)))
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "forged.json"), signedBy(t, signer, statement))
	pem, err := signer.Key().PEM()
	if err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "forger.pem"), []byte(pem))
}

func signedBy(t *testing.T, signer *receipt.Signer, statement receipt.Statement) []byte {
	t.Helper()
	payload, err := receipt.Encode(statement)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.Sign(context.Background(), payload)
	if err != nil {
		t.Fatal(err)
	}
	base64Of := base64.StdEncoding.EncodeToString
	text, err := json.Marshal(contract.Receipt{PayloadType: receipt.PayloadType, Payload: base64Of(payload),
		Signatures: []contract.ReceiptSignature{{KeyID: signer.Key().ID(), Sig: base64Of(signature)}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func put(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
