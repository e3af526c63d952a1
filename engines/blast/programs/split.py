"""Checks the queries of a sequence search and cuts them into parts that are even in residues.

Reads in/queries.fasta. Writes parts/0001.fasta … (a part without queries is not written) and queries.jsonl, one line a query:
{"index", "id", "title", "length", "part", "error"}; part is null where error tells why the query is not searched.
"""

from __future__ import annotations

import io
import re
import sys
from typing import Any, Iterator, NamedTuple

from queries import MAX_LABEL_CHARS, MAX_TITLE_CHARS, QUERIES, item_failure, one_word
from task import IN, MAX_FAILURE_ITEMS, OUT, Output, Progress, compact, main, one_line, python_version, user_error

# Letters that BLAST+ knows, in upper case. It takes no notice of hyphens, and neither is a hyphen a letter here.
PROTEIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
NUCLEOTIDE = b"ACGTUNRYSWKMBDHV"
# What a sequence of nucleotides consists of, as a rule, and how long a protein of these letters alone may be.
PLAIN_NUCLEOTIDE = b"ACGTUN"
LONGEST_UNLIKELY_PROTEIN = 30

MAX_HEADER_BYTES = 10_000
MAX_ID_BYTES = 250  # as in the databases
MAX_FAILED = 10_000
LINE_LETTERS = 80
MAX_SHOWN_BYTES = 160  # of a line that is no FASTA


class Query(NamedTuple):
    index: int
    header: bytes  # without ">"
    id: str
    title: str
    sequence: bytes  # without blanks and hyphens
    error: str | None

    def record(self, part: int | None) -> dict[str, Any]:
        return {
            "index": self.index,
            "id": self.id,
            "title": self.title,
            "length": len(self.sequence),
            "part": part,
            "error": self.error,
        }


def fasta_records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields header (without ">") and sequence (as it is) of each record. Comment lines are left out, as BLAST+ does."""
    header: bytes | None = None
    sequence = bytearray()
    for line in io.BytesIO(content):  # one by one: a list of lines of two letters takes forty times their bytes
        line = line.removesuffix(b"\n")
        if line.startswith(b">"):
            if header is not None:
                yield header, bytes(sequence)
            header, sequence = line[1:].strip(), bytearray()
        elif line.strip() and not line.startswith((b";", b"!", b"#")):
            if header is None:
                raise user_error(
                    "QUERIES_UNREADABLE",
                    f"The file of queries is no FASTA: {one_line(line[:MAX_SHOWN_BYTES].decode(errors='replace'), 40)!r} stands "
                    f"before the first header; "
                    "each sequence begins with a line '>name title'.",
                )
            sequence += line
    if header is not None:
        yield header, bytes(sequence)


def read_content(most: int) -> bytes:
    with open(IN / "queries.fasta", "rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise user_error("QUERIES_TOO_LARGE", f"The file of queries has more than {most} bytes; make several jobs of it.")
    if content.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")):
        raise user_error("QUERIES_UNREADABLE", "The file of queries is compressed; upload it as plain FASTA.")
    if b"\x00" in content:
        raise user_error("QUERIES_UNREADABLE", "The file of queries is binary; upload plain FASTA.")
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if not content.strip():
        raise user_error("QUERIES_EMPTY", "The file of queries is empty; give at least one sequence as FASTA.")
    return content


def wrong_letter(sequence: bytes, letters: bytes) -> str | None:
    """Names the first character of a sequence that is none of the letters, and where it stands."""
    if not sequence.upper().translate(None, letters):
        return None
    for position, letter in enumerate(sequence.upper()):
        if letter not in letters:
            shown = chr(letter) if 32 < letter < 127 else f"\\x{letter:02x}"
            return f"{shown!r} at position {position + 1}"
    return None


def words_of(header: bytes) -> list[bytes]:
    """The id, which is empty where the header begins with a blank, and the title where there is one."""
    return re.split(rb"[\s\x01]+", header[: MAX_HEADER_BYTES + 1], maxsplit=1)


def error_of(header: bytes, sequence: bytes, search: str, longest: int) -> str | None:
    """Tells why a query cannot be searched; None when it can."""
    if len(header) > MAX_HEADER_BYTES:
        return f"its header has {len(header)} characters; it may have {MAX_HEADER_BYTES}"
    if (size := len(words_of(header)[0])) > MAX_ID_BYTES:
        return f"its id, the first word of its header, has {size} characters; it may have {MAX_ID_BYTES}"
    if not sequence:
        return "it has no sequence"
    if len(sequence) > longest:
        return f"it has {len(sequence)} letters; {search} takes queries of at most {longest} here"
    if search == "blastn":
        if letter := wrong_letter(sequence, NUCLEOTIDE):
            return f"{letter} is no nucleotide; a protein is searched with blastp"
    elif letter := wrong_letter(sequence, PROTEIN):
        return f"{letter} is no amino acid"
    elif is_nucleotide(sequence):
        return f"its {len(sequence)} letters are nucleotides; they are searched with blastn"
    return None


def is_nucleotide(sequence: bytes) -> bool:
    return len(sequence) >= LONGEST_UNLIKELY_PROTEIN and not sequence.upper().translate(None, PLAIN_NUCLEOTIDE)


def is_other_type(sequence: bytes, search: str) -> bool:
    """Tells whether a sequence is one for the other program."""
    if search == "blastp":
        return is_nucleotide(sequence)
    return bool(sequence) and wrong_letter(sequence, NUCLEOTIDE) is not None and wrong_letter(sequence, PROTEIN) is None


def query_of(index: int, header: bytes, raw: bytes, search: str, longest: int) -> Query:
    sequence = raw.translate(None, b" \t-")
    # Without a name BLAST+ calls a query by its place in the file, which in a part would be another one.
    if not words_of(header)[0]:
        header = f"Query_{index + 1} ".encode() + header
    words, error = words_of(header), error_of(header, sequence, search, longest)
    name = one_word(words[0][:MAX_ID_BYTES])
    if not words[0].decode(errors="replace").isprintable():  # BLAST+ would end the id there and then
        header = name.encode() + header[len(words[0]) :]
    title = one_line(words[1].decode(errors="replace"), MAX_TITLE_CHARS) if len(words) > 1 else ""
    return Query(index, header, name, title, sequence, error)


def read_all(content: bytes, request: dict[str, Any]) -> list[Query]:
    search, longest, queries = request["search"], request["maxQueryLetters"], []
    for index, (header, raw) in enumerate(fasta_records(content)):
        if index >= request["maxQueries"]:
            raise user_error(
                "QUERIES_TOO_MANY", f"The file has more than {request['maxQueries']} queries; make several jobs of it."
            )
        queries.append(query_of(index, header, raw, search, longest))
    return queries


def refuse_unsearchable(queries: list[Query], search: str) -> None:
    """Raises the failure of a file that has nothing to search, or that is rubbish for the greatest part."""
    failed = [query for query in queries if query.error]
    items = [item_failure(query._asdict(), "parse", query.error or "") for query in failed[:MAX_FAILURE_ITEMS]]
    if failed and len(failed) == len(queries):
        if all(is_other_type(query.sequence, search) for query in queries):
            held, other = ("proteins", "blastp") if search == "blastn" else ("nucleotides", "blastn")
            raise user_error("QUERIES_WRONG_TYPE", f"The queries are {held}, which {search} does not search; use {other}.", items)
        first = failed[0]
        name = one_line(first.id, MAX_LABEL_CHARS)
        raise user_error(
            "QUERIES_NONE_USABLE", f"None of the {len(queries)} queries can be searched; the first, {name!r}: {first.error}.", items
        )
    if len(failed) > MAX_FAILED:
        raise user_error(
            "QUERIES_UNREADABLE",
            f"{len(failed)} of the {len(queries)} queries cannot be searched; at most {MAX_FAILED} may be wrong.",
            items,
        )


def cut(lengths: list[int], parts: int, most: int) -> list[int]:
    """How many queries each part takes: contiguous, even in residues, at most `most` each. Raises a Failure when they do not
    fit."""
    if len(lengths) > parts * most:
        raise user_error(
            "QUERIES_TOO_MANY",
            f"The {len(lengths)} queries do not fit into {parts} tasks of at most {most}; set taskCount to "
            f"{-(-len(lengths) // most)} or more.",
        )
    counts, start, left = [], 0, sum(lengths)
    for part in range(parts):
        remaining = parts - part
        least = len(lengths) - start - (remaining - 1) * most  # so that the other parts can hold the rest
        target, taken, count = left / remaining, 0, 0
        while start + count < len(lengths) and count < most:
            length = lengths[start + count]
            if count >= least and taken + length / 2 > target:  # nearer to the target without it
                break
            taken, count = taken + length, count + 1
        counts.append(count)
        start, left = start + count, left - taken
    return counts


def write_part(part: int, queries: list[Query]) -> dict[str, Any]:
    name = f"parts/{part:04d}.fasta"
    with Output(OUT / name) as output:
        for query in queries:
            sequence = query.sequence
            lines = (sequence[start : start + LINE_LETTERS] for start in range(0, len(sequence), LINE_LETTERS))
            output.write(b">" + query.header + b"\n" + b"\n".join(lines) + b"\n")
    return {"name": name, "queries": len(queries), "residues": sum(len(query.sequence) for query in queries)}


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.0, "reading the queries")
    queries = read_all(read_content(request["maxFileBytes"]), request)
    refuse_unsearchable(queries, request["search"])
    usable = [query for query in queries if not query.error]
    counts = cut([len(query.sequence) for query in usable], request["parts"], request["maxPartQueries"])
    parts: list[dict[str, Any]] = []
    part_of: dict[int, int] = {}
    start = 0
    for part, count in enumerate(counts, 1):
        taken, start = usable[start : start + count], start + count
        if taken:
            parts.append(write_part(part, taken))
            part_of.update((query.index, part) for query in taken)
    with Output(OUT / QUERIES) as output:
        for query in queries:
            output.write(compact(query.record(part_of.get(query.index))) + b"\n")
    return {
        "summary": {
            "stage": "split",
            "queries": len(queries),
            "searched": len(usable),
            "residues": sum(p["residues"] for p in parts),
            "parts": parts,
        },
        "failures": [item_failure(query._asdict(), "parse", query.error) for query in queries if query.error],
        "programs": {"python": python_version()},
    }


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", work, compact))
