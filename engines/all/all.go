// Package all lists the engines of this build. An engine joins the fabric with one line here.
package all

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/alphafold"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/engines/cycles"
	"github.com/molfabric/molfabric/engines/esmfold"
	"github.com/molfabric/molfabric/engines/fpocket"
	"github.com/molfabric/molfabric/engines/molstar"
	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/engines/probe"
	"github.com/molfabric/molfabric/engines/swan"
	"github.com/molfabric/molfabric/engines/vina"
	"github.com/molfabric/molfabric/engines/wavewatch3"
)

// Registry returns the scientific engines of this build.
func Registry() *engines.Registry { return engines.NewRegistry(scientific()...) }

// Offered returns the engines of a deployment that lists these ids or aliases; every scientific one when it lists none. The probe
// is offered only where it is listed. A name that no engine has is an error.
func Offered(names []string) (*engines.Registry, error) {
	if len(names) == 0 {
		return Registry(), nil
	}
	return engines.NewRegistry(append(scientific(), probe.New())...).Only(names)
}

func scientific() []engines.Engine {
	return []engines.Engine{
		vina.New(),
		fpocket.New(),
		blast.NewProtein(),
		blast.NewNucleotide(),
		openmm.New(),
		esmfold.New(),
		alphafold.New(),
		alphafold.NewAligner(),
		swan.New(),
		wavewatch3.New(),
		molstar.New(),
		cycles.New(),
	}
}
