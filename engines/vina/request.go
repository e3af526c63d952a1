package vina

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/coordinates"
	"github.com/molfabric/molfabric/internal/mol"
	notation "github.com/molfabric/molfabric/internal/smiles" // tests have a function of this name
)

// What a request that does not say gets: AutoDock Vina's own defaults, and one thread because many ligands run side by side.
const (
	defaultExhaustiveness     = 8
	defaultNumModes           = 9
	defaultEnergyRangeKcalMol = 3.0
	defaultRankBy             = rankByVina
	defaultThreads            = 1
	defaultShardSize          = 1
)

// What poses and ligands may be ranked by.
const (
	rankByVina = "vina" // Vina's score
	rankByCNN  = "cnn"  // the probability by GNINA's network that the pose is near to native
)

// thresholdAngstrom is the usual bound of a pose that is found again: what "passed" means unless a gate says otherwise.
const thresholdAngstrom = 2.0

// Bounds on input files: far above any real structure, and small enough to read into memory.
const (
	maxReceptorBytes = 64 << 20
	// maxLigandBytes bounds the file of a ligand.
	maxLigandBytes = 8 << 20
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
	site               *site // nil where nobody has read the receptor
	boxLigand          *coordinates.Molecule
	box                boxRequest
	native             *NativeReference
	nativeAt           *coordinates.Residue // the same, where the receptor has been read
	nativeAlone        bool                 // no other ligand is docked
	gateRMSDAngstrom   *float64
	shardSize          int
	exhaustiveness     mol.Exhaustiveness
	numModes           int
	energyRangeKcalMol float64
	rankBy             string
	seed               int64
	threadsAsked       int
	threadsGiven       bool // the request says how many, and means it
	threads            int
	title              string
	depicted           bool   // the best complex is drawn afterwards
	picture            string // what draws the report's pictures
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
	p, err := paramsOfRequest(r)
	if err != nil {
		return request{}, err
	}
	resolved := request{
		preparation:        p.ReceptorPreparation.Completed(),
		components:         r.Found.Components,
		shardSize:          *p.DockingExecution.Completed().ShardSize,
		exhaustiveness:     valueOr(p.Exhaustiveness, defaultExhaustiveness),
		numModes:           valueOr(p.NumModes, defaultNumModes),
		energyRangeKcalMol: valueOr(p.EnergyRangeKcalMol, defaultEnergyRangeKcalMol),
		rankBy:             valueOr(p.RankBy, defaultRankBy),
		seed:               valueOr(p.Seed, int64(defaultSeed)),
		threadsAsked:       valueOr(p.CPUThreads, defaultThreads),
		threadsGiven:       p.CPUThreads != nil,
		boxLigand:          r.Found.Contents[fieldBoxLigand].Molecule,
		prepared:           r.Found.Prepared,
		preparedRequired:   p.DockingExecution != nil && p.DockingExecution.PreparedReceptor != nil,
		title:              cmp.Or(r.JobName, r.JobID),
		depicted:           r.JobType == engines.JobTypePipeline,
		picture:            *p.DockingReport.Completed().Picture,
	}
	resolved.threads = min(resolved.threadsAsked, mostSearches(resolved.exhaustiveness), maxThreads)
	for _, take := range []func() error{
		func() error { return resolved.takeReceptor(r, p) },
		func() error { return resolved.takeValidation(p) },
		func() error { return resolved.takeLigands(p) },
		func() error { return resolved.takeBox(p) },
	} {
		if err := take(); err != nil {
			return request{}, err
		}
	}
	return resolved, nil
}

func paramsOfRequest(r engines.Request) (Params, error) {
	p, err := engines.ParamsOf[Params](r)
	if err != nil {
		return p, fmt.Errorf("vina: %w", err)
	}
	return p, nil
}

func (p Params) selection() selection {
	return selection{AssemblyID: valueOr(p.ReceptorAssemblyID, ""), Model: valueOr(p.ReceptorModel, 0), Chains: p.ReceptorChains}
}

// takeReceptor finds the receptor's file: the named entry, else the named artifact, else the scene.
func (q *request) takeReceptor(r engines.Request, p Params) error {
	q.selection = p.selection()
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
	if err == nil {
		err = checkComponents(q.preparation)
	}
	if err != nil {
		return err
	}
	q.site = siteOf(r.Found.Contents[p.receptorField()].Structure, q.selection, q.preparation)
	return q.checkReceptor(p)
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
			return invalid(fmt.Sprintf("receptorPreparation.retainComponents[%d]", i),
				"is also in removeComponents; name a component in one of them")
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
		if err := checkStructure(*p.LigandIdentity); err != nil {
			return invalid("ligandIdentity.source.smiles", "%v", err)
		}
		q.ligands = []mol.LigandEntry{p.LigandIdentity.Completed()}
		return nil
	case len(p.LigandLibrary) == 0 && q.native != nil:
		q.nativeAlone, q.ligands = true, []mol.LigandEntry{q.nativeEntry()}
		return nil
	case len(p.LigandLibrary) == 0:
		return invalid("ligandIdentity", "is missing; give ligandIdentity for one ligand or ligandLibrary for several, or "+
			"dockingValidation to dock the receptor's own ligand again")
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
	return refuseUnreadable(p.LigandLibrary)
}

// refuseUnreadable refuses a library without a single ligand that could be read. One with some of them is docked, and names the
// others.
func refuseUnreadable(library []mol.LigandEntry) error {
	var first error
	for _, ligand := range library {
		err := checkStructure(ligand)
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	if len(library) > 1 {
		return invalid("ligandLibrary[0].source.smiles", "%v; none of the %d ligands can be read", first, len(library))
	}
	return invalid("ligandLibrary[0].source.smiles", "%v", first)
}

// checkStructure says what is wrong with the writing of a ligand's SMILES.
func checkStructure(ligand mol.LigandEntry) error {
	if ligand.Source.SMILES == nil {
		return nil
	}
	text := strings.TrimSpace(ligand.Source.SMILES.SMILES)
	err := notation.Check(text)
	switch {
	case err == nil:
		return nil
	case wordForm.MatchString(text):
		return fmt.Errorf("is no SMILES: %w; a name is looked up first (POST /v1/molecular/docking/ligands/resolve)", err)
	}
	return fmt.Errorf("is no SMILES: %w", err)
}

// wordForm is a text that reads as a name.
var wordForm = regexp.MustCompile(`^[A-Za-z][a-z-]{3,}$`)

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
		if a.ByteSize == 0 || a.ByteSize > maxLigandBytes {
			return invalid(field+".source.artifact.byteSize", "is %d; a ligand must have 1 to %d bytes", a.ByteSize, maxLigandBytes)
		}
		return nil
	}
	return invalid(field+".source", "is missing; give a ccd component, a smiles or an artifact")
}

// nativeEntry is the native ligand as the only ligand of a job, protonated as the receptor is.
func (q *request) nativeEntry() mol.LigandEntry {
	componentID := strings.ToUpper(q.native.ComponentID)
	entry := mol.LigandEntry{
		LigandID: componentID, Label: cmp.Or(q.components[componentID].Name, componentID),
		Source:      mol.LigandSource{CCD: &mol.CCDSource{Kind: mol.SourceCCD, ComponentID: componentID}},
		Preparation: &mol.LigandPreparation{ProtonationPh: q.preparation.ProtonationPh},
	}
	return entry.Completed()
}

// unknownNative stands for the native ligand of an estimate whose receptor nobody has read.
var unknownNative = NativeReference{ComponentID: "LIG", Chain: "A", Residue: 1}

// takeValidation takes the ligand that is docked again: the one that is named, else the one that is bound.
func (q *request) takeValidation(p Params) error {
	v := valueOr(p.DockingValidation, DockingValidation{})
	bound := valueOr(v.RedockBound, false)
	switch {
	case bound && v.NativeReference != nil:
		return invalid("dockingValidation.redockBound", "is given beside nativeReference; give one of them")
	case v.GateRMSDAngstrom != nil && v.NativeReference == nil && !bound:
		return invalid("dockingValidation.gateRmsdAngstrom", "needs nativeReference or redockBound, the ligand that is "+
			"docked again")
	}
	q.native, q.gateRMSDAngstrom = v.NativeReference, v.GateRMSDAngstrom
	switch {
	case bound && q.site == nil:
		q.native = &unknownNative
	case bound:
		found, err := q.chooseNative(p)
		if err != nil {
			return err
		}
		q.nativeAt, q.native = &found, referenceTo(found)
	case q.native != nil && q.site != nil:
		insertionCode := strings.TrimSpace(valueOr(q.native.InsertionCode, ""))
		found, ok := q.site.find(q.native.ComponentID, q.native.Chain, &q.native.Residue, &insertionCode)
		if !ok {
			return invalid("dockingValidation.nativeReference", "names %s, chain %s, residue %d%s, which the receptor does not "+
				"have; beside its chains it has: %s",
				strings.ToUpper(q.native.ComponentID), q.native.Chain, q.native.Residue, insertionCode, q.site.listed())
		}
		q.nativeAt = &found
	}
	return nil
}

// nativeComponent is the component of the ligand that redockBound means in a receptor; "" where it is not asked for, or not found.
func (p Params) nativeComponent(receptor *coordinates.Structure) string {
	if p.DockingValidation == nil || !valueOr(p.DockingValidation.RedockBound, false) || receptor == nil {
		return ""
	}
	q := request{site: siteOf(receptor, p.selection(), p.ReceptorPreparation.Completed())}
	found, err := q.chooseNative(p)
	if err != nil {
		return ""
	}
	return found.Name
}

// chooseNative finds the ligand that redockBound means.
func (q *request) chooseNative(p Params) (coordinates.Residue, error) {
	if p.PocketLigand != nil {
		found, ok := q.site.find(*p.PocketLigand, valueOr(p.PocketLigandChain, ""), p.PocketLigandResidue, nil)
		if !ok {
			return found, invalid("pocketLigand", "names %s, which the receptor does not have; beside its chains it has: %s",
				strings.ToUpper(*p.PocketLigand), q.site.listed())
		}
		return found, nil
	}
	found, _, ok := q.site.bound()
	if !ok {
		return found, invalid("dockingValidation.redockBound", "asks for the bound ligand, but the receptor holds no drug-like "+
			"one of %d to %d heavy atoms; beside its chains it has: %s. Name one as nativeReference",
			fewestLigandAtoms, mostLigandAtoms, q.site.listed())
	}
	return found, nil
}

func referenceTo(r coordinates.Residue) *NativeReference {
	reference := NativeReference{ComponentID: r.Name, Chain: r.Chain, Residue: r.Number}
	if r.InsertionCode != "" {
		reference.InsertionCode = &r.InsertionCode
	}
	return &reference
}

// leaves are the ligands that are taken out of the receptor because they are docked again, or because the box lies around them.
func (q *request) leaves() []*coordinates.Residue {
	var found []*coordinates.Residue
	if q.nativeAt != nil {
		found = append(found, q.site.linked(*q.nativeAt)...)
	}
	if around := q.box.around; around != nil && !q.site.retain[around.Name] {
		found = append(found, q.site.linked(*around)...)
	}
	return found
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
