package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
)

// tell does what a program may do with task.py, as its request says.
const tell = `import sys
from task import CHECKPOINT, OUT, Output, main, saved, user_error, write_json, write_text

def work(request, progress):
    progress(0.5, "half\x1b of it")
    progress(0.25, "again", milestone=True)
    progress(0.6, "too soon")
    write_text(CHECKPOINT / "half.txt", "half")
    saved(["half.txt"])
    write_json(OUT / "told.json", {"b": 1, "a": "Å"})
    try:
        with Output(OUT / "broken.txt") as output:
            output.write(b"a part")
            raise ValueError
    except ValueError:
        pass
    if request["fail"]:
        raise user_error("TOO_FEW", "Give\nmore. " + "x" * 2000, [{"item": "a", "step": "count", "message": "m"}] * 200)
    return {"summary": {"z": 1, "a": 2}, "programs": {"tell": "1"}}

sys.exit(main("Tells.", work))
`

var telling = python.Program{Engine: "telling", Sources: []python.Source{{Files: fstest.MapFS{"tell.py": {Data: []byte(tell)}}}}}

// run performs the program in a task's directory of its own.
func run(t *testing.T, params string) (dir engines.Dir, status int, printed string) {
	t.Helper()
	dir = engines.Dir(t.TempDir())
	command, err := telling.Command(engines.Shard{Params: []byte(params)}, "tell.py", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range command.Files {
		path := filepath.Join(string(dir), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	process := exec.CommandContext(t.Context(), enginestest.Python(t), command.Argv[1:]...)
	process.Dir = string(dir)
	output, err := process.Output()
	if process.ProcessState == nil {
		t.Fatal(err)
	}
	return dir, process.ProcessState.ExitCode(), string(output)
}

func TestTaskSucceeds(t *testing.T) {
	t.Parallel()
	dir, status, printed := run(t, `{"fail":false}`)
	want := `{"progress": 0.5, "message": "half of it"}
{"progress": 0.5, "message": "again"}
{"checkpoint": ["checkpoint/half.txt"]}
{"progress": 1.0, "message": "done"}
`
	if status != 0 || printed != want {
		t.Errorf("got %d and\n%s, want\n%s", status, printed, want)
	}
	result, err := telling.ReadResult(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Files) != 1 || len(result.Programs) != 1 || !strings.Contains(string(result.Summary), `"a": 2,`) {
		t.Errorf("got %+v", result)
	}
	if err := telling.CheckStated(dir, result.Files, []engines.Artifact{{Name: "told.json"}}); err != nil {
		t.Error(err)
	}
	if told, err := os.ReadFile(dir.Out("told.json")); err != nil || string(told) != "{\n \"a\": \"Å\",\n \"b\": 1\n}\n" {
		t.Errorf("got %q, %v", told, err)
	}
	if left, err := filepath.Glob(dir.Out("broken*")); err != nil || len(left) > 0 {
		t.Errorf("what was not finished lies there: %q, %v", left, err)
	}
}

func TestTaskFails(t *testing.T) {
	t.Parallel()
	dir, status, printed := run(t, `{"fail":true}`)
	failure := telling.Explain(dir, status, printed)
	if failure == nil || failure.Class != engines.UserInput || failure.Code != "TOO_FEW" ||
		!strings.HasPrefix(failure.Message, "Give more. x") {
		t.Fatalf("got %+v", failure)
	}
	if length := len([]rune(failure.Message)); length != 1000 || len(failure.Items) != 100 || failure.Unbegun {
		t.Errorf("got %d characters, %d items and %v, want 1000, 100 and false", length, len(failure.Items), failure.Unbegun)
	}
	if _, err := os.Stat(dir.Out(python.ResultFile)); err == nil {
		t.Error("a program that failed has left a result")
	}
}
