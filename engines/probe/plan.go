package probe

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/molfabric/molfabric/engines"
)

const (
	stageProbe  = "probe"
	stageGather = "gather"
	outputFile  = "output.bin"
	proofFile   = "probe.txt"
	programFile = "program/probe.sh"

	// failStatus is the exit status of a task that was told to fail.
	failStatus = 64
	// maxProofBytes bounds probe.txt: a name and a number.
	maxProofBytes = 256
)

// Caps of a task: small, so that a job can go beyond each of them.
const (
	memoryBytes  = gibibyte / 2
	fileBytes    = gibibyte
	maxLogBytes  = 64 << 10
	maxProcesses = 32
	timeLimit    = 2 * time.Hour
)

// startCPUSeconds is what the shell takes.
const startCPUSeconds = 0.02

// taskParams are the parameters of a shard.
type taskParams struct {
	Seconds     float64              `json:"seconds,omitempty"`
	CPUSeconds  int64                `json:"cpuSeconds,omitempty"`
	MemoryBytes int64                `json:"memoryBytes,omitempty"`
	OutputBytes int64                `json:"outputBytes,omitempty"`
	Fails       engines.FailureClass `json:"fails,omitempty"`
}

// Plan gives one shard a task, and one that gathers.
func (Probe) Plan(r engines.Request) ([]engines.Shard, error) {
	o, err := parse(r.Parameters)
	if err != nil {
		return nil, err
	}
	var shards []engines.Shard
	for i := int64(1); i <= o.tasks; i++ {
		p := taskParams{Seconds: o.seconds, CPUSeconds: o.cpuSeconds, MemoryBytes: o.memoryBytes, OutputBytes: o.outputBytes}
		if o.failEvery > 0 && i%o.failEvery == 0 {
			p.Fails = o.failClass
		}
		shard, err := newShard(stageProbe, 0, fmt.Sprintf("probe-%05d", i), p)
		if err != nil {
			return nil, err
		}
		shard.Essential = i == 1 // so that a job can fail as a whole, and go on without any other task
		shards = append(shards, shard)
	}
	if !o.gather {
		return shards, nil
	}
	last, err := newShard(stageGather, 1, stageGather, taskParams{OutputBytes: o.outputBytes})
	if err != nil {
		return nil, err
	}
	last.Inputs = []engines.Input{{Name: stageProbe, From: &engines.From{Stage: stageProbe, Output: outputFile}}}
	last.Essential = true
	return append(shards, last), nil
}

// newShard is a task with the caps of all.
func newShard(stage string, index int, name string, p taskParams) (engines.Shard, error) {
	params, err := json.Marshal(p)
	if err != nil {
		return engines.Shard{}, fmt.Errorf("probe: writing the parameters of shard %s: %w", name, err)
	}
	return engines.Shard{
		Stage: stage, StageIndex: index, Name: name, Params: params, Items: 1,
		Needs: engines.Resources{CPUs: 1, MemoryBytes: memoryBytes, FileBytes: fileBytes, Processes: maxProcesses,
			TimeLimit: timeLimit, MaxLogBytes: maxLogBytes, ScratchBytes: fileBytes},
		ExpectedCPUSeconds: startCPUSeconds + float64(p.CPUSeconds),
	}, nil
}
