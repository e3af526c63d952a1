package fpocket

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

const (
	// failureStatus is the exit status of a program that has written out/failure.json.
	failureStatus = 65
	failureFile   = "failure.json"
	// maxFailureBytes bounds failure.json: a message.
	maxFailureBytes = 64 << 10
	// maxProgressBytes bounds a progress line; a longer one is no progress line.
	maxProgressBytes = 8 << 10
)

// Progress reads the programs' progress lines; what else is printed is ignored.
func (Fpocket) Progress(line string) (float64, string, bool) {
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

// Explain reads the failure that a program has written, and knows the usual accidents of an installation.
func (Fpocket) Explain(_ engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	if exitCode == failureStatus {
		if failure := readFailure(dir.Out(failureFile)); failure != nil {
			return failure
		}
		return executor("FAILURE_UNREADABLE", "The task reported a failure that cannot be read; see its log.")
	}
	switch {
	case strings.Contains(logTail, "ModuleNotFoundError") || strings.Contains(logTail, "ImportError"):
		return executor("PROGRAM_MISSING", "A Python package that finding pockets needs is missing on the worker; install engines/fpocket/requirements.lock into its scientific Python.")
	case strings.Contains(logTail, "MemoryError") || strings.Contains(logTail, "bad_alloc"):
		return executor("OUT_OF_MEMORY", "The task ran out of memory; give only the chains of interest.")
	case exitCode == 1 && strings.Contains(logTail, "Traceback (most recent call last)"):
		return executor("PROGRAM_ERROR", "The pocket finder ended with an unexpected error; see the task's log.")
	}
	return nil
}

// readFailure returns what the program said of its failure, or nil when it said nothing that can be used.
func readFailure(path string) *engines.Failure {
	var failure engines.Failure
	content, err := readBounded(path, maxFailureBytes)
	if err == nil {
		err = json.Unmarshal(content, &failure)
	}
	known := failure.Class == engines.UserInput || failure.Class == engines.Executor
	if err == nil && known && failure.Code != "" && failure.Message != "" {
		return &failure
	}
	return nil
}

func executor(code, message string) *engines.Failure {
	return &engines.Failure{Class: engines.Executor, Code: code, Message: message}
}

// readBounded reads a whole file that must not be larger than most bytes.
func readBounded(path string, most int64) ([]byte, error) {
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
