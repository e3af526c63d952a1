"""What is finished of a shard, one file a sequence, so that a killed worker repeats at most the sequence that it was at."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from task import CHECKPOINT, RESUME, compact, saved, sha256, write_bytes


class Finished(NamedTuple):
    """A sequence that has been folded, or refused after it was."""

    files: dict[str, str]  # by what follows the sequence's file name: ".pdb"
    row: dict[str, Any]
    failure: str  # why its prediction was refused; "" when it was not


def name_of(file: str, identity: str) -> str:
    return f"{file}-{identity[:16]}.json"


def keep(file: str, identity: str, finished: Finished) -> None:
    """Saves a sequence and tells the worker."""
    body = compact({**finished._asdict(), "identity": identity})
    write_bytes(CHECKPOINT / name_of(file, identity), sha256(body).encode() + b"\n" + body)
    saved([name_of(file, identity)])


def find(file: str, identity: str) -> Finished | None:
    """The same sequence of an earlier attempt with the same parameters; None where it is missing or not whole."""
    try:
        digest, _, body = (RESUME / name_of(file, identity)).read_bytes().partition(b"\n")
        if sha256(body) != digest.decode():
            return None
        found = json.loads(body)
        return Finished(found["files"], found["row"], found["failure"]) if found["identity"] == identity else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
