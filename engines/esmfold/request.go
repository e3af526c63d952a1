package esmfold

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
)

// recycles are the passes after the first: with four passes in all the model was trained, and its authors run it.
const recycles = 3

// request is a request with its sequences judged.
type request struct{ fold.Request }

func resolve(r engines.Request) (request, error) {
	q, err := fold.Resolve(r, ID)
	return request{q}, err
}
