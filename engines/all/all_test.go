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

func TestProbeIsOfferedByNameAlone(t *testing.T) {
	t.Parallel()
	usual, err := Offered(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := usual.Lookup("probe"); ok {
		t.Error("a deployment that lists no engine offers the probe")
	}
	listed, err := Offered([]string{"probe", "vina"})
	if err != nil {
		t.Fatal(err)
	}
	if got := listed.IDs(); len(got) != 2 || got[0] != "autodock-vina" || got[1] != "probe" {
		t.Errorf("a deployment that lists two engines offers %q", got)
	}
}
