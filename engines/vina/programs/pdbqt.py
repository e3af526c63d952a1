"""Lines of PDBQT files: their atoms and the AutoDock types that they may have. Imports nothing beyond the standard library."""

from __future__ import annotations

import math
from typing import NamedTuple

# AutoDock atom types that Vina's scoring function has parameters for, except water and glue types.
RECEPTOR_TYPES = frozenset(
    "C A N NA NS O OA OS P S SA H HD HS F I Cl CL Br BR Si At Mg MG Mn MN Zn ZN Ca CA Fe FE Cu Na K Hg Co U Cd Ni".split()
)
GLUE_TYPES = frozenset(f"{prefix}{n}" for prefix in ("G", "CG") for n in range(4))
LIGAND_TYPES = frozenset("C A N NA NS O OA OS P S SA H HD HS F I Cl Br Si".split()) | GLUE_TYPES

# The largest coordinate that the PDB format's eight columns hold, in Å.
MAX_COORDINATE = 9999.0


class PdbqtAtom(NamedTuple):
    serial: int
    name: str
    residue: str
    chain: str
    number: str
    x: float
    y: float
    z: float
    type: str


def pdbqt_atom(line: str) -> PdbqtAtom:
    """Parses one ATOM or HETATM line of a PDBQT file. Raises ValueError with what is wrong."""
    try:
        x, y, z = (float(line[start : start + 8]) for start in (30, 38, 46))
    except ValueError:
        raise ValueError("its coordinates are not numbers") from None
    if not all(math.isfinite(c) and abs(c) <= MAX_COORDINATE for c in (x, y, z)):
        raise ValueError("its coordinates are out of range")
    try:
        charge = float(line[66:76])
    except ValueError:
        raise ValueError("it has no partial charge in columns 67 to 76") from None
    if not math.isfinite(charge):
        raise ValueError("its partial charge is not a finite number")
    atom_type = line[77:].strip()
    if not atom_type:
        raise ValueError("it has no AutoDock atom type in column 78")
    serial = line[6:11].strip()
    return PdbqtAtom(
        int(serial) if serial.isdigit() else 0,
        line[12:16].strip(),
        line[17:20].strip(),
        line[21:22].strip(),
        line[22:27].strip(),
        x,
        y,
        z,
        atom_type,
    )


def is_atom(line: str) -> bool:
    return line.startswith(("ATOM", "HETATM"))
