package esmfold

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/internal/fasta"
)

// recycles are the passes after the first: with four passes in all the model was trained, and its authors run it.
const recycles = 3

// request is a request with its sequences judged.
type request struct{ fold.Request }

// Wants is what the FASTA holds, so that what cannot be folded is known before it costs anything, and the weights.
func (ESMFold) Wants(r engines.Request) (engines.Wants, error) { return fold.Wants(r, ID) }

// Typical completes a request that has no sequences.
func (ESMFold) Typical(r engines.Request) (engines.Request, string, error) { return fold.Typical(r) }

func resolve(r engines.Request) (request, error) {
	q, err := fold.Resolve(r, ID, fasta.MaxCPUTokens, fasta.MaxGPUTokens)
	return request{q}, err
}
