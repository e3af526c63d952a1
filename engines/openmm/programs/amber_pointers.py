"""Checks what a prmtop says of its own size before OpenMM's reader believes it: that one makes lists of any length from a number.

A prmtop of 2 KB that states 99,999,999 atoms would fill the memory before the first of them is looked for.
"""

from __future__ import annotations

from pathlib import Path

from systems import MAX_PARTICLES, check_particles, check_planned
from task import Failure, user_error

SECTION, FORMAT, COLUMNS = "POINTERS", "%FORMAT(10I8)", 8
# The places of atoms, residues and types of atoms in the section.
NATOM, NTYPES, NRES = 0, 1, 11
MAX_POINTERS = 40  # there are 31 or 32
MAX_LINE_CHARS = 1 << 16
# An atom's name, charge, mass, type and number of exclusions alone take more.
LEAST_BYTES_PER_ATOM = 20


def check_pointers(path: Path, most_atoms: int) -> None:
    """Raises a Failure when the numbers of the prmtop cannot be those of a file of its size, or of a system that was planned."""
    pointers, size = read_pointers(path), path.stat().st_size
    if len(pointers) <= NRES:
        raise unreadable(f"its section {SECTION} has {len(pointers)} numbers")
    atoms, residues = pointers[NATOM], pointers[NRES]
    if atoms > MAX_PARTICLES and atoms <= size / LEAST_BYTES_PER_ATOM:
        check_particles(atoms, "The prmtop says that it has")
    for name, count in (("NATOM", atoms), ("NRES", residues)):
        if not 1 <= count <= min(MAX_PARTICLES, size / LEAST_BYTES_PER_ATOM):
            raise unreadable(
                f"its {name} is {count:,}, which a file of {size:,} bytes cannot hold; at least 1 and at most {MAX_PARTICLES:,} "
                f"are allowed"
            )
    # Every other number counts entries of a section, and that of types the rows and columns of a table.
    wrong = next((count for count in pointers if not 0 <= count <= size), None)
    if wrong is None and pointers[NTYPES] ** 2 > size:
        wrong = pointers[NTYPES]
    if wrong is not None:
        raise unreadable(f"its section {SECTION} states {wrong:,} entries, which a file of {size:,} bytes cannot hold")
    check_planned(atoms, most_atoms, "The prmtop has")


def read_pointers(path: Path) -> list[int]:
    """The numbers of the one section POINTERS, cut as OpenMM cuts them. A second section would replace the first one, so there is
    none."""
    pointers: list[int] = []
    sections, inside = 0, False
    with open(path, encoding="utf-8", errors="replace") as file:
        while line := file.readline(MAX_LINE_CHARS + 1):
            if len(line) > MAX_LINE_CHARS:
                raise unreadable("it has a line that is too long")
            if line.startswith("%FLAG"):
                words = line.split(None, 1)
                inside = len(words) > 1 and words[1].strip() == SECTION
                sections += inside
            elif inside and line.startswith("%FORMAT"):
                if line.strip().upper() != FORMAT:
                    raise unreadable(f"its section {SECTION} is not in the format {FORMAT[7:]}")
            elif inside and line[0] != "%":
                pointers += numbers(line.rstrip())
            if sections > 1 or len(pointers) > MAX_POINTERS:
                raise unreadable(f"it has more than one section {SECTION}, or one that is too long")
    return pointers


def numbers(line: str) -> list[int]:
    try:
        return [int(line[place : place + COLUMNS]) for place in range(0, len(line), COLUMNS)]
    except ValueError:
        raise unreadable(f"its section {SECTION} holds what is no number") from None


def unreadable(why: str) -> Failure:
    return user_error("PRMTOP_UNREADABLE", f"The prmtop cannot be read: {why}. Give the topology file that tleap or parmed wrote.")
