package vina

import (
	"encoding/json"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

func TestDepict(t *testing.T) {
	t.Parallel()
	for _, jobType := range []string{engines.JobTypeSimulation, engines.JobTypePipeline} {
		request := requestFor(params(library(smiles("a", "CCO"), smiles("b", "CCN"))))
		request.JobType = jobType
		plan, err := New().Plan(request)
		if err != nil {
			t.Fatal(err)
		}
		last := plan[len(plan)-1]
		var asked struct{ Depicted bool }
		if err := json.Unmarshal(last.Params, &asked); err != nil {
			t.Fatal(err)
		}
		if asked.Depicted != (jobType == engines.JobTypePipeline) {
			t.Errorf("of a %s job the ranking is told depicted = %t", jobType, asked.Depicted)
		}
		depiction, err := New().Depict(request, plan)
		if err != nil || depiction.File.Shard != last.Name || len(depiction.Scene.States) != 1 {
			t.Errorf("got %+v (%v), want one state from %s", depiction, err, last.Name)
		}
	}
}
