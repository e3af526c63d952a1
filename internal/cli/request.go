package cli

import (
	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/mol"
)

// simulator is the one that `dock` asks for.
const simulator = "autodock-vina"

// search is what a user may say about a docking, beside receptor, box and ligands. What is nil is the server's to choose.
type search struct {
	exhaustiveness *int
	numModes       *int
	energyRange    *float64 // kcal/mol
	seed           *int64
	shardSize      *int
	cpuThreads     *int
	ph             *float64
	redock         *residueName // the structure's own ligand, docked again
	gate           *float64     // Å
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
	LigandLibrary       []mol.LigandEntry        `json:"ligandLibrary"`
	ReceptorPreparation *mol.ReceptorPreparation `json:"receptorPreparation,omitempty"`
	DockingValidation   *dockValidation          `json:"dockingValidation,omitempty"`
	DockingExecution    *dockExecution           `json:"dockingExecution,omitempty"`
	PocketLigand        string                   `json:"pocketLigand,omitempty"`
	PocketLigandChain   string                   `json:"pocketLigandChain,omitempty"`
	PocketLigandResidue *int                     `json:"pocketLigandResidue,omitempty"`
	PocketResidues      []residuePlace           `json:"pocketResidues,omitempty"`
	BoxCenterAngstrom   *mol.BoxCenter           `json:"boxCenterAngstrom,omitempty"`
	BoxSizeAngstrom     *mol.BoxSize             `json:"boxSizeAngstrom,omitempty"`
	Exhaustiveness      *int                     `json:"exhaustiveness,omitempty"`
	NumModes            *int                     `json:"numModes,omitempty"`
	EnergyRangeKcalMol  *float64                 `json:"energyRangeKcalMol,omitempty"`
	Seed                *int64                   `json:"seed,omitempty"`
	CPUThreads          *int                     `json:"cpuThreads,omitempty"`
}

type dockValidation struct {
	NativeReference  residueName `json:"nativeReference"`
	GateRMSDAngstrom *float64    `json:"gateRmsdAngstrom,omitempty"`
}

type dockExecution struct {
	ShardSize int `json:"shardSize"`
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

// newDockRequest writes the request for an estimate. files are the uploads of the ligands that are files, by their ids.
func newDockRequest(d docking, files map[string]client.Uploaded) dockRequest {
	s := d.search
	params := dockParams{
		ReceptorPDBID: d.receptor.pdbID, ReceptorAssemblyID: d.receptor.assembly, ReceptorModel: d.receptor.model, ReceptorChains: d.receptor.chains,
		ReceptorPreparation: d.receptor.preparationAt(s.ph), Exhaustiveness: s.exhaustiveness, NumModes: s.numModes,
		EnergyRangeKcalMol: s.energyRange, Seed: s.seed, CPUThreads: s.cpuThreads,
	}
	d.box.put(&params)
	if s.shardSize != nil {
		params.DockingExecution = &dockExecution{ShardSize: *s.shardSize}
	}
	if s.redock != nil {
		params.DockingValidation = &dockValidation{NativeReference: *s.redock, GateRMSDAngstrom: s.gate}
	}
	for _, l := range d.ligands {
		entry := mol.LigandEntry{LigandID: l.id, Label: l.label, Source: l.source(files[l.id])}
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
		return mol.LigandSource{Artifact: &mol.ArtifactSource{Kind: mol.SourceArtifact, Artifact: mol.ArtifactReference{
			Schema: mol.ArtifactSchema, ArtifactID: l.id, StorageKey: file.StorageKey, SHA256: file.SHA256, ByteSize: file.ByteSize,
			MediaType: file.ContentType, Format: formatOf(l.path),
		}}}
	case l.componentID != "":
		return mol.LigandSource{CCD: &mol.CCDSource{Kind: mol.SourceCCD, ComponentID: l.componentID}}
	}
	return mol.LigandSource{SMILES: &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: l.smiles}}
}
