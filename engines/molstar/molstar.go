// Package molstar adapts Mol*, the raster tier of rendering: MolViewSpec scenes and plain structures are drawn by a headless
// Chromium with Mol*'s own page, frame by frame, and joined to a film. It plans and collects; the drawing is done by the Python
// programs beside it.
package molstar

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/program/viewer"
)

// ID is the engine's name in metadata.renderEngine.
const ID = "molstar"

// Molstar implements engines.Engine and every optional interface beside it. Its zero value is ready; it has no state.
type Molstar struct{}

var (
	_ engines.Engine       = Molstar{}
	_ engines.Progresser   = Molstar{}
	_ engines.Checkpointer = Molstar{}
	_ engines.Explainer    = Molstar{}
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
			{Text: "Sehnal D, et al. Mol* Viewer: modern web app for 3D visualization and analysis of large biomolecular structures. Nucleic Acids Res 2021, 49, W431.", DOI: "10.1093/nar/gkab314"},
			{Text: "Bittrich S, et al. Describing and sharing molecular visualizations using the MolViewSpec toolkit. Curr Protoc 2024, 4, e1099.", DOI: "10.1002/cpz1.1099"},
		},
		Probe: engines.Probe{Argv: []string{"python", "-c", probeProgram}, Check: checkProbe},
	}
}

// probeProgram looks for Chromium, ffmpeg and the page, and prints their versions. What is missing is left out.
const probeProgram = `import importlib.metadata as m, json, os, pathlib, re, shutil, subprocess, sys, tempfile
found = {}
def version(name, *places):
    program = next((p for p in map(shutil.which, places) if p), None)
    if program:
        flag = "-version" if name == "ffmpeg" else "--version"
        said = subprocess.run([program, flag], capture_output=True, text=True, timeout=60, env={**os.environ, "HOME": tempfile.gettempdir()}).stdout
        number = re.search(r"\d+(\.\d+)+", said)
        if number:
            found[name] = number.group()
version("chromium", "/usr/lib/chromium/chromium", "chromium", "chromium-browser", "google-chrome")
version("ffmpeg", "ffmpeg")
page = pathlib.Path(sys.prefix, "` + viewer.PageFolder + `")
if (page / "viewer.js").is_file() and (page / "index.html").is_file():
    found["viewer"] = "installed"
try:
    found["pillow"] = m.version("pillow")
except m.PackageNotFoundError:
    pass
print(json.dumps(found))`

// wayOut says for each program what to do when it is missing.
var wayOut = []struct{ program, what string }{
	{"chromium", "Chromium is missing; install the system's package chromium"},
	{"viewer", "the page that draws is missing; run the set-up, which builds it into " + viewer.PageFolder + " of the scientific Python"},
	{"ffmpeg", "ffmpeg is missing; install the system's package ffmpeg"},
	{"pillow", "the Python package pillow is missing; install it with pip into the scientific Python"},
}

// checkProbe reads what the probe has found and refuses an installation that lacks a part.
func checkProbe(stdout []byte) (map[string]string, error) {
	lines := strings.Split(strings.TrimSpace(string(stdout)), "\n")
	var found map[string]string
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &found); err != nil {
		return nil, fmt.Errorf("the probe printed no versions: %.200q", stdout)
	}
	for _, part := range wayOut {
		if found[part.program] == "" {
			return nil, errors.New(part.what)
		}
	}
	return found, nil
}
