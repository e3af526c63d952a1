// Package all lists the engines of this build. An engine joins the fabric with one line here.
package all

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/blast"
	"github.com/molfabric/molfabric/engines/cycles"
	"github.com/molfabric/molfabric/engines/fpocket"
	"github.com/molfabric/molfabric/engines/molstar"
	"github.com/molfabric/molfabric/engines/openmm"
	"github.com/molfabric/molfabric/engines/vina"
)

// Registry returns the engines of this build.
func Registry() *engines.Registry {
	return engines.NewRegistry(
		vina.New(),
		fpocket.New(),
		blast.NewProtein(),
		blast.NewNucleotide(),
		openmm.New(),
		molstar.New(),
		cycles.New(),
	)
}
