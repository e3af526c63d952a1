"""Physical plausibility of docked poses, tested with PoseBusters' configuration "dock" (Buttenschoen et al. 2024,
doi:10.1039/D3SC04185A): sanity, geometry, internal energy, and overlap with the receptor.

Every test is run on every pose that is checked. The internal energy costs most, and nearly all of it is the ensemble of 50
conformers that a ligand needs once, whatever its poses; so it is a step of its own, which may fail alone.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import posebusters
import yaml
from rdkit import Chem
from scipy.spatial import cKDTree

CONFIGURATION = "dock"
ENERGY = "energy_ratio"
ENERGY_TEST = "internal_energy"
# PoseBusters looks at most 6 Å away from the ligand; whole residues within this distance give the same answers faster.
NEAR_ANGSTROM = 8.0


class Checker:
    """PoseBusters for one receptor. pdb is PDB text; its hydrogens do not matter. Raises ValueError for text without atoms."""

    def __init__(self, pdb: str) -> None:
        receptor = Chem.MolFromPDBBlock(pdb, removeHs=True, sanitize=False, proximityBonding=False)
        if receptor is None or receptor.GetNumAtoms() == 0:
            raise ValueError("RDKit cannot read the prepared receptor")
        self.receptor = receptor
        self.positions = receptor.GetConformer().GetPositions()
        names = [
            (i.GetChainId(), i.GetResidueNumber(), i.GetInsertionCode())
            for i in (a.GetPDBResidueInfo() for a in receptor.GetAtoms())
        ]
        numbers: dict[Any, int] = {}
        self.residues = np.array([numbers.setdefault(name, len(numbers)) for name in names])
        self.geometry, self.energy = buster(lambda function: function != ENERGY), buster(lambda function: function == ENERGY)

    def near(self, positions: np.ndarray) -> Chem.Mol:
        """The receptor's residues near a pose; the whole receptor when there are none, so that the test of distance fails."""
        distances, _ = cKDTree(positions).query(self.positions, distance_upper_bound=NEAR_ANGSTROM)
        keep = np.isin(self.residues, np.unique(self.residues[np.isfinite(distances)]))
        if not keep.any():
            return self.receptor
        part = Chem.RWMol(self.receptor)
        part.BeginBatchEdit()
        for i in np.flatnonzero(~keep):
            part.RemoveAtom(int(i))
        part.CommitBatchEdit()
        return part.GetMol()

    def check_geometry(self, pose: Chem.Mol) -> dict[str, bool]:
        """Every test but the internal energy, for a pose with one conformer."""
        return outcomes(self.geometry.bust([pose], None, self.near(pose.GetConformer().GetPositions())))

    def check_energy(self, pose: Chem.Mol) -> dict[str, bool]:
        """The internal energy against an ensemble's; empty when no force field knows the molecule."""
        return outcomes(self.energy.bust([pose], None, None))


def buster(wanted: Any) -> posebusters.PoseBusters:
    """PoseBusters with the modules whose function is wanted, on one thread: the task's threads are not all the machine's."""
    path = Path(posebusters.__file__).parent / "config" / f"{CONFIGURATION}.yml"
    configuration = yaml.safe_load(path.read_text(encoding="utf-8"))
    configuration["modules"] = [module for module in configuration["modules"] if wanted(module["function"])]
    for module in configuration["modules"]:
        if module["function"] == ENERGY:
            module["parameters"]["num_threads"] = 1
    return posebusters.PoseBusters(configuration)


def outcomes(table: Any) -> dict[str, bool]:
    """The tests of PoseBusters' table of one pose; one that could not be run is left out."""
    row = table.iloc[0]
    return {str(name).replace("-", "_"): bool(value) for name, value in row.items() if isinstance(value, (bool, np.bool_))}


def verdict(tests: dict[str, bool]) -> dict[str, Any]:
    return {"passed": all(tests.values()), "tool": f"PoseBusters {metadata.version('posebusters')}", "tests": tests}


def method(energy: bool) -> dict[str, Any]:
    """What the document says of how poses were checked; energy is whether the internal energy was among the tests."""
    known = (
        f"all tests for every pose that is analysed; {ENERGY_TEST} is missing where the force field does not know the "
        f"molecule or time ran out"
    )
    return {
        "tool": "PoseBusters",
        "version": metadata.version("posebusters"),
        "configuration": CONFIGURATION,
        "scope": known if energy else f"all tests but {ENERGY_TEST}, which is for small libraries, for every pose that is analysed",
        "nearAngstrom": NEAR_ANGSTROM,
    }
