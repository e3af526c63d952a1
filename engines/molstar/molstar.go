// Package molstar adapts Mol*, the raster tier of rendering: MolViewSpec scenes and plain structures are drawn by a headless
// Chromium with Mol*'s own page, frame by frame, and joined to a film. It plans and collects; the drawing is done by the Python
// programs beside it.
package molstar

import (
	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/engines/render/viewer"
)

// ID is the engine's name in metadata.renderEngine.
const ID = "molstar"

// Molstar implements engines.Engine and every optional interface beside it. Its zero value is ready; it has no state.
type Molstar struct {
	python.Reporting
	python.Saving
}

var (
	_ engines.Engine       = Molstar{}
	_ engines.Progresser   = Molstar{}
	_ engines.Checkpointer = Molstar{}
	_ engines.Explainer    = Molstar{}
	_ engines.Wanter       = Molstar{}
	_ engines.Repeater     = Molstar{}
	_ engines.Uneven       = Molstar{}
)

// New returns the engine.
func New() Molstar { return Molstar{} }

// Spec describes the engine. Chromium draws by its software rasteriser: no GPU is asked for, and pictures are the same everywhere.
func (Molstar) Spec() engines.Spec {
	return engines.Spec{
		ID:       ID,
		Title:    "Mol*",
		JobTypes: []string{engines.JobTypeMolecular},
		Hardware: engines.HardwareCPU,
		Citations: []engines.Citation{
			{Text: "Sehnal D, et al. Mol* Viewer: modern web app for 3D visualization and analysis of large biomolecular " +
				"structures. Nucleic Acids Res 2021, 49, W431.", DOI: "10.1093/nar/gkab314"},
			{Text: "Bittrich S, et al. Describing and sharing molecular visualizations using the MolViewSpec toolkit. Curr " +
				"Protoc 2024, 4, e1099.", DOI: "10.1002/cpz1.1099"},
		},
		Probe: python.Probe(probeProgram, "", checkVersions),
	}
}

// Wants is the scene, and what its frames have taken before.
func (Molstar) Wants(engines.Request) (engines.Wants, error) {
	return engines.Wants{Scene: true, RenderCost: true}, nil
}

// probeProgram prints what the viewer finds.
const probeProgram = viewer.FindPrograms + `
print(json.dumps(found))`

// needed are the parts of an installation.
var needed = []python.Needed{
	{Program: "chromium", WayOut: "Chromium is missing; install the system's package chromium"},
	{Program: "viewer", WayOut: "the page that draws is missing; run the set-up, which builds it into " + viewer.PageFolder +
		" of the scientific Python"},
	{Program: "ffmpeg", WayOut: "ffmpeg is missing; install the system's package ffmpeg"},
	{Program: "pillow", WayOut: "the Python package pillow is missing; install it with pip into the scientific Python"},
}

// checkVersions refuses an installation that lacks a part.
func checkVersions(versions map[string]string) error { return python.Missing(versions, needed) }
