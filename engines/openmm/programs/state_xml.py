"""Takes the numbers of a state out of foreign XML, and writes a state of its own from them.

OpenMM's reader must not see a user's text. It follows the attribute "type" of every element, and that of a PythonForce unpickles
what the text holds, which runs it: by the time the result turns out to be no State, the user's program has run. Here nothing but
numbers is taken, so whatever else a text holds never reaches OpenMM. This module imports nothing beyond the standard library.
"""

from __future__ import annotations

import math
from typing import Any, Iterator
from xml.parsers import expat

MAX_DEPTH = 8  # a state has three levels, and with an integrator's parameters some more
CHUNK_BYTES = 1 << 16  # expat reads on to the end of a chunk after a refusal
MAX_STEPS = 1 << 62
# No molecule drifts that far and no atom moves that fast; forces in single precision would overflow.
MAX_POSITION_NM = 1e5
MAX_VELOCITY_NM_PER_PS = 1e5
AXES = ("x", "y", "z")
ELEMENTS = {"Positions": "Position", "Velocities": "Velocity"}
BOX, BOX_ELEMENTS = "PeriodicBoxVectors", ("A", "B", "C")

Row = tuple[float, float, float]


class Foreign(ValueError):
    """The text is no state, or not one of so many particles."""


class Reader:
    """Collects the numbers of a state. rows holds positions in nm, velocities in nm/ps and box vectors in nm, by element."""

    def __init__(self, particles: int) -> None:
        self.particles = particles
        self.path: list[str] = []
        self.rows: dict[str, list[Row]] = {"Positions": [], "Velocities": [], BOX: []}
        self.time_ps, self.steps = 0.0, 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.path.append(name)
        depth = len(self.path)
        if depth > MAX_DEPTH:
            raise Foreign("its elements lie too deep")
        if depth == 1:
            if name != "State" or attributes.get("type") != "State":
                raise Foreign("it is no State")
            self.time_ps, self.steps = float(attributes.get("time", "0")), int(attributes.get("stepCount", "0"))
        elif depth == 3 and self.path[1] in self.rows:
            self.take(self.path[1], name, attributes)

    def take(self, group: str, name: str, attributes: dict[str, str]) -> None:
        rows = self.rows[group]
        most = len(BOX_ELEMENTS) if group == BOX else self.particles
        if len(rows) >= most or name != (BOX_ELEMENTS[len(rows)] if group == BOX else ELEMENTS[group]):
            raise Foreign(f"{group} holds too many elements, or one that is called {name[:20]}")
        x, y, z = (float(attributes[axis]) for axis in AXES)
        rows.append((x, y, z))

    def end(self, _: str) -> None:
        self.path.pop()

    def check(self) -> None:
        if (
            len(self.rows["Positions"]) != self.particles
            or len(self.rows["Velocities"]) not in (0, self.particles)
            or len(self.rows[BOX]) != 3
        ):
            raise Foreign("it has not as many positions, velocities and box vectors as it must")
        if not math.isfinite(self.time_ps) or not 0 <= self.steps < MAX_STEPS:
            raise Foreign("its time or its steps are no numbers that a run has")
        bounds = {"Positions": MAX_POSITION_NM, "Velocities": MAX_VELOCITY_NM_PER_PS, BOX: MAX_POSITION_NM}
        for group, most in bounds.items():
            if not all(-most <= value <= most for row in self.rows[group] for value in row):  # not a number is in no bounds
                raise Foreign(f"{group} holds values that are no numbers, or far too large")


def rewritten(text: str, particles: int) -> str:
    """The same state, written anew from its numbers alone; they keep every bit. Raises Foreign."""
    if "<!DOCTYPE" in text:  # where entities are declared; expat would expand them even after a refusal
        raise Foreign("it declares a document type")
    reader = Reader(particles)
    parser: Any = expat.ParserCreate("utf-8")  # whatever the text says of its encoding
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    content = text.encode("utf-8", errors="replace")
    try:
        for place in range(0, len(content), CHUNK_BYTES):
            parser.Parse(content[place : place + CHUNK_BYTES], False)
        parser.Parse(b"", True)
    except Foreign:
        raise
    except (expat.ExpatError, ValueError, KeyError, OverflowError) as error:
        raise Foreign(str(error)) from None
    reader.check()
    return "".join(written(reader))


def written(reader: Reader) -> Iterator[str]:
    """The text in OpenMM's form. repr gives the shortest digits that are read as the same number again."""
    yield (
        f'<?xml version="1.0" ?>\n<State stepCount="{reader.steps}" time="{reader.time_ps!r}" type="State" version="1">\n<{BOX}>\n'
    )
    yield from map(element, BOX_ELEMENTS, reader.rows[BOX])
    yield f"</{BOX}>\n"
    for group, name in ELEMENTS.items():
        if reader.rows[group]:
            yield f"<{group}>\n"
            yield from (element(name, row) for row in reader.rows[group])
            yield f"</{group}>\n"
    yield "</State>\n"


def element(name: str, row: Row) -> str:
    return f'<{name} x="{row[0]!r}" y="{row[1]!r}" z="{row[2]!r}"/>\n'
