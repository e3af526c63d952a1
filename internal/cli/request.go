package cli

import (
	"slices"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/mol"
)

// simulator is the one that `dock` asks for.
const simulator = "autodock-vina"

// What poses and ligands may be ranked by.
const (
	rankByVina = "vina"
	rankByCNN  = "cnn"
)

// search is what a user may say about a docking, beside receptor, box and ligands. What is nil is the server's to choose.
type search struct {
	exhaustiveness *mol.Exhaustiveness
	rankBy         string // "" for what docking.ranking says
	numModes       *int
	energyRange    *float64 // kcal/mol
	seed           *int64
	shardSize      *int
	cpuThreads     *int
	ph             *float64
	redock         *redock  // the structure's own ligand, docked again; nil for none
	gate           *float64 // Å
	picture        *string  // what draws the report's pictures
}

// jobRequest is a job as POST /v1/jobs/submit and /estimate take it; the latter without sceneFile and jobName.
type jobRequest[P any] struct {
	JobType          string `json:"jobType"`
	SceneFile        string `json:"sceneFile,omitempty"`
	JobName          string `json:"jobName,omitempty"`
	Simulator        string `json:"simulator"`
	SimulationParams P      `json:"simulationParams"`
}

type dockRequest = jobRequest[dockParams]

type dockParams struct {
	ReceptorPDBID       string                   `json:"receptorPdbId,omitempty"`
	ReceptorAssemblyID  string                   `json:"receptorAssemblyId,omitempty"`
	ReceptorModel       int                      `json:"receptorModel,omitempty"`
	ReceptorChains      []string                 `json:"receptorChains,omitempty"`
	ReceptorArtifact    *mol.ArtifactReference   `json:"receptorArtifact,omitempty"`
	LigandLibrary       []mol.LigandEntry        `json:"ligandLibrary,omitempty"`
	ReceptorPreparation *mol.ReceptorPreparation `json:"receptorPreparation,omitempty"`
	DockingValidation   *dockValidation          `json:"dockingValidation,omitempty"`
	DockingExecution    *dockExecution           `json:"dockingExecution,omitempty"`
	DockingReport       *dockReport              `json:"dockingReport,omitempty"`
	PocketLigand        string                   `json:"pocketLigand,omitempty"`
	PocketLigandChain   string                   `json:"pocketLigandChain,omitempty"`
	PocketLigandResidue *int                     `json:"pocketLigandResidue,omitempty"`
	PocketResidues      []residuePlace           `json:"pocketResidues,omitempty"`
	BoxSource           string                   `json:"boxSource,omitempty"`
	BoxLigandArtifact   *mol.ArtifactReference   `json:"boxLigandArtifact,omitempty"`
	BoxCenterAngstrom   *mol.BoxCenter           `json:"boxCenterAngstrom,omitempty"`
	BoxSizeAngstrom     *mol.BoxSize             `json:"boxSizeAngstrom,omitempty"`
	Exhaustiveness      *mol.Exhaustiveness      `json:"exhaustiveness,omitempty"`
	RankBy              string                   `json:"rankBy,omitempty"`
	NumModes            *int                     `json:"numModes,omitempty"`
	EnergyRangeKcalMol  *float64                 `json:"energyRangeKcalMol,omitempty"`
	Seed                *int64                   `json:"seed,omitempty"`
	CPUThreads          *int                     `json:"cpuThreads,omitempty"`
}

type dockValidation struct {
	NativeReference  *residueName `json:"nativeReference,omitempty"`
	RedockBound      bool         `json:"redockBound,omitempty"`
	GateRMSDAngstrom *float64     `json:"gateRmsdAngstrom,omitempty"`
}

type dockExecution struct {
	ShardSize int `json:"shardSize"`
}

type dockReport struct {
	Picture string `json:"picture"`
}

// residuePlace is a residue's place in a structure, by its author's numbering.
type residuePlace struct {
	Chain         string `json:"chain"`
	Residue       int    `json:"residue"`
	InsertionCode string `json:"insertionCode,omitempty"`
}

// residueName is a residue by its place and its component.
type residueName struct {
	ComponentID string `json:"componentId"`
	residuePlace
}

// dockFiles are the uploads of a docking's files: those of ligands by the ligands' ids. What is nil or absent is not uploaded.
type dockFiles struct {
	receptor, boxLigand *client.Uploaded
	ligands             map[string]client.Uploaded
}

// place is a file of a docking beside its ligands, and where its upload is noted.
type place struct {
	path string
	into **client.Uploaded
}

// places are the files of a docking beside its ligands.
func (f *dockFiles) places(d docking) []place {
	all := []place{{d.receptor.path, &f.receptor}, {d.box.file, &f.boxLigand}}
	return slices.DeleteFunc(all, func(p place) bool { return p.path == "" })
}

// ranking is what poses and ligands are ranked by; "" leaves it to the server, which takes Vina's score. Poses of one ligand are
// ranked by the network, which finds crystal poses more often (doc/redocking.md); it does not tell which of several ligands binds
// best.
func (d docking) ranking() string {
	if d.search.rankBy == "" && len(d.ligands) <= 1 {
		return rankByCNN
	}
	return d.search.rankBy
}

// newDockRequest writes the request without its scene.
func newDockRequest(d docking, files dockFiles) dockRequest {
	s := d.search
	params := dockParams{
		ReceptorPDBID: d.receptor.pdbID, ReceptorAssemblyID: d.receptor.assembly, ReceptorModel: d.receptor.model,
		ReceptorChains: d.receptor.chains, ReceptorPreparation: d.receptor.preparationAt(s.ph), Exhaustiveness: s.exhaustiveness,
		RankBy: d.ranking(), NumModes: s.numModes, EnergyRangeKcalMol: s.energyRange, Seed: s.seed, CPUThreads: s.cpuThreads,
	}
	d.box.put(&params)
	if s.shardSize != nil {
		params.DockingExecution = &dockExecution{ShardSize: *s.shardSize}
	}
	s.redock.put(&params, s.gate)
	if files.receptor != nil {
		params.ReceptorArtifact = referenceOf(*files.receptor, "receptor", receptorFormats[formatOf(d.receptor.path)])
	}
	if files.boxLigand != nil {
		params.BoxLigandArtifact = referenceOf(*files.boxLigand, "box-ligand", boxLigandFormat(d.box.file))
	}
	if s.picture != nil {
		params.DockingReport = &dockReport{Picture: *s.picture}
	}
	for _, l := range d.ligands {
		entry := mol.LigandEntry{LigandID: l.id, Label: l.label, Source: l.source(files.ligands[l.id])}
		if s.ph != nil {
			entry.Preparation = &mol.LigandPreparation{ProtonationPh: s.ph}
		}
		params.LigandLibrary = append(params.LigandLibrary, entry)
	}
	return dockRequest{JobType: "simulation", Simulator: simulator, SimulationParams: params}
}

// source is what the request says a ligand is; file is its upload, for a ligand that is one.
func (l ligand) source(file client.Uploaded) mol.LigandSource {
	switch {
	case l.path != "":
		return mol.LigandSource{Artifact: &mol.ArtifactSource{Kind: mol.SourceArtifact,
			Artifact: *referenceOf(file, l.id, formatOf(l.path))}}
	case l.componentID != "":
		return mol.LigandSource{CCD: &mol.CCDSource{Kind: mol.SourceCCD, ComponentID: l.componentID}}
	}
	return mol.LigandSource{SMILES: &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: l.smiles}}
}

// referenceOf is an uploaded file as a request refers to it.
func referenceOf(file client.Uploaded, id, format string) *mol.ArtifactReference {
	return &mol.ArtifactReference{
		Schema: mol.ArtifactSchema, ArtifactID: id, StorageKey: file.StorageKey, SHA256: file.SHA256, ByteSize: file.ByteSize,
		MediaType: file.ContentType, Format: format,
	}
}
