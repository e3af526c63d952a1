"""Residues that stay as they are: cofactors, modified residues, and what no residue template fits.

A residue's molecule is its definition laid over the atoms that were seen. Atoms that are missing leave hydrogens in their place,
bonds to other residues and to metals leave none. Where the definition does not fit, atoms get the types of their elements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from meeko import MoleculePreparation
from molscrub import AcidBaseConjugator
from rdkit import Chem, RDLogger
from rdkit.Geometry import Point3D

from molecule import LigandError
from poses import skeleton
from protonation import protonate
from residues import HYDROGENS, METALS
from structure import Atom

MAX_MATCHED_ATOMS = 150  # heavy atoms of a definition; the search for its atoms has no other bound
BOND_TOLERANCES_ANGSTROM = (
    0.45,
    0.3,
    0.2,
)  # over the sum of covalent radii; the first is usual, the others part atoms that are squeezed
ACID = Chem.MolFromSmarts("[CX3,PX4,SX4](=O)[OX2H1]")

# AutoDock types by element, where there is no molecule to tell more, and those of the metals that AutoDock Vina has parameters for.
ELEMENT_TYPES = {
    "C": "C",
    "N": "N",
    "O": "OA",
    "S": "SA",
    "SE": "S",
    "P": "P",
    "F": "F",
    "CL": "Cl",
    "BR": "Br",
    "I": "I",
    "SI": "Si",
    "H": "HD",
    "AS": "P",
}
METAL_TYPES = {
    "MG": "Mg",
    "MN": "Mn",
    "ZN": "Zn",
    "CA": "Ca",
    "FE": "Fe",
    "CU": "Cu",
    "NA": "Na",
    "K": "K",
    "HG": "Hg",
    "CO": "Co",
    "U": "U",
    "CD": "Cd",
    "NI": "Ni",
}
METAL_CHARGES = {"NA": 1, "K": 1, "FE": 3, "CU": 2}  # 2 for the others


class RigidAtom(NamedTuple):
    name: str
    element: str  # upper case
    position: tuple[float, float, float]  # Å
    type: str  # AutoDock's
    partial_charge: float
    polar: bool  # written to PDBQT, which leaves out hydrogens of carbons


class Molecule(NamedTuple):
    """A residue as it stays. bonds are places of atoms and RDKit's order; charges the formal ones that are not 0, by place."""

    atoms: list[RigidAtom]
    bonds: list[tuple[int, int, float]]
    charges: dict[int, int]
    defined: bool  # the definition fits


class Unknown(Exception):
    """AutoDock Vina has no parameters for one of the atoms."""


def molecule_of(atoms: list[Atom], smiles: str | None, ph: float, linked: dict[str, int], coordinated: set[str]) -> Molecule:
    """A residue's molecule. linked counts the bonds to other residues by atom name, coordinated names the atoms that bind a metal
    of another residue. Raises Unknown."""
    RDLogger.DisableLog("rdApp.*")
    heavy = [atom for atom in atoms if atom.element not in HYDROGENS]
    metals = [atom for atom in heavy if atom.element in METALS]
    others = [atom for atom in heavy if atom.element not in METALS]
    ions = [ion(atom) for atom in metals]
    bound = coordinated | near_metals(others, metals)
    found = None
    if others and smiles:
        try:
            found = laid_over(others, smiles, ph, linked, bound)
        except (ValueError, RuntimeError, LookupError, LigandError):  # what RDKit and Meeko raise for what they do not understand
            found = None
    if found is None:
        return Molecule([by_element(atom) for atom in others] + ions, [], {}, not others)
    return found._replace(atoms=found.atoms + ions)


def ion(atom: Atom) -> RigidAtom:
    if atom.element not in METAL_TYPES:
        raise Unknown(f"AutoDock Vina has no parameters for {atom.element.capitalize()}")
    return RigidAtom(atom.name, atom.element, atom.position, METAL_TYPES[atom.element], METAL_CHARGES.get(atom.element, 2), True)


def by_element(atom: Atom) -> RigidAtom:
    if atom.element not in ELEMENT_TYPES:
        raise Unknown(f"AutoDock Vina has no parameters for {atom.element.capitalize()}")
    return RigidAtom(atom.name, atom.element, atom.position, ELEMENT_TYPES[atom.element], 0.0, True)


COORDINATION_ANGSTROM = 2.8  # a donor's distance from the metal that it binds


def near_metals(atoms: list[Atom], metals: list[Atom]) -> set[str]:
    """Names of the nitrogens, oxygens and sulfurs that bind a metal."""
    donors = [atom for atom in atoms if atom.element in ("N", "O", "S")]
    return {
        a.name
        for a in donors
        for m in metals
        if sum((p - q) ** 2 for p, q in zip(a.position, m.position)) <= COORDINATION_ANGSTROM**2
    }


def laid_over(atoms: list[Atom], smiles: str, ph: float, linked: dict[str, int], bound: set[str]) -> Molecule | None:
    """The definition laid over the atoms; None when it does not fit."""
    template = without_metals(smiles)
    if template is None or template.GetNumAtoms() > MAX_MATCHED_ATOMS or len(atoms) > template.GetNumAtoms():
        return None
    places = match(atoms, template)
    if places is None:
        return None
    seen = assembled(atoms, template, ph, places, linked, bound)
    return typed(Chem.AddHs(seen, addCoords=True), atoms, linked, bound)


def without_metals(smiles: str) -> Chem.Mol | None:
    """The molecule of a definition without its metals; what they were bonded to keeps the electrons."""
    editable = Chem.MolFromSmiles(smiles, sanitize=False)
    if editable is None:
        return None
    editable = Chem.RWMol(editable)
    metals = [atom.GetIdx() for atom in editable.GetAtoms() if atom.GetSymbol().upper() in METALS]
    for metal in metals:
        for bond in editable.GetAtomWithIdx(metal).GetBonds():
            donor = bond.GetOtherAtom(editable.GetAtomWithIdx(metal))
            donor.SetNoImplicit(True)
            if bond.GetBondType() != Chem.BondType.DATIVE and donor.GetFormalCharge() > -2:
                donor.SetFormalCharge(donor.GetFormalCharge() - 1)
    for metal in sorted(metals, reverse=True):
        editable.RemoveAtom(metal)
    if Chem.SanitizeMol(editable, catchErrors=True) != Chem.SanitizeFlags.SANITIZE_NONE:
        return None
    if metals:
        for _, oxygen in ((found[0], found[-1]) for found in editable.GetSubstructMatches(ACID)):
            editable.GetAtomWithIdx(oxygen).SetFormalCharge(-1)
            editable.GetAtomWithIdx(oxygen).SetNoImplicit(True)
            editable.GetAtomWithIdx(oxygen).SetNumExplicitHs(0)
        editable.UpdatePropertyCache()
    molecule = Chem.RemoveAllHs(editable.GetMol())
    molecule.SetBoolProp("_metal", bool(metals))
    return molecule


def match(atoms: list[Atom], template: Chem.Mol) -> tuple[int, ...] | None:
    """The template's atom of each atom that was seen."""
    wanted = skeleton(template, False)
    for tolerance in BOND_TOLERANCES_ANGSTROM:
        found = wanted.GetSubstructMatch(skeleton(connected(atoms, tolerance), False))
        if found:
            return found
    return None


def connected(atoms: list[Atom], tolerance: float) -> Chem.Mol:
    """The atoms with a bond wherever two are near enough."""
    radii = Chem.GetPeriodicTable()
    molecule = Chem.RWMol()
    for atom in atoms:
        molecule.AddAtom(Chem.Atom(atom.element.capitalize()))
    positions = np.array([atom.position for atom in atoms])
    reach = np.array([radii.GetRcovalent(atom.element.capitalize()) for atom in atoms])
    distances = np.linalg.norm(positions[:, None] - positions[None, :], axis=2)
    for i, j in zip(*np.where(np.triu(distances < reach[:, None] + reach[None, :] + tolerance, 1))):
        molecule.AddBond(int(i), int(j), Chem.BondType.SINGLE)
    return molecule.GetMol()


def protonated(template: Chem.Mol, ph: float) -> Chem.Mol:
    """The template's state at the pH, its atoms in the template's order; the template itself where that cannot be told."""
    if template.GetBoolProp("_metal"):
        return template
    copy = Chem.Mol(template)
    for atom in copy.GetAtoms():
        atom.SetIntProp("_given", atom.GetIdx())
    try:
        state = protonate(copy, ph, AcidBaseConjugator.from_default_data_files(), [])
    except LigandError:
        return template
    if state.GetNumAtoms() != template.GetNumAtoms():
        return template
    order = sorted(range(state.GetNumAtoms()), key=lambda i: state.GetAtomWithIdx(i).GetIntProp("_given"))
    return Chem.RenumberAtoms(state, order)


def assembled(
    atoms: list[Atom], template: Chem.Mol, ph: float, places: tuple[int, ...], linked: dict[str, int], bound: set[str]
) -> Chem.Mol:
    """The seen part of the template in its state at the pH. An atom that is bonded to another residue is that of the template as it
    is defined: a backbone's nitrogen is no amine."""
    state = protonated(template, ph)
    for molecule in (template, state):
        Chem.Kekulize(molecule, clearAromaticFlags=True)
    seen = {place: i for i, place in enumerate(places)}
    editable, conformer = Chem.RWMol(), Chem.Conformer(len(atoms))
    for i, (atom, place) in enumerate(zip(atoms, places)):
        links = linked.get(atom.name, 0)
        source = (template if links else state).GetAtomWithIdx(place)
        made = Chem.Atom(source.GetAtomicNum())
        charge, hydrogens = charge_and_hydrogens(source, seen, links, atom.name in bound)
        made.SetFormalCharge(charge)
        made.SetNumExplicitHs(hydrogens)
        made.SetNoImplicit(True)
        editable.AddAtom(made)
        conformer.SetAtomPosition(i, Point3D(*atom.position))
    for bond in state.GetBonds():
        ends = [seen.get(end) for end in (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())]
        if None not in ends:
            editable.AddBond(*ends, bond.GetBondType())
    conformer.Set3D(True)
    editable.AddConformer(conformer, assignId=True)
    Chem.SanitizeMol(editable)
    return editable.GetMol()


def charge_and_hydrogens(source: Chem.Atom, seen: dict[int, int], links: int, binds_metal: bool) -> tuple[int, int]:
    """An atom's formal charge and hydrogens. Bonds to other residues take the place of what the definition has there and was not
    seen, then of hydrogens; hydrogens take the place of what else was not seen."""
    charge, hydrogens = source.GetFormalCharge(), source.GetTotalNumHs()
    if links and source.GetAtomicNum() == 7 and charge > 0 and hydrogens > 0:
        charge, hydrogens = charge - 1, hydrogens - 1
    lost = sum(int(bond.GetBondTypeAsDouble()) for bond in source.GetBonds() if bond.GetOtherAtomIdx(source.GetIdx()) not in seen)
    hydrogens = max(hydrogens - max(links - lost, 0), 0)
    if source.GetAtomicNum() in (6, 7, 8):
        hydrogens += max(lost - links, 0)
    if binds_metal and hydrogens and source.GetAtomicNum() in (8, 16) and not links:
        charge, hydrogens = charge - 1, hydrogens - 1
    return charge, hydrogens


def typed(molecule: Chem.Mol, given: list[Atom], linked: dict[str, int], bound: set[str]) -> Molecule:
    """The molecule's atoms with Meeko's types and charges, the given ones first. A nitrogen that a metal or a peptide bond has the
    electrons of accepts no hydrogen bond."""
    types, partial = meeko_types(molecule)
    positions = molecule.GetConformer().GetPositions()
    made, counts = [], dict[str, int]()
    for i, atom in enumerate(molecule.GetAtoms()):
        polar, element = types[i] != "H", atom.GetSymbol().upper()
        if i < len(given):
            name = given[i].name
            kind = "N" if types[i] == "NA" and (name in bound or (name == "N" and name in linked)) else types[i]
        else:
            parent = given[atom.GetNeighbors()[0].GetIdx()].name
            counts[parent] = counts.get(parent, 0) + 1
            name, kind = f"H{parent[1:] if len(parent) > 1 else ''}{counts[parent]}"[:4], "HD"
        made.append(RigidAtom(name, element, tuple(map(float, positions[i])), kind, partial[i], polar))
    bonds = [(b.GetBeginAtomIdx(), b.GetEndAtomIdx(), b.GetBondTypeAsDouble()) for b in kekulized(molecule).GetBonds()]
    charges = {atom.GetIdx(): atom.GetFormalCharge() for atom in molecule.GetAtoms() if atom.GetFormalCharge()}
    return Molecule(made, bonds, charges, True)


def kekulized(molecule: Chem.Mol) -> Chem.Mol:
    copy = Chem.Mol(molecule)
    Chem.Kekulize(copy, clearAromaticFlags=True)
    return copy


def meeko_types(molecule: Chem.Mol) -> tuple[list[str], list[float]]:
    """AutoDock types and partial charges by atom; "H" is a hydrogen that PDBQT leaves out."""
    types, charges = [""] * molecule.GetNumAtoms(), [0.0] * molecule.GetNumAtoms()
    for places in Chem.GetMolFrags(molecule):
        part = fragment(molecule, places)
        setup = MoleculePreparation(rigid_macrocycles=True)(part)[0]
        for place, atom in zip(places, setup.atoms):
            element = molecule.GetAtomWithIdx(place).GetSymbol().upper()
            types[place] = "H" if atom.is_ignore else atom.atom_type or ELEMENT_TYPES[element]
            charges[place] = float(atom.charge) if np.isfinite(atom.charge) else 0.0
    return types, charges


def fragment(molecule: Chem.Mol, places: tuple[int, ...]) -> Chem.Mol:
    """A part of a molecule, its atoms in their order."""
    editable = Chem.RWMol(molecule)
    for i in sorted(set(range(molecule.GetNumAtoms())) - set(places), reverse=True):
        editable.RemoveAtom(i)
    Chem.SanitizeMol(editable)
    return editable.GetMol()
