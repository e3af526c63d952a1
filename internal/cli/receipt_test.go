package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/receipt"
	"github.com/molfabric/molfabric/internal/secret"
)

// notary is a folder with a job's receipt, its keys and its files, as a client has them.
type notary struct {
	t    *testing.T
	dir  string
	keys contract.ReceiptKeyList
}

// contents are what the job has made: task and name of the file, and its text.
var contents = [][3]string{
	{"rank", "results.csv", "rank,score"}, {"dock-00000", "poses/00001.pdbqt", "MODEL 1"}, {"dock-00000", "log.txt", "done"},
	{"dock-00001", "log.txt", "done too"}, {"rank", "provenance.json", "{}"}, {"rank", "../../out.txt", "leads out"},
}

func newNotary(t *testing.T) *notary {
	t.Helper()
	n := &notary{t: t, dir: t.TempDir()}
	outputs := make([]receipt.Output, len(contents))
	for i, c := range contents {
		outputs[i] = receipt.Output{Digest: receipt.Digest{SHA256: hexOf(c[2])}, Annotations: receipt.Annotations{
			ArtifactID: "art_" + c[1], Task: c[0], TaskIndex: i, FileName: c[1]}}
	}
	receipt.NameOutputs(outputs)
	signer, err := receipt.NewSigner(secret.One(bytes.Repeat([]byte("a"), secret.MinBytes)))
	if err != nil {
		t.Fatal(err)
	}
	statement, err := receipt.Encode(receipt.Statement{Subject: outputs, Predicate: receipt.Predicate{
		Job:    receipt.Job{ID: "job_1", Status: "COMPLETED", Run: 1, FinishedAt: time.Unix(1e9, 0).UTC()},
		Charge: receipt.Charge{Currency: "GBP", ChargedPence: 7},
		Inputs: []receipt.Input{}, Tasks: []receipt.Task{}, Ledger: []receipt.Line{}}})
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.Sign(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signer.Key().PEM()
	if err != nil {
		t.Fatal(err)
	}
	n.keys = contract.ReceiptKeyList{Keys: []contract.ReceiptKey{{KeyID: signer.Key().ID(), Algorithm: "ed25519", PublicKey: text}}}
	n.json("keys.json", n.keys)
	n.write("key.pem", text)
	n.json("receipt.json", contract.Receipt{PayloadType: receipt.PayloadType, Payload: base64.StdEncoding.EncodeToString(statement),
		Signatures: []contract.ReceiptSignature{{KeyID: signer.Key().ID(), Sig: base64.StdEncoding.EncodeToString(signature)}}})
	return n
}

func hexOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (n *notary) write(name, text string) {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *notary) json(name string, value any) {
	n.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		n.t.Fatal(err)
	}
	n.write(name, string(text))
}

// run runs a command; arguments that name a file of the folder get its path.
func (n *notary) run(args ...string) (code int, said string) {
	n.t.Helper()
	for i, arg := range args {
		if _, err := os.Stat(filepath.Join(n.dir, arg)); err == nil && i > 0 {
			args[i] = filepath.Join(n.dir, arg)
		}
	}
	root := &cobra.Command{Use: "molfabric"}
	AddCommands(root, "test")
	var out bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	return Execute(context.Background(), root), out.String()
}

func TestVerifyFiles(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	for name, text := range map[string]string{
		"as-outputs/results.csv": "rank,score", "as-outputs/poses/00001.pdbqt": "MODEL 1", "as-outputs/task-00002/log.txt": "done",
		"as-outputs/task-00003/log.txt": "done too", "as-outputs/provenance.json": "{}", "as-outputs/notes.txt": "mine",
		// the bundle has a provenance.json of its own
		"as-bundle/results.csv": "rank,score", "as-bundle/provenance.json": "of the API", "as-bundle/rank/provenance.json": "{}",
		"as-bundle/dock-00001/log.txt": "done too",
		"flipped/results.csv":          "rank,score", "flipped/poses/00001.pdbqt": "MODEL 2",
		"bundle-flipped/dock-00001/log.txt": "done t0o", "elsewhere/notes.txt": "mine",
	} {
		n.write(name, text)
	}
	for _, c := range []struct {
		folder string
		flags  []string
		code   int
		want   string
	}{
		{"as-outputs", nil, 0, "5 files are as the receipt says, 0 are not, 1 are not there\n" +
			"not of the receipt: notes.txt"},
		{"as-outputs", []string{"--complete"}, ExitDifferent, "missing: ../../out.txt"},
		{"as-bundle", nil, 0, "3 files are as the receipt says, 0 are not, 3 are not there"},
		{"flipped", nil, ExitDifferent, "not verified: changed: poses/00001.pdbqt"},
		{"bundle-flipped", nil, ExitDifferent, "not verified: changed: dock-00001/log.txt"},
		{"elsewhere", nil, ExitDifferent, "has no file of the receipt"},
		{"gone", nil, ExitInvalid, "--dir"},
	} {
		code, said := n.run(append([]string{"verify", "receipt.json", "--keys", "keys.json", "--dir", c.folder}, c.flags...)...)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%s %v: got %d\n%s\nwant %d with %s", c.folder, c.flags, code, said, c.code, c.want)
		}
	}
	code, said := n.run("verify", "receipt.json", "--keys", "key.pem", "--dir", "flipped", "--json")
	var verdict struct {
		JobID          string
		Right          int
		Changed, Other []string
	}
	if err := json.NewDecoder(strings.NewReader(said)).Decode(&verdict); err != nil || code != ExitDifferent ||
		verdict.JobID != "job_1" ||
		verdict.Right != 1 || len(verdict.Changed) != 1 || verdict.Changed[0] != "poses/00001.pdbqt" {
		t.Errorf("got %d %+v, %v of %s", code, verdict, err, said)
	}
}

func TestVerifyReceipt(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	kept, err := os.ReadFile(filepath.Join(n.dir, "receipt.json"))
	if err != nil {
		t.Fatal(err)
	}
	n.write("changed.json", strings.Replace(string(kept), `"sig":"`, `"sig":"A`, 1))
	n.write("text.json", "hello")
	n.write("no-keys.json", `{"keys":[]}`)
	n.write("bad-keys.json", `{"keys":[{"publicKey":"A"}]}`)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"receipt.json", "--keys", "keys.json"}, 0, "charged   7 pence GBP"},
		{[]string{"receipt.json", "--keys", "key.pem"}, 0, "job       job_1, COMPLETED, run 1"},
		{[]string{"changed.json", "--keys", "keys.json"}, ExitDifferent, "its signature is of none of the 1 keys"},
		{[]string{"text.json", "--keys", "keys.json"}, ExitDifferent, "no DSSE envelope"},
		{[]string{"receipt.json", "--keys", "no-keys.json"}, ExitInvalid, "neither the answer of"},
		{[]string{"receipt.json", "--keys", "bad-keys.json"}, ExitInvalid, "keys[0].publicKey is no PEM block"},
		{[]string{"receipt.json", "--keys", "gone.json"}, ExitInvalid, "gone.json"},
		{[]string{"gone.json", "--keys", "keys.json"}, ExitInvalid, "gone.json"},
		{[]string{"receipt.json", "--complete"}, ExitUsage, "give both"},
		{nil, ExitUsage, "RECEIPT is missing"},
	} {
		if code, said := n.run(append([]string{"verify"}, c.args...)...); code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%v: got %d %s, want %d with %s", c.args, code, said, c.code, c.want)
		}
	}
}

// TestReceiptIsKeptAsItIs fetches a receipt and checks it with the server's keys.
func TestReceiptIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	n := newNotary(t)
	kept, err := os.ReadFile(filepath.Join(n.dir, "receipt.json"))
	if err != nil {
		t.Fatal(err)
	}
	const jobID = "job_0123456789abcdef0123456789abcdef"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/api/v1/receipts/keys":
			_ = json.NewEncoder(w).Encode(n.keys)
		case "/api/v1/jobs/" + jobID + "/receipt":
			_, _ = w.Write(kept)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":"none","code":"NOT_FOUND"}`)
		}
	}))
	defer server.Close()
	file := filepath.Join(n.dir, "fetched.json")
	if code, said := n.run("receipt", jobID, "-o", file, "--server", server.URL, "--key", "svc"); code != 0 {
		t.Fatalf("got %d %s", code, said)
	}
	if text, err := os.ReadFile(file); err != nil || !bytes.Equal(bytes.TrimSpace(text), kept) {
		t.Errorf("got %s, %v, want %s", text, err, kept)
	}
	for _, args := range [][]string{{"receipt", jobID, "--key", "svc"}, {"verify", "fetched.json"}} {
		code, said := n.run(append(args, "--server", server.URL)...)
		if code != 0 || !strings.Contains(said, "signed    by the key") {
			t.Errorf("%v: got %d %s", args, code, said)
		}
	}
}
