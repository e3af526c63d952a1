// Package receipt is the signed statement of what a job was given, made and cost: an in-toto Statement in a DSSE envelope, with a
// Merkle root over all of it. It makes, signs, opens and checks values; it reads no file and no table. doc/receipts.md has the
// format.
package receipt

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/rfc6962"
)

const (
	// StatementType is in-toto's name of the form of a Statement.
	StatementType = "https://in-toto.io/Statement/v1"
	// PredicateType names the form of a Predicate. What is added to it keeps the name; what changes or goes gets the next one.
	PredicateType = "urn:molfabric:receipt:v1"
	// PayloadType is in-toto's media type, which the signature covers.
	PayloadType = "application/vnd.in-toto+json"
)

// Statement says of a job's outputs how they came to be.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Output  `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Output is a file that the job made. Its name is unique in the statement.
type Output struct {
	Name        string      `json:"name"`
	Digest      Digest      `json:"digest"`
	Annotations Annotations `json:"annotations"`
}

// Digest is a SHA-256, 64 lower-case hexadecimal digits.
type Digest struct {
	SHA256 string `json:"sha256"`
}

// Annotations say of an output which task made it, under which name, and as what.
type Annotations struct {
	ArtifactID string `json:"artifactId"`
	FileName   string `json:"fileName"`
	Task       string `json:"task"`
	TaskIndex  int    `json:"taskIndex"`
	Role       string `json:"role"`
	ByteSize   int64  `json:"byteSize"`
}

// Predicate is what is stated beside the outputs. Times are RFC 3339 in UTC.
type Predicate struct {
	Job        Job        `json:"job"`
	Engine     Engine     `json:"engine"`
	Parameters Parameters `json:"parameters"`
	Inputs     []Input    `json:"inputs"`
	Tasks      []Task     `json:"tasks"`
	Ledger     []Line     `json:"ledger"`
	Charge     Charge     `json:"charge"`
	Merkle     Merkle     `json:"merkle"`
}

// Job is the job, at the end of its latest run.
type Job struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"`
	Status     string    `json:"status"`
	Run        int       `json:"run"` // 1, and one more with each retry
	CreatedAt  time.Time `json:"createdAt"`
	FinishedAt time.Time `json:"finishedAt"`
}

// Engine is what computed: its programs with the versions that tasks reported, and the digests of their toolchains.
type Engine struct {
	ID         string              `json:"id"`
	Programs   map[string][]string `json:"programs"`
	Toolchains []string            `json:"toolchains"`
}

// Parameters are the submission as it is kept, defaults included.
type Parameters struct {
	Digest   Digest `json:"digest"`
	ByteSize int64  `json:"byteSize"`
}

// Input is a stored file that the job was given. Digest is nil where nobody had stated one.
type Input struct {
	Name   string  `json:"name"`
	Digest *Digest `json:"digest,omitempty"`
}

// Task is a part of the job with all of its attempts.
type Task struct {
	ID        string    `json:"id"`
	Index     int       `json:"index"`
	Name      string    `json:"name"`
	Stage     string    `json:"stage"`
	Status    string    `json:"status"`
	Identity  string    `json:"identity,omitempty"`  // hex; of a task that makes the same each time
	Toolchain string    `json:"toolchain,omitempty"` // of the programs that made its outputs
	Attempts  []Attempt `json:"attempts"`
}

// Attempt is one start of a task, what it used and what it was charged with.
type Attempt struct {
	Attempt           int        `json:"attempt"`
	Run               int        `json:"run"`
	Outcome           string     `json:"outcome"`
	CPUMicroseconds   int64      `json:"cpuMicroseconds"`
	GPUMicroseconds   int64      `json:"gpuMicroseconds"`
	WallMs            int64      `json:"wallMs"`
	PeakMemoryBytes   int64      `json:"peakMemoryBytes"`
	ChargedMicropence int64      `json:"chargedMicropence"`
	StartedAt         *time.Time `json:"startedAt,omitempty"`
	FinishedAt        time.Time  `json:"finishedAt"`
	ReusedFrom        *Source    `json:"reusedFrom,omitempty"`
}

// Source is the attempt whose outputs another took over.
type Source struct {
	JobID   string `json:"jobId"`
	TaskID  string `json:"taskId"`
	Attempt int    `json:"attempt"`
}

// Line is a line of the ledger, as it was written.
type Line struct {
	ID          string    `json:"id"`
	Run         int       `json:"run"`
	Type        string    `json:"type"`
	Bucket      string    `json:"bucket"`
	AmountPence int64     `json:"amountPence"`
	CreatedAt   time.Time `json:"createdAt"`
}

// Charge is what the job cost. What its attempts came to is exact; what was charged is whole pence.
type Charge struct {
	Currency          string `json:"currency"`
	AccruedMicropence int64  `json:"accruedMicropence"`
	ChargedPence      int64  `json:"chargedPence"`
}

// Merkle is the root of the tree of RFC 6962 with SHA-256 over all of the statement.
type Merkle struct {
	Root   string `json:"root"` // hex
	Leaves int    `json:"leaves"`
}

// Encode completes a statement with its types and its root, and writes it. The same statement gives the same bytes.
func Encode(s Statement) ([]byte, error) {
	s.Type, s.PredicateType, s.Predicate.Merkle = StatementType, PredicateType, Merkle{}
	rootless, err := marshal(s)
	if err != nil {
		return nil, err
	}
	if s.Predicate.Merkle, err = rootOf(rootless); err != nil {
		return nil, err
	}
	return marshal(s)
}

// marshal writes JSON without escapes for HTML.
func marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("writing a statement: %w", err)
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// parts are the leaves of a statement as they are written in it: also with members that this program does not know.
type parts struct {
	Subject   []json.RawMessage `json:"subject"`
	Predicate struct {
		Job        json.RawMessage   `json:"job"`
		Engine     json.RawMessage   `json:"engine"`
		Parameters json.RawMessage   `json:"parameters"`
		Inputs     []json.RawMessage `json:"inputs"`
		Tasks      []json.RawMessage `json:"tasks"`
		Ledger     []json.RawMessage `json:"ledger"`
		Charge     json.RawMessage   `json:"charge"`
	} `json:"predicate"`
}

// rootOf computes the root over a written statement. Errors: a text that is no statement.
func rootOf(statement []byte) (Merkle, error) {
	var p parts
	if err := json.Unmarshal(statement, &p); err != nil {
		return Merkle{}, fmt.Errorf("the statement is not JSON of its form: %w", err)
	}
	tree := (&compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}).NewEmptyRange(0)
	for _, group := range []struct {
		kind   string
		values []json.RawMessage
	}{
		{"job", []json.RawMessage{p.Predicate.Job}}, {"engine", []json.RawMessage{p.Predicate.Engine}},
		{"parameters", []json.RawMessage{p.Predicate.Parameters}}, {"input", p.Predicate.Inputs}, {"output", p.Subject},
		{"task", p.Predicate.Tasks}, {"ledger", p.Predicate.Ledger}, {"charge", []json.RawMessage{p.Predicate.Charge}},
	} {
		for _, value := range group.values {
			leaf, err := leafOf(group.kind, value)
			if err != nil {
				return Merkle{}, err
			}
			if err := tree.Append(rfc6962.DefaultHasher.HashLeaf(leaf), nil); err != nil {
				return Merkle{}, fmt.Errorf("growing the Merkle tree: %w", err)
			}
		}
	}
	root, err := tree.GetRootHash(nil)
	if err != nil {
		return Merkle{}, fmt.Errorf("closing the Merkle tree: %w", err)
	}
	return Merkle{Root: hex.EncodeToString(root), Leaves: int(tree.End())}, nil
}

// leafOf is what is hashed for a part: ["kind",part] as canonical JSON, RFC 8785.
func leafOf(kind string, value json.RawMessage) ([]byte, error) {
	if value == nil {
		return nil, fmt.Errorf("the statement lacks the part %q", kind)
	}
	leaf := jsontext.Value(append(append([]byte(`["`+kind+`",`), value...), ']'))
	if err := leaf.Canonicalize(); err != nil {
		return nil, fmt.Errorf("the part %q has no canonical form: %w", kind, err)
	}
	return leaf, nil
}
