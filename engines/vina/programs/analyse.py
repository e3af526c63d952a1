"""Analyses docked poses: SDF with bond orders, interactions, plausibility checks, and the distance from a known pose.

Reads request.json, in/receptor.pdb, in/receptor.pdbqt, in/serials.json, in/ligands.json, in/docked/*/dock.json and, where there is
one, in/native.json; writes out/analysis.json, out/poses/NNNNN.sdf (NNNNN is the ligand's place in the request) and out/result.json.
Each ligand is analysed in a child process with a bound on its processor time. Poses that cannot be written as SDF fail their
ligand; a tool that cannot judge a ligand, or has no time left for it, costs that field, and the ligand's missing says so with a
note. For one set of inputs every file is the same to the byte but for the CPU seconds, however busy the machine is.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from rdkit import Chem, RDLogger

import checks
import cnn
import interactions
from bounded import Tell, in_child
from pdbqt import is_atom, pdbqt_atom
from plans import main
from poses import ExportError, deviations, pose_molecule, sdf_record
from task import IN, OUT, Progress, one_line, program_versions, read_json, write_json, write_text

SCHEMA = "molfabric.docking.analysis/v1"
MAX_ANSWER_BYTES = 32 << 20  # 20 poses of 200 atoms are 0.5 MB
MAX_SUMMARY_BYTES = 800_000  # of the summary in result.json, which is kept in a database
# How many of each ligand's poses keep their details in the summary when it is too large; analysis.json has them all.
DETAILED_POSES = (10, 5, 3, 2, 1, 0)
RMSD_METHOD = "heavy atoms in place, without alignment, over the best of the molecule's symmetries"

# What a step is called in the notes of ligands that go without it.
STEP_NAMES = {"cnnScore": "CNN score", "export": "SDF, checks or interactions", "energy": "test of the internal energy"}

Step = tuple[str, Callable[[], Any]]
Missing = dict[str, str]  # the step that found nothing, and why


class Bench:
    """What all ligands of the shard share. A tool that cannot be set up is None, and notes say why."""

    def __init__(self, request: dict[str, Any], docked: Iterable[dict[str, Any]]) -> None:
        pdb = (IN / "receptor.pdb").read_text(encoding="utf-8", errors="replace")
        self.most_poses, self.energy, self.cpu_seconds = (
            request["mostPosesAnalysed"],
            request["internalEnergy"],
            request["ligandCpuSeconds"],
        )
        self.rank_by = request["rankBy"]
        self.missing: list[Missing] = []
        self.scorer = self.set_up("cnnScore", read_scorer)
        if self.scorer is None and self.rank_by == cnn.BY_CNN:
            raise cnn.absent(self.missing[0]["why"])
        self.receptor = self.set_up(
            "interactions", lambda: interactions.Receptor(pdb, read_json(IN / "serials.json"), positions(docked))
        )
        self.finder = interactions.Finder()
        self.checker = self.set_up("checks", lambda: checks.Checker(pdb))
        self.native = self.set_up("referenceRmsdAngstrom", read_native) if (IN / "native.json").exists() else None
        self.notes = self.receptor.notes if self.receptor else []

    def set_up(self, field: str, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except Exception as error:  # what the libraries raise for a structure that they do not understand
            self.missing.append(missing(field, one_line(str(error), 200)))
            return None

    def steps(self, prepared: dict[str, Any], docked: dict[str, Any]) -> list[Step]:
        """The steps of one ligand in their order; each may fail alone but the export. The poses are exported and looked at as they
        are ranked."""
        poses: list[Chem.Mol] = []  # one conformer each, filled by the export
        scores: list[cnn.Scores] = []

        def score() -> list[cnn.Scores]:
            scores.extend(self.scorer.scores(docked["pdbqt"]))
            return scores

        def export() -> list[str]:
            molecule = pose_molecule(docked["pdbqt"], prepared["dockedSmiles"])
            if molecule.GetNumConformers() != len(docked["poses"]):
                raise ExportError(f"there are {molecule.GetNumConformers()} poses, but {len(docked['poses'])} were reported")
            ranked = cnn.in_order(docked["poses"], scores or None, self.rank_by)
            poses.extend(single(molecule, pose["vinaRank"] - 1) for pose in ranked)
            return [sdf_record(molecule, pose["vinaRank"] - 1, docked, pose) for pose in ranked]

        few = slice(self.most_poses)
        steps: list[Step] = [("cnnScore", score)] if self.scorer is not None else []
        if prepared.get("dockedSmiles") is None:
            return steps
        steps.append(("export", export))
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


def read_scorer() -> cnn.Scorer:
    return cnn.Scorer((IN / "receptor.pdbqt").read_text(encoding="utf-8", errors="replace"))


def read_native() -> Chem.Mol:
    molecule = Chem.MolFromMolBlock(read_json(IN / "native.json")["molblock"])
    if molecule is None or molecule.GetNumHeavyAtoms() == 0:
        raise ValueError("the native ligand cannot be read")
    return Chem.RemoveHs(molecule)


def single(molecule: Chem.Mol, conformer: int) -> Chem.Mol:
    copy = Chem.Mol(molecule, confId=conformer)
    copy.GetConformer(conformer).SetId(0)
    return copy


def run_steps(steps: list[Step], tell: Tell) -> None:
    """Runs the steps and tells what each found, or why it found nothing; ends when the first fails."""
    for name, step in steps:
        try:
            answer = {"step": name, "value": step()}
        except Exception as error:  # every kind that the libraries raise is about this ligand
            answer = {"step": name, "error": one_line(f"{type(error).__name__}: {error}", 200)}
        tell(answer)
        if name == "export" and "error" in answer:
            return


def failed(entry: dict[str, Any], step: str, message: str) -> dict[str, Any]:
    return {
        **entry,
        "status": "FAILED",
        "failureStage": step,
        "error": one_line(message),
        "poses": [],
        "files": {"sdf": None, "pdbqt": None},
        "bestSdf": None,
    }


def analyse(bench: Bench, prepared: dict[str, Any], docked: dict[str, Any]) -> dict[str, Any]:
    """The document's entry of one ligand; writes its SDF file."""
    entry = {key: docked[key] for key in ("index", "ligandId", "label")}
    entry.update(dockCpuSeconds=docked.get("cpuSeconds", 0.0), convergence=docked.get("convergence"))
    entry.update(missing=[*bench.missing], notes=[*docked.get("notes", []), *bench.notes])
    if docked["status"] == "FAILED":
        return failed(entry, docked["failureStage"], docked["error"])
    name = f"poses/{entry['index'] + 1:05d}"
    nameless = prepared.get("dockedSmiles") is None
    if nameless:
        entry["missing"].append(missing("export", "the ligand's PDBQT does not say its bonds (REMARK SMILES)"))
    steps = bench.steps(prepared, docked)
    answer = in_child(lambda tell: run_steps(steps, tell), bench.cpu_seconds, MAX_ANSWER_BYTES, "the analysis")
    answers, ended = {told["step"]: told for told in answer.documents}, answer.ended
    if not nameless and "value" not in answers.get("export", {}):
        return failed(entry, "parse_output", answers.get("export", {}).get("error") or ended or "the analysis gave no answer")
    entry["missing"] += missing_of([step for step, _ in steps], answers, ended)
    entry["notes"] += [f"no {STEP_NAMES.get(one['step'], one['step'])}: {one['why']}" for one in entry["missing"]]
    records = answers.get("export", {}).get("value")
    if records:
        write_text(OUT / f"{name}.sdf", "".join(records))
    if len(docked["poses"]) > bench.most_poses:
        entry["notes"].append(f"checks and interactions are of the best {bench.most_poses} poses")
    return {
        **entry,
        "status": "COMPLETED",
        "failureStage": None,
        "error": None,
        "poses": fill(docked["poses"], answers, bench.rank_by),
        "files": {"sdf": f"{name}.sdf" if records else None, "pdbqt": f"{name}.pdbqt"},
        "bestSdf": records[0] if records else None,
    }


def missing_of(steps: list[str], answers: dict[str, dict[str, Any]], ended: str) -> list[Missing]:
    """What is missing of a ligand whose poses were exported, and why."""
    found = []
    for step in steps:
        if "value" not in answers.get(step, {}):
            found.append(missing(step, answers.get(step, {}).get("error") or ended or "the analysis gave no answer"))
        elif step == "energy" and not all(answers[step]["value"]):
            found.append(missing(step, "the force field does not know the molecule"))
    return found


def missing(step: str, why: str) -> Missing:
    return {"step": step, "why": why}


def fill(poses: list[dict[str, Any]], answers: dict[str, dict[str, Any]], rank_by: str) -> list[dict[str, Any]]:
    """The poses as they are ranked, with what the steps found; null where a step found nothing for a pose."""

    def value(step: str, i: int) -> Any:
        values = answers.get(step, {}).get("value", [])
        return values[i] if i < len(values) else None

    filled = []
    for i, pose in enumerate(cnn.in_order(poses, answers.get("cnnScore", {}).get("value"), rank_by)):
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
            "vinaRank": pose["vinaRank"],
            "scoreKcalMol": pose["scoreKcalMol"],
            "cnnScore": pose["cnnScore"],
            "cnnAffinityPk": pose["cnnAffinityPk"],
            "referenceRmsdAngstrom": pose["referenceRmsdAngstrom"],
            "checks": pose["checks"] if i < detailed else None,
            "interactions": pose["interactions"] if i < detailed else None,
        }
        for i, pose in enumerate(entry["poses"])
    ]
    short = {
        "index": entry["index"],
        "status": entry["status"],
        "sdf": entry["files"]["sdf"],
        "poses": poses,
        "notes": entry["notes"],
    }
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
    bench = Bench(request, [docked[index] for index in indices])
    entries = []
    for done, index in enumerate(indices):
        progress(0.02 + 0.97 * done / len(indices), f"analysing {docked[index]['label']} ({done + 1} of {len(indices)})")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        entry = analyse(bench, prepared[index], docked[index])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        entry["analyseCpuSeconds"] = round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3)
        entries.append(entry)
    tools = ["rdkit", "meeko", "numpy", "scipy", "prolif", "mdanalysis", "posebusters"]
    programs = dock_programs | program_versions(tools + [cnn.PACKAGE] * (bench.scorer is not None))
    method = {
        **interactions.method(),
        "checks": checks.method(bench.energy),
        "referenceRmsd": RMSD_METHOD,
        "mostPosesAnalysed": bench.most_poses,
        "cnn": cnn.method(),
    }
    write_json(OUT / "analysis.json", {"schema": SCHEMA, "ligands": entries, "programs": programs, "method": method})
    failures = [
        {"item": entry["ligandId"], "label": entry["label"], "step": entry["failureStage"], "message": entry["error"]}
        for entry in entries
        if entry["status"] == "FAILED"
    ]
    return {"summary": summarise(entries), "failures": failures, "programs": programs}


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
