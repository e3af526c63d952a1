package engines

import "slices"

// The job types of doc/contract.md §2.1.
const (
	JobTypeRender     = "render"
	JobTypeSimulation = "simulation"
	JobTypeMolecular  = "molecular"
	JobTypePipeline   = "pipeline"
)

// Simulator is a simulator of doc/contract.md §1, whether or not this build or deployment can run it.
type Simulator struct {
	ID      string   // canonical
	Aliases []string // other accepted names, normalised (Normalize)
	Title   string   // name for people
}

// Simulators are the canonical simulators of doc/contract.md §1 with their aliases, in its order.
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
func KnownSimulator(name string) (Simulator, bool) { return known(Simulators, name) }

// Renderers are the engines that draw, with the names by which a job's metadata may ask for them: metadata.renderEngine of a
// molecular job, metadata.software or metadata.renderer of a render job. Blender stands for the renderer that it brings.
var Renderers = []Simulator{
	{"molstar", []string{"mol*"}, "Mol*"},
	{"cycles", []string{"blender", "blendercycles"}, "Blender Cycles"},
}

// KnownRenderer finds a renderer by its id or an alias.
func KnownRenderer(name string) (Simulator, bool) { return known(Renderers, name) }

func known(list []Simulator, name string) (Simulator, bool) {
	key := Normalize(name)
	for _, s := range list {
		if Normalize(s.ID) == key || slices.Contains(s.Aliases, key) {
			return s, true
		}
	}
	return Simulator{}, false
}

// lookalikes are names that people use for a simulator of the list and that mean two of them or another science.
// Keys are normalised; the sentence says what to ask for.
var lookalikes = map[string]string{
	"blast":     "blast is ambiguous; say blastp for protein queries or blastn for nucleotide queries",
	"ncbiblast": "NCBI BLAST is ambiguous; say blastp for protein queries or blastn for nucleotide queries",
	"blastx":    "blastx translates its queries, which blastp and blastn do not; translate them and say blastp",
	"tblastn":   "tblastn translates its database, which blastp and blastn do not",
	"tblastx":   "tblastx translates queries and database, which blastp and blastn do not",
	"smina":     "smina scores other than AutoDock Vina; say autodock-vina if that is what you want",
	"gnina":     "gnina scores other than AutoDock Vina; say autodock-vina if that is what you want",
	"qvina":     "QuickVina searches other than AutoDock Vina; say autodock-vina if that is what you want",
	"qvina2":    "QuickVina searches other than AutoDock Vina; say autodock-vina if that is what you want",
	"autodock": "AutoDock is ambiguous, and AutoDock 4 is another program than AutoDock Vina; say autodock-vina if that is " +
		"what you want",
	"autodock4":  "AutoDock 4 is another program than AutoDock Vina; say autodock-vina if that is what you want",
	"alphafold3": "AlphaFold 3 is another model than alphafold, which is AlphaFold 2; say alphafold if that is what you want",
	"af3":        "AlphaFold 3 is another model than alphafold, which is AlphaFold 2; say alphafold if that is what you want",
}

// Lookalike explains a name that is close to a simulator of the list but must not be taken for it.
func Lookalike(name string) (sentence string, ok bool) {
	sentence, ok = lookalikes[Normalize(name)]
	return sentence, ok
}
