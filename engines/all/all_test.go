package all

import "testing"

func TestRegistryFindsAliases(t *testing.T) {
	t.Parallel()
	registry := Registry()
	for id, names := range map[string][]string{
		"autodock-vina": {"autodock-vina", "AutoDock Vina", "vina", "AUTODOCK_VINA", "autodockvina"},
		"fpocket":       {"fpocket", "FPocket", "F_POCKET"},
	} {
		for _, name := range names {
			if e, ok := registry.Lookup(name); !ok || e.Spec().ID != id {
				t.Errorf("Lookup(%q) found %v, want %s", name, ok, id)
			}
		}
	}
	for _, name := range []string{"", "smina", "blast"} {
		if _, ok := registry.Lookup(name); ok {
			t.Errorf("Lookup(%q) found an engine, want none", name)
		}
	}
}
