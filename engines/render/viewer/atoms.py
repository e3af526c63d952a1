"""Holds PDB and PDBQT files of a scene against their format before they are drawn: the viewer takes what it cannot read of an
atom's place for 0, and would draw it there.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, Iterator

from task import Failure, one_line, user_error

FORMATS = ("pdb", "pdbqt")
ATOM = (b"ATOM  ", b"HETATM")
# Columns 31 to 54 of an atom: x, y and z.
PLACES = (slice(30, 38), slice(38, 46), slice(46, 54))
NUMBER = re.compile(rb"\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*")
# Longer lines are none of these formats, and are read in pieces.
MAX_LINE_BYTES = 4096
# A scene's document is deeper only when it is made to be.
MAX_DEPTH = 200


def require_atoms(scene: dict[str, Any]) -> None:
    """scene: "file", "format" and "references" of a request. Raises a Failure that names the file and the line."""
    if scene["format"] in FORMATS:
        check(Path(scene["file"]), "The structure")
    if scene["format"] != "mvsj":
        return
    for reference in sorted(set(structures(scene))):
        check(Path(scene["references"][reference]), f"The structure “{one_line(reference, 120)}”")


def structures(scene: dict[str, Any]) -> Iterator[str]:
    """The references of a scene that it parses as PDB or PDBQT. What is wrong with the document, the viewer says."""
    try:
        with open(scene["file"], encoding="utf-8") as file:
            document = json.load(file)
    except (ValueError, RecursionError):
        return
    states = document.get("snapshots") if isinstance(document, dict) else None
    waiting = [
        (state.get("root"), None, 0) for state in (states if isinstance(states, list) else [document]) if isinstance(state, dict)
    ]
    while waiting:
        node, reference, depth = waiting.pop()
        if not isinstance(node, dict) or depth > MAX_DEPTH:
            continue
        params = node.get("params")
        params = params if isinstance(params, dict) else {}
        if node.get("kind") == "download":
            reference = params.get("url")
        if (
            node.get("kind") == "parse"
            and params.get("format") in FORMATS
            and isinstance(reference, str)
            and reference in scene["references"]
        ):
            yield reference
        children = node.get("children")
        waiting += [(child, reference, depth + 1) for child in (children if isinstance(children, list) else [])]


def check(path: Path, subject: str) -> None:
    with open(path, "rb") as file:
        number, begins = 0, True
        while line := file.readline(MAX_LINE_BYTES):
            number += begins
            if begins and line.startswith(ATOM) and not all(readable(line[place]) for place in PLACES):
                raise unreadable(subject, number)
            begins = line.endswith(b"\n")


def readable(text: bytes) -> bool:
    return NUMBER.fullmatch(text) is not None and math.isfinite(float(text))


def unreadable(subject: str, number: int) -> Failure:
    return user_error(
        "STRUCTURE_UNREADABLE",
        f"{subject} is no PDB file that can be drawn: the atom in its line {number:,} has no coordinates in columns 31 to 54.",
    )
