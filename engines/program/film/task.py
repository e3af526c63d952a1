"""What the programs of rendering share: their command line, failures, progress lines, files and digests.

A program reads request.json and files below in/, and writes only below out/. While it works it prints one JSON object a line:
{"progress": 0.42, "message": "frame 7 of 16"}. On success it ends with exit status 0 and has written out/result.json last,
which states the SHA-256 of every file that it leaves. A failure that it understands is written to out/failure.json and ends
with FAILURE_STATUS. This module imports nothing beyond the standard library.
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
from typing import Any, Callable

FAILURE_STATUS = 65
IN = Path("in")
OUT = Path("out")

MAX_MESSAGE_CHARS = 500
MAX_FAILURE_ITEMS = 100
PROGRESS_INTERVAL_S = 0.5


class Failure(Exception):
    """A failure of the whole shard that is understood. failure_class is USER_INPUT or EXECUTOR."""

    def __init__(self, failure_class: str, code: str, message: str, items: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.failure_class, self.code, self.message, self.items = failure_class, code, message, items or []


def user_error(code: str, message: str, items: list[dict[str, Any]] | None = None) -> Failure:
    return Failure("USER_INPUT", code, message, items)


def executor_error(code: str, message: str, items: list[dict[str, Any]] | None = None) -> Failure:
    return Failure("EXECUTOR", code, message, items)


class Progress:
    """Prints progress lines that never fall, at most one every PROGRESS_INTERVAL_S seconds except the first and the last."""

    def __init__(self, stream: Any = None) -> None:
        self.stream = stream or sys.stdout
        self.last, self.reached = -math.inf, 0.0

    def __call__(self, fraction: float, message: str) -> None:
        now = time.monotonic()
        self.reached = max(self.reached, min(fraction, 1.0))
        if fraction < 1 and now - self.last < PROGRESS_INTERVAL_S:
            return
        self.last = now
        self.stream.write(json.dumps({"progress": round(self.reached, 4), "message": one_line(message)}) + "\n")
        self.stream.flush()


def one_line(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Text of a user without control characters and line breaks, at most limit characters long."""
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


# SHA-256 of what has been left below OUT, checkpoints apart, by its name there: result.json states it.
written: dict[str, str] = {}


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a file so that it is either absent or complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    os.replace(temporary, path)
    if path.is_relative_to(OUT) and not path.is_relative_to(OUT / "checkpoint"):
        written[path.relative_to(OUT).as_posix()] = hashlib.sha256(content).hexdigest()


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_json(path: Path, document: Any) -> None:
    write_text(path, json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1) + "\n")


def adopt(source: Path, path: Path) -> str:
    """Moves a finished file to its place below OUT, from whatever file system it lies on, and returns its SHA-256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    shutil.move(source, temporary)
    os.replace(temporary, path)
    digest = file_sha256(path)
    written[path.relative_to(OUT).as_posix()] = digest
    return digest


def read_json(path: Path) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def file_sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(description: str, work: Callable[[dict[str, Any], Progress], dict[str, Any]]) -> int:
    """Runs a program: reads the request, does the work, writes out/result.json or out/failure.json. Returns the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--request", type=Path, default=Path("request.json"), help="request document (default: request.json)")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    progress = Progress()
    try:
        result = work(read_json(arguments.request), progress)
    except Failure as failure:
        document = {
            "class": failure.failure_class,
            "code": failure.code,
            "message": one_line(failure.message, 2 * MAX_MESSAGE_CHARS),
            "items": failure.items[:MAX_FAILURE_ITEMS],
        }
        write_json(OUT / "failure.json", document)
        print(f"{failure.code}: {document['message']}", file=sys.stderr)
        return FAILURE_STATUS
    write_json(OUT / "result.json", {**result, "files": written})
    progress(1.0, "done")
    return 0
