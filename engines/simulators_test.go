package engines_test

import (
	"strings"
	"testing"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/all"
)

func TestKnownNames(t *testing.T) {
	t.Parallel()
	simulator := func(name string) string { s, _ := engines.KnownSimulator(name); return s.ID }
	renderer := func(name string) string { s, _ := engines.KnownRenderer(name); return s.ID }
	for _, c := range []struct {
		find       func(string) string
		name, want string
	}{
		{simulator, "Vina", "autodock-vina"}, {simulator, "auto dock_vina", "autodock-vina"}, {simulator, "NCBI-BLASTP", "blastp"},
		{simulator, "ncbi blastn", "blastn"}, {simulator, "AlphaFold 2", "alphafold"}, {simulator, "AF2", "alphafold"},
		{simulator, "ESMFold-v1", "esmfold"}, {simulator, "WAVEWATCH III", "wavewatch3"}, {simulator, "ww3", "wavewatch3"},
		{simulator, "openmm", "openmm"}, {simulator, "fpocket", "fpocket"}, {simulator, "SWAN", "swan"},
		{simulator, "blast", ""}, {simulator, "smina", ""}, {simulator, "alphafold3", ""}, {simulator, "", ""},
		{simulator, "cycles", ""}, {renderer, "Blender", "cycles"}, {renderer, "Blender Cycles", "cycles"},
		{renderer, "Mol*", "molstar"}, {renderer, "eevee", ""}, {renderer, "", ""},
	} {
		if got := c.find(c.name); got != c.want {
			t.Errorf("%q is %q, want %q", c.name, got, c.want)
		}
	}
	for _, name := range []string{"BLAST", "smina", "AlphaFold-3"} {
		if _, ok := engines.Lookalike(name); !ok {
			t.Errorf("%q has no sentence", name)
		}
	}
	for _, s := range engines.Simulators {
		if _, ok := engines.Lookalike(s.ID); ok {
			t.Errorf("%s is called a lookalike of itself", s.ID)
		}
	}
}

func TestMisspeltSimulators(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"autodock-vinna": "autodock-vina", "AutoDoc Vina": "autodock-vina", "autodokc_vina": "autodock-vina",
		"vinna": "autodock-vina", "vin": "autodock-vina",
		"opennm": "openmm", "openm": "openmm", "OpenMM8": "openmm", "fpockets": "fpocket", "blatsp": "blastp",
		"blast-x": "", "alfafold": "alphafold",
		"esmfold2": "esmfold", "wawewatch3": "wavewatch3", "swam": "swan", "blastq": "blastp blastn",
		"vina": "", "autodock-vina": "", "smina": "", "blast": "", "alphafold3": "",
		"gromacs": "", "amber": "", "": "", "x": "", "probe": "", "cycles": "",
		strings.Repeat("v", 5000): "",
	} {
		if got := strings.Join(engines.Misspelt(name), " "); got != want {
			t.Errorf("%.40q: got %q, want %q", name, got, want)
		}
	}
	if got := engines.DidYouMean("blastq"); got != "did you mean blastp or blastn?" {
		t.Errorf("got %q", got)
	}
}

// TestEnginesGoByTheirKnownNames holds the simulators of this build to the list: a name must mean the same here and there.
func TestEnginesGoByTheirKnownNames(t *testing.T) {
	t.Parallel()
	registry := all.Registry()
	for _, known := range engines.Simulators {
		engine, here := registry.Lookup(known.ID)
		for _, alias := range known.Aliases {
			found, ok := registry.Lookup(alias)
			if ok != here || here && found.Spec().ID != engine.Spec().ID {
				t.Errorf("%s: the alias %s is known to the registry: %v, the id: %v", known.ID, alias, ok, here)
			}
		}
	}
}

func TestServing(t *testing.T) {
	t.Parallel()
	registry := engines.NewRegistry(
		named{spec: engines.Spec{ID: "openmm"}}, named{spec: engines.Spec{ID: "fpocket"}},
		named{spec: engines.Spec{ID: "cycles", JobTypes: []string{engines.JobTypeRender, engines.JobTypeMolecular}}},
	)
	for jobType, want := range map[string]int{engines.JobTypeSimulation: 2, engines.JobTypeRender: 1, engines.JobTypeMolecular: 1,
		engines.JobTypePipeline: 0} {
		if got := registry.Serving(jobType); len(got) != want {
			t.Errorf("%s: got %v, want %d engines", jobType, got, want)
		}
	}
	if got := registry.Serving(engines.JobTypeSimulation); got[0] != "fpocket" {
		t.Errorf("got %v, want them sorted", got)
	}
}
