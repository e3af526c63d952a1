package enginestest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// maxLogTail is how much of a program's output Explain gets to see.
const maxLogTail = 64 << 10

// Outcome is what a driven plan left behind, by shard name. A shard that was not started is in neither map.
type Outcome struct {
	Shards   []engines.Shard
	Dirs     map[string]engines.Dir
	Results  map[string]engines.Result
	Failures map[string]*engines.Failure
	Logs     map[string]string
}

// Drive plans a request and runs every shard, one after the other, as the fabric would: it stages the inputs, runs the
// program in the shard's directory, and collects. It resolves "python" to MOLFABRIC_PYTHON and skips the test without it. env is
// added to the programs' environment.
func Drive(t *testing.T, e engines.Engine, request engines.Request, objects map[string]string, env ...string) *Outcome {
	t.Helper()
	shards, err := e.Plan(request)
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	outcome := &Outcome{
		Shards: shards, Dirs: map[string]engines.Dir{}, Results: map[string]engines.Result{},
		Failures: map[string]*engines.Failure{}, Logs: map[string]string{},
	}
	root := t.TempDir()
	for i, shard := range shards {
		if outcome.stopped(shards[:i], shard) {
			break
		}
		dir := engines.Dir(filepath.Join(root, shard.Name))
		outcome.Dirs[shard.Name] = dir
		if failure := outcome.stage(t, shards, shard, dir, objects); failure != nil {
			outcome.Failures[shard.Name] = failure
			continue
		}
		outcome.run(t, e, shard, dir, env)
	}
	return outcome
}

// stopped reports whether an essential shard of an earlier stage has failed.
func (o *Outcome) stopped(earlier []engines.Shard, shard engines.Shard) bool {
	for _, other := range earlier {
		if other.Essential && other.StageIndex < shard.StageIndex && o.Failures[other.Name] != nil {
			return true
		}
	}
	return false
}

// stage puts the inputs at in/. An input from a shard that failed is the failure of this one.
func (o *Outcome) stage(
	t *testing.T, shards []engines.Shard, shard engines.Shard, dir engines.Dir, objects map[string]string,
) *engines.Failure {
	t.Helper()
	for _, folder := range []string{dir.In(""), dir.Out("")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, input := range shard.Inputs {
		switch {
		case input.Object != nil:
			file, ok := objects[input.Object.StorageKey]
			if !ok {
				t.Fatalf("shard %s wants object %q, which the case does not have", shard.Name, input.Object.StorageKey)
			}
			copyFile(t, file, dir.In(input.Name))
		case input.From.Shard != "":
			if input.From.Optional && !produced(o.Results[input.From.Shard], input.From.Output) {
				continue
			}
			if failure := o.Failures[input.From.Shard]; failure != nil {
				return &engines.Failure{Class: failure.Class, Code: failure.Code, Message: "an earlier task failed: " +
					failure.Message}
			}
			copyFile(t, o.Dirs[input.From.Shard].Out(input.From.Output), dir.In(input.Name))
		default:
			for _, other := range shards {
				if result, ok := o.Results[other.Name]; ok && other.Stage == input.From.Stage &&
					produced(result, input.From.Output) {
					copyFile(t, o.Dirs[other.Name].Out(input.From.Output),
						filepath.Join(dir.In(input.Name), other.Name, input.From.Output))
				}
			}
		}
	}
	return nil
}

func produced(result engines.Result, name string) bool {
	for _, artifact := range result.Artifacts {
		if artifact.Name == name {
			return true
		}
	}
	return false
}

// run starts the shard's program, and checks on the way that it keeps to the contract: progress rises within [0, 1] and
// nothing outside out/ is written.
func (o *Outcome) run(t *testing.T, e engines.Engine, shard engines.Shard, dir engines.Dir, env []string) {
	t.Helper()
	process := processOf(t, e, shard, dir)
	process.Env = append(process.Env, env...)
	before := snapshot(t, dir)
	var printed, log bytes.Buffer
	process.Stdout, process.Stderr = &printed, &log
	err := process.Run()
	o.Logs[shard.Name] = tail(printed.String() + log.String())
	o.checkProgress(t, e, shard, printed.String())
	checkCheckpoints(t, e, shard, dir, printed.String())
	if after := snapshot(t, dir); after != before {
		t.Errorf("shard %s wrote outside out/:\n got %s\nwant %s", shard.Name, after, before)
	}
	if err == nil {
		o.collect(t, e, shard, dir)
		return
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("shard %s: %v", shard.Name, err)
	}
	failure := &engines.Failure{Class: engines.Executor, Code: "EXIT", Message: exit.String()}
	if explainer, ok := e.(engines.Explainer); ok {
		if explained := explainer.Explain(shard, dir, exit.ExitCode(), o.Logs[shard.Name]); explained != nil {
			failure = explained
		}
	}
	if strings.Contains(failure.Message, string(dir)) {
		t.Errorf("shard %s: the failure's message holds a path of the worker: %s", shard.Name, failure.Message)
	}
	o.Failures[shard.Name] = failure
}

func (o *Outcome) collect(t *testing.T, e engines.Engine, shard engines.Shard, dir engines.Dir) {
	t.Helper()
	result, err := e.Collect(shard, dir)
	var failure *engines.Failure
	switch {
	case errors.As(err, &failure):
		o.Failures[shard.Name] = failure
	case err != nil:
		t.Fatalf("Collect of shard %s: %v", shard.Name, err)
	default:
		o.Results[shard.Name] = result
	}
	for _, artifact := range result.Artifacts {
		if !safePath(artifact.Name) || artifact.Role == "" || artifact.MediaType == "" || artifact.Format == "" {
			t.Errorf("shard %s: artifact %+v is not fully described", shard.Name, artifact)
		}
	}
	if len(result.Summary) > engines.MaxSummaryBytes {
		t.Errorf("shard %s: its summary has %d bytes", shard.Name, len(result.Summary))
	}
}

func (o *Outcome) checkProgress(t *testing.T, e engines.Engine, shard engines.Shard, printed string) {
	t.Helper()
	progresser, ok := e.(engines.Progresser)
	if !ok {
		return
	}
	last := 0.0
	for line := range strings.Lines(printed) {
		fraction, message, ok := progresser.Progress(strings.TrimSuffix(line, "\n"))
		if !ok {
			continue
		}
		if fraction < last || fraction > 1 || strings.ContainsAny(message, "\n\r") {
			t.Errorf("shard %s: progress %v (%q) after %v", shard.Name, fraction, message, last)
		}
		last = fraction
	}
}

// checkCheckpoints wants every checkpoint that was told to be there.
func checkCheckpoints(t *testing.T, e engines.Engine, shard engines.Shard, dir engines.Dir, printed string) {
	t.Helper()
	checkpointer, ok := e.(engines.Checkpointer)
	if !ok {
		return
	}
	for line := range strings.Lines(printed) {
		names, _ := checkpointer.Checkpoint(strings.TrimSuffix(line, "\n"))
		for _, name := range names {
			if _, err := os.Stat(dir.Out(name)); err != nil || !safePath(name) || !strings.HasPrefix(name, "checkpoint/") {
				t.Errorf("shard %s tells of the checkpoint %q, which is none: %v", shard.Name, name, err)
			}
		}
	}
}

// Python returns the interpreter that holds the scientific packages. Without one the test is skipped, and fails where the
// environment says that nothing may be skipped.
func Python(t *testing.T) string {
	t.Helper()
	python := os.Getenv("MOLFABRIC_PYTHON")
	if python != "" {
		return python
	}
	Skip(t, "set MOLFABRIC_PYTHON to a Python with the packages of the engine's requirements.lock")
	return ""
}

// ProgramPath is the environment of an interpreter that imports programs from these folders of the repository, and task.py.
func ProgramPath(t *testing.T, folders ...string) []string {
	t.Helper()
	shared := t.TempDir()
	write(t, filepath.Join(shared, "task.py"), python.Task, 0o600)
	places := []string{shared}
	for _, folder := range folders {
		whole, err := filepath.Abs(folder)
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, whole)
	}
	return append(os.Environ(), "PYTHONPATH="+strings.Join(places, string(os.PathListSeparator)))
}

// Skip skips a test for want of a program or an input, or fails it where CI or MOLFABRIC_TEST_REQUIRE is set.
func Skip(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" || os.Getenv("MOLFABRIC_TEST_REQUIRE") == "1" {
		t.Fatal(reason)
	}
	t.Skip("SKIPPED: " + reason)
}

func program(t *testing.T, name string) string {
	t.Helper()
	if name == "python" {
		return Python(t)
	}
	// An environment of an engine's own lies beside the scientific Python: python-fold is fold/bin/python.
	if environment, ok := strings.CutPrefix(name, "python-"); ok {
		name = filepath.Join(filepath.Dir(Python(t)), "..", "..", environment, "bin", "python")
	}
	found, err := exec.LookPath(name)
	if err != nil {
		Skip(t, "the program "+name+" is not installed")
	}
	return found
}

func checkProbe(t *testing.T, probe engines.Probe) {
	output, err := exec.CommandContext(t.Context(), program(t, probe.Argv[0]), probe.Argv[1:]...).Output()
	if err != nil {
		t.Fatalf("the probe fails: %v", err)
	}
	versions, err := probe.Check(output)
	if err != nil || len(versions) == 0 {
		t.Errorf("the probe found %v, %v; want versions", versions, err)
	}
}

// snapshot lists the files of a task's directory, except those below out/, with their digests.
func snapshot(t *testing.T, dir engines.Dir) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(string(dir), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == filepath.Clean(dir.Out("")) {
			return filepath.SkipDir
		}
		content := []byte{}
		if !entry.IsDir() {
			content, err = os.ReadFile(path) //nolint:gosec // G122: the test's own directory, and nobody writes to it now
		}
		lines = append(lines, fmt.Sprintf("%s %x", path, sha256.Sum256(content)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, content, 0o444)
}

func write(t *testing.T, path string, content []byte, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
}

func tail(text string) string { return text[max(len(text)-maxLogTail, 0):] }

func sortedNames(files map[string][]byte) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
