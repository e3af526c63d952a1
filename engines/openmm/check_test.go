package openmm

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/molfabric/molfabric/engines"
)

func artifact(format string) DynamicsArtifact { return DynamicsArtifact{Format: format} }

// protein is a run that passes Check; change adapts it.
func protein(change func(*DynamicsRequest)) Params {
	r := DynamicsRequest{
		Input:     DynamicsInput{Protein: &ProteinInput{Kind: InputProtein, Coordinates: artifact(FormatPDB)}},
		Protocol:  DynamicsProtocol{ForceField: "amber19", WaterModel: "tip3pfb"},
		Execution: DynamicsExecution{Platform: DynamicsPlatform{Name: "CUDA", Precision: "mixed", DeviceIndex: "0"}},
	}
	change(&r)
	return Params{Request: &r}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	amber := func(r *DynamicsRequest) {
		r.Input = DynamicsInput{Amber: &AmberInput{Kind: InputAmber, Prmtop: artifact(FormatPrmtop),
			Coordinates: artifact(FormatInpcrd)}}
		r.Protocol.ForceField, r.Protocol.WaterModel = ForceFieldAmberPrmtop, WaterInputParameters
	}
	restart := func(format, platform string) func(*DynamicsRequest) {
		return func(r *DynamicsRequest) {
			checkpoint := artifact(format)
			r.Execution.RestartCheckpoint, r.Execution.RestartProvenance = &checkpoint, &RestartProvenance{PlatformName: platform}
		}
	}
	for _, c := range []struct {
		name   string
		params Params
		field  string // "" means accepted
	}{
		{"none", Params{}, "openmmRequest"},
		{"protein", protein(func(*DynamicsRequest) {}), ""},
		{"mmCIF", protein(func(r *DynamicsRequest) { r.Input.Protein.Coordinates.Format = FormatMMCIF }), ""},
		{"trajectory as structure", protein(func(r *DynamicsRequest) { r.Input.Protein.Coordinates.Format = "dcd" }),
			"openmmRequest.input.coordinates.format"},
		{"no input", protein(func(r *DynamicsRequest) { r.Input.Protein = nil }), "openmmRequest.input"},
		{"amber", protein(amber), ""},
		{"amber with a PDB", protein(func(r *DynamicsRequest) { amber(r); r.Input.Amber.Coordinates.Format = FormatPDB }),
			"openmmRequest.input.coordinates.format"},
		{"amber without topology", protein(func(r *DynamicsRequest) { amber(r); r.Input.Amber.Prmtop.Format = FormatPDB }),
			"openmmRequest.input.prmtop.format"},
		{"amber with another force field", protein(func(r *DynamicsRequest) { amber(r); r.Protocol.ForceField = "amber14" }),
			"openmmRequest.protocol.forceField"},
		{"amber with another water", protein(func(r *DynamicsRequest) { amber(r); r.Protocol.WaterModel = "tip3p" }),
			"openmmRequest.protocol.waterModel"},
		{"protein with the input's force field",
			protein(func(r *DynamicsRequest) { r.Protocol.ForceField = ForceFieldAmberPrmtop }),
			"openmmRequest.protocol.forceField"},
		{"protein with the input's water", protein(func(r *DynamicsRequest) { r.Protocol.WaterModel = WaterInputParameters }),
			"openmmRequest.protocol.waterModel"},
		{"cpu on a GPU platform", protein(func(r *DynamicsRequest) { r.Execution.Platform.DeviceIndex = DeviceCPU }),
			"openmmRequest.execution.platform.deviceIndex"},
		{"device on the CPU", protein(func(r *DynamicsRequest) { r.Execution.Platform.Name = PlatformCPU }),
			"openmmRequest.execution.platform.deviceIndex"},
		{"restart", protein(restart(FormatCheckpoint, "CUDA")), ""},
		{"checkpoint of another platform", protein(restart(FormatCheckpoint, "CPU")),
			"openmmRequest.execution.restartProvenance.platformName"},
		{"state of another platform", protein(restart(FormatStateXML, "CPU")), ""},
		{"restart from a structure", protein(restart(FormatPDB, "CUDA")), "openmmRequest.execution.restartCheckpoint.format"},
		{"provenance alone", protein(func(r *DynamicsRequest) { r.Execution.RestartProvenance = &RestartProvenance{} }),
			"openmmRequest.execution.restartProvenance"},
		{"checkpoint alone", protein(func(r *DynamicsRequest) {
			a := artifact(FormatCheckpoint)
			r.Execution.RestartCheckpoint = &a
		}), "openmmRequest.execution.restartProvenance"},
		{"state alone", protein(func(r *DynamicsRequest) { a := artifact(FormatStateXML); r.Execution.RestartCheckpoint = &a }),
			""},
		{"double precision on the CPU", protein(func(r *DynamicsRequest) {
			r.Execution.Platform = DynamicsPlatform{Name: PlatformCPU, Precision: PrecisionDouble, DeviceIndex: DeviceCPU}
		}), "openmmRequest.execution.platform.precision"},
	} {
		err := c.params.Check()
		var refused *engines.InvalidError
		if errors.As(err, &refused) != (c.field != "") || refused != nil && refused.Field != c.field {
			t.Errorf("%s: got %v, want a refusal of %q", c.name, err, c.field)
		}
	}
}

// FuzzInput feeds foreign text to the union's reader: what it accepts survives writing and reading again.
func FuzzInput(f *testing.F) {
	f.Add(`{"kind":"protein","coordinates":{"format":"pdb"}}`)
	f.Add(`{"kind":"amber","prmtop":{},"coordinates":{"byteSize":1}}`)
	f.Add(`{"kind":"amber","prmtop":{},"extra":1}`)
	f.Add(`{"kind":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		var first, second DynamicsInput
		if json.Unmarshal([]byte(text), &first) != nil || first == (DynamicsInput{}) {
			return
		}
		written, err := json.Marshal(first)
		if err != nil {
			t.Fatalf("input %q: %v", text, err)
		}
		if err := json.Unmarshal(written, &second); err != nil {
			t.Fatalf("input %q, written %s: %v", text, written, err)
		}
		if again, _ := json.Marshal(second); !reflect.DeepEqual(written, again) {
			t.Fatalf("input %q, written %s, again %s", text, written, again)
		}
	})
}
