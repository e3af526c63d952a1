"""OpenMM's relaxation of a predicted structure, as AlphaFold 2 has it (Jumper et al. 2021, doi:10.1038/s41586-021-03819-2).

Hydrogens are added, and Amber's force field pulls bonds, angles and clashes right; a spring holds each heavy atom near its
predicted place. The hydrogens are not kept.
"""

from __future__ import annotations

import numpy as np
from alphafold.common import protein
from colabfold.relax import relax_me
from openmm import OpenMMException

from structures import Prediction


class NotRelaxed(Exception):
    """The structure could not be relaxed; the message says why."""


def relax(prediction: Prediction, gpu: bool) -> Prediction:
    """The prediction with the places that OpenMM gives its heavy atoms. Errors: NotRelaxed."""
    try:
        text = relax_me(pdb_obj=described(prediction), use_gpu=gpu)
    except (ArithmeticError, ValueError, RuntimeError, OpenMMException) as error:  # the first of atoms in one place
        raise NotRelaxed(f"OpenMM gave up: {error or type(error).__name__}") from error
    found = protein.from_pdb_string(text)
    if not np.array_equal(found.aatype, prediction.residues):
        raise NotRelaxed("the relaxed structure has other residues")
    if not (found.atom_mask[prediction.present] > 0.5).all():
        raise NotRelaxed("the relaxed structure lacks atoms")
    return prediction._replace(atoms=np.where(prediction.present[..., None], found.atom_positions, 0).astype(np.float32))


def described(prediction: Prediction) -> protein.Protein:
    """The prediction as AlphaFold's code takes it, the residues of every chain counted from 1."""
    chains = prediction.chains
    starts = np.searchsorted(chains, chains)  # chains lie one after the other
    return protein.Protein(
        atom_positions=prediction.atoms, aatype=prediction.residues, atom_mask=prediction.present.astype(np.float32),
        residue_index=np.arange(len(chains)) - starts + 1, chain_index=chains,
        b_factors=np.repeat(prediction.confidence.plddt[:, None], prediction.present.shape[1], axis=1),
    )  # fmt: skip
