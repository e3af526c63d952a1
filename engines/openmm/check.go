package openmm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/molfabric/molfabric/engines"
)

// Check applies the rules that no schema can state. It returns an *engines.InvalidError.
func (p Params) Check() error {
	if p.Request == nil {
		return invalid("openmmRequest", "is missing; an openmm job says there what to simulate and how")
	}
	for _, check := range []func(DynamicsRequest) error{checkFormats, checkParameters, checkPlatform, checkRestart} {
		if err := check(*p.Request); err != nil {
			return err
		}
	}
	return nil
}

// checkFormats holds each file to the formats that its place can take.
func checkFormats(r DynamicsRequest) error {
	if r.Input.Amber != nil {
		if err := wantFormat("openmmRequest.input.prmtop", r.Input.Amber.Prmtop, FormatPrmtop); err != nil {
			return err
		}
		return wantFormat("openmmRequest.input.coordinates", r.Input.Amber.Coordinates, FormatInpcrd)
	}
	if r.Input.Protein == nil {
		return invalid("openmmRequest.input", "is missing; give a protein or an amber system")
	}
	return wantFormat("openmmRequest.input.coordinates", r.Input.Protein.Coordinates, FormatPDB, FormatMMCIF)
}

// checkParameters keeps an Amber system to the parameters it brings, and a protein to a force field that it can get.
func checkParameters(r DynamicsRequest) error {
	amber := r.Input.Amber != nil
	if amber != (r.Protocol.ForceField == ForceFieldAmberPrmtop) {
		return invalid("openmmRequest.protocol.forceField", "is %s; an amber input takes %s, a protein any other",
			r.Protocol.ForceField, ForceFieldAmberPrmtop)
	}
	if amber != (r.Protocol.WaterModel == WaterInputParameters) {
		return invalid("openmmRequest.protocol.waterModel", "is %s; an amber input takes %s, a protein any other",
			r.Protocol.WaterModel, WaterInputParameters)
	}
	return nil
}

// checkPlatform keeps the CPU platform to what it can: it computes forces in single precision and integrates in double, and knows
// no other precision.
func checkPlatform(r DynamicsRequest) error {
	platform := r.Execution.Platform
	if platform.Name == PlatformCPU && platform.Precision == PrecisionDouble {
		return invalid("openmmRequest.execution.platform.precision", "is double; the CPU platform computes forces in single "+
			"precision: take single or mixed, or CUDA or OpenCL")
	}
	if (platform.Name == PlatformCPU) != (platform.DeviceIndex == DeviceCPU) {
		return invalid("openmmRequest.execution.platform.deviceIndex",
			"is %s; the CPU platform takes cpu, every other the numbers of its devices", platform.DeviceIndex)
	}
	return nil
}

// checkRestart holds what a run goes on from together. A checkpoint belongs to its platform: into another one it loads without
// a word and is wrong. A state is portable.
func checkRestart(r DynamicsRequest) error {
	checkpoint, provenance := r.Execution.RestartCheckpoint, r.Execution.RestartProvenance
	if checkpoint == nil {
		if provenance != nil {
			return invalid("openmmRequest.execution.restartProvenance",
				"is given without restartCheckpoint; give both, or leave it out")
		}
		return nil
	}
	if err := wantFormat("openmmRequest.execution.restartCheckpoint", *checkpoint, FormatCheckpoint, FormatStateXML); err != nil {
		return err
	}
	if checkpoint.Format == FormatCheckpoint && provenance == nil {
		return invalid("openmmRequest.execution.restartProvenance", "is missing; a checkpoint belongs to its system, integrator "+
			"and platform: give restartProvenance as the earlier run's provenance.json has it, or an %s", FormatStateXML)
	}
	if platform := r.Execution.Platform.Name; provenance != nil && checkpoint.Format == FormatCheckpoint &&
		provenance.PlatformName != platform {
		return invalid("openmmRequest.execution.restartProvenance.platformName",
			"is %s, but the run asks for %s; a checkpoint belongs to its platform", provenance.PlatformName, platform)
	}
	return nil
}

func wantFormat(field string, artifact DynamicsArtifact, formats ...string) error {
	if slices.Contains(formats, artifact.Format) {
		return nil
	}
	return invalid(field+".format", "is %s; must be %s", artifact.Format, strings.Join(formats, " or "))
}

func invalid(field, format string, args ...any) error {
	return &engines.InvalidError{Field: field, Message: fmt.Sprintf(format, args...)}
}
