// Package alphafold is the engine alphafold: structures of proteins predicted by AlphaFold 2, run by ColabFold at a pinned version.
// It plans shards, writes their command lines and reads their outputs; the Python programs beside it, which it embeds, run
// ColabFold. What it shares with other models is in engines/fold. The weights are an operator's asset (internal/weights) and never
// in this repository.
//
// A job has two stages, or three where the deployment has a database to align to. "msa": a shard for each chain that differs, which
// aligns it (Aligner). "fold": shards "fold-001"…, one process each, which folds its sequences from the shortest to the longest.
// "report": one shard that draws the plots, the scenes, the table and the report.
package alphafold

import (
	"embed"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/fold"
	"github.com/molfabric/molfabric/engines/python"
)

//go:embed programs/*.py
var programs embed.FS

const (
	// ID is the canonical simulator id.
	ID    = fold.IDAlphaFold
	title = "AlphaFold 2"
	// Interpreter is what command lines call the Python that holds ColabFold, which is another than the scientific one.
	Interpreter = "python-alphafold"
	// colabfold is the one version whose behaviour the programs rely on.
	colabfold = "1.6.3"

	programFold = "fold.py"
)

// folding is this engine's program in its words.
var folding = python.Program{
	Engine: ID, Sources: []python.Source{fold.Sources, {Files: programs, From: "programs"}}, Mains: []string{programFold},
	Interpreter: Interpreter, Name: "The folding program",
	Requirements: "engines/alphafold/requirements.lock (make setup-fold)", LessMemory: "shorter sequences",
}

// AlphaFold implements engines.Engine and the optional interfaces listed below. It has no state.
type AlphaFold struct{ fold.Model }

var (
	_ engines.Engine       = AlphaFold{}
	_ engines.Wanter       = AlphaFold{}
	_ engines.Typical      = AlphaFold{}
	_ engines.Progresser   = AlphaFold{}
	_ engines.Checkpointer = AlphaFold{}
	_ engines.Explainer    = AlphaFold{}
)

// New returns the engine.
func New() AlphaFold { return AlphaFold{fold.NewModel(folding, environment)} }

// environment keeps JAX from looking for a device where the shard has none.
func environment(shard engines.Shard) map[string]string {
	if shard.Needs.GPUs > 0 {
		return nil
	}
	return map[string]string{"JAX_PLATFORMS": "cpu"}
}

// Spec describes the engine. A prediction on a device needs a worker of that class; see Shard.Class.
func (AlphaFold) Spec() engines.Spec {
	probe := python.Probe(probeProgram, probeWayOut, checkPrograms)
	probe.Argv[0] = Interpreter
	return engines.Spec{
		ID: ID, Aliases: []string{"alphafold2", "af2"}, Title: title, Hardware: engines.HardwareCPU, GPU: true,
		Helpers:   []string{AlignerID},
		Citations: citations(), Probe: probe,
	}
}

func citations() []engines.Citation {
	return []engines.Citation{
		{Text: "Jumper J, Evans R, Pritzel A, et al. Highly accurate protein structure prediction with AlphaFold. Nature 2021, " +
			"596, 583.", DOI: "10.1038/s41586-021-03819-2"},
		{Text: "Mirdita M, Schütze K, Moriwaki Y, et al. ColabFold: making protein folding accessible to all. Nat Methods 2022, " +
			"19, 679.", DOI: "10.1038/s41592-022-01488-1"},
		{Text: "Evans R, O'Neill M, Pritzel A, et al. Protein complex prediction with AlphaFold-Multimer. bioRxiv 2021.",
			DOI: "10.1101/2021.10.04.463034"},
	}
}

// probeProgram imports what a run uses and prints its versions, and the devices that JAX finds. importlib tells versions without
// opening the devices first.
const probeProgram = `import json, shutil, importlib.metadata as m
import jax
import alphafold.model.model
found = {name: m.version(name) for name in ("colabfold", "alphafold-colabfold", "jax")}
found |= {name: "installed" for name in ("hhsearch", "kalign") if shutil.which(name)}
found["jax device"] = jax.local_devices()[0].platform
print(json.dumps(found))`

const probeWayOut = "install the environment with ColabFold by `make setup-fold`, or deploy/setup.sh --fold"

// checkPrograms refuses an installation without what templates are searched and aligned with.
func checkPrograms(versions map[string]string) error {
	for _, program := range []string{"hhsearch", "kalign"} {
		if versions[program] == "" {
			return fmt.Errorf("%s is missing, which templates need; %s", program, probeWayOut)
		}
	}
	return checkVersions(versions)
}

// checkVersions refuses another ColabFold than the one that the programs are written for.
func checkVersions(versions map[string]string) error {
	if found := versions["colabfold"]; found != colabfold {
		return fmt.Errorf("colabfold is %q, and must be %s; %s", found, colabfold, probeWayOut)
	}
	return nil
}
