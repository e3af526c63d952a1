package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/engines/fpocket"
	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/internal/mol"
	"github.com/molfabric/molfabric/internal/parallel"
)

// The engines' parameters need names of their own here: a struct cannot embed five types that are called Params.
type (
	// DockingParams are AutoDock Vina's.
	DockingParams = vina.Params
	// PocketParams are fpocket's.
	PocketParams = fpocket.Params
	// SearchParams are BLAST's.
	SearchParams = blast.Params
	// FoldParams are those of AlphaFold and ESMFold.
	FoldParams = fold.Params
	// DynamicsParams are OpenMM's.
	DynamicsParams = openmm.Params
)

// SimulationParams is the union of the engines' parameters (specification §2.2). Unknown members are refused; members of
// another simulator than the job's are checked and then ignored.
type SimulationParams struct {
	DockingParams
	PocketParams
	SearchParams
	FoldParams
	DynamicsParams
	EstimatedRuntimeSeconds *float64 `json:"estimatedRuntimeSeconds,omitempty" exclusiveMinimum:"0" maximum:"2592000" doc:"The caller's own guess of the run time of one task, in seconds."`
}

// completed fills in the defaults of simulationParams for a simulator, so that a request with a default left out and one that
// states it are the same, and writes them as sorted JSON. decoded are the same as the engine's own type, of the engine whose requests
// are large, and nil of every other. The argument is unchanged.
func completed(given *SimulationParams, simulator string) (text json.RawMessage, decoded any, err error) {
	params := valueOr(given, SimulationParams{})
	params.completeLigands()
	if params.ReceptorPreparation != nil || simulator == vina.ID {
		params.ReceptorPreparation = ref(params.ReceptorPreparation.Completed())
	}
	if params.DockingExecution != nil || simulator == vina.ID {
		params.DockingExecution = ref(params.DockingExecution.Completed())
	}
	if params.DockingReport != nil || simulator == vina.ID {
		params.DockingReport = ref(params.DockingReport.Completed())
	}
	// For every simulator, because the schema's default comes to a request for any of them.
	params.MaxPockets = ref(valueOr(params.MaxPockets, fpocket.DefaultMaxPockets))
	if simulator == vina.ID {
		decoded = params.DockingParams
	}
	text, err = sorted(params)
	return text, decoded, err
}

// sorted writes completed parameters with their members sorted. The library, which may be most of a request, is written as it is:
// the members of a ligand are declared in their order.
func sorted(params SimulationParams) (json.RawMessage, error) {
	library := params.LigandLibrary
	params.LigandLibrary = nil
	text, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("writing simulationParams: %w", err)
	}
	tree, err := decode(text)
	if err != nil {
		return nil, err
	}
	if len(library) > 0 {
		if tree["ligandLibrary"], err = encodeLibrary(library); err != nil {
			return nil, err
		}
	}
	return writeObject(tree)
}

// encodeLibrary is encode for a library.
func encodeLibrary(library []mol.LigandEntry) (json.RawMessage, error) {
	runs, err := parallel.Runs(library, func(run []mol.LigandEntry) ([]byte, error) {
		text, err := encode(run)
		return bytes.Trim(text, "[]"), err // of the list: what is in it has no brackets at its ends
	})
	return slices.Concat([]byte{'['}, bytes.Join(runs, []byte{','}), []byte{']'}), err
}

func (p *SimulationParams) completeLigands() {
	if p.LigandIdentity != nil {
		p.LigandIdentity = ref(p.LigandIdentity.Completed())
	}
	library := p.LigandLibrary
	p.LigandLibrary = make([]mol.LigandEntry, len(library))
	for i, ligand := range library {
		p.LigandLibrary[i] = ligand.Completed()
	}
}
