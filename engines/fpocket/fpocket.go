// Package fpocket is the engine fpocket: it finds the pockets of a protein, ranks them and suggests a docking box around each. It
// plans one shard, writes its command line and reads its outputs; the Python programs beside it, which it embeds, read the
// structure and run the program fpocket where it is installed, else its reimplementation fpocket-rs. It runs nothing itself.
package fpocket

import (
	"errors"
	"strings"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// ID is the canonical simulator id of doc/contract.md §1.
const ID = "fpocket"

// Fpocket implements engines.Engine, engines.Progresser and engines.Explainer. Its zero value is ready; it has no state.
type Fpocket struct{ python.Reporting }

var (
	_ engines.Engine     = Fpocket{}
	_ engines.Progresser = Fpocket{}
	_ engines.Explainer  = Fpocket{}
	_ engines.Repeater   = Fpocket{}
	_ engines.Uneven     = Fpocket{}
)

// New returns the engine.
func New() Fpocket { return Fpocket{} }

// Spec describes the engine. Every spelling of its name folds to its id, so it has no aliases.
func (Fpocket) Spec() engines.Spec {
	return engines.Spec{
		ID:        ID,
		Title:     "fpocket",
		Hardware:  "cpu",
		Citations: citations(),
		Probe:     python.Probe(probeProgram, probeWayOut, checkVersions),
	}
}

// citations lists the papers; a citation without a DOI has no paper but should be named.
func citations() []engines.Citation {
	return []engines.Citation{
		{Text: "Le Guilloux V, Schmidtke P, Tuffery P. Fpocket: An open source platform for ligand pocket detection. BMC " +
			"Bioinformatics 2009, 10, 168.", DOI: "10.1186/1471-2105-10-168"},
		{Text: "Schmidtke P, Barril X. Understanding and predicting druggability. A high-throughput method for detection of drug " +
			"binding sites. J Med Chem 2010, 53, 5858.", DOI: "10.1021/jm100574m"},
		{Text: "fpocket-rs: reimplementation of fpocket in Rust, used where the program fpocket is not installed. Zeng Z and " +
			"contributors."},
	}
}

// probeProgram prints the versions of what a shard uses: of fpocket, which tells its version in the banner of its help, or of
// fpocket-rs and the packages that score its pockets.
const probeProgram = `import importlib.metadata as m, json, re, shutil, subprocess
import gemmi, numpy
found = {name: m.version(name) for name in ("gemmi", "numpy")}
path = shutil.which("fpocket")
if path:
    ended = subprocess.run([path], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    banner = re.search(r"fpocket (\d+[0-9A-Za-z.]*)", ended.stdout.decode(errors="replace"))
    found["fpocket"] = banner[1] if banner else ""
else:
    import fpocket_rs, scipy.spatial
    found.update({name: m.version(name) for name in ("fpocket-rs", "scipy")})
print(json.dumps(found))`

const probeWayOut = "install engines/fpocket/requirements.lock with pip into the scientific Python, or fpocket 4"

// checkVersions refuses an fpocket before version 4, which writes other files.
func checkVersions(versions map[string]string) error {
	native, installed := versions["fpocket"]
	switch {
	case installed && !strings.HasPrefix(native, "4"):
		return errors.New("the program fpocket is of version " + quoted(native) + ", whose output is not known here; " +
			probeWayOut)
	case !installed && versions["fpocket-rs"] == "":
		return errors.New("neither fpocket nor fpocket-rs is installed; " + probeWayOut)
	}
	return nil
}

func quoted(version string) string {
	if version == "" {
		return "“unknown”"
	}
	return version
}

var ownPrograms = finding.Digest()

// Programs implements engines.Repeater.
func (Fpocket) Programs() string { return ownPrograms }

// Repeats implements engines.Repeater. Volumes are estimates by chance, and differ by some percent from run to run: another search
// would know them no better.
func (Fpocket) Repeats(plan []engines.Shard) []engines.Repeat { return engines.RepeatAll(plan) }

// SameBytes implements engines.Uneven: every file holds volumes.
func (Fpocket) SameBytes(string) bool { return false }
