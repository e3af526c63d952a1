"""A receptor with a docked pose as one PDB file, for programs that take nothing else."""

from __future__ import annotations

from rdkit import Chem

RESIDUE_NAME = "LIG"
CHAINS = "LXYZABCDEFGHIJKMNOPQRSTUVWabcdefghijklmnopqrstuvwxyz0123456789"
MAX_SERIAL = 99_999  # the PDB format's five columns
BONDS_A_RECORD = 4


class ComplexError(Exception):
    """A complex does not fit into the PDB format."""


class Receptor:
    """The atoms of a prepared receptor, kept as they are written, and what is free beside them."""

    def __init__(self, pdb: str) -> None:
        lines = [line.rstrip("\r\n") for line in pdb.splitlines() if line.startswith(("ATOM", "HETATM", "TER"))]
        self.text = "".join(line + "\n" for line in lines)
        atoms = [line for line in lines if not line.startswith("TER")]
        used = {line[21:22] for line in atoms}
        self.free_chain = next((chain for chain in CHAINS if chain not in used), " ")
        serials = [line[6:11].strip() for line in lines]
        self.last_serial = max((int(serial) for serial in serials if serial.isdigit()), default=0)
        self.ended = not lines or lines[-1].startswith("TER")


def atom_name(symbol: str, number: int) -> str:
    """A name of four columns that is unique within the ligand; one-letter elements start in the second column."""
    name = f"{symbol.upper()}{number}"
    return name[:4] if len(symbol) == 2 or len(name) > 3 else f" {name}"


def charge_columns(charge: int) -> str:
    return f"{min(abs(charge), 9)}{'+' if charge > 0 else '-'}" if charge else ""


def ligand_atoms(molecule: Chem.Mol, chain: str, first_serial: int) -> list[str]:
    """HETATM records of the molecule's first conformer, coordinates in Å."""
    positions, numbers, lines = molecule.GetConformer().GetPositions(), dict[str, int](), []
    for atom, (x, y, z) in zip(molecule.GetAtoms(), positions):
        symbol = atom.GetSymbol()
        numbers[symbol] = numbers.get(symbol, 0) + 1
        name = atom_name(symbol, numbers[symbol])
        lines.append(
            f"HETATM{first_serial + atom.GetIdx():5d} {name:<4} {RESIDUE_NAME} {chain}{1:4d}    "
            f"{x:8.3f}{y:8.3f}{z:8.3f}{1:6.2f}{0:6.2f}"
            f"          {symbol.upper():>2}{charge_columns(atom.GetFormalCharge())}"
        )
    return lines


def ligand_bonds(molecule: Chem.Mol, first_serial: int) -> list[str]:
    """CONECT records; a double or triple bond is named twice or thrice, as most readers understand it."""
    kekulized, lines = Chem.Mol(molecule), []
    Chem.Kekulize(kekulized, clearAromaticFlags=True)
    for atom in kekulized.GetAtoms():
        partners = sorted(
            first_serial + bond.GetOtherAtomIdx(atom.GetIdx())
            for bond in atom.GetBonds()
            for _ in range(max(int(bond.GetBondTypeAsDouble()), 1))
        )
        for start in range(0, len(partners), BONDS_A_RECORD):
            lines.append(
                f"CONECT{first_serial + atom.GetIdx():5d}" + "".join(f"{p:5d}" for p in partners[start : start + BONDS_A_RECORD])
            )
    return lines


def complex_pdb(receptor: Receptor, sdf: str, remark: str) -> str:
    """The receptor's atoms with their author numbering, then the ligand of an SDF record as residue LIG of a chain of its own,
    with hydrogens and bonds. Raises ComplexError where the PDB format cannot hold it."""
    molecule = Chem.MolFromMolBlock(sdf, removeHs=False)
    if molecule is None or not molecule.GetNumAtoms():
        raise ComplexError("the ligand's pose cannot be read")
    molecule = Chem.AddHs(molecule, addCoords=True)
    first = receptor.last_serial + 2  # a TER takes a serial number too
    if first + molecule.GetNumAtoms() > MAX_SERIAL:
        raise ComplexError(f"the PDB format numbers at most {MAX_SERIAL} atoms")
    plain = remark.encode("ascii", "replace").decode()[:68]
    chain = receptor.free_chain
    ter = [] if receptor.ended else [f"TER   {receptor.last_serial + 1:5d}"]
    ligand = [*ter, *ligand_atoms(molecule, chain, first), *ligand_bonds(molecule, first), "END"]
    return f"REMARK   1 {plain}\n{receptor.text}" + "\n".join(ligand) + "\n"
