package jobs

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/molfabric/molfabric/api/access"
	"github.com/molfabric/molfabric/api/jobs/lookup"
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/alphafold"
	"github.com/molfabric/molfabric/engines/esmfold"
	"github.com/molfabric/molfabric/engines/swan"
	"github.com/molfabric/molfabric/engines/wavewatch3"
	"github.com/molfabric/molfabric/internal/casefile/casetest"
	"github.com/molfabric/molfabric/internal/contract"
	"github.com/molfabric/molfabric/internal/fault"
	"github.com/molfabric/molfabric/internal/frames"
)

// TestEveryJobReachesItsEngine submits and estimates a job for every simulator and type through the front door and reads what
// the engine was given.
func TestEveryJobReachesItsEngine(t *testing.T) {
	t.Parallel()
	all := recorders()
	d := openWith(t, true, listOf(all)...)
	d.registry("swissprot 2026_01 2026-01-28 prot a", "refseq 230 2026-02-01 nucl b")
	d.weights(esmfold.ID, alphafold.ID)
	caller := d.account()
	d.scene(caller)
	bay := d.bay(caller)
	d.file(caller, "texture", 20, "")
	for _, c := range []struct {
		name, engine, body string
		want               func(engines.Request) bool
	}{
		{"fpocket", "fpocket", `"jobType":"simulation","simulator":"FPocket","simulationParams":{"blastEvalue":1e-300}`,
			func(r engines.Request) bool {
				return strings.Contains(string(r.Params), `"blastEvalue":1e-300`) &&
					strings.Contains(string(r.Params), `"maxPockets":10`)
			}},
		{"blastp",
			"blastp", `"jobType":"simulation","simulator":"ncbi-blastp","taskCount":4.0,"simulationParams":{"blastMaxHits":10.0}`,
			func(r engines.Request) bool {
				return r.TaskCount == 4 && strings.Contains(string(r.Params), `"blastMaxHits":10,`)
			}},
		{"blastn", "blastn", `"jobType":"simulation","simulator":"blastn"`, nil},
		{"alphafold", "alphafold", `"jobType":"simulation","simulator":"AF2","recovery":{"mode":"resumable"}`,
			func(r engines.Request) bool { return r.Recovery == "resumable" }},
		{"esmfold", "esmfold", `"jobType":"simulation","simulator":"ESMFold v1","recovery":{}`,
			func(r engines.Request) bool { return r.Recovery == "standard" && r.Frames == nil }},
		{"swan", "swan", `"jobType":"simulation","simulator":"swan","metadata":{}`, nil},
		{"wavewatch3", "wavewatch3", `"jobType":"simulation","simulator":"WW3"`,
			func(r engines.Request) bool { return string(r.Metadata) == "{}" }},
		{"docking",
			"autodock-vina", `"jobType":"simulation","simulator":"vina","simulationParams":{"seed":-2147483648,"blastEvalue":10}`,
			func(r engines.Request) bool {
				return strings.Contains(string(r.Params), `"seed":-2147483648`) &&
					strings.Contains(string(r.Params), `"shardSize":1`)
			}},
		{"still", "cycles", `"parameters":{"quality":"final"}`, func(r engines.Request) bool {
			return frames.Format(r.Frames) == "1" && r.JobType == "render" && r.Parameters["quality"] == "final"
		}},
		{"frames", "cycles", `"jobType":"render","parameters":{"FrameRange":"1-100:10"}`,
			func(r engines.Request) bool { return frames.Count(r.Frames) == 10 }},
		{"molecular", "molstar", `"jobType":"molecular","metadata":{"resolution":"640x480","fps":30}`,
			func(r engines.Request) bool {
				return r.JobType == "molecular" && strings.Contains(string(r.Metadata), `"resolution":"640x480"`)
			}},
		{"ray-traced", "cycles", `"jobType":"molecular","metadata":{"renderEngine":"cycles","samples":64}`,
			func(r engines.Request) bool { return r.JobType == "molecular" }},
	} {
		response, text := d.call(caller, http.MethodPost, "/v1/jobs/estimate", "{"+c.body+"}")
		if got := all[c.engine].request(); response.StatusCode != http.StatusOK || got.SceneFile != lookup.NoScene ||
			c.want != nil && !c.want(got) {
			t.Errorf("%s: estimate gave %d %s for %+v", c.name, response.StatusCode, text, got)
		}
		scene, size := "scene", len(smallReceptor)
		if c.engine == swan.ID || c.engine == wavewatch3.ID {
			scene, size = "bay", bay
		}
		response, text = d.call(caller, http.MethodPost, "/v1/jobs/submit",
			`{"sceneFile":"`+scene+`","attachments":["texture","scene"],"priority":9,`+c.body+"}")
		got := all[c.engine].request()
		if response.StatusCode != http.StatusOK || got.SceneFile.ByteSize != int64(size) ||
			len(got.Attachments) != 2 || got.Attachments[0].ByteSize != 20 || c.want != nil && !c.want(got) {
			t.Errorf("%s: submit gave %d %s for %+v", c.name, response.StatusCode, text, got)
		}
	}
	// What only a submission may say.
	submit := func(body string) engines.Request {
		if response, text := d.call(caller, http.MethodPost, "/v1/jobs/submit",
			`{"sceneFile":"scene",`+body+"}"); response.StatusCode != http.StatusOK {
			t.Errorf("%s: got %d %s", body, response.StatusCode, text)
		}
		return all["cycles"].request()
	}
	if got := submit(`"outputFormat":"EXR","frameStart":1,"frameEnd":100,"frameStep":10.0`); got.OutputFormat != "EXR" ||
		frames.Format(got.Frames) != "1-91:10" {
		t.Errorf("got %+v", got)
	}
	if got := submit(`"metadata":{"own" : {"id":12345678901234567890, "x":null}}`); string(
		got.Metadata) != `{"own" : {"id":12345678901234567890, "x":null}}` {
		t.Errorf("got %s, want the metadata byte for byte", got.Metadata)
	}
	if submit(
		`"jobType":"pipeline","simulator":"vina","frameStart":1,"frameEnd":2`); all["autodock-vina"].request().JobType != engines.JobTypePipeline || frames.Format(all["molstar"].request().Frames) != "1-2" {
		t.Errorf("got %+v, %+v", all["autodock-vina"].request(), all["molstar"].request())
	}
}

// scene gives an account a structure of 10 bytes, which every job type takes as its scene.
func (d *desk) scene(caller access.Principal) {
	d.t.Helper()
	d.put("scene", smallReceptor)
	d.file(caller, "scene", int64(len(smallReceptor)), "")
}

// bay gives an account a case of the wave model, and returns its bytes.
func (d *desk) bay(caller access.Principal) int {
	d.t.Helper()
	content := casetest.Zip(d.t, casetest.Files(map[string]string{
		"INPUT": "CGRID 0. 0. 0. 1000. 1000. 10 10 CIRCLE 36 0.05 1.0 20\nCOMPUTE\nSTOP\n",
	}))
	d.put("bay", string(content))
	d.file(caller, "bay", int64(len(content)), "")
	return len(content)
}

// TestDynamicsFiles submits the OpenMM request of dynamics.json, whose files must be the account's own.
func TestDynamicsFiles(t *testing.T) {
	t.Parallel()
	all := recorders()
	d := openWith(t, false, all["openmm"])
	caller := d.account()
	text, err := os.ReadFile("testdata/dynamics.json")
	if err != nil {
		t.Fatal(err)
	}
	whole := request(t, string(text))
	asked := SubmitRequest{JobType: whole.JobType, Simulator: "openmm", SceneFile: "k",
		SimulationParams: &SimulationParams{DynamicsParams: whole.SimulationParams.DynamicsParams}}
	_, err = d.Submit(access.With(t.Context(), caller), caller, "", asked)
	wantFault(t, "no file", err, fault.SceneNotFound, "sceneFile")
	d.file(caller, "k", 11, "")
	_, err = d.Submit(access.With(t.Context(), caller), caller, "", asked)
	wantFault(t, "another size", err, fault.ChecksumMismatch, "simulationParams.openmmRequest.input.prmtop.byteSize")
	d.file(caller, "k", 10, strings.Repeat("b", 64))
	_, err = d.Submit(access.With(t.Context(), caller), caller, "", asked)
	wantFault(t, "another digest", err, fault.ChecksumMismatch, "simulationParams.openmmRequest.input.prmtop.sha256")
	d.file(caller, "k", 10, strings.Repeat("a", 64))
	if _, err = d.Submit(access.With(t.Context(), caller), caller, "", asked); err != nil {
		t.Errorf("got %v, want accepted", err)
	}
	asked.SimulationParams.Request.Execution.Platform.DeviceIndex = "0"
	_, err = d.Submit(access.With(t.Context(), caller), caller, "", asked)
	wantFault(t, "the engine's own rule", err, fault.Validation, "simulationParams.openmmRequest.execution.platform.deviceIndex")
}

// TestIdempotencyOfEveryType sends each job in two ways that mean the same, and then in one that does not.
func TestIdempotencyOfEveryType(t *testing.T) {
	t.Parallel()
	d := openWith(t, false, listOf(recorders())...)
	caller := d.account()
	d.scene(caller)
	d.bay(caller)
	for i, c := range []struct{ first, same, other string }{
		{`{"sceneFile":"scene"}`,
			`{"sceneFile":"scene","jobType":"render","frameStep":1,"recovery":{"mode":"standard"},"priority":1}`,
			`{"sceneFile":"scene","outputFormat":"PNG"}`},
		{`{"sceneFile":"scene","frameStart":1,"frameEnd":9}`, `{"sceneFile":"scene","frameStart":1,"frameEnd":9,"frameStep":1.0}`,
			`{"sceneFile":"scene","frameStart":1,"frameEnd":9,"frameStep":2}`},
		{`{"sceneFile":"scene","jobType":"molecular","metadata":{"a":1,"fps":24}}`,
			`{"metadata":{"fps":24,"a":1},"sceneFile":"scene","jobType":"molecular"}`,
			`{"sceneFile":"scene","jobType":"molecular","metadata":{"a":2,"fps":24}}`},
		{`{"sceneFile":"scene","jobType":"simulation","simulator":"fpocket"}`,
			`{"sceneFile":"scene","jobType":"simulation","simulator":"F Pocket","simulationParams":{"maxPockets":10}}`,
			`{"sceneFile":"scene","jobType":"simulation","simulator":"fpocket","simulationParams":{"maxPockets":9}}`},
		{`{"sceneFile":"scene","jobType":"simulation","simulator":"vina"}`,
			`{"sceneFile":"scene","jobType":"simulation","simulator":"autodock-vina","simulationParams":{"dockingExecution":{},"receptorPreparation":{"forceField":"AMBER"}}}`, `{"sceneFile":"scene","jobType":"simulation","simulator":"vina","simulationParams":{"dockingExecution":{"shardSize":2}}}`},
		{`{"sceneFile":"bay","jobType":"simulation","simulator":"swan"}`,
			`{"sceneFile":"bay","jobType":"simulation","simulator":"swan","simulationParams":{}}`,
			`{"sceneFile":"bay","jobType":"simulation","simulator":"swan","taskCount":2}`},
	} {
		key := "idempotency-" + string(rune('a'+i))
		answers := make([]contract.SubmitResponse, 2)
		for n, body := range []string{c.first, c.same} {
			response, text := d.call(caller, http.MethodPost, "/v1/jobs/submit", body, "Idempotency-Key", key)
			if response.StatusCode != http.StatusOK {
				t.Fatalf("%s: got %d %s", body, response.StatusCode, text)
			}
			if err := json.Unmarshal([]byte(text), &answers[n]); err != nil {
				t.Fatal(err)
			}
		}
		if answers[0].JobID != answers[1].JobID || answers[0].IdempotentReplay || !answers[1].IdempotentReplay {
			t.Errorf("%s and %s: got %+v, want the same job", c.first, c.same, answers)
		}
		_, err := d.Submit(access.With(t.Context(), caller), caller, key, request(t, c.other))
		wantFault(t, c.other, err, fault.IdempotencyKeyReused, "")
	}
}

// TestRefusedAtTheDoor sends what the schema lets through and a rule does not.
func TestRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	d := openWith(t, false, listOf(recorders())...)
	caller := d.account()
	d.scene(caller)
	for _, c := range []struct {
		body  string
		code  fault.Code
		place string
	}{
		{`{"jobType":"pipeline"}`, fault.PipelineDisabled, "jobType: "},
		{`{}`, fault.Validation, "sceneFile: "},
		{`{"sceneFile":"scene","jobType":"molecular","frameStart":1}`, fault.Validation, "frameStart: is for render jobs only"},
		{`{"sceneFile":"scene","simulator":"vina"}`, fault.Validation, "simulator: is for simulation jobs only"},
		{`{"sceneFile":"scene","frameStart":3,"frameEnd":2}`, fault.Validation, "frameEnd: "},
		{`{"sceneFile":"scene","jobType":"simulation","simulator":"swan","taskCount":20001}`, fault.Validation,
			"taskCount: at most 20000"},
		{`{"sceneFile":"scene","jobType":"molecular","metadata":{"resolution":"1x1"}}`, fault.Validation, "metadata.resolution: "},
		{`{"sceneFile":"scene","jobType":"simulation","simulator":"openmm"}`, fault.Validation,
			"simulationParams.openmmRequest: is missing"},
		{`{"sceneFile":"scene","jobType":"simulation","simulator":"blast"}`, fault.UnsupportedSimulator, "simulator: "},
	} {
		_, err := d.Submit(access.With(t.Context(), caller), caller, "", request(t, c.body))
		wantFault(t, c.body, err, c.code, c.place)
	}
	// An estimate ignores what does not apply, and bounds what does.
	if _, err := d.Estimate(access.With(t.Context(), caller), caller.AccountID,
		EstimateRequest{FrameStart: ref(int64(1)), FrameEnd: ref(int64(100)), Simulator: "vina"}); err != nil {
		t.Errorf("got %v, want accepted", err)
	}
	_, err := d.Estimate(access.With(t.Context(), caller), caller.AccountID,
		EstimateRequest{FrameStart: ref(int64(1)), FrameEnd: ref(int64(0))})
	wantFault(t, "estimate", err, fault.Validation, "frameEnd: ")
}
