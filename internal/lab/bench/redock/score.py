"""Measures how far docked poses are from a ligand's crystal pose: the one scorer of every arm of the measurement.

Reads a case (JSON: receptor, ligand, chain, residue, or crystal) and SDF files, and prints {"smiles", "heavyAtoms",
"rmsdAngstrom": {file: [...]}}. The distance is the root mean square deviation in Å of the heavy atoms that the entry shows, in
place, over every mapping of the molecule onto itself that keeps elements, aromaticity, the carbons' hybridisation and which
atoms are bonded: protonation and where a double bond of a carboxylate is drawn do not count.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from rdkit import Chem, RDLogger

from crystal import CaseError, Crystal, mappings, read_crystal, skeleton


def deviation(pose: Chem.Mol, crystal: Crystal) -> float:
    """Of one pose, in Å. Raises CaseError when it is another molecule."""
    positions = Chem.RemoveAllHs(pose, sanitize=False).GetConformer().GetPositions()
    for kinds in (True, False):
        probe, whole = skeleton(pose, kinds), skeleton(crystal.molecule, kinds)
        if probe.GetNumAtoms() != whole.GetNumAtoms() or probe.GetNumBonds() != whole.GetNumBonds():
            break
        found = mappings(probe, whole)
        if found:
            places = np.array(found)[:, crystal.seen]
            return float(np.sqrt(((positions[places] - crystal.positions) ** 2).sum(axis=2).mean(axis=1)).min())
    raise CaseError("a pose is of another molecule than the crystal's")


def read_poses(path: Path) -> list[Chem.Mol]:
    poses = list(Chem.SDMolSupplier(str(path), removeHs=False))
    if not poses or any(pose is None or not pose.GetNumConformers() for pose in poses):
        raise CaseError(f"{path.name} holds no poses, or one that cannot be read")
    return poses


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", type=Path, help="JSON that names the crystal pose")
    parser.add_argument("poses", type=Path, nargs="*", help="SDF files, best pose first")
    parser.add_argument("--components", type=Path, required=True, help="dictionary of chemical components")
    arguments = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    try:
        crystal = read_crystal(json.loads(arguments.case.read_text(encoding="utf-8")), arguments.components)
        distances = {str(path): [round(deviation(pose, crystal), 3) for pose in read_poses(path)] for path in arguments.poses}
    except (CaseError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    json.dump({"smiles": crystal.smiles, "heavyAtoms": len(crystal.seen), "rmsdAngstrom": distances}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
