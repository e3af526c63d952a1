"""Which atoms of a ligand stand for each other, and how far two of its poses are apart when that is reckoned with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rdkit import Chem

MAX_MAPPINGS = 5000  # of a ligand onto itself; two trifluoromethyl groups and a phenyl ring have 72

Distance = Callable[[np.ndarray, np.ndarray], float]


def distance_of(lines: list[str], heavy: list[int]) -> Distance:
    """The root mean square deviation in place, over the best of the ligand's symmetries, of two poses' heavy atoms ((n, 3) in Å).

    lines are a PDBQT's; heavy are the serial numbers of its heavy atoms in the poses' order. Which atoms are equal is read from
    Meeko's REMARK SMILES; without it every atom is one of its own.
    """
    places = {serial: place for place, serial in enumerate(heavy)}
    mappings = mappings_of(lines, places)

    def distance(one: np.ndarray, other: np.ndarray) -> float:
        squares = ((one[mappings] - other[mappings[0]]) ** 2).sum(axis=2).mean(axis=1)
        return float(np.sqrt(squares.min()))

    return distance


def mappings_of(lines: list[str], places: dict[int, int]) -> np.ndarray:
    """The ligand's heavy atoms in every order that its symmetries allow, (k, n), the first as they stand in the SMILES."""
    unknown = np.array([list(places.values())])
    smiles = next((line.split()[2] for line in lines if line.startswith("REMARK SMILES ") and len(line.split()) == 3), None)
    numbers = [number for line in lines if line.startswith("REMARK SMILES IDX ") for number in line.split()[3:]]
    molecule = Chem.MolFromSmiles(smiles) if smiles else None
    if molecule is None or not all(number.isdigit() for number in numbers):
        return unknown
    serials = dict(zip(map(int, numbers[::2]), map(int, numbers[1::2])))
    try:
        order = np.array([places[serials[atom.GetIdx() + 1]] for atom in molecule.GetAtoms() if atom.GetAtomicNum() > 1])
    except KeyError:  # the SMILES is of another molecule than the atoms
        return unknown
    plain = without_protons(molecule)
    matches = plain.GetSubstructMatches(plain, uniquify=False, maxMatches=MAX_MAPPINGS)
    return order[np.array(matches)] if matches else unknown


def without_protons(molecule: Chem.Mol) -> Chem.Mol:
    """The heavy atoms without charges, hydrogens and stereochemistry; equal terminal atoms of one centre, such as the oxygens of a
    carboxylate, get equal bonds."""
    plain = Chem.RWMol(Chem.RemoveAllHs(molecule, sanitize=False))
    Chem.RemoveStereochemistry(plain)
    for atom in plain.GetAtoms():
        atom.SetFormalCharge(0)
        atom.SetNumRadicalElectrons(0)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(0)
        ends = [other for other in atom.GetNeighbors() if other.GetDegree() == 1]
        for end in ends:
            if sum(other.GetAtomicNum() == end.GetAtomicNum() for other in ends) > 1:
                plain.GetBondBetweenAtoms(atom.GetIdx(), end.GetIdx()).SetBondType(Chem.BondType.SINGLE)
    plain.UpdatePropertyCache(strict=False)
    return plain.GetMol()
