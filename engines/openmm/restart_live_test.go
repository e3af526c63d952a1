package openmm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// restartOf is the run's shard, going on from an earlier run's file.
func restartOf(t *testing.T, shard engines.Shard, format string, provenance *RestartProvenance) engines.Shard {
	t.Helper()
	var params simulateParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		t.Fatal(err)
	}
	params.Restart = &restartParams{Format: format, SHA256: digestOf("a"), Provenance: provenance}
	params.Protocol.ProductionSteps, params.Resumable = 10, false
	params.Outputs.StateIntervalSteps = 5
	text, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	shard.Params = text
	return shard
}

// TestRestart goes on from a run's checkpoint and state, and is refused with every digest that differs.
func TestRestart(t *testing.T) {
	t.Parallel()
	shard, inputs := prepared(t, smallRun(unchanged))
	earlier := start(t, shard, engines.Dir(t.TempDir()), inputs, -1)
	if earlier.failure != nil {
		t.Fatal(earlier.failure)
	}
	var document struct{ RestartProvenance RestartProvenance }
	readJSON(t, earlier.dir, provenanceFile, &document)
	checkpoint, state := readOut(t, earlier.dir, finalCheckpoint), readOut(t, earlier.dir, finalStateFile)
	for _, c := range []struct {
		name, format string
		content      []byte
		change       func(*RestartProvenance)
		code         string
		words        []string
	}{
		{"checkpoint", FormatCheckpoint, checkpoint, func(p *RestartProvenance) { p.RequestSHA256 = digestOf("9") }, "", nil},
		{"state without provenance", FormatStateXML, state, nil, "", nil},
		{"state of another platform", FormatStateXML, state, func(p *RestartProvenance) {
			p.PlatformSHA256, p.OpenMMVersion, p.PlatformName = digestOf("9"), "8.3", "CUDA"
		}, "", nil},
		{"state of another system", FormatStateXML, state, func(p *RestartProvenance) { p.SystemSHA256 = digestOf("9") },
			"RESTART_MISMATCH", []string{"systemSha256", digestOf("9"), document.RestartProvenance.SystemSHA256}},
		{"system", FormatCheckpoint, checkpoint, func(p *RestartProvenance) { p.SystemSHA256 = digestOf("9") }, "RESTART_MISMATCH",
			[]string{"restartProvenance.systemSha256", digestOf("9"), document.RestartProvenance.SystemSHA256}},
		{"topology", FormatCheckpoint, checkpoint, func(p *RestartProvenance) { p.TopologySHA256 = digestOf("9") },
			"RESTART_MISMATCH", []string{"restartProvenance.topologySha256", document.RestartProvenance.TopologySHA256}},
		{"integrator", FormatCheckpoint, checkpoint, func(p *RestartProvenance) { p.IntegratorSHA256 = digestOf("9") },
			"RESTART_MISMATCH", []string{"restartProvenance.integratorSha256", document.RestartProvenance.IntegratorSHA256}},
		{"platform", FormatCheckpoint, checkpoint, func(p *RestartProvenance) { p.PlatformSHA256 = digestOf("9") },
			"RESTART_MISMATCH", []string{"restartProvenance.platformSha256", document.RestartProvenance.PlatformSHA256}},
		{"platform's name", FormatCheckpoint, checkpoint, func(p *RestartProvenance) { p.PlatformName = "OpenCL" },
			"RESTART_MISMATCH", []string{"restartProvenance.platformName is OpenCL", "CPU"}},
		{"version", FormatCheckpoint, checkpoint, func(p *RestartProvenance) { p.OpenMMVersion = "8.3" }, "RESTART_MISMATCH",
			[]string{"restartProvenance.openmmVersion is 8.3", document.RestartProvenance.OpenMMVersion}},
		{"image", FormatCheckpoint, checkpoint, func(p *RestartProvenance) { p.WorkerImageDigest = "sha256:" + digestOf("9") },
			"RESTART_MISMATCH", []string{"restartProvenance.workerImageDigest", document.RestartProvenance.WorkerImageDigest}},
		{"torn checkpoint", FormatCheckpoint, checkpoint[:len(checkpoint)/2], func(*RestartProvenance) {}, "RESTART_UNUSABLE",
			[]string{"final-state.xml"}},
		{"torn state", FormatStateXML, state[:len(state)/2], nil, "RESTART_UNUSABLE", []string{"1,262"}},
		{"structure as state", FormatStateXML, []byte("ATOM"), nil, "RESTART_UNUSABLE", nil},
		{"system as state", FormatStateXML, inputs[systemFile], nil, "RESTART_UNUSABLE", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var stated *RestartProvenance
			if c.change != nil {
				copied := document.RestartProvenance
				c.change(&copied)
				stated = &copied
			}
			files := map[string][]byte{"restart": c.content}
			for name, content := range inputs {
				files[name] = content
			}
			next := restartOf(t, shard, c.format, stated)
			made := start(t, next, engines.Dir(t.TempDir()), files, -1)
			if c.code == "" {
				checkRestarted(t, next, made)
				return
			}
			if made.failure == nil || made.failure.Class != engines.UserInput || made.failure.Code != c.code {
				t.Fatalf("got %v, want USER_INPUT %s", made.failure, c.code)
			}
			for _, word := range c.words {
				if !strings.Contains(made.failure.Message, word) {
					t.Errorf("got %q, want it to name %q", made.failure.Message, word)
				}
			}
		})
	}
}

func checkRestarted(t *testing.T, shard engines.Shard, made attempt) {
	t.Helper()
	if made.failure != nil {
		t.Fatal(made.failure)
	}
	if _, err := New().Collect(shard, made.dir); err != nil {
		t.Fatal(err)
	}
	var results liveResults
	readJSON(t, made.dir, resultsFile, &results)
	if results.Restart == nil || results.Restart.EarlierSteps != 100 || results.Frames != 1 ||
		results.PotentialEnergyKjMol.Mean > -15_000 {
		t.Errorf("got %+v, want a frame after 100 earlier steps", results)
	}
	checkClock(t, made.dir)
}

// checkClock wants table and trajectory to count on from the 100 steps of 2 fs before.
func checkClock(t *testing.T, dir engines.Dir) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(readOut(t, dir, stateFile))), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[1], "105,0.210000,") || !strings.HasPrefix(lines[2], "110,0.220000,") {
		t.Errorf("the table is %q, want steps 105 and 110 at 0.21 and 0.22 ps", lines)
	}
	var first, interval, last int32
	header := bytes.NewReader(readOut(t, dir, trajectoryFile)[12:])
	for _, number := range []*int32{&first, &interval, &last} {
		if err := binary.Read(header, binary.LittleEndian, number); err != nil {
			t.Fatal(err)
		}
	}
	if first != 110 || interval != 10 || last != 110 {
		t.Errorf("the trajectory is of the steps %d to %d, every %d; want 110 alone", first, last, interval)
	}
}

// TestSimulateFailures breaks the start of a run, and asks for a platform that nobody has here.
func TestSimulateFailures(t *testing.T) {
	t.Parallel()
	shard, inputs := prepared(t, smallRun(func(r *DynamicsRequest) { r.Protocol.Minimization.Enabled = false }))
	change := func(from, to string) engines.Shard {
		changed := shard
		changed.Params = bytes.Replace(shard.Params, []byte(from), []byte(to), 1)
		return changed
	}
	on := func(initial []byte) map[string][]byte {
		files := map[string][]byte{initialStateFile: initial}
		for name, content := range inputs {
			if name != initialStateFile {
				files[name] = content
			}
		}
		return files
	}
	for _, c := range []struct {
		name   string
		shard  engines.Shard
		inputs map[string][]byte
		class  engines.FailureClass
		code   string
	}{
		{"atoms on each other", shard, on(overlapping(t, inputs[initialStateFile])), engines.UserInput, "SIMULATION_UNSTABLE"},
		{"no platform", change(`"name":"CPU"`, `"name":"CUDA"`), inputs, engines.Executor, "PLATFORM_MISSING"},
		{"no state", shard, on([]byte("<State")), engines.UserInput, "STATE_UNREADABLE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			made := start(t, c.shard, engines.Dir(t.TempDir()), c.inputs, -1)
			if c.code == "PLATFORM_MISSING" && made.failure != nil && made.failure.Code == "PLATFORM_UNUSABLE" {
				return // the plugin is there, its device is not
			}
			if made.failure == nil || made.failure.Class != c.class || made.failure.Code != c.code {
				t.Errorf("got %v, want %s %s", made.failure, c.class, c.code)
			}
		})
	}
}

// overlapping puts the first atom of a state upon the second.
func overlapping(t *testing.T, state []byte) []byte {
	t.Helper()
	lines := strings.Split(string(state), "\n")
	for i, line := range lines {
		if strings.Contains(line, "<Position ") {
			lines[i] = lines[i+1]
			return []byte(strings.Join(lines, "\n"))
		}
	}
	t.Fatal("the state has no positions")
	return nil
}
