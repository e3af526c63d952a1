package alphafold

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
)

// Cost model. With random weights of true size on one core of a busy machine a cold run with two passes took 35 CPU seconds of 22
// residues and 140 of 176; of 2 Evoformer blocks one took 27, of which 24 compiled. Devices have not been measured: their figures
// are guesses from the language model's, and a multiple of them is the limit.
const (
	startCPUSeconds              = 10.0
	compileCPUSeconds            = 25.0   // once for each length
	passSecondsPerSquare         = 1e-4   // of residues, whatever the size of the model
	trueSecondsPerSquare         = 1.8e-3 // by the share of trueBytes
	relaxSecondsPerResidue       = 0.5
	templateCPUSeconds           = 4.0  // of one template: reading it, and its part of a search
	trueSecondsPerAligned        = 6e-3 // of a residue of a row of the alignment, by the share of trueBytes
	gpuStartSeconds              = 40.0
	gpuCompileSeconds            = 60.0
	gpuSecondsPerSquare          = 2e-5 // of a pass
	gpuSecondsPerResidue         = 4e-3 // of a pass
	gpuSecondsPerAligned         = 7e-5 // of a pass
	trueBytes                    = 1.86e9
	kibibyte                     = 1 << 10
	mebibyte                     = 1 << 20
	gibibyte                     = 1 << 30
	baseBytes                    = 2 * gibibyte
	weightsFactor                = 2
	bytesPerSquare               = 40 * kibibyte
	bytesPerAligned              = 6 * kibibyte
	usualRows                    = 512 // of an alignment, for a price that is quoted before it is made
	hostBytes                    = 6 * gibibyte
	maxLogBytes                  = 16 * mebibyte
	maxProcesses                 = 256 // XLA compiles in threads
	bytesPerPair                 = 8   // of scores.json
	bytesPerResidue              = 2_000
	sequenceFileBytes            = 4 * mebibyte
	maxFileBytes           int64 = 256 * mebibyte
)

// passes are those of all models and seeds for one protein.
func (q request) passes() float64 { return float64(q.models * q.seeds * (q.recycles + 1)) }

// foldSeconds is the processor time of one protein of so many residues without opening the models.
func (q request) foldSeconds(count int) float64 {
	share := float64(q.Weights.Bytes) / trueBytes
	seconds := compileCPUSeconds + q.passes()*float64(count*count)*(passSecondsPerSquare+trueSecondsPerSquare*share) +
		q.passes()*float64(count*q.rows())*trueSecondsPerAligned*share + templateCPUSeconds*float64(len(q.templates))
	if q.relax {
		seconds += relaxSecondsPerResidue * float64(count)
	}
	return seconds
}

// deviceSeconds is the time of one protein on a device.
func (q request) deviceSeconds(count int) float64 {
	seconds := gpuCompileSeconds + q.passes()*(gpuSecondsPerSquare*float64(count*count)+gpuSecondsPerResidue*float64(count)+
		gpuSecondsPerAligned*float64(count*q.rows())) + templateCPUSeconds*float64(len(q.templates))
	if q.relax {
		seconds += relaxSecondsPerResidue * float64(count)
	}
	return seconds
}

// memory is that of a process whose longest protein has so many residues, on the device that computes.
func (q request) memory(count int) fold.Memory {
	aligned := bytesPerAligned * int64(count) * int64(q.rows())
	return fold.MemoryOf(baseBytes+weightsFactor*q.Weights.Bytes+aligned, bytesPerSquare, count)
}

// rows is how many sequences beside the protein's own an alignment is expected to have.
func (q request) rows() int {
	if q.database == nil {
		return 0
	}
	return int(min(q.database.Sequences, usualRows))
}

// foldNeeds are those of a shard that folds these proteins.
func (q request) foldNeeds(part []fold.Sequence, expected float64) engines.Resources {
	longest, written := 0, int64(0)
	for _, one := range part {
		count := residues(one)
		longest = max(longest, count)
		written += int64(q.models*q.seeds) * (sequenceFileBytes + bytesPerPair*int64(count*count) + bytesPerResidue*int64(count))
	}
	needs := engines.Resources{
		CPUs: 1, MemoryBytes: q.memory(longest).CapBytes, FileBytes: maxFileBytes, Processes: maxProcesses,
		TimeLimit: fold.Limit(expected), MaxLogBytes: maxLogBytes,
		ScratchBytes: 3*written + gibibyte, // results, ColabFold's, saves
	}
	if q.Device == fold.DeviceCUDA {
		needs.GPUs, needs.GPUMemoryBytes = 1, needs.MemoryBytes
		needs.MemoryBytes = hostBytes + weightsFactor*q.Weights.Bytes
	}
	return needs
}
