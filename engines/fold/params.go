// Package fold holds the parameter that the structure predictors esmfold and alphafold share. It runs nothing.
package fold

import (
	"fmt"

	"github.com/molfabric/molfabric/engines"
)

// Canonical simulator ids of doc/contract.md §1, which are the values of foldModel too.
const (
	IDESMFold   = "esmfold"
	IDAlphaFold = "alphafold"
)

// Params are the members of simulationParams that a structure prediction reads (doc/contract.md §2.2). The API embeds the struct,
// so its tags are the rules of the public contract.
type Params struct {
	Model *string `json:"foldModel,omitempty" enum:"esmfold,alphafold" doc:"The model that predicts; must be the simulator's own, and may be left out."`
}

// Check applies the rule that no schema can state to a prediction with the simulator IDESMFold or IDAlphaFold. It returns an
// *engines.InvalidError.
func (p Params) Check(simulator string) error {
	if p.Model == nil || *p.Model == simulator {
		return nil
	}
	return &engines.InvalidError{Field: "foldModel", Message: fmt.Sprintf("is %s, but the simulator is %s; make them the same or "+
		"leave foldModel out", *p.Model, simulator)}
}
