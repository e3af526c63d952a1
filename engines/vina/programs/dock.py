"""Docks prepared ligands into a receptor with AutoDock Vina's Python bindings.

Reads request.json, in/receptor.pdbqt, in/box.json and in/ligands.json, docks the ligands that the request names, in that
order, in one process with the affinity maps computed once, and writes out/dock.json (poses as PDBQT and their energies),
out/poses/NNNNN.pdbqt for every docked ligand, and out/result.json. NNNNN is the ligand's place in the request.

A shard of several ligands leaves out/checkpoint/NNNNN.json after each, and prints {"checkpoint": ["checkpoint/NNNNN.json"]}.
When an interrupted attempt is repeated, its checkpoints lie in in/resume/: those ligands are taken over, not docked again.
Poses are the same to the byte whatever the shard, the interruption and the threads.
"""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any

from plans import main
from rounds import checked, notes_of
from task import CHECKPOINT, IN, OUT, RESUME, Failure, Progress, one_line, read_json, saved, sha256, write_json, write_text
from vina_output import PoseError, check_poses, parse_poses
from vina_process import Box, Outcome, dock_all, failed, read_box, require_vina

MAX_RESUME_FILES = 1000  # a shard has at most 10 ligands
MAX_RESUME_BYTES = 8 << 20  # a ligand's poses take some 100 kB
RESUMED_STAGES = ("dock", "parse_output")


def fingerprint(search: dict[str, Any], box: Box, receptor: str, pdbqt: str) -> str:
    """Digest of all that decides a ligand's poses. The threads are not part of it: poses do not depend on them."""
    decisive = {key: value for key, value in search.items() if key != "cpuThreads"}
    return sha256(json.dumps([decisive, box.center, box.size, receptor, pdbqt], sort_keys=True).encode())


def resumed(path: Path, wanted: dict[int, str]) -> tuple[int, Outcome] | None:
    """Index and outcome of a ligand that an interrupted attempt had finished; None for a file that is not one of this shard,
    or torn, or not what dock.py writes. Energies are read from the poses again, so that a file cannot contradict itself."""
    try:
        if path.stat().st_size > MAX_RESUME_BYTES:
            return None
        entry = read_json(path)
        index, seconds = entry["index"], float(entry["cpuSeconds"])
        if type(index) is not int or wanted.get(index) != entry["inputsSha256"] or not 0 <= seconds < math.inf:
            return None
        if entry["status"] == "FAILED" and entry["failureStage"] in RESUMED_STAGES:
            return index, {**failed(entry["failureStage"], str(entry["error"])), "cpuSeconds": seconds}
        text = entry["pdbqt"]
        poses = parse_poses(text)
        check_poses(poses)
        convergence = checked(entry["convergence"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, PoseError, Failure):
        return None
    return index, {"status": "COMPLETED", "poses": poses, "pdbqt": text, "convergence": convergence, "cpuSeconds": seconds}


def size_notes(record: dict[str, Any], box: Box) -> list[str]:
    """A ligand longer than the box can only be docked folded or across it."""
    length, edge = record.get("lengthAngstrom"), min(box.size)
    if length is None or length <= edge:
        return []
    return [f"the ligand is {length:.1f} Å long and the box's shortest edge {edge:.1f} Å; a larger box may be needed"]


class Entries:
    """The ligands' entries of dock.json, kept as they come."""

    def __init__(self, records: list[dict[str, Any]], prints: dict[int, str], box: Box) -> None:
        self.records, self.prints, self.box = records, prints, box
        self.by_index: dict[int, dict[str, Any]] = {}

    def keep(self, record: dict[str, Any], outcome: Outcome) -> None:
        """Keeps a ligand's outcome and writes its poses; in a shard of several, its checkpoint too."""
        index = record["index"]
        entry = {
            "index": index,
            "ligandId": record["ligandId"],
            "label": record["label"],
            "notes": self.notes(record, outcome),
            **outcome,
        }
        self.by_index[index] = entry
        if entry["status"] == "COMPLETED":
            write_text(OUT / pose_file(index), entry["pdbqt"])
        if len(self.records) > 1 and index in self.prints:
            name = f"{index + 1:05d}.json"
            write_json(CHECKPOINT / name, {**entry, "inputsSha256": self.prints[index]})
            saved([name])

    def notes(self, record: dict[str, Any], outcome: Outcome) -> list[str]:
        return size_notes(record, self.box) + notes_of(outcome.get("convergence"))

    def in_order(self) -> list[dict[str, Any]]:
        return [self.by_index[record["index"]] for record in self.records]


def pose_file(index: int) -> str:
    return f"poses/{index + 1:05d}.pdbqt"


def summarize(entry: dict[str, Any]) -> dict[str, Any]:
    """A ligand in the shard's summary."""
    docked = entry["status"] == "COMPLETED"
    return {
        "index": entry["index"],
        "status": entry["status"],
        "failureStage": entry.get("failureStage"),
        "error": entry.get("error"),
        "pdbqt": pose_file(entry["index"]) if docked else None,
        "cpuSeconds": entry.get("cpuSeconds", 0.0),
        "poses": entry.get("poses", []),
        "convergence": entry.get("convergence"),
        "notes": entry["notes"],
    }


def read_records(indices: list[int]) -> list[dict[str, Any]]:
    prepared = {record["index"]: record for record in read_json(IN / "ligands.json")["ligands"]}
    missing = [index for index in indices if index not in prepared]
    if missing:
        raise Failure("EXECUTOR", "LIGANDS_INCOMPLETE", f"the prepared ligands lack number {missing[0] + 1}.")
    return [prepared[index] for index in indices]


def dock_records(search: dict[str, Any], records: list[dict[str, Any]], progress: Progress) -> list[dict[str, Any]]:
    """The entries of all records, in order: taken over, docked now, or failed before."""
    box, receptor = read_box(), (IN / "receptor.pdbqt").read_text(encoding="utf-8", errors="replace")
    ready = {record["index"]: record for record in records if record["status"] == "PREPARED"}
    prints = {index: fingerprint(search, box, receptor, record["pdbqt"]) for index, record in ready.items()}
    entries = Entries(records, prints, box)
    for record in records:
        if record["index"] not in ready:
            entries.keep(record, {key: record[key] for key in ("status", "failureStage", "error")})
    for path in sorted(RESUME.glob("*.json"))[:MAX_RESUME_FILES]:
        found = resumed(path, prints)
        if found:
            entries.keep(ready[found[0]], found[1])
    todo = [record for index, record in ready.items() if index not in entries.by_index]
    before = len(records) - len(todo)
    progress(0.99 * before / len(records), f"docking {len(todo)} of {len(records)} ligands")

    def searching(done: int, fraction: float) -> None:
        current = min(done, len(todo) - 1)
        place = f" ({before + current + 1} of {len(records)})" if len(records) > 1 else ""
        progress(0.99 * (before + done + fraction) / len(records), f"docking {one_line(todo[current]['label'])}{place}")

    dock_all(search, box, todo, entries.keep, searching)
    return entries.in_order()


def versions(vina: str) -> dict[str, str]:
    """What task.program_versions says. Asking the modules, which are loaded already, takes a task 20 ms less of its core."""
    import numpy

    return {"python": ".".join(map(str, sys.version_info[:3])), "vina": vina, "numpy": numpy.__version__}


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    vina = require_vina()
    entries = dock_records(request["search"], read_records(request["indices"]), progress)
    failures = [
        {"item": entry["ligandId"], "label": entry["label"], "step": entry["failureStage"], "message": entry["error"]}
        for entry in entries
        if entry["status"] == "FAILED"
    ]
    if len(failures) == len(entries):
        reason = f"{failures[0]['step']}: {failures[0]['message']}"
        searched = any(failure["step"] in RESUMED_STAGES for failure in failures)
        raise Failure(
            "USER_INPUT",
            "NO_LIGAND_DOCKED",
            f"None of the task's {len(entries)} ligands could be docked ({reason}).",
            failures,
            unbegun=not searched,
        )
    programs = versions(vina)
    write_json(OUT / "dock.json", {"schema": "molfabric.docking.poses/v1", "ligands": entries, "programs": programs})
    best = min(entry["poses"][0]["scoreKcalMol"] for entry in entries if entry["status"] == "COMPLETED")
    summary = {
        "docked": len(entries) - len(failures),
        "failed": len(failures),
        "bestScoreKcalMol": best,
        "ligands": [summarize(entry) for entry in entries],
    }
    return {"summary": summary, "failures": failures, "programs": programs}


if __name__ == "__main__":
    status = main(__doc__.splitlines()[0], work)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # all files are closed; taking the interpreter apart would keep the core another 12 ms
