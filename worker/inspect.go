package worker

import (
	"context"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/worker/sandbox"
)

// Offer is an engine that this machine can run.
type Offer struct {
	Engine   string
	Hardware string
	GPU      bool              // its tasks may ask for devices
	Programs map[string]string // program → version
}

// Refusal is an engine that this machine cannot run, and why.
type Refusal struct {
	Engine string
	Reason error
}

// Inspect runs every engine's version probe in the sandbox and sorts the engines into those that may be offered and those
// that may not.
func Inspect(ctx context.Context, runner *sandbox.Runner, registry *engines.Registry) (offers []Offer, refusals []Refusal) {
	for _, id := range registry.IDs() {
		engine, _ := registry.Lookup(id)
		programs, err := runner.Versions(ctx, engine.Spec().Probe)
		if err != nil {
			refusals = append(refusals, Refusal{Engine: id, Reason: err})
			continue
		}
		offers = append(offers, Offer{Engine: id, Hardware: engine.Spec().Hardware, GPU: engine.Spec().GPU, Programs: programs})
	}
	return offers, refusals
}
