"""The crystal pose of a case: the ligand as it was deposited, with the bonds of its component's definition.

Shared by score.py and peer.py; needs RDKit and gemmi.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Iterator, NamedTuple

import gemmi
import numpy as np
from rdkit import Chem
from rdkit.Chem import AllChem, rdDetermineBonds, rdDistGeom
from rdkit.Geometry import Point3D

HYDROGENS = frozenset({"H", "D"})
MAX_SYMMETRIES = 100_000  # six tert-butyl groups have 46,656 mappings
EMBED_SEED = 1


class CaseError(Exception):
    """What a case says and what its files hold do not fit together."""


class Crystal(NamedTuple):
    """A ligand's crystal pose."""

    molecule: Chem.Mol  # the whole molecule, without hydrogens
    smiles: str
    seen: list[int]  # its atoms that the entry shows
    positions: np.ndarray  # of those, shape (n, 3), Å


def definitions(dictionary: Path, wanted: set[str]) -> dict[str, str]:
    """SMILES of components by their ids, from the dictionary that set-up has made: gzip, a JSON object a line."""
    found: dict[str, str] = {}
    with gzip.open(dictionary, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if entry["id"] in wanted and entry.get("smiles"):
                found[entry["id"]] = entry["smiles"]
    return found


def read_entry(path: Path) -> gemmi.Model:
    """The first model of a PDB or mmCIF file, plain or compressed."""
    structure = gemmi.read_structure(str(path))
    structure.setup_entities()
    if not len(structure):
        raise CaseError(f"{path.name} holds no model")
    return structure[0]


def residues(model: gemmi.Model) -> Iterator[tuple[gemmi.Chain, gemmi.Residue]]:
    for chain in model:
        for residue in chain:
            yield chain, residue


def find_residue(model: gemmi.Model, component: str, chain: str, number: str) -> gemmi.Residue:
    """The residue of that component, chain and number (with its insertion code), by the author's numbering."""
    for place, residue in residues(model):
        if residue.name == component and place.name == chain and str(residue.seqid) == number:
            return residue
    raise CaseError(f"the entry has no {component} {chain} {number}")


def heavy_atoms(residue: gemmi.Residue) -> list[gemmi.Atom]:
    """The heavy atoms of the alternate conformation with the highest occupancy, the first of equals."""
    heavy = [atom for atom in residue if atom.element.name not in HYDROGENS]
    occupancy: dict[str, float] = {}
    for atom in heavy:
        if atom.has_altloc():
            occupancy[atom.altloc] = occupancy.get(atom.altloc, 0.0) + atom.occ
    chosen = min(occupancy, key=lambda name: (-round(occupancy[name], 2), name), default="")
    return [atom for atom in heavy if not atom.has_altloc() or atom.altloc == chosen]


def kind(atom: Chem.Atom) -> int:
    """What tells atoms apart whatever the protonation: element, aromaticity and, of a carbon, its hybridisation. Not zero."""
    shape = int(atom.GetHybridization()) if atom.GetAtomicNum() == 6 else 0
    return 1 + shape + 16 * int(atom.GetIsAromatic()) + 32 * atom.GetAtomicNum()


def skeleton(molecule: Chem.Mol, kinds: bool = False) -> Chem.Mol:
    """The heavy atoms and which are bonded: no orders, charges or stereochemistry. With kinds, atoms match their own alone."""
    heavy = Chem.RemoveAllHs(molecule, sanitize=False)
    marks = [kind(atom) for atom in heavy.GetAtoms()]
    bare = Chem.RWMol(heavy)
    for atom, mark in zip(bare.GetAtoms(), marks):
        atom.SetFormalCharge(0)
        atom.SetNumRadicalElectrons(0)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(0)
        atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
        atom.SetIsAromatic(False)
        atom.SetIsotope(mark if kinds else 0)
    for bond in bare.GetBonds():
        bond.SetStereo(Chem.BondStereo.STEREONONE)
        bond.SetBondType(Chem.BondType.SINGLE)
        bond.SetIsAromatic(False)
    bare.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(bare)
    return bare.GetMol()


def mappings(molecule: Chem.Mol, part: Chem.Mol) -> list[tuple[int, ...]]:
    """The ways in which part lies in molecule: for each, the atom of molecule for each atom of part."""
    return list(molecule.GetSubstructMatches(part, uniquify=False, maxMatches=MAX_SYMMETRIES))


def placed(atoms: list[gemmi.Atom]) -> Chem.Mol:
    """The atoms with their positions, bonded where they are near enough."""
    molecule, conformer = Chem.RWMol(), Chem.Conformer(len(atoms))
    for i, atom in enumerate(atoms):
        molecule.AddAtom(Chem.Atom(atom.element.name))
        conformer.SetAtomPosition(i, Point3D(atom.pos.x, atom.pos.y, atom.pos.z))
    conformer.Set3D(True)
    molecule.AddConformer(conformer, assignId=True)
    rdDetermineBonds.DetermineConnectivity(molecule)
    return skeleton(molecule.GetMol())


def near_pairs(molecule: Chem.Mol) -> np.ndarray:
    """Pairs of atoms that are one or two bonds apart, shape (n, 2): their distances depend on bond orders, not on torsions."""
    apart = Chem.GetDistanceMatrix(molecule)
    return np.argwhere(np.triu((apart == 1) | (apart == 2)))


def ideal_positions(molecule: Chem.Mol) -> np.ndarray | None:
    """Of the heavy atoms in a relaxed conformer of the molecule; None where none is found."""
    shaped = Chem.AddHs(molecule)
    if rdDistGeom.EmbedMolecule(shaped, randomSeed=EMBED_SEED) < 0:
        return None
    if AllChem.MMFFHasAllMoleculeParams(shaped):
        AllChem.MMFFOptimizeMolecule(shaped)
    return shaped.GetConformer().GetPositions()[: molecule.GetNumAtoms()]


def recognised(whole: Chem.Mol, crystal: Chem.Mol) -> tuple[int, ...]:
    """Which atom of the definition each atom of the crystal's is. Bonds alone do not tell tacrine's aromatic ring from its
    saturated one; of the mappings that they allow, the one whose bond lengths and angles fit the definition's best is taken."""
    found = mappings(skeleton(whole), crystal)
    if not found:
        raise CaseError("the ligand's atoms in the entry are no part of its definition")
    ideal = ideal_positions(whole) if len(found) > 1 else None
    if ideal is None:
        return found[0]
    pairs, known = near_pairs(crystal), crystal.GetConformer().GetPositions()
    observed = np.linalg.norm(known[pairs[:, 0]] - known[pairs[:, 1]], axis=1)

    def strain(mapping: tuple[int, ...]) -> float:
        place = ideal[list(mapping)]
        return float(((np.linalg.norm(place[pairs[:, 0]] - place[pairs[:, 1]], axis=1) - observed) ** 2).sum())

    return min(found, key=strain)


def from_entry(case: dict[str, Any], smiles: str) -> Crystal:
    residue = find_residue(read_entry(Path(case["receptor"])), case["ligand"], case["chain"], case["residue"])
    crystal, whole = placed(heavy_atoms(residue)), Chem.MolFromSmiles(smiles)
    if whole is None:
        raise CaseError(f"the definition of {case['ligand']} cannot be read")
    return Crystal(whole, smiles, list(recognised(whole, crystal)), crystal.GetConformer().GetPositions())


def from_file(path: Path) -> Crystal:
    """A crystal pose in a file of its own: .sdf or .mol2, whose bonds are taken as they are."""
    read = {".sdf": Chem.MolFromMolFile, ".mol2": Chem.MolFromMol2File}.get(path.suffix.lower())
    if read is None:
        raise CaseError(f"{path.name} is no .sdf or .mol2 file")
    given = read(str(path), removeHs=False)
    if given is None or not given.GetNumConformers():
        raise CaseError(f"{path.name} holds no molecule with coordinates")
    Chem.AssignStereochemistryFrom3D(given)
    molecule = Chem.RemoveHs(given)
    positions = molecule.GetConformer().GetPositions()
    return Crystal(molecule, Chem.MolToSmiles(molecule), list(range(molecule.GetNumAtoms())), positions)


def read_crystal(case: dict[str, Any], dictionary: Path) -> Crystal:
    """The crystal pose of a case. Raises CaseError."""
    if case.get("crystal"):
        return from_file(Path(case["crystal"]))
    found = definitions(dictionary, {case["ligand"]})
    if case["ligand"] not in found:
        raise CaseError(f"{case['ligand']} is not in the dictionary of components")
    return from_entry(case, found[case["ligand"]])
