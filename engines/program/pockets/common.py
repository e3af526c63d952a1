"""What the programs beside this file share: their command line, their files, their failures and their progress lines.

The program reads a request document (JSON), reads its inputs below in/, writes its outputs below out/, and prints progress as
one JSON object a line: {"progress": 0.4, "message": "finding pockets"}. On success it ends with exit status 0 and has written
out/result.json last. A failure that it understands is written to out/failure.json and ends with FAILURE_STATUS.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any, Callable

FAILURE_STATUS = 65
IN = Path("in")
OUT = Path("out")

MAX_MESSAGE_CHARS = 1000


class Failure(Exception):
    """A failure of the whole shard that is understood. failure_class is USER_INPUT or EXECUTOR."""

    def __init__(self, failure_class: str, code: str, message: str) -> None:
        super().__init__(message)
        self.failure_class, self.code, self.message = failure_class, code, message


def user_error(code: str, message: str) -> Failure:
    return Failure("USER_INPUT", code, message)


def progress(fraction: float, message: str) -> None:
    print(json.dumps({"progress": round(min(max(fraction, 0.0), 1.0), 4), "message": one_line(message)}), flush=True)


def one_line(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Text of a user without control characters and line breaks, at most limit characters long."""
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def write_text(path: Path, text: str) -> None:
    """Writes a file so that it is either absent or complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    os.replace(temporary, path)


def write_json(path: Path, document: Any) -> None:
    write_text(path, json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1) + "\n")


def read_json(path: Path) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main(description: str, work: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
    """Runs a program: reads the request, does the work, writes out/result.json or out/failure.json. Returns the exit status."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--request", type=Path, default=Path("request.json"), help="request document (default: request.json)")
    arguments = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    try:
        result = work(read_json(arguments.request))
    except Failure as failure:
        document = {"class": failure.failure_class, "code": failure.code, "message": one_line(failure.message)}
        write_json(OUT / "failure.json", document)
        print(f"{failure.code}: {document['message']}", file=sys.stderr)
        return FAILURE_STATUS
    write_json(OUT / "result.json", result)
    progress(1.0, "done")
    return 0
