package alphafold

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// attempt runs a shard that folds as a worker would, and returns what it printed. It is killed after the first line for which stop
// says so.
func attempt(t *testing.T, shard engines.Shard, dir engines.Dir, objects map[string]string, stop func(line string) bool) string {
	t.Helper()
	for _, input := range shard.Inputs {
		place(t, dir.In(input.Name), objects[input.Object.StorageKey])
	}
	if err := os.MkdirAll(dir.Out(""), 0o755); err != nil {
		t.Fatal(err)
	}
	command, err := New().Command(shard, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range command.Files {
		write(t, filepath.Join(string(dir), name), content)
	}
	python := filepath.Join(filepath.Dir(enginestest.Python(t)), "..", "..", "alphafold", "bin", "python")
	process := exec.CommandContext(t.Context(), python, command.Argv[1:]...)
	process.Dir = string(dir)
	process.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), compiled + "=" + os.Getenv(compiled)}
	for name, value := range command.Env {
		process.Env = append(process.Env, name+"="+value)
	}
	var problems bytes.Buffer
	process.Stderr = &problems
	pipe, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	killed := false
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if !killed && stop(lines.Text()) {
			killed = true
			if err := process.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := process.Wait(); err != nil && !killed {
		t.Fatalf("%v: %s", err, problems.String())
	}
	return printed.String()
}

func place(t *testing.T, path, from string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, content)
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func never(string) bool { return false }

func isCheckpoint(line string) bool {
	_, ok := New().Checkpoint(line)
	return ok
}

// TestRestart kills a worker after its first protein: the next attempt folds that one no more, and leaves what an attempt leaves
// that nobody disturbs. Two runs of one seed give the same bytes.
func TestRestart(t *testing.T) { //nolint:paralleltest // what it compiles is there for the other tests
	weights, objects := tinyWeights(t)
	r := requestOf(t, ">short\n"+short+"\n>other\n"+other+"\n", weights)
	r.Params = json.RawMessage(`{"foldModels":1,"foldRecycles":0,"seed":7}`)
	plan, err := New().Plan(r)
	if err != nil {
		t.Fatal(err)
	}
	shard := plan[0]
	whole := engines.Dir(t.TempDir())
	attempt(t, shard, whole, objects, never)
	killed := engines.Dir(t.TempDir())
	attempt(t, shard, killed, objects, isCheckpoint)
	if _, err := os.Stat(killed.Out("result.json")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the attempt that was killed has a result: %v", err)
	}
	var failure *engines.Failure
	if _, err := New().Collect(shard, killed); !errors.As(err, &failure) {
		t.Errorf("Collect takes what a killed attempt has left: %v", err)
	}
	next := engines.Dir(t.TempDir())
	saves, err := filepath.Glob(killed.Out("checkpoint/*.json"))
	if err != nil || len(saves) == 0 {
		t.Fatal("there is no save", err)
	}
	for _, save := range saves {
		place(t, next.In("resume/"+filepath.Base(save)), save)
	}
	// A save that was torn on the way is as good as none.
	write(t, next.In("resume/0002-other-0000000000000000.json"), []byte("torn"))
	printed := attempt(t, shard, next, objects, never)
	if strings.Count(printed, "checkpoint/") != 1 {
		t.Errorf("the next attempt printed %s, want one protein folded", printed)
	}
	if _, err := New().Collect(shard, next); err != nil {
		t.Error(err)
	}
	same(t, whole, next, "0001-short.pdb", "0001-short.cif", "0001-short.scores.json", "0002-other.pdb", "0002-other.scores.json")
}

func same(t *testing.T, a, b engines.Dir, names ...string) {
	t.Helper()
	for _, name := range names {
		first, err := os.ReadFile(a.Out(name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(b.Out(name))
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s differs between two runs of one seed: %v", name, err)
		}
	}
}
