package cli

import (
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/internal/client"
	"github.com/molfabric/molfabric/internal/mol"
)

// simulator is the one that `dock` asks for.
const simulator = "autodock-vina"

// search is what a user may say about a docking, beside receptor and ligands. What is nil is the server's to choose.
type search struct {
	center         mol.BoxCenter
	size           mol.BoxSize
	exhaustiveness *int
	numModes       *int
	energyRange    *float64 // kcal/mol
	seed           *int64
	shardSize      *int
	cpuThreads     *int
	ph             *float64
}

// dockRequest is a docking as POST /v1/jobs/submit and /estimate take it; the latter without sceneFile and jobName.
type dockRequest struct {
	JobType          string     `json:"jobType"`
	SceneFile        string     `json:"sceneFile,omitempty"`
	JobName          string     `json:"jobName,omitempty"`
	Simulator        string     `json:"simulator"`
	SimulationParams dockParams `json:"simulationParams"`
}

type dockParams struct {
	LigandLibrary       []mol.LigandEntry        `json:"ligandLibrary"`
	ReceptorPreparation *mol.ReceptorPreparation `json:"receptorPreparation,omitempty"`
	DockingExecution    *dockExecution           `json:"dockingExecution,omitempty"`
	BoxCenterAngstrom   mol.BoxCenter            `json:"boxCenterAngstrom"`
	BoxSizeAngstrom     mol.BoxSize              `json:"boxSizeAngstrom"`
	Exhaustiveness      *int                     `json:"exhaustiveness,omitempty"`
	NumModes            *int                     `json:"numModes,omitempty"`
	EnergyRangeKcalMol  *float64                 `json:"energyRangeKcalMol,omitempty"`
	Seed                *int64                   `json:"seed,omitempty"`
	CPUThreads          *int                     `json:"cpuThreads,omitempty"`
}

type dockExecution struct {
	ShardSize int `json:"shardSize"`
}

// newDockRequest writes the request for an estimate. files are the uploads of the ligands that are files, by their ids.
func newDockRequest(ligands []ligand, s search, files map[string]client.Uploaded) dockRequest {
	params := dockParams{
		BoxCenterAngstrom: s.center, BoxSizeAngstrom: s.size, Exhaustiveness: s.exhaustiveness, NumModes: s.numModes,
		EnergyRangeKcalMol: s.energyRange, Seed: s.seed, CPUThreads: s.cpuThreads,
	}
	if s.shardSize != nil {
		params.DockingExecution = &dockExecution{ShardSize: *s.shardSize}
	}
	if s.ph != nil {
		params.ReceptorPreparation = &mol.ReceptorPreparation{ProtonationPh: s.ph}
	}
	for _, l := range ligands {
		entry := mol.LigandEntry{LigandID: l.id, Label: l.label}
		if s.ph != nil {
			entry.Preparation = &mol.LigandPreparation{ProtonationPh: s.ph}
		}
		if l.path == "" {
			entry.Source.SMILES = &mol.SMILESSource{Kind: mol.SourceSMILES, SMILES: l.smiles}
		} else {
			entry.Source.Artifact = &mol.ArtifactSource{Kind: mol.SourceArtifact, Artifact: reference(l, files[l.id])}
		}
		params.LigandLibrary = append(params.LigandLibrary, entry)
	}
	return dockRequest{JobType: "simulation", Simulator: simulator, SimulationParams: params}
}

func reference(l ligand, file client.Uploaded) mol.ArtifactReference {
	return mol.ArtifactReference{
		Schema: mol.ArtifactSchema, ArtifactID: l.id, StorageKey: file.StorageKey, SHA256: file.SHA256, ByteSize: file.ByteSize,
		MediaType: file.ContentType, Format: formatOf(l.path),
	}
}

// parseCenter reads "x,y,z" in Å.
func parseCenter(flag string) (mol.BoxCenter, error) {
	numbers, err := parseNumbers(flag)
	if err != nil || len(numbers) != 3 {
		return mol.BoxCenter{}, usage("--center %q: write x,y,z in Å, such as 15.8,14.6,3.9", flag)
	}
	return mol.BoxCenter(numbers), nil
}

// parseSize reads the edge of a cube or "x,y,z" in Å.
func parseSize(flag string) (mol.BoxSize, error) {
	numbers, err := parseNumbers(flag)
	if err == nil && len(numbers) == 1 {
		numbers = []float64{numbers[0], numbers[0], numbers[0]}
	}
	if err != nil || len(numbers) != 3 {
		return mol.BoxSize{}, usage("--size %q: write one edge or x,y,z in Å, such as 22 or 20,20,26", flag)
	}
	for _, edge := range numbers {
		if !(edge >= mol.MinBoxEdgeAngstrom && edge <= mol.MaxBoxEdgeAngstrom) {
			return mol.BoxSize{}, usage("--size %q: each edge must be %g to %g Å", flag, mol.MinBoxEdgeAngstrom, mol.MaxBoxEdgeAngstrom)
		}
	}
	return mol.BoxSize(numbers), nil
}

func parseNumbers(flag string) ([]float64, error) {
	var numbers []float64
	for part := range strings.SplitSeq(flag, ",") {
		number, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || number-number != 0 { // neither infinite nor NaN
			return nil, usage("%q is no number", part)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}
