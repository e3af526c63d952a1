// Package parameters holds simulationParams, the union of what the engines can be told. It is the only place of the job resource
// that names engines: one line for each of them.
package parameters

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/engines/fpocket"
	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/engines/swan"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/engines/wavewatch3"
	"github.com/molfabric/molfabric/internal/sortedjson"
)

// The engines' parameters need names of their own here: a struct cannot embed five types that are called Params.
type (
	// DockingParams are AutoDock Vina's.
	DockingParams = vina.Params
	// PocketParams are fpocket's.
	PocketParams = fpocket.Params
	// SearchParams are BLAST's.
	SearchParams = blast.Params
	// FoldParams are those of ESMFold and AlphaFold.
	FoldParams = fold.Params
	// DynamicsParams are OpenMM's.
	DynamicsParams = openmm.Params
	// WaveParams are SWAN's.
	WaveParams = swan.Params
	// WaveWatchParams are those of WAVEWATCH III.
	WaveWatchParams = wavewatch3.Params
)

// SimulationParams is the union of the engines' parameters (doc/contract.md §2.2). Unknown members are refused; members of
// another simulator than the job's are checked and then ignored.
type SimulationParams struct {
	DockingParams
	PocketParams
	SearchParams
	FoldParams
	DynamicsParams
	WaveParams
	WaveWatchParams
	EstimatedRuntimeSeconds *float64 `json:"estimatedRuntimeSeconds,omitempty" exclusiveMinimum:"0" maximum:"2592000" doc:"The caller's own guess of the run time of one task, in seconds."`
}

// Completed are parameters with every default filled in. A request with a default left out and one that states it are the
// same.
type Completed struct {
	SimulationParams
	Text json.RawMessage // the same as sorted JSON
}

// Complete completes parameters for a simulator, or for none (""). The argument is unchanged.
func Complete(given *SimulationParams, simulator string) (Completed, error) {
	var params SimulationParams
	if given != nil {
		params = *given
	}
	for part := range params.parts {
		if completer, ok := part.(engines.Completer); ok {
			completer.Complete(simulator)
		}
	}
	text, err := params.sorted()
	return Completed{params, text}, err
}

// Into gives the parameters to a request. The library of a docking, which may be megabytes, is not read again.
func (c Completed) Into(work *engines.Request) {
	work.Params = c.Text
	engines.Remember(work, c.DockingParams)
}

// NamedFiles lists the stored files that parameters name, of any simulator.
func (p *SimulationParams) NamedFiles() []engines.NamedFile {
	var files []engines.NamedFile
	for part := range p.parts {
		if namer, ok := part.(engines.FileNamer); ok {
			files = append(files, namer.NamedFiles()...)
		}
	}
	return files
}

// Repeat makes the parameters those of a docking that is repeated; see vina.Params.
func (p *SimulationParams) Repeat(plan []engines.Shard, seed int64) (engines.Found, error) {
	return p.DockingParams.Repeat(plan, seed)
}

// parts visits a pointer to each engine's own parameters.
func (p *SimulationParams) parts(visit func(part any) bool) {
	union := reflect.ValueOf(p).Elem()
	for i := range union.NumField() {
		if union.Type().Field(i).Anonymous && !visit(union.Field(i).Addr().Interface()) {
			return
		}
	}
}

// large are parameters with a member that may be most of a request.
type large interface {
	// TakeLarge takes the member out and returns it as sorted JSON; text is nil where it is not there.
	TakeLarge() (name string, text json.RawMessage, err error)
}

// sorted writes completed parameters with their members sorted. What is large is written apart: a tree of it would take
// many times its size.
func (p SimulationParams) sorted() (json.RawMessage, error) {
	apart := map[string]json.RawMessage{}
	for part := range p.parts {
		if part, ok := part.(large); ok {
			name, text, err := part.TakeLarge()
			if err != nil {
				return nil, err
			}
			if text != nil {
				apart[name] = text
			}
		}
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("writing simulationParams: %w", err)
	}
	tree, err := sortedjson.Decode(text)
	if err != nil {
		return nil, err
	}
	for name, text := range apart {
		tree[name] = text
	}
	return sortedjson.EncodeObject(tree)
}
