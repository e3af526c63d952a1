package receipt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/internal/secret"
)

var at = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func sample() Statement {
	outputs := []Output{
		{Digest: Digest{strings.Repeat("a", 64)}, Annotations: Annotations{ArtifactID: "art_1", FileName: "poses/a.sdf",
			Task: "dock-00000", TaskIndex: 3, Role: "result", ByteSize: 7}},
		{Digest: Digest{strings.Repeat("b", 64)}, Annotations: Annotations{ArtifactID: "art_2", FileName: "log.txt",
			Task: "dock-00000", TaskIndex: 3, Role: "log", ByteSize: 8}},
		{Digest: Digest{strings.Repeat("c", 64)}, Annotations: Annotations{ArtifactID: "art_3", FileName: "log.txt",
			Task: "dock-00000", TaskIndex: 3, Role: "log", ByteSize: 9}},
	}
	NameOutputs(outputs)
	return Statement{Subject: outputs, Predicate: Predicate{
		Job: Job{ID: "job_1", Type: "molecular", Status: "COMPLETED", Run: 1, CreatedAt: at,
			FinishedAt: at.Add(time.Minute)},
		Engine:     Engine{ID: "autodock-vina", Programs: map[string][]string{"vina": {"1.2.7"}}, Toolchains: []string{"t"}},
		Parameters: Parameters{Digest: Digest{strings.Repeat("d", 64)}, ByteSize: 3},
		Inputs:     []Input{{Name: "accounts/a/<receptor>.pdb", Digest: &Digest{strings.Repeat("e", 64)}}, {Name: "é"}},
		Tasks: []Task{{ID: "task_1", Index: 3, Name: "dock-00000", Stage: "dock", Status: "SUCCEEDED", Attempts: []Attempt{
			{Attempt: 1, Run: 1, Outcome: "SUCCEEDED", CPUMicroseconds: 1500000, ChargedMicropence: 1230001, FinishedAt: at}}}},
		Ledger: []Line{{ID: "txn_1", Run: 1, Type: "charge", Bucket: "wallet", AmountPence: -2, CreatedAt: at}},
		Charge: Charge{Currency: "GBP", AccruedMicropence: 1230001, ChargedPence: 2},
	}}
}

func signer(t *testing.T, letter string) *Signer {
	t.Helper()
	s, err := NewSigner(secret.One(bytes.Repeat([]byte(letter), secret.MinBytes)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func envelope(t *testing.T, s *Signer, statement []byte) []byte {
	t.Helper()
	signature, err := s.Sign(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"payloadType": PayloadType, "payload": base64.StdEncoding.EncodeToString(statement),
		"signatures": []map[string]string{{"keyid": s.Key().ID(), "sig": base64.StdEncoding.EncodeToString(signature)}}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func encoded(t *testing.T, s Statement) []byte {
	t.Helper()
	text, err := Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestOpen(t *testing.T) {
	t.Parallel()
	before, now := signer(t, "a"), signer(t, "b")
	keys := []Key{now.Key(), before.Key()}
	statement := encoded(t, sample())
	if again := encoded(t, sample()); !bytes.Equal(statement, again) {
		t.Error("the statement differs between two writings")
	}
	for name, s := range map[string]*Signer{"the key that signs now": now, "the one before": before} {
		text := envelope(t, s, statement)
		if again := envelope(t, s, statement); !bytes.Equal(text, again) {
			t.Errorf("%s: signed twice, the receipt differs", name)
		}
		opened, err := Open(t.Context(), text, keys)
		if err != nil || opened.KeyID != s.Key().ID() || opened.Statement.Predicate.Job.ID != "job_1" ||
			opened.Statement.Predicate.Merkle.Leaves != 11 {
			t.Errorf("%s: got %+v, %v", name, opened, err)
		}
	}
	if _, err := Open(t.Context(), envelope(t, signer(t, "c"), statement), keys); err == nil {
		t.Error("a receipt of an unknown key holds")
	}
	if _, err := Open(t.Context(), envelope(t, now, statement), nil); err == nil {
		t.Error("a receipt holds without a key")
	}
}

// TestEveryByteCounts changes each byte of a receipt in turn: none may go unseen but where JSON or base64 say the same.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	s := signer(t, "a")
	statement := encoded(t, sample())
	text := envelope(t, s, statement)
	payload := bytes.Index(text, []byte(`"payload":"`)) + len(`"payload":"`)
	for i := range text[payload : payload+base64.StdEncoding.EncodedLen(len(statement))] {
		changed := bytes.Clone(text)
		changed[payload+i] ^= 1
		opened, err := Open(t.Context(), changed, []Key{s.Key()})
		if err != nil {
			continue
		}
		before, _ := Open(t.Context(), text, []Key{s.Key()})
		if encodedAgain := encoded(t, opened.Statement); !bytes.Equal(encodedAgain, encoded(t, before.Statement)) {
			t.Fatalf("byte %d was changed from %q to %q, and the receipt holds", payload+i, text[payload+i], changed[payload+i])
		}
	}
}

// TestRootIsOfWhatIsStated signs statements whose root is not theirs, or that are something else.
func TestRootIsOfWhatIsStated(t *testing.T) {
	t.Parallel()
	s := signer(t, "a")
	statement := encoded(t, sample())
	for _, c := range []struct{ from, to, want string }{
		{`"amountPence":-2`, `"amountPence":-1`, "Merkle root"},
		{`"chargedPence":2`, `"chargedPence":3`, "Merkle root"},
		{strings.Repeat("e", 64), strings.Repeat("f", 64), "Merkle root"},
		{strings.Repeat("a", 64), strings.Repeat("f", 64), "Merkle root"},
		{`"leaves":11`, `"leaves":10`, "Merkle root"},
		{`"run":1,"createdAt"`, `"run":1,"more":1,"createdAt"`, "Merkle root"},
		{PredicateType, "urn:molfabric:receipt:v2", "this program knows"},
		{StatementType, "https://in-toto.io/Statement/v2", "this program knows"},
		{`"charge":{`, `"charges":{`, `lacks the part "charge"`},
	} {
		changed := bytes.Replace(statement, []byte(c.from), []byte(c.to), 1)
		if bytes.Equal(changed, statement) {
			t.Fatalf("%s is not in the statement", c.from)
		}
		var wrong *Error
		_, err := Open(t.Context(), envelope(t, s, changed), []Key{s.Key()})
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s to %s: got %v, want %q", c.from, c.to, err, c.want)
		}
	}
	for _, text := range []string{``, `{}`, `[]`, `{"payloadType":"text/plain","payload":"","signatures":[]}`,
		`{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[]}`} {
		if _, err := Open(context.Background(), []byte(text), []Key{s.Key()}); err == nil {
			t.Errorf("%s is a receipt", text)
		}
	}
}

// TestRootByHand computes the root of a small statement as doc/receipts.md tells, without the library.
func TestRootByHand(t *testing.T) {
	t.Parallel()
	statement := `{"subject":[],"predicate":{"job":{"b":1,"a":"é"},"engine":{},"parameters":{},"inputs":[],"tasks":[],"ledger":[],
		"charge":{"x":1.0}}}`
	hash := func(prefix byte, parts ...[]byte) []byte {
		sum := sha256.Sum256(append([]byte{prefix}, bytes.Join(parts, nil)...))
		return sum[:]
	}
	leaf := func(text string) []byte { return hash(0, []byte(text)) }
	want := hash(1,
		hash(1, leaf(`["job",{"a":"é","b":1}]`), leaf(`["engine",{}]`)),
		hash(1, leaf(`["parameters",{}]`), leaf(`["charge",{"x":1}]`)))
	got, err := rootOf([]byte(statement))
	if err != nil || got.Leaves != 4 || got.Root != hex.EncodeToString(want) {
		t.Errorf("got %+v, %v; want %x over 4 leaves", got, err, want)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for i, want := range []string{"poses/a.sdf", "task-00003/log.txt", "task-00003/art_3/log.txt"} {
		if got := sample().Subject[i]; got.Name != want || got.Places()[0] != want {
			t.Errorf("got %+v, want the name %s", got, want)
		}
	}
}

func TestKeysTravelAsPEM(t *testing.T) {
	t.Parallel()
	key := signer(t, "a").Key()
	text, err := key.PEM()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ParseKey(text); err != nil || again.ID() != key.ID() || len(key.ID()) != 64 {
		t.Errorf("got %+v, %v", again, err)
	}
	for _, wrong := range []string{"", "key", strings.Replace(text, "PUBLIC", "PRIVATE", 2),
		"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"} {
		if _, err := ParseKey(wrong); err == nil {
			t.Errorf("%q is a key", wrong)
		}
	}
	if _, err := NewSigner(secret.Ring{}); err == nil {
		t.Error("somebody signs without a secret")
	}
}

func BenchmarkEncode(b *testing.B) {
	s := sample()
	for i := range 20_000 {
		o, task := s.Subject[0], s.Predicate.Tasks[0]
		o.Name, task.Index = strings.Repeat("n", 20), i
		s.Subject, s.Predicate.Tasks = append(s.Subject, o, o), append(s.Predicate.Tasks, task)
	}
	for b.Loop() {
		text, err := Encode(s)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text)))
	}
}
