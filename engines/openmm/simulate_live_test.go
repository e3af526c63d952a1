package openmm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// killable is a resumable run of 400 frames, whose 6 MB make a segment and a tail.
func killable() engines.Request {
	request := smallRun(func(r *DynamicsRequest) {
		r.Protocol.ProductionSteps = 400
		r.Outputs = DynamicsOutputs{TrajectoryIntervalSteps: 1, StateIntervalSteps: 5, CheckpointIntervalSteps: 40,
			AnalysisIntervalSteps: 40, TrajectoryFormat: "dcd"}
	})
	request.Recovery = recoveryResumable
	return request
}

// attempt is one start of simulate.py in a directory of its own.
type attempt struct {
	dir     engines.Dir
	told    map[string]bool // names of its checkpoints
	failure *engines.Failure
	log     string
}

// prepared runs the first stage and gives the simulation's shard and the inputs of it.
func prepared(t *testing.T, request engines.Request) (shard engines.Shard, inputs map[string][]byte) {
	t.Helper()
	shards, err := New().Plan(request)
	if err != nil {
		t.Fatal(err)
	}
	system := engines.Dir(t.TempDir())
	content, err := os.ReadFile(trialanine)
	if err != nil {
		t.Fatal(err)
	}
	if first := start(t, shards[0], system, map[string][]byte{inputStructure: content}, -1); first.failure != nil {
		t.Fatalf("preparing: %v", first.failure)
	}
	inputs = map[string][]byte{}
	for _, name := range []string{systemFile, initialStateFile, topologyPDB, preparationFile} {
		inputs[name] = readOut(t, system, name)
	}
	return shards[1], inputs
}

// start runs a shard's program, and kills it with SIGKILL after so many lines that tell of a checkpoint; never when that is
// negative.
func start(t *testing.T, shard engines.Shard, dir engines.Dir, inputs map[string][]byte, killAfter int) attempt {
	t.Helper()
	command, err := New().Command(shard, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range command.Files {
		writeFile(t, filepath.Join(string(dir), name), content)
	}
	for name, content := range inputs {
		writeFile(t, dir.In(name), content)
	}
	if err := os.MkdirAll(dir.Out(""), 0o755); err != nil {
		t.Fatal(err)
	}
	process := exec.CommandContext(t.Context(), enginestest.Python(t), command.Argv[1:]...)
	process.Dir, process.Env = string(dir), []string{"PATH=/usr/bin:/bin"}
	for name, value := range command.Env {
		process.Env = append(process.Env, name+"="+value)
	}
	var log bytes.Buffer
	process.Stderr = &log
	printed, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	made := attempt{dir: dir, told: map[string]bool{}}
	killed, heard := false, 0
	for lines := bufio.NewScanner(printed); lines.Scan(); {
		names, ok := New().Checkpoint(lines.Text())
		for _, name := range names {
			made.told[name] = true
		}
		if ok {
			heard++
		}
		if heard == killAfter && !killed {
			killed = process.Process.Kill() == nil
		}
	}
	err = process.Wait()
	made.log = log.String()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !killed {
		made.failure = New().Explain(shard, dir, exit.ExitCode(), made.log)
		if made.failure == nil {
			t.Fatalf("%v: %s", err, made.log)
		}
	}
	return made
}

// resumed are the inputs of the next attempt, as the worker would stage them: what the last one got, and what it told of.
func resumed(t *testing.T, inputs map[string][]byte, last attempt) map[string][]byte {
	t.Helper()
	next := map[string][]byte{}
	for name, content := range inputs {
		next[name] = content
	}
	for name := range last.told {
		next["resume/"+strings.TrimPrefix(name, "checkpoint/")] = readOut(t, last.dir, name)
	}
	return next
}

// stepsOf are the steps of state.csv, and the mean of its potential energy in kJ/mol.
func stepsOf(t *testing.T, dir engines.Dir) (steps []int, meanPotential float64) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(readOut(t, dir, stateFile))), "\n")
	for _, line := range lines[1:] {
		fields := strings.Split(line, ",")
		step, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatal(err)
		}
		potential, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
		meanPotential += potential / float64(len(lines)-1)
	}
	return steps, meanPotential
}

// checkWhole wants the outputs of a run that has ended: every row once, every frame, and a trajectory that Collect accepts.
func checkWhole(t *testing.T, shard engines.Shard, made attempt) (liveResults, float64) {
	t.Helper()
	if made.failure != nil {
		t.Fatalf("the run failed: %v", made.failure)
	}
	if _, err := New().Collect(shard, made.dir); err != nil {
		t.Fatalf("Collect: %v", err)
	}
	steps, potential := stepsOf(t, made.dir)
	if len(steps) != 80 {
		t.Fatalf("got %d rows, want 80", len(steps))
	}
	for i, step := range steps {
		if step != 5*(i+1) {
			t.Fatalf("row %d is of step %d, want %d", i+1, step, 5*(i+1))
		}
	}
	var results liveResults
	readJSON(t, made.dir, resultsFile, &results)
	if results.Frames != 400 {
		t.Errorf("got %d frames, want 400", results.Frames)
	}
	for _, name := range []string{"minimised.pdb", "equilibrated.pdb"} {
		if !bytes.Contains(readOut(t, made.dir, name), []byte("CRYST1")) {
			t.Errorf("%s has no box", name)
		}
	}
	return results, potential
}

// TestKilledTwice kills a run at two random checkpoints and lets it end: it has the frames of one that was left alone, each once,
// and the energies of the same physics. Frames from before the last save are the very bytes that the killed attempts had written.
func TestKilledTwice(t *testing.T) {
	t.Parallel()
	shard, inputs := prepared(t, killable())
	whole := start(t, shard, engines.Dir(t.TempDir()), inputs, -1)
	undisturbed, want := checkWhole(t, shard, whole)
	if len(undisturbed.Resumes) != 0 {
		t.Errorf("an undisturbed run says that it was resumed: %v", undisturbed.Resumes)
	}
	first := start(t, shard, engines.Dir(t.TempDir()), inputs, 4+rand.IntN(3))
	inputs = resumed(t, inputs, first)
	second := start(t, shard, engines.Dir(t.TempDir()), inputs, 4+rand.IntN(3))
	inputs = resumed(t, inputs, second)
	third := start(t, shard, engines.Dir(t.TempDir()), inputs, -1)
	results, got := checkWhole(t, shard, third)
	if math.Abs(got-want) > 0.03*math.Abs(want) {
		t.Errorf("the potential energy is %.0f kJ/mol on average, undisturbed %.0f", got, want)
	}
	if len(results.Resumes) != 2 || results.Resumes[0].From != "checkpoint" || results.Resumes[1].From != "checkpoint" ||
		results.Resumes[1].Phase != "production" {
		t.Fatalf("got the resumes %+v, want two from checkpoints", results.Resumes)
	}
	frames := results.Resumes[1].Step
	size := dcdHeaderBytes + frames*(8+48+3*(8+4*results.Atoms))
	before, err := os.ReadFile(second.dir.Out(trajectoryFile + ".part"))
	if err != nil {
		before = readOut(t, second.dir, trajectoryFile) // it may have ended before the signal came
	}
	after := readOut(t, third.dir, trajectoryFile)
	if len(before) < size || !bytes.Equal(before[dcdHeaderBytes:size], after[dcdHeaderBytes:size]) {
		t.Errorf("the %d frames before the resume changed", frames)
	}
	t.Logf("killed after %d and %d checkpoints, resumed at %+v; %.1f kJ/mol, undisturbed %.1f", len(first.told), len(second.told),
		results.Resumes, got, want)
}

// TestDamagedSaves damages what an interrupted attempt has left: the run goes on from the save before, or begins anew.
func TestDamagedSaves(t *testing.T) {
	t.Parallel()
	shard, inputs := prepared(t, killable())
	killed := start(t, shard, engines.Dir(t.TempDir()), inputs, 11)
	left := resumed(t, inputs, killed)
	newest, older, segment := savesOf(t, left)
	if segment == "" {
		t.Fatal("the killed run left no segment; the test wants one")
	}
	flip := func(name string) func(map[string][]byte) {
		return func(files map[string][]byte) { files[name][len(files[name])/2] ^= 1 }
	}
	for _, c := range []struct {
		name    string
		damage  func(map[string][]byte)
		resumes int // at least; the undamaged run goes on from the newest save
		newest  bool
	}{
		{"a bit of the newest save", flip(newest), 1, false},
		{"the newest save's end", func(f map[string][]byte) { f[newest] = f[newest][:len(f[newest])-100] }, 1, false},
		{"the older save", flip(older), 1, true},
		{"both saves", func(f map[string][]byte) { flip(newest)(f); delete(f, older) }, 0, false},
		{"the segment", flip(segment), -1, false},
		{"foreign saves", func(f map[string][]byte) { f[newest], f[older] = []byte("molfabric openmm save 1\n\xff\xff"), nil }, 0,
			false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			files := map[string][]byte{}
			for name, content := range left {
				files[name] = bytes.Clone(content)
			}
			c.damage(files)
			results, _ := checkWhole(t, shard, start(t, shard, engines.Dir(t.TempDir()), files, -1))
			if c.resumes >= 0 && len(results.Resumes) != c.resumes {
				t.Fatalf("got the resumes %+v, want %d", results.Resumes, c.resumes)
			}
			if c.resumes == 1 {
				if atNewest := results.Resumes[0].Step == stepOfSave(t, left[newest]); atNewest != c.newest {
					t.Errorf("went on from step %d, the newest save's being %d", results.Resumes[0].Step,
						stepOfSave(t, left[newest]))
				}
			}
		})
	}
}

// TestResumeWithOtherThreads goes on with two threads from a save of one: its checkpoint cannot be read then, its state can.
func TestResumeWithOtherThreads(t *testing.T) {
	t.Parallel()
	shard, inputs := prepared(t, killable())
	one := shard
	one.Params = bytes.Replace(shard.Params, []byte(`"cpuThreads":2`), []byte(`"cpuThreads":1`), 1)
	killed := start(t, one, engines.Dir(t.TempDir()), inputs, 4)
	results, _ := checkWhole(t, shard, start(t, shard, engines.Dir(t.TempDir()), resumed(t, inputs, killed), -1))
	if len(results.Resumes) != 1 || results.Resumes[0].From != "state" {
		t.Errorf("got the resumes %+v, want one from a state", results.Resumes)
	}
}

// headerOf reads what a save says of itself.
func headerOf(t *testing.T, content []byte) (header struct{ Step, TotalStep int }) {
	t.Helper()
	const magic = 24
	length := int(content[magic]) | int(content[magic+1])<<8
	if err := json.Unmarshal(content[magic+8:magic+8+length], &header); err != nil {
		t.Fatal(err)
	}
	return header
}

func stepOfSave(t *testing.T, content []byte) int { t.Helper(); return headerOf(t, content).Step }

// savesOf names the newer and the older save among the inputs, and a segment.
func savesOf(t *testing.T, inputs map[string][]byte) (newest, older, segment string) {
	t.Helper()
	newest, older = "resume/state-0.bin", "resume/state-1.bin"
	if headerOf(t, inputs[newest]).TotalStep < headerOf(t, inputs[older]).TotalStep {
		newest, older = older, newest
	}
	for name := range inputs {
		if strings.HasPrefix(name, "resume/segment-") {
			segment = name
		}
	}
	return newest, older, segment
}

// TestOneThreadRepeats wants preparing, and a run on one thread, to give the same bytes again.
func TestOneThreadRepeats(t *testing.T) {
	t.Parallel()
	var trajectories [2][]byte
	var systems [2]map[string][]byte
	for i := range trajectories {
		shard, inputs := prepared(t, smallRun(unchanged))
		shard.Params = bytes.Replace(shard.Params, []byte(`"cpuThreads":2`), []byte(`"cpuThreads":1`), 1)
		made := start(t, shard, engines.Dir(t.TempDir()), inputs, -1)
		if made.failure != nil {
			t.Fatal(made.failure)
		}
		trajectories[i], systems[i] = readOut(t, made.dir, trajectoryFile), inputs
	}
	if !bytes.Equal(trajectories[0], trajectories[1]) {
		t.Error("two runs on one thread differ")
	}
	for name, content := range systems[0] {
		if !bytes.Equal(content, systems[1][name]) {
			t.Errorf("%s differs when the system is prepared again", name)
		}
	}
}
