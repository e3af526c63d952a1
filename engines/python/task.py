"""How a program that a worker runs is called, and how it answers: its request, files, progress, saved work, failure and result.

A program reads request.json and files below in/, and writes only below out/. While it works it prints one JSON object a line:
{"progress": 0.42, "message": "frame 7 of 16"}, and {"checkpoint": ["checkpoint/frame_0007.png"]} when files below
out/checkpoint/ are whole: the next attempt of an interrupted task finds them in in/resume/. On success it ends with exit status 0
and has written out/result.json last, which states the SHA-256 of every file that it leaves. A failure that it understands is
written to out/failure.json and ends with FAILURE_STATUS.

This file lies beside the programs of every task. Who runs one by hand sets PYTHONPATH=engines/python. It imports nothing beyond
the standard library, so that programs start fast.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterable

FAILURE_STATUS = 65
IN, OUT = Path("in"), Path("out")
RESUME, CHECKPOINT = IN / "resume", OUT / "checkpoint"

MAX_MESSAGE_CHARS = 500
MAX_FAILURE_CHARS = 1000
MAX_FAILURE_ITEMS = 100
PROGRESS_INTERVAL_S = 0.5
BUFFER_BYTES = 1 << 20


Items = list[dict[str, Any]]  # that failed, each with its name, step and message


class Failure(Exception):
    """A failure of the whole shard that is understood. failure_class is USER_INPUT or EXECUTOR. unbegun says that there was nothing
    to work on: what the shard has used until then is not charged."""

    def __init__(self, failure_class: str, code: str, message: str, items: Items | None = None, unbegun: bool = False) -> None:
        super().__init__(message)
        self.failure_class, self.code, self.message, self.items, self.unbegun = failure_class, code, message, items or [], unbegun

    def document(self) -> dict[str, Any]:
        """As failure.json says it."""
        message, items = one_line(self.message, MAX_FAILURE_CHARS), self.items[:MAX_FAILURE_ITEMS]
        return {"class": self.failure_class, "code": self.code, "message": message, "items": items, "unbegun": self.unbegun}


def user_error(code: str, message: str, items: Items | None = None) -> Failure:
    return Failure("USER_INPUT", code, message, items)


def executor_error(code: str, message: str, items: Items | None = None) -> Failure:
    return Failure("EXECUTOR", code, message, items)


class Progress:
    """Prints progress lines that never fall, at most one every PROGRESS_INTERVAL_S seconds, but for the first, the last and
    milestones."""

    def __init__(self) -> None:
        self.stream, self.last, self.reached = sys.stdout, -math.inf, 0.0

    def __call__(self, fraction: float, message: str, milestone: bool = False) -> None:
        now = time.monotonic()
        self.reached = max(self.reached, min(fraction, 1.0))
        if fraction < 1 and not milestone and now - self.last < PROGRESS_INTERVAL_S:
            return
        self.last = now
        print(json.dumps({"progress": round(self.reached, 4), "message": one_line(message)}), file=self.stream, flush=True)


def saved(names: Iterable[str]) -> None:
    """Tells the worker that these files below CHECKPOINT are whole."""
    print(json.dumps({"checkpoint": [f"checkpoint/{name}" for name in names]}), flush=True)


def one_line(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Text of a user without control characters and line breaks, at most limit characters long."""
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


# SHA-256 of what has been left below OUT, checkpoints apart, by its name there: result.json states it.
written: dict[str, str] = {}


def declare(path: Path, sha256_hex: str) -> None:
    """States the digest of a file that is finished."""
    if path.is_relative_to(OUT) and not path.is_relative_to(CHECKPOINT):
        written[path.relative_to(OUT).as_posix()] = sha256_hex


class Output:
    """A file that is written piece by piece and is either absent or complete; size is in bytes."""

    def __init__(self, path: Path) -> None:
        self.path, self.size, self.digest = path, 0, hashlib.sha256()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.temporary = path.with_name(path.name + ".part")
        self.file = open(self.temporary, "wb", buffering=BUFFER_BYTES)

    def write(self, content: bytes) -> None:
        self.file.write(content)
        self.digest.update(content)
        self.size += len(content)

    def __enter__(self) -> Output:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.file.close()
        if kind is not None:
            self.temporary.unlink(missing_ok=True)
            return
        os.replace(self.temporary, self.path)
        declare(self.path, self.digest.hexdigest())


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file so that it is either absent or complete."""
    with Output(path) as output:
        output.write(content)


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, document: Any) -> None:
    write_bytes(path, readable(document))


def adopt(source: Path, path: Path) -> str:
    """Moves a finished file to its place below OUT, from whatever file system it lies on, and returns its SHA-256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    shutil.move(source, temporary)
    os.replace(temporary, path)
    found = file_sha256(path)
    declare(path, found)
    return found


def readable(document: Any) -> bytes:
    """A JSON document for people: indented, its keys sorted, with a line break at its end."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1).encode() + b"\n"


def compact(document: Any) -> bytes:
    """A JSON document on one line, in its own order, without a line break."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def read_json(path: Path) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def file_sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(document: Any) -> str:
    """SHA-256 of canonical JSON: sorted keys, no spaces, UTF-8."""
    return sha256(json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def python_version() -> str:
    return ".".join(map(str, sys.version_info[:3]))


def program_versions(packages: Iterable[str]) -> dict[str, str]:
    """Of Python and of installed packages."""
    from importlib import metadata  # takes longer than all that is imported above

    return {"python": python_version(), **{name: metadata.version(name) for name in packages}}


Work = Callable[[dict[str, Any], Progress], dict[str, Any]]


def main(description: str, work: Work, spell: Callable[[Any], bytes] = readable) -> int:
    """Runs a program: reads the request, does the work, writes out/result.json, spelled so, or out/failure.json. Returns the exit
    status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--request", type=Path, default=Path("request.json"), help="request document (default: request.json)")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    progress = Progress()
    try:
        result = work(read_json(arguments.request), progress)
    except Failure as failure:
        document = failure.document()
        write_json(OUT / "failure.json", document)
        print(f"{failure.code}: {document['message']}", file=sys.stderr)
        return FAILURE_STATUS
    write_bytes(OUT / "result.json", spell({**result, "files": written}))
    progress(1.0, "done")
    return 0
