package vina

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// What a request that does not say gets: AutoDock Vina's own defaults, and one thread because many ligands run side by side.
const (
	defaultExhaustiveness     = 8
	defaultNumModes           = 9
	defaultEnergyRangeKcalMol = 3.0
	defaultThreads            = 1
	defaultShardSize          = 1
)

// thresholdAngstrom is the usual bound of a pose that is found again: what "passed" means unless a gate says otherwise.
const thresholdAngstrom = 2.0

// Bounds on input files: far above any real structure, and small enough to read into memory.
const (
	maxReceptorBytes       = 64 << 20
	maxLigandArtifactBytes = 8 << 20
)

// request is a docking request with every default filled in.
type request struct {
	receptor           engines.Object
	selection          selection
	preparation        mol.ReceptorPreparation
	prepared           *engines.PreparedReceptor // nil when there is none
	preparedRequired   bool                      // the request asks for this preparation and no other
	ligands            []mol.LigandEntry         // completed, in the caller's order
	library            bool                      // given as a library, not as one ligand
	components         map[string]engines.Component
	box                boxRequest
	native             *NativeReference
	gateRMSDAngstrom   *float64
	shardSize          int
	exhaustiveness     int
	numModes           int
	energyRangeKcalMol float64
	seed               int64
	threadsAsked       int
	threads            int
	title              string
	depicted           bool // the best complex is drawn afterwards
}

// selection is which part of which kind of file the receptor is; a zero member is not stated.
type selection struct {
	DeclaredFormat string   `json:"declaredFormat,omitempty"`
	PDBID          string   `json:"pdbId,omitempty"`
	AssemblyID     string   `json:"assemblyId,omitempty"`
	Model          int      `json:"model,omitempty"`
	Chains         []string `json:"chains,omitempty"`
}

// resolve reads the parameters, fills in the defaults and applies the rules that no schema can state. It returns an
// *engines.InvalidError for a request that this engine cannot serve.
func resolve(r engines.Request) (request, error) {
	p, decoded := r.Decoded.(Params)
	if !decoded {
		if err := json.Unmarshal(r.Params, &p); err != nil {
			return request{}, fmt.Errorf("vina: reading simulationParams: %w", err)
		}
	}
	resolved := request{
		preparation:        p.ReceptorPreparation.Completed(),
		components:         r.Found.Components,
		shardSize:          *p.DockingExecution.Completed().ShardSize,
		exhaustiveness:     valueOr(p.Exhaustiveness, defaultExhaustiveness),
		numModes:           valueOr(p.NumModes, defaultNumModes),
		energyRangeKcalMol: valueOr(p.EnergyRangeKcalMol, defaultEnergyRangeKcalMol),
		seed:               valueOr(p.Seed, defaultSeed(r.JobID)),
		threadsAsked:       valueOr(p.CPUThreads, defaultThreads),
		prepared:           r.Found.Prepared,
		preparedRequired:   p.DockingExecution != nil && p.DockingExecution.PreparedReceptor != nil,
		title:              cmp.Or(r.JobName, r.JobID),
		depicted:           r.JobType == engines.JobTypePipeline,
	}
	resolved.threads = min(resolved.threadsAsked, resolved.exhaustiveness, maxThreads)
	for _, take := range []func() error{
		func() error { return resolved.takeReceptor(r, p) },
		func() error { return resolved.takeLigands(p) },
		func() error { return resolved.takeBox(p) },
		func() error { return resolved.takeValidation(p.DockingValidation) },
	} {
		if err := take(); err != nil {
			return request{}, err
		}
	}
	return resolved, nil
}

// takeReceptor finds the receptor's file: the named entry, else the named artifact, else the scene.
func (q *request) takeReceptor(r engines.Request, p Params) error {
	q.selection = selection{AssemblyID: valueOr(p.ReceptorAssemblyID, ""), Model: valueOr(p.ReceptorModel, 0), Chains: p.ReceptorChains}
	var err error
	switch {
	case p.ReceptorPDBID != nil && p.ReceptorArtifact != nil:
		return invalid("receptorPdbId", "is given beside receptorArtifact; give one of them")
	case p.ReceptorPDBID != nil:
		q.selection.PDBID = strings.ToUpper(*p.ReceptorPDBID)
		q.selection.DeclaredFormat = mol.FormatMMCIF
		q.receptor = engines.Object{StorageKey: "pdb/" + q.selection.PDBID} // of an estimate, which looks nothing up
		if found, ok := r.Found.Structures[q.selection.PDBID]; ok {
			q.receptor = found
		}
	case p.ReceptorArtifact != nil:
		err = q.takeReceptorArtifact(*p.ReceptorArtifact)
	default:
		err = q.takeScene(r.SceneFile)
	}
	if err != nil {
		return err
	}
	return checkComponents(q.preparation)
}

func (q *request) takeReceptorArtifact(a mol.ArtifactReference) error {
	switch a.Format {
	case mol.FormatPDB, mol.FormatMMCIF, mol.FormatPDBQT:
	default:
		return invalid("receptorArtifact.format", "is %s; a receptor must be pdb, mmcif or pdbqt", a.Format)
	}
	if a.ByteSize == 0 || a.ByteSize > maxReceptorBytes {
		return invalid("receptorArtifact.byteSize", "is %d; a receptor must have 1 to %d bytes", a.ByteSize, maxReceptorBytes)
	}
	q.receptor, q.selection.DeclaredFormat = objectOf(a), a.Format
	return nil
}

func (q *request) takeScene(scene engines.Object) error {
	switch {
	case scene.StorageKey == "":
		return invalid("sceneFile", "is missing; give the storage key of the receptor (PDB, mmCIF or PDBQT)")
	case strings.EqualFold(path.Ext(scene.StorageKey), ".bcif"):
		return invalid("sceneFile", "is a BinaryCIF file; a receptor must be PDB, mmCIF or PDBQT")
	case scene.ByteSize > maxReceptorBytes:
		return invalid("sceneFile", "has %d bytes; a receptor may have at most %d", scene.ByteSize, maxReceptorBytes)
	}
	q.receptor = scene
	return nil
}

// checkComponents refuses a component that is to be kept and removed.
func checkComponents(preparation mol.ReceptorPreparation) error {
	removed := map[string]bool{}
	for _, name := range preparation.RemoveComponents {
		removed[strings.ToUpper(name)] = true
	}
	for i, name := range preparation.RetainComponents {
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
	q.library = true
	first := make(map[string]int, len(p.LigandLibrary))
	q.ligands = make([]mol.LigandEntry, 0, len(p.LigandLibrary))
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
	case mol.SourceSMILES, mol.SourceCCD:
		return nil
	case mol.SourceArtifact:
		a := ligand.Source.Artifact.Artifact
		switch a.Format {
		case mol.FormatSDF, mol.FormatMOL2, mol.FormatPDBQT, mol.FormatPDB:
		default:
			return invalid(field+".source.artifact.format", "is %s; a ligand must be sdf, mol2, pdbqt or pdb", a.Format)
		}
		if a.ByteSize == 0 || a.ByteSize > maxLigandArtifactBytes {
			return invalid(field+".source.artifact.byteSize", "is %d; a ligand must have 1 to %d bytes", a.ByteSize, maxLigandArtifactBytes)
		}
		return nil
	}
	return invalid(field+".source", "is missing; give a ccd component, a smiles or an artifact")
}

func (q *request) takeValidation(v *DockingValidation) error {
	if v == nil {
		return nil
	}
	if v.GateRMSDAngstrom != nil && v.NativeReference == nil {
		return invalid("dockingValidation.gateRmsdAngstrom", "needs nativeReference, the ligand that is docked again")
	}
	q.native, q.gateRMSDAngstrom = v.NativeReference, v.GateRMSDAngstrom
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
