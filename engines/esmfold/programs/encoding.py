"""Proteins as ESMFold reads them: one token a residue, the chains of a complex joined by a flexible linker.

The model wants the residue indices of AlphaFold and translates them for its language model itself; the tokens of ESM's own
tokenizer are others. Linker and gap are those of ESMFold's authors (esm.esmfold.v1, Lin et al. 2023, doi:10.1126/science.ade2574).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from structures import RESIDUES

LINKER = "G" * 25  # tokens between two chains
CHAIN_GAP = 512  # residue numbers between two chains; the model sees differences up to 32


class Encoded(NamedTuple):
    """A protein of L tokens, linkers included."""

    residues: np.ndarray  # int64 [L], indices into RESIDUES
    positions: np.ndarray  # int64 [L], residue numbers with CHAIN_GAP between chains
    chains: np.ndarray  # int64 [L], index of the chain; -1 in a linker

    @property
    def own(self) -> np.ndarray:
        """bool [L]: which tokens are the caller's."""
        return self.chains >= 0


def encode(chains: list[str]) -> Encoded:
    """Encodes chains of the 20 residues, one letter each; another letter is a ValueError."""
    residues: list[int] = []
    positions: list[int] = []
    owners: list[int] = []
    for index, chain in enumerate(chains):
        if index:
            add(LINKER, -1, residues, owners)
        add(chain, index, residues, owners)
        # A linker is numbered with the chain before it, as the authors do.
        tail = len(LINKER) if index + 1 < len(chains) else 0
        positions += [len(positions) + place + index * CHAIN_GAP for place in range(len(chain) + tail)]
    return Encoded(*(np.array(column, dtype=np.int64) for column in (residues, positions, owners)))


def add(letters: str, owner: int, residues: list[int], owners: list[int]) -> None:
    residues += [RESIDUES.index(letter) for letter in letters]
    owners += [owner] * len(letters)


def tokens(chains: list[str]) -> int:
    """How many tokens the chains have with their linkers; time and memory go by it."""
    return sum(map(len, chains)) + len(LINKER) * (len(chains) - 1)
