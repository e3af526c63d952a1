"""Queries and what is said of them: the files that the programs beside this one hand on to each other, ids, and failures."""

from __future__ import annotations

import json
from typing import Any, Iterator

from task import IN, OUT, one_line, write_bytes

QUERIES = "queries.jsonl"
HITS = "hits.jsonl"
REPORT = "report.tsv"
FOUND = "found.json"

MAX_MESSAGE_CHARS = 1000
MAX_LABEL_CHARS = 100
# Of a query, and of its best hit where that is named beside it; the hit itself has the whole.
MAX_TITLE_CHARS = 1000
# A line of queries.jsonl holds a header, which split.py bounds.
MAX_QUERY_LINE_BYTES = 1 << 20


def one_word(name: bytes) -> str:
    """An id from a header as it may be shown: whatever does not print, such as control characters and those that turn the writing
    around, is "_" each, so that ids that differ in their letters still do."""
    return "".join(c if c.isprintable() else "_" for c in name.decode(errors="replace"))


def item_failure(query: dict[str, Any], step: str, message: str) -> dict[str, Any]:
    """Names a query that failed at a step, "parse" or "search"."""
    return {
        "item": f"queries[{query['index']}]",
        "label": one_line(query["id"], MAX_LABEL_CHARS),
        "step": step,
        "message": one_line(message, MAX_MESSAGE_CHARS),
    }


def write_document(name: str, document: Any) -> None:
    """Writes a JSON document for people, in its own order."""
    write_bytes(OUT / name, json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n")


def read_queries(marker: bytes = b"") -> Iterator[dict[str, Any]]:
    """Yields the lines of in/queries.jsonl that hold the marker."""
    with open(IN / QUERIES, "rb") as file:
        while line := file.readline(MAX_QUERY_LINE_BYTES):
            if marker in line:
                yield json.loads(line)
