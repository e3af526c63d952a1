package esmfold

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/internal/fasta"
)

// Cost model. With random weights on one core of a busy machine: of 0.4 million parameters four passes took 0.64 CPU seconds of 50
// residues, 2.98 of 100 and 15.1 of 200 (torch 1.13); of true size (48 blocks) one pass took 4.3 of 50 and 16.2 of 100, and two of
// 36 layers of the language model 0.5 of 100 (torch 2.15). On an H200 four passes of true size took 1.7 s of 100 residues, 4.4 of
// 400 and 22.5 of 800, in chunks of 64 (torch 2.11); older devices take several times that.
const (
	startCPUSeconds           = 6.0
	passSecondsPerSquareToken = 1e-4   // of a pass, whatever the size of the model
	trueSecondsPerSquareToken = 1.6e-3 // of a pass, by the share of trueBytes
	languageSecondsPerToken   = 0.09   // once a protein, by the same share
	loadSecondsPerGB          = 2.0
	gpuStartSeconds           = 20.0
	gpuSecondsPerSquareToken  = 1e-5 // of a pass
	gpuSecondsPerToken        = 2e-3 // of a pass
	trueBytes                 = 8.44e9
)

// Memory. Random weights of 0.4 million parameters took 274 MB of 50 residues and 389 MB of 200; a trunk of true size 3.69 GB of 50
// and 3.82 of 100, which is 17 kB for each pair. A language model in half precision takes twice its file on a CPU, and while it is
// read both are held.
const (
	kibibyte          = 1 << 10
	mebibyte          = 1 << 20
	gibibyte          = 1 << 30
	baseBytes         = gibibyte
	weightsFactor     = 2.7
	deviceFactor      = 1.2
	bytesPerSquare    = 20 * kibibyte
	maxLogBytes       = 4 * mebibyte
	maxProcesses      = 64
	bytesPerPair      = 8     // of scores.json
	bytesPerResidue   = 2_000 // of the structure files
	sequenceFileBytes = 4 * mebibyte
)

// Chunks bound the memory of the trunk's attention: above so many tokens it takes so many rows at once.
const (
	chunkAboveTokens = 128
	chunkSize        = 64
)

// share is the model's size by that of esmfold_v1.
func (q request) share() float64 { return float64(q.Weights.Bytes) / trueBytes }

// foldSeconds is the processor time of one protein without opening the model.
func (q request) foldSeconds(tokens int) float64 {
	square := float64(tokens * tokens)
	return (recycles+1)*square*(passSecondsPerSquareToken+trueSecondsPerSquareToken*q.share()) +
		languageSecondsPerToken*q.share()*float64(tokens)
}

// deviceSeconds is the time of one protein on a device.
func (q request) deviceSeconds(tokens int) float64 {
	return (recycles + 1) * (gpuSecondsPerSquareToken*float64(tokens*tokens) + gpuSecondsPerToken*float64(tokens))
}

// openSeconds is what a process needs before it folds.
func (q request) openSeconds() float64 {
	return startCPUSeconds + loadSecondsPerGB*float64(q.Weights.Bytes)/1e9
}

// memory is that of a process whose longest protein has so many tokens, on the device that computes.
func (q request) memory(tokens int) fold.Memory {
	factor := weightsFactor
	if q.Device == fold.DeviceCUDA {
		factor = deviceFactor
	}
	return fold.MemoryOf(baseBytes+int64(factor*float64(q.Weights.Bytes)), bytesPerSquare, tokens)
}

// foldNeeds are those of a shard that folds these proteins.
func (q request) foldNeeds(part []fold.Sequence, expected float64) engines.Resources {
	longest, written := 0, int64(0)
	for _, one := range part {
		count := fasta.Tokens(one.Chains)
		longest = max(longest, count)
		written += sequenceFileBytes + bytesPerPair*int64(count*count) + bytesPerResidue*int64(count)
	}
	needs := engines.Resources{
		CPUs: 1, MemoryBytes: q.memory(longest).CapBytes, FileBytes: 256 * mebibyte, Processes: maxProcesses,
		TimeLimit: fold.Limit(expected), MaxLogBytes: maxLogBytes, ScratchBytes: 2*written + gibibyte, // results and saves
	}
	if q.Device == fold.DeviceCUDA {
		needs.GPUs, needs.GPUMemoryBytes = 1, needs.MemoryBytes
		needs.MemoryBytes = baseBytes + 4*gibibyte + int64(weightsFactor*float64(q.Weights.Bytes))
	}
	return needs
}
