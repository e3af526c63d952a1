// Package vina is the engine autodock-vina: docking of small molecules into a receptor with AutoDock Vina's official Python
// bindings, prepared with RDKit, molscrub, Meeko, PDB2PQR and PROPKA. It plans shards, writes their command lines and reads
// their outputs; the chemistry is in the Python programs beside it, which it embeds. It runs nothing itself.
//
// A job has five stages, and up to two more. "prepare": one shard "receptor" and one "ligands-0000"… per chunk of the library.
// "redock" and "gate", where they are asked for: the native ligand is docked again, and the job ends when its pose is not found.
// "dock": shards "dock-00000"… of up to shardSize ligands, one process each, with the affinity maps computed once. "analyse":
// shards "analyse-0000"… that export the poses with their bond orders and find their interactions and flaws. "picture", unless it
// is not wanted: one shard that draws the best pose. "rank": one shard that writes the ranking and the report.
package vina

import (
	"fmt"

	"github.com/molfabric/molfabric/engines"
	"github.com/molfabric/molfabric/engines/python"
)

// ID is the canonical simulator id of doc/contract.md §1.
const ID = "autodock-vina"

// oldestVersion is the first AutoDock Vina whose affinities can be trusted: 1.2.3, which Debian carries, reports up to
// 3 kcal/mol too much for the same pose, because it takes the unbound energy from the wrong conformation.
const oldestVersion = "1.2.5"

// Vina implements engines.Engine and every optional interface beside it. Its zero value is ready; it has no state.
type Vina struct {
	python.Reporting
	python.Saving
}

var (
	_ engines.Engine       = Vina{}
	_ engines.Progresser   = Vina{}
	_ engines.Checkpointer = Vina{}
	_ engines.Explainer    = Vina{}
	_ engines.Forecaster   = Vina{}
)

// New returns the engine.
func New() Vina { return Vina{} }

// Spec describes the engine.
func (Vina) Spec() engines.Spec {
	return engines.Spec{
		ID:        ID,
		Aliases:   []string{"vina", "autodockvina"},
		Title:     "AutoDock Vina",
		Hardware:  "cpu",
		Citations: citations(),
		Probe:     python.Probe(probeProgram, probeWayOut, checkVersions),
	}
}

// citations lists the papers of the request's programs.
func (q request) citations() []engines.Citation {
	if q.picture == PictureNone {
		return citations()
	}
	return append(citations(), engines.Citation{
		Text: "Sehnal D, et al. Mol* Viewer: modern web app for 3D visualization and analysis of large biomolecular structures. " +
			"Nucleic Acids Res 2021, 49, W431.",
		DOI: "10.1093/nar/gkab314",
	})
}

// citations lists the programs' papers; a citation without a DOI has no paper but should be named.
func citations() []engines.Citation {
	return []engines.Citation{
		{Text: "Eberhardt J, Santos-Martins D, Tillack AF, Forli S. AutoDock Vina 1.2.0: New Docking Methods, Expanded Force " +
			"Field, and Python Bindings. J Chem Inf Model 2021, 61, 3891.", DOI: "10.1021/acs.jcim.1c00203"},
		{Text: "Trott O, Olson AJ. AutoDock Vina: improving the speed and accuracy of docking with a new scoring function, " +
			"efficient optimization, and multithreading. J Comput Chem 2010, 31, 455.", DOI: "10.1002/jcc.21334"},
		{Text: "RDKit: Open-source cheminformatics.", DOI: "10.5281/zenodo.591637"},
		{Text: "Meeko: preparation of small molecules and receptors for AutoDock. Forli Lab."},
		{Text: "molscrub: protonation states of small molecules. Forli Lab."},
		{Text: "Jurrus E, et al. Improvements to the APBS biomolecular solvation software suite (PDB2PQR). Protein Sci 2018, " +
			"27, 112.", DOI: "10.1002/pro.3280"},
		{Text: "Bouysset C, Fiorucci S. ProLIF: a library to encode molecular interactions as fingerprints. J Cheminform 2021, " +
			"13, 72.", DOI: "10.1186/s13321-021-00548-6"},
		{Text: "Buttenschoen M, Morris GM, Deane CM. PoseBusters: AI-based docking methods fail to generate physically valid " +
			"poses or generalise to novel sequences. Chem Sci 2024, 15, 3130.", DOI: "10.1039/D3SC04185A"},
		{Text: "McNutt AT, Li Y, Meli R, Aggarwal R, Koes DR. GNINA 1.3: the next increment in molecular docking with deep " +
			"learning. J Cheminform 2025, 17, 28.", DOI: "10.1186/s13321-025-00973-x"},
		{Text: "Olsson MHM, Søndergaard CR, Rostkowski M, Jensen JH. PROPKA3: Consistent Treatment of Internal and Surface " +
			"Residues in Empirical pKa Predictions. J Chem Theory Comput 2011, 7, 525.", DOI: "10.1021/ct100578z"},
	}
}

// probeProgram imports every program a shard uses, so that a broken installation is found here, and prints their versions.
// rustina, which scores poses a second time, has no build for every machine.
const probeProgram = `import json, importlib.metadata as m
import vina, rdkit.Chem, meeko, molscrub, pdb2pqr.main, propka
names = ["vina", "rdkit", "meeko", "molscrub", "pdb2pqr", "propka", "numpy"]
try:
    import rustina
    names.append("rustina")
except ImportError:
    pass
print(json.dumps({name: m.version(name) for name in names}))`

const probeWayOut = "install the packages of engines/vina/requirements.lock into the scientific Python"

// checkVersions refuses an AutoDock Vina that reports wrong affinities.
func checkVersions(versions map[string]string) error {
	if found := versions["vina"]; !python.AtLeast(found, oldestVersion) {
		return fmt.Errorf("AutoDock Vina %q is too old: versions before %s report wrong affinities for some ligands; "+
			"install engines/vina/requirements.lock with pip into the scientific Python", found, oldestVersion)
	}
	return nil
}

// defaultSeed is that of a request without one. It is the same for all, so that what was docked before is known again.
const defaultSeed = 1

// engineSeed is the seed that Vina gets. Vina reads 0 as "choose one at random", so a request for seed 0 runs with the
// greatest seed instead; the provenance names both.
func engineSeed(seed int64) int64 {
	if seed == 0 {
		return 1<<31 - 1
	}
	return seed
}
