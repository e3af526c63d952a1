package probe_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/enginestest"
	"github.com/molfabric/molfabric/engines/probe"
)

func request(parameters map[string]string) engines.Request {
	return engines.Request{JobID: "job_probe", JobType: engines.JobTypeSimulation,
		SceneFile: engines.Object{StorageKey: "any", ByteSize: 1}, Parameters: parameters}
}

func TestEngine(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "any")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	var refused []enginestest.RefusedCase
	for name, wrong := range map[string]string{"Tasks": "20000", "Seconds": "NaN", "CPUSeconds": "0.5", "MemoryBytes": "-1",
		"OutputBytes": "1e3",
		"FailEvery":   "often", "FailClass": "SYSTEM", "Gather": "true", "Speed": "1"} {
		refused = append(refused, enginestest.RefusedCase{Name: name, Request: request(map[string]string{name: wrong}),
			Field: "parameters." + name})
	}
	enginestest.Run(t, probe.New(), enginestest.Cases{
		Plans: []enginestest.PlanCase{
			{Name: "default", Request: request(nil), Golden: true},
			{Name: "gathered", Request: request(map[string]string{"Tasks": "3", "OutputBytes": "100", "Seconds": "0.5",
				"FailEvery": "2", "FailClass": "USER_INPUT", "Gather": "true"}), Golden: true},
			{Name: "most", Request: request(map[string]string{"Tasks": "19999", "CPUSeconds": "1"})},
		},
		Refused: refused,
		Live: []enginestest.LiveCase{{
			Name: "everything", Objects: map[string]string{"any": file},
			Request: request(map[string]string{"Tasks": "2", "Seconds": "0.01", "CPUSeconds": "1", "MemoryBytes": "1000000",
				"OutputBytes": "5000", "Gather": "true"}),
		}},
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	shards, err := probe.New().Plan(request(map[string]string{"FailEvery": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	if failure := probe.New().Explain(shards[0], "", 64, ""); failure == nil || failure.Class != engines.Executor {
		t.Errorf("the failure that was asked for is %+v, want one of the class %s", failure, engines.Executor)
	}
	if failure := probe.New().Explain(shards[0], "", 1, ""); failure != nil {
		t.Errorf("another failure is explained as %+v, want nothing", failure)
	}
}
