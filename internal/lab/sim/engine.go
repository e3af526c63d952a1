package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/engines"
)

// engineID is that of a priced engine; its program is never run.
const engineID = "autodock-vina"

// The queues of the engine.
const (
	cpuQueue = "cpu." + engineID
	gpuQueue = "gpu." + engineID
)

// planLimit is more than any hold of a history pays for.
const planLimit = 1000 * time.Hour

// threeStages plans like docking does: one essential preparation, with companions that are not, then n shards, each on so many
// devices, then one essential ranking.
type threeStages struct{}

var _ engines.Engine = threeStages{}

// Spec implements engines.Engine.
func (threeStages) Spec() engines.Spec {
	return engines.Spec{ID: engineID, Title: "three stages", Hardware: engines.HardwareCPU, GPU: true}
}

// size is what a job asks for.
type size struct {
	Shards     int `json:"shards"`
	Companions int `json:"companions"`
	GPUs       int `json:"gpus"`
}

// Plan implements engines.Engine.
func (threeStages) Plan(r engines.Request) ([]engines.Shard, error) {
	var asked size
	if err := json.Unmarshal(r.Params, &asked); err != nil {
		return nil, fmt.Errorf("read parameters: %w", err)
	}
	shard := func(stage string, index int, name string, essential bool, inputs ...engines.Input) engines.Shard {
		return engines.Shard{Stage: stage, StageIndex: index, Name: name, Params: json.RawMessage(`{}`), Inputs: inputs,
			Essential: essential, Preparation: index == 0, Items: 1, ExpectedCPUSeconds: 60,
			Needs: engines.Resources{CPUs: 1, TimeLimit: planLimit}}
	}
	plan := []engines.Shard{shard("prepare", 0, "receptor", true, engines.Input{Name: "scene", Object: &r.SceneFile})}
	for i := range asked.Companions {
		plan = append(plan, shard("prepare", 0, fmt.Sprintf("companion-%d", i), false))
	}
	prepared := engines.Input{Name: "receptor", From: &engines.From{Stage: "prepare", Shard: "receptor", Output: "out"}}
	for i := range asked.Shards {
		dock := shard("dock", 1, fmt.Sprintf("dock-%d", i), false, prepared)
		dock.Needs.GPUs, dock.ExpectedGPUSeconds = asked.GPUs, float64(60*asked.GPUs)
		plan = append(plan, dock)
	}
	poses := engines.Input{Name: "poses", From: &engines.From{Stage: "dock", Output: "out"}}
	return append(plan, shard("rank", 2, "rank", true, poses)), nil
}

// Command implements engines.Engine.
func (threeStages) Command(engines.Shard, engines.Dir) (engines.Command, error) {
	return engines.Command{}, nil
}

// Collect implements engines.Engine.
func (threeStages) Collect(engines.Shard, engines.Dir) (engines.Result, error) {
	return engines.Result{}, nil
}
