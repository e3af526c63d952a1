package esmfold

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/internal/fasta"
)

// foldParams are the parameters of a shard that folds, as fold.py reads them.
type foldParams struct {
	Program   string          `json:"program"`
	Sequences []fold.Sequence `json:"sequences"`
	Recycles  int             `json:"recycles"`
	Seed      int64           `json:"seed"`
	Device    string          `json:"device"`
	Chunk     chunkParams     `json:"chunk"`
	Memory    fold.Memory     `json:"memory"`
	Weights   fold.Weights    `json:"weights"`
}

type chunkParams struct {
	AboveTokens int `json:"aboveTokens"`
	Size        int `json:"size"`
}

// settings are what the provenance says of the model beside what all models have.
type settings struct {
	Chunk chunkParams `json:"chunk"`
}

// Plan gives the shards that fold, and the one that reports.
func (e ESMFold) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	seconds := func(one fold.Sequence) float64 { return q.foldSeconds(fasta.Tokens(one.Chains)) }
	return e.PlanShards(r, q.Request, nil, seconds, q.work, fold.Report{
		Predictor: title, Recycles: recycles, Settings: settings{chunkParams{chunkAboveTokens, chunkSize}},
		Citations: citations(),
	})
}

// work is what folding these proteins in one process takes.
func (q request) work(part []fold.Sequence) fold.Work {
	longest, seconds, device := 0, q.openSeconds(), gpuStartSeconds+q.openSeconds()
	for _, one := range part {
		count := fasta.Tokens(one.Chains)
		longest = max(longest, count)
		seconds += q.foldSeconds(count)
		device += q.deviceSeconds(count)
	}
	done := fold.Work{CPUSeconds: seconds, Params: foldParams{
		Program: programFold, Sequences: part, Recycles: recycles, Seed: q.Seed, Device: q.Device,
		Chunk: chunkParams{chunkAboveTokens, chunkSize}, Memory: q.memory(longest), Weights: fold.WeightsOf(q.Weights),
	}}
	if q.Device == fold.DeviceCUDA {
		done.CPUSeconds, done.GPUSeconds = device, device
	}
	done.Needs = q.foldNeeds(part, done.CPUSeconds)
	return done
}
