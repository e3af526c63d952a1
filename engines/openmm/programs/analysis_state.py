"""Reads state.csv, the table of energies that a simulation writes, in one pass and in bounded memory."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from task import Failure, user_error

# Columns by the quantity that they are.
COLUMNS = {
    "potential-energy": "potential_kj_mol",
    "kinetic-energy": "kinetic_kj_mol",
    "total-energy": "total_kj_mol",
    "temperature": "temperature_k",
    "volume": "volume_nm3",
    "density": "density_g_ml",
}
SPEED = "speed_ns_day"
# These are left empty by a system without a box; the others never are.
OPTIONAL = frozenset(("volume", "density"))
# Rows that are held: with more, every second is dropped, again and again. A plot and a mean need no more.
MAX_ROWS = 100_000
MAX_LINE_CHARS = 4096


class State(NamedTuple):
    """Rows of state.csv. steps and times_ps have the shape (n,), and so has each of values; wanted is by step."""

    steps: np.ndarray
    times_ps: np.ndarray
    values: dict[str, np.ndarray]
    speed_ns_day: float | None  # median over the rows
    rows: int  # in the file
    every: int  # of them is in the arrays
    wanted: dict[int, dict[str, float]]


def read_state(path: Path, wanted: set[int]) -> State:
    """Reads the table; rows whose step is in wanted are also kept by themselves. Raises a Failure naming the line when it is
    no such table or holds a value that is not finite."""
    kept: list[tuple[int, float, dict[str, float], float]] = []
    by_step: dict[int, dict[str, float]] = {}
    rows, every, last = 0, 1, -1
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        table = csv.DictReader(bounded(file), restkey="")
        missing = [name for name in ("step", "time_ps", *COLUMNS.values()) if name not in (table.fieldnames or [])]
        if missing:
            raise unreadable(f"it has no column {missing[0]}")
        for row in table:
            step, time_ps, values, speed = parse(row, rows + 2)
            if step <= last:
                raise unreadable(f"line {rows + 2}: step {step} does not come after step {last}")
            last = step
            if rows % every == 0:
                kept.append((step, time_ps, values, speed))
            if step in wanted:
                by_step[step] = values
            rows += 1
            if len(kept) > MAX_ROWS:
                kept, every = kept[::2], every * 2
    return arrays(kept, rows, every, by_step)


def bounded(file):  # type: ignore[no-untyped-def]
    """The lines of a file, refusing one that no simulation writes."""
    while line := file.readline(MAX_LINE_CHARS + 1):
        if len(line) > MAX_LINE_CHARS:
            raise unreadable("it has a line that is too long")
        yield line


def parse(row: dict[str, str | None], line: int) -> tuple[int, float, dict[str, float], float]:
    """Step, time in ps, values and speed (NaN when it is not stated yet) of one row."""
    values = {}
    for name, column in COLUMNS.items():
        value = number(row[column])
        if name in OPTIONAL and not row[column]:
            continue
        if not math.isfinite(value):
            raise user_error(
                "SIMULATION_UNSTABLE",
                f"state.csv, line {line}: {column} is not a finite number; the simulation has become unstable. A shorter "
                f"timestepFs or a longer "
                "minimisation and equilibration may help.",
            )
        values[name] = value
    step, time_ps = number(row["step"]), number(row["time_ps"])
    if not (step.is_integer() and 0 <= step < 2**53 and math.isfinite(time_ps)):
        raise unreadable(f"line {line}: step or time_ps is no number that a simulation writes")
    return int(step), time_ps, values, number(row.get(SPEED))


def number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def unreadable(why: str) -> Failure:
    return Failure("EXECUTOR", "STATE_UNREADABLE", f"state.csv is not a simulation's table: {why}.")


def arrays(
    kept: list[tuple[int, float, dict[str, float], float]], rows: int, every: int, wanted: dict[int, dict[str, float]]
) -> State:
    names = [name for name in COLUMNS if kept and all(name in values for _, _, values, _ in kept)]
    speeds = [speed for *_, speed in kept if math.isfinite(speed) and speed > 0]
    return State(
        np.array([step for step, *_ in kept], dtype=np.int64),
        np.array([time for _, time, *_ in kept], dtype=float),
        {name: np.array([values[name] for _, _, values, _ in kept], dtype=float) for name in names},
        float(np.median(speeds)) if speeds else None,
        rows,
        every,
        wanted,
    )
