// Package openmm is the engine openmm: molecular dynamics of proteins and Amber systems with OpenMM. It plans three shards, writes
// their command lines and reads their outputs; the physics is in the Python programs beside it, which it embeds. It runs nothing
// itself.
//
// The stages: "prepare" makes a system of the input, "simulate" minimises, equilibrates and runs it, on the CPU or on a GPU, and
// saves itself on the way when the job is resumable, and "analyse" measures the trajectory and draws it.
package openmm

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/internal/mol"
)

// ID is the canonical simulator id of doc/contract.md §1.
const ID = "openmm"

// Params are the members of simulationParams that molecular dynamics reads (doc/contract.md §2.2). The API embeds the struct, so
// its tags are the rules of the public contract.
type Params struct {
	Request *DynamicsRequest `json:"openmmRequest,omitempty" doc:"A molecular dynamics run with OpenMM."`
}

// DynamicsRequest is a whole run: what is simulated, how, what is written and where it runs.
type DynamicsRequest struct {
	Schema    string            `json:"schema" const:"molecule.openmm.request/v1" doc:"Always molecule.openmm.request/v1."`
	RequestID string            `json:"requestId" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$" doc:"The caller's id of the request."`
	RunID     string            `json:"runId" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$" doc:"The caller's id of the run."`
	Confirmed bool              `json:"confirmed" enum:"true" doc:"The caller has confirmed the protocol; only true is allowed."`
	Input     DynamicsInput     `json:"input" doc:"The system to simulate."`
	Protocol  DynamicsProtocol  `json:"protocol" doc:"How to simulate it."`
	Outputs   DynamicsOutputs   `json:"outputs" doc:"What to write, and how often."`
	Execution DynamicsExecution `json:"execution" doc:"Where and with which worker image to run."`
}

// The kinds of a run's input.
const (
	InputProtein = "protein"
	InputAmber   = "amber"
)

// DynamicsInput is the system to simulate. Exactly one member is set; in JSON it is that member's object, told apart by "kind".
type DynamicsInput struct {
	Protein *ProteinInput
	Amber   *AmberInput
}

// ProteinInput is a protein that gets its force field and water from the protocol.
type ProteinInput struct {
	Kind        string           `json:"kind" const:"protein" doc:"Always protein."`
	Coordinates DynamicsArtifact `json:"coordinates" doc:"The structure: pdb or mmcif."`
}

// AmberInput is a prepared Amber system.
type AmberInput struct {
	Kind        string           `json:"kind" const:"amber" doc:"Always amber."`
	Prmtop      DynamicsArtifact `json:"prmtop" doc:"Topology and parameters: prmtop."`
	Coordinates DynamicsArtifact `json:"coordinates" doc:"Coordinates that fit the topology: inpcrd."`
}

// Schema describes the union.
func (DynamicsInput) Schema(r huma.Registry) *huma.Schema {
	return mol.UnionSchema(r,
		mol.Variant{Kind: InputProtein, Type: reflect.TypeFor[ProteinInput]()},
		mol.Variant{Kind: InputAmber, Type: reflect.TypeFor[AmberInput]()},
	)
}

// UnmarshalJSON reads the member that "kind" names and refuses members that this kind does not have.
func (i *DynamicsInput) UnmarshalJSON(text []byte) error {
	protein, amber := ProteinInput{}, AmberInput{}
	if err := mol.ReadVariant("input", text, map[string]any{InputProtein: &protein, InputAmber: &amber}); err != nil {
		return err
	}
	*i = DynamicsInput{}
	if protein.Kind != "" {
		i.Protein = &protein
	} else {
		i.Amber = &amber
	}
	return nil
}

// MarshalJSON writes the member that is set. An input without one is a programming error.
func (i DynamicsInput) MarshalJSON() ([]byte, error) {
	switch {
	case i.Protein != nil:
		return json.Marshal(ProteinInput{Kind: InputProtein, Coordinates: i.Protein.Coordinates})
	case i.Amber != nil:
		return json.Marshal(AmberInput{Kind: InputAmber, Prmtop: i.Amber.Prmtop, Coordinates: i.Amber.Coordinates})
	}
	return nil, errors.New("openmm: an input without a kind")
}

// The formats of an OpenMM artifact that a run can start from.
const (
	FormatPDB        = "pdb"
	FormatMMCIF      = "mmcif"
	FormatPrmtop     = "prmtop"
	FormatInpcrd     = "inpcrd"
	FormatCheckpoint = "checkpoint"
	FormatStateXML   = "openmm-state-xml"
)

// DynamicsArtifact points to a stored file of a run and says what the file must be found to be.
type DynamicsArtifact struct {
	Schema     string `json:"schema" const:"molecule.openmm.artifact/v1" doc:"Always molecule.openmm.artifact/v1."`
	ArtifactID string `json:"artifactId" pattern:"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$" doc:"The caller's name for the artifact."`
	StorageKey string `json:"storageKey" minLength:"1" maxLength:"2048" pattern:"^[A-Za-z0-9][A-Za-z0-9._/-]*$" doc:"Key of the stored file, as the upload gave it."`
	SHA256     string `json:"sha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of the file, 64 lower-case hexadecimal digits."`
	ByteSize   int64  `json:"byteSize" minimum:"1" maximum:"2147483648" doc:"Size of the file in bytes."`
	Format     string `json:"format" enum:"pdb,mmcif,prmtop,inpcrd,dcd,csv,json,checkpoint,openmm-state-xml" doc:"File format."`
	MediaType  string `json:"mediaType" minLength:"1" maxLength:"255" doc:"Media type of the file, e.g. chemical/x-pdb."`
}

// Force fields and water models that name the parameters of the input itself.
const (
	ForceFieldAmberPrmtop = "amber-prmtop"
	WaterInputParameters  = "input-parameters"
)

// DynamicsProtocol is the physics of a run.
type DynamicsProtocol struct {
	ForceField               string        `json:"forceField" enum:"amber14,amber19,amber-prmtop" doc:"Force field; amber-prmtop takes the input's own parameters."`
	WaterModel               string        `json:"waterModel" enum:"tip3p,tip3pfb,input-parameters" doc:"Water model; input-parameters takes the input's own."`
	PH                       float64       `json:"pH" minimum:"0" maximum:"14" doc:"pH at which residues are protonated."`
	IonicStrengthM           float64       `json:"ionicStrengthM" minimum:"0" maximum:"0.5" doc:"Ionic strength of the solvent, in mol/l."`
	TemperatureK             float64       `json:"temperatureK" minimum:"250" maximum:"350" doc:"Temperature in K."`
	PressureBar              float64       `json:"pressureBar" minimum:"0.5" maximum:"2" doc:"Pressure in bar."`
	TimestepFs               float64       `json:"timestepFs" minimum:"0.5" maximum:"4" doc:"Time step in fs."`
	FrictionPerPs            float64       `json:"frictionPerPs" minimum:"0.1" maximum:"10" doc:"Friction of the Langevin integrator, in 1/ps."`
	Constraints              string        `json:"constraints" const:"HBonds" doc:"Always HBonds."`
	NonbondedMethod          string        `json:"nonbondedMethod" const:"PME" doc:"Always PME."`
	Minimization             Minimization  `json:"minimization" doc:"Energy minimisation before anything moves."`
	Equilibration            Equilibration `json:"equilibration" doc:"Steps before production."`
	ProductionSteps          int64         `json:"productionSteps" minimum:"1" maximum:"50000000" doc:"Steps of production."`
	Seed                     int64         `json:"seed" minimum:"1" maximum:"2147483647" doc:"Seed of every random choice."`
	RemoveCenterOfMassMotion bool          `json:"removeCenterOfMassMotion" doc:"Whether the drift of the whole system is removed."`
}

// Minimization says whether and how far the energy is minimised.
type Minimization struct {
	Enabled          bool    `json:"enabled" doc:"Whether to minimise."`
	MaxIterations    int     `json:"maxIterations" minimum:"0" maximum:"100000" doc:"Most iterations; 0 is until it has converged."`
	ToleranceKjMolNm float64 `json:"toleranceKjMolNm" minimum:"0.1" maximum:"1000" doc:"Converged when the root-mean-square force is below, in kJ/mol/nm."`
}

// Equilibration is how long the system settles before production.
type Equilibration struct {
	NVTSteps int `json:"nvtSteps" minimum:"0" maximum:"250000" doc:"Steps at constant volume."`
	NPTSteps int `json:"nptSteps" minimum:"0" maximum:"250000" doc:"Steps at constant pressure."`
}

// DynamicsOutputs says what a run writes and how often, in steps.
type DynamicsOutputs struct {
	TrajectoryIntervalSteps int64  `json:"trajectoryIntervalSteps" minimum:"1" doc:"Steps between two frames of the trajectory."`
	StateIntervalSteps      int64  `json:"stateIntervalSteps" minimum:"1" doc:"Steps between two lines of energies."`
	CheckpointIntervalSteps int64  `json:"checkpointIntervalSteps" minimum:"1" doc:"Steps between two checkpoints."`
	AnalysisIntervalSteps   int64  `json:"analysisIntervalSteps" minimum:"1" doc:"Steps between two frames that are analysed."`
	TrajectoryFormat        string `json:"trajectoryFormat" const:"dcd" doc:"Always dcd."`
}

// DynamicsExecution says where a run happens and what it goes on from.
type DynamicsExecution struct {
	Platform          DynamicsPlatform   `json:"platform" doc:"The OpenMM platform."`
	WorkerImageDigest string             `json:"workerImageDigest" pattern:"^sha256:[0-9a-f]{64}$" patternDescription:"sha256: and 64 lower-case hexadecimal digits" doc:"Digest of the worker image that must run it."`
	RestartCheckpoint *DynamicsArtifact  `json:"restartCheckpoint,omitempty" doc:"Checkpoint or state of an earlier run to go on from."`
	RestartProvenance *RestartProvenance `json:"restartProvenance,omitempty" doc:"What the earlier run was; it must have been the same system, integrator and platform."`
}

// The OpenMM platform that takes no device.
const (
	PlatformCPU = "CPU"
	DeviceCPU   = "cpu"
	// PrecisionDouble is what that platform lacks.
	PrecisionDouble = "double"
)

// DynamicsPlatform is the OpenMM platform of a run.
type DynamicsPlatform struct {
	Name        string `json:"name" enum:"CPU,CUDA,OpenCL" doc:"Name of the platform."`
	Precision   string `json:"precision" enum:"single,mixed,double" doc:"Precision of forces and integration."`
	DeviceIndex string `json:"deviceIndex" pattern:"^(cpu|[0-9]+(,[0-9]+)*)$" patternDescription:"cpu, or device numbers joined by commas" doc:"cpu on the CPU platform, else the devices, e.g. 0 or 0,1."`
}

// RestartProvenance is what a checkpoint belongs to.
type RestartProvenance struct {
	RequestSHA256     string `json:"requestSha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of the earlier request."`
	SystemSHA256      string `json:"systemSha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of the serialised system."`
	TopologySHA256    string `json:"topologySha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of the topology."`
	IntegratorSHA256  string `json:"integratorSha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of the serialised integrator."`
	PlatformSHA256    string `json:"platformSha256" pattern:"^[0-9a-f]{64}$" patternDescription:"64 lower-case hexadecimal digits" doc:"SHA-256 of the platform's name, version and properties."`
	OpenMMVersion     string `json:"openmmVersion" minLength:"1" maxLength:"64" doc:"Version of OpenMM."`
	PlatformName      string `json:"platformName" enum:"CPU,CUDA,OpenCL" doc:"Name of the platform."`
	WorkerImageDigest string `json:"workerImageDigest" pattern:"^sha256:[0-9a-f]{64}$" patternDescription:"sha256: and 64 lower-case hexadecimal digits" doc:"Digest of the worker image."`
}

// NamedFiles lists what the run starts from.
func (p *Params) NamedFiles() []engines.NamedFile {
	if p.Request == nil {
		return nil
	}
	var files []engines.NamedFile
	add := func(path string, a *DynamicsArtifact) {
		if a != nil {
			files = append(files, engines.NamedFile{Path: "openmmRequest." + path, Object: *object(*a)})
		}
	}
	if protein := p.Request.Input.Protein; protein != nil {
		add("input.coordinates", &protein.Coordinates)
	}
	if amber := p.Request.Input.Amber; amber != nil {
		add("input.prmtop", &amber.Prmtop)
		add("input.coordinates", &amber.Coordinates)
	}
	add("execution.restartCheckpoint", p.Request.Execution.RestartCheckpoint)
	return files
}
