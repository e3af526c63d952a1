"""Ranks the docked and analysed ligands of a job and writes its documents.

Reads request.json, in/receptor.json, in/receptor.pdb, in/box.json, in/ligands/*/ligands.json, in/analysed/*/analysis.json and,
where the native ligand was docked again, in/redock/redock/redock.json, and in/picture/ where pictures were drawn. Writes
out/results.json (one line a ligand), out/results.csv, out/best.sdf (each ligand's best pose, best first), out/complexes/NNNNN.pdb
(the receptor with the best pose of each of the best ligands), out/report.html, out/provenance.json and out/timings.json; for a
pipeline, which draws it, also out/best.pdb, the first of the complexes. NNNNN is the ligand's place in the request. For one set of
inputs every file but timings.json is the same to the byte.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, TextIO

from rdkit import RDLogger

from cnn import BY_CNN
from complexes import ComplexError, Receptor, complex_pdb
from plans import main
from provenance import methods_text, write_provenance
from report import report_html
from report_pictures import Pictures
from task import IN, OUT, Failure, Progress, one_line, program_versions, read_json, write_json, write_text

RESULTS_SCHEMA = "molfabric.docking.results/v1"
MAX_TOP = 10
MAX_NOT_CONVERGED = 100  # ligands that the document names at its head; each says it itself
MAX_COMPLEXES = 100
MAX_COMPLEX_BYTES = 200 << 20  # of all complexes together; a kinase with its ligand takes 0.4 MB
CSV_COLUMNS = (
    "rank ligandId label status bestScoreKcalMol ligandEfficiency heavyAtoms poseCount canonicalSmiles inchiKey dockedSmiles "
    "failureStage error sdf pdbqt posesPassed interactions referenceRmsdAngstrom converged exhaustivenessUsed cnnScore "
    "cnnAffinityPk"
).split()
NOTHING = (
    "rank bestScoreKcalMol ligandEfficiency cnnScore cnnAffinityPk convergence checks interactions referenceRmsdAngstrom".split()
)  # of a failed one
DESCRIBED = "index ligandId label inputSmiles canonicalSmiles inchiKey dockedSmiles formalCharge heavyAtoms rotatableBonds".split()
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
LOST = "the ligand's docking or analysis task failed; see the job's tasks"


class Spill:
    """Texts by key in a scratch file, so that the poses of 10,000 ligands need not stay in memory."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile()
        self.places: dict[Any, tuple[int, int]] = {}

    def put(self, key: Any, text: str) -> None:
        content = text.encode()
        self.places[key] = self.file.seek(0, os.SEEK_END), len(content)
        self.file.write(content)

    def get(self, key: Any) -> str:
        """The text, or "" where none was put."""
        start, length = self.places.get(key, (0, 0))
        self.file.seek(start)
        return self.file.read(length).decode()


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A file that is written piece by piece and is either absent or complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        yield file
    os.replace(temporary, path)


def read_prepared() -> tuple[dict[int, dict[str, Any]], dict[str, str]]:
    """What the ranking needs of each prepared ligand, by index, and the programs that prepared them."""
    records: dict[int, dict[str, Any]] = {}
    programs: dict[str, str] = {}
    for path in sorted(IN.glob("ligands/*/ligands.json")):
        document = read_json(path)
        for record in document["ligands"]:
            record.pop("pdbqt", None)
            records[record["index"]] = record
        programs.update(document["programs"])
    return records, programs


def read_analysed(spill: Spill) -> tuple[dict[int, dict[str, Any]], dict[str, str], dict[str, Any] | None]:
    """What the ranking needs of each analysed ligand, by index, the programs, and how interactions were found. Poses and
    structures go to spill, as ("poses", index) and ("sdf", index)."""
    outcomes: dict[int, dict[str, Any]] = {}
    programs: dict[str, str] = {}
    method = None
    for path in sorted(IN.glob("analysed/*/analysis.json")):
        document = read_json(path)
        for entry in document["ligands"]:
            outcomes[entry["index"]] = condense(entry, spill)
        programs.update(document["programs"])
        method = document.get("method", method)
    return outcomes, programs, method


def condense(entry: dict[str, Any], spill: Spill) -> dict[str, Any]:
    kept = {key: entry.get(key) for key in ("status", "failureStage", "error", "dockCpuSeconds", "analyseCpuSeconds")}
    if entry["status"] != "COMPLETED":
        return {**kept, "notes": entry.get("notes", [])}
    index, poses = entry["index"], entry["poses"]
    spill.put(("poses", index), json.dumps([condense_pose(pose) for pose in poses], ensure_ascii=False))
    spill.put(("sdf", index), entry.get("bestSdf") or "")
    best = poses[0]
    return {
        **kept,
        "score": best["scoreKcalMol"],
        "cnnScore": best.get("cnnScore"),
        "cnnAffinityPk": best.get("cnnAffinityPk"),
        "poseCount": len(poses),
        "convergence": entry.get("convergence"),
        "missing": entry.get("missing", []),
        "checks": best.get("checks"),
        "interactions": interaction_keys(best.get("interactions")),
        "referenceRmsdAngstrom": best.get("referenceRmsdAngstrom"),
        "files": {key: entry["files"].get(key) for key in ("sdf", "pdbqt")},
        "notes": entry.get("notes", []),
    }


def condense_pose(pose: dict[str, Any]) -> dict[str, Any]:
    """A pose without its interactions, and of its checks the verdict and the tests that failed."""
    checks = pose.get("checks")
    return {
        **{key: pose[key] for key in ("rank", "scoreKcalMol", "rmsdLowerBound", "rmsdUpperBound", "terms")},
        **{key: pose.get(key) for key in ("vinaRank", "cnnScore", "cnnAffinityPk")},
        "referenceRmsdAngstrom": pose.get("referenceRmsdAngstrom"),
        "checks": checks
        and {"passed": checks["passed"], "failedTests": sorted(name for name, passed in checks["tests"].items() if not passed)},
    }


def interaction_keys(interactions: list[dict[str, Any]] | None) -> list[str] | None:
    """chain:residueName:residue+insertionCode:type of each interaction once, in order; None where none were looked for."""
    if interactions is None:
        return None
    residues = ((found["receptor"], found["type"]) for found in interactions)
    return list(dict.fromkeys(f"{r['chain']}:{r['residueName']}:{r['residue']}{r['insertionCode']}:{kind}" for r, kind in residues))


def describe(prepared: dict[str, Any]) -> dict[str, Any]:
    return {
        **{key: prepared.get(key) for key in DESCRIBED},
        "componentId": prepared.get("componentId"),
        "notes": list(prepared.get("notes", [])),
    }


def failed(ligand: dict[str, Any], step: str, message: str) -> dict[str, Any]:
    nothing = dict.fromkeys(NOTHING)
    return {
        **ligand,
        **nothing,
        "status": "FAILED",
        "failureStage": step,
        "error": one_line(message),
        "poseCount": 0,
        "missing": [],
        "files": {"sdf": None, "pdbqt": None, "complex": None},
    }


def result_of(prepared: dict[str, Any], outcome: dict[str, Any] | None) -> dict[str, Any]:
    """The result of one ligand, without its poses."""
    ligand = describe(prepared)
    if prepared["status"] == "FAILED":
        return failed(ligand, prepared["failureStage"], prepared["error"])
    if outcome is None:
        return failed(ligand, "dock", LOST)
    ligand["notes"] = list(dict.fromkeys(ligand["notes"] + outcome["notes"]))
    if outcome["status"] == "FAILED":
        return failed(ligand, outcome["failureStage"], outcome["error"])
    score = outcome["score"]
    if score > 0:
        ligand["notes"].append("the best score is positive: no favourable pose was found")
    return {
        **ligand,
        "status": "COMPLETED",
        "failureStage": None,
        "error": None,
        "bestScoreKcalMol": score,
        "ligandEfficiency": round(-score / ligand["heavyAtoms"], 4),
        "poseCount": outcome["poseCount"],
        **{
            key: outcome[key]
            for key in ("cnnScore", "cnnAffinityPk", "convergence", "missing", "checks", "interactions", "referenceRmsdAngstrom")
        },
        "files": {**outcome["files"], "complex": None},
    }


def convergence_of(results: list[dict[str, Any]]) -> dict[str, Any]:
    """How many ligands' searches have converged, and the first that have not, best first."""
    judged = [result for result in results if result["convergence"]]
    open_ones = [result["ligandId"] for result in judged if not result["convergence"]["converged"]]
    return {"judged": len(judged), "converged": len(judged) - len(open_ones), "notConverged": open_ones[:MAX_NOT_CONVERGED]}


def rank(results: list[dict[str, Any]], rank_by: str) -> list[dict[str, Any]]:
    """Best score first, or best CNN score; equal ones by Vina's score and then in the request's order, ligands without a CNN score
    behind those that have one, failed ligands last without a rank."""

    def place(result: dict[str, Any]) -> tuple[float, float, int]:
        found = result["cnnScore"] if rank_by == BY_CNN else 0.0
        return (math.inf if found is None else -found), result["bestScoreKcalMol"], result["index"]

    completed = sorted((r for r in results if r["status"] == "COMPLETED"), key=place)
    for number, result in enumerate(completed, start=1):
        result["rank"] = number
    return completed + sorted((r for r in results if r["status"] != "COMPLETED"), key=lambda r: r["index"])


def refuse_nothing(results: list[dict[str, Any]], lost: int, total: int) -> None:
    """Raises the failure of a job in which no ligand was docked."""
    items = [{"item": r["ligandId"], "label": r["label"], "step": r["failureStage"], "message": r["error"]} for r in results]
    if lost:
        raise Failure(
            "EXECUTOR",
            "NO_LIGAND_DOCKED",
            f"None of the {total} ligands was docked: {lost} ligands' tasks have no result; see the tasks.",
            items,
        )
    reason = f"{items[0]['item']}: {items[0]['step']}: {items[0]['message']}" if items else "none was prepared"
    raise Failure("USER_INPUT", "NO_LIGAND_DOCKED", f"None of the {total} ligands could be docked ({reason}).", items)


def write_complexes(completed: list[dict[str, Any]], spill: Spill, engine: str) -> tuple[list[str], list[str]]:
    """Writes the receptor with the best pose of each of the best ligands, and names the file in the ligand's result. Returns
    the files' names, and notes on what could not be written."""
    receptor = Receptor((IN / "receptor.pdb").read_text(encoding="utf-8", errors="replace"))
    most = min(MAX_COMPLEXES, max(MAX_COMPLEX_BYTES // max(len(receptor.text), 1), 1))
    names, notes = [], []
    for result in completed[:most]:
        name, sdf = f"complexes/{result['index'] + 1:05d}.pdb", spill.get(("sdf", result["index"]))
        if not sdf:
            continue  # a ligand given as PDBQT without its SMILES
        remark = f"{engine}, best pose of {one_line(result['ligandId'], 24)}, {result['bestScoreKcalMol']:.3f} kcal/mol"
        try:
            write_text(OUT / name, complex_pdb(receptor, sdf, remark))
        except (ComplexError, ValueError, RuntimeError) as error:  # what RDKit raises for a molecule it cannot take
            notes.append(f"no complex of {one_line(result['ligandId'], 80)}: {one_line(str(error), 200)}")
            continue
        result["files"]["complex"] = name
        names.append(name)
    return names, notes


def write_results(document: dict[str, Any], results: list[dict[str, Any]], spill: Spill) -> None:
    """results.json with one ligand a line: written as it goes, because 10,000 ligands with their poses take some 50 MB."""
    head = json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1).removesuffix("\n}")
    with whole_file(OUT / "results.json") as file:
        file.write(head + ',\n "ligands": [')
        for number, result in enumerate(results):
            poses = json.loads(spill.get(("poses", result["index"])) or "[]")
            line = json.dumps({**result, "poses": poses}, ensure_ascii=False, allow_nan=False, sort_keys=True)
            file.write((",\n" if number else "\n") + line)
        file.write("\n ]\n}\n")


def write_csv(results: list[dict[str, Any]]) -> None:
    with whole_file(OUT / "results.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for result in results:
            row = {
                **result,
                **result["files"],
                "label": one_line(result["label"]),
                "interactions": ";".join(result["interactions"] or []),
                "posesPassed": str(result["checks"]["passed"]).lower() if result["checks"] else None,
                "converged": str(result["convergence"]["converged"]).lower() if result["convergence"] else None,
                "exhaustivenessUsed": result["convergence"]["exhaustiveness"] if result["convergence"] else None,
            }
            writer.writerow([cell(row[column]) for column in CSV_COLUMNS])


def cell(value: Any) -> Any:
    """A value for the table. Text that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, "CSV
    Injection")."""
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return "'" + value
    return "" if value is None else value


def write_best(completed: list[dict[str, Any]], spill: Spill) -> None:
    with whole_file(OUT / "best.sdf") as file:
        for result in completed:
            file.write(spill.get(("sdf", result["index"])))


def read_validation(request: dict[str, Any]) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """The redocking of the native ligand without its poses, and the programs that did it."""
    path = IN / "redock" / "redock" / "redock.json"
    if not path.exists():
        return None, {}
    document = read_json(path)
    validation = {key: value for key, value in document.items() if key not in ("schema", "poses", "programs")}
    return {**validation, "gateRmsdAngstrom": request.get("gateRmsdAngstrom")}, document.get("programs", {})


def gather(request: dict[str, Any], spill: Spill) -> tuple[dict[str, Any], list[dict[str, Any]], dict[str, str]]:
    """The results document without its ligands, the ranked ligands, and the versions of all programs. Raises a Failure when
    no ligand was docked."""
    receptor, box = read_json(IN / "receptor.json"), read_json(IN / "box.json")
    prepared, prepare_programs = read_prepared()
    outcomes, analyse_programs, method = read_analysed(spill)
    validation, redock_programs = read_validation(request)
    results = rank([result_of(record, outcomes.get(index)) for index, record in prepared.items()], request["rankBy"])
    count, total = sum(result["status"] == "COMPLETED" for result in results), request["ligandCount"]
    if not count:
        refuse_nothing(results, total - len(prepared) + sum(result["error"] == LOST for result in results), total)
    write_json(OUT / "timings.json", {"ligands": timings(prepared, outcomes)})
    programs = {
        **program_versions(["rdkit", "vina"]),
        **receptor["programs"],
        **prepare_programs,
        **redock_programs,
        **analyse_programs,
    }
    search = request["search"]
    document = {
        "schema": RESULTS_SCHEMA,
        "engine": {"name": "AutoDock Vina", "version": programs.get("vina"), "scoringFunction": "vina"},
        # Whether the preparation was taken over is the run's story and not the science's: two runs have the same results.
        "receptor": {key: receptor[key] for key in receptor if key not in ("schema", "programs", "reused")},
        "box": {key: box[key] for key in box if key != "schema"},
        "seed": search["seed"],
        "rankedBy": request["rankBy"],
        "parameters": {
            key: search[key] for key in ("exhaustiveness", "auto", "numModes", "energyRangeKcalMol", "cpuThreads") if key in search
        },
        "counts": {"total": total, "completed": count, "failed": total - count},
        "convergence": convergence_of(results) if "auto" in search else None,
        "validation": validation,
        "interactionMethod": method,
    }
    return document, results, programs


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    RDLogger.DisableLog("rdApp.*")
    spill = Spill()
    progress(0.0, "reading the docked ligands")
    document, results, programs = gather(request, spill)
    completed = results[: document["counts"]["completed"]]
    progress(0.6, "writing the complexes of the best ligands")
    engine = f"AutoDock Vina {document['engine']['version']}"
    complexes, notes = write_complexes(completed, spill, engine)
    document["notes"] = notes
    pictures = Pictures(IN / "picture")
    programs |= pictures.programs
    progress(0.8, "writing the results")
    write_results(document, results, spill)
    write_csv(results)
    write_best(completed, spill)
    methods = methods_text(request, document, results, programs)
    write_text(OUT / "report.html", report_html(request, document, results, programs, methods, pictures))
    names = ["results.json", "results.csv", "best.sdf", "report.html", *complexes]
    if request.get("depicted") and complexes:
        write_text(OUT / "best.pdb", (OUT / complexes[0]).read_text(encoding="utf-8"))
        names.append("best.pdb")
    write_provenance(request, document, results, programs, methods, names)
    top = [
        {key: result[key] for key in ("rank", "ligandId", "label", "bestScoreKcalMol", "ligandEfficiency", "cnnScore", "files")}
        for result in completed[:MAX_TOP]
    ]
    failures = [
        {"item": r["ligandId"], "label": r["label"], "step": r["failureStage"], "message": r["error"]}
        for r in results
        if r["status"] == "FAILED"
    ]
    summary = {
        "counts": document["counts"],
        "seed": document["seed"],
        "top": top,
        "validation": document["validation"],
        "convergence": document["convergence"],
        "complexes": len(complexes),
    }
    return {"summary": summary, "failures": failures, "programs": programs}


def timings(prepared: dict[int, dict[str, Any]], outcomes: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "ligandId": prepared[i]["ligandId"],
            "prepareCpuSeconds": prepared[i].get("cpuSeconds"),
            "dockCpuSeconds": outcomes.get(i, {}).get("dockCpuSeconds"),
            "analyseCpuSeconds": outcomes.get(i, {}).get("analyseCpuSeconds"),
        }
        for i in sorted(prepared)
    ]


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
