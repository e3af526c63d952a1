package openmm

import (
	"errors"
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// oldestVersion is the first OpenMM that has amber19.
const oldestVersion = "8.3"

// OpenMM implements engines.Engine and every optional interface beside it. Its zero value is ready; it has no state.
type OpenMM struct {
	python.Reporting
	python.Saving
}

var (
	_ engines.Engine       = OpenMM{}
	_ engines.Progresser   = OpenMM{}
	_ engines.Checkpointer = OpenMM{}
	_ engines.Explainer    = OpenMM{}
	_ engines.ImagePinner  = OpenMM{}
)

// New returns the engine.
func New() OpenMM { return OpenMM{} }

// Spec describes the engine. A run on CUDA or OpenCL needs a GPU, and with it a worker of that class; see Shard.Hardware.
func (OpenMM) Spec() engines.Spec {
	return engines.Spec{
		ID:        ID,
		Title:     "OpenMM",
		Hardware:  engines.HardwareCPU,
		GPU:       true,
		Citations: citations(),
		Probe:     python.Probe(probeProgram, probeWayOut, checkVersions),
	}
}

func citations() []engines.Citation {
	return []engines.Citation{
		{Text: "Eastman P, et al. OpenMM 8: Molecular Dynamics Simulation with Machine Learning Potentials. J Phys Chem B 2024, " +
			"128, 109.", DOI: "10.1021/acs.jpcb.3c06662"},
		{Text: "Maier JA, et al. ff14SB: Improving the Accuracy of Protein Side Chain and Backbone Parameters from ff99SB. J " +
			"Chem Theory Comput 2015, 11, 3696.", DOI: "10.1021/acs.jctc.5b00255"},
		{Text: "Tian C, et al. ff19SB: Amino-Acid-Specific Protein Backbone Parameters Trained against Quantum Mechanics Energy " +
			"Surfaces in Solution. J Chem Theory Comput 2020, 16, 528.", DOI: "10.1021/acs.jctc.9b00591"},
		{Text: "Jorgensen WL, et al. Comparison of simple potential functions for simulating liquid water (TIP3P). J Chem Phys " +
			"1983, 79, 926.", DOI: "10.1063/1.445869"},
		{Text: "Wang LP, Martinez TJ, Pande VS. Building Force Fields: An Automatic, Systematic, and Reproducible Approach " +
			"(TIP3P-FB). J Phys Chem Lett 2014, 5, 1885.", DOI: "10.1021/jz500737m"},
		{Text: "Zhang Z, Liu X, Yan K, Tuckerman ME, Liu J. Unified Efficient Thermostat Scheme for the Canonical Ensemble with " +
			"Holonomic or Isokinetic Constraints via Molecular Dynamics. J Phys Chem A 2019, 123, 6056.",
			DOI: "10.1021/acs.jpca.9b02771"},
		{Text: "McGibbon RT, et al. MDTraj: A Modern Open Library for the Analysis of Molecular Dynamics Trajectories. Biophys J " +
			"2015, 109, 1528.", DOI: "10.1016/j.bpj.2015.08.015"},
		{Text: "PDBFixer: repair of structures for simulation. Eastman P and contributors."},
	}
}

// probeProgram imports what a run uses and prints its versions, and the platforms that OpenMM finds: a worker with a GPU shows here
// whether OpenMM can use it.
const probeProgram = `import json, importlib.metadata as m
import openmm, pdbfixer, mdtraj, matplotlib, numpy
found = {name: m.version(name) for name in ("openmm", "pdbfixer", "mdtraj", "matplotlib", "numpy")}
names = [openmm.Platform.getPlatform(i).getName() for i in range(openmm.Platform.getNumPlatforms())]
found["openmm platforms"] = " ".join(name for name in names if name != "Reference")
print(json.dumps(found))`

const probeWayOut = "install engines/openmm/requirements.lock with pip into the scientific Python"

// checkVersions refuses an OpenMM that lacks a force field or every platform.
func checkVersions(versions map[string]string) error {
	if found := versions["openmm"]; !python.AtLeast(found, oldestVersion) {
		return fmt.Errorf("OpenMM %q is too old: amber19 comes with %s; %s", found, oldestVersion, probeWayOut)
	}
	if versions["openmm platforms"] == "" {
		return errors.New("OpenMM found none of its platforms; " + probeWayOut)
	}
	return nil
}
