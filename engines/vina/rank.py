"""Ranks the docked ligands of a job and exports their poses.

Reads request.json, in/receptor.json, in/ligands/*/ligands.json and in/docked/*/dock.json; writes out/results.json,
out/results.csv, out/provenance.json, out/timings.json, out/best.sdf (each ligand's best pose, best first) and, for every
docked ligand, out/poses/NNNNN.sdf and .pdbqt, where NNNNN is the ligand's place in the request. The SDF poses carry the bond
orders and charges of the docked molecule. For one set of inputs every file but timings.json is the same to the byte.
"""

from __future__ import annotations

import csv
import io
import sys
from typing import Any

from meeko import PDBQTMolecule, RDKitMolCreate
from rdkit import Chem, RDLogger
from rdkit.Chem.rdMolDescriptors import CalcMolFormula

from common import IN, OUT, Failure, Progress, main, one_line, program_versions, read_json, sha256, write_json, write_text

RESULTS_SCHEMA = "molfabric.docking.results/v1"
MAX_TOP = 10
CSV_COLUMNS = (
    "rank ligandId label status bestScoreKcalMol ligandEfficiency heavyAtoms poseCount canonicalSmiles inchiKey dockedSmiles "
    "failureStage error sdf pdbqt"
).split()


class ExportError(Exception):
    """A docked pose cannot be written as SDF."""


def gather(pattern: str) -> tuple[dict[int, dict[str, Any]], dict[str, str]]:
    """Records by ligand index, and the programs that made them, from every document that matches the pattern."""
    records: dict[int, dict[str, Any]] = {}
    programs: dict[str, str] = {}
    for path in sorted(IN.glob(pattern)):
        document = read_json(path)
        records.update((record["index"], record) for record in document["ligands"])
        programs.update(document["programs"])
    return records, programs


def pose_molecule(pdbqt: str, smiles: str) -> Chem.Mol:
    """The docked molecule with one conformer per pose, bond orders and charges from Meeko's REMARK SMILES."""
    molecules = RDKitMolCreate.from_pdbqt_mol(PDBQTMolecule(pdbqt, skip_typing=True))
    if len(molecules) != 1 or molecules[0] is None:
        raise ExportError("the poses do not say which molecule they are")
    molecule = molecules[0]
    if CalcMolFormula(Chem.AddHs(Chem.MolFromSmiles(smiles))) != CalcMolFormula(molecule):
        raise ExportError("the poses are of another molecule than the prepared one")
    return molecule


def sdf_record(molecule: Chem.Mol, conformer: int, ligand: dict[str, Any], pose: dict[str, Any]) -> str:
    """One SDF record: title, structure, and the pose's figures as data items."""
    copy = Chem.Mol(molecule, confId=conformer)
    for name in list(copy.GetPropNames(includePrivate=True)):
        copy.ClearProp(name)
    copy.SetProp("_Name", one_line(ligand["ligandId"], 80))
    block = Chem.MolToMolBlock(copy, confId=conformer)
    items = {
        "ligandId": ligand["ligandId"],
        "label": one_line(ligand["label"]),
        "poseRank": pose["rank"],
        "scoreKcalMol": f"{pose['scoreKcalMol']:.3f}",
        "rmsdLowerBound": f"{pose['rmsdLowerBound']:.3f}",
        "rmsdUpperBound": f"{pose['rmsdUpperBound']:.3f}",
        **{f"{name}KcalMol": f"{value:.3f}" for name, value in pose["terms"].items()},
    }
    return block + "".join(f">  <{name}>\n{value}\n\n" for name, value in items.items()) + "$$$$\n"


def failed(ligand: dict[str, Any], step: str, message: str) -> dict[str, Any]:
    nothing = dict.fromkeys(("rank", "bestScoreKcalMol", "ligandEfficiency"))
    return {
        **ligand, **nothing, "status": "FAILED", "failureStage": step, "error": one_line(message), "poseCount": 0, "poses": [],
        "files": {"sdf": None, "pdbqt": None},
    }  # fmt: skip


def describe(prepared: dict[str, Any]) -> dict[str, Any]:
    keys = "index ligandId label inputSmiles canonicalSmiles inchiKey dockedSmiles formalCharge heavyAtoms rotatableBonds".split()
    return {**{key: prepared.get(key) for key in keys}, "notes": list(prepared.get("notes", []))}


def export(prepared: dict[str, Any], docked: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The result of one ligand, and the SDF record of its best pose ("" when it cannot be written)."""
    ligand = describe(prepared)
    name = f"poses/{ligand['index'] + 1:05d}"
    poses, best = docked["poses"], ""
    files: dict[str, str | None] = {"sdf": None, "pdbqt": f"{name}.pdbqt"}
    if ligand["dockedSmiles"] is not None:
        try:
            molecule = pose_molecule(docked["pdbqt"], ligand["dockedSmiles"])
            records = [sdf_record(molecule, i, ligand, pose) for i, pose in enumerate(poses)]
        except Exception as error:  # Meeko and RDKit raise many kinds; each is about this ligand's output
            return failed(ligand, "parse_output", f"{type(error).__name__}: {error}"), ""
        files["sdf"], best = f"{name}.sdf", records[0]
        write_text(OUT / files["sdf"], "".join(records))
    write_text(OUT / f"{name}.pdbqt", docked["pdbqt"])
    score = poses[0]["scoreKcalMol"]
    if score > 0:
        ligand["notes"].append("the best score is positive: no favourable pose was found")
    return {
        **ligand, "status": "COMPLETED", "failureStage": None, "error": None, "bestScoreKcalMol": score,
        "ligandEfficiency": round(-score / ligand["heavyAtoms"], 4), "poseCount": len(poses), "poses": poses, "files": files,
    }, best  # fmt: skip


def rank(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Best score first, equal scores in the request's order, failed ligands last without a rank."""
    completed = sorted((r for r in results if r["status"] == "COMPLETED"), key=lambda r: (r["bestScoreKcalMol"], r["index"]))
    for number, result in enumerate(completed, start=1):
        result["rank"] = number
    return completed + sorted((r for r in results if r["status"] != "COMPLETED"), key=lambda r: r["index"])


def csv_text(results: list[dict[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for result in results:
        row = {**result, **result["files"], "label": one_line(result["label"])}
        writer.writerow(["" if row[column] is None else row[column] for column in CSV_COLUMNS])
    return stream.getvalue()


def refuse_nothing(results: list[dict[str, Any]], lost: int, total: int) -> None:
    """Raises the failure of a job in which no ligand was docked."""
    items = [{"item": r["ligandId"], "label": r["label"], "step": r["failureStage"], "message": r["error"]} for r in results]
    if lost:
        raise Failure("EXECUTOR", "NO_LIGAND_DOCKED", f"None of the {total} ligands was docked: {lost} docking tasks' ligands have no result; see the tasks.", items)
    reason = f"{items[0]['item']}: {items[0]['step']}: {items[0]['message']}" if items else "none was prepared"
    raise Failure("USER_INPUT", "NO_LIGAND_DOCKED", f"None of the {total} ligands could be docked ({reason}).", items)


def work(request: dict[str, Any], progress: Progress) -> dict[str, Any]:
    RDLogger.DisableLog("rdApp.*")
    receptor = read_json(IN / "receptor.json")
    prepared, prepare_programs = gather("ligands/*/ligands.json")
    docked, dock_programs = gather("docked/*/dock.json")
    results, best_poses, lost = [], {}, request["ligandCount"] - len(prepared)
    for done, index in enumerate(sorted(prepared)):
        progress(0.95 * done / len(prepared), f"exporting poses ({done + 1} of {len(prepared)})")
        outcome = docked.get(index)
        if prepared[index]["status"] == "FAILED":
            result = failed(describe(prepared[index]), prepared[index]["failureStage"], prepared[index]["error"])
        elif outcome is None:
            lost += 1
            result = failed(describe(prepared[index]), "dock", "the ligand's docking task failed; see the job's tasks")
        elif outcome["status"] == "FAILED":
            result = failed(describe(prepared[index]), outcome["failureStage"], outcome["error"])
        else:
            result, best_poses[index] = export(prepared[index], outcome)
        results.append(result)
    results = rank(results)
    completed = [result for result in results if result["status"] == "COMPLETED"]
    if not completed:
        refuse_nothing(results, lost, request["ligandCount"])
    programs = {**receptor["programs"], **prepare_programs, **dock_programs, **program_versions(["rdkit", "meeko"])}
    counts = {"total": request["ligandCount"], "completed": len(completed), "failed": request["ligandCount"] - len(completed)}
    search = request["search"]
    document = {
        "schema": RESULTS_SCHEMA,
        "engine": {"name": "AutoDock Vina", "version": programs["vina"], "scoringFunction": "vina"},
        "receptor": {key: receptor[key] for key in receptor if key not in ("schema", "programs")},
        "box": request["box"],
        "seed": search["seed"],
        "parameters": {key: search[key] for key in ("exhaustiveness", "numModes", "energyRangeKcalMol", "cpuThreads")},
        "counts": counts,
        "ligands": results,
    }
    write_json(OUT / "results.json", document)
    write_text(OUT / "results.csv", csv_text(results))
    write_text(OUT / "best.sdf", "".join(best_poses[result["index"]] for result in completed))
    write_provenance(request, receptor, programs, results)
    write_json(OUT / "timings.json", {"ligands": timings(prepared, docked)})
    top = [{key: result[key] for key in ("rank", "ligandId", "label", "bestScoreKcalMol", "ligandEfficiency", "files")} for result in completed[:MAX_TOP]]
    failures = [
        {"item": r["ligandId"], "label": r["label"], "step": r["failureStage"], "message": r["error"]} for r in results if r["status"] == "FAILED"
    ]
    return {"summary": {"counts": counts, "seed": search["seed"], "top": top}, "failures": failures, "programs": programs}


def timings(prepared: dict[int, dict[str, Any]], docked: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"ligandId": prepared[i]["ligandId"], "prepareCpuSeconds": prepared[i].get("cpuSeconds"), "dockCpuSeconds": docked.get(i, {}).get("cpuSeconds")}
        for i in sorted(prepared)
    ]


def write_provenance(request: dict[str, Any], receptor: dict[str, Any], programs: dict[str, str], results: list[dict[str, Any]]) -> None:
    """What made the results: programs, parameters, seed, digests of what went in and came out, and what to cite."""
    names = ["results.json", "results.csv", "best.sdf"]
    names += sorted(name for result in results for name in result["files"].values() if name)
    write_json(
        OUT / "provenance.json",
        {
            "schema": "molfabric.docking.provenance/v1",
            "programs": programs,
            "parameters": {key: request[key] for key in ("box", "search", "shardSize", "cpuThreadsAsked", "receptorPreparation", "ligandCount")},
            "inputs": {
                "receptor": {"sha256": receptor["inputSha256"], "preparedSha256": receptor["preparedSha256"]},
                "ligands": [{key: r[key] for key in ("index", "ligandId", "inputSmiles", "dockedSmiles")} for r in sorted(results, key=lambda r: r["index"])],
            },
            "outputs": [{"name": name, "sha256": sha256((OUT / name).read_bytes())} for name in names],
            "citations": request["citations"],
        },
    )


if __name__ == "__main__":
    sys.exit(main(__doc__.splitlines()[0], work))
