"""Docked poses as molecules: Vina's PDBQT back to bond orders, charges and hydrogens, and one SDF record a pose, and how far
poses are from a known one."""

from __future__ import annotations

from typing import Any

import numpy as np
from meeko import PDBQTMolecule, RDKitMolCreate
from rdkit import Chem
from rdkit.Chem import rdMolAlign
from rdkit.Chem.rdMolDescriptors import CalcMolFormula

from task import one_line

MAX_TITLE_CHARS = 80  # the first line of a molfile
MAX_SYMMETRIES = 100_000  # six tert-butyl groups have 46,656 mappings


class ExportError(Exception):
    """A docked pose cannot be written as SDF."""


def pose_molecule(pdbqt: str, smiles: str) -> Chem.Mol:
    """The docked molecule with hydrogens, and one conformer a pose in the order of the PDBQT's models (coordinates in Å).

    Bond orders and charges come from Meeko's REMARK SMILES in the PDBQT; smiles is the molecule that was prepared. Raises
    ExportError when the two are not one molecule, and whatever Meeko and RDKit raise for text that is no pose.
    """
    molecules = RDKitMolCreate.from_pdbqt_mol(PDBQTMolecule(pdbqt, skip_typing=True))
    if len(molecules) != 1 or molecules[0] is None:
        raise ExportError("the poses do not say which molecule they are")
    molecule = molecules[0]
    if CalcMolFormula(Chem.AddHs(Chem.MolFromSmiles(smiles))) != CalcMolFormula(molecule):
        raise ExportError("the poses are of another molecule than the prepared one")
    if not all(np.isfinite(conformer.GetPositions()).all() for conformer in molecule.GetConformers()):
        raise ExportError("a pose has coordinates that are not numbers")
    return molecule


def sdf_record(molecule: Chem.Mol, conformer: int, ligand: dict[str, Any], pose: dict[str, Any]) -> str:
    """One SDF record: the ligand's id as title, the structure, and the pose's figures as data items.

    ligand has ligandId and label; pose has rank, scoreKcalMol, rmsdLowerBound, rmsdUpperBound (Å) and terms (kcal/mol), and
    perhaps cnnScore and cnnAffinityPk.
    """
    copy = Chem.Mol(molecule, confId=conformer)
    for name in list(copy.GetPropNames(includePrivate=True)):
        copy.ClearProp(name)
    copy.SetProp("_Name", one_line(ligand["ligandId"], MAX_TITLE_CHARS))
    block = Chem.MolToMolBlock(copy, confId=conformer)
    items = {
        "ligandId": ligand["ligandId"],
        "label": one_line(ligand["label"]),
        "poseRank": pose["rank"],
        "scoreKcalMol": f"{pose['scoreKcalMol']:.3f}",
        "rmsdLowerBound": f"{pose['rmsdLowerBound']:.3f}",
        "rmsdUpperBound": f"{pose['rmsdUpperBound']:.3f}",
        **{f"{name}KcalMol": f"{value:.3f}" for name, value in pose["terms"].items()},
        **{name: pose[name] for name in ("cnnScore", "cnnAffinityPk") if pose.get(name) is not None},
    }
    return block + "".join(f">  <{name}>\n{value}\n\n" for name, value in items.items()) + "$$$$\n"


def skeleton(molecule: Chem.Mol, orders: bool) -> Chem.Mol:
    """The heavy atoms without charges, and without bond orders unless asked for: protonation changes the one, and in
    delocalised groups the other."""
    bare = Chem.RWMol(Chem.RemoveAllHs(molecule, sanitize=False))
    for atom in bare.GetAtoms():
        atom.SetFormalCharge(0)
        atom.SetNumRadicalElectrons(0)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(0)
        atom.SetChiralTag(Chem.ChiralType.CHI_UNSPECIFIED)
        atom.SetIsAromatic(orders and atom.GetIsAromatic())
    for bond in bare.GetBonds():
        bond.SetStereo(Chem.BondStereo.STEREONONE)
        if not orders:
            bond.SetBondType(Chem.BondType.SINGLE)
            bond.SetIsAromatic(False)
    bare.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(bare)
    return bare.GetMol()


def deviations(molecule: Chem.Mol, reference: Chem.Mol) -> list[float]:
    """Symmetry-corrected heavy-atom deviation of every conformer of molecule from reference, in place, in Å. Hydrogens,
    charges and, where they differ, bond orders do not count; terminal atoms of conjugated groups (the oxygens of a
    carboxylate) count as equal. A reference of which a part was seen is compared where it was seen. Raises ExportError for
    different molecules."""
    if reference.GetNumHeavyAtoms() < molecule.GetNumHeavyAtoms():
        return partial_deviations(skeleton(molecule, False), skeleton(reference, False))
    for orders in (True, False):
        probe, known = skeleton(molecule, orders), skeleton(reference, orders)
        if probe.GetNumAtoms() != known.GetNumAtoms() or probe.GetNumBonds() != known.GetNumBonds():
            break
        try:
            return [
                round(rdMolAlign.CalcRMS(probe, known, conformer.GetId(), -1, maxMatches=MAX_SYMMETRIES), 3)
                for conformer in probe.GetConformers()
            ]
        except RuntimeError:  # no mapping of one onto the other
            continue
    raise ExportError("the two are different molecules")


def partial_deviations(probe: Chem.Mol, seen: Chem.Mol) -> list[float]:
    places = probe.GetSubstructMatches(seen, uniquify=False, maxMatches=MAX_SYMMETRIES)
    if not places:
        raise ExportError("the two are different molecules")
    mappings = [[(place, i) for i, place in enumerate(match)] for match in places]
    return [round(rdMolAlign.CalcRMS(probe, seen, conformer.GetId(), -1, map=mappings), 3) for conformer in probe.GetConformers()]
