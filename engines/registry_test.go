package engines_test

import (
	"testing"

	"github.com/molfabric/molfabric/engines"
)

// named is an engine that has names and nothing else.
type named struct {
	engines.Engine
	spec engines.Spec
}

func (n named) Spec() engines.Spec { return n.spec }

func TestLookupFoldsNames(t *testing.T) {
	registry := engines.NewRegistry(named{spec: engines.Spec{ID: "autodock-vina", Aliases: []string{"vina"}}},
		named{spec: engines.Spec{ID: "openmm"}})
	for name, want := range map[string]string{
		"autodock-vina": "autodock-vina", "AutoDock Vina": "autodock-vina", "auto_dock_vina": "autodock-vina",
		"VINA": "autodock-vina", "OpenMM": "openmm", "smina": "", "": "", "vina2": "",
	} {
		got := ""
		if engine, ok := registry.Lookup(name); ok {
			got = engine.Spec().ID
		}
		if got != want {
			t.Errorf("Lookup(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestTwoEnginesOfOneNamePanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two engines called vina were accepted")
		}
	}()
	engines.NewRegistry(named{spec: engines.Spec{ID: "vina"}}, named{spec: engines.Spec{ID: "other", Aliases: []string{"Vina"}}})
}
