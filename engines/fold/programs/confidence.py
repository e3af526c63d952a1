"""What the model says of its own prediction: pLDDT, PAE, pTM and ipTM, in the units that viewers expect, and refused where they
cannot be."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MOST_PAE_ANGSTROM = 31.75  # of the last bin's centre
BIN_EDGES_ANGSTROM = np.linspace(0, 31, 63)
# A pTM near 1 for a structure whose own residues are not believed comes of broken arithmetic (seen of long chains without chunks).
SURE_PTM, SURE_PLDDT = 0.98, 70.0
LEAST_TM_RESIDUES = 19  # below that the scale d0 of the TM score is no length


class Impossible(Exception):
    """Confidences that no model gives; the message says which."""


class Confidence(NamedTuple):
    """Of a protein of N residues, linkers left out."""

    plddt: np.ndarray  # float [N], 0 to 100
    pae: np.ndarray  # float [N, N], Å: error at column when aligned on row
    ptm: float  # 0 to 1
    iptm: float | None  # 0 to 1, of pairs of residues in different chains; None of a single chain


def confidence(plddt: np.ndarray, pae: np.ndarray, probabilities: np.ndarray, chains: np.ndarray) -> Confidence:
    """Puts together what the model gave: plddt [N] from 0 to 1, pae [N, N] in Å, probabilities [N, N, 64] of the error's bins.
    Errors: Impossible."""
    tm = tm_terms(probabilities)
    apart = chains[:, None] != chains[None, :]
    found = Confidence(plddt * 100, pae, float(tm.mean(axis=1).max()), interface(tm, apart) if apart.any() else None)
    check(found)
    return found


def tm_terms(probabilities: np.ndarray) -> np.ndarray:
    """Expected contribution of every pair to a TM score [N, N] (Jumper et al. 2021, doi:10.1038/s41586-021-03819-2, supplement
    1.9.7)."""
    step = BIN_EDGES_ANGSTROM[1] - BIN_EDGES_ANGSTROM[0]
    centres = np.append(BIN_EDGES_ANGSTROM + step / 2, BIN_EDGES_ANGSTROM[-1] + 1.5 * step)
    d0 = 1.24 * (max(len(probabilities), LEAST_TM_RESIDUES) - 15) ** (1 / 3) - 1.8
    return probabilities @ (1 / (1 + (centres / d0) ** 2))


def interface(tm: np.ndarray, apart: np.ndarray) -> float:
    """The best alignment's mean over the pairs of residues in different chains."""
    return float((np.where(apart, tm, 0).sum(axis=1) / apart.sum(axis=1)).max())


def check(found: Confidence) -> None:
    for name, values, most in (
        ("pLDDT", found.plddt, 100.0),
        ("PAE", found.pae, MOST_PAE_ANGSTROM),
        ("pTM", np.array([found.ptm]), 1.0),
    ):
        if not np.isfinite(values).all():
            raise Impossible(f"{name} is not a number")
        if values.min() < -1e-3 or values.max() > most * 1.001:
            raise Impossible(f"{name} goes from {values.min():.3g} to {values.max():.3g}; it can be 0 to {most:g}")
    if found.ptm > SURE_PTM and found.plddt.mean() < SURE_PLDDT:
        raise Impossible(f"pTM is {found.ptm:.3f} and the mean pLDDT {found.plddt.mean():.0f}, which contradict each other")
