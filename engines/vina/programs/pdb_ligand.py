"""Reads one small molecule from a PDB file, which says where the atoms are and seldom how they are bonded.

Bond orders come from the first of these that the file has: a SMILES (a line REMARK SMILES, or a word of its title that is a
SMILES of these atoms), CONECT records that name a double bond twice, the names of standard residues, or the geometry of all
atoms with their hydrogens and the charge that fits.
"""

from __future__ import annotations

from typing import Iterator

from rdkit import Chem
from rdkit.Chem import AllChem, rdDetermineBonds

from task import one_line

MAX_PDB_ATOMS = 1000
WATERS = frozenset(("HOH", "WAT", "DOD", "H2O", "TIP", "SOL"))
STANDARD_RESIDUES = frozenset(
    "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL A C G U DA DC DG DT".split()
)
CHARGES = (0, 1, -1, 2, -2, 3, -3)  # tried in this order; the one that needs the fewest charged atoms fits best


class UnreadableError(Exception):
    """The file does not say which molecule it holds."""


def parse_pdb(text: str, notes: list[str]) -> Chem.Mol:
    """The molecule without hydrogens, stereochemistry from its coordinates. Raises UnreadableError."""
    block = clean_block(text, notes)
    template = template_of(text, block)
    if template is not None:
        return from_template(block, template, notes)
    molecule = from_connections(block, notes) or from_residues(block, notes) or from_geometry(block, notes)
    Chem.AssignStereochemistryFrom3D(molecule)
    return Chem.RemoveHs(molecule)


def clean_block(text: str, notes: list[str]) -> str:
    """The atoms of the first model without waters and without alternate locations but the first, and the CONECT records."""
    atoms, connections, locations, residues = [], [], {}, set()
    for line in text.splitlines():
        if line.startswith("ENDMDL"):
            notes.append("the PDB file may hold several models; the first is docked")
            break
        if line.startswith(("ATOM  ", "HETATM")) and line[17:20].strip() not in WATERS:
            where = (line[21:22], line[22:27], line[17:20])
            if locations.setdefault((where, line[12:16]), line[16:17]) == line[16:17]:
                atoms.append(line[:16] + " " + line[17:])
                residues.add(where)
    connections = [line for line in text.splitlines() if line.startswith("CONECT")][: 4 * MAX_PDB_ATOMS]
    if not atoms:
        raise UnreadableError("the PDB file has no ATOM or HETATM records besides water")
    if len(atoms) > MAX_PDB_ATOMS:
        raise UnreadableError(f"the PDB file has {len(atoms)} atoms in {len(residues)} residues; give the ligand alone")
    return "\n".join([*atoms, *connections, "END"]) + "\n"


def read_block(block: str, guess_bonds: bool) -> Chem.Mol:
    molecule = Chem.MolFromPDBBlock(block, sanitize=False, removeHs=False, proximityBonding=guess_bonds)
    if molecule is None or not molecule.GetNumAtoms():
        raise UnreadableError("the PDB file's coordinates or elements cannot be read")
    if any(atom.GetAtomicNum() == 0 for atom in molecule.GetAtoms()):
        raise UnreadableError("the PDB file has an atom whose element cannot be told; fill columns 77 and 78")
    return molecule


def texts_of(text: str) -> Iterator[tuple[str, bool]]:
    """The words of the file that may be a SMILES, and whether they claim to be one."""
    for line in text.splitlines():
        words = line.split()
        if line.startswith("REMARK") and "SMILES" in words[:4]:
            after = words[words.index("SMILES") + 1 :]
            if after and after[0] != "IDX":
                yield after[0], True
        elif line.startswith(("TITLE", "COMPND", "HEADER")):
            yield from ((word, False) for word in words[1:])


def template_of(text: str, block: str) -> Chem.Mol | None:
    """The molecule of the SMILES that the file holds, when it has the file's heavy atoms."""
    elements = sorted(atom.GetAtomicNum() for atom in read_block(block, False).GetAtoms() if atom.GetAtomicNum() > 1)
    for word, claimed in texts_of(text):
        template = Chem.MolFromSmiles(word)
        fits = template is not None and sorted(atom.GetAtomicNum() for atom in template.GetAtoms()) == elements
        if fits:
            return template
        if claimed:
            reason = "cannot be read" if template is None else f"has other heavy atoms than the {len(elements)} of the file"
            raise UnreadableError(f"the file's REMARK SMILES {one_line(word, 80)} {reason}")
    return None


def from_template(block: str, template: Chem.Mol, notes: list[str]) -> Chem.Mol:
    bare = Chem.RemoveAllHs(read_block(block, True), sanitize=False)
    for bond in bare.GetBonds():
        bond.SetBondType(Chem.BondType.SINGLE)
    for atom in bare.GetAtoms():
        atom.SetFormalCharge(0)
    try:
        molecule = AllChem.AssignBondOrdersFromTemplate(template, bare)
    except ValueError:
        raise UnreadableError("the SMILES in the PDB file has the file's atoms but joins them in another way") from None
    Chem.AssignStereochemistryFrom3D(molecule)
    if not molecule.HasSubstructMatch(template, useChirality=True):
        raise UnreadableError("the coordinates have another stereochemistry than the SMILES in the PDB file")
    notes.append("bond orders from the SMILES in the PDB file")
    return molecule


def from_connections(block: str, notes: list[str]) -> Chem.Mol | None:
    """By CONECT alone; None when they leave an atom out, name no bond twice or make no molecule."""
    molecule = read_block(block, False)
    orders = {bond.GetBondType() for bond in molecule.GetBonds()}
    lonely = any(not atom.GetDegree() for atom in molecule.GetAtoms())
    if lonely or not orders & {Chem.BondType.DOUBLE, Chem.BondType.TRIPLE} or not accepted(molecule):
        return None
    notes.append("bond orders from the CONECT records of the PDB file")
    return molecule


def from_residues(block: str, notes: list[str]) -> Chem.Mol | None:
    """By the names of standard residues and their atoms; None when there is another residue."""
    names = {line[17:20].strip() for line in block.splitlines() if line.startswith(("ATOM", "HETATM"))}
    if not names <= STANDARD_RESIDUES:
        return None
    molecule = read_block(block, True)
    if not accepted(molecule):
        return None
    notes.append("bond orders from the names of the residues and atoms in the PDB file")
    return molecule


def from_geometry(block: str, notes: list[str]) -> Chem.Mol:
    """By the positions of all atoms, hydrogens included (Kim and Kim 2015), with the charge that needs the fewest charged atoms."""
    molecule = read_block(block, False)
    heavy = molecule.GetNumHeavyAtoms()
    if heavy > 1 and heavy == molecule.GetNumAtoms():
        raise UnreadableError(
            "the PDB file does not say the bond orders and has no hydrogens to tell them by; add a line REMARK SMILES, or give "
            "SDF or MOL2"
        )
    electrons = sum(atom.GetAtomicNum() for atom in molecule.GetAtoms())
    fitting = []
    for charge in CHARGES:
        candidate = Chem.RWMol(molecule)
        for atom in candidate.GetAtoms():
            atom.SetFormalCharge(0)
        if (electrons - charge) % 2:
            continue
        try:
            rdDetermineBonds.DetermineBonds(candidate, charge=charge)
        except (ValueError, RuntimeError):
            continue
        charged = sum(1 for atom in candidate.GetAtoms() if atom.GetFormalCharge())
        if accepted(candidate):
            fitting.append((charged, len(fitting), charge, candidate.GetMol()))
    if not fitting:
        raise UnreadableError(
            "the bond orders cannot be told from the PDB file's geometry with any charge from −3 to 3; add the missing hydrogens "
            "or a line "
            "REMARK SMILES, or give SDF or MOL2"
        )
    _, _, charge, best = min(fitting, key=lambda found: found[:2])
    notes.append("bond orders from the geometry in the PDB file" + (f", with total charge {charge:+d}" if charge else ""))
    return best


def accepted(molecule: Chem.Mol) -> bool:
    """Sanitises the molecule; False when it is none, or has unpaired electrons."""
    try:
        Chem.SanitizeMol(molecule)
    except (ValueError, RuntimeError):
        return False
    return not any(atom.GetNumRadicalElectrons() for atom in molecule.GetAtoms())
