// Package alphafold is the engine alphafold: structures of proteins predicted by AlphaFold 2, run by ColabFold at a pinned version.
// It plans shards, writes their command lines and reads their outputs; the Python programs beside it, which it embeds, run
// ColabFold. What it shares with other models is in engines/fold. The weights are an operator's asset (internal/weights) and never
// in this repository.
//
// A job has two stages. "fold": shards "fold-001"…, one process each, which folds its sequences from the shortest to the longest.
// "report": one shard that draws the plots, the scenes, the table and the report.
package alphafold

import (
	"embed"
	"fmt"
	"strconv"

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

// folding and reporting are this engine's programs in its words.
var (
	folding = python.Program{
		Engine: ID, Sources: []python.Source{fold.Sources, {Files: programs, From: "programs"}}, Mains: []string{programFold},
		Interpreter: Interpreter, Name: "The folding program",
		Requirements: "engines/alphafold/requirements.lock (make setup-fold)", LessMemory: "shorter sequences",
	}
	reporting = fold.Reporting(ID)
)

// AlphaFold implements engines.Engine and the optional interfaces listed below. Its zero value is ready; it has no state.
type AlphaFold struct {
	python.Reporting
	python.Saving
}

var (
	_ engines.Engine       = AlphaFold{}
	_ engines.Wanter       = AlphaFold{}
	_ engines.Typical      = AlphaFold{}
	_ engines.Progresser   = AlphaFold{}
	_ engines.Checkpointer = AlphaFold{}
	_ engines.Explainer    = AlphaFold{}
)

// New returns the engine.
func New() AlphaFold { return AlphaFold{} }

// Spec describes the engine. A prediction on a device needs a worker of that class; see Shard.Class.
func (AlphaFold) Spec() engines.Spec {
	probe := python.Probe(probeProgram, probeWayOut, checkVersions)
	probe.Argv[0] = Interpreter
	return engines.Spec{
		ID: ID, Aliases: []string{"alphafold2", "af2"}, Title: title, Hardware: engines.HardwareCPU, GPU: true,
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
const probeProgram = `import json, importlib.metadata as m
import jax
import alphafold.model.model
found = {name: m.version(name) for name in ("colabfold", "alphafold-colabfold", "jax")}
found["jax device"] = jax.local_devices()[0].platform
print(json.dumps(found))`

const probeWayOut = "install the environment with ColabFold by `make setup-fold`, or deploy/setup.sh --fold"

// checkVersions refuses another ColabFold than the one that the programs are written for.
func checkVersions(versions map[string]string) error {
	if found := versions["colabfold"]; found != colabfold {
		return fmt.Errorf("colabfold is %q, and must be %s; %s", found, colabfold, probeWayOut)
	}
	return nil
}

// Command runs the shard's Python program. The threads are those of the task's cores: more of them spin and wait for each other.
func (AlphaFold) Command(shard engines.Shard, _ engines.Dir) (engines.Command, error) {
	program, err := programOf(shard)
	if err != nil {
		return engines.Command{}, err
	}
	main, err := program.Main(shard)
	if err != nil {
		return engines.Command{}, err
	}
	threads := strconv.Itoa(max(shard.Needs.CPUs, 1))
	environment := map[string]string{
		"MPLBACKEND": "Agg", "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads,
	}
	if shard.Needs.GPUs == 0 {
		environment["JAX_PLATFORMS"] = "cpu"
	}
	return program.Command(shard, main, python.Environment(environment))
}

// programOf is what runs a shard.
func programOf(shard engines.Shard) (python.Program, error) {
	switch shard.Stage {
	case fold.StageFold:
		return folding, nil
	case fold.StageReport:
		return reporting, nil
	}
	return python.Program{}, fmt.Errorf("alphafold: shard %s is of the unknown stage %q", shard.Name, shard.Stage)
}

// Explain reads the failure that a program has written, and knows the usual accidents of an installation.
func (AlphaFold) Explain(shard engines.Shard, dir engines.Dir, exitCode int, logTail string) *engines.Failure {
	if program, err := programOf(shard); err == nil {
		return program.Explain(dir, exitCode, logTail)
	}
	return nil
}

// Collect checks that the shard's outputs are there and complete, and lists them.
func (AlphaFold) Collect(shard engines.Shard, dir engines.Dir) (engines.Result, error) {
	program, err := programOf(shard)
	if err != nil {
		return engines.Result{}, err
	}
	return fold.Collect(program, shard, dir)
}
