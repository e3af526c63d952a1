package openmm

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
)

// digestOf is a digest made of one character.
func digestOf(character string) string { return strings.Repeat(character, 64) }

func file(key, format string, size int64) DynamicsArtifact {
	return DynamicsArtifact{
		Schema: "molecule.openmm.artifact/v1", ArtifactID: key, StorageKey: key, SHA256: digestOf("a"), ByteSize: size,
		Format: format, MediaType: "text/plain",
	}
}

// smallRun is a short run of a protein on one CPU platform; change adapts it.
func smallRun(change func(*DynamicsRequest)) engines.Request {
	r := DynamicsRequest{
		Schema: "molecule.openmm.request/v1", RequestID: "request-1", RunID: "run-1", Confirmed: true,
		Input: DynamicsInput{Protein: &ProteinInput{Kind: InputProtein, Coordinates: file("protein.pdb", FormatPDB, 72_469)}},
		Protocol: DynamicsProtocol{
			ForceField: "amber14", WaterModel: "tip3pfb", PH: 7, IonicStrengthM: 0.15, TemperatureK: 300, PressureBar: 1,
			TimestepFs: 2, FrictionPerPs: 1, Constraints: "HBonds", NonbondedMethod: "PME",
			Minimization:  Minimization{Enabled: true, MaxIterations: 20, ToleranceKjMolNm: 10},
			Equilibration: Equilibration{NVTSteps: 20, NPTSteps: 30}, ProductionSteps: 100, Seed: 42,
			RemoveCenterOfMassMotion: true,
		},
		Outputs: DynamicsOutputs{TrajectoryIntervalSteps: 10, StateIntervalSteps: 5, CheckpointIntervalSteps: 20,
			AnalysisIntervalSteps: 20, TrajectoryFormat: "dcd"},
		Execution: DynamicsExecution{
			Platform:          DynamicsPlatform{Name: PlatformCPU, Precision: "single", DeviceIndex: DeviceCPU},
			WorkerImageDigest: "sha256:" + digestOf("0"),
		},
	}
	change(&r)
	params, err := json.Marshal(Params{Request: &r})
	if err != nil {
		panic(err)
	}
	return engines.Request{JobID: "job_test", JobName: "A short run", JobType: "simulation",
		SceneFile: engines.Object{StorageKey: "protein.pdb"}, Params: params, Recovery: "standard"}
}

func unchanged(*DynamicsRequest) {}

func amberInput(r *DynamicsRequest) {
	r.Input = DynamicsInput{Amber: &AmberInput{
		Kind: InputAmber, Prmtop: file("system.prmtop", FormatPrmtop, 357_642),
		Coordinates: file("system.inpcrd", FormatInpcrd, 82_903),
	}}
	r.Protocol.ForceField, r.Protocol.WaterModel = ForceFieldAmberPrmtop, WaterInputParameters
}

func onCUDA(r *DynamicsRequest) {
	r.Execution.Platform = DynamicsPlatform{Name: "CUDA", Precision: "mixed", DeviceIndex: "2,3"}
}

// longRestart is a long resumable run on two GPUs that goes on from an earlier one's checkpoint.
func longRestart() engines.Request {
	request := smallRun(func(r *DynamicsRequest) {
		amberInput(r)
		onCUDA(r)
		r.Protocol.ProductionSteps = 50_000_000
		r.Outputs = DynamicsOutputs{TrajectoryIntervalSteps: 5000, StateIntervalSteps: 1000, CheckpointIntervalSteps: 1,
			AnalysisIntervalSteps: 50_000, TrajectoryFormat: "dcd"}
		checkpoint := file("final.chk", FormatCheckpoint, 110_000)
		r.Execution.RestartCheckpoint = &checkpoint
		r.Execution.RestartProvenance = &RestartProvenance{
			RequestSHA256: digestOf("1"), SystemSHA256: digestOf("2"), TopologySHA256: digestOf("3"),
			IntegratorSHA256: digestOf("4"), PlatformSHA256: digestOf("5"), OpenMMVersion: "8.6.1", PlatformName: "CUDA",
			WorkerImageDigest: "sha256:" + digestOf("6"),
		}
	})
	request.Recovery = recoveryResumable
	return request
}

func planCases() []enginestest.PlanCase {
	return []enginestest.PlanCase{
		{Name: "protein", Golden: true, Request: smallRun(unchanged)},
		{Name: "restart", Golden: true, Request: longRestart()},
		{Name: "opencl", Request: smallRun(func(r *DynamicsRequest) {
			r.Execution.Platform = DynamicsPlatform{Name: "OpenCL", Precision: "double", DeviceIndex: "0"}
		})},
		{Name: "one-step", Request: smallRun(func(r *DynamicsRequest) {
			r.Protocol.ProductionSteps, r.Protocol.Minimization.Enabled = 1, false
			r.Outputs = DynamicsOutputs{TrajectoryIntervalSteps: 1, StateIntervalSteps: 1, CheckpointIntervalSteps: math.MaxInt64,
				AnalysisIntervalSteps: 1}
		})},
		{Name: "largest-file", Request: smallRun(
			func(r *DynamicsRequest) { onCUDA(r); r.Input.Protein.Coordinates.ByteSize = maxStructureBytes })},
		{Name: "empty-file", Request: smallRun(func(r *DynamicsRequest) { r.Input.Protein.Coordinates.ByteSize = 0 })},
	}
}

func refusedCases() []enginestest.RefusedCase {
	refused := func(name, field string, change func(*DynamicsRequest)) enginestest.RefusedCase {
		return enginestest.RefusedCase{Name: name, Field: "openmmRequest" + field, Request: smallRun(change)}
	}
	outputs := func(change func(*DynamicsOutputs)) func(*DynamicsRequest) {
		return func(r *DynamicsRequest) { change(&r.Outputs) }
	}
	devices := func(index string) func(*DynamicsRequest) {
		return func(r *DynamicsRequest) { onCUDA(r); r.Execution.Platform.DeviceIndex = index }
	}
	none := smallRun(unchanged)
	none.Params = json.RawMessage(`{}`)
	torn := smallRun(unchanged)
	torn.Params = json.RawMessage(`{"openmmRequest":{"input":{"kind":"membrane"}}}`)
	return []enginestest.RefusedCase{
		{Name: "no request", Field: "openmmRequest", Request: none},
		{Name: "unknown input", Field: "openmmRequest", Request: torn},
		refused("no frame", ".outputs.trajectoryIntervalSteps",
			outputs(func(o *DynamicsOutputs) { o.TrajectoryIntervalSteps = 101; o.AnalysisIntervalSteps = 101 })),
		refused("no energies", ".outputs.stateIntervalSteps", outputs(func(o *DynamicsOutputs) { o.StateIntervalSteps = 101 })),
		refused("nothing analysed", ".outputs.analysisIntervalSteps",
			outputs(func(o *DynamicsOutputs) { o.AnalysisIntervalSteps = 200 })),
		refused("analysis between frames", ".outputs.analysisIntervalSteps",
			outputs(func(o *DynamicsOutputs) { o.AnalysisIntervalSteps = 15 })),
		refused("no checkpoint interval", ".outputs.checkpointIntervalSteps",
			outputs(func(o *DynamicsOutputs) { o.CheckpointIntervalSteps = 0 })),
		refused("too many rows", ".outputs.stateIntervalSteps", func(r *DynamicsRequest) {
			onCUDA(r)
			r.Protocol.ProductionSteps, r.Outputs.StateIntervalSteps, r.Outputs.TrajectoryIntervalSteps = 50_000_000, 49, 50_000
			r.Outputs.AnalysisIntervalSteps = 50_000
		}),
		refused("too large a trajectory", ".outputs.trajectoryIntervalSteps", func(r *DynamicsRequest) {
			onCUDA(r)
			r.Input.Protein.Coordinates.ByteSize = 8_000_000
			r.Protocol.ProductionSteps, r.Outputs.TrajectoryIntervalSteps, r.Outputs.StateIntervalSteps = 50_000_000, 100, 5000
			r.Outputs.AnalysisIntervalSteps = 50_000
		}),
		refused("too long on the CPU", ".protocol.productionSteps", func(r *DynamicsRequest) {
			r.Input.Protein.Coordinates.ByteSize = 4_000_000
			r.Protocol.ProductionSteps, r.Outputs.TrajectoryIntervalSteps, r.Outputs.StateIntervalSteps = 50_000_000, 50_000, 50_000
			r.Outputs.AnalysisIntervalSteps = 50_000
		}),
		refused("double precision on the CPU", ".execution.platform.precision",
			func(r *DynamicsRequest) { r.Execution.Platform.Precision = PrecisionDouble }),
		refused("one device twice", ".execution.platform.deviceIndex", devices("1,1")),
		refused("five devices", ".execution.platform.deviceIndex", devices("0,1,2,3,4")),
		refused("a device without end", ".execution.platform.deviceIndex", devices(strings.Repeat("9", 40))),
		refused("a huge structure", ".input.coordinates.byteSize",
			func(r *DynamicsRequest) { r.Input.Protein.Coordinates.ByteSize = maxStructureBytes + 1 }),
		refused("a huge prmtop", ".input.prmtop.byteSize",
			func(r *DynamicsRequest) { amberInput(r); r.Input.Amber.Prmtop.ByteSize = maxPrmtopBytes + 1 }),
		refused("a prmtop of another system", ".input.prmtop.byteSize",
			func(r *DynamicsRequest) { amberInput(r); r.Input.Amber.Prmtop.ByteSize = 100 << 20 }),
		refused("huge Amber coordinates", ".input.coordinates.byteSize",
			func(r *DynamicsRequest) { amberInput(r); r.Input.Amber.Coordinates.ByteSize = maxInpcrdBytes + 1 }),
		refused("a huge restart", ".execution.restartCheckpoint.byteSize", func(r *DynamicsRequest) {
			state := file("final-state.xml", FormatStateXML, maxRestartBytes+1)
			r.Execution.RestartCheckpoint = &state
		}),
		refused("a bare checkpoint", ".execution.restartProvenance", func(r *DynamicsRequest) {
			checkpoint := file("final.chk", FormatCheckpoint, 100)
			r.Execution.RestartCheckpoint = &checkpoint
		}),
	}
}

func progressCases() []enginestest.ProgressCase {
	return []enginestest.ProgressCase{
		{Line: `{"progress": 0.606, "message": "production 0.2 ps of 0.4 ps, 29.8 ns/day, 1 s left"}`, Fraction: 0.606, OK: true},
		{Line: `{"progress": 1.0, "message": "done"}`, Fraction: 1, OK: true},
		{Line: `{"progress": -3}`, OK: true},
		{Line: `{"progress": "half"}`},
		{Line: `{"progress": 0.4`},
		{Line: `#"Step","Time (ps)"`},
		{Line: ""},
	}
}

func TestEngine(t *testing.T) {
	t.Parallel()
	enginestest.Run(t, New(), enginestest.Cases{Plans: planCases(), Refused: refusedCases(), Progress: progressCases(),
		Live: liveCases(t)})
}

func TestWorkerClassFollowsPlatform(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*DynamicsRequest)
		class  string
		gpus   int
	}{{unchanged, engines.HardwareCPU, 0}, {onCUDA, engines.HardwareGPU, 2}} {
		shards, err := New().Plan(smallRun(c.change))
		if err != nil {
			t.Fatal(err)
		}
		for _, shard := range shards {
			want, gpus := engines.HardwareCPU, 0
			if shard.Stage == stageSimulate {
				want, gpus = c.class, c.gpus
			}
			got := shard.Class(New().Spec())
			if got.Hardware != want || shard.Needs.GPUs != gpus || (gpus > 0) != (shard.Needs.GPUMemoryBytes > 0) ||
				(gpus > 0) != (shard.ExpectedGPUSeconds > 0) {
				t.Errorf("shard %s runs on %s with %d GPUs for %g s, want %s with %d", shard.Name, got, shard.Needs.GPUs,
					shard.ExpectedGPUSeconds, want, gpus)
			}
			if !slices.Contains(New().Spec().Classes(), got) {
				t.Errorf("shard %s runs on %s, of which the engine's description knows nothing", shard.Name, got)
			}
		}
	}
}

func TestCheckpointLines(t *testing.T) {
	t.Parallel()
	names, ok := New().Checkpoint(`{"checkpoint": ["checkpoint/segment-00000-0123456789abcdef.bin", "checkpoint/state-0.bin"]}`)
	if !ok || len(names) != 2 || names[1] != "checkpoint/state-0.bin" {
		t.Errorf("got %q, %v", names, ok)
	}
}

// TestRequestDigest wants the digest to be of the request as JSON with sorted keys, whatever its spelling.
func TestRequestDigest(t *testing.T) {
	t.Parallel()
	one, err := requestSHA256(json.RawMessage(`{"openmmRequest":{"b":1.50,"a":{"d":"<","c":[1,2]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	other, err := requestSHA256(json.RawMessage(` { "taskCount": 1, "openmmRequest" : {"a":{"c":[1, 2],"d":"\u003c"},"b":1.50} }`))
	if err != nil || one != other {
		t.Errorf("got %s and %s (%v), want one digest", one, other, err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"noise\n" + `{"openmm":"8.6.1","numpy":"2.4.6","openmm platforms":"CPU CUDA"}`: true,
		`{"openmm":"8.10","openmm platforms":"CPU"}`:                                   true,
		`{"openmm":"7.7","openmm platforms":"CPU"}`:                                    false,
		`{"openmm":"8.6.1","openmm platforms":""}`:                                     false,
		`{"numpy":"2.4.6"}`: false,
		`OpenMM 8`:          false,
	} {
		got, err := New().Spec().Probe.Check([]byte(text))
		if (err == nil) != want || (want && len(got) == 0) {
			t.Errorf("%s: got %v, %v; want accepted: %v", text, got, err, want)
		}
	}
}

func TestExpectedTimeFollowsMeasurements(t *testing.T) {
	t.Parallel()
	for _, measured := range []struct {
		atoms, cpuSeconds float64 // of 1,000 steps on two threads
	}{{2269, 11.5}, {8867, 52}, {23_558, 139}} {
		q := request{DynamicsRequest: DynamicsRequest{Protocol: DynamicsProtocol{ProductionSteps: 1000}}}
		got := (q.simulateSeconds(measured.atoms) - startCPUSeconds) * defaultCPUThreads
		if got < measured.cpuSeconds/1.6 || got > measured.cpuSeconds*1.6 {
			t.Errorf("%.0f atoms: the model says %.1f CPU-seconds, measured %.1f", measured.atoms, got, measured.cpuSeconds)
		}
	}
	if got := limit(math.Inf(1)); got != mostTime {
		t.Errorf("an endless run has the limit %v, want %v", got, mostTime)
	}
	if got := limit(1); got < leastTime || got > leastTime+time.Minute {
		t.Errorf("a second's run has the limit %v", got)
	}
}

// TestGuessedAtoms holds the guesses before any file is read against the systems that came out.
func TestGuessedAtoms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*DynamicsRequest)
		atoms  float64
		factor float64
	}{
		{"BPTI with hydrogens", unchanged, 14_551, 2},
		{"trialanine", func(r *DynamicsRequest) { r.Input.Protein.Coordinates.ByteSize = 2747 }, 1262, 2},
		{"alanine dipeptide", amberInput, 2269, 1.1},
	} {
		q, err := resolve(smallRun(c.change))
		if err != nil {
			t.Fatal(err)
		}
		if got := q.likelyAtoms(); got < c.atoms/c.factor || got > c.atoms*c.factor {
			t.Errorf("%s: guessed %.0f atoms, found %.0f", c.name, got, c.atoms)
		}
	}
}

// TestLargestPlans wants every plan to be bounded, and the largest system of a plan to be its own 10 times over.
func TestLargestPlans(t *testing.T) {
	t.Parallel()
	if got, most := memory(math.Inf(1), prepareBytesPerAtom), int64(17*gibibyte); got > most {
		t.Errorf("an endless system is given %d bytes, want at most %d", got, most)
	}
	for _, c := range []struct{ bytes, maxAtoms int64 }{{1, leastMaxAtoms}, {2747, leastMaxAtoms}, {5_000, 25_000},
		{72_469, 141_000}, {maxStructureBytes, mostParticles}} {
		q, err := resolve(smallRun(func(r *DynamicsRequest) { r.Input.Protein.Coordinates.ByteSize = c.bytes }))
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(q.maxAtoms()); got < 0.9*float64(c.maxAtoms) || got > 1.1*float64(c.maxAtoms) {
			t.Errorf("a structure of %d bytes may have %.0f atoms, want about %d", c.bytes, got, c.maxAtoms)
		}
	}
}

// FuzzProgress feeds foreign lines to the progress parser: whatever comes, the fraction stays within [0, 1].
func FuzzProgress(f *testing.F) {
	for _, c := range progressCases() {
		f.Add(c.Line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if fraction, _, ok := New().Progress(line); ok && (fraction < 0 || fraction > 1 || fraction != fraction) {
			t.Errorf("Progress(%q) is %v", line, fraction)
		}
		if names, ok := New().Checkpoint(line); ok && len(names) == 0 {
			t.Errorf("Checkpoint(%q) names nothing", line)
		}
	})
}

// FuzzDCD feeds foreign headers to the reader of trajectories: it accepts only those whose size is that of their frames.
func FuzzDCD(f *testing.F) {
	f.Add([]byte("T\x00\x00\x00CORD"), int64(276), int64(10), int64(0))
	f.Add(make([]byte, dcdHeaderBytes), int64(-1), int64(1<<40), int64(1<<60))
	f.Fuzz(func(t *testing.T, header []byte, size, atoms, frames int64) {
		if checkDCD(header, size, atoms, frames) == nil && (size < dcdHeaderBytes || atoms > math.MaxUint32) {
			t.Errorf("accepted %d bytes with %d atoms and %d frames", size, atoms, frames)
		}
	})
}

// FuzzAnalysisNames feeds foreign names to the reader of an analysis: what it accepts stays in the output folder.
func FuzzAnalysisNames(f *testing.F) {
	f.Add("plots/rmsd.svg")
	f.Add("../x.csv")
	f.Add("plots/../../x.csv")
	f.Add("trajectory.dcd")
	f.Fuzz(func(t *testing.T, name string) {
		found, err := analysisArtifacts(map[string]string{analysisDocument: digestOf("a"), name: digestOf("b")})
		if err == nil && (strings.Contains(name, "..") || strings.HasPrefix(name, "/") || name == resultsFile) {
			t.Errorf("accepted %q as %v", name, found)
		}
	})
}

// TestPlansOfAnyRequest plans what the schema allows at its edges.
func TestPlansOfAnyRequest(t *testing.T) {
	t.Parallel()
	for _, steps := range []int64{1, 7, 50_000_000} {
		for _, interval := range []int64{1, steps} {
			t.Run(fmt.Sprintf("%d every %d", steps, interval), func(t *testing.T) {
				t.Parallel()
				shards, err := New().Plan(smallRun(func(r *DynamicsRequest) {
					onCUDA(r)
					r.Protocol.ProductionSteps = steps
					r.Outputs = DynamicsOutputs{TrajectoryIntervalSteps: interval, StateIntervalSteps: interval,
						CheckpointIntervalSteps: interval, AnalysisIntervalSteps: interval}
				}))
				if (err != nil) != (steps/interval > maxStateRows) {
					t.Errorf("got %d shards, %v", len(shards), err)
				}
			})
		}
	}
}
