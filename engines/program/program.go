// Package program is what engines share whose programs are written as those of engines/vina are: they print one JSON object a
// line as progress, write out/failure.json when they understand their failure, and leave their results as JSON documents
// whose digests a provenance states. It reads what such a program has left; it runs nothing.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

const (
	// failureStatus is the exit status of a program that has written out/failure.json.
	failureStatus = 65
	failureFile   = "failure.json"
	// maxFailureBytes bounds failure.json: a message and at most 100 items.
	maxFailureBytes = 1 << 20
	// maxProgressBytes bounds a progress line; a longer one is no progress line.
	maxProgressBytes = 8 << 10
)

// Program is a program in the words of its engine.
type Program struct {
	Name         string // as the subject of a sentence: "The docking program"
	Requirements string // what is to be installed when a Python package is missing: "engines/vina/requirements.lock"
	LessMemory   string // what to give it when it has run out of memory: "a smaller box or smaller ligands"
}

// Sources are the Python files in a folder of an engine, by their paths below another of the task's directory.
func Sources(files fs.FS, from, folder string) (map[string][]byte, error) {
	entries, err := fs.ReadDir(files, from)
	if err != nil {
		return nil, fmt.Errorf("list the programs: %w", err)
	}
	sources := make(map[string][]byte, len(entries))
	for _, entry := range entries {
		source, err := fs.ReadFile(files, path.Join(from, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read program %s: %w", entry.Name(), err)
		}
		sources[folder+"/"+entry.Name()] = source
	}
	return sources, nil
}

// Progress reads a progress line; what else programs and their libraries print is none.
func Progress(line string) (fraction float64, message string, ok bool) {
	if len(line) > maxProgressBytes || !strings.HasPrefix(line, `{"progress":`) {
		return 0, "", false
	}
	var said struct {
		Progress *float64 `json:"progress"`
		Message  string   `json:"message"`
	}
	if err := json.Unmarshal([]byte(line), &said); err != nil || said.Progress == nil {
		return 0, "", false
	}
	return math.Min(math.Max(*said.Progress, 0), 1), said.Message, true
}

// Checkpoint reads a line that names files of finished work, "checkpoint/<name>" below out/.
func Checkpoint(line string) (names []string, ok bool) {
	if len(line) > maxProgressBytes || !strings.HasPrefix(line, `{"checkpoint":`) {
		return nil, false
	}
	var said struct {
		Checkpoint []string `json:"checkpoint"`
	}
	if err := json.Unmarshal([]byte(line), &said); err != nil || len(said.Checkpoint) == 0 {
		return nil, false
	}
	return said.Checkpoint, true
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
		return executor("PROGRAM_MISSING", "A Python package that the task needs is missing on the worker; install "+p.Requirements+" into its scientific Python.")
	case strings.Contains(logTail, "MemoryError") || strings.Contains(logTail, "bad_alloc"):
		return executor("OUT_OF_MEMORY", "The task ran out of memory; give "+p.LessMemory+".")
	case exitCode == 1 && strings.Contains(logTail, "Traceback (most recent call last)"):
		return executor("PROGRAM_ERROR", p.Name+" ended with an unexpected error; see the task's log.")
	}
	return nil
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
