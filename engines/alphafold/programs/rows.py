"""Rows of an alignment as A3M: a name, and letters, of which small ones are insertions between the columns."""

from __future__ import annotations


def read_rows(text: str) -> list[tuple[str, str]]:
    """Names and letters. What MMseqs2 ends a record with, and comments, are left out."""
    rows: list[tuple[str, list[str]]] = []
    for line in text.replace("\0", "").splitlines():
        if line.startswith(">"):
            rows.append((line[1:].strip(), []))
        elif rows and not line.startswith("#"):
            rows[-1][1].append(line.strip())
    return [(name, "".join(parts)) for name, parts in rows]


def width(row: str) -> int:
    """The columns that a row has."""
    return sum(not letter.islower() for letter in row)
