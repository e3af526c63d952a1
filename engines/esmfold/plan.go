package esmfold

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/fasta"
)

// Stages, and the name of the one shard that reports.
const (
	stageFold   = "fold"
	stageReport = "report"
	shardReport = "report"

	inputScores  = "scores"
	inputWeights = "weights"
)

// What follows a sequence's file name in the names of its outputs.
const (
	pdbSuffix    = ".pdb"
	cifSuffix    = ".cif"
	scoresSuffix = ".scores.json"
)

// foldSequence is a protein as fold.py and report.py read it.
type foldSequence struct {
	Name   string   `json:"name"`
	File   string   `json:"file"` // what its outputs are called, without what follows
	Chains []string `json:"chains"`
}

// foldParams are the parameters of a shard that folds, as fold.py reads them.
type foldParams struct {
	Program   string         `json:"program"`
	Sequences []foldSequence `json:"sequences"`
	Recycles  int            `json:"recycles"`
	Seed      int64          `json:"seed"`
	Device    string         `json:"device"`
	Chunk     chunkParams    `json:"chunk"`
	Memory    memoryOf       `json:"memory"`
	Weights   weightsParams  `json:"weights"`
}

type chunkParams struct {
	AboveTokens int `json:"aboveTokens"`
	Size        int `json:"size"`
}

type weightsParams struct {
	Model         string `json:"model"`
	Digest        string `json:"digest"` // lower-case hex SHA-256 of all files
	Licence       string `json:"licence"`
	CommercialUse bool   `json:"commercialUse"`
	Trained       bool   `json:"trained"`
}

// refusedSequence is a record that cannot be folded, and why.
type refusedSequence struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// reportParams are the parameters of the shard that reports, as report.py reads them.
type reportParams struct {
	Program    string             `json:"program"`
	Title      string             `json:"title"`
	Sequences  []foldSequence     `json:"sequences"` // in the order of the FASTA
	Refused    []refusedSequence  `json:"refused"`
	Recycles   int                `json:"recycles"`
	Seed       int64              `json:"seed"`
	Device     string             `json:"device"`
	Chunk      chunkParams        `json:"chunk"`
	InputSHA   string             `json:"inputSha256"`
	Weights    weightsParams      `json:"weights"`
	Citations  []engines.Citation `json:"citations"`
	MostTokens int                `json:"mostTokens"`
}

// Plan gives the shards that fold, and the one that reports. A shard that folds is not essential: when one fails, the proteins of
// the others still have results.
func (ESMFold) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	folded, refused := q.sequences()
	parts := q.parts(folded)
	shards := make([]engines.Shard, 0, len(parts)+1)
	for i, part := range parts {
		shard, err := q.foldShard(i+1, part)
		if err != nil {
			return nil, err
		}
		shards = append(shards, shard)
	}
	report, err := q.reportShard(r, parts, folded, refused)
	if err != nil {
		return nil, err
	}
	return append(shards, report), nil
}

// sequences parts what is folded from what is not, both in the order of the file.
func (q request) sequences() (folded []foldSequence, refused []refusedSequence) {
	refused = []refusedSequence{}
	for i, one := range q.judged {
		if one.Reason != "" {
			refused = append(refused, refusedSequence{one.Name, one.Reason})
			continue
		}
		folded = append(folded, foldSequence{Name: one.Name, File: fileOf(i, one.Name), Chains: one.Chains})
	}
	return folded, refused
}

// parts cuts the proteins, the shortest first, into those of one process each: so many as the caller asks for, of like work, or
// else as many as keep a process busy for about an hour.
func (q request) parts(folded []foldSequence) [][]foldSequence {
	sorted := slices.Clone(folded)
	slices.SortStableFunc(sorted, func(a, b foldSequence) int {
		return cmp.Or(cmp.Compare(fasta.Tokens(a.Chains), fasta.Tokens(b.Chains)), strings.Compare(a.File, b.File))
	})
	if q.taskCount > 0 {
		return dealt(sorted, max(min(q.taskCount, len(sorted)), (len(sorted)+maxShardSequences-1)/maxShardSequences))
	}
	var parts [][]foldSequence
	spent := 0.0
	for i, one := range sorted {
		seconds := q.foldSeconds(fasta.Tokens(one.Chains))
		if last := len(parts) - 1; i > 0 && spent+seconds <= shardTargetSeconds && len(parts[last]) < maxShardSequences {
			parts[last] = append(parts[last], one)
			spent += seconds
			continue
		}
		parts, spent = append(parts, []foldSequence{one}), seconds
	}
	return parts
}

// dealt deals proteins out like cards, so that every part has short and long ones.
func dealt(sorted []foldSequence, count int) [][]foldSequence {
	parts := make([][]foldSequence, count)
	for i, one := range sorted {
		parts[i%count] = append(parts[i%count], one)
	}
	return parts
}

func (q request) foldShard(number int, part []foldSequence) (engines.Shard, error) {
	longest, work, device := 0, q.openSeconds(), gpuStartSeconds
	for _, one := range part {
		count := fasta.Tokens(one.Chains)
		longest = max(longest, count)
		work += q.foldSeconds(count)
		device += q.deviceSeconds(count)
	}
	expected := work
	shard := engines.Shard{Stage: stageFold, StageIndex: 0, Name: fmt.Sprintf("fold-%03d", number), Items: len(part),
		Inputs: q.weightsInputs()}
	if q.device == deviceCUDA {
		expected = device + q.openSeconds()
		shard.ExpectedGPUSeconds = round(expected)
	}
	shard.ExpectedCPUSeconds = round(expected)
	shard.Needs = q.foldNeeds(part, expected)
	var err error
	shard.Params, err = raw(foldParams{
		Program: programFold, Sequences: part, Recycles: recycles, Seed: q.seed, Device: q.device,
		Chunk: chunkParams{chunkAboveTokens, chunkSize}, Memory: q.memory(longest), Weights: q.weightsParams(),
	})
	return shard, err
}

func (q request) weightsInputs() []engines.Input {
	inputs := make([]engines.Input, 0, len(q.weights.Files))
	for _, name := range slices.Sorted(maps.Keys(q.weights.Files)) {
		object := q.weights.Files[name]
		inputs = append(inputs, engines.Input{Name: inputWeights + "/" + name, Object: &object})
	}
	return inputs
}

func (q request) weightsParams() weightsParams {
	return weightsParams{q.weights.Model, q.weights.Digest, q.weights.Licence, q.weights.CommercialUse, q.weights.Trained}
}

func (q request) reportShard(
	r engines.Request, parts [][]foldSequence, folded []foldSequence, refused []refusedSequence,
) (engines.Shard, error) {
	shard := engines.Shard{Stage: stageReport, StageIndex: 1, Name: shardReport, Essential: true, Items: len(folded)}
	expected := reportStartCPUSeconds
	for i, part := range parts {
		for _, one := range part {
			count := float64(fasta.Tokens(one.Chains))
			expected += reportCPUSecondsPerProtein + reportSecondsPerPair*count*count
			for _, suffix := range []string{scoresSuffix, cifSuffix} {
				name := one.File + suffix
				shard.Inputs = append(shard.Inputs, engines.Input{Name: inputScores + "/" + name, From: &engines.From{
					Stage: stageFold, Shard: fmt.Sprintf("fold-%03d", i+1), Output: name, Optional: true}})
			}
		}
	}
	// The rows of the table are what the shards that succeeded have left.
	shard.Inputs = append(shard.Inputs, engines.Input{Name: "rows", From: &engines.From{Stage: stageFold, Output: rowsFile}})
	shard.ExpectedCPUSeconds = round(expected)
	shard.Needs = reportNeeds(folded, expected)
	var err error
	shard.Params, err = raw(reportParams{
		Program: programReport, Title: r.JobName, Sequences: folded, Refused: refused, Recycles: recycles, Seed: q.seed,
		Device: q.device, Chunk: chunkParams{chunkAboveTokens, chunkSize}, InputSHA: r.SceneFile.SHA256, Weights: q.weightsParams(),
		Citations: citations(), MostTokens: q.mostTokens(),
	})
	return shard, err
}
