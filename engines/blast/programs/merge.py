"""Joins the results of the searches of a job in the order of its queries.

Reads in/queries.jsonl and, of every search that succeeded, found.json, hits.jsonl and report.tsv below in/searches/. Writes
results.json (what each query found, what failed, and what is to be cited), hits.tsv (BLAST+'s twelve columns), hits.jsonl (the hits
with their alignments) and provenance.json.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

from queries import FOUND, HITS, REPORT, item_failure, read_queries, write_document
from task import IN, OUT, Output, Progress, compact, executor_error, main, python_version, read_json, written

RESULTS_SCHEMA = "molfabric.search.results/v1"
PROVENANCE_SCHEMA = "molfabric.search.provenance/v1"
TABLE = "hits.tsv"
COLUMNS = (
    "query acc.ver, subject acc.ver, % identity, alignment length, mismatches, gap opens, q. start, q. end, s. start, s. "
    "end, evalue, bit score"
)
COPY_BYTES = 1 << 20
MAX_FAILURES = 10_000
# The words of megablast, which finds nothing shorter.
MEGABLAST_WORD = 28
FIELDS = ("hits", "bestEvalue", "bestBitScore", "bestSubjectId", "bestSubjectTitle")


class Search(NamedTuple):
    """A search that succeeded, and what its queries found, by their index in the request."""

    name: str
    version: str
    argv: list[str]
    found: dict[int, dict[str, Any]]
    failures: dict[str, dict[str, Any]]  # by item

    def file(self, output: str) -> Path:
        return IN / "searches" / output / self.name / output


def read_searches() -> dict[int, Search]:
    """The searches that succeeded, by their part from 1."""
    searches: dict[int, Search] = {}
    folder = IN / "searches" / FOUND
    for path in sorted(folder.iterdir()) if folder.exists() else []:
        document = read_json(path / FOUND)
        found = {query["index"]: query for query in document["queries"]}
        failures = {failure["item"]: failure for failure in document["failures"]}
        searches[document["part"]] = Search(path.name, document["version"], document["argv"], found, failures)
    return searches


def judge(query: dict[str, Any], searches: dict[int, Search]) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The query's place in the results, and its failure when it has one."""
    record = {"index": query["index"], "id": query["id"], "title": query["title"], "length": query["length"]}
    part = query["part"]
    search = searches.get(part) if part is not None else None
    if part is None:
        failure = item_failure(query, "parse", query["error"])
    elif search is None:
        failure = item_failure(query, "search", f"its task search-{part:04d} has no result; see that task")
    elif unsearched := search.failures.get(f"queries[{query['index']}]"):
        failure = unsearched
    elif query["index"] not in search.found:
        raise executor_error("RESULTS_INCOMPLETE", f"The result of {search.name} lacks query {query['index']}.")
    else:
        found = search.found[query["index"]]
        return {**record, "status": "COMPLETED", "task": search.name, **{name: found[name] for name in FIELDS}, "error": None}, None
    nothing = {"hits": 0, "bestEvalue": None, "bestBitScore": None, "bestSubjectId": None, "bestSubjectTitle": None}
    return {**record, "status": "FAILED", "task": search and search.name, **nothing, "error": failure["message"]}, failure


def join(searches: dict[int, Search], output: str, name: str, head: bytes, progress: Progress, begin: float) -> None:
    """Writes the outputs of that name of all searches behind each other."""
    with Output(OUT / name) as joined:
        joined.write(head)
        for count, part in enumerate(sorted(searches)):
            progress(begin + 0.4 * count / len(searches), f"joining {name}")
            with open(searches[part].file(output), "rb") as file:
                while chunk := file.read(COPY_BYTES):
                    joined.write(chunk)


def notes_of(request: dict[str, Any], queries: list[dict[str, Any]], merged: bool) -> list[str]:
    notes = []
    short = sum(1 for query in queries if query["status"] == "COMPLETED" and query["length"] < MEGABLAST_WORD)
    if request["search"] == "blastn" and short:
        notes.append(f"{short} queries are shorter than the {MEGABLAST_WORD} bases of a word of megablast, which cannot find them.")
    if not merged:
        notes.append(
            f"All hits together have more than {request['maxMergedBytes']} bytes; {HITS} is left out. The hits of each query can "
            f"be read one by one."
        )
    return notes


def provenance_of(request: dict[str, Any], searches: dict[int, Search]) -> dict[str, Any]:
    return {
        "schema": PROVENANCE_SCHEMA,
        "program": request["search"],
        "versions": sorted({search.version for search in searches.values()}),
        "python": python_version(),
        "database": request["database"],
        "parameters": request["parameters"],
        "equivalentArgv": request["argv"],
        "searches": [
            {
                "name": searches[part].name,
                "part": part,
                "version": searches[part].version,
                "queries": len(searches[part].found),
                "argv": searches[part].argv,
            }
            for part in sorted(searches)
        ],
        "citations": request["citations"],
        "outputs": [{"name": name, "sha256": digest} for name, digest in sorted(written.items())],
    }


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    progress(0.0, "reading the searches")
    searches = read_searches()
    judged = [judge(query, searches) for query in read_queries()]
    queries, failures = [record for record, _ in judged], [failure for _, failure in judged if failure]
    if not searches:
        raise executor_error(
            "NO_QUERY_SEARCHED", f"None of the {len(queries)} queries was searched: no task has a result; see the tasks."
        )
    merged = sum(search.file(HITS).stat().st_size for search in searches.values()) <= request["maxMergedBytes"]
    join(searches, REPORT, TABLE, b"# Fields: " + COLUMNS.encode() + b"\n", progress, 0.1)
    if merged:
        join(searches, HITS, HITS, b"", progress, 0.5)
    versions = sorted({search.version for search in searches.values()})
    counts = {
        "total": len(queries),
        "completed": len(queries) - len(failures),
        "failed": len(failures),
        "withHits": sum(1 for query in queries if query["hits"]),
        "hits": sum(query["hits"] for query in queries),
    }
    write_document(
        "results.json",
        {
            "schema": RESULTS_SCHEMA,
            "program": request["search"],
            "versions": versions,
            "database": request["database"],
            "parameters": request["parameters"],
            "equivalentCommand": request["argv"],
            "counts": counts,
            "queries": queries,
            "failures": failures,
            "notes": notes_of(request, queries, merged),
            "citations": request["citations"],
        },
    )
    write_document("provenance.json", provenance_of(request, searches))
    return {
        "summary": {"stage": "merge", "program": request["search"], "versions": versions, "counts": counts, "hitsMerged": merged},
        "failures": [failure for failure in failures if failure["step"] == "search"][:MAX_FAILURES],
        "programs": {"python": python_version()},
    }


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", work, compact))
