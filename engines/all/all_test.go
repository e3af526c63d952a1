package all

import "testing"

func TestRegistryFindsAliases(t *testing.T) {
	t.Parallel()
	registry := Registry()
	for _, name := range []string{"autodock-vina", "AutoDock Vina", "vina", "AUTODOCK_VINA", "autodockvina"} {
		e, ok := registry.Lookup(name)
		if !ok || e.Spec().ID != "autodock-vina" {
			t.Errorf("Lookup(%q) found %v, want autodock-vina", name, ok)
		}
	}
	for _, name := range []string{"", "smina", "blast"} {
		if _, ok := registry.Lookup(name); ok {
			t.Errorf("Lookup(%q) found an engine, want none", name)
		}
	}
}
