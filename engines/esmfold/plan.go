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
	Memory    memoryOf        `json:"memory"`
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

// Plan gives the shards that fold, and the one that reports. A shard that folds is not essential: when one fails, the proteins of
// the others still have results.
func (ESMFold) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	folded, refused := q.Sequences()
	parts := q.Parts(folded, func(one fold.Sequence) float64 { return q.foldSeconds(fasta.Tokens(one.Chains)) }, shardTargetSeconds)
	shards := make([]engines.Shard, 0, len(parts)+1)
	for i, part := range parts {
		shard, err := q.foldShard(i+1, part)
		if err != nil {
			return nil, err
		}
		shards = append(shards, shard)
	}
	report, err := q.ReportShard(r, fold.Report{
		StageIndex: 1, Predictor: title, Engine: ID, Parts: parts, Folded: folded, Refused: refused, Recycles: recycles,
		Settings: settings{chunkParams{chunkAboveTokens, chunkSize}}, Citations: citations(),
	})
	if err != nil {
		return nil, err
	}
	return append(shards, report), nil
}

func (q request) foldShard(number int, part []fold.Sequence) (engines.Shard, error) {
	longest, work, device := 0, q.openSeconds(), gpuStartSeconds
	for _, one := range part {
		count := fasta.Tokens(one.Chains)
		longest = max(longest, count)
		work += q.foldSeconds(count)
		device += q.deviceSeconds(count)
	}
	expected := work
	shard := engines.Shard{Stage: fold.StageFold, StageIndex: 0, Name: fold.ShardName(number), Items: len(part),
		Inputs: fold.WeightsInputs(q.Weights)}
	if q.Device == fold.DeviceCUDA {
		expected = device + q.openSeconds()
		shard.ExpectedGPUSeconds = fold.Round(expected)
	}
	shard.ExpectedCPUSeconds = fold.Round(expected)
	shard.Needs = q.foldNeeds(part, expected)
	var err error
	shard.Params, err = fold.Raw(foldParams{
		Program: programFold, Sequences: part, Recycles: recycles, Seed: q.Seed, Device: q.Device,
		Chunk: chunkParams{chunkAboveTokens, chunkSize}, Memory: q.memory(longest), Weights: fold.WeightsOf(q.Weights),
	})
	return shard, err
}
