"""Writes the trajectory (DCD) and the table of energies (CSV) so that both can be cut, kept in pieces and put together again.

DCD is the layout that CHARMM, NAMD and OpenMM write: records of Fortran, little-endian, each with its length before and after.
A frame is the cell (lengths in Å and cosines of angles), then x, y and z in Å. All frames of a file have the same size.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np

from dynamics import Energies
from task import OUT, Failure

COLUMNS = (
    "step",
    "time_ps",
    "potential_kj_mol",
    "kinetic_kj_mol",
    "total_kj_mol",
    "temperature_k",
    "volume_nm3",
    "density_g_ml",
    "speed_ns_day",
)
CSV_HEADER = ",".join(COLUMNS).encode() + b"\n"
AKMA_PS = 0.04888821  # CHARMM's unit of time
MOST_STEPS = 2**31 - 1
TITLE = b"molfabric"
COPY_BYTES = 1 << 20


def dcd_header(atoms: int, frames: int, interval_steps: int, timestep_ps: float, earlier_steps: int) -> bytes:
    """The first frame is that of interval_steps after the earlier ones. Where the file's numbers of 32 bits cannot hold the steps
    of all runs together, they count those of this run."""
    before = earlier_steps if earlier_steps + frames * interval_steps <= MOST_STEPS else 0
    steps = before + interval_steps, interval_steps, before + frames * interval_steps
    control = struct.pack("<4s9if", b"CORD", frames, *steps, 0, 0, 0, 0, 0, timestep_ps / AKMA_PS)
    control += struct.pack("<10i", 1, 0, 0, 0, 0, 0, 0, 0, 0, 24)
    titles = struct.pack("<i80s", 1, TITLE.ljust(80))
    return b"".join(struct.pack("<i", len(r)) + r + struct.pack("<i", len(r)) for r in (control, titles, struct.pack("<i", atoms)))


def frame_bytes(atoms: int) -> int:
    return 8 + 48 + 3 * (8 + 4 * atoms)


def dcd_frame(positions_nm: np.ndarray, box_nm: np.ndarray) -> bytes:
    a, b, c = 10 * np.asarray(box_nm, dtype=float)
    lengths = [float(np.linalg.norm(v)) for v in (a, b, c)]
    gamma, beta, alpha = (float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)) for u, v in ((a, b), (a, c), (b, c)))
    record = struct.pack("<i", 4 * len(positions_nm))
    parts = [struct.pack("<i6di", 48, lengths[0], gamma, lengths[1], beta, alpha, lengths[2], 48)]
    coordinates = np.ascontiguousarray((10 * np.asarray(positions_nm)).T, dtype="<f4")
    for axis in coordinates:
        parts += [record, axis.tobytes(), record]
    return b"".join(parts)


def csv_row(step: int, time_ps: float, energies: Energies, speed_ns_day: float) -> bytes:
    values = (
        f"{step}",
        f"{time_ps:.6f}",
        f"{energies.potential_kj_mol:.4f}",
        f"{energies.kinetic_kj_mol:.4f}",
        f"{energies.potential_kj_mol + energies.kinetic_kj_mol:.4f}",
        f"{energies.temperature_k:.3f}",
        f"{energies.volume_nm3:.5f}",
        f"{energies.density_g_ml:.6f}",
        f"{speed_ns_day:.3f}",
    )
    return ",".join(values).encode() + b"\n"


class Growing:
    """A file that grows below out/ under a name that is nobody's output yet."""

    def __init__(self, name: str, header: bytes) -> None:
        self.path, self.final = OUT / f"{name}.part", OUT / name
        self.file: BinaryIO = open(self.path, "wb")
        self.file.write(header)
        self.size = len(header)

    def append(self, content: bytes) -> None:
        self.file.write(content)
        self.size += len(content)

    def append_from(self, path: Path, start: int, length: int) -> None:
        self.size += copy_range(path, start, length, self.file)

    def flush(self) -> None:
        self.file.flush()

    def finish(self, header: bytes) -> Path:
        """Writes the header anew, which must have its old length, and gives the file its name."""
        self.file.seek(0)
        self.file.write(header)
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        if self.path.stat().st_size != self.size:
            raise Failure(
                "EXECUTOR", "OUTPUT_INCOMPLETE", f"{self.final.name} could not be written whole; the worker's disk may be full."
            )
        os.replace(self.path, self.final)
        return self.final


def copy_range(source: Path, start: int, length: int, target: BinaryIO) -> int:
    with open(source, "rb") as file:
        file.seek(start)
        left = length
        while left:
            piece = file.read(min(left, COPY_BYTES))
            if not piece:
                raise Failure(
                    "EXECUTOR", "OUTPUT_INCOMPLETE", f"{source.name} is shorter than it was written; the worker's disk may be full."
                )
            target.write(piece)
            left -= len(piece)
    return length
