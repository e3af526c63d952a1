"""A ligand's hydrogens and its 3D conformer, with the stereochemistry that was specified."""

from __future__ import annotations

import numpy as np
from rdkit import Chem
from rdkit.Chem import AllChem, rdDistGeom

import stereo
from molecule import LigandError, listed

EMBED_ATTEMPTS = 50
MMFF_ITERATIONS = 1000


def embed(molecule: Chem.Mol, seed: int, notes: list[str]) -> Chem.Mol:
    """Hydrogens and a 3D conformer: ETKDGv3 with a fixed seed, then MMFF94s, or UFF where MMFF has no parameters. Raises
    LigandError when the specified stereochemistry cannot be built or would not last."""
    shaped = Chem.AddHs(molecule)
    if not find_conformer(shaped, seed):
        raise LigandError("embed", why_none(molecule, seed))
    if AllChem.MMFFHasAllMoleculeParams(shaped):
        AllChem.MMFFOptimizeMolecule(shaped, mmffVariant="MMFF94s", maxIters=MMFF_ITERATIONS)
    elif AllChem.UFFHasAllMoleculeParams(shaped):
        AllChem.UFFOptimizeMolecule(shaped, maxIters=MMFF_ITERATIONS)
        notes.append("relaxed with UFF because MMFF94s has no parameters for it")
    else:
        notes.append("not relaxed because no force field has parameters for it")
    if not np.isfinite(shaped.GetConformer().GetPositions()).all():
        raise LigandError("embed", "the force field tore the conformer apart; check the molecule's structure")
    lost = stereo.changed(shaped)
    if lost:
        raise LigandError("embed", f"the 3D conformer does not have the stereochemistry that is specified at {listed(lost)}")
    chosen = stereo.settle(shaped)
    if chosen:
        what = (
            "1 stereo element was not specified and has"
            if len(chosen) == 1
            else f"{len(chosen)} stereo elements were not specified and have"
        )
        notes.append(f"{what} been chosen by the embedding: {listed(chosen)}")
    return shaped


def find_conformer(molecule: Chem.Mol, seed: int) -> bool:
    """Embeds the molecule in place; False when no conformer was found, from random coordinates neither."""
    parameters = rdDistGeom.ETKDGv3()
    parameters.randomSeed = seed & 0x7FFFFFFF  # RDKit reads negative seeds as "random"
    parameters.maxIterations = EMBED_ATTEMPTS
    parameters.numThreads = 1
    if rdDistGeom.EmbedMolecule(molecule, parameters) >= 0:
        return True
    parameters.useRandomCoords = True
    return rdDistGeom.EmbedMolecule(molecule, parameters) >= 0


def why_none(molecule: Chem.Mol, seed: int) -> str:
    specified = stereo.elements(molecule, specified=True)
    free = Chem.AddHs(molecule)
    Chem.RemoveStereochemistry(free)
    if specified and find_conformer(free, seed):
        return f"no 3D conformer has the stereochemistry that is specified at {listed(stereo.names(molecule, specified))}"
    return "no 3D conformer satisfies the molecule's geometry; check its rings and bonds"


def length_angstrom(positions: np.ndarray) -> float:
    """The longest distance between two of the positions (shape (n, 3), Å), to 0.01 Å."""
    apart = positions[:, None, :] - positions[None, :, :]
    return round(float(np.sqrt((apart**2).sum(axis=-1)).max()), 2)
