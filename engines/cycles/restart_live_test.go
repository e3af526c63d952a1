package cycles

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/film"
	"github.com/molfabric/molfabric/internal/frames"
)

// attempt is one process of a render shard in a directory of its own.
type attempt struct {
	dir         engines.Dir
	temp        string
	argv        []string // after the interpreter
	environment []string
	process     *exec.Cmd
	lines       *bufio.Reader
	log         *os.File
}

// renderShard is the shard that renders frames 1 to 6 of the plain scene, which a resumable job goes on with.
func renderShard(t *testing.T, change func(*engines.Request)) engines.Shard {
	t.Helper()
	shards, err := New().Plan(blend(func(r *engines.Request) {
		r.Frames, r.Recovery = []frames.Range{{First: 1, Last: 6, Step: 1}}, recoveryResumable
		r.Found.Rendered = &engines.RenderCost{LoadCPUSeconds: 1, FrameCPUSeconds: 0.1}
		change(r)
	}))
	if err != nil || shards[1].Stage != film.StageRender || shards[1].Items != 6 {
		t.Fatalf("got %+v, %v", shards, err)
	}
	return shards[1]
}

// prepared lays out a shard of the plain scene with what earlier attempts have left.
func prepared(t *testing.T, shard engines.Shard, resume map[string][]byte) *attempt {
	t.Helper()
	a := &attempt{dir: engines.Dir(t.TempDir()), temp: t.TempDir()}
	command, err := New().Command(shard, a.dir)
	if err != nil {
		t.Fatal(err)
	}
	blend, err := os.ReadFile(scene(t, "plain.blend"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"in/" + inputBlend: blend, "out/.keep": nil}
	for name, content := range command.Files {
		files[name] = content
	}
	for name, content := range resume {
		files["in/resume/"+name] = content
	}
	for name, content := range files {
		path := filepath.Join(string(a.dir), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a.argv = command.Argv[1:]
	a.environment = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + t.TempDir(), "TMPDIR=" + a.temp}
	for name, value := range command.Env {
		a.environment = append(a.environment, name+"="+value)
	}
	return a
}

// start runs a shard of the plain scene with what earlier attempts have left. The program is started by the wrapper, if there is
// one.
func start(t *testing.T, shard engines.Shard, resume map[string][]byte, wrapper ...string) *attempt {
	t.Helper()
	a := prepared(t, shard, resume)
	argv := slices.Concat(wrapper, []string{enginestest.Python(t)}, a.argv)
	a.process = exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	a.process.Dir, a.process.Env = string(a.dir), a.environment
	var err error
	if a.log, err = os.Create(filepath.Join(t.TempDir(), "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.log.Close() })
	a.process.Stderr = a.log
	printed, err := a.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.lines = bufio.NewReader(printed)
	if err := a.process.Start(); err != nil {
		t.Fatal(err)
	}
	return a
}

// until reads lines until one holds the word; false at the end.
func (a *attempt) until(word string) bool {
	for {
		line, err := a.lines.ReadString('\n')
		if strings.Contains(line, word) {
			return true
		}
		if err != nil {
			return false
		}
	}
}

func (a *attempt) wait(t *testing.T) engines.Result {
	t.Helper()
	shard := engines.Shard{}
	_, _ = io.Copy(io.Discard, a.lines)
	if err := a.process.Wait(); err != nil {
		log, _ := os.ReadFile(a.log.Name())
		t.Fatalf("%v\n%s", err, log)
	}
	params, err := os.ReadFile(filepath.Join(string(a.dir), python.RequestFile))
	if err != nil {
		t.Fatal(err)
	}
	shard.Stage, shard.Params = film.StageRender, params
	result, err := New().Collect(shard, a.dir)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// blender is the process id of the attempt's Blender.
func (a *attempt) blender(t *testing.T) int {
	t.Helper()
	pid := strconv.Itoa(a.process.Process.Pid)
	text, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil || len(strings.Fields(string(text))) != 1 {
		t.Fatalf("the driver has the children %q, %v; want Blender alone", text, err)
	}
	child, err := strconv.Atoi(strings.Fields(string(text))[0])
	if err != nil {
		t.Fatal(err)
	}
	return child
}

// wantTidy wants nothing to be left where programs keep what is for themselves.
func (a *attempt) wantTidy(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(a.temp, "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the temporary folder still has %v (%v)", left, err)
	}
}

// rendered are what frames.json says of the frames.
func rendered(t *testing.T, dir engines.Dir) (found []struct {
	Frame   int
	Resumed bool
	Tries   int
}) {
	t.Helper()
	var document struct {
		Frames *[]struct {
			Frame   int
			Resumed bool
			Tries   int
		}
	}
	document.Frames = &found
	content, err := os.ReadFile(dir.Out("frames.json"))
	if err != nil || json.Unmarshal(content, &document) != nil {
		t.Fatalf("frames.json: %v", err)
	}
	return found
}

// slow makes a frame take long enough to be caught in it.
func slow(r *engines.Request) { r.Metadata = json.RawMessage(`{"resolution":"320x180","samples":256}`) }

// TestKilledBlender kills Blender in the middle of a frame: every frame comes, and one has been tried again.
func TestKilledBlender(t *testing.T) {
	t.Parallel()
	a := start(t, renderShard(t, slow), nil)
	if !a.until("frame_0002.png") || !a.until("frame 3 ") {
		t.Fatal("the shard ended before its third frame")
	}
	if err := syscall.Kill(a.blender(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	result := a.wait(t)
	again := 0
	for _, frame := range rendered(t, a.dir) {
		again += frame.Tries - 1
	}
	if again != 1 || len(result.Failures) > 0 || len(rendered(t, a.dir)) != 6 {
		t.Errorf("got %+v and the failures %v, want 6 frames of which one was tried again", rendered(t, a.dir), result.Failures)
	}
	a.wantTidy(t)
}

// TestResume kills the whole attempt, and goes on from what it has told.
func TestResume(t *testing.T) {
	t.Parallel()
	first := start(t, renderShard(t, slow), nil)
	if !first.until("checkpoint/frame_0002.json") {
		t.Fatal("the shard ended before its second frame")
	}
	if err := first.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.process.Wait()
	resume := map[string][]byte{"frame_0005.png": []byte("torn"), "frame_0005.json": []byte(`{"frame":5}`)}
	for _, name := range []string{"frame_0001.png", "frame_0001.json", "frame_0002.png", "frame_0002.json"} {
		content, err := os.ReadFile(first.dir.Out("checkpoint/" + name))
		if err != nil {
			t.Fatal(err)
		}
		resume[name] = content
	}
	second := start(t, renderShard(t, slow), resume)
	second.wait(t)
	for _, frame := range rendered(t, second.dir) {
		if frame.Resumed != (frame.Frame <= 2) {
			t.Errorf("got %+v, want the frames 1 and 2 resumed, and no other", frame)
		}
	}
	if text, _ := os.ReadFile(second.log.Name()); strings.Count(string(text), "Saved: ") != 4 {
		t.Errorf("Blender was to render 4 frames:\n%s", text)
	}
}

// TestTerminated wants an attempt that is told to end to do so, and to leave no half frame.
func TestTerminated(t *testing.T) {
	t.Parallel()
	a := start(t, renderShard(t, slow), nil)
	if !a.until("frame_0001.png") || !a.until("frame 2 ") {
		t.Fatal("the shard ended before its second frame")
	}
	if err := a.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, a.lines)
	_ = a.process.Wait()
	if status := a.process.ProcessState.ExitCode(); status != 128+int(syscall.SIGTERM) {
		t.Errorf("got the exit status %d, want 143", status)
	}
	if _, err := os.Stat(a.dir.Out("drawing")); err == nil {
		t.Error("a half frame was left")
	}
	a.wantTidy(t)
}

// TestNoDevice asks for a device where there is none.
func TestNoDevice(t *testing.T) {
	t.Parallel()
	a := start(t, renderShard(t, onGPU), nil)
	_, _ = io.Copy(io.Discard, a.lines)
	if a.process.Wait() == nil {
		t.Skip("there is such a device here")
	}
	got := New().Explain(engines.Shard{}, a.dir, a.process.ProcessState.ExitCode(), "")
	if got == nil || got.Class != engines.Executor || got.Code != "DEVICE_MISSING" {
		t.Errorf("got %v, want EXECUTOR DEVICE_MISSING", got)
	}
}
