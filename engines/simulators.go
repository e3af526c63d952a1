package engines

// The job types of specification §2.1.
const (
	JobTypeRender     = "render"
	JobTypeSimulation = "simulation"
	JobTypeMolecular  = "molecular"
	JobTypePipeline   = "pipeline"
)

// Simulator is a simulator of specification §1, whether or not this build or deployment can run it.
type Simulator struct {
	ID      string   // canonical
	Aliases []string // other accepted names, normalised (Normalize)
	Title   string   // name for people
}

// Simulators are the canonical simulators of specification §1 with the aliases of decisions.md, in the order of the
// specification.
var Simulators = []Simulator{
	{"autodock-vina", []string{"vina", "autodockvina"}, "AutoDock Vina"},
	{"fpocket", nil, "fpocket"},
	{"blastp", []string{"ncbiblastp"}, "NCBI BLAST+ blastp"},
	{"blastn", []string{"ncbiblastn"}, "NCBI BLAST+ blastn"},
	{"openmm", nil, "OpenMM"},
	{"alphafold", []string{"alphafold2", "af2"}, "AlphaFold 2"},
	{"esmfold", []string{"esmfoldv1"}, "ESMFold"},
	{"swan", nil, "SWAN"},
	{"wavewatch3", []string{"ww3", "wavewatchiii"}, "WAVEWATCH III"},
}

// KnownSimulator finds a canonical simulator by its id or an alias, so that "not here" can be told from "no such thing".
func KnownSimulator(name string) (Simulator, bool) {
	key := Normalize(name)
	for _, s := range Simulators {
		if Normalize(s.ID) == key {
			return s, true
		}
		for _, alias := range s.Aliases {
			if alias == key {
				return s, true
			}
		}
	}
	return Simulator{}, false
}
