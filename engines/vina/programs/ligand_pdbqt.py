"""Ligands as PDBQT: writing a conformer with Meeko, and checking what is written or was given."""

from __future__ import annotations

from typing import Any

import numpy as np
from meeko import MoleculePreparation, PDBQTWriterLegacy
from rdkit import Chem

from conformer import length_angstrom
from molecule import MAX_SMILES_CHARS, LigandError
from pdbqt import GLUE_TYPES, LIGAND_TYPES, PdbqtAtom, is_atom, pdbqt_atom
from task import one_line

MAX_PDBQT_ATOMS = 125
MAX_PDBQT_LINES = 5000
SCORED_ELEMENTS = ("H", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Br", "I")


def check_elements(molecule: Chem.Mol) -> None:
    """Raises LigandError for elements that Vina has no parameters for, before time is spent on a conformer."""
    unknown = sorted({atom.GetSymbol() for atom in molecule.GetAtoms()} - set(SCORED_ELEMENTS))
    if unknown:
        table = Chem.GetPeriodicTable()
        called = ", ".join(f"{table.GetElementName(table.GetAtomicNumber(symbol)).lower()} ({symbol})" for symbol in unknown)
        raise LigandError("embed", f"AutoDock Vina has no parameters for {called}; it scores {', '.join(SCORED_ELEMENTS)}")


def to_pdbqt(molecule: Chem.Mol, notes: list[str]) -> tuple[str, int]:
    """PDBQT text and number of rotatable bonds. Meeko opens flexible rings of seven atoms and more, and Vina closes them again."""
    text, ok, message = write_molecule(molecule, "gasteiger")
    if not ok and "non finite charge" in message:  # Gasteiger's method has no parameters for some valences, as of phosphoranes
        text, ok, message = write_molecule(molecule, "zero")
        notes.append("written without partial charges, which are not known for it; Vina's score does not use them")
    if not ok:
        raise LigandError("embed", one_line(message) or "Meeko cannot write the molecule as PDBQT")
    atoms, torsions = check_pdbqt(text, "embed")
    opened = sum(is_glue(atom) for atom in atoms) // 2
    if opened:
        rings = "1 large ring is" if opened == 1 else f"{opened} large rings are"
        notes.append(f"{rings} docked flexibly: opened at a bond, which the docking closes again")
    return text, torsions


def write_molecule(molecule: Chem.Mol, charges: str) -> tuple[str, bool, str]:
    """Meeko's PDBQT, whether it is one, and why not."""
    setups = MoleculePreparation(charge_model=charges).prepare(molecule)
    return PDBQTWriterLegacy.write_string(setups[0])


def check_pdbqt(text: str, step: str) -> tuple[list[PdbqtAtom], int]:
    """Atoms and rotatable bonds of a ligand PDBQT. Vina aborts, or skips the ligand silently, where this raises."""
    atoms: list[PdbqtAtom] = []
    torsions, roots, opened = None, 0, 0
    for number, line in enumerate(text.splitlines(), start=1):
        keyword = line.split(" ", 1)[0].strip()
        if number > MAX_PDBQT_LINES:
            raise LigandError(step, f"the PDBQT file has more than {MAX_PDBQT_LINES} lines; give one ligand")
        if is_atom(line):
            try:
                atoms.append(pdbqt_atom(line))
            except ValueError as error:
                raise LigandError(step, f"line {number}: {error}") from None
        elif keyword == "TORSDOF":
            fields = line.split()
            torsions = int(fields[1]) if len(fields) == 2 and fields[1].isdigit() else None
        elif keyword == "ROOT":
            roots += 1
        elif keyword in ("BRANCH", "ENDBRANCH"):
            opened += 1 if keyword == "BRANCH" else -1
        elif keyword in ("MODEL", "BEGIN_RES"):
            raise LigandError(step, f"line {number}: {keyword} is not allowed; give one ligand, not docked poses or residues")
        elif keyword not in ("REMARK", "ENDROOT", "TER", "END", "USER", "WARNING", ""):
            raise LigandError(step, f"line {number}: {one_line(keyword, 20)} is not a PDBQT record of a ligand")
    if not atoms:
        raise LigandError(step, "the PDBQT file has no atoms")
    if roots != 1 or opened != 0 or torsions is None:
        raise LigandError(step, "the PDBQT file has no complete torsion tree (ROOT, BRANCH, TORSDOF)")
    unknown = sorted({atom.type for atom in atoms} - LIGAND_TYPES)
    if unknown:
        raise LigandError(step, f"AutoDock Vina has no parameters for the atom types {', '.join(unknown)}")
    if len(atoms) > MAX_PDBQT_ATOMS:
        raise LigandError(step, f"the ligand has {len(atoms)} atoms; at most {MAX_PDBQT_ATOMS} can be docked")
    return atoms, torsions


def is_glue(atom: PdbqtAtom) -> bool:
    """Is it one of the weightless atoms that hold an opened ring together?"""
    return atom.type in GLUE_TYPES and atom.type.startswith("G")


def describe_pdbqt(text: str) -> tuple[dict[str, Any], Chem.Mol | None]:
    """A ligand given as PDBQT is checked and docked as it is. Returns its record, and the molecule of Meeko's REMARK SMILES."""
    text = text.replace("\r\n", "\n")
    atoms, torsions = check_pdbqt(text, "parse")
    real = [atom for atom in atoms if not is_glue(atom)]
    smiles = next(
        (line.split()[2] for line in text.splitlines() if line.startswith("REMARK SMILES ") and len(line.split()) == 3), None
    )
    molecule = Chem.MolFromSmiles(smiles) if smiles and len(smiles) <= MAX_SMILES_CHARS else None
    notes = ["given as PDBQT: docked as it is, without protonation"]
    if molecule is None:
        notes.append("the PDBQT file has no REMARK SMILES, so the poses cannot be written as SDF")
    heavy = sum(atom.type not in ("H", "HD", "HS") for atom in real)
    length = length_angstrom(np.array([(atom.x, atom.y, atom.z) for atom in real])) if real else 0.0
    return {"heavyAtoms": heavy, "rotatableBonds": torsions, "pdbqt": text, "lengthAngstrom": length, "notes": notes}, molecule
