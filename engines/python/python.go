// Package python is the kit of engines whose programs are written in Python: how a shard's program is called (Program.Command),
// what it prints while it runs (Reporting, Saving), why it failed (Program.Explain), what it has left (Program.ReadResult and the
// checks beside it), and whether an installation can run it (Probe). The programs' side of the same is task.py, which Command lays
// beside them. The package runs nothing.
package python

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

const (
	// ResultFile is what every program writes last, below out/.
	ResultFile = "result.json"

	// failureStatus is the exit status of a program that has written out/failure.json.
	failureStatus = 65
	failureFile   = "failure.json"
	// maxFailureBytes bounds failure.json: a message and at most 100 items.
	maxFailureBytes = 1 << 20
	// maxResultBytes bounds result.json: maxItemFailures fit.
	maxResultBytes  = 64 << 20
	maxItemFailures = 10_000
)

// Program is the programs of an engine in its words.
type Program struct {
	Engine string // as errors of the fabric name it: "vina"
	// Sources are what every shard finds in its folder of programs, and Mains those that a shard's parameters may name.
	Sources []Source
	Mains   []string
	Flags   []string // of the interpreter, beside those of every engine
	// Interpreter is the program of another environment than the scientific Python, whose name is "python"; "" for that.
	Interpreter string

	Name         string // as the subject of a sentence: "The docking program"
	Requirements string // what is to be installed when a Python package is missing: "engines/vina/requirements.lock"
	LessMemory   string // what to give it when it has run out of memory: "a smaller box or smaller ligands"
	// MemorySigns are how a program that it starts says in the log that there is no memory left.
	MemorySigns []string
	// Nameless says that a program may end well without one to name in its result.
	Nameless bool
}

// Result is what every program writes last, as out/result.json. Files holds the SHA-256 of what it has left, by name.
type Result struct {
	Summary  json.RawMessage       `json:"summary"`
	Programs map[string]string     `json:"programs"`
	Seed     *int64                `json:"seed"`
	Failures []engines.ItemFailure `json:"failures"`
	Files    map[string]string     `json:"files"`
}

// ReadResult reads out/result.json. The error is a BadOutput.
func (p Program) ReadResult(dir engines.Dir) (Result, error) {
	var result Result
	if err := p.ReadDocument(dir, ResultFile, maxResultBytes, &result); err != nil {
		return Result{}, err
	}
	if len(result.Summary) > engines.MaxSummaryBytes || len(result.Failures) > maxItemFailures || len(result.Programs) == 0 &&
		!p.Nameless {
		return Result{}, p.BadOutput("%s is larger than it can be, or names no programs", ResultFile)
	}
	return result, nil
}

// With is the result of a shard that has left these artifacts.
func (r Result) With(artifacts []engines.Artifact) engines.Result {
	return engines.Result{Summary: r.Summary, Artifacts: artifacts, Failures: r.Failures, Programs: r.Programs, Seed: r.Seed}
}

// Explain reads the failure that the program has written, and knows the usual accidents of an installation; nil when it can
// say no more than the exit code.
func (p Program) Explain(dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	if exitCode == failureStatus {
		if failure := readFailure(dir.Out(failureFile)); failure != nil {
			return failure
		}
		return executor("FAILURE_UNREADABLE", "The task reported a failure that cannot be read; see its log.")
	}
	switch {
	case strings.Contains(logTail, "ModuleNotFoundError") || strings.Contains(logTail, "ImportError"):
		return executor("PROGRAM_MISSING", "A Python package that the task needs is missing on the worker; install "+p.Requirements+
			" into its scientific Python.")
	case strings.Contains(logTail, "MemoryError") || strings.Contains(logTail, "bad_alloc"):
		return p.outOfMemory()
	case exitCode == 1 && strings.Contains(logTail, "Traceback (most recent call last)"):
		return executor("PROGRAM_ERROR", p.Name+" ended with an unexpected error; see the task's log.")
	case slices.ContainsFunc(p.MemorySigns, func(sign string) bool { return strings.Contains(logTail, sign) }):
		return p.outOfMemory()
	}
	return nil
}

func (p Program) outOfMemory() *engines.Failure {
	return executor("OUT_OF_MEMORY", "The task ran out of memory; give "+p.LessMemory+".")
}

// BadOutput is the failure of a program that ended well and left something wrong.
func (p Program) BadOutput(format string, args ...any) error {
	return executor("OUTPUT_INCOMPLETE", p.Name+"'s output is wrong: "+fmt.Sprintf(format, args...)+".")
}

// ReadDocument reads a whole JSON output that has no more than most bytes. The error is a BadOutput.
func (p Program) ReadDocument(dir engines.Dir, name string, most int64, into any) error {
	content, err := ReadBounded(dir.Out(name), most)
	if errors.Is(err, os.ErrNotExist) {
		return p.BadOutput("%s is missing", name)
	}
	if err != nil {
		return p.BadOutput("%s cannot be read", name)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return p.BadOutput("%s is not complete JSON", name)
	}
	return nil
}

// CheckDigests compares every result file with the digest that the provenance states for it. The error is a BadOutput.
func (p Program) CheckDigests(dir engines.Dir, provenanceFile string, most int64, artifacts []engines.Artifact) error {
	var provenance struct {
		Outputs []struct {
			Name   string `json:"name"`
			SHA256 string `json:"sha256"`
		} `json:"outputs"`
	}
	if err := p.ReadDocument(dir, provenanceFile, most, &provenance); err != nil {
		return err
	}
	stated := make(map[string]string, len(provenance.Outputs))
	for _, output := range provenance.Outputs {
		stated[output.Name] = output.SHA256
	}
	for _, artifact := range artifacts {
		if artifact.Role != engines.RoleResult {
			continue
		}
		found, err := digestOf(dir.Out(artifact.Name))
		if err != nil || found != stated[artifact.Name] {
			return p.BadOutput("%s is missing or is not what %s says", artifact.Name, provenanceFile)
		}
	}
	return nil
}

// CheckStated compares every file for which a digest is stated with it, and wants one for each of the artifacts. The error is a
// BadOutput.
func (p Program) CheckStated(dir engines.Dir, stated map[string]string, artifacts []engines.Artifact) error {
	for _, artifact := range artifacts {
		found, err := digestOf(dir.Out(artifact.Name))
		if err != nil || found != stated[artifact.Name] {
			return p.BadOutput("%s is missing or is not what the program wrote", artifact.Name)
		}
	}
	return nil
}

// ReadBounded reads a whole file that must not be larger than most bytes.
func ReadBounded(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > most {
		return nil, os.ErrInvalid
	}
	return content, nil
}

// readFailure returns what the program said of its failure, or nil when it said nothing that can be used.
func readFailure(path string) *engines.Failure {
	var failure engines.Failure
	content, err := ReadBounded(path, maxFailureBytes)
	if err == nil {
		err = json.Unmarshal(content, &failure)
	}
	known := failure.Class == engines.UserInput || failure.Class == engines.Executor
	if err == nil && known && failure.Code != "" && failure.Message != "" {
		return &failure
	}
	return nil
}

// digestOf is the SHA-256 of a regular file in hexadecimal; a link is refused, because the worker follows none.
func digestOf(path string) (string, error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return "", os.ErrNotExist
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

func executor(code, message string) *engines.Failure {
	return &engines.Failure{Class: engines.Executor, Code: code, Message: message}
}
