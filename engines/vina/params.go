package vina

import "github.com/molfabric/molfabric/internal/mol"

// Params are the members of simulationParams that say how to dock (doc/contract.md §2.2). The API embeds the struct, so its tags
// are the rules of the public contract.
type Params struct {
	ReceptorPDBID       *string                  `json:"receptorPdbId,omitempty" pattern:"^[0-9][A-Za-z0-9]{3}$" patternDescription:"a digit and three letters or digits" doc:"The receptor as an entry of the Protein Data Bank; the deployment fetches its mmCIF."`
	ReceptorArtifact    *mol.ArtifactReference   `json:"receptorArtifact,omitempty" doc:"The receptor, when it is not the sceneFile itself; PDB, mmCIF or PDBQT."`
	ReceptorAssemblyID  *string                  `json:"receptorAssemblyId,omitempty" minLength:"1" maxLength:"32" doc:"The biological assembly of the receptor to dock into; the structure as it was deposited when left out."`
	ReceptorModel       *int                     `json:"receptorModel,omitempty" minimum:"1" maximum:"9999" doc:"The model of the receptor to dock into, of a file with several; the first when left out."`
	ReceptorChains      []string                 `json:"receptorChains,omitempty" minItems:"1" maxItems:"128" minLength:"1" maxLength:"16" doc:"The chains of the receptor to dock into, by their author ids; all when left out."`
	LigandIdentity      *mol.LigandEntry         `json:"ligandIdentity,omitempty" doc:"The ligand of a docking of one ligand. Without it and ligandLibrary the native ligand of dockingValidation alone is docked, once."`
	LigandLibrary       []mol.LigandEntry        `json:"ligandLibrary,omitempty" minItems:"1" maxItems:"10000" doc:"The ligands of a docking of many; used in place of ligandIdentity."`
	ReceptorPreparation *mol.ReceptorPreparation `json:"receptorPreparation,omitempty" doc:"How to prepare the receptor."`
	DockingValidation   *DockingValidation       `json:"dockingValidation,omitempty" doc:"What to hold the docking against."`
	DockingExecution    *DockingExecution        `json:"dockingExecution,omitempty" doc:"How to cut the library into tasks."`
	DockingReport       *DockingReport           `json:"dockingReport,omitempty" doc:"What the report shows."`
	PocketLigand        *string                  `json:"pocketLigand,omitempty" minLength:"1" maxLength:"8" doc:"Residue name of the ligand in the receptor whose place is the box, when boxCenterAngstrom is left out."`
	PocketLigandChain   *string                  `json:"pocketLigandChain,omitempty" minLength:"1" maxLength:"16" doc:"Chain of that ligand."`
	PocketLigandResidue *int                     `json:"pocketLigandResidue,omitempty" minimum:"-9999" maximum:"99999" doc:"Residue number of that ligand."`
	PocketResidues      []PocketResidue          `json:"pocketResidues,omitempty" minItems:"1" maxItems:"256" doc:"Residues of the receptor around which the box is laid, when neither boxCenterAngstrom nor pocketLigand is given."`
	BoxSource           *string                  `json:"boxSource,omitempty" enum:"boundLigand,fpocket" doc:"Where the box is laid when no other member says where: around the drug-like ligand that is bound, or around the best pocket that fpocket finds. When left out: the native ligand of dockingValidation, else the bound ligand, else the best pocket."`
	BoxLigandArtifact   *mol.ArtifactReference   `json:"boxLigandArtifact,omitempty" doc:"A ligand in the receptor's coordinates around which the box is laid: SDF, MOL2, PDB, PDBQT or mmCIF. It takes no other part in the docking."`
	BoxCenterAngstrom   *mol.BoxCenter           `json:"boxCenterAngstrom,omitempty" doc:"Centre of the docking box in Å: x, y, z. Where neither it nor boxLigandArtifact, pocketLigand and pocketResidues are given, boxSource says where the box is laid."`
	BoxSizeAngstrom     *mol.BoxSize             `json:"boxSizeAngstrom,omitempty" doc:"Size of the docking box in Å: one number for a cube, or x, y, z; each 1 to 100. Required with boxCenterAngstrom; a box around a pocket fits the pocket when it is left out."`
	Exhaustiveness      *mol.Exhaustiveness      `json:"exhaustiveness,omitempty" doc:"Independent searches per ligand: 1 to 128, or auto; 8 when left out. With auto each ligand is searched until two independent searches find the same best pose, up to 16 or 32 by its size, and the result says whether they did."`
	NumModes            *int                     `json:"numModes,omitempty" minimum:"1" maximum:"100" doc:"Most poses kept per ligand; 9 when left out."`
	EnergyRangeKcalMol  *float64                 `json:"energyRangeKcalMol,omitempty" minimum:"0.1" maximum:"100" doc:"Poses this much worse than the best are dropped, in kcal/mol; 3 when left out."`
	RankBy              *string                  `json:"rankBy,omitempty" enum:"vina,cnn" doc:"What poses and ligands are ranked by: Vina's score, or the probability by GNINA's network that a pose is near to native, which each analysed pose gets besides; vina when left out. Among one ligand's poses by cnn 1 kcal/mol of Vina's score weighs as much as 0.05 of probability."`
	Seed                *int64                   `json:"seed,omitempty" minimum:"-2147483648" maximum:"2147483647" doc:"Seed of every random choice; 1 when left out."`
	CPUThreads          *int                     `json:"cpuThreads,omitempty" minimum:"1" maximum:"256" doc:"Threads per docking task. When left out: 1, and where there are at most seven docking tasks also the cores that are free when they start. Poses do not depend on it; more than exhaustiveness, or than 8, bring nothing."`
}

// DockingValidation says what a docking is held against.
type DockingValidation struct {
	NativeReference *NativeReference `json:"nativeReference,omitempty" doc:"The ligand in the receptor's structure that is docked again, to see whether its pose is found."`
	// Beside the contract's members, so that nobody has to look up what his structure calls its ligand.
	RedockBound *bool `json:"redockBound,omitempty" doc:"Docks the ligand again that pocketLigand names, else the drug-like one that is bound, in place of nativeReference."`
	// Beside the contract's members, which leave open when a poor redocking is reason to stop.
	GateRMSDAngstrom *float64 `json:"gateRmsdAngstrom,omitempty" minimum:"0.1" maximum:"20" doc:"The library is docked only when the native ligand is found again within this deviation in Å, usually 2; otherwise the job ends there. Needs nativeReference or redockBound. Of a job without other ligands it only says what passes."`
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
	ShardSize        *int              `json:"shardSize,omitempty" minimum:"1" maximum:"10" default:"1" doc:"Most ligands per docking task. Towards the end of a library tasks become smaller, so that no processor waits for the last one."`
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

// DockingReport says what the report shows.
type DockingReport struct {
	Picture *string `json:"picture,omitempty" enum:"none,molstar,cycles" default:"molstar" doc:"What draws the best pose in its site and the box: Mol* (raster, about 20 CPU seconds), Cycles (ray-traced, about 120), or nothing. Where the worker lacks the renderer, the report goes without and says so."`
}

// Completed returns the report's choices with every default filled in. A nil receiver means all of them.
func (r *DockingReport) Completed() DockingReport {
	completed := valueOr(r, DockingReport{})
	if completed.Picture == nil {
		picture := PictureMolstar
		completed.Picture = &picture
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
