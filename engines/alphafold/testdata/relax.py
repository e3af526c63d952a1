"""Relaxes the first residues of a structure from the PDB, one side chain of it bent out of shape, and then atoms in one place:
relax.py FILE.cif RESIDUES. Prints what has become of both as JSON."""

from __future__ import annotations

import json
import sys

import numpy as np
from confidence import Confidence
from relaxation import NotRelaxed, relax
from structures import ATOMS, NAMES3, Prediction

C_ALPHA, C_BETA = ATOMS.index("CA"), ATOMS.index("CB")
BENT = 10  # the residue whose side chain is stretched


def first_residues(path: str, count: int) -> Prediction:
    """The heavy atoms of the first residues of a chain, from 1 on."""
    kinds = np.zeros(count, np.int64)
    atoms, present = np.zeros((count, 37, 3), np.float32), np.zeros((count, 37), bool)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if line.startswith("ATOM") and words[3] in ATOMS and int(words[8]) <= count:
                residue, slot = int(words[8]) - 1, ATOMS.index(words[3])
                kinds[residue] = NAMES3.index(words[5])
                atoms[residue, slot] = [float(word) for word in words[10:13]]
                present[residue, slot] = True
    confidence = Confidence(np.full(count, 90.0), np.zeros((count, count)), 0.9, None)
    return Prediction(kinds, np.zeros(count, np.int64), atoms, present, confidence)


def bond(structure: Prediction) -> float:
    """The length of the stretched bond in Å."""
    return float(np.linalg.norm(structure.atoms[BENT, C_BETA] - structure.atoms[BENT, C_ALPHA]))


def main() -> None:
    own = first_residues(sys.argv[1], int(sys.argv[2]))
    bent = own._replace(atoms=own.atoms.copy())
    bent.atoms[BENT, C_BETA] += 0.4 * (own.atoms[BENT, C_BETA] - own.atoms[BENT, C_ALPHA])
    relaxed = relax(bent, gpu=False)
    moved = np.linalg.norm(relaxed.atoms - own.atoms, axis=-1)[own.present]
    heap = own._replace(atoms=np.zeros_like(own.atoms))  # no force has a direction there
    try:
        relax(heap, gpu=False)
        refused = ""
    except NotRelaxed as error:
        refused = str(error)
    print(json.dumps({"bentBond": bond(bent), "relaxedBond": bond(relaxed), "rmsd": float(np.sqrt((moved**2).mean())),
                      "atoms": int(own.present.sum()), "refused": refused}))  # fmt: skip


if __name__ == "__main__":
    main()
