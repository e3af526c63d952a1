"""What the programs beside this file share: their command line, their files, their failures and their progress lines.

Each program reads a request document (JSON), reads its inputs below in/, writes its outputs below out/, and prints progress
as one JSON object a line: {"progress": 0.42, "message": "searched 12 of 33 queries"}. On success it ends with exit status 0
and has written out/result.json last. A failure that it understands is written to out/failure.json and ends with
FAILURE_STATUS. Nothing beyond the standard library is used.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Callable, Iterator

FAILURE_STATUS = 65
IN = Path("in")
OUT = Path("out")
QUERIES = "queries.jsonl"
HITS = "hits.jsonl"
REPORT = "report.tsv"
FOUND = "found.json"

MAX_MESSAGE_CHARS = 1000
MAX_LABEL_CHARS = 100
# Of a query, and of its best hit where that is named beside it; the hit itself has the whole.
MAX_TITLE_CHARS = 1000
PROGRESS_INTERVAL_S = 0.5
# A line of queries.jsonl holds a header, which split.py bounds.
MAX_QUERY_LINE_BYTES = 1 << 20


class Failure(Exception):
    """A failure of the whole shard that is understood. failure_class is USER_INPUT or EXECUTOR."""

    def __init__(self, failure_class: str, code: str, message: str, items: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        self.failure_class, self.code, self.message, self.items = failure_class, code, message, items or []


def user_error(code: str, message: str, items: list[dict[str, Any]] | None = None) -> Failure:
    return Failure("USER_INPUT", code, message, items)


def executor_error(code: str, message: str) -> Failure:
    return Failure("EXECUTOR", code, message)


class Progress:
    """Prints progress lines, at most one every PROGRESS_INTERVAL_S seconds except the last."""

    def __init__(self) -> None:
        self.next = 0.0

    def __call__(self, fraction: float, message: str) -> None:
        now = time.monotonic()
        if fraction < 1 and now < self.next:
            return
        self.next = now + PROGRESS_INTERVAL_S
        print(json.dumps({"progress": round(min(max(fraction, 0.0), 1.0), 4), "message": one_line(message)}), flush=True)


def one_line(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Text of a user without control characters and line breaks, at most limit characters long."""
    cleaned = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    return cleaned if len(cleaned) <= limit else cleaned[: limit - 1] + "…"


def one_word(name: bytes) -> str:
    """An id from a header as it may be shown: whatever does not print, such as control characters and those that turn the writing
    around, is "_" each, so that ids that differ in their letters still do."""
    return "".join(c if c.isprintable() else "_" for c in name.decode(errors="replace"))


def item_failure(query: dict[str, Any], step: str, message: str) -> dict[str, Any]:
    """Names a query that failed at a step, "parse" or "search"."""
    return {"item": f"queries[{query['index']}]", "label": one_line(query["id"], MAX_LABEL_CHARS), "step": step, "message": one_line(message)}


# SHA-256 of what Output has written below OUT, by its name there: result.json states it.
written: dict[str, str] = {}


class Output:
    """A file below OUT that is either absent or complete; size is in bytes."""

    def __init__(self, name: str) -> None:
        self.name, self.path, self.size = name, OUT / name, 0
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.temporary = self.path.with_name(self.path.name + ".part")
        self.file = open(self.temporary, "wb", buffering=1 << 20)
        self.digest = hashlib.sha256()

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
        written[self.name] = self.digest.hexdigest()


def compact(document: Any) -> bytes:
    """A JSON document on one line, without its line break."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def write_json(name: str, document: Any) -> None:
    """Writes a JSON document for people."""
    with Output(name) as output:
        output.write(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n")


def read_json(path: Path) -> Any:
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_queries(marker: bytes = b"") -> Iterator[dict[str, Any]]:
    """Yields the lines of in/queries.jsonl that hold the marker."""
    with open(IN / QUERIES, "rb") as file:
        while line := file.readline(MAX_QUERY_LINE_BYTES):
            if marker in line:
                yield json.loads(line)


def python_version() -> str:
    return ".".join(map(str, sys.version_info[:3]))


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
        message = one_line(failure.message)
        write_json("failure.json", {"class": failure.failure_class, "code": failure.code, "message": message, "items": failure.items})
        print(f"{failure.code}: {message}", file=sys.stderr)
        return FAILURE_STATUS
    files = dict(written)
    with Output("result.json") as output:
        output.write(compact({**result, "files": files}))
    progress(1.0, "done")
    return 0
