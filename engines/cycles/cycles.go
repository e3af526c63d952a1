// Package cycles is the engine cycles: Blender's path tracer, for artists' frame ranges (job type render) and as the ray-traced
// tier of molecular jobs. It plans shards, writes their command lines and reads their outputs; the rendering is done by the Python
// programs beside it, which it embeds, with Blender as a Python module. It runs nothing itself.
//
// The stages of a render job: "check" opens the .blend and refuses what cannot be rendered, "render" renders chunks of frames, and
// "finish" joins them where there are several. A molecular job begins with "scene" instead, in which the viewer of the raster tier
// hands the scene over.
package cycles

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

// ID is the engine's name in metadata.renderEngine, metadata.software and metadata.renderer.
const ID = "cycles"

// blenderRelease is the release whose interface the programs are written for: the next one has another compositor.
const blenderRelease = "4.5"

// Cycles implements engines.Engine and every optional interface beside it. Its zero value is ready; it has no state.
type Cycles struct {
	python.Reporting
	python.Saving
}

var (
	_ engines.Engine       = Cycles{}
	_ engines.Progresser   = Cycles{}
	_ engines.Checkpointer = Cycles{}
	_ engines.Explainer    = Cycles{}
	_ engines.Wanter       = Cycles{}
	_ engines.Repeater     = Cycles{}
	_ engines.Uneven       = Cycles{}
)

// New returns the engine.
func New() Cycles { return Cycles{} }

// Spec describes the engine. A job that asks for a device needs a GPU, and with it a worker of that class; see Shard.Class.
func (Cycles) Spec() engines.Spec {
	return engines.Spec{
		ID:       ID,
		Aliases:  []string{"blender", "blendercycles"},
		Title:    "Blender Cycles",
		JobTypes: []string{engines.JobTypeRender, engines.JobTypeMolecular},
		Hardware: engines.HardwareCPU,
		GPU:      true,
		Citations: []engines.Citation{
			{Text: "Blender Online Community. Blender – a 3D modelling and rendering package. Blender Foundation, Amsterdam."},
			{Text: "Molecular scenes: Sehnal D, et al. Mol* Viewer: modern web app for 3D visualization and analysis of large " +
				"biomolecular structures. Nucleic Acids Res 2021, 49, W431.", DOI: "10.1093/nar/gkab314"},
			{Text: "Molecular scenes: Bittrich S, et al. Describing and sharing molecular visualizations using the MolViewSpec " +
				"toolkit. Curr Protoc 2024, 4, e1099.", DOI: "10.1002/cpz1.1099"},
		},
		Probe: python.Probe(probeProgram, "", checkVersions),
	}
}

// Wants is the scene of a molecular job, and what frames of any have taken before. What a Blender scene holds, Blender tells.
func (Cycles) Wants(r engines.Request) (engines.Wants, error) {
	return engines.Wants{Scene: r.JobType == engines.JobTypeMolecular, RenderCost: true}, nil
}

// probeProgram prints the versions of what both job types need; what is missing is left out. Blender's own end is skipped: it has
// been seen to hang.
const probeProgram = viewer.FindPrograms + `
try:
    import bpy
    found["blender"] = bpy.app.version_string.split(" ")[0] if bpy.app.build_options.cycles else ""
except ImportError:
    pass
print(json.dumps(found), flush=True)
os._exit(0)`

// needed are the parts of an installation.
var needed = []python.Needed{
	{Program: "blender", WayOut: "Blender with Cycles is missing; install engines/cycles/requirements.lock with pip into the " +
		"scientific Python"},
	{Program: "pillow", WayOut: "the Python package pillow is missing; install it with pip into the scientific Python"},
	{Program: "ffmpeg", WayOut: "ffmpeg is missing; install the system's package ffmpeg"},
	{Program: "chromium", WayOut: "Chromium, which molecular scenes are read with, is missing; install the system's package " +
		"chromium"},
	{Program: "viewer", WayOut: "the page that reads molecular scenes is missing; run the set-up, which builds it into " +
		"share/molfabric/viewer of the scientific Python"},
}

// checkVersions refuses an installation that lacks a part, or has another Blender.
func checkVersions(versions map[string]string) error {
	if err := python.Missing(versions, needed); err != nil {
		return err
	}
	if version := versions["blender"]; !strings.HasPrefix(version, blenderRelease+".") {
		return fmt.Errorf("found Blender %s; the programs are written for %s: install engines/cycles/requirements.lock",
			strconv.Quote(version), blenderRelease)
	}
	return nil
}
