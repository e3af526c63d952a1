"""Looks at the frame of a DCD file, so that a trajectory that is torn or belongs to another system is refused before it is read.

Layout: the molfile plugin's and CHARMM's, records of Fortran with their length before and after.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

from task import Failure

HEADER_BYTES = 84
MAX_TITLE_BYTES = 1 << 20
MAX_ATOMS = 1 << 28  # a frame of it takes 3 GiB; no simulation of the service is that large
CELL_RECORD_BYTES = 4 + 48 + 4


class Dcd(NamedTuple):
    """What a DCD file holds."""

    frames: int
    atoms: int
    cell: bool  # every frame begins with its box


def look(path: Path, atoms: int) -> Dcd:
    """Checks a trajectory against the atoms of its topology. Raises a Failure when it has no frame, a torn one, other atoms,
    or is no DCD file."""
    size = path.stat().st_size
    if size == 0:
        raise empty()
    try:
        with open(path, "rb") as file:
            declared, found, cell, start = read_header(file)
    except (struct.error, ValueError) as error:
        raise Failure("EXECUTOR", "TRAJECTORY_UNREADABLE", f"trajectory.dcd is no DCD file that can be read: {error}.") from None
    if found != atoms:
        raise Failure(
            "EXECUTOR",
            "TRAJECTORY_ATOMS_MISMATCH",
            f"trajectory.dcd has {found:,} atoms a frame and the topology {atoms:,}: they do not belong together.",
        )
    frame = 3 * (4 + 4 * atoms + 4) + (CELL_RECORD_BYTES if cell else 0)
    frames, rest = divmod(size - start, frame)
    if frames == 0 and rest == 0 and declared == 0:
        raise empty()
    if rest or frames != declared:
        raise Failure(
            "EXECUTOR",
            "TRAJECTORY_TRUNCATED",
            f"trajectory.dcd says that it has {declared:,} frames and has {frames:,} whole ones"
            + (f" and {rest:,} bytes of another" if rest else "")
            + ": the simulation was cut off while it wrote.",
        )
    return Dcd(frames, found, cell)


def empty() -> Failure:
    return Failure(
        "EXECUTOR",
        "TRAJECTORY_EMPTY",
        "The trajectory has no frames; outputs.trajectoryIntervalSteps must be at most protocol.productionSteps.",
    )


def read_header(file: BinaryIO) -> tuple[int, int, bool, int]:
    """Declared frames, atoms, whether frames have a box, and where the first frame begins. Raises ValueError or struct.error."""
    mark = file.read(4)
    order = "<" if mark == struct.pack("<i", HEADER_BYTES) else ">"
    if mark != struct.pack(order + "i", HEADER_BYTES) or file.read(4) != b"CORD":
        raise ValueError("it does not begin as one")
    numbers = struct.unpack(order + "20i", file.read(80))
    end(file, order, HEADER_BYTES)
    if numbers[0] < 0 or numbers[8] != 0 or numbers[11] != 0:
        raise ValueError("it has fixed atoms or a fourth dimension, or a negative number of frames")
    (title,) = struct.unpack(order + "i", file.read(4))
    if not 0 <= title <= MAX_TITLE_BYTES:
        raise ValueError("its title is too long")
    file.seek(title, 1)
    end(file, order, title)
    length, atoms = struct.unpack(order + "2i", file.read(8))
    end(file, order, 4)
    if length != 4 or not 0 < atoms <= MAX_ATOMS:
        raise ValueError("its number of atoms makes no sense")
    return numbers[0], atoms, numbers[10] != 0, file.tell()


def end(file: BinaryIO, order: str, length: int) -> None:
    if struct.unpack(order + "i", file.read(4))[0] != length:
        raise ValueError("a record does not end where it should")
