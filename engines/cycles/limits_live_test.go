package cycles

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
)

// TestFrameTooLarge lets files end at 64 KiB, which an EXR of 320x180 is not done with: its owner has to render less, and
// another try would fail in the same way.
func TestFrameTooLarge(t *testing.T) {
	t.Parallel()
	limiter, err := exec.LookPath("prlimit")
	if err != nil {
		enginestest.Skip(t, "the program prlimit is not installed")
	}
	a := start(t, renderShard(t, func(r *engines.Request) {
		r.OutputFormat, r.Metadata = "EXR", json.RawMessage(`{"resolution":"320x180","samples":1}`)
	}), nil, limiter, "--fsize=65536")
	_, _ = io.Copy(io.Discard, a.lines)
	_ = a.process.Wait()
	got := New().Explain(engines.Shard{}, a.dir, a.process.ProcessState.ExitCode(), "")
	if got == nil || got.Class != engines.UserInput || got.Code != "FRAME_TOO_LARGE" ||
		!strings.Contains(got.Message, "metadata.resolution") {
		t.Errorf("got %+v, want USER_INPUT FRAME_TOO_LARGE", got)
	}
}

// slowAnswers gives Blender no time at all, for a frame or for the opening.
const slowAnswers = `import sys
sys.path.insert(0, sys.argv.pop(1))
import json, os, render
from pathlib import Path
request = json.loads(Path("request.json").read_text())
request[sys.argv.pop(1)] = 0
Path("out").mkdir(exist_ok=True)
Path("out/request.json").write_text(json.dumps(request))
sys.argv += ["--request", "out/request.json"]
sys.exit(render.main("slow", render.work))`

// TestSlowSceneIsItsOwners wants what Blender does not end in time to be billed: it has worked.
func TestSlowSceneIsItsOwners(t *testing.T) {
	t.Parallel()
	for limit, says := range map[string]string{"openLimitSeconds": "opened the scene", "frameLimitSeconds": "renderTimeMinutes"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			shard := renderShard(t, func(*engines.Request) {})
			a := prepared(t, shard, nil)
			command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", slowAnswers,
				filepath.Join(string(a.dir), python.Folder), limit)
			command.Dir, command.Env = string(a.dir), a.environment
			printed, _ := command.CombinedOutput()
			got := New().Explain(shard, a.dir, command.ProcessState.ExitCode(), "")
			if got == nil || got.Class != engines.UserInput || got.Code != "RENDERER_DIED" || !strings.Contains(got.Message, says) {
				t.Errorf("got %+v, want USER_INPUT RENDERER_DIED that says %q; it printed\n%s", got, says, printed)
			}
			a.wantTidy(t)
		})
	}
}

// longLines is a process that prints a line of a megabyte, and what is kept of it.
const longLines = `import subprocess, sys
sys.path.insert(0, sys.argv[1])
from blender import Blender
side = Blender.__new__(Blender)
side.process = subprocess.Popen([sys.executable, "-c", "print('x' * (1 << 20)); print('Fra:1 ' + 'y' * (1 << 20)); print('after')"], stdout=subprocess.PIPE)
side._log()`

func TestLogLinesAreCut(t *testing.T) {
	t.Parallel()
	folder, err := filepath.Abs("programs")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", longLines, folder)
	command.Env = enginestest.ProgramPath(t, "../render/film")
	log, err := command.CombinedOutput()
	if err != nil || len(log) > 10_000 || !strings.HasSuffix(string(log), "x\nafter\n") {
		t.Errorf("%v: got %d bytes that end with %q, want a line that is cut and the one after it", err, len(log),
			log[max(0, len(log)-100):])
	}
}

// confined keeps itself to a task's files as Blender's side does, and tries to reach others.
const confined = `import os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import frames
outside = Path(sys.argv[2])
frames.keep_to_files({"picture": {"device": "cpu"}, "scene": {"file": "in/scene.blend"}}, Path("request.json"))
def told(name, act):
    try:
        act()
        print(name, "done")
    except OSError:
        print(name, "refused")
told("input", Path("in/scene.blend").read_bytes)
told("output", lambda: Path("out/frame").write_text("x"))
told("machine", Path("/proc/meminfo").read_text)
told("users", Path("/etc/passwd").read_text)
told("reading", Path(outside, "thesis").read_text)
told("writing", lambda: Path(outside, "thesis").write_text("x"))
told("making", lambda: Path(outside, "data").mkdir())
told("removing", Path(outside, "thesis").unlink)`

// TestBlenderIsConfined wants Blender's side to reach the files of its task, and nobody else's.
func TestBlenderIsConfined(t *testing.T) {
	t.Parallel()
	const createRuleset, askVersion = 444, 1
	if version, _, errno := syscall.Syscall(createRuleset, 0, 0, askVersion); errno != 0 || version < 1 {
		t.Skip("SKIPPED: the kernel has no Landlock")
	}
	a := prepared(t, renderShard(t, func(*engines.Request) {}), nil)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "thesis"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), enginestest.Python(t), "-B", "-c", confined,
		filepath.Join(string(a.dir), python.Folder), outside)
	command.Dir, command.Env = string(a.dir), a.environment
	got, err := command.CombinedOutput()
	const want = "input done\noutput done\nmachine done\nusers refused\nreading refused\nwriting refused\nmaking " +
		"refused\nremoving refused\n"
	if err != nil || string(got) != want {
		t.Errorf("got %v and\n%s, want\n%s", err, got, want)
	}
}
