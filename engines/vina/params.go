package vina

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// Params are the members of simulationParams that say how to dock (specification §2.2). The API embeds the struct, so its tags
// are the rules of the public contract. What this engine cannot do is refused (unserved): left aside, it would give another
// result than the one asked for.
type Params struct {
	ReceptorPDBID       *string                  `json:"receptorPdbId,omitempty" pattern:"^[0-9][A-Za-z0-9]{3}$" patternDescription:"a digit and three letters or digits" doc:"The receptor as an entry of the Protein Data Bank."`
	ReceptorArtifact    *mol.ArtifactReference   `json:"receptorArtifact,omitempty" doc:"The receptor, when it is not the sceneFile itself; PDB or PDBQT."`
	ReceptorAssemblyID  *string                  `json:"receptorAssemblyId,omitempty" minLength:"1" maxLength:"32" doc:"The biological assembly of the receptor to dock into."`
	ReceptorModel       *int                     `json:"receptorModel,omitempty" minimum:"1" maximum:"9999" doc:"The model of the receptor to dock into, of a file with several."`
	ReceptorChains      []string                 `json:"receptorChains,omitempty" minItems:"1" maxItems:"128" minLength:"1" maxLength:"16" doc:"The chains of the receptor to dock into."`
	LigandIdentity      *mol.LigandEntry         `json:"ligandIdentity,omitempty" doc:"The ligand of a docking of one ligand."`
	LigandLibrary       []mol.LigandEntry        `json:"ligandLibrary,omitempty" minItems:"1" maxItems:"10000" doc:"The ligands of a docking of many; used in place of ligandIdentity."`
	ReceptorPreparation *mol.ReceptorPreparation `json:"receptorPreparation,omitempty" doc:"How to prepare the receptor."`
	DockingValidation   *DockingValidation       `json:"dockingValidation,omitempty" doc:"What to hold the docking against."`
	DockingExecution    *DockingExecution        `json:"dockingExecution,omitempty" doc:"How to cut the library into tasks."`
	PocketLigand        *string                  `json:"pocketLigand,omitempty" minLength:"1" maxLength:"8" doc:"Residue name of the ligand in the receptor whose place is the box."`
	PocketLigandChain   *string                  `json:"pocketLigandChain,omitempty" minLength:"1" maxLength:"16" doc:"Chain of that ligand."`
	PocketLigandResidue *int                     `json:"pocketLigandResidue,omitempty" minimum:"-9999" maximum:"99999" doc:"Residue number of that ligand."`
	PocketResidues      []PocketResidue          `json:"pocketResidues,omitempty" minItems:"1" maxItems:"256" doc:"Residues of the receptor around which the box is laid."`
	BoxCenterAngstrom   *mol.BoxCenter           `json:"boxCenterAngstrom,omitempty" doc:"Centre of the docking box in Å: x, y, z."`
	BoxSizeAngstrom     *mol.BoxSize             `json:"boxSizeAngstrom,omitempty" doc:"Size of the docking box in Å: one number for a cube, or x, y, z; each 1 to 100."`
	Exhaustiveness      *int                     `json:"exhaustiveness,omitempty" minimum:"1" maximum:"128" doc:"Independent searches per ligand; 8 when left out."`
	NumModes            *int                     `json:"numModes,omitempty" minimum:"1" maximum:"100" doc:"Most poses kept per ligand; 9 when left out."`
	EnergyRangeKcalMol  *float64                 `json:"energyRangeKcalMol,omitempty" minimum:"0.1" maximum:"100" doc:"Poses this much worse than the best are dropped, in kcal/mol; 3 when left out."`
	Seed                *int64                   `json:"seed,omitempty" minimum:"-2147483648" maximum:"2147483647" doc:"Seed of every random choice; derived from the job's id when left out."`
	CPUThreads          *int                     `json:"cpuThreads,omitempty" minimum:"1" maximum:"256" doc:"Threads per docking task; 1 when left out. More than exhaustiveness, or than 8, bring nothing."`
}

// DockingValidation says what a docking is held against.
type DockingValidation struct {
	NativeReference *NativeReference `json:"nativeReference,omitempty" doc:"The ligand in the receptor's structure that is docked again, to see whether its pose is found."`
}

// NativeReference names a ligand in the receptor's structure.
type NativeReference struct {
	ComponentID   string  `json:"componentId" pattern:"^[A-Za-z0-9]{1,8}$" patternDescription:"1 to 8 letters and digits" doc:"Residue name of the ligand."`
	Chain         string  `json:"chain" minLength:"1" maxLength:"16" doc:"Chain of the ligand."`
	Residue       int     `json:"residue" minimum:"-9999" maximum:"99999" doc:"Residue number of the ligand."`
	InsertionCode *string `json:"insertionCode,omitempty" maxLength:"4" doc:"Insertion code of the ligand."`
}

// PocketResidue names a residue of the pocket.
type PocketResidue struct {
	Chain         string  `json:"chain" minLength:"1" maxLength:"16" doc:"Chain of the residue."`
	Residue       int     `json:"residue" minimum:"-9999" maximum:"99999" doc:"Number of the residue."`
	InsertionCode *string `json:"insertionCode,omitempty" maxLength:"4" doc:"Insertion code of the residue."`
}

// DockingExecution says how a library is cut into docking tasks, and which receptor is ready for them.
type DockingExecution struct {
	ShardSize        *int              `json:"shardSize,omitempty" minimum:"1" maximum:"10" default:"1" doc:"Ligands per docking task."`
	PreparedReceptor *PreparedReceptor `json:"preparedReceptor,omitempty" doc:"A receptor that an earlier job has prepared."`
}

// Completed returns the execution with every default filled in. A nil receiver means all of them.
func (e *DockingExecution) Completed() DockingExecution {
	completed := valueOr(e, DockingExecution{})
	if completed.ShardSize == nil {
		size := defaultShardSize
		completed.ShardSize = &size
	}
	return completed
}

// PreparedReceptor names a receptor that an earlier job has prepared, and everything that made it what it is.
type PreparedReceptor struct {
	CacheKey               string                 `json:"cacheKey" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"Key of the preparation."`
	ReceptorIdentitySHA256 string                 `json:"receptorIdentitySha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of what the receptor is."`
	PreparationSHA256      string                 `json:"preparationSha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of how it was prepared."`
	ToolchainSHA256        string                 `json:"toolchainSha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of the programs that prepared it."`
	WorkerImageDigest      string                 `json:"workerImageDigest" pattern:"^sha256:[0-9a-f]{64}$" patternDescription:"sha256: and 64 lower-case hexadecimal digits" doc:"Digest of the worker image."`
	Artifact               *mol.ArtifactReference `json:"artifact,omitempty" doc:"The prepared receptor."`
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
	if err := p.unserved(); err != nil {
		return request{}, err
	}
	resolved := request{
		preparation:        p.ReceptorPreparation.Completed(),
		shardSize:          *p.DockingExecution.Completed().ShardSize,
		exhaustiveness:     valueOr(p.Exhaustiveness, defaultExhaustiveness),
		numModes:           valueOr(p.NumModes, defaultNumModes),
		energyRangeKcalMol: valueOr(p.EnergyRangeKcalMol, defaultEnergyRangeKcalMol),
		seed:               valueOr(p.Seed, defaultSeed(r.JobID)),
		threadsAsked:       valueOr(p.CPUThreads, defaultThreads),
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
