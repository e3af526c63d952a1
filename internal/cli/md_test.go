package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/contract"
)

// optionsOf reads a command line of `md` in a folder with files of every kind.
func optionsOf(t *testing.T, structure string, arguments ...string) (mdOptions, error) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"protein.pdb", "my protein.cif", "system.inpcrd", "system.prmtop"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("ATOM\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, argument := range arguments {
		if argument == "system.prmtop" {
			arguments[i] = filepath.Join(dir, argument)
		}
	}
	var f mdFlags
	cmd := &cobra.Command{Use: "md"}
	f.define(cmd)
	if err := cmd.ParseFlags(arguments); err != nil {
		t.Fatal(err)
	}
	return f.read(filepath.Join(dir, structure))
}

func settled(t *testing.T, earlier *earlierRun, structure string, arguments ...string) dynamics {
	t.Helper()
	w, err := optionsOf(t, structure, arguments...)
	if err != nil {
		t.Fatalf("%q: %v", arguments, err)
	}
	d, err := w.settle(earlier)
	if err != nil {
		t.Fatalf("%q: %v", arguments, err)
	}
	return d
}

// stored stands for an upload.
func stored(name string) client.Uploaded {
	return client.Uploaded{StorageKey: "acc/uploads/" + name, SHA256: strings.Repeat("a", 64), ByteSize: 200_000,
		ContentType: client.ContentType(name)}
}

// TestDynamicsRequests writes the request of command lines and plans each as the service does.
func TestDynamicsRequests(t *testing.T) {
	t.Parallel()
	const id = "00000000-0000-4000-8000-000000000000"
	earlier := earlierOf(t, nil)
	for name, d := range map[string]dynamics{
		"protein": settled(t, nil, "protein.pdb", "--time", "10ns", "--seed", "7"),
		"amber": settled(t, nil, "system.inpcrd", "--prmtop", "system.prmtop", "--steps", "5000", "--seed", "7",
			"--resumable=false", "--save-every", "1ps"),
		"gpu": settled(t, nil, "my protein.cif", "--time", "100ns", "--platform", "CUDA", "--precision", "double", "--devices",
			"0,1", "--seed", "7", "--timestep", "4fs", "--force-field", "amber19", "--water", "tip3p", "--temperature", "310K",
			"--ph", "7.4"),
		"restart": settled(t, &earlier, "protein.pdb", "--time", "2ns"),
	} {
		request := newDynamicsRequest(d, id, stored("c"), stored("p"))
		request.SceneFile, request.JobName = "acc/uploads/c", d.name
		text, err := json.MarshalIndent(request, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "md-request-"+name+".json", string(text)+"\n")
		checkPlanned(t, name, request)
	}
}

// checkPlanned wants the engine to read the request to the last member, and to accept it.
func checkPlanned(t *testing.T, name string, request dynamicsRequest) {
	t.Helper()
	params, _ := json.Marshal(request.SimulationParams)
	var read openmm.Params
	decoder := json.NewDecoder(bytes.NewReader(params))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	again, _ := json.Marshal(read)
	var asked, understood any
	if json.Unmarshal(params, &asked) != nil || json.Unmarshal(again, &understood) != nil ||
		fmt.Sprint(asked) != fmt.Sprint(understood) {
		t.Errorf("%s: the engine reads %s of %s", name, again, params)
	}
	if _, err := openmm.New().Plan(engines.Request{JobID: "job_1", JobType: "simulation", Params: params,
		Recovery: request.Recovery.Mode}); err != nil {
		t.Errorf("%s: the engine refuses the request: %v", name, err)
	}
}

// TestDynamicsIntervals shows how often runs of different lengths write.
func TestDynamicsIntervals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments []string
		want      dynamicsOutputs
	}{
		{[]string{"--time", "10ns"}, dynamicsOutputs{5000, 500, 50000, 5000, "dcd"}},
		{[]string{"--time", "100ps"}, dynamicsOutputs{500, 50, 5000, 500, "dcd"}},
		{[]string{"--steps", "10"}, dynamicsOutputs{1, 1, 10, 1, "dcd"}},
		{[]string{"--time", "10ns", "--save-every", "1ns", "--checkpoint-every", "100ps"},
			dynamicsOutputs{500000, 50000, 50000, 500000, "dcd"}},
		{[]string{"--time", "100ns", "--save-every", "100fs"}, dynamicsOutputs{50, 50, 500, 50, "dcd"}},
		{[]string{"--steps", "777", "--save-every", "14fs"}, dynamicsOutputs{7, 7, 70, 7, "dcd"}},
	} {
		if got := settled(t, nil, "protein.pdb", c.arguments...).outputs; got != c.want {
			t.Errorf("%q: got %+v, want %+v", c.arguments, got, c.want)
		}
	}
}

// TestRestartsKeepTheirIntervals goes on from a run that saved a frame every 4 ps, energies every 0.8 ps and itself every 16 ps.
func TestRestartsKeepTheirIntervals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments []string
		want      dynamicsOutputs
	}{
		{[]string{"--time", "100ns"}, dynamicsOutputs{1000, 200, 4000, 1000, "dcd"}},
		{[]string{"--time", "100ns", "--timestep", "2fs"}, dynamicsOutputs{2000, 400, 8000, 2000, "dcd"}},
		{[]string{"--time", "2ps"}, dynamicsOutputs{500, 200, 500, 500, "dcd"}},
		{[]string{"--time", "100ns", "--save-every", "20ps"}, dynamicsOutputs{5000, 500, 50000, 5000, "dcd"}},
		{[]string{"--time", "100ns", "--checkpoint-every", "40ps"}, dynamicsOutputs{1000, 200, 10000, 1000, "dcd"}},
	} {
		earlier := earlierOf(t, nil)
		if got := settled(t, &earlier, "protein.pdb", c.arguments...).outputs; got != c.want {
			t.Errorf("%q: got %+v, want %+v", c.arguments, got, c.want)
		}
	}
	earlier := earlierOf(t, nil)
	earlier.outputs = dynamicsOutputs{} // its provenance does not tell
	if got := settled(t, &earlier, "protein.pdb", "--time", "10ns").outputs; got != (dynamicsOutputs{2500, 250, 25000, 2500,
		"dcd"}) {
		t.Errorf("unknown intervals: got %+v", got)
	}
}

func TestDynamicsSeed(t *testing.T) {
	t.Parallel()
	for range 100 {
		if seed := randomSeed(); seed < 1 || seed > maxDynamicsSeed {
			t.Fatalf("got the seed %d, want 1 to %d", seed, maxDynamicsSeed)
		}
	}
}

// earlierOf chooses what to go on from, as with the given arguments.
func earlierOf(t *testing.T, outputs []contract.Output, arguments ...string) earlierRun {
	t.Helper()
	w, err := optionsOf(t, "protein.pdb", append([]string{"--time", "1ns", "--restart", "job_1"}, arguments...)...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join("testdata", "md-provenance.json"))
	if err != nil {
		t.Fatal(err)
	}
	provenance, err := readRunProvenance("job_1", text)
	if err != nil {
		t.Fatal(err)
	}
	if outputs == nil {
		outputs = finalOutputs()
	}
	earlier, err := w.choose("job_1", provenance, outputs)
	if err != nil {
		t.Fatal(err)
	}
	return earlier
}

func finalOutputs() []contract.Output {
	sum := strings.Repeat("b", 64)
	return []contract.Output{
		{Name: "results.json"},
		{Name: "final.chk", Format: "checkpoint", StorageKey: "acc/jobs/job_1/final.chk", SHA256: sum, ByteSize: 1000,
			MediaType: "application/octet-stream"},
		{Name: "final-state.xml", Format: "openmm-state-xml", StorageKey: "acc/jobs/job_1/final-state.xml", SHA256: sum,
			ByteSize: 9000, MediaType: "application/xml"},
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arguments []string
		format    string
		described bool
	}{
		{nil, formatCheckpoint, true},
		{[]string{"--platform", "CPU"}, formatCheckpoint, true},
		{[]string{"--portable"}, formatStateXML, true},
		{[]string{"--platform", "CUDA"}, formatStateXML, true},
		{[]string{"--timestep", "2fs"}, formatStateXML, true},
		{[]string{"--temperature", "310K"}, formatStateXML, false},
		{[]string{"--seed", "8"}, formatStateXML, false},
	} {
		got := earlierOf(t, nil, slices.Clone(c.arguments)...)
		if got.start.Format != c.format || (got.provenance != nil) != c.described {
			t.Errorf("%q: goes on from %s with the provenance %+v, want %s", c.arguments, got.start.Format, got.provenance,
				c.format)
		}
	}
	byFormat := finalOutputs()
	byFormat[1].Name = "latest.chk"
	if got := earlierOf(t, byFormat).start.StorageKey; got != "acc/jobs/job_1/final.chk" {
		t.Errorf("got %q, want the file that is a checkpoint", got)
	}
	d := settled(t, ref(earlierOf(t, nil)), "protein.pdb", "--time", "1ns", "--pressure", "2bar")
	if p := d.protocol; p.TemperatureK != 310 || p.Seed != 42 || p.TimestepFs != 4 || p.PressureBar != 2 ||
		p.ProductionSteps != 250000 {
		t.Errorf("got the protocol %+v, want the earlier run's with another pressure", p)
	}
	if p := d.protocol; p.Minimization.Enabled || p.Equilibration.NVTSteps != 0 || p.Equilibration.NPTSteps != 0 {
		t.Errorf("got the protocol %+v, want no equilibration", p)
	}
}

func TestRestartRefused(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"": "has no provenance.json", "{}": "was it a simulation?", `{"restartProvenance":{}}`: "was it a simulation?",
		"[": "cannot|can read",
	} {
		_, err := readRunProvenance("job_1", []byte(text))
		if err == nil || !slices.ContainsFunc(strings.Split(says, "|"),
			func(part string) bool { return strings.Contains(err.Error(), part) }) {
			t.Errorf("%q: got %v, want an error saying %q", text, err, says)
		}
	}
	w, err := optionsOf(t, "protein.pdb", "--time", "1ns")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.choose("job_1", runProvenance{RestartProvenance: &restartProvenance{}}, nil); ExitCode(err) != ExitInvalid {
		t.Errorf("got %v, want a refusal of a job without a checkpoint", err)
	}
}

func TestDynamicsTables(t *testing.T) {
	t.Parallel()
	var w bytes.Buffer
	if err := dynamicsTable(&w, read[dynamicsAnalysis](t, "md-analysis.json")); err != nil {
		t.Fatal(err)
	}
	golden(t, "md-analysis.txt", w.String())
	w.Reset()
	showDynamicsEstimate(&invocation{out: &w}, read[contract.EstimateResponse](t, "estimate.json"),
		settled(t, nil, "protein.pdb", "--time", "10ns", "--seed", "7"))
	golden(t, "md-estimate.txt", w.String())
}

func TestDynamicsFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"report.html": true, "plots/rmsd.svg": true, "trajectory.dcd": true, "final.chk": true, "topology.cif": true,
		"system.xml": false, "initial-state.xml": false, "plotsy": false, "x/report.html": false, "result.json": false,
	} {
		if got := len(among(dynamicsFiles)([]contract.Output{{Name: name}})) == 1; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if got := (dynamicsFile{path: "/a/my protein.cif", format: "mmcif"}).name(); got != "coordinates.mmcif" {
		t.Errorf("got %q, want a name that a key can hold", got)
	}
}
