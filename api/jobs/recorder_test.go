package jobs

import (
	"encoding/json"
	"sync"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/all"
	"github.com/molfabric/molfabric/engines/openmm"
)

// recorder is an engine that keeps the last request it was given. It plans as the engine in it, or one shard from any request.
type recorder struct {
	engines.Engine
	spec engines.Spec

	mu   sync.Mutex
	last engines.Request
}

func (r *recorder) Spec() engines.Spec { return r.spec }

func (r *recorder) Foretell(request engines.Request) (json.RawMessage, error) {
	if forecaster, ok := r.Engine.(engines.Forecaster); ok {
		return forecaster.Foretell(request)
	}
	return nil, nil
}

// Wants is what the engine in it wants, or else the engine of this build that has its id.
func (r *recorder) Wants(request engines.Request) (engines.Wants, error) {
	engine := r.Engine
	if engine == nil {
		engine, _ = all.Registry().Lookup(r.spec.ID)
	}
	if wanter, ok := engine.(engines.Wanter); ok {
		return wanter.Wants(request)
	}
	return engines.Wants{}, nil
}

func (r *recorder) Plan(request engines.Request) ([]engines.Shard, error) {
	r.mu.Lock()
	r.last = request
	r.mu.Unlock()
	if r.spec.ID == openmm.ID {
		var params openmm.Params
		if err := json.Unmarshal(request.Params, &params); err != nil {
			return nil, err
		}
		if err := params.Check(); err != nil {
			return nil, err
		}
	}
	if r.Engine != nil {
		return r.Engine.Plan(request)
	}
	return []engines.Shard{{Stage: "run", Name: "run", Params: json.RawMessage(`{}`), Essential: true, Items: 1,
		ExpectedCPUSeconds: 1}}, nil
}

// Depict draws what the last shard leaves.
func (r *recorder) Depict(_ engines.Request, plan []engines.Shard) (engines.Depiction, error) {
	last := plan[len(plan)-1]
	return engines.Depiction{Scene: engines.Scene{Format: "pdb", States: make([]engines.SceneState, 1)},
		File: engines.From{Stage: last.Stage, Shard: last.Name, Output: "made.pdb"}}, nil
}

func (r *recorder) request() engines.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// recorders are an engine for every canonical simulator and every other job type, by id.
func recorders() map[string]*recorder {
	list := map[string]*recorder{}
	for _, s := range engines.Simulators {
		list[s.ID] = &recorder{spec: engines.Spec{ID: s.ID, Aliases: s.Aliases, Hardware: "cpu"}}
	}
	list["molstar"] = &recorder{spec: engines.Spec{ID: "molstar", Hardware: "cpu", JobTypes: []string{engines.JobTypeMolecular}}}
	list["cycles"] = &recorder{spec: engines.Spec{ID: "cycles", Hardware: "cpu",
		JobTypes: []string{engines.JobTypeMolecular, engines.JobTypeRender}}}
	return list
}

func listOf(all map[string]*recorder) []engines.Engine {
	var list []engines.Engine
	for _, r := range all {
		list = append(list, r)
	}
	return list
}

func registryOf(list ...engines.Engine) *engines.Registry { return engines.NewRegistry(list...) }
