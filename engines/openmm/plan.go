package openmm

import (
	"encoding/json"
	"fmt"

	"github.com/molfabric/molfabric/engines"
)

// Stages, and the one shard of each.
const (
	stagePrepare, shardSystem       = "prepare", "system"
	stageSimulate, shardTrajectory  = "simulate", "trajectory"
	stageAnalyse, shardAnalysis     = "analyse", "analysis"
	inputStructure, inputSimulation = "structure", "simulation.json"
)

// recoveryResumable is the recovery mode of a job that goes on from its last checkpoint.
const recoveryResumable = "resumable"

// prepareParams are the parameters of the shard "system", as prepare.py reads them.
type prepareParams struct {
	Program            string           `json:"program"`
	Format             string           `json:"format"` // of the structure, or prmtop
	Frames             int64            `json:"frames"`
	MaxTrajectoryBytes int64            `json:"maxTrajectoryBytes"`
	MaxAtoms           int64            `json:"maxAtoms"`
	Protocol           DynamicsProtocol `json:"protocol"`
}

// simulateParams are the parameters of the shard "trajectory", as simulate.py reads them.
type simulateParams struct {
	Program           string             `json:"program"`
	Title             string             `json:"title"`
	Protocol          DynamicsProtocol   `json:"protocol"`
	Outputs           DynamicsOutputs    `json:"outputs"`
	Platform          platformParams     `json:"platform"`
	Resumable         bool               `json:"resumable"`
	Restart           *restartParams     `json:"restart"`
	RequestSHA256     string             `json:"requestSha256"`
	WorkerImageDigest string             `json:"workerImageDigest"`
	Inputs            []inputParams      `json:"inputs"`
	Citations         []engines.Citation `json:"citations"`
}

type platformParams struct {
	Name       string `json:"name"`
	Precision  string `json:"precision"`
	Devices    int    `json:"devices"`
	CPUThreads int    `json:"cpuThreads"`
}

type restartParams struct {
	Format     string             `json:"format"`
	SHA256     string             `json:"sha256"`
	Provenance *RestartProvenance `json:"provenance"`
}

// inputParams names a file of the request, for the provenance.
type inputParams struct {
	ArtifactID string `json:"artifactId"`
	Format     string `json:"format"`
	SHA256     string `json:"sha256"`
}

// analyseParams are the parameters of the shard "analysis", as analyse.py reads them.
type analyseParams struct {
	Program                 string  `json:"program"`
	Title                   string  `json:"title"`
	TimestepFs              float64 `json:"timestepFs"`
	TemperatureK            float64 `json:"temperatureK"`
	ProductionSteps         int64   `json:"productionSteps"`
	TrajectoryIntervalSteps int64   `json:"trajectoryIntervalSteps"`
	AnalysisIntervalSteps   int64   `json:"analysisIntervalSteps"`
	// Snapshots are the frames that a pipeline's film has; 0 for none.
	Snapshots int64 `json:"snapshots,omitempty"`
	// Citations are for the report.
	Citations []engines.Citation `json:"citations"`
}

// Plan gives one shard for each stage: the system, its simulation, and the analysis of that. The simulation runs on a worker with a
// GPU when its platform asks for one. The analysis is not essential: a trajectory is worth keeping without its plots.
func (OpenMM) Plan(r engines.Request) ([]engines.Shard, error) {
	q, err := resolve(r)
	if err != nil {
		return nil, err
	}
	if expected := q.simulateSeconds(float64(q.leastAtoms())); expected > mostExpectedSimulateSeconds {
		return nil, invalid("openmmRequest.protocol.productionSteps", "is %d, which on the platform %s would take about %.0f "+
			"days or more; at most %.0f are allowed; take fewer steps or a faster platform",
			q.Protocol.ProductionSteps, q.Execution.Platform.Name, expected/86400, mostExpectedSimulateSeconds/86400)
	}
	shards := make([]engines.Shard, 0, 3)
	for _, shardOf := range []func(engines.Request) (engines.Shard, any){q.prepareShard, q.simulateShard, q.analyseShard} {
		shard, params := shardOf(r)
		if shard.Params, err = json.Marshal(params); err != nil {
			return nil, fmt.Errorf("openmm: writing the parameters of shard %s: %w", shard.Name, err)
		}
		shard.Items = 1
		shards = append(shards, shard)
	}
	return shards, nil
}

func (q request) prepareShard(engines.Request) (engines.Shard, any) {
	params := prepareParams{Program: programPrepare, Frames: q.frames, MaxTrajectoryBytes: maxTrajectoryBytes,
		MaxAtoms: q.maxAtoms(), Protocol: q.Protocol}
	var inputs []engines.Input
	if amber := q.Input.Amber; amber != nil {
		params.Format = FormatPrmtop
		inputs = []engines.Input{{Name: FormatPrmtop, Object: object(amber.Prmtop)},
			{Name: FormatInpcrd, Object: object(amber.Coordinates)}}
	} else {
		params.Format = q.Input.Protein.Coordinates.Format
		inputs = []engines.Input{{Name: inputStructure, Object: object(q.Input.Protein.Coordinates)}}
	}
	atoms := q.likelyAtoms()
	expected := startCPUSeconds + prepareCPUSecondsPerAtom*atoms
	return engines.Shard{
		Stage: stagePrepare, StageIndex: 0, Name: shardSystem, Essential: true, Preparation: true, Inputs: inputs,
		Needs: q.prepareNeeds(atoms, expected), ExpectedCPUSeconds: round(expected),
	}, params
}

func (q request) simulateShard(r engines.Request) (engines.Shard, any) {
	platform := q.Execution.Platform
	params := simulateParams{
		Program: programSimulate, Title: r.JobName, Protocol: q.Protocol, Outputs: q.Outputs,
		Resumable: r.Recovery == recoveryResumable, Platform: platformParams{Name: platform.Name, Precision: platform.Precision,
			Devices: q.devices, CPUThreads: q.cpus()},
		RequestSHA256: q.sha256, WorkerImageDigest: q.Execution.WorkerImageDigest, Inputs: q.namedInputs(), Citations: citations(),
	}
	inputs := append(topologyInputs(),
		fromSystem(systemFile), fromSystem(initialStateFile), fromSystem(preparationFile))
	if restart := q.Execution.RestartCheckpoint; restart != nil {
		params.Restart = &restartParams{Format: restart.Format, SHA256: restart.SHA256, Provenance: q.Execution.RestartProvenance}
		inputs = append(inputs, engines.Input{Name: "restart", Object: object(*restart)})
	}
	atoms := q.likelyAtoms()
	expected := q.simulateSeconds(atoms)
	return engines.Shard{
		Stage: stageSimulate, StageIndex: 1, Name: shardTrajectory, Essential: true, Inputs: inputs,
		Needs: q.simulateNeeds(atoms, expected), ExpectedCPUSeconds: round(expected * float64(q.cpus())),
		ExpectedGPUSeconds: round(expected * float64(q.devices)),
	}, params
}

func (q request) analyseShard(r engines.Request) (engines.Shard, any) {
	params := analyseParams{
		Program: programAnalyse, Title: r.JobName, TimestepFs: q.Protocol.TimestepFs, TemperatureK: q.Protocol.TemperatureK,
		ProductionSteps: q.Protocol.ProductionSteps, TrajectoryIntervalSteps: q.Outputs.TrajectoryIntervalSteps,
		AnalysisIntervalSteps: q.Outputs.AnalysisIntervalSteps,
		Citations:             citations(),
	}
	if r.JobType == engines.JobTypePipeline {
		params.Snapshots = q.snapshots()
	}
	inputs := append(topologyInputs(), fromSystem(preparationFile),
		fromTrajectory(trajectoryFile, trajectoryFile), fromTrajectory(stateFile, stateFile),
		fromTrajectory(inputSimulation, resultsFile))
	atoms := q.likelyAtoms()
	analysed := float64(q.Protocol.ProductionSteps / q.Outputs.AnalysisIntervalSteps)
	expected := analyseStartCPUSeconds + analysed*(analyseCPUSecondsPerFrame+analyseCPUSecondsPerAtom*atoms)
	return engines.Shard{
		Stage: stageAnalyse, StageIndex: 2, Name: shardAnalysis, Inputs: inputs,
		Needs: q.analyseNeeds(atoms, expected), ExpectedCPUSeconds: round(expected),
	}, params
}

// topologyInputs are the topology as PDB or, where that cannot number its atoms, as mmCIF: one of the two is there.
func topologyInputs() []engines.Input {
	inputs := make([]engines.Input, 0, 6)
	for _, name := range []string{topologyPDB, topologyCIF} {
		inputs = append(inputs, engines.Input{Name: name, From: &engines.From{Stage: stagePrepare, Shard: shardSystem, Output: name,
			Optional: true}})
	}
	return inputs
}

func fromSystem(name string) engines.Input {
	return engines.Input{Name: name, From: &engines.From{Stage: stagePrepare, Shard: shardSystem, Output: name}}
}

func fromTrajectory(name, output string) engines.Input {
	return engines.Input{Name: name, From: &engines.From{Stage: stageSimulate, Shard: shardTrajectory, Output: output}}
}

func object(a DynamicsArtifact) *engines.Object {
	return &engines.Object{StorageKey: a.StorageKey, SHA256: a.SHA256, ByteSize: a.ByteSize}
}

func (q request) namedInputs() []inputParams {
	files := []*DynamicsArtifact{q.Execution.RestartCheckpoint}
	if amber := q.Input.Amber; amber != nil {
		files = append(files, &amber.Prmtop, &amber.Coordinates)
	} else {
		files = append(files, &q.Input.Protein.Coordinates)
	}
	named := make([]inputParams, 0, len(files))
	for _, file := range files {
		if file != nil {
			named = append(named, inputParams{ArtifactID: file.ArtifactID, Format: file.Format, SHA256: file.SHA256})
		}
	}
	return named
}
