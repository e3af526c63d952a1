"""The files of a run while they grow: the trajectory, the table and the structures of the way."""

from __future__ import annotations

import io
import math
from typing import Any, NamedTuple

import numpy as np
from openmm import app, unit

from dynamics import Energies
from saving import Needed, Part, Saved, unpack
from task import IN, Failure, declare, file_sha256
from trajectory import CSV_HEADER, Growing, csv_row, dcd_frame, dcd_header, frame_bytes

ROW_BYTES = 130  # of a long row


class Clock(NamedTuple):
    """Steps and time of the earlier runs that production goes on from; its own are counted on from them."""

    steps: int
    time_ps: float


class Outputs:
    """Trajectory and table. What an interrupted attempt had saved of them is copied first; what came after its save never is."""

    def __init__(self, request: dict[str, Any], atoms: int, resumed: Saved | None, segments: list[Needed]) -> None:
        self.request, self.atoms = request, atoms
        self.timestep_ps = request["protocol"]["timestepFs"] / 1000
        self.clock = Clock(0, 0.0)
        self.frames = self.rows = self.tail_frames = self.tail_rows = 0
        self.structures: dict[str, str] = {}
        self.dcd, self.csv = Growing("trajectory.dcd", self.header(0)), Growing("state.csv", CSV_HEADER)
        self.tail_starts = self.dcd.size, self.csv.size
        for segment in segments:
            found = unpack(segment.path())
            if found is None:
                raise Failure(
                    "EXECUTOR",
                    "SAVE_UNREADABLE",
                    "A segment of the interrupted attempt vanished while it was read; the task is to be repeated.",
                )
            self.take(found[1], segment.frames, segment.rows)
        self.segment_closed()
        if resumed and "dcd" in resumed.parts:
            self.take(resumed.parts, resumed.header["tailFrames"], resumed.header["tailRows"])

    @staticmethod
    def expected_bytes(request: dict[str, Any], atoms: int) -> int:
        steps, outputs = request["protocol"]["productionSteps"], request["outputs"]
        return steps // outputs["trajectoryIntervalSteps"] * frame_bytes(atoms) + steps // outputs["stateIntervalSteps"] * ROW_BYTES

    def header(self, frames: int) -> bytes:
        interval = self.request["outputs"]["trajectoryIntervalSteps"]
        return dcd_header(self.atoms, frames, interval, self.timestep_ps, self.clock.steps)

    def take(self, parts: dict[str, Part], frames: int, rows: int) -> None:
        for growing, part in ((self.dcd, parts["dcd"]), (self.csv, parts["csv"])):
            growing.append_from(*part)
        self.count(frames, rows)

    def count(self, frames: int, rows: int) -> None:
        self.frames, self.tail_frames = self.frames + frames, self.tail_frames + frames
        self.rows, self.tail_rows = self.rows + rows, self.tail_rows + rows

    def frame(self, positions_nm: np.ndarray, box_nm: np.ndarray) -> None:
        self.dcd.append(dcd_frame(positions_nm, box_nm))
        self.count(1, 0)

    def row(self, step: int, energies: Energies, speed_ns_day: float) -> None:
        """step is this run's."""
        time_ps = self.clock.time_ps + step * self.timestep_ps
        self.csv.append(csv_row(self.clock.steps + step, time_ps, energies, speed_ns_day))
        self.count(0, 1)

    def flush(self) -> None:
        self.dcd.flush()
        self.csv.flush()

    def tails(self) -> dict[str, Part]:
        """What has been written since the last segment."""
        starts = zip(("dcd", "csv"), (self.dcd, self.csv), self.tail_starts, strict=True)
        return {name: Part(growing.path, start, growing.size - start) for name, growing, start in starts}

    def segment_closed(self) -> None:
        self.tail_starts = self.dcd.size, self.csv.size
        self.tail_frames = self.tail_rows = 0

    def finish(self) -> None:
        """Gives both files their names. Raises a Failure when they lack a frame or a row, or have one too many."""
        steps, outputs = self.request["protocol"]["productionSteps"], self.request["outputs"]
        wanted = steps // outputs["trajectoryIntervalSteps"], steps // outputs["stateIntervalSteps"]
        if (self.frames, self.rows) != wanted or self.dcd.size != len(self.header(0)) + self.frames * frame_bytes(self.atoms):
            raise Failure(
                "EXECUTOR",
                "OUTPUT_INCOMPLETE",
                f"The run has {self.frames} frames and {self.rows} rows of {wanted[0]} and {wanted[1]}.",
            )
        for path in (self.dcd.finish(self.header(self.frames)), self.csv.finish(CSV_HEADER)):
            declare(path, file_sha256(path))


def structure_text(positions_nm: np.ndarray, box_nm: np.ndarray) -> str:
    """The topology's file with other coordinates and another box."""
    path = IN / "topology.pdb"
    if not path.exists():
        file, text = app.PDBxFile(str(IN / "topology.cif")), io.StringIO()
        file.topology.setPeriodicBoxVectors(box_nm * unit.nanometer)
        app.PDBxFile.writeFile(file.topology, positions_nm * unit.nanometer, text, keepIds=True)
        return text.getvalue()
    lines, atoms = [], iter(positions_nm * 10)
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("ATOM  ", "HETATM")):
            line = line[:30] + "".join(f"{value:8.3f}"[:8] for value in next(atoms)) + line[54:]
        lines.append(cell_line(box_nm) if line.startswith("CRYST1") else line)
    return "\n".join(lines) + "\n"


def cell_line(box_nm: np.ndarray) -> str:
    a, b, c = (10 * vector for vector in box_nm)
    angles = (math.degrees(math.acos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))) for u, v in ((b, c), (a, c), (a, b)))
    lengths = "".join(f"{np.linalg.norm(vector):9.3f}" for vector in (a, b, c))
    return f"CRYST1{lengths}{''.join(f'{angle:7.2f}' for angle in angles)} P 1           1 "
