package e2e

import (
	"bytes"
	endian "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/job"
	"github.com/molfabric/molfabric/internal/servers/serverstest"
)

const (
	// trialanine is a peptide of three alanines; with its water it has 1,262 atoms.
	trialanine = "../../engines/openmm/testdata/trialanine.pdb"

	disturbedSteps, frameInterval, rowInterval = 1000, 10, 5
)

var submittedJob = regexp.MustCompile(`job_[0-9a-f]+`)

// artifact uploads a file of a simulation and refers to it.
func (c *chemist) artifact(name, format, content string) map[string]any {
	c.t.Helper()
	file, err := c.api.Upload(c.t.Context(), name, strings.NewReader(content), int64(len(content)))
	if err != nil {
		c.t.Fatal(err)
	}
	return artifactOf(format, file)
}

func artifactOf(format string, file client.Uploaded) map[string]any {
	return map[string]any{
		"schema": "molecule.openmm.artifact/v1", "artifactId": "file", "storageKey": file.StorageKey, "sha256": file.SHA256,
		"byteSize": file.ByteSize, "format": format, "mediaType": file.ContentType,
	}
}

// peptide uploads trialanine.
func (c *chemist) peptide() map[string]any {
	c.t.Helper()
	text, err := os.ReadFile(trialanine)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.artifact("trialanine.pdb", "pdb", string(text))
}

// simulation is a resumable run of a protein on the CPU, so many steps long; execution is added to its member of this name.
func simulation(protein map[string]any, steps int, execution map[string]any) map[string]any {
	place := map[string]any{
		"platform":          map[string]any{"name": "CPU", "precision": "mixed", "deviceIndex": "cpu"},
		"workerImageDigest": "sha256:" + strings.Repeat("0", 64),
	}
	maps.Copy(place, execution)
	request := map[string]any{
		"schema": "molecule.openmm.request/v1", "requestId": "request-1", "runId": "run-1", "confirmed": true,
		"input": map[string]any{"kind": "protein", "coordinates": protein},
		"protocol": map[string]any{
			"forceField": "amber14", "waterModel": "tip3pfb", "pH": 7, "ionicStrengthM": 0.15, "temperatureK": 300,
			"pressureBar": 1, "timestepFs": 2, "frictionPerPs": 1, "constraints": "HBonds", "nonbondedMethod": "PME",
			"minimization":  map[string]any{"enabled": true, "maxIterations": 20, "toleranceKjMolNm": 10},
			"equilibration": map[string]any{"nvtSteps": 20, "nptSteps": 20}, "productionSteps": steps, "seed": 42,
			"removeCenterOfMassMotion": true,
		},
		"outputs": map[string]any{
			"trajectoryIntervalSteps": frameInterval, "stateIntervalSteps": rowInterval, "checkpointIntervalSteps": 40,
			"analysisIntervalSteps": 2 * frameInterval,
			"trajectoryFormat":      "dcd",
		},
		"execution": place,
	}
	return map[string]any{
		"jobType": "simulation", "simulator": "openmm", "jobName": "test", "sceneFile": protein["storageKey"],
		"recovery":         map[string]any{"mode": "resumable"},
		"simulationParams": map[string]any{"openmmRequest": request},
	}
}

func member(request map[string]any, name string) map[string]any {
	return request["simulationParams"].(map[string]any)["openmmRequest"].(map[string]any)[name].(map[string]any)
}

// simulate submits a run.
func (c *chemist) simulate(request map[string]any) (jobID string) {
	c.t.Helper()
	receipt, err := c.api.Submit(c.t.Context(), request, "")
	if err != nil {
		c.t.Fatal(err)
	}
	return receipt.Body.JobID
}

// simulated waits for a run's end and expects a success.
func (c *chemist) simulated(jobID string) {
	c.t.Helper()
	if ended := c.await(c.api, jobID); ended.Status != job.Completed {
		c.t.Fatalf("job %s ended as %s: %+v", jobID, ended.Status, ended.Error)
	}
	chargedOnce(c.t, c.api, jobID)
}

// until follows a job's events to the first that fits.
func (c *chemist) until(what, jobID string, fits func(client.Event) bool) {
	c.t.Helper()
	found := errors.New("found")
	err := c.api.Events(c.t.Context(), jobID, "", func(e client.Event) error {
		if fits(e) {
			return found
		}
		return nil
	})
	if !errors.Is(err, found) {
		c.t.Fatalf("job %s ended without this: %s (%v)", jobID, what, err)
	}
}

// killWorker kills the worker of a run in its attempt, when that has stored so many files of checkpoints.
func (c *chemist) killWorker(jobID string, attempt, files int) {
	c.t.Helper()
	const saved = `molfabric_checkpoints_total{engine="openmm",outcome="stored"}`
	c.until(fmt.Sprintf("attempt %d simulates", attempt), jobID, func(e client.Event) bool {
		var task contract.TaskEvent
		return e.Kind == client.EventTask && json.Unmarshal(e.Data, &task) == nil && task.Stage == "simulate" &&
			task.Status == job.TaskRunning && task.Attempt == attempt
	})
	before := c.metric(saved) // after what a dead worker may still have had under way
	c.eventually("the run has saved itself", func() bool { return c.metric(saved) >= before+float64(files) })
	if err := syscall.Kill(c.worker(), syscall.SIGKILL); err != nil {
		c.t.Fatal(err)
	}
}

// dynamicsResults is what the tests read of results.json.
type dynamicsResults struct {
	Frames, StateRows int
	Restart           *struct{ EarlierSteps int }
	Resumes           []struct {
		Phase string
		Step  int
	}
}

func decoded[T any](t *testing.T, text []byte) (value T) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// TestKilledDynamicsLosesNoFrame kills the only worker of a simulation twice, each time after a checkpoint, and holds the end
// against that of an undisturbed run. Then it goes on from the undisturbed run's end.
func TestKilledDynamicsLosesNoFrame(t *testing.T) {
	t.Parallel()
	serverstest.Long(t)
	c := start(t, "MOLFABRIC_LIMIT_CREDENTIAL=100000").chemist(t)
	protein := c.peptide()
	calm := c.simulate(simulation(protein, disturbedSteps, nil))
	c.simulated(calm)

	disturbed := c.simulate(simulation(protein, disturbedSteps, nil))
	// two structures, and the saves after minimisation, equilibration and 40 and 80 steps of production
	c.killWorker(disturbed, 1, 6)
	c.killWorker(disturbed, 2, 2)
	c.simulated(disturbed)
	for name, jobID := range map[string]string{"undisturbed": calm, "disturbed": disturbed} {
		c.checkFrames(name, jobID)
		c.checkRows(name, jobID)
	}
	c.checkResumes(disturbed)

	outputs := c.checkRoles(calm)
	checkpoint := outputs["final.chk"]
	execution := map[string]any{
		"restartCheckpoint": artifactOf("checkpoint", client.Uploaded{StorageKey: checkpoint.StorageKey, SHA256: checkpoint.SHA256,
			ByteSize: checkpoint.ByteSize, ContentType: checkpoint.MediaType}),
		"restartProvenance": decoded[map[string]any](t, output(t, c.api, calm, "provenance.json"))["restartProvenance"],
	}
	c.restart(protein, execution)
}

// checkFrames expects every frame of a run's trajectory, and none of them twice.
func (c *chemist) checkFrames(name, jobID string) {
	c.t.Helper()
	const headerBytes, cellBytes, countOffset, atomsOffset = 196, 56, 8, 188
	dcd := output(c.t, c.api, jobID, "trajectory.dcd")
	frames, atoms := int(endian.LittleEndian.Uint32(dcd[countOffset:])), int(endian.LittleEndian.Uint32(dcd[atomsOffset:]))
	size := cellBytes + 3*(8+4*atoms)
	if frames != disturbedSteps/frameInterval || len(dcd) != headerBytes+frames*size {
		c.t.Fatalf("the %s run has %d frames of %d atoms in %d bytes, want %d frames", name, frames, atoms, len(dcd),
			disturbedSteps/frameInterval)
	}
	seen := map[string]int{}
	for i := range frames {
		frame := string(dcd[headerBytes+i*size : headerBytes+(i+1)*size])
		if earlier, again := seen[frame]; again {
			c.t.Errorf("the %s run has frame %d again as %d", name, earlier, i)
		}
		seen[frame] = i
	}
}

// checkRows expects a line of energies for each step that has one, in order.
func (c *chemist) checkRows(name, jobID string) {
	c.t.Helper()
	lines := strings.Split(strings.TrimSpace(string(output(c.t, c.api, jobID, "state.csv"))), "\n")
	if len(lines) != 1+disturbedSteps/rowInterval {
		c.t.Fatalf("the %s run has %d lines of energies", name, len(lines))
	}
	for i, line := range lines[1:] {
		if want := fmt.Sprintf("%d,", (i+1)*rowInterval); !strings.HasPrefix(line, want) {
			c.t.Fatalf("line %d of the %s run is %q, want step %s", i+1, name, line, want)
		}
	}
}

// checkResumes expects that the second and the third attempt went on where the one before had saved, and that the log says so.
func (c *chemist) checkResumes(jobID string) {
	c.t.Helper()
	results := decoded[dynamicsResults](c.t, output(c.t, c.api, jobID, "results.json"))
	if len(results.Resumes) != 2 || results.Resumes[0].Phase != "production" || results.Resumes[0].Step == 0 ||
		results.Resumes[0].Step >= results.Resumes[1].Step {
		c.t.Fatalf("the run went on from %+v, want twice, in production and not from where it had been before", results.Resumes)
	}
	tasks, err := c.api.Tasks(c.t.Context(), jobID, client.TaskFilter{Stage: "simulate"})
	if err != nil || len(tasks.Body.Tasks) != 1 || tasks.Body.Tasks[0].Attempt != 3 {
		c.t.Fatalf("the tasks are %+v (%v), want one in its third attempt", tasks.Body.Tasks, err)
	}
	logs, err := c.api.Logs(c.t.Context(), jobID, client.Page{}, tasks.Body.Tasks[0].TaskID)
	if err != nil || len(logs.Body.Logs) != 1 || logs.Body.Logs[0].Text == nil {
		c.t.Fatalf("the log is %+v (%v)", logs.Body.Logs, err)
	}
	if want := fmt.Sprintf("step %d of ", results.Resumes[1].Step); !strings.Contains(*logs.Body.Logs[0].Text,
		"going on from the checkpoint") || !strings.Contains(*logs.Body.Logs[0].Text, want) {
		c.t.Errorf("that it went on from %q is missing in the log of the third attempt:\n%s", want, *logs.Body.Logs[0].Text)
	}
	c.t.Logf("went on from %+v", results.Resumes)
}

// checkRoles expects of each of a run's files its role.
func (c *chemist) checkRoles(jobID string) map[string]contract.Output {
	c.t.Helper()
	all, err := c.api.AllOutputs(c.t.Context(), jobID)
	if err != nil {
		c.t.Fatal(err)
	}
	outputs := map[string]contract.Output{}
	for _, o := range all.Body.Outputs {
		outputs[o.Name] = o
	}
	for name, role := range map[string]string{
		"trajectory.dcd": "result", "state.csv": "result", "topology.pdb": "result", "final-state.xml": "result",
		"final.chk": "checkpoint", "results.json": "result", "provenance.json": "provenance", "analysis.json": "result",
		"analysis.csv": "result", "report.html": "result", "plots/rmsd.svg": "result", "plots/rmsd.png": "preview",
		"plots/energy.png": "preview", "plots/temperature.svg": "result", "minimised.pdb": "result", "equilibrated.pdb": "result",
	} {
		if o, ok := outputs[name]; !ok || o.Role != role || o.ByteSize == 0 {
			c.t.Errorf("output %s is %+v, want a %s", name, o, role)
		}
	}
	return outputs
}

// restart goes on from a run's end, and then as if it had had another integrator.
func (c *chemist) restart(protein, execution map[string]any) {
	c.t.Helper()
	again := c.simulate(simulation(protein, 20, execution))
	c.simulated(again)
	results := decoded[dynamicsResults](c.t, output(c.t, c.api, again, "results.json"))
	if results.Frames != 20/frameInterval || results.Restart == nil || results.Restart.EarlierSteps != disturbedSteps {
		c.t.Errorf("the restarted run left %+v, want it after %d steps", results, disturbedSteps)
	}
	provenance := maps.Clone(execution["restartProvenance"].(map[string]any))
	provenance["integratorSha256"] = strings.Repeat("0", 64)
	wrong := c.simulate(simulation(protein, 20, map[string]any{"restartCheckpoint": execution["restartCheckpoint"],
		"restartProvenance": provenance}))
	c.failed(wrong, "RESTART_MISMATCH", "restartProvenance.integratorSha256 is 0000")
}

// failed expects a run to fail for its user's sake.
func (c *chemist) failed(jobID, code string, words ...string) {
	c.t.Helper()
	ended := c.await(c.api, jobID)
	if ended.Status != job.Failed || ended.Error == nil || ended.Error.Code != code || ended.Error.FailureClass != "USER_INPUT" {
		c.t.Fatalf("the job ended as %s with %+v, want USER_INPUT %s", ended.Status, ended.Error, code)
	}
	for _, word := range words {
		if !strings.Contains(ended.Error.Message, word) {
			c.t.Errorf("%s: %q does not name %q", code, ended.Error.Message, word)
		}
	}
}

// TestDynamics shows simulations as their users meet them, on one system without a device.
func TestDynamics(t *testing.T) {
	t.Parallel()
	s := start(t, "MOLFABRIC_LIMIT_CREDENTIAL=100000", "MOLFABRIC_HARDWARE=cpu")
	for name, test := range map[string]func(*chemist){"refusals": testRefusedDynamics, "bad inputs": testBadDynamics,
		"cancelled": testCancelledDynamics} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(s.chemist(t))
		})
	}
	t.Run("command line", func(t *testing.T) {
		t.Parallel()
		shared := *s
		shared.t = t
		testDynamicsCommand(shared.signIn())
	})
}

// testRefusedDynamics asks for what can be refused before anything runs.
func testRefusedDynamics(c *chemist) {
	protein := c.peptide()
	platform := func(name, precision, device string) map[string]any {
		return map[string]any{"platform": map[string]any{"name": name, "precision": precision, "deviceIndex": device}}
	}
	other := maps.Clone(protein)
	other["sha256"] = strings.Repeat("0", 64)
	for _, test := range []struct {
		request map[string]any
		status  int
		code    fault.Code
		word    string
	}{
		{simulation(protein, 20, platform("CUDA", "mixed", "0")), http.StatusUnprocessableEntity, fault.UnsupportedSimulator,
			"GPU"},
		{simulation(protein, 20, platform("CPU", "double", "cpu")), http.StatusBadRequest, fault.Validation,
			"openmmRequest.execution.platform.precision"},
		{simulation(other, 20, nil), http.StatusUnprocessableEntity, fault.ChecksumMismatch,
			"openmmRequest.input.coordinates.sha256"},
	} {
		_, err := c.api.Submit(c.t.Context(), test.request, "")
		if client.StatusOf(err) != test.status || client.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.word) {
			c.t.Errorf("got %v, want %d %s that names %s", err, test.status, test.code, test.word)
		}
	}
}

// testBadDynamics sends files that cannot be simulated.
func testBadDynamics(c *chemist) {
	whole, err := os.ReadFile(trialanine)
	if err != nil {
		c.t.Fatal(err)
	}
	unknown := "HETATM   34 ZZ   UNK C   7      15.000  15.000  15.000  1.00  0.00           C\nEND\n"
	broken := c.simulate(simulation(c.artifact("broken.pdb", "pdb", strings.Replace(string(whole), "   0.024", "   0,024", 1)), 20,
		nil))
	foreign := c.simulate(simulation(c.artifact("foreign.pdb", "pdb", strings.Replace(string(whole), "END", unknown, 1)), 20, nil))
	system := simulation(c.artifact("system.inpcrd", "inpcrd", "no coordinates\n"), 20, nil)
	input, protocol := member(system, "input"), member(system, "protocol")
	input["kind"], input["prmtop"] = "amber", c.artifact("system.prmtop", "prmtop", string(whole))
	protocol["forceField"], protocol["waterModel"] = "amber-prmtop", "input-parameters"
	amber := c.simulate(system)
	c.failed(broken, "STRUCTURE_UNREADABLE", "pdb")
	c.failed(foreign, "RESIDUE_WITHOUT_PARAMETERS", "UNK 7 of chain C")
	c.failed(amber, "PRMTOP_UNREADABLE", "prmtop")
}

// testCancelledDynamics cancels a run of minutes when it moves.
func testCancelledDynamics(c *chemist) {
	id := c.simulate(simulation(c.peptide(), 100_000, nil))
	c.until("production", id, func(e client.Event) bool {
		return e.Kind == client.EventProgress && bytes.Contains(e.Data, []byte("production"))
	})
	if _, err := c.api.Cancel(c.t.Context(), id, "enough"); err != nil {
		c.t.Fatal(err)
	}
	ended := c.await(c.api, id)
	if ended.Status != job.Cancelled {
		c.t.Errorf("the job ended as %s: %+v", ended.Status, ended.Error)
	}
	chargedOnce(c.t, c.api, id)
}

// testDynamicsCommand simulates an Amber system, and looks at what lands on disk.
func testDynamicsCommand(sh *shell) {
	input := []string{enginestest.Sample(sh.t, "alanine-dipeptide.inpcrd"), "--prmtop",
		enginestest.Sample(sh.t, "alanine-dipeptide.prmtop")}
	short := []string{"--minimise=false", "--nvt", "0ps", "--npt", "0ps", "--save-every", "10fs", "--steps", "60", "--seed", "7"}
	shown, _ := sh.want(0, "", slices.Concat([]string{"md"}, input, short, []string{"--watch", "--out", "results"})...)
	sh.contains(shown, "ns/day", "12 of 12 frames analysed", "quantity", "temperature", "density", "Bill",
		filepath.Join("results", "report.html")+" first")
	for _, name := range []string{"report.html", "analysis.json", "trajectory.dcd", "topology.pdb", "state.csv", "provenance.json",
		"plots/temperature.png", "plots/density.svg"} {
		if info, err := os.Stat(filepath.Join(sh.dir, "results", name)); err != nil || info.Size() == 0 {
			sh.t.Errorf("the results hold no %s", name)
		}
	}
	id := submittedJob.FindString(shown)
	watched, _ := sh.want(0, "", "watch", id)
	sh.contains(watched, "12 of 12 frames analysed", "quantity", "Bill")
}
