package vina

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// Params are the members of simulationParams that docking with AutoDock Vina reads (specification §2.2). The API embeds the
// struct, so its tags are the rules of the public contract.
type Params struct {
	ReceptorArtifact    *mol.ArtifactReference   `json:"receptorArtifact,omitempty" doc:"The receptor, when it is not the sceneFile itself; PDB or PDBQT."`
	LigandIdentity      *mol.LigandEntry         `json:"ligandIdentity,omitempty" doc:"The ligand of a docking of one ligand."`
	LigandLibrary       []mol.LigandEntry        `json:"ligandLibrary,omitempty" minItems:"1" maxItems:"10000" doc:"The ligands of a docking of many; used in place of ligandIdentity."`
	ReceptorPreparation *mol.ReceptorPreparation `json:"receptorPreparation,omitempty" doc:"How to prepare the receptor."`
	DockingExecution    *DockingExecution        `json:"dockingExecution,omitempty" doc:"How to cut the library into tasks."`
	BoxCenterAngstrom   *mol.BoxCenter           `json:"boxCenterAngstrom,omitempty" doc:"Centre of the docking box in Å: x, y, z."`
	BoxSizeAngstrom     *mol.BoxSize             `json:"boxSizeAngstrom,omitempty" doc:"Size of the docking box in Å: one number for a cube, or x, y, z; each 1 to 100."`
	Exhaustiveness      *int                     `json:"exhaustiveness,omitempty" minimum:"1" maximum:"128" doc:"Independent searches per ligand; 8 when left out."`
	NumModes            *int                     `json:"numModes,omitempty" minimum:"1" maximum:"100" doc:"Most poses kept per ligand; 9 when left out."`
	EnergyRangeKcalMol  *float64                 `json:"energyRangeKcalMol,omitempty" minimum:"0.1" maximum:"100" doc:"Poses this much worse than the best are dropped, in kcal/mol; 3 when left out."`
	Seed                *int64                   `json:"seed,omitempty" minimum:"-2147483648" maximum:"2147483647" doc:"Seed of every random choice; derived from the job's id when left out."`
	CPUThreads          *int                     `json:"cpuThreads,omitempty" minimum:"1" maximum:"256" doc:"Threads per docking task; 1 when left out. More than exhaustiveness, or than 8, bring nothing."`
}

// DockingExecution says how a library is cut into docking tasks.
type DockingExecution struct {
	ShardSize *int `json:"shardSize,omitempty" minimum:"1" maximum:"10" default:"1" doc:"Ligands per docking task."`
}

// What a request that does not say gets: AutoDock Vina's own defaults, and one thread because many ligands run side by side.
const (
	defaultExhaustiveness     = 8
	defaultNumModes           = 9
	defaultEnergyRangeKcalMol = 3.0
	defaultThreads            = 1
	defaultShardSize          = 1
)

// Bounds on input files: far above any real structure, and small enough to read into memory.
const (
	maxReceptorBytes       = 64 << 20
	maxLigandArtifactBytes = 8 << 20
)

// box is a docking box in Å.
type box struct {
	CenterAngstrom mol.BoxCenter `json:"centerAngstrom"`
	SizeAngstrom   mol.BoxSize   `json:"sizeAngstrom"`
}

// request is a docking request with every default filled in.
type request struct {
	receptor           engines.Object
	receptorFormat     string // "" when nobody has stated it
	preparation        mol.ReceptorPreparation
	ligands            []mol.LigandEntry // completed, in the caller's order
	box                box
	shardSize          int
	exhaustiveness     int
	numModes           int
	energyRangeKcalMol float64
	seed               int64
	threadsAsked       int
	threads            int
}

// resolve reads the parameters, fills in the defaults and applies the rules that no schema can state. It returns an
// *engines.InvalidError for a request that this engine cannot serve.
func resolve(r engines.Request) (request, error) {
	var p Params
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return request{}, fmt.Errorf("vina: reading simulationParams: %w", err)
	}
	resolved := request{
		preparation:        p.ReceptorPreparation.Completed(),
		shardSize:          defaultShardSize,
		exhaustiveness:     valueOr(p.Exhaustiveness, defaultExhaustiveness),
		numModes:           valueOr(p.NumModes, defaultNumModes),
		energyRangeKcalMol: valueOr(p.EnergyRangeKcalMol, defaultEnergyRangeKcalMol),
		seed:               valueOr(p.Seed, defaultSeed(r.JobID)),
		threadsAsked:       valueOr(p.CPUThreads, defaultThreads),
	}
	if p.DockingExecution != nil {
		resolved.shardSize = valueOr(p.DockingExecution.ShardSize, defaultShardSize)
	}
	resolved.threads = min(resolved.threadsAsked, resolved.exhaustiveness, maxThreads)
	if err := resolved.takeReceptor(r.SceneFile, p); err != nil {
		return request{}, err
	}
	if err := resolved.takeLigands(p); err != nil {
		return request{}, err
	}
	if err := resolved.takeBox(p); err != nil {
		return request{}, err
	}
	return resolved, nil
}

func (q *request) takeReceptor(sceneFile engines.Object, p Params) error {
	if a := p.ReceptorArtifact; a != nil {
		if a.Format != mol.FormatPDB && a.Format != mol.FormatPDBQT {
			return invalid("receptorArtifact.format", "is %s; a receptor must be pdb or pdbqt", a.Format)
		}
		if a.ByteSize == 0 || a.ByteSize > maxReceptorBytes {
			return invalid("receptorArtifact.byteSize", "is %d; a receptor must have 1 to %d bytes", a.ByteSize, maxReceptorBytes)
		}
		q.receptor, q.receptorFormat = objectOf(*a), a.Format
	} else {
		if sceneFile.StorageKey == "" {
			return invalid("sceneFile", "is missing; give the storage key of the receptor (PDB or PDBQT)")
		}
		switch extension := strings.ToLower(path.Ext(sceneFile.StorageKey)); extension {
		case ".cif", ".mmcif", ".bcif":
			return invalid("sceneFile", "is a %s file; a receptor must be PDB or PDBQT", extension)
		}
		if sceneFile.ByteSize > maxReceptorBytes {
			return invalid("sceneFile", "has %d bytes; a receptor may have at most %d", sceneFile.ByteSize, maxReceptorBytes)
		}
		q.receptor = sceneFile
	}
	removed := map[string]bool{}
	for _, name := range q.preparation.RemoveComponents {
		removed[strings.ToUpper(name)] = true
	}
	for i, name := range q.preparation.RetainComponents {
		if removed[strings.ToUpper(name)] {
			return invalid(fmt.Sprintf("receptorPreparation.retainComponents[%d]", i), "is also in removeComponents; name a component in one of them")
		}
	}
	return nil
}

func (q *request) takeLigands(p Params) error {
	switch {
	case p.LigandIdentity != nil && len(p.LigandLibrary) > 0:
		return invalid("ligandLibrary", "is given beside ligandIdentity; give one of them")
	case p.LigandIdentity != nil:
		if err := checkLigand("ligandIdentity", *p.LigandIdentity); err != nil {
			return err
		}
		q.ligands = []mol.LigandEntry{p.LigandIdentity.Completed()}
		return nil
	case len(p.LigandLibrary) == 0:
		return invalid("ligandIdentity", "is missing; give ligandIdentity for one ligand or ligandLibrary for several")
	}
	first := make(map[string]int, len(p.LigandLibrary))
	for i, ligand := range p.LigandLibrary {
		field := fmt.Sprintf("ligandLibrary[%d]", i)
		if earlier, taken := first[ligand.LigandID]; taken {
			return invalid(field+".ligandId", "is the same as ligandLibrary[%d].ligandId; ids must be unique in a library", earlier)
		}
		first[ligand.LigandID] = i
		if err := checkLigand(field, ligand); err != nil {
			return err
		}
		q.ligands = append(q.ligands, ligand.Completed())
	}
	return nil
}

func checkLigand(field string, ligand mol.LigandEntry) error {
	switch ligand.Source.Kind() {
	case mol.SourceSMILES:
		return nil
	case mol.SourceArtifact:
		a := ligand.Source.Artifact.Artifact
		switch a.Format {
		case mol.FormatSDF, mol.FormatMOL2, mol.FormatPDBQT:
		default:
			return invalid(field+".source.artifact.format", "is %s; a ligand must be sdf, mol2 or pdbqt", a.Format)
		}
		if a.ByteSize == 0 || a.ByteSize > maxLigandArtifactBytes {
			return invalid(field+".source.artifact.byteSize", "is %d; a ligand must have 1 to %d bytes", a.ByteSize, maxLigandArtifactBytes)
		}
		return nil
	case mol.SourceCCD:
		return invalid(field+".source.kind", "is ccd, which needs a component dictionary that this deployment does not have; give the ligand as smiles or artifact")
	}
	return invalid(field+".source", "is missing; give a smiles or an artifact")
}

func (q *request) takeBox(p Params) error {
	if p.BoxCenterAngstrom == nil {
		return invalid("boxCenterAngstrom", "is missing; give the box's centre in Å as [x, y, z], in the receptor's coordinates")
	}
	if p.BoxSizeAngstrom == nil {
		return invalid("boxSizeAngstrom", "is missing; give the box's size in Å as one number or [x, y, z], each %g to %g", mol.MinBoxEdgeAngstrom, mol.MaxBoxEdgeAngstrom)
	}
	q.box = box{CenterAngstrom: *p.BoxCenterAngstrom, SizeAngstrom: *p.BoxSizeAngstrom}
	return nil
}

func objectOf(a mol.ArtifactReference) engines.Object {
	return engines.Object{StorageKey: a.StorageKey, SHA256: a.SHA256, ByteSize: a.ByteSize}
}

func invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}

func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}
