package enginestest

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// Attempt runs one shard in a directory of its own and returns what it printed. Its inputs are all of the case's own objects, and
// what env adds is seen by the program. The process is killed after the first line for which stop says so, as where a worker is
// lost; a nil stop never does.
func Attempt(
	t *testing.T, e engines.Engine, shard engines.Shard, dir engines.Dir, objects map[string]string, stop func(line string) bool,
	env ...string,
) string {
	t.Helper()
	for _, input := range shard.Inputs {
		copyFile(t, objects[input.Object.StorageKey], dir.In(input.Name))
	}
	if err := os.MkdirAll(dir.Out(""), 0o755); err != nil {
		t.Fatal(err)
	}
	process := processOf(t, e, shard, dir)
	process.Env = append(process.Env, env...)
	var problems bytes.Buffer
	process.Stderr = &problems
	pipe, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	printed, killed := printedUntil(bufio.NewScanner(pipe), stop)
	if killed {
		if err := process.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	if err := process.Wait(); err != nil && !killed {
		t.Fatalf("%v: %s", err, problems.String())
	}
	return printed
}

// printedUntil reads lines to the end, or to the first for which stop says so.
func printedUntil(lines *bufio.Scanner, stop func(line string) bool) (printed string, stopped bool) {
	var text strings.Builder
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if stop != nil && stop(lines.Text()) {
			return text.String(), true
		}
	}
	return text.String(), false
}

// processOf is a shard's program, ready to start, with its files laid.
func processOf(t *testing.T, e engines.Engine, shard engines.Shard, dir engines.Dir) *exec.Cmd {
	t.Helper()
	command, err := e.Command(shard, dir)
	if err != nil {
		t.Fatalf("Command of shard %s: %v", shard.Name, err)
	}
	for name, content := range command.Files {
		write(t, filepath.Join(string(dir), name), content, 0o444)
	}
	scratch := t.TempDir()
	process := exec.CommandContext(t.Context(), program(t, command.Argv[0]), command.Argv[1:]...)
	process.Dir = string(dir)
	process.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + scratch, "TMPDIR=" + scratch}
	for name, value := range command.Env {
		process.Env = append(process.Env, name+"="+value)
	}
	return process
}

// Resume gives the next attempt what an earlier one has saved: the files below out/checkpoint that match a pattern.
func Resume(t *testing.T, earlier, next engines.Dir, pattern string) {
	t.Helper()
	saves, err := filepath.Glob(earlier.Out("checkpoint/" + pattern))
	if err != nil || len(saves) == 0 {
		t.Fatal("there is no save", err)
	}
	for _, save := range saves {
		copyFile(t, save, next.In("resume/"+filepath.Base(save)))
	}
}

// Same wants outputs of two attempts to be the same bytes.
func Same(t *testing.T, a, b engines.Dir, names ...string) {
	t.Helper()
	for _, name := range names {
		first, err := os.ReadFile(a.Out(name))
		if err != nil {
			t.Fatal(err)
		}
		second, err := os.ReadFile(b.Out(name))
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s differs between two runs: %v", name, err)
		}
	}
}
