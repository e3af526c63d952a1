package openmm

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

// The typical run: a soluble protein of some 160 residues for a nanosecond, as in most tutorials.
const (
	typicalHeavyAtoms = 1300
	typicalSettling   = 50_000 // steps, at constant volume and again at constant pressure
	typicalSteps      = 500_000
	typicalTimestepFs = 2
)

var _ engines.Typical = OpenMM{}

// Typical implements engines.Typical: a request without openmmRequest is one run, however many tasks it speaks of.
func (OpenMM) Typical(r engines.Request) (engines.Request, string, error) {
	var p Params
	if err := json.Unmarshal(r.Params, &p); err != nil {
		return r, "", invalid("openmmRequest", "cannot be read: %v", err)
	}
	if p.Request != nil {
		return r, "", nil
	}
	p.Request = typicalRun()
	text, err := json.Marshal(p)
	if err != nil {
		return r, "", fmt.Errorf("openmm: writing the typical run: %w", err)
	}
	r.Params = text
	return r, fmt.Sprintf("The typical run: a protein of %d heavy atoms, some %.0f atoms with its water, "+
		"for %d ns on the CPU platform (%d steps of %d fs after %d of equilibration). "+
		"A job is one run, whatever taskCount says. Give simulationParams.openmmRequest for the price of your own job.",
		typicalHeavyAtoms,
		math.Round(request{DynamicsRequest: *p.Request}.likelyAtoms()/1000)*1000, typicalSteps*typicalTimestepFs/1_000_000,
		typicalSteps, typicalTimestepFs, 2*typicalSettling), nil
}

func typicalRun() *DynamicsRequest {
	const nothing = "0"
	return &DynamicsRequest{
		Schema: "molecule.openmm.request/v1", RequestID: "typical", RunID: "typical", Confirmed: true,
		Input: DynamicsInput{Protein: &ProteinInput{Kind: InputProtein, Coordinates: DynamicsArtifact{
			Schema: "molecule.openmm.artifact/v1", ArtifactID: "typical", StorageKey: "estimate",
			SHA256:   strings.Repeat(nothing, 64),
			ByteSize: int64(typicalHeavyAtoms * bytesPerPDBAtom), Format: FormatPDB, MediaType: "chemical/x-pdb"}}},
		Protocol: DynamicsProtocol{ForceField: "amber14", WaterModel: "tip3pfb", PH: 7,
			IonicStrengthM: 0.15, TemperatureK: 300, PressureBar: 1,
			TimestepFs: typicalTimestepFs, FrictionPerPs: 1, Constraints: "HBonds", NonbondedMethod: "PME",
			Minimization:    Minimization{Enabled: true, MaxIterations: 1000, ToleranceKjMolNm: 10},
			Equilibration:   Equilibration{NVTSteps: typicalSettling, NPTSteps: typicalSettling},
			ProductionSteps: typicalSteps, Seed: 1, RemoveCenterOfMassMotion: true},
		Outputs: DynamicsOutputs{TrajectoryIntervalSteps: 5000, StateIntervalSteps: 1000,
			CheckpointIntervalSteps: 50_000, AnalysisIntervalSteps: 5000, TrajectoryFormat: "dcd"},
		Execution: DynamicsExecution{Platform: DynamicsPlatform{Name: PlatformCPU, Precision: "mixed", DeviceIndex: DeviceCPU},
			WorkerImageDigest: "sha256:" + strings.Repeat(nothing, 64)},
	}
}
