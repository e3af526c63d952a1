"""Keeps some frames of the solute for a film: evenly spread over the run, superposed on its first frame, without hydrogens."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import mdtraj
import numpy as np

from task import OUT, write_bytes

NAME = "snapshots.pdb"
PDB_LINE_BYTES = 81
# A renderer reads the whole file; what is larger is no film any more.
MAX_BYTES = 256 << 20


class Snapshots:
    """Takes frames by their place among those that are followed."""

    def __init__(self, count: int, frames: int) -> None:
        self.wanted = set(np.linspace(0, frames - 1, min(count, frames)).round().astype(int).tolist())
        self.taken: list[np.ndarray] = []

    def take(self, number: int, positions_nm: np.ndarray) -> None:
        """positions_nm has the shape (atoms of the solute, 3)."""
        if number in self.wanted:
            self.taken.append(positions_nm.copy())

    def write(self, topology: Any) -> str | None:
        """Writes a model a frame, and returns why not when that is impossible. topology is mdtraj's, of the solute."""
        heavy = np.array([a.index for a in topology.atoms if a.element is None or a.element.atomic_number != 1])
        if len(heavy) * len(self.taken) * PDB_LINE_BYTES > MAX_BYTES:
            return f"The solute is too large for a film of {len(self.taken)} frames: {NAME} was left out."
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / NAME
            mdtraj.Trajectory(np.stack(self.taken)[:, heavy], topology.subset(heavy)).save_pdb(str(path))
            write_bytes(OUT / NAME, path.read_bytes())
        return None
