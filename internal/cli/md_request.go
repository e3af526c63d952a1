package cli

import (
	"github.com/molfabric/molfabric/internal/client"
)

const (
	// dynamicsSimulator is the one that `md` asks for.
	dynamicsSimulator = "openmm"

	dynamicsSchema         = "molecule.openmm.request/v1"
	dynamicsArtifactSchema = "molecule.openmm.artifact/v1"

	formatPrmtop     = "prmtop"
	formatInpcrd     = "inpcrd"
	formatCheckpoint = "checkpoint"
	formatStateXML   = "openmm-state-xml"

	forceFieldAmberPrmtop = "amber-prmtop"
	waterInputParameters  = "input-parameters"

	platformCPU = "CPU"
	// anyWorkerImage is no image: the request must name one, and a run's provenance says which it was. Nobody has asked for one.
	anyWorkerImage = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

// dynamicsRequest is a molecular dynamics job as POST /v1/jobs/submit takes it.
type dynamicsRequest struct {
	jobRequest[dynamicsParams]
	Recovery recoveryChoice `json:"recovery"`
}

type recoveryChoice struct {
	Mode string `json:"mode"`
}

type dynamicsParams struct {
	Request openmmRequest `json:"openmmRequest"`
}

type openmmRequest struct {
	Schema    string            `json:"schema"`
	RequestID string            `json:"requestId"`
	RunID     string            `json:"runId"`
	Confirmed bool              `json:"confirmed"`
	Input     dynamicsInput     `json:"input"`
	Protocol  dynamicsProtocol  `json:"protocol"`
	Outputs   dynamicsOutputs   `json:"outputs"`
	Execution dynamicsExecution `json:"execution"`
}

type dynamicsInput struct {
	Kind        string            `json:"kind"`
	Prmtop      *dynamicsArtifact `json:"prmtop,omitempty"`
	Coordinates dynamicsArtifact  `json:"coordinates"`
}

type dynamicsArtifact struct {
	Schema     string `json:"schema"`
	ArtifactID string `json:"artifactId"`
	StorageKey string `json:"storageKey"`
	SHA256     string `json:"sha256"`
	ByteSize   int64  `json:"byteSize"`
	Format     string `json:"format"`
	MediaType  string `json:"mediaType"`
}

// dynamicsProtocol is the physics of a run, as a request and a run's provenance write it.
type dynamicsProtocol struct {
	ForceField      string  `json:"forceField"`
	WaterModel      string  `json:"waterModel"`
	PH              float64 `json:"pH"`
	IonicStrengthM  float64 `json:"ionicStrengthM"`
	TemperatureK    float64 `json:"temperatureK"`
	PressureBar     float64 `json:"pressureBar"`
	TimestepFs      float64 `json:"timestepFs"`
	FrictionPerPs   float64 `json:"frictionPerPs"`
	Constraints     string  `json:"constraints"`
	NonbondedMethod string  `json:"nonbondedMethod"`
	Minimization    struct {
		Enabled          bool    `json:"enabled"`
		MaxIterations    int     `json:"maxIterations"`
		ToleranceKjMolNm float64 `json:"toleranceKjMolNm"`
	} `json:"minimization"`
	Equilibration struct {
		NVTSteps int64 `json:"nvtSteps"`
		NPTSteps int64 `json:"nptSteps"`
	} `json:"equilibration"`
	ProductionSteps          int64 `json:"productionSteps"`
	Seed                     int64 `json:"seed"`
	RemoveCenterOfMassMotion bool  `json:"removeCenterOfMassMotion"`
}

// dynamicsOutputs says how often a run writes, in steps.
type dynamicsOutputs struct {
	Trajectory int64  `json:"trajectoryIntervalSteps"`
	State      int64  `json:"stateIntervalSteps"`
	Checkpoint int64  `json:"checkpointIntervalSteps"`
	Analysis   int64  `json:"analysisIntervalSteps"`
	Format     string `json:"trajectoryFormat"`
}

type dynamicsExecution struct {
	Platform          dynamicsPlatform   `json:"platform"`
	WorkerImageDigest string             `json:"workerImageDigest"`
	RestartCheckpoint *dynamicsArtifact  `json:"restartCheckpoint,omitempty"`
	RestartProvenance *restartProvenance `json:"restartProvenance,omitempty"`
}

type dynamicsPlatform struct {
	Name        string `json:"name"`
	Precision   string `json:"precision"`
	DeviceIndex string `json:"deviceIndex"`
}

// restartProvenance is what a checkpoint belongs to; a run's provenance.json states it, and it is passed on as it stands.
type restartProvenance struct {
	RequestSHA256     string `json:"requestSha256"`
	SystemSHA256      string `json:"systemSha256"`
	TopologySHA256    string `json:"topologySha256"`
	IntegratorSHA256  string `json:"integratorSha256"`
	PlatformSHA256    string `json:"platformSha256"`
	OpenMMVersion     string `json:"openmmVersion"`
	PlatformName      string `json:"platformName"`
	WorkerImageDigest string `json:"workerImageDigest"`
}

// newDynamicsRequest writes the request for an estimate: without scene and name. id is the caller's for request and run; prmtop is
// unused without one.
func newDynamicsRequest(d dynamics, id string, coordinates, prmtop client.Uploaded) dynamicsRequest {
	input := dynamicsInput{Kind: "protein", Coordinates: artifactOf("coordinates", d.structure.format, coordinates)}
	if d.prmtop != nil {
		topology := artifactOf("prmtop", formatPrmtop, prmtop)
		input.Kind, input.Prmtop = "amber", &topology
	}
	request := openmmRequest{
		Schema: dynamicsSchema, RequestID: "request-" + id, RunID: "run-" + id, Confirmed: true,
		Input: input, Protocol: d.protocol, Outputs: d.outputs,
		Execution: dynamicsExecution{Platform: d.platform, WorkerImageDigest: d.workerImage},
	}
	if e := d.earlier; e != nil {
		request.Execution.RestartCheckpoint, request.Execution.RestartProvenance = &e.start, e.provenance
	}
	whole := dynamicsRequest{Recovery: recoveryChoice{Mode: "standard"}}
	whole.JobType, whole.Simulator, whole.SimulationParams = "simulation", dynamicsSimulator, dynamicsParams{Request: request}
	if d.resumable {
		whole.Recovery.Mode = "resumable"
	}
	return whole
}

func artifactOf(id, format string, file client.Uploaded) dynamicsArtifact {
	return dynamicsArtifact{
		Schema: dynamicsArtifactSchema, ArtifactID: id, StorageKey: file.StorageKey, SHA256: file.SHA256, ByteSize: file.ByteSize,
		Format: format, MediaType: file.ContentType,
	}
}
