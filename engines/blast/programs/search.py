"""Runs BLAST+ on one part of the queries of a sequence search.

Reads in/part.fasta, in/queries.jsonl and the database below in/db/. Writes hits.jsonl (one hit a line, with its alignments),
report.tsv (BLAST+'s own twelve columns, byte for byte what the program prints by itself) and found.json (what each query found).
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import threading
from typing import Any, BinaryIO

from queries import FOUND, HITS, MAX_TITLE_CHARS, REPORT, item_failure, one_word, read_queries
from task import IN, OUT, Failure, Output, Progress, compact, executor_error, main, one_line, python_version, user_error

STANDARD_COLUMNS = 12
COLUMNS = 22  # the title is the last and may hold tabs
# Beside its two sequences and its title a line has numbers and two names.
SPARE_LINE_BYTES = 1 << 20
MAX_WARNING_BYTES = 64 << 10
# A query that BLAST+ reports as one without hits, although it could not search it.
WARNING = re.compile(rb"^Warning: \[blast[pn]\] Query_(\d+)\b.*?: (Could not calculate ungapped Karlin-Altschul parameters[^.]*)")

# Letters whose pair has a positive score in BLOSUM62, which is the matrix of blastp; a letter with itself aside.
SIMILAR = "AS RQ RK ND NH NS NB DE DB DZ QE QK QZ EK EB EZ HY IL IM IV IJ LM LV LJ KZ MV MJ FW FY ST WY VJ".split()

# What BLAST+'s exit statuses mean: failure code and message. Negative ones are signals, as Python counts them.
STATUSES = {
    1: ("SEARCH_REFUSED", "BLAST+ refused the queries or an option; see the task's log"),
    2: ("DATABASE_UNREADABLE", "BLAST+ cannot read the database; its files are damaged or incomplete"),
    3: ("SEARCH_FAILED", "BLAST+ ended with an error of its search; see the task's log"),
    4: ("OUT_OF_MEMORY", "BLAST+ ran out of memory; give shorter queries, fewer hits (blastMaxHits) or more tasks (taskCount)"),
    6: ("DISK_FULL", "BLAST+ could not write its report; the worker's disk is full"),
    255: ("DATABASE_UNREADABLE", "BLAST+ ended with an unexpected error, as it does when the files of its database are damaged"),
    -6: ("PROGRAM_ABORTED", "BLAST+ gave up, as it does when a disk is full or memory is short; see the task's log"),
    -9: (
        "OUT_OF_MEMORY",
        "BLAST+ was killed, as a program is that uses too much memory; give shorter queries or more tasks (taskCount)",
    ),
    -11: ("DATABASE_TRUNCATED", "BLAST+ crashed, as it does when the files of its database are cut short"),
}


def similar_letters() -> dict[tuple[str, str], str]:
    """The middle line's character of each pair of letters of two proteins; a pair that is missing has a blank."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*"
    table = {(letter, letter): letter for letter in letters}
    for first, second in SIMILAR:
        table[first, second] = table[second, first] = "+"
    return table


class Midline:
    """Writes the line between the two sequences of an alignment as BLAST+ does."""

    def __init__(self, search: str) -> None:
        self.similar = similar_letters() if search == "blastp" else None

    def __call__(self, query: str, subject: str) -> str:
        if self.similar is not None:
            get = self.similar.get
            return "".join([get(pair, " ") for pair in zip(query, subject)])
        return "".join(["|" if q == s else " " for q, s in zip(query, subject)])


class Report:
    """Takes BLAST+'s rows and writes report.tsv and hits.jsonl, hit by hit; most bounds both together, in bytes."""

    def __init__(self, search: str, queries: list[dict[str, Any]], most: int, table: Output, hits: Output) -> None:
        self.search, self.queries, self.most, self.table, self.hits = search, queries, most, table, hits
        self.midline = Midline(search)
        self.found: list[dict[str, Any]] = []
        self.key: tuple[bytes, ...] | None = None  # of the subject whose rows are being read
        self.hit: dict[str, Any] = {}

    def begin_query(self) -> None:
        self.end_query()
        if len(self.found) == len(self.queries):
            raise wrong_output("it tells of more queries than there are")
        query = self.queries[len(self.found)]
        best = {"bestEvalue": None, "bestBitScore": None, "bestSubjectId": None, "bestSubjectTitle": None}
        head = {name: query[name] for name in ("index", "id", "title", "length")}
        self.found.append({**head, "hits": 0, "offset": self.hits.size, "bytes": 0, **best})

    def end_query(self) -> None:
        self.end_hit()
        if self.found:
            self.found[-1]["bytes"] = self.hits.size - self.found[-1]["offset"]

    def row(self, line: bytes) -> None:
        columns = line.rstrip(b"\n").split(b"\t", COLUMNS - 1)
        if not self.found or len(columns) != COLUMNS:
            raise wrong_output(f"a line has {len(columns)} columns")
        self.write(self.table, b"\t".join([*map(shown, columns[:2]), *columns[2:STANDARD_COLUMNS]]) + b"\n")
        subject, length, title = columns[1], columns[17], columns[21]
        try:
            if self.key != (subject, length, title):
                self.end_hit()
                self.begin_hit(subject, length, title)
            self.hit["hsps"].append(self.segment_pair(columns))
        except ValueError:
            raise wrong_output("a line has words where numbers are expected") from None

    def begin_hit(self, subject: bytes, length: bytes, title: bytes) -> None:
        query = self.found[-1]
        query["hits"] += 1
        self.key = (subject, length, title)
        self.hit = {
            "queryIndex": query["index"],
            "queryId": query["id"],
            "rank": query["hits"],
            "subjectId": one_word(subject),
            "subjectTitle": title_of(subject, title),
            "subjectLength": int(length),
            "hsps": [],
        }

    def end_hit(self) -> None:
        if self.key is None:
            return
        query, hit, first = self.found[-1], self.hit, self.hit["hsps"][0]
        if hit["rank"] == 1:
            title = one_line(hit["subjectTitle"][: 4 * MAX_TITLE_CHARS], MAX_TITLE_CHARS)
            query.update(
                bestEvalue=first["evalue"], bestBitScore=first["bitScore"], bestSubjectId=hit["subjectId"], bestSubjectTitle=title
            )
        self.write(self.hits, compact(hit) + b"\n")
        self.key = None

    def segment_pair(self, columns: list[bytes]) -> dict[str, Any]:
        query, subject = columns[19].decode("ascii"), columns[20].decode("ascii")
        nucleotides = self.search == "blastn"
        return {
            "rank": len(self.hit["hsps"]) + 1,
            "bitScore": finite(columns[11]),
            "rawScore": int(columns[12]),
            "evalue": finite(columns[10]),
            "bitScoreText": columns[11].decode("ascii"),
            "evalueText": columns[10].decode("ascii"),
            "identities": int(columns[13]),
            "positives": int(columns[14]),
            "gaps": int(columns[15]),
            "alignmentLength": int(columns[3]),
            "queryFrom": int(columns[6]),
            "queryTo": int(columns[7]),
            "subjectFrom": int(columns[8]),
            "subjectTo": int(columns[9]),
            "queryStrand": "plus" if nucleotides else None,
            "subjectStrand": columns[18].decode("ascii") if nucleotides else None,
            "queryAlignment": query,
            "subjectAlignment": subject,
            "midline": self.midline(query, subject),
        }

    def write(self, output: Output, content: bytes) -> None:
        if self.table.size + self.hits.size + len(content) > self.most:
            raise user_error(
                "REPORT_TOO_LARGE",
                f"The report of the task is larger than {self.most} bytes (blastMaxOutputBytes); it was reached at query "
                f"{self.found[-1]['id']!r}, "
                f"{len(self.found)} of {len(self.queries)}. Allow more bytes, ask for fewer hits (blastMaxHits, blastEvalue) or "
                f"for more tasks (taskCount).",
            )
        output.write(content)


def shown(name: bytes) -> bytes:
    """An id as BLAST+ prints it where all of it prints, else as the hits have it."""
    return name if name.decode(errors="replace").isprintable() else one_word(name).encode()


def title_of(subject: bytes, title: bytes) -> str:
    """A subject's title without its id, which BLAST+ repeats before it where the database was built without -parse_seqids."""
    words = title.split(None, 1)
    if words and words[0] == subject:
        title = words[1] if len(words) > 1 else b""
    return "" if title == b"N/A" else one_line(title.decode(errors="replace"), len(title) + 1)


def finite(text: bytes) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("not a finite number")
    return value


def wrong_output(what: str) -> Failure:
    return executor_error("PROGRAM_OUTPUT", f"BLAST+ printed a report that cannot be read: {what}.")


class Warnings(threading.Thread):
    """Passes the program's standard error on, and keeps its warnings of queries that it could not search, by their place in the
    part."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(daemon=True)
        self.stream, self.unsearchable = stream, dict[int, str]()

    def run(self) -> None:
        while line := self.stream.readline(MAX_WARNING_BYTES):
            sys.stderr.buffer.write(line)
            if warning := WARNING.match(line):
                self.unsearchable[int(warning[1])] = warning[2].decode(errors="replace")
        sys.stderr.flush()


def read_report(stream: BinaryIO, report: Report, progress: Progress) -> str:
    """Reads what BLAST+ prints, until its end. Returns the version of the program, "" when it printed nothing."""
    longest, total = report.most + SPARE_LINE_BYTES, len(report.queries)
    version, rows, processed = "", 0, None
    while line := stream.readline(longest):
        if not line.endswith(b"\n"):
            raise (
                wrong_output("it ends within a line")
                if len(line) < longest
                else wrong_output("a line is longer than the whole report may be")
            )
        if rows > 0:
            report.row(line)
            rows -= 1
        elif line.startswith(b"# Query:"):
            report.begin_query()
            done = len(report.found) - 1
            progress(0.99 * done / total, f"searched {done} of {total} queries")
        elif found := re.match(rb"# (\d+) hits found$", line):
            rows = int(found[1])
        elif found := re.match(rb"# BLAST[PN] (\S+)$", line):
            version = found[1].decode(errors="replace")
        elif found := re.match(rb"# BLAST processed (\d+) queries$", line):
            processed = int(found[1])
        elif not line.startswith((b"# Database:", b"# Fields:")):
            raise wrong_output("it has a line that is neither of a query nor of a hit")
    report.end_query()
    if rows or processed != total or len(report.found) != total:
        return ""
    return version


def run_blast(request: dict[str, Any], report: Report, progress: Progress) -> tuple[str, dict[int, str]]:
    """Runs the program to its end. Returns its version, and why it could not search queries, by their place in the part from 1."""
    process = subprocess.Popen(request["argv"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    warnings = Warnings(process.stderr)
    warnings.start()
    try:
        version = read_report(process.stdout, report, progress)
    except BaseException:
        process.kill()
        raise
    finally:
        status = process.wait()
        warnings.join()
    if status != 0:
        code, message = STATUSES.get(status, ("SEARCH_FAILED", f"BLAST+ ended with exit status {status}; see the task's log"))
        raise executor_error(code, message + ".")
    if not version:
        raise wrong_output("it is incomplete")
    return version, warnings.unsearchable


def summary_of(request: dict[str, Any], version: str, found: list[dict[str, Any]]) -> dict[str, Any]:
    """What each query found; texts are cut as far as the summary's bound needs it."""
    most = request["maxSummaryBytes"]
    summary: dict[str, Any] = {
        "stage": "search",
        "program": request["search"],
        "version": version,
        "hitsFile": HITS,
        "queries": found,
    }
    for longest in (1000, 300, 120, 60, 30, 15):
        if len(compact(summary)) <= most:
            return summary
        summary["queries"] = [
            {name: one_line(value, longest) if isinstance(value, str) else value for name, value in query.items()}
            for query in found
        ]
    return summary


def installed_version(search: str) -> str:
    """The program's version, where it has not run because there is nothing to search."""
    printed = subprocess.run([search, "-version"], stdin=subprocess.DEVNULL, capture_output=True, check=False).stdout
    found = re.match(rb"blast[pn]: (\S+)", printed)
    return found[1].decode(errors="replace") if found else "unknown"


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.0, "starting")
    search, part = request["search"], request["part"]
    queries = list(read_queries(b'"part":%d,' % part)) if (IN / "part.fasta").exists() else []
    failures: list[dict[str, Any]] = []
    with Output(OUT / REPORT) as table, Output(OUT / HITS) as hits:
        report = Report(search, queries, request["maxOutputBytes"], table, hits)
        if queries:
            version, unsearchable = run_blast(request, report, progress)
            failures = [
                item_failure(queries[place - 1], "search", reason)
                for place, reason in sorted(unsearchable.items())
                if 1 <= place <= len(queries)
            ]
        else:
            version = installed_version(search)
    summary = summary_of(request, version, report.found)
    with Output(OUT / FOUND) as output:
        output.write(compact({**summary, "part": part, "argv": request["argv"], "failures": failures}) + b"\n")
    return {"summary": summary, "failures": failures, "programs": {"python": python_version(), search: version}}


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", work, compact))
