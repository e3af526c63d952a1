"""Saves a run while it goes on, and finds the newest save of an interrupted attempt that is whole.

A save is one file, checkpoint/state-0.bin or checkpoint/state-1.bin in turn: the checkpoint, the same state as XML, where the run
was, and the frames and rows since the last segment. A segment, checkpoint/segment-NNNNN-<digest>.bin, holds frames and rows
and is never replaced; nor is checkpoint/kept-<name>-<digest>.bin, a structure of the way. A save names the files that it needs with
their digests. Because the files travel one by one, a save counts only when all of them are there and whole; otherwise the one
before it does. However short the interval of saves, segments are closed by size: there are never more than some MAX_SEGMENTS.

Layout of a save and of a segment: MAGIC, the length of the header (8 bytes, little-endian), the header as JSON, the parts that the
header lists, and the SHA-256 of everything before (32 bytes).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from task import CHECKPOINT, RESUME, file_sha256, saved
from trajectory import COPY_BYTES, copy_range

MAGIC = b"molfabric openmm save 1\n"
MAX_HEADER_BYTES = 1 << 20
MAX_SEGMENTS = 400  # with a few of every attempt, and the saves, below the 1,000 files of a task
LEAST_SEGMENT_BYTES = 4 << 20
MAX_RESUME_FILES = 2000
NAME = re.compile(r"(segment-\d{5}|kept-[a-z]{1,20})-[0-9a-f]{16}\.bin")
SLOTS = ("state-0.bin", "state-1.bin")


class Part(NamedTuple):
    """Some bytes of a file."""

    path: Path
    start: int
    length: int

    def read(self) -> bytes:
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.length)


class Needed(NamedTuple):
    """A file that saves refer to."""

    name: str
    sha256: str
    frames: int
    rows: int

    def path(self) -> Path:
        """Where this attempt wrote it, or an earlier one left it."""
        written = CHECKPOINT / self.name
        return written if written.exists() else RESUME / self.name


def pack(path: Path, header: dict[str, Any], parts: dict[str, bytes | Part]) -> str:
    """Writes a file whole and returns its digest."""
    lengths = [[name, part.length if isinstance(part, Part) else len(part)] for name, part in parts.items()]
    head = json.dumps({**header, "parts": lengths}, sort_keys=True).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w+b") as file:
        file.write(MAGIC + len(head).to_bytes(8, "little") + head)
        for part in parts.values():
            if isinstance(part, Part):
                copy_range(part.path, part.start, part.length, file)
            else:
                file.write(part)
        file.seek(0)
        inner = hashlib.file_digest(file, "sha256").digest()
        file.seek(0, io.SEEK_END)
        file.write(inner)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    return file_sha256(path)


def unpack(path: Path) -> tuple[dict[str, Any], dict[str, Part]] | None:
    """Header and parts; None when the file is not whole, or none of pack's."""
    try:
        with open(path, "rb") as file:
            return checked(path, file)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def checked(path: Path, file: BinaryIO) -> tuple[dict[str, Any], dict[str, Part]] | None:
    size = os.fstat(file.fileno()).st_size
    if file.read(len(MAGIC)) != MAGIC:
        return None
    length = int.from_bytes(file.read(8), "little")
    if length > MAX_HEADER_BYTES:
        return None
    header = json.loads(file.read(length))
    place, parts = file.tell(), {}
    for name, part_length in header["parts"]:
        if type(part_length) is not int or part_length < 0:
            return None
        parts[name] = Part(path, place, part_length)
        place += part_length
    if size != place + hashlib.sha256().digest_size or digest_of_start(file, place) != tail(file, place):
        return None
    return header, parts


def digest_of_start(file: BinaryIO, length: int) -> bytes:
    file.seek(0)
    found, left = hashlib.sha256(), length
    while left and (piece := file.read(min(left, COPY_BYTES))):
        found.update(piece)
        left -= len(piece)
    return found.digest()


def tail(file: BinaryIO, start: int) -> bytes:
    file.seek(start)
    return file.read()


class Saved(NamedTuple):
    """A save that is whole, with everything that it needs."""

    header: dict[str, Any]
    parts: dict[str, Part]
    slot: int
    needed: list[Needed]


def saves(inputs_sha256: str) -> list[Saved]:
    """The saves of earlier attempts at this very run that can be gone on from, newest first."""
    found = []
    for slot, name in enumerate(SLOTS):
        save = unpack(RESUME / name)
        if save is None or save[0].get("inputsSha256") != inputs_sha256:
            continue
        try:
            needed = [Needed(str(n["name"]), str(n["sha256"]), int(n["frames"]), int(n["rows"])) for n in save[0]["needed"]]
            order = int(save[0]["totalStep"])
        except (KeyError, TypeError, ValueError):
            continue
        if len(needed) <= MAX_RESUME_FILES and all(whole(n) for n in needed):
            found.append((order, Saved(save[0], save[1], slot, needed)))
    return [save for _, save in sorted(found, key=lambda pair: -pair[0])]


def whole(needed: Needed) -> bool:
    path = RESUME / needed.name
    return NAME.fullmatch(needed.name) is not None and path.is_file() and file_sha256(path) == needed.sha256


class Saver:
    """Writes saves and tells of them. A run in standard mode has none."""

    def __init__(self, inputs_sha256: str, expected_bytes: int, resumed: Saved | None) -> None:
        self.inputs_sha256 = inputs_sha256
        self.segment_bytes = max(LEAST_SEGMENT_BYTES, expected_bytes // MAX_SEGMENTS)
        self.needed: list[Needed] = list(resumed.needed) if resumed else []
        # The save that was resumed from is the only one that is known to be whole: it is replaced last.
        self.slot = 1 - resumed.slot if resumed else 0
        self.untold: list[str] = []

    def keep(self, name: str, content: bytes) -> None:
        """Keeps a file of the way with every later save."""
        self.add(f"kept-{name}", {"kind": name}, {"content": content}, 0, 0)

    def add(self, name: str, header: dict[str, Any], parts: dict[str, bytes | Part], frames: int, rows: int) -> None:
        draft = CHECKPOINT / f"{name}.draft"
        found = pack(draft, header, parts)
        final = f"{name}-{found[:16]}.bin"
        os.replace(draft, CHECKPOINT / final)
        self.needed.append(Needed(final, found, frames, rows))
        self.untold.append(final)

    def kept(self) -> dict[str, bytes]:
        """The files of the way, by name."""
        files = {}
        for needed in self.needed:
            if needed.name.startswith("kept-") and (found := unpack(needed.path())):
                files[found[0]["kind"]] = found[1]["content"].read()
        return files

    def segments(self) -> list[Needed]:
        return [needed for needed in self.needed if needed.name.startswith("segment-")]

    def save(self, header: dict[str, Any], state: dict[str, bytes], tails: dict[str, Part], frames: int, rows: int) -> bool:
        """Saves; frames and rows count those in tails. Returns whether the tails have become a segment."""
        closed = sum(part.length for part in tails.values()) >= self.segment_bytes
        if closed:
            self.add(f"segment-{len(self.segments()):05d}", {}, dict(tails), frames, rows)
        lists = {"needed": [needed._asdict() for needed in self.needed], "inputsSha256": self.inputs_sha256}
        rest = {} if closed else {"tailFrames": frames, "tailRows": rows}
        name = SLOTS[self.slot]
        pack(CHECKPOINT / name, {"tailFrames": 0, "tailRows": 0, **rest, **header, **lists}, {**state, **({} if closed else tails)})
        self.slot = 1 - self.slot
        self.untold.append(name)
        saved(self.untold)
        self.untold = []
        return closed
