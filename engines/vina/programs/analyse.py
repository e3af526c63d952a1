"""Analyses docked poses: SDF with bond orders, interactions, plausibility checks, and the distance from a known pose.

Reads request.json, in/receptor.pdb, in/serials.json, in/ligands.json, in/docked/*/dock.json and, where there is one,
in/native.json; writes out/analysis.json, out/poses/NNNNN.sdf (NNNNN is the ligand's place in the request) and
out/result.json. Each ligand is analysed in a child process with a time limit. Poses that cannot be written as SDF fail their
ligand; a tool that cannot judge a ligand, or has no time left for it, costs that field, and a note says so. For one set of
inputs every file is the same to the byte but for the CPU seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

import numpy as np
from rdkit import Chem, RDLogger

import checks
import interactions
from common import IN, OUT, Progress, is_atom, main, one_line, pdbqt_atom, program_versions, read_json, write_json, write_text
from poses import ExportError, deviations, pose_molecule, sdf_record

SCHEMA = "molfabric.docking.analysis/v1"
# Wall time for one ligand: imatinib's nine poses take 6 s, a flexible ligand of 57 heavy atoms 18 s.
LIGAND_SECONDS = 120.0
MAX_ANSWER_BYTES = 32 << 20  # 20 poses of 200 atoms are 0.5 MB
MAX_SUMMARY_BYTES = 800_000  # of the summary in result.json, which is kept in a database
# How many of each ligand's poses keep their details in the summary when it is too large; analysis.json has them all.
DETAILED_POSES = (10, 5, 3, 2, 1, 0)
RMSD_METHOD = "heavy atoms in place, without alignment, over the best of the molecule's symmetries"

Step = tuple[str, Callable[[], Any]]


class Bench:
    """What all ligands of the shard share. A tool that cannot be set up is None, and notes say why."""

    def __init__(self, most_poses: int, energy: bool, docked: Iterable[dict[str, Any]]) -> None:
        pdb = (IN / "receptor.pdb").read_text(encoding="utf-8", errors="replace")
        self.most_poses, self.energy = most_poses, energy
        self.notes: list[str] = []
        self.receptor = self.set_up("interactions", lambda: interactions.Receptor(pdb, read_json(IN / "serials.json"), positions(docked)))
        self.finder = interactions.Finder()
        self.checker = self.set_up("checks", lambda: checks.Checker(pdb))
        self.native = self.set_up("referenceRmsdAngstrom", read_native) if (IN / "native.json").exists() else None
        self.notes += self.receptor.notes if self.receptor else []

    def set_up(self, field: str, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except Exception as error:  # what the libraries raise for a structure that they do not understand
            self.notes.append(f"no {field}: {one_line(str(error), 200)}")
            return None

    def steps(self, prepared: dict[str, Any], docked: dict[str, Any]) -> list[Step]:
        """The steps of one ligand in their order; each may fail alone but the first."""
        poses: list[Chem.Mol] = []  # one conformer each, filled by the first step

        def export() -> list[str]:
            molecule = pose_molecule(docked["pdbqt"], prepared["dockedSmiles"])
            if molecule.GetNumConformers() != len(docked["poses"]):
                raise ExportError(f"there are {molecule.GetNumConformers()} poses, but {len(docked['poses'])} were reported")
            poses.extend(single(molecule, i) for i in range(molecule.GetNumConformers()))
            return [sdf_record(molecule, i, docked, pose) for i, pose in enumerate(docked["poses"])]

        few = slice(self.most_poses)
        steps: list[Step] = [("export", export)]
        native = self.native
        if native is not None:
            steps.append(("referenceRmsdAngstrom", lambda: distances(poses, native)))
        if self.receptor is not None:
            steps.append(("interactions", lambda: [self.finder.find(self.receptor, pose) for pose in poses[few]]))
        if self.checker is not None:
            steps.append(("checks", lambda: [self.checker.check_geometry(pose) for pose in poses[few]]))
        if self.checker is not None and self.energy:
            steps.append(("energy", lambda: [self.checker.check_energy(pose) for pose in poses[few]]))
        return steps


def positions(docked: Iterable[dict[str, Any]]) -> np.ndarray:
    """Where atoms of docked ligands lie, (n, 3) in Å; lines that are no atoms fail their own ligand later."""
    found = []
    for entry in docked:
        for line in filter(is_atom, (entry.get("pdbqt") or "").splitlines()):
            with contextlib.suppress(ValueError):
                atom = pdbqt_atom(line)
                found.append((atom.x, atom.y, atom.z))
    return np.array(found, dtype=float).reshape(-1, 3)


def distances(poses: list[Chem.Mol], native: Chem.Mol) -> list[float | None]:
    try:
        return [deviations(pose, native)[0] for pose in poses]
    except ExportError:  # another molecule than the native one: there is nothing to compare
        return [None] * len(poses)


def read_native() -> Chem.Mol:
    molecule = Chem.MolFromMolBlock(read_json(IN / "native.json")["molblock"])
    if molecule is None or molecule.GetNumHeavyAtoms() == 0:
        raise ValueError("the native ligand cannot be read")
    return Chem.RemoveHs(molecule)


def single(molecule: Chem.Mol, conformer: int) -> Chem.Mol:
    copy = Chem.Mol(molecule, confId=conformer)
    copy.GetConformer(conformer).SetId(0)
    return copy


def run_steps(steps: list[Step], answers: BinaryIO) -> None:
    """Runs the steps in the child and writes one JSON line for each; ends when the first fails."""
    for name, step in steps:
        try:
            answer = {"step": name, "value": step()}
        except Exception as error:  # every kind that the libraries raise is about this ligand
            answer = {"step": name, "error": one_line(f"{type(error).__name__}: {error}", 200)}
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
        if name == "export" and "error" in answer:
            return


def in_child(steps: list[Step]) -> tuple[dict[str, dict[str, Any]], str | None]:
    """Runs the steps in a forked child. Returns what it answered by step, and what ended it early ("crashed …"), if anything."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                run_steps(steps, pipe)
            status = 0
        finally:  # a child must never return into the parent's code
            os._exit(status)
    os.close(writer)
    answer, deadline, expired = b"", time.monotonic() + LIGAND_SECONDS, False
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        while not expired and len(answer) <= MAX_ANSWER_BYTES:
            expired = not select.select([pipe], [], [], max(deadline - time.monotonic(), 0))[0]
            block = b"" if expired else pipe.read(1 << 16)
            if not block:
                break
            answer += block
    too_long = len(answer) > MAX_ANSWER_BYTES
    if expired or too_long:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    lines = [json.loads(line) for line in answer.splitlines(keepends=True) if line.endswith(b"\n")]
    ended = f"the analysis took longer than {LIGAND_SECONDS:g} seconds" if expired else "the analysis crashed on this ligand" if status else None
    return {line["step"]: line for line in lines}, ended


def failed(entry: dict[str, Any], step: str, message: str) -> dict[str, Any]:
    return {
        **entry, "status": "FAILED", "failureStage": step, "error": one_line(message), "poses": [],
        "files": {"sdf": None, "pdbqt": None}, "bestSdf": None,
    }  # fmt: skip


def analyse(bench: Bench, prepared: dict[str, Any], docked: dict[str, Any]) -> dict[str, Any]:
    """The document's entry of one ligand; writes its SDF file."""
    entry = {key: docked[key] for key in ("index", "ligandId", "label")}
    entry.update(notes=[*docked.get("notes", []), *bench.notes], dockCpuSeconds=docked.get("cpuSeconds", 0.0))
    if docked["status"] == "FAILED":
        return failed(entry, docked["failureStage"], docked["error"])
    name = f"poses/{entry['index'] + 1:05d}"
    answers: dict[str, dict[str, Any]] = {}
    if prepared.get("dockedSmiles") is None:
        entry["notes"].append("no SDF, checks or interactions: the ligand's PDBQT does not say its bonds (REMARK SMILES)")
    else:
        steps = bench.steps(prepared, docked)
        answers, ended = in_child(steps)
        if "value" not in answers.get("export", {}):
            return failed(entry, "parse_output", answers.get("export", {}).get("error") or ended or "the analysis gave no answer")
        entry["notes"] += step_notes([step for step, _ in steps], answers, ended)
    records = answers.get("export", {}).get("value")
    if records:
        write_text(OUT / f"{name}.sdf", "".join(records))
    if len(docked["poses"]) > bench.most_poses:
        entry["notes"].append(f"checks and interactions are of the best {bench.most_poses} poses")
    return {
        **entry, "status": "COMPLETED", "failureStage": None, "error": None, "poses": fill(docked["poses"], answers),
        "files": {"sdf": f"{name}.sdf" if records else None, "pdbqt": f"{name}.pdbqt"}, "bestSdf": records[0] if records else None,
    }  # fmt: skip


def step_notes(steps: list[str], answers: dict[str, dict[str, Any]], ended: str | None) -> list[str]:
    """What is missing of a ligand whose poses were exported, and why."""
    notes = []
    for step in steps:
        what = "test of the internal energy" if step == "energy" else step
        if "value" not in answers.get(step, {}):
            notes.append(f"no {what}: {answers.get(step, {}).get('error') or ended}")
        elif step == "energy" and not all(answers[step]["value"]):
            notes.append(f"no {what}: the force field does not know the molecule")
    return notes


def fill(poses: list[dict[str, Any]], answers: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The poses with what the steps found; null where a step found nothing for a pose."""

    def value(step: str, i: int) -> Any:
        values = answers.get(step, {}).get("value", [])
        return values[i] if i < len(values) else None

    filled = []
    for i, pose in enumerate(poses):
        tests = value("checks", i)
        found = {
            "referenceRmsdAngstrom": value("referenceRmsdAngstrom", i),
            "checks": None if tests is None else checks.verdict({**tests, **(value("energy", i) or {})}),
            "interactions": value("interactions", i),
        }
        filled.append({**pose, **found})
    return filled


def summarise(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """The entries in brief. Where they are too many, the later poses go without checks and interactions; detailedPoses says
    how many of each ligand's poses have them."""
    summary: dict[str, Any] = {}
    for detailed in DETAILED_POSES:
        summary = {"detailedPoses": detailed, "ligands": [brief(entry, detailed) for entry in entries]}
        if len(json.dumps(summary, ensure_ascii=False, indent=1).encode()) <= MAX_SUMMARY_BYTES:
            break
    return summary


def brief(entry: dict[str, Any], detailed: int) -> dict[str, Any]:
    poses = [
        {
            "rank": pose["rank"],
            "referenceRmsdAngstrom": pose["referenceRmsdAngstrom"],
            "checks": pose["checks"] if i < detailed else None,
            "interactions": pose["interactions"] if i < detailed else None,
        }
        for i, pose in enumerate(entry["poses"])
    ]
    short = {"index": entry["index"], "status": entry["status"], "sdf": entry["files"]["sdf"], "poses": poses, "notes": entry["notes"]}
    if entry["status"] == "FAILED":
        short.update(failureStage=entry["failureStage"], error=entry["error"])
    return short


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    RDLogger.DisableLog("rdApp.*")
    progress(0.0, "reading the receptor")
    prepared = {record["index"]: record for record in read_json(IN / "ligands.json")["ligands"]}
    docked, dock_programs = {}, {}
    for path in sorted(IN.glob("docked/*/dock.json")):
        document = read_json(path)
        docked.update((entry["index"], entry) for entry in document["ligands"])
        dock_programs.update(document["programs"])
    indices = [index for index in request["indices"] if index in docked and index in prepared]
    bench = Bench(request["mostPosesAnalysed"], request["internalEnergy"], [docked[index] for index in indices])
    entries = []
    for done, index in enumerate(indices):
        progress(0.02 + 0.97 * done / len(indices), f"analysing {docked[index]['label']} ({done + 1} of {len(indices)})")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        entry = analyse(bench, prepared[index], docked[index])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        entry["analyseCpuSeconds"] = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)
        entries.append(entry)
    programs = dock_programs | program_versions(["rdkit", "meeko", "numpy", "scipy", "prolif", "mdanalysis", "posebusters"])
    method = {**interactions.method(), "checks": checks.method(bench.energy), "referenceRmsd": RMSD_METHOD, "mostPosesAnalysed": bench.most_poses}
    write_json(OUT / "analysis.json", {"schema": SCHEMA, "ligands": entries, "programs": programs, "method": method})
    failures = [
        {"item": entry["ligandId"], "label": entry["label"], "step": entry["failureStage"], "message": entry["error"]}
        for entry in entries
        if entry["status"] == "FAILED"
    ]
    return {"summary": summarise(entries), "failures": failures, "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
