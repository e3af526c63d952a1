"""Cuts a run into windows, and joins what they wrote: a window is the deck with other times, and goes on from the restart file of
the one before. Raw outputs are records of Fortran behind a header, which only the first window's keeps."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, BinaryIO

import namelists
from task import executor_error

RESTART = "restart.ww3"
HEADER_RECORDS = {"out_grd.ww3": 1, "out_pnt.ww3": 2}
MARK_BYTES = 4


def deck(text: str, window: dict[str, Any]) -> str:
    """ww3_shel.nml of one window."""
    text = namelists.put(text, "DOMAIN_NML", [f"DOMAIN%START = '{window['begin']}'", f"DOMAIN%STOP = '{window['end']}'"])
    return namelists.put(text, "OUTPUT_DATE_NML", [
        f"DATE%{name.upper()} = {namelists.triple(window[name])}" for name in ("field", "point", "restart")])


def order_of(path: Path) -> str:
    """The order of bytes of a raw output, from the marks around its first record; "" of what is none."""
    with open(path, "rb") as file:
        first = file.read(MARK_BYTES)
        for order in ("big", "little"):
            length = int.from_bytes(first, order)
            if len(first) == MARK_BYTES and 0 < length < path.stat().st_size:
                file.seek(MARK_BYTES + length)
                if file.read(MARK_BYTES) == first:
                    return order
    return ""


def header_bytes(path: Path, records: int) -> int:
    """How long the first records of a file are, their marks included."""
    order: Any = order_of(path)
    if not order:
        raise executor_error("WAVEWATCH_BAD_OUTPUT", f"{path.name} does not begin with a record of Fortran.")
    at = 0
    with open(path, "rb") as file:
        for _ in range(records):
            file.seek(at)
            at += 2 * MARK_BYTES + int.from_bytes(file.read(MARK_BYTES), order)
    return at


def append(part: Path, name: str, into: BinaryIO) -> None:
    """Adds a window's part of a raw output to what is joined."""
    with open(part, "rb") as file:
        if into.tell():
            file.seek(header_bytes(part, HEADER_RECORDS[name]))
        shutil.copyfileobj(file, into)


def join(checkpoint: Path, folder: Path, windows: list[dict[str, Any]]) -> None:
    """Lays the outputs of all windows into the folder as one run would have left them. Restart files that the case asks for are
    numbered through; those that only windows needed are left out."""
    for name in HEADER_RECORDS:
        parts = [part for part in (checkpoint / f"window_{i:04d}_{name}" for i in range(len(windows))) if part.exists()]
        if parts:
            with open(folder / name, "wb") as joined:
                for part in parts:
                    append(part, name, joined)
    with open(folder / "log.ww3", "wb") as log:
        for i in range(len(windows)):
            log.write((checkpoint / f"window_{i:04d}_log.ww3").read_bytes())
    number = 0
    for i, window in enumerate(windows):
        for part in sorted(checkpoint.glob(f"window_{i:04d}_restart???.ww3")):
            if not window["own"]:
                number += 1
                shutil.copyfile(part, folder / f"restart{number:03d}.ww3")
    shutil.rmtree(checkpoint)
