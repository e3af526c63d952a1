"""Takes a native ligand out of a structure: its crystal pose with the right bond orders."""

from __future__ import annotations

from typing import Any

from gemmi import cif
from rdkit import Chem, RDLogger
from rdkit.Chem import rdDetermineBonds
from rdkit.Geometry import Point3D

from residues import HYDROGENS
from rigid import match
from structure import Atom, Residue, Structure, named
from task import Failure, one_line, user_error

SCHEMA = "molfabric.docking.native/v1"
MAX_HEAVY_ATOMS = 100  # what can be docked
MAX_CHARGE = 2  # of a molecule whose bonds are guessed from its hydrogens
MAX_BOND_GUESSES = 10_000
LEAST_SEEN = 0.5  # of a ligand's heavy atoms: fewer say nothing of a pose

ORDERS = {
    "SING": Chem.BondType.SINGLE,
    "DOUB": Chem.BondType.DOUBLE,
    "TRIP": Chem.BondType.TRIPLE,
    "AROM": Chem.BondType.AROMATIC,
    "SINGLE": Chem.BondType.SINGLE,
    "DOUBLE": Chem.BondType.DOUBLE,
    "TRIPLE": Chem.BondType.TRIPLE,
    "AROMATIC": Chem.BondType.AROMATIC,
}


def unusable(residue: Residue, why: str) -> Exception:
    return user_error(
        "NATIVE_LIGAND_UNUSABLE", f"dockingValidation.nativeReference names {residue}, which cannot be docked again: {why}."
    )


def extract(
    structure: Structure, residue: Residue, atoms: list[Atom], components: dict[str, Any], notes: list[str]
) -> dict[str, Any]:
    """The native ligand's document (schema above): molblock is the crystal pose without hydrogens, coordinates in Å, as far as it
    was seen; smiles is the whole ligand."""
    RDLogger.DisableLog("rdApp.*")
    heavy = [atom for atom in atoms if atom.element not in HYDROGENS]
    if not heavy or len(heavy) > MAX_HEAVY_ATOMS:
        raise unusable(residue, f"it has {len(heavy)} heavy atoms; 1 to {MAX_HEAVY_ATOMS} can be docked")
    smiles = next((value.get("smiles") for name, value in components.items() if name.upper() == residue.name), None)
    whole = None
    if smiles:
        (molecule, whole), source = from_smiles(residue, heavy, smiles), "the component's definition"
    elif structure.block is not None and (bonds := bonds_of(structure.block, residue.name)):
        molecule, source = from_bonds(residue, heavy, bonds, structure.block), "the bonds that the mmCIF file lists"
    else:
        molecule, source = from_hydrogens(residue, atoms), "its atoms and hydrogens, which is a guess"
        notes.append(f"the bond orders of {residue} are guessed from its geometry; a component definition would be better")
    Chem.AssignStereochemistryFrom3D(molecule)
    molecule.SetProp("_Name", residue.name)
    if whole is None or whole.GetNumAtoms() == molecule.GetNumAtoms():
        whole = molecule
    else:
        notes.append(
            f"{molecule.GetNumAtoms()} of the {whole.GetNumAtoms()} heavy atoms of {residue} were seen; it is docked whole, and "
            f"compared where it was seen"
        )
    return {
        "schema": SCHEMA,
        "componentId": residue.name,
        "chain": residue.chain,
        "residue": residue.number,
        "insertionCode": residue.insertion_code,
        "smiles": Chem.MolToSmiles(whole),
        "molblock": Chem.MolToMolBlock(molecule),
        "bondsFrom": source,
    }


def bare_molecule(residue: Residue, atoms: list[Atom]) -> Chem.RWMol:
    """The atoms with their positions and no bonds."""
    molecule, conformer = Chem.RWMol(), Chem.Conformer(len(atoms))
    for i, atom in enumerate(atoms):
        element = "H" if atom.element == "D" else atom.element.capitalize()
        try:
            molecule.AddAtom(Chem.Atom(element))
        except (RuntimeError, ValueError):
            raise unusable(residue, f"its atom {one_line(atom.name, 8)} has no element that RDKit knows") from None
        conformer.SetAtomPosition(i, Point3D(*atom.position))
    conformer.Set3D(True)
    molecule.AddConformer(conformer, assignId=True)
    return molecule


def from_smiles(residue: Residue, heavy: list[Atom], smiles: str) -> tuple[Chem.Mol, Chem.Mol]:
    """The seen part of the ligand and the whole of it, without hydrogens."""
    template = Chem.MolFromSmiles(smiles)
    if template is None:
        raise unusable(residue, "RDKit cannot read its definition")
    template = Chem.RemoveAllHs(template)
    if not template.GetNumAtoms() * LEAST_SEEN <= len(heavy) <= template.GetNumAtoms():
        raise unusable(residue, f"{len(heavy)} of its {template.GetNumAtoms()} heavy atoms are in the structure")
    places = match(heavy, template)
    if places is None:
        raise unusable(residue, "its atoms do not match its definition")
    Chem.Kekulize(template, clearAromaticFlags=True)
    molecule = bare_molecule(residue, heavy)
    for i, place in enumerate(places):
        molecule.GetAtomWithIdx(i).SetFormalCharge(template.GetAtomWithIdx(place).GetFormalCharge())
    seen = {place: i for i, place in enumerate(places)}
    for bond in template.GetBonds():
        if bond.GetBeginAtomIdx() in seen and bond.GetEndAtomIdx() in seen:
            molecule.AddBond(seen[bond.GetBeginAtomIdx()], seen[bond.GetEndAtomIdx()], bond.GetBondType())
    Chem.SanitizeMol(template)
    if len(heavy) == template.GetNumAtoms():
        return sanitized(residue, molecule, "its definition's bonds"), template
    Chem.SanitizeMol(molecule)
    return molecule.GetMol(), template


def bonds_of(block: Any, name: str) -> list[tuple[str, str, str]]:
    """Atom names and order of the bonds that an mmCIF file lists for a component."""
    table = block.find("_chem_comp_bond.", ["comp_id", "atom_id_1", "atom_id_2", "value_order"])
    rows = [[cif.as_string(row[i]) for i in range(4)] for row in table if cif.as_string(row[0]).upper() == name]
    return [(first, second, order.upper()) for _, first, second, order in rows]


def charges_of(block: Any, name: str) -> dict[str, tuple[str, int]]:
    """Element and formal charge by atom name, where the file lists the component's atoms."""
    found = {}
    for row in block.find("_chem_comp_atom.", ["comp_id", "atom_id", "type_symbol", "?charge"]):
        if cif.as_string(row[0]).upper() == name:
            charge = cif.as_string(row[3]) if row.has(3) else "0"
            found[cif.as_string(row[1])] = (
                cif.as_string(row[2]).upper(),
                int(charge) if charge.lstrip("+-").isdigit() and len(charge) < 3 else 0,
            )
    return found


def from_bonds(residue: Residue, heavy: list[Atom], bonds: list[tuple[str, str, str]], block: Any) -> Chem.Mol:
    place = {atom.name: i for i, atom in enumerate(heavy)}
    listed = charges_of(block, residue.name)
    expected = {name for bond in bonds for name in bond[:2] if not is_hydrogen(name, bonds, listed)}
    missing = sorted(expected - set(place))
    if missing:
        raise unusable(residue, f"its atoms {named(missing)} are not in the structure")
    molecule = bare_molecule(residue, heavy)
    for first, second, order in bonds:
        if first in place and second in place:
            if order not in ORDERS or molecule.GetBondBetweenAtoms(place[first], place[second]):
                raise unusable(
                    residue, f"the file's bond between {one_line(first, 8)} and {one_line(second, 8)} is unknown or given twice"
                )
            molecule.AddBond(place[first], place[second], ORDERS[order])
    for name, (_, charge) in listed.items():
        if name in place:
            molecule.GetAtomWithIdx(place[name]).SetFormalCharge(charge)
    return sanitized(residue, molecule, "the bonds that the file lists")


def is_hydrogen(name: str, bonds: list[tuple[str, str, str]], listed: dict[str, tuple[str, int]]) -> bool:
    """Whether an atom of the bond list is a hydrogen: by its element, else a name with H on the end of one single bond."""
    if name in listed:
        return listed[name][0] in HYDROGENS
    mine = [order for first, second, order in bonds if name in (first, second)]
    return name.lstrip("0123456789").upper().startswith(("H", "D")) and mine in (["SING"], ["SINGLE"])


def sanitized(residue: Residue, molecule: Chem.RWMol, source: str) -> Chem.Mol:
    for atom in molecule.GetAtoms():  # a nitrogen with four bonds is an ammonium, whatever a file says of its charge
        if (
            atom.GetAtomicNum() == 7
            and atom.GetFormalCharge() == 0
            and sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds()) == 4
        ):
            atom.SetFormalCharge(1)
    for bond in molecule.GetBonds():
        if bond.GetBondType() == Chem.BondType.AROMATIC:
            bond.SetIsAromatic(True)
            bond.GetBeginAtom().SetIsAromatic(True)
            bond.GetEndAtom().SetIsAromatic(True)
    try:
        Chem.SanitizeMol(molecule)
    except (ValueError, RuntimeError) as error:
        raise unusable(residue, f"{source} make no valid molecule ({one_line(str(error), 120)})") from None
    if len(Chem.GetMolFrags(molecule)) > 1:
        raise unusable(residue, f"{source} make more than one molecule")
    return molecule.GetMol()


def from_hydrogens(residue: Residue, atoms: list[Atom]) -> Chem.Mol:
    """Bond orders guessed from a structure that shows the hydrogens; without them nobody can tell a ketone from an alcohol."""
    if not any(atom.element in HYDROGENS for atom in atoms):
        raise unusable(
            residue,
            "this deployment has no definition of the component, the file lists no bonds for it, and it has no hydrogens to guess "
            "them from; give the structure as mmCIF with _chem_comp_bond",
        )
    for charge in sorted(range(-MAX_CHARGE, MAX_CHARGE + 1), key=abs):
        molecule = bare_molecule(residue, atoms)
        try:
            rdDetermineBonds.DetermineBonds(molecule, charge=charge, maxIterations=MAX_BOND_GUESSES)
            return Chem.RemoveHs(sanitized(residue, molecule, "its atoms and hydrogens"))
        except (ValueError, RuntimeError, Failure):
            continue
    raise unusable(residue, "no bond orders fit its atoms and hydrogens")
