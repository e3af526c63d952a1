package fpocket

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/molfabric/molfabric/engines"
)

const (
	stageFind      = "find"
	shardPockets   = "pockets"
	inputStructure = "structure"
)

// Cost model, measured on one core of a 2-core server: 1UYD (1,672 heavy atoms) 1 s with either program, of which Python is half;
// 39,480 heavy atoms 97 s with fpocket 4.0 and 10 s with fpocket-rs 0.1.0. Both grow with the square of the atoms.
const (
	startCPUSeconds          = 1.0
	cpuSecondsPerAtomSquared = 6.2e-8
	bytesPerAtom             = 81.0 // a line of a PDB file
	mostAtoms                = 99_999.0
)

// Caps of the shard. Time allows for nearly six times what the model says of the largest structure. Of 98,700 atoms fpocket-rs took
// 79 s and 250 MB; the rest of the memory is for files with many hydrogens and waters, which are read before they are left out.
const (
	mebibyte     = 1 << 20
	gibibyte     = 1 << 30
	timeLimit    = time.Hour
	memoryBytes  = 4 * gibibyte
	fileBytes    = 256 * mebibyte
	maxLogBytes  = mebibyte
	maxProcesses = 32 // Python, fpocket, and the shell through which fpocket makes its folders
)

// findParams are the parameters of the shard, which its Python program reads as request.json.
type findParams struct {
	MaxPockets int                `json:"maxPockets"`
	Citations  []engines.Citation `json:"citations"`
}

// Plan gives the one shard of a request.
func (Fpocket) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(findParams{MaxPockets: q.maxPockets, Citations: citations()})
	if err != nil {
		return nil, fmt.Errorf("fpocket: writing the parameters of shard %s: %w", shardPockets, err)
	}
	return []engines.Shard{{
		Stage: stageFind, StageIndex: 0, Name: shardPockets, Params: params, Essential: true, Items: 1,
		Inputs: []engines.Input{{Name: inputStructure, Object: &q.structure}},
		Needs: engines.Resources{
			CPUs: 1, MemoryBytes: memoryBytes, FileBytes: fileBytes, Processes: maxProcesses, TimeLimit: timeLimit,
			MaxLogBytes: maxLogBytes, ScratchBytes: fileBytes,
		},
		ExpectedCPUSeconds: expectedCPUSeconds(q.structure.ByteSize),
	}}, nil
}

// expectedCPUSeconds guesses from the size of the file, which has at most an atom a line.
func expectedCPUSeconds(byteSize int64) float64 {
	atoms := math.Min(float64(byteSize)/bytesPerAtom, mostAtoms)
	return math.Round((startCPUSeconds+cpuSecondsPerAtomSquared*atoms*atoms)*10) / 10
}
