package esmfold

import (
	"fmt"

	"github.com/molfabric/molfabric/engines"
)

// Canonical simulator ids of doc/contract.md §1, which are the values of foldModel too. This build has no engine for the second.
const (
	ID          = "esmfold"
	IDAlphaFold = "alphafold"
)

// Params are the members of simulationParams that a structure prediction reads (doc/contract.md §2.2). The API embeds the struct,
// so its tags are the rules of the public contract. The seed is the member that every simulator shares.
type Params struct {
	Model *string `json:"foldModel,omitempty" enum:"esmfold,alphafold" doc:"The model that predicts; must be the simulator's own, and may be left out."`
}

// Check applies the rule that no schema can state to a prediction with the simulator ID or IDAlphaFold. It returns an
// *engines.InvalidError.
func (p Params) Check(simulator string) error {
	if p.Model == nil || *p.Model == simulator {
		return nil
	}
	return invalid("foldModel", "is %s, but the simulator is %s; make them the same or leave foldModel out", *p.Model, simulator)
}

func invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}
