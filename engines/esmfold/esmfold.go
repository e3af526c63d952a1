// Package esmfold is the engine esmfold: structures of proteins predicted from their sequences alone. It judges the sequences of a
// request, plans shards, writes their command lines and reads their outputs; the Python programs beside it, which it embeds, run
// the model and draw its confidence. The weights of the model are an operator's asset (internal/weights) and never in this
// repository.
//
// A job has two stages. "fold": shards "fold-001"…, one process each, which opens the weights once and folds its sequences from the
// shortest to the longest. "report": one shard that draws the plots, the scenes, the table and the report.
package esmfold

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
	ID    = fold.IDESMFold
	title = "ESMFold"
	// Interpreter is what command lines call the Python that holds torch and transformers, which is another than the scientific
	// one.
	Interpreter = "python-fold"

	programFold = "fold.py"
	// oldestTransformers is the first version that was run.
	oldestTransformers = "4.30"
)

var sources = []python.Source{fold.Sources, {Files: programs, From: "programs"}} // they import each other

// folding is this engine's program in its words.
var folding = python.Program{
	Engine: ID, Sources: sources, Mains: []string{programFold}, Interpreter: Interpreter,
	Name: "The folding program", Requirements: "engines/esmfold/requirements.lock (make setup-fold)",
	LessMemory: "shorter sequences",
}

// ESMFold implements engines.Engine and the optional interfaces listed below. It has no state.
type ESMFold struct{ fold.Model }

var (
	_ engines.Engine       = ESMFold{}
	_ engines.Wanter       = ESMFold{}
	_ engines.Typical      = ESMFold{}
	_ engines.Progresser   = ESMFold{}
	_ engines.Checkpointer = ESMFold{}
	_ engines.Explainer    = ESMFold{}
)

// New returns the engine.
func New() ESMFold { return ESMFold{fold.NewModel(folding, environment)} }

// environment keeps the library from asking a hub for anything.
func environment(engines.Shard) map[string]string {
	return map[string]string{"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
}

// Spec describes the engine. A prediction on a device needs a worker of that class; see Shard.Class.
func (ESMFold) Spec() engines.Spec {
	probe := python.Probe(probeProgram, probeWayOut, checkVersions)
	probe.Argv[0] = Interpreter
	return engines.Spec{
		ID: ID, Aliases: []string{"esmfoldv1"}, Title: title, Hardware: engines.HardwareCPU, GPU: true, Citations: citations(),
		Probe: probe,
	}
}

func citations() []engines.Citation {
	return []engines.Citation{
		{Text: "Lin Z, Akin H, Rao R, et al. Evolutionary-scale prediction of atomic-level protein structure with a language " +
			"model. Science 2023, 379, 1123.", DOI: "10.1126/science.ade2574"},
		{Text: "Jumper J, Evans R, Pritzel A, et al. Highly accurate protein structure prediction with AlphaFold. Nature 2021, " +
			"596, 583.", DOI: "10.1038/s41586-021-03819-2"},
		{Text: "Wolf T, Debut L, Sanh V, et al. Transformers: State-of-the-Art Natural Language Processing. EMNLP 2020, 38.",
			DOI: "10.18653/v1/2020.emnlp-demos.6"},
	}
}

// probeProgram imports what a run uses and prints its versions, and the devices that torch finds.
const probeProgram = `import json, importlib.metadata as m, os
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
import torch
from transformers import EsmForProteinFolding
found = {name: m.version(name) for name in ("torch", "transformers", "safetensors")}
found["cuda devices"] = str(torch.cuda.device_count())
print(json.dumps(found))`

const probeWayOut = "install the environment that folds proteins with `make setup-fold`, or deploy/setup.sh --fold"

// checkVersions refuses a transformers that is too old.
func checkVersions(versions map[string]string) error {
	if found := versions["transformers"]; !python.AtLeast(found, oldestTransformers) || versions["torch"] == "" {
		return fmt.Errorf("transformers %q is too old, or there is no torch; %s", found, probeWayOut)
	}
	return nil
}
